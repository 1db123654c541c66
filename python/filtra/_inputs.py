"""What estimators make of samples that are no vectors: series, images and texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _samples
from ._errors import ArgumentError, FiltraWarning, InputError
from .tokenizer import Tokenizer, encode_all


def prepared(X: Any, kind: str) -> Any:
    """Turn series as aeon and sktime have them, [samples, channels, steps]."""
    values = _samples.as_array(X)
    if kind == "series" and isinstance(values, np.ndarray) and values.ndim == 3:
        return values.transpose(0, 2, 1)
    if kind == "series" and isinstance(values, list):
        return [row.T if np.ndim(row) == 2 else row for row in map(np.asarray, values)]
    return values


def size_of_images(X: Any, trained: Any) -> tuple[int, ...]:
    """Return height, width and channels of images; refuse what is no pixels, and another size.

    `trained`: the size in training; None: X is what is trained on.
    """
    if trained is not None and getattr(X, "dtype", None) != np.uint8:
        raise ArgumentError(f"X is {getattr(X, 'dtype', type(X).__name__)}; images are uint8")
    shape = np.shape(X)
    size = shape[1:] if len(shape) > 3 else (*shape[1:], 1)
    if trained is not None and size != trained:
        raise ArgumentError(
            f"X has images of {_described(size)}; those of training have {_described(trained)}"
        )
    return size


def _described(size: tuple[int, ...]) -> str:
    return f"{size[:2]} pixels with {size[-1]} channel{'' if size[-1] == 1 else 's'}"


def cut_texts(X: Any, tokenizer: Tokenizer, longest: int) -> list[Any]:
    """Return texts as ids, cut where they are longer than the model takes."""
    rows = encode_all(tokenizer, X, "X")
    empty = [i for i, row in enumerate(rows) if not len(row)]
    if empty:
        raise ArgumentError(f"X[{empty[0]}] has no tokens")
    cut = sum(len(row) > longest for row in rows)
    if cut:
        warnings.warn(
            f"{cut} of {len(rows)} texts are cut at {longest} tokens", FiltraWarning, stacklevel=4
        )
    return [row[:longest] for row in rows]


# What the library advises about long sequences, and what estimators have in place of it.
_LONGER = 'model_options={"max_length": N}'
_ADVICE = (
    ("train with a larger max_length or with truncate", f"fit a model with {_LONGER}"),
    ("(max_length)", f"({_LONGER})"),
)


@contextmanager
def advising() -> Iterator[None]:
    """Within it, errors about long sequences name what an estimator has."""
    try:
        yield
    except InputError as error:
        message = str(error)
        for of_library, of_estimators in _ADVICE:
            message = message.replace(of_library, of_estimators)
        if message == str(error):
            raise
        raise InputError(message) from None
