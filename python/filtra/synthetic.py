"""Datasets that are generated: ListOps and Pathfinder of the Long Range Arena (Tay et al. 2021).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import _c, _convert, _errors
from ._library import lib

__all__ = ["generate_listops", "generate_pathfinder"]

Report = Callable[[int, int], Any]


def _callback(progress: Report | None) -> Any:
    """Return what the library calls: it goes on unless `progress` returns False or raises."""

    def call(user: int | None, done: int, total: int) -> bool:
        return progress is None or progress(done, total) is not False

    return _c.filtra_progress_fn(_errors.guarded(call, False))


def generate_listops(
    directory: _convert.Path,
    *,
    train: int = 96000,
    val: int = 2000,
    test: int = 2000,
    min_length: int = 500,
    max_length: int = 2000,
    max_depth: int = 10,
    max_args: int = 10,
    seed: int = 0,
    threads: int = 0,
    progress: Report | None = None,
) -> None:
    """Write basic_train.tsv, basic_val.tsv and basic_test.tsv, which `filtra.Dataset` reads.

    Parameters
    ----------
    directory : path
        Created if needed; must have none of these files.
    train, val, test : int
        Expressions in each file, at least 1.
    min_length, max_length : int
        Exclusive bounds of an expression's length, at least 1.
    max_depth : int
        Levels of an expression, 1 to 64.
    max_args : int
        Arguments of an operator, 2 to 1,000.
    seed : int
    threads : int
        0: one per processor; the result is the same for any number.
    progress : callable, optional
        Called with the expressions found and wanted; returning False stops with CancelledError.
    """
    counts = {"train": train, "val": val, "test": test, "min_length": min_length,
              "max_length": max_length, "max_depth": max_depth, "max_args": max_args}
    for name, value in counts.items():
        _convert.whole(value, name, 1)
    called = _callback(progress)
    options = _convert.fill(
        _c.filtra_listops_options, seed=seed, threads=threads, progress=called, **counts
    )
    with _errors.interruptible():
        lib.filtra_listops_generate(_convert.path(directory, "directory"), ctypes.byref(options))


def generate_pathfinder(
    directory: _convert.Path,
    *,
    count: int = 200000,
    contour_length: int = 14,
    seed: int = 0,
    threads: int = 0,
    progress: Report | None = None,
) -> None:
    """Write the new folder DIRECTORY/curv_contour_length_N, which `filtra.Dataset` reads.

    Parameters
    ----------
    directory : path
    count : int
        Images of 32 x 32 grey pixels, at least 1.
    contour_length : int
        Dashes of a long contour, 3 to 20.
    seed, threads, progress
        As in `generate_listops`.
    """
    called = _callback(progress)
    options = _convert.fill(
        _c.filtra_pathfinder_options, count=_convert.whole(count, "count", 1),
        contour_length=_convert.whole(contour_length, "contour_length", 3, 20), seed=seed,
        threads=threads, progress=called,
    )
    with _errors.interruptible():
        lib.filtra_pathfinder_generate(_convert.path(directory, "directory"), ctypes.byref(options))
