"""Edges of samples that are graphs, packed as C takes them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from . import _arrays
from ._errors import ArgumentError

MOST_TYPES = 64
"""Types of edges that C takes."""


def _twice(edges: Any) -> Any:
    """Return the position of an edge that is there before, in either direction; None: none is."""
    ends = np.sort(edges[:, :2], axis=1)
    _, first = np.unique(ends, axis=0, return_index=True)
    return None if len(first) == len(ends) else np.setdiff1d(np.arange(len(ends)), first)[0]


def _edges_of(value: Any, name: str) -> Any:
    """Return the edges of one graph, int32 [edges, 2 or 3]."""
    array = _arrays.array_of(value, _arrays.I32, None, name)
    if not array.size:
        return np.empty((0, 3), np.int32)
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        turned = array.ndim == 2 and len(array) in (2, 3)
        raise ArgumentError(
            f"{name} must be [edges, 2], of two nodes each, or [edges, 3], with a type; got "
            f"{list(array.shape)}" + (" (give its .T)" if turned else "")
        )
    again = _twice(array)
    if again is not None:
        raise ArgumentError(
            f"{name}[{again}] joins nodes {array[again, 0]} and {array[again, 1]} again: an edge "
            f"has no direction and is given once"
        )
    return array


def pack_edges(edges: Any, count: int, name: str) -> tuple[Any, Any]:
    """Check the edges of `count` graphs; ranges of nodes and types are C's to check.

    Returns
    -------
    counts : numpy.ndarray of uint32, [count]
    joined : numpy.ndarray of int32, [sum of counts, 3]
    """
    if isinstance(edges, (str, bytes, Mapping, Set)) or not hasattr(type(edges), "__len__"):
        raise TypeError(f"{name} must be a list of an array for each graph, not "
                        f"{type(edges).__name__}")
    if len(edges) != count:
        raise ArgumentError(f"{name} must have {count} elements, one for each graph; got "
                            f"{len(edges)}")
    rows = [_edges_of(row, f"{name}[{i}]") for i, row in enumerate(edges)]
    typed = {row.shape[1]: i for i, row in enumerate(rows) if len(row)}
    if len(typed) > 1:
        raise ArgumentError(f"{name}[{typed[3]}] has types and {name}[{typed[2]}] has none: all "
                            f"edges are [edges, 3], or all [edges, 2], which is type 0")
    joined = np.zeros((sum(map(len, rows)), 3), np.int32)
    if len(joined):
        columns = next(iter(typed))
        joined[:, :columns] = np.concatenate([row for row in rows if len(row)])
    return np.array([len(row) for row in rows], np.uint32), joined
