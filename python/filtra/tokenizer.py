"""Tokenizers: from text to token ids and back."""

from __future__ import annotations

import csv
import ctypes
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _arrays, _c, _convert
from ._errors import ArgumentError, FiltraWarning, PathError
from ._library import lib
from ._object import Gate, Object

__all__ = ["Tokenizer"]

CONSTANT = ("bytes", "printable", "dna", "listops", "listops-original", "pixels", "smiles")
FITTED = ("characters", "words")
PRETRAINED = ("bpe", "wordpiece")


class Tokenizer(Object):
    """Converts text to token ids and back.

    Parameters
    ----------
    source : str or path
        A constant tokenizer's name ("bytes", "printable", "dna", "listops", "listops-original",
        "pixels", "smiles"), or a file that `save` wrote, a ``tokenizer.json`` of Hugging Face, or
        a folder with one, with ``vocab.json`` and ``merges.txt``, or with ``vocab.txt``.

    Raises
    ------
    InputError
        For a file with a part that is not known.
    PathError
        For a name that is neither.
    """

    def __init__(self, source: _convert.Path) -> None:
        if isinstance(source, str) and source in CONSTANT:
            found = lib.filtra_tokenizer_find(_convert.text(source, "source"))
            self._own(found, None, (), Gate())
            return
        path = _convert.path(source, "tokenizer")
        if source in FITTED:
            raise ArgumentError(
                f"{source!r} is fitted to texts: Tokenizer.fit(texts, {source!r}), or tokenizer="
                f"{source!r} of a data set"
            )
        if not os.path.exists(path):
            raise PathError(
                f"tokenizer {source!r} is neither a file or folder nor one of "
                f"{', '.join((*CONSTANT, *FITTED))}; nothing is downloaded"
            )
        self._make(
            _c.filtra_tokenizer, "filtra_tokenizer_destroy", lib.filtra_tokenizer_load, path
        )

    @classmethod
    def _of(cls, pointer: Any, owner: Object) -> Tokenizer | None:
        """Return the tokenizer that belongs to another object; None for NULL."""
        if not pointer:
            return None
        self = cls.__new__(cls)
        self._own(pointer, None, (owner,))
        return self

    @classmethod
    def fit(
        cls, texts: Iterable[str], kind: str = "words", *, max_vocabulary: int = 0
    ) -> Tokenizer:
        """Fit a tokenizer to texts.

        Parameters
        ----------
        texts : iterable of str
        kind : str
            "words": most frequent first, others become ``<unk>``; or "characters": all of the
            texts'.
        max_vocabulary : int
            Most ids of "words", 3 to 1,048,576; 0: 65,536.
        """
        from .data import Dataset

        if kind not in FITTED:
            raise ArgumentError(f"kind must be one of {', '.join(FITTED)}; got {kind!r}")
        if isinstance(texts, str):
            raise TypeError("texts must be a list of str, not one str")
        texts = list(texts)
        for i, text in enumerate(texts):
            _convert.text(text, f"texts[{i}]")
        if kind == "characters":
            if max_vocabulary:
                raise ArgumentError('max_vocabulary is for "words"; "characters" are all')
            return cls._of_characters(texts)
        texts = [text for text in texts if text.strip()]
        if not texts:
            raise ArgumentError("texts have no words")
        with tempfile.TemporaryDirectory(prefix="filtra-") as folder:
            table = Path(folder, "train.csv")
            with table.open("w", encoding="utf-8", newline="") as file:
                write = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
                write.writerow(("text", "label"))
                for i, text in enumerate(texts):
                    write.writerow((text, i % 2))
            saved = Path(folder, "tokenizer.json")
            with warnings.catch_warnings():  # of the table, which the caller has not written
                warnings.simplefilter("ignore", FiltraWarning)
                with Dataset.open(
                    table, format="table", tokenizer=kind, max_vocabulary=max_vocabulary,
                    targets="classes", delimiter="comma",
                ) as data:
                    assert data.tokenizer is not None
                    data.tokenizer.save(saved)
            return cls(saved)

    @classmethod
    def _of_characters(cls, texts: list[str]) -> Tokenizer:
        """Write the file that `save` would: tables would lose spaces around a text."""
        symbols = sorted(set("".join(texts)))
        if not symbols:
            raise ArgumentError("texts have no characters")
        with tempfile.TemporaryDirectory(prefix="filtra-") as folder:
            saved = Path(folder, "tokenizer.json")
            saved.write_text(
                json.dumps({"tokenizer": "characters", "symbols": symbols}), encoding="utf-8"
            )
            return cls(saved)

    @property
    def name(self) -> str:
        """What kind it is: "bytes", "words", "bpe", "wordpiece" ..."""
        return _convert.string(self._call(lib.filtra_tokenizer_name)) or ""

    @property
    def fitted(self) -> bool:
        """Whether it was fitted to data or is pretrained, and so has to be saved with a model."""
        return bool(self._call(lib.filtra_tokenizer_is_fitted))

    def __len__(self) -> int:
        """Return the number of ids, padding included: the rows of an embedding table."""
        return int(self._call(lib.filtra_tokenizer_size))

    def symbol(self, token: int) -> str:
        """Return the text of one id, for display; "" for padding."""
        token = _convert.whole(token, "token", 0, len(self) - 1)
        return _convert.string(self._call(lib.filtra_tokenizer_symbol, token)) or ""

    def encode(self, text: str, *, special: bool = False) -> Any:
        """Return the ids of a text.

        Parameters
        ----------
        text : str
        special : bool
            Whether a pretrained tokenizer adds its special tokens, such as [CLS] and [SEP].

        Returns
        -------
        numpy.ndarray of int32, [tokens]
        """
        if special:
            return self.encode_offsets(text)[0]
        return self._encode(lib.filtra_tokenizer_encode, text)

    def encode_prompt(self, text: str) -> Any:
        """Return the ids of a text that a language model goes on with.

        A pretrained tokenizer adds its special tokens. Warns of words that the tokenizer does not
        know and reads as another, such as ``<unk>``.

        Returns
        -------
        numpy.ndarray of int32, [tokens]
        """
        return self._encode(lib.filtra_tokenizer_encode_prompt, text)

    def _encode(self, function: Any, text: str) -> Any:
        data = _convert.content(text, "text")
        count = ctypes.c_size_t()
        ids = np.empty(len(data) + 2, np.int32)
        for _ in range(2):
            self._call(
                function, data, len(data), _arrays.pointer(ids), len(ids), ctypes.byref(count)
            )
            if count.value <= len(ids):
                break
            ids = np.empty(count.value, np.int32)
        return ids[: count.value].copy()

    def encode_offsets(self, text: str, *, special: bool = True) -> tuple[Any, Any]:
        """Return the ids of a text and the part of it that each is made of.

        Only pretrained tokenizers know the parts.

        Returns
        -------
        ids : numpy.ndarray of int32, [tokens]
        offsets : numpy.ndarray of int64, [tokens, 2]
            From and to, in bytes of the text as UTF-8; 0 and 0 of a special token that was added.
        """
        data = _convert.content(text, "text")
        count = ctypes.c_size_t()
        self._call(
            lib.filtra_tokenizer_encode_offsets, data, len(data), special, None, None, None, 0,
            ctypes.byref(count),
        )
        ids = np.empty(count.value, np.int32)
        begins = (ctypes.c_size_t * count.value)()
        ends = (ctypes.c_size_t * count.value)()
        self._call(
            lib.filtra_tokenizer_encode_offsets, data, len(data), special, _arrays.pointer(ids),
            begins, ends, count.value, ctypes.byref(count),
        )
        offsets = np.array([begins[:], ends[:]], np.int64).T.reshape(-1, 2)
        return ids, offsets

    def decode(self, tokens: Any) -> str:
        """Return the text of ids; padding is skipped.

        Parameters
        ----------
        tokens : array_like of int, [tokens]
        """
        ids = _arrays.array_of(tokens, _arrays.I32, (None,), "tokens")
        length = ctypes.c_size_t()
        given = _arrays.pointer(ids)
        self._call(lib.filtra_tokenizer_decode, given, len(ids), None, 0, ctypes.byref(length))
        text = ctypes.create_string_buffer(length.value + 1)
        self._call(
            lib.filtra_tokenizer_decode, given, len(ids), text, len(text), ctypes.byref(length)
        )
        return text.raw[: length.value].decode("utf-8", "replace")

    def decode_next(self, previous: int, token: int) -> bytes:
        """Return the bytes that one more id adds after `previous` (-1: the text begins).

        They may be a part of a character, which the next id's bytes complete.
        """
        previous = _convert.whole(previous, "previous", -1, (1 << 31) - 1)
        token = _convert.whole(token, "token", 0, (1 << 31) - 1)
        length = ctypes.c_size_t()
        text = ctypes.create_string_buffer(64)
        for _ in range(2):
            self._call(
                lib.filtra_tokenizer_decode_next, previous, token, text, len(text),
                ctypes.byref(length),
            )
            if length.value < len(text):
                break
            text = ctypes.create_string_buffer(length.value + 1)
        return text.raw[: length.value]

    def save(self, path: _convert.Path) -> None:
        """Write a fitted or pretrained tokenizer to a JSON file, whole or not at all."""
        self._call(lib.filtra_tokenizer_save, _convert.path(path))

    def __repr__(self) -> str:
        return f"<Tokenizer {'closed' if self.closed else f'{self.name}, {len(self)} ids'}>"


def encode_all(tokenizer: Tokenizer, texts: Sequence[str], name: str) -> list[Any]:
    """Return the ids of texts, special tokens included; say which text cannot be encoded."""
    special = tokenizer.name in PRETRAINED
    if tokenizer.name == "smiles":
        raise ArgumentError(
            f"{name} is molecules, whose bonds only files keep: write {name} and y to a CSV file, "
            f'and read it by Dataset.open(path, tokenizer="smiles")'
        )
    rows = []
    for i, text in enumerate(texts):
        try:
            rows.append(tokenizer.encode(text, special=special))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{name}[{i}]: {error}") from None
    return rows
