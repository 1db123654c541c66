"""Tokenizers: encoding, decoding, fitting, files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import filtra


def wordpiece(folder: Path) -> Path:
    """Write a small tokenizer as BERT's."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "quick", "fox", "##es", "é"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True})
    )
    return folder


def test_bytes() -> None:
    tokenizer = filtra.Tokenizer("bytes")
    ids = tokenizer.encode("hé\0")
    assert ids.dtype == np.int32
    assert ids.tolist() == [105, 196, 170, 1]
    assert tokenizer.decode(ids) == "hé\0"
    assert len(tokenizer) == 257
    assert not tokenizer.fitted


def test_fitted(tmp_path: Path) -> None:
    tokenizer = filtra.Tokenizer.fit(["a film, a \"film\"\n", "the film"], "words")
    assert tokenizer.decode(tokenizer.encode("the film")) == "the film"
    assert tokenizer.symbol(int(tokenizer.encode("unheard")[0])) == "<unk>"
    tokenizer.save(tmp_path / "t.json")
    assert filtra.Tokenizer(tmp_path / "t.json").encode("a film").tolist() == tokenizer.encode(
        "a film"
    ).tolist()
    characters = filtra.Tokenizer.fit(["abc", "cd"], "characters")
    with pytest.raises(filtra.InputError, match="x"):
        characters.encode("x")


def test_pretrained(tmp_path: Path) -> None:
    tokenizer = filtra.Tokenizer(wordpiece(tmp_path))
    assert tokenizer.encode("The foxes").tolist() == [5, 7, 8]
    ids, offsets = tokenizer.encode_offsets("The foxes")
    assert ids.tolist() == [2, 5, 7, 8, 3]
    assert offsets.tolist() == [[0, 0], [0, 3], [4, 7], [7, 9], [0, 0]]
    assert tokenizer.encode("The foxes", special=True).tolist() == ids.tolist()


def test_where_the_second_text_begins(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("a,b,label\n" + "the fox,quick,1\nquick,the fox,0\n" * 5)
    data = filtra.Dataset.open(
        tmp_path / "train.csv", tokenizer=wordpiece(tmp_path), text_column="a,b",
        validation_share=0.1,
    )
    sample = data.sample(0)
    batch = data.loader(batch_size=1).next()
    assert sample.second_at == batch.second[0] > 0
    own = filtra.Batch(sample.tokens[None], second=[sample.second_at])
    config = {"layers": 1, "heads": 2, "width": 8, "pooling": "mean", "token_types": 2}
    with filtra.Model(data, device="cpu", **config) as model:
        found = model.predict_batch(own)
        np.testing.assert_allclose(found, model.predict_batch(batch), atol=1e-5)
        other = model.predict_batch(filtra.Batch(sample.tokens[None]))
        assert np.abs(other - found).max() > 1e-6


def test_text_as_it_is_made() -> None:
    tokenizer = filtra.Tokenizer("bytes")
    for previous, token, kind in ((-1, 2**32 + 98, ValueError), (-1, 98.5, TypeError),
                                  (-2, 98, ValueError)):
        with pytest.raises(kind, match="token must be|previous must be"):
            tokenizer.decode_next(previous, token)
    ids = tokenizer.encode("é!").tolist()
    parts = [tokenizer.decode_next(a, b) for a, b in zip([-1, *ids], ids)]
    assert b"".join(parts).decode() == "é!"


def test_prompts_warn_of_unknown_words() -> None:
    tokenizer = filtra.Tokenizer.fit(["one two three"], "words")
    assert list(tokenizer.encode_prompt("two one")) == list(tokenizer.encode("two one"))
    with pytest.warns(filtra.FiltraWarning, match="prompt: 1 of 2 words are unknown"):
        tokenizer.encode_prompt("two nine")


@pytest.mark.parametrize(
    ("call", "kind", "part"),
    [
        (lambda t: t.encode(3), TypeError, "text must be a str, not int"),
        (lambda t: t.encode("\ud800"), ValueError, "lone surrogate at character 0"),
        (lambda t: t.decode([300]), ValueError, "token 0 is 300"),
        (lambda t: t.decode(["a"]), TypeError, "whole numbers|texts"),
        (lambda t: t.symbol(257), ValueError, "token must be from 0 to 256"),
        (lambda t: t.encode_offsets("x"), filtra.ArgumentError, "does not tell where tokens are"),
        (lambda t: filtra.Tokenizer("/nowhere"), OSError, "/nowhere"),
        (lambda t: filtra.Tokenizer.fit(["a"], "bytes"), ValueError, "characters, words"),
        (lambda t: filtra.Tokenizer.fit(["a", None], "words"), TypeError, r"texts\[1\]"),
    ],
)
def test_mistakes(call, kind, part) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(kind, match=part):
        call(filtra.Tokenizer("bytes"))
