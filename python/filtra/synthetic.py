"""Data sets that are generated: ListOps and Pathfinder of the Long Range Arena (Tay et al. 2021)."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _c, _convert
from ._interrupt import Interrupt
from ._library import lib

__all__ = ["make_listops", "make_pathfinder"]


def _generate(function: Any, folder: _convert.Path, options: Any) -> None:
    """Call a generator, which Ctrl-C ends."""
    with Interrupt() as interrupt:
        options.progress = _c.filtra_progress_fn(lambda user, done, total: not interrupt.asked)
        function(_convert.path(folder, "folder"), ctypes.byref(options))


def make_listops(folder: _convert.Path, **options: int) -> None:
    """Write basic_train.tsv, basic_val.tsv and basic_test.tsv, which `Dataset.open` reads.

    Parameters
    ----------
    folder : path
        It is made where it does not exist.
    **options : int
        `train`, `val` and `test`: trees of each; `min_length` and `max_length` of a tree;
        `max_depth`, `max_args`, `seed`, `threads`. 0: as published.
    """
    filled = _convert.fill(_c.filtra_listops_options, **options)
    _generate(lib.filtra_listops_generate, folder, filled)


def make_pathfinder(folder: _convert.Path, **options: int) -> None:
    """Write images of contours as the published data set has them, which `Dataset.open` reads.

    Parameters
    ----------
    folder : path
        Where the new folder curv_contour_length_N is made.
    **options : int
        `count` of images, `contour_length`, `seed`, `threads`. 0: as published.
    """
    filled = _convert.fill(_c.filtra_pathfinder_options, **options)
    _generate(lib.filtra_pathfinder_generate, folder, filled)
