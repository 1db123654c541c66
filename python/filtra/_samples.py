"""Samples of programs, told apart by what they are and packed as C takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _spread
from ._errors import ArgumentError
from .tokenizer import Tokenizer, encode_all

KINDS = ("texts", "tokens", "vectors", "series", "images")
_LAYOUT = {
    "tokens": "whole numbers [samples, tokens], or a list of arrays [tokens]",
    "vectors": "numbers [samples, columns]",
    "series": "numbers [samples, steps, features], or a list of arrays [steps, features]",
    "images": "uint8 [samples, height, width] or [samples, height, width, 1 or 3]",
}


@dataclass
class Samples:
    """Sequences one after the other, without padding.

    `numbers` is int32 [sum of lengths] of tokens, or float32 [sum of lengths, features].
    """

    kind: str
    lengths: Any
    numbers: Any
    features: int
    height: int = 0
    width: int = 0

    def __len__(self) -> int:
        return len(self.lengths)


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, np.str_))


def refuse_texts(frame: Any) -> None:
    """Refuse a DataFrame of pandas with a column that is no numbers; pass all else."""
    if not hasattr(frame, "iloc") or getattr(frame, "ndim", 1) != 2:
        return
    for name, kind in zip(frame.columns, frame.dtypes):
        numbers = getattr(kind, "kind", "O") in "fiub"
        if not numbers and not (kind == object and frame[name].map(_is_number).all(axis=None)):
            raise TypeError(
                f"column {name!r} is {kind}, not numbers: leave it out or encode it; a column of "
                f"texts is given as frame[{name!r}]"
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number))


def _of_pandas(values: Any) -> Any:
    """Return the array of a DataFrame or Series; numbers with <NA> become float with NaN."""
    if getattr(values, "ndim", 1) != 2:
        return values.to_numpy()
    refuse_texts(values)
    plain = values.to_numpy()
    return values.to_numpy(np.float64, na_value=np.nan) if plain.dtype == object else plain


def as_array(values: Any, name: str = "X") -> Any:
    """Return arrays, pandas' objects and lists of equal rows as an array; other lists as lists.

    A list with a text is one of texts, so that NumPy makes no text of what else is in it.
    """
    if type(values) is np.ndarray and values.ndim > 1:
        return values
    _arrays.refuse_masked(values, name, "fill them, with NaN where missing")
    if hasattr(values, "to_numpy"):
        values = _of_pandas(values)
    elif hasattr(values, "__array__"):
        try:
            values = np.asarray(values)
        except (RuntimeError, TypeError) as error:  # a tensor of torch
            raise TypeError(
                f"samples are a {type(values).__name__} that NumPy cannot read: {error}"
            ) from None
        if values.ndim == 0:
            raise ArgumentError(f"samples must be an array or a list, not the number {values}")
    if isinstance(values, np.ndarray):
        return list(values) if values.dtype == object and values.ndim == 1 else values
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"samples must be an array or a list, not {type(values).__name__}")
    values = list(values)
    if any(_is_text(value[0] if isinstance(value, tuple) and value else value)
           for value in values):
        return values  # of texts, or of pairs of texts
    try:
        return np.asarray(values)
    except ValueError:  # rows of unequal lengths
        return values


def _row(value: Any, name: str) -> Any:
    """Return one sample of a list as an array."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RuntimeError):
        raise TypeError(f"{name} must be an array, or lists of equal lengths") from None


def _kind_of_list(values: list[Any], name: str) -> str:
    if any(_is_text(value) for value in values):
        return "texts"
    rows = (_row(value, f"{name}[{i}]") for i, value in enumerate(values))
    first = next((row for row in rows if row.size), np.empty(0, np.float32))
    if first.dtype.kind in "iub" and first.ndim == 1:
        return "tokens"
    if (first.dtype.kind == "f" and first.ndim == 1) or (
        first.dtype.kind in "fiu" and first.ndim == 2
    ):
        return "series"
    raise TypeError(
        f"{name} is a list of {first.ndim}-dimensional {first.dtype}: samples are texts, "
        f"token ids [tokens] or numbers [steps, features]"
    )


def kind_of(values: Any, name: str, whole: str | None = None) -> str:
    """Tell what samples are. `whole`: what whole numbers [samples, n] are; None: they may be both.
    """
    if len(values) == 0:
        raise ArgumentError(f"{name} has no samples")
    if isinstance(values, list):
        return _kind_of_list(values, name)
    dimensions, kind = values.ndim, values.dtype.kind
    if kind in "US" and dimensions == 1:
        return "texts"
    if values.dtype == np.uint8 and dimensions in (3, 4):
        return "images"
    if kind in "fiub" and dimensions == 3:
        return "series"
    if kind == "f" and dimensions == 2:
        return "vectors"
    if kind in "iub" and dimensions == 2:
        if whole is None:
            raise ArgumentError(
                f"{name} is whole numbers [samples, {values.shape[1]}], which may be token ids or "
                f"columns of numbers: say kind=\"tokens\" or kind=\"vectors\""
            )
        return whole
    hint = f" (one number a sample: {name}.reshape(-1, 1))" if dimensions == 1 else ""
    raise ArgumentError(
        f"{name} is {values.dtype} of {dimensions} dimensions{hint}; samples are texts or "
        + "; ".join(_LAYOUT.values())
    )


def _check_dimensions(values: Any, kind: str, allowed: tuple[int, ...], name: str) -> None:
    if values.ndim not in allowed:
        raise ArgumentError(
            f"{name} has {values.ndim} dimensions; {kind} are {_LAYOUT[kind]}"
        )


def _pack_tokens(values: Any, name: str) -> Samples:
    if not isinstance(values, list):
        _check_dimensions(values, "tokens", (2,), name)
        values = list(values)
    rows = [
        _arrays.array_of(row, _arrays.I32, (None,), f"{name}[{i}]")
        for i, row in enumerate(values)
    ]
    return _join("tokens", rows, 0)


def _join(kind: str, rows: list[Any], features: int) -> Samples:
    if kind == "series" and not features:
        raise ArgumentError("a step of series has 0 features; one is the least")
    lengths = np.array([len(row) for row in rows], np.uint32)
    numbers = np.concatenate(rows) if rows else np.empty(0, np.float32)
    return Samples(kind, lengths, np.ascontiguousarray(numbers), features)


def _pack_series(values: Any, name: str, measured: bool) -> Samples:
    if not isinstance(values, list):
        _check_dimensions(values, "series", (2, 3), name)
        values = list(values)
    given, rows = [], []
    for i, row in enumerate(values):
        array = _row(row, f"{name}[{i}]")
        array = array[:, None] if array.ndim == 1 else array
        given.append(array)
        rows.append(_arrays.array_of(array, _arrays.F32, (None, None), f"{name}[{i}]"))
        if rows[i].shape[1] != rows[0].shape[1]:
            raise ArgumentError(
                f"{name}[{i}] has {rows[i].shape[1]} features; {name}[0] has {rows[0].shape[1]}"
            )
    if measured:
        _spread.check(given, name, "feature")
    return _join("series", rows, rows[0].shape[1])


def _pack_vectors(values: Any, name: str, measured: bool) -> Samples:
    array = _arrays.array_of(values, _arrays.F32, (None, None), name)
    if not array.shape[1]:
        raise ArgumentError(f"{name} has 0 columns; one is the least")
    if measured:
        _spread.check([np.asarray(values)], name, "column")
    lengths = np.full(len(array), array.shape[1], np.uint32)
    return Samples("vectors", lengths, array.reshape(-1, 1), 1)


def _pack_images(values: Any, name: str) -> Samples:
    values = np.asarray(values)
    _check_dimensions(values, "images", (3, 4), name)
    if values.dtype != np.uint8 or (values.ndim == 4 and values.shape[3] not in (1, 3)):
        turned = values.ndim == 4 and values.shape[1] <= 3
        turn = " (save X.transpose(0, 2, 3, 1))" if turned else ""
        raise ArgumentError(
            f"{name} is {values.dtype} {list(values.shape)}; images are {_LAYOUT['images']}{turn}"
        )
    count, height, width = values.shape[:3]
    features = values.shape[3] if values.ndim == 4 else 1
    numbers = values.reshape(-1, features).astype(np.float32)
    lengths = np.full(count, height * width, np.uint32)
    return Samples("images", lengths, numbers, features, height, width)


def pack(
    values: Any, kind: str | None, name: str = "X", tokenizer: Tokenizer | None = None,
    measured: bool = False,
) -> Samples:
    """Check samples and pack them. `measured`: also whether float32 tells their numbers apart.

    Raises
    ------
    ArgumentError, TypeError
        Naming the sample, and what was expected.
    """
    if kind is not None and kind not in KINDS:
        raise ArgumentError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    values = as_array(values, name)
    kind = kind or kind_of(values, name)
    if len(values) == 0:
        raise ArgumentError(f"{name} has no samples")
    if kind == "texts":
        if tokenizer is None:
            raise ArgumentError(f"{name} is texts: name a tokenizer")
        return _join("texts", encode_all(tokenizer, list(values), name), 0)
    if kind == "tokens":
        return _pack_tokens(values, name)
    if kind == "vectors":
        return _pack_vectors(values, name, measured)
    if kind == "series":
        return _pack_series(values, name, measured)
    return _pack_images(values, name)
