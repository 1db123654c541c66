"""Refuses numbers that float32 does not tell apart, as runtime/data/spread.c does of files."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import F32
from ._errors import ArgumentError

SAMPLE = 128
SMALLEST = float(np.finfo(F32).tiny)


def check(arrays: list[Any], name: str, what: str = "") -> None:
    """Refuse numbers [rows, features] of which too many are one float32, or 0 as one.

    `what`: what a feature is called, with its number; "": there is one, which is `name`.
    """
    wide = [a for a in arrays if a.dtype.kind in "iuf" and a.dtype.itemsize > 2 and a.dtype != F32]
    wide = [a for a in wide if a.size]
    if not wide:
        return
    with np.errstate(invalid="ignore", over="ignore"):
        lowest = np.fmin.reduce([np.fmin.reduce(a, axis=0) for a in wide])
        highest = np.fmax.reduce([np.fmax.reduce(a, axis=0) for a in wide])
        sample = _sample(wide)
        for k in np.flatnonzero(_suspects(sample, lowest, highest)):
            reason = _reason(wide, sample, k, float(lowest[k]), float(highest[k]))
            if reason:
                label = f"{name}: {what} {k}" if what else name
                raise ArgumentError(f"{label} holds {reason}")


def _suspects(sample: Any, lowest: Any, highest: Any) -> Any:
    """Return which features to look at closely: of most, this tells that they are well."""
    low, high = lowest.astype(np.float64), highest.astype(np.float64)
    largest = np.maximum(np.abs(low), np.abs(high))
    ends = (high - low < largest * 2.0**-18) | (largest < SMALLEST) | (largest >= 2.0**53)
    numbers = (np.diff(np.sort(sample, axis=0), axis=0) > 0).sum(axis=0)
    floats = (np.diff(np.sort(sample.astype(F32), axis=0), axis=0) > 0).sum(axis=0)
    return (lowest < highest) & (ends | (floats * 3 < numbers * 2))


def _reason(wide: list[Any], sample: Any, k: int, low: float, high: float) -> str:
    """Return what is wrong with the feature; "": nothing."""
    largest = max(abs(low), abs(high))
    if largest >= 2.0**53 and any(a.dtype.kind in "iu" and _are_twins(a[:, k]) for a in wide):
        return (
            "numbers of so many digits, as ids have, that different ones are equal as 64-bit "
            f"numbers, such as {low:.17g}; leave it out, or subtract a constant"
        )
    numbers, most = _rounded(sample[:, k]), ""
    if low < high and largest < SMALLEST:
        return (
            f"numbers from {low:.3g} to {high:.3g}, which are too small; 32-bit numbers need one "
            "of at least 1.2e-38; multiply them by a constant"
        )
    if not high - low < largest * 2.0**-18:
        cluster = _cluster(numbers)
        if cluster is None:
            return ""
        (low, high), most = cluster, ", most of them"
    elif not any(len(_rounded(a[:, k])) for a in wide):
        return ""
    return (
        f"numbers{most} from {low:.17g} to {high:.17g}, which 32-bit numbers hardly tell apart; "
        "subtract a constant from them"
    )


def _sample(wide: list[Any]) -> Any:
    """Return up to SAMPLE rows, each as likely as another; the same for the same data."""
    count = sum(map(len, wide))
    chosen = np.arange(count)
    if count > SAMPLE:
        chosen = np.sort(np.random.default_rng(0).choice(count, SAMPLE, replace=False))
    begins = np.cumsum([0, *map(len, wide)])
    which = np.searchsorted(begins, chosen, side="right") - 1
    return np.array([wide[i][row - begins[i]] for i, row in zip(which, chosen)], np.float64)


def _rounded(numbers: Any) -> Any:
    """Return those that are no floats."""
    return numbers[(numbers.astype(F32) != numbers) & ~np.isnan(numbers)]


def _are_twins(numbers: Any) -> bool:
    """Whether most whole numbers become the double of another one."""
    distinct = np.unique(numbers)
    return len(np.unique(distinct.astype(np.float64))) * 2 < len(distinct)


def _cluster(numbers: Any) -> tuple[float, float] | None:
    """Return the ends of most numbers where they are few floats close together; None: they are not.

    They are at least 8 and half of the different numbers, four times as many as their floats, and
    within 64 steps of a float. Doubles that differ in the last bits only count as one.
    """
    distinct = np.unique(numbers)
    apart = np.diff(distinct, prepend=-np.inf) > np.abs(distinct) * 2.0**-45
    distinct = distinct[apart]
    _, which, counts = np.unique(distinct.astype(F32), return_inverse=True, return_counts=True)
    merged = distinct[counts[which.ravel()] > 1]
    floats = int((counts > 1).sum())
    if len(merged) < 8 or len(merged) * 2 < len(distinct) or len(merged) < floats * 4:
        return None
    low, high = float(merged[0]), float(merged[-1])
    return (low, high) if high - low < max(abs(low), abs(high)) * 2.0**-18 else None
