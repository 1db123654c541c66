"""Text generation with a language model."""

from __future__ import annotations

import codecs
import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _arrays, _c, _convert
from ._library import lib
from ._object import Object
from .model import Model
from .tokenizer import Tokenizer

__all__ = ["Generator", "generate", "sample_token"]


def sample_token(
    logits: Any,
    draw: int = 0,
    *,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 0.0,
    seed: int = 0,
    zero: bool = False,
) -> int:
    """Sample a token id from logits.

    Parameters
    ----------
    logits : array_like of float, [vocabulary]
    draw : int
        Counts the random draws of a seed.
    temperature : float
        Divides the logits; 0: the most probable token.
    top_k : int
        Sample from so many most probable tokens; 0: from all.
    top_p : float
        Sample from the fewest whose probabilities sum to this; 0: from all.
    zero : bool
        Whether token 0 may be drawn: it is padding in Filtra's own vocabularies, and text in
        those of other programs.
    """
    numbers = _arrays.array_of(logits, _arrays.F32, (None,), "logits")
    options = _convert.fill(
        _c.filtra_sampling, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed, zero=zero
    )
    token = ctypes.c_int32()
    lib.filtra_sample_token(
        _arrays.pointer(numbers), numbers.size, ctypes.byref(options),
        _convert.whole(draw, "draw"), ctypes.byref(token),
    )
    return token.value


class Generator(Object):
    """Sequences that a language model continues; it keeps what mixers need of earlier tokens.

    Parameters
    ----------
    model : Model
    sequences : int
        Generated together, all of one length; at least 1.
    slide : bool
        Whether the older half of the text is dropped where it gets longer than the model takes.
    """

    def __init__(self, model: Model, *, sequences: int = 1, slide: bool = False) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"model must be a filtra.Model, not {type(model).__name__}")
        self._sequences = _convert.whole(sequences, "sequences", 1)
        options = _convert.fill(
            _c.filtra_generator_options, sequences=self._sequences, slide=slide
        )
        self._vocabulary = model.outputs
        self._make(
            _c.filtra_generator, "filtra_generator_destroy", lib.filtra_generator_create,
            model._pointer, ctypes.byref(options), parents=[model],
        )

    def feed(self, tokens: Any) -> Any:
        """Append tokens to each sequence.

        Parameters
        ----------
        tokens : array_like of int, [sequences, count]; of one sequence also [count]

        Returns
        -------
        numpy.ndarray of float32, [sequences, vocabulary]
            Logits of the next token.
        """
        ids = _arrays.array_of(tokens, _arrays.I32, None, "tokens")
        ids = ids[None] if ids.ndim == 1 and self._sequences == 1 else ids
        ids = _arrays.array_of(ids, _arrays.I32, (self._sequences, None), "tokens")
        logits = np.empty((self._sequences, self._vocabulary), np.float32)
        self._call(
            lib.filtra_generator_feed, _arrays.pointer(ids), ids.shape[1],
            _arrays.pointer(logits),
        )
        return logits

    def reset(self) -> None:
        """Forget all tokens. Needed after the model's parameters have changed."""
        self._call(lib.filtra_generator_reset)

    def __len__(self) -> int:
        """Return the number of tokens of each sequence."""
        return int(self._call(lib.filtra_generator_length))


def generate(
    model: Model,
    tokenizer: Tokenizer,
    prompt: str,
    tokens: int = 100,
    *,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 0.0,
    seed: int = 0,
    slide: bool = True,
    past_end: bool = False,
) -> Iterator[str]:
    """Continue a text, piece by piece, as it is made.

    Parameters
    ----------
    model : Model
    tokenizer : Tokenizer
        The one that the model was trained with.
    prompt : str
        At least one token, with the special tokens that a pretrained tokenizer puts around texts.
    tokens : int
        How many are made.
    temperature, top_k, top_p, seed
        As of `sample_token`.
    past_end : bool
        Go on after a pretrained tokenizer's ``<|endoftext|>``, which else ends the text.

    Yields
    ------
    str
        What each token adds; "" where a token is a part of a character.
    """
    if not isinstance(model, Model) or not isinstance(tokenizer, Tokenizer):
        raise TypeError(
            f"generate(model, tokenizer, prompt) takes a filtra.Model and a filtra.Tokenizer, not "
            f"{type(model).__name__} and {type(tokenizer).__name__}"
        )
    ids = tokenizer.encode_prompt(prompt)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    previous = int(ids[-1]) if len(ids) else -1
    zero = tokenizer.symbol(0) != ""
    ends = tokenizer.name == "bpe" and not past_end
    with Generator(model, slide=slide) as generator:
        logits = generator.feed(ids)
        for draw in range(_convert.whole(tokens, "tokens")):
            token = sample_token(
                logits[0], draw, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
                zero=zero,
            )
            if ends and tokenizer.symbol(token) == "<|endoftext|>":
                break
            yield decoder.decode(tokenizer.decode_next(previous, token))
            previous = token
            if draw + 1 < tokens:
                logits = generator.feed([token])
    rest = decoder.decode(b"", final=True)
    if rest:
        yield rest
