"""Times that a frame has as texts, read as `Dataset.open` reads those of a table."""

from __future__ import annotations

import datetime
import math
import re
from fractions import Fraction
from typing import Any

from ._errors import ArgumentError

_DATE = re.compile(
    r"(\d{4})[-/](\d\d?)(?:[-/](\d\d?)(?:[ T_](\d\d?)(?:([:-])(\d\d?)"
    r"(?:\5(\d\d?)(\.\d*)?)?)?(?:Z|([+-])(\d\d):?(\d\d)?)?)?)?", re.ASCII
)


def _number(text: str) -> Fraction | None:
    try:
        if "_" in text or "/" in text or not math.isfinite(float(text)):
            return None
    except ValueError:
        return None
    return Fraction(text)


def _date(text: str) -> Fraction | None:
    """Return seconds; None: the text is no date."""
    match = _DATE.fullmatch(text)
    if not match:
        return None
    year, month, day = (int(part or 1) for part in match.groups()[:3])
    hour, minute, second = (int(match[i] or 0) for i in (4, 6, 7))
    zone = 60 * int(match[10] or 0) + int(match[11] or 0)
    zone = -zone if match[9] == "-" else zone
    try:
        days = datetime.date(year, month, day).toordinal()
    except ValueError:
        return None
    whole = 60 * ((days * 24 + hour) * 60 + minute - zone) + second
    return whole + Fraction(f"0{(match[8] or '').rstrip('.') or '.0'}")


def times_of(column: Any, name: str) -> Any:
    """Return a column of times so that it sorts: texts as numbers, or as seconds of dates.

    These are exact: floats cannot tell times of this century apart that differ by 8 microseconds.
    """
    given = list(column)
    if getattr(column.dtype, "ordered", False) or not any(isinstance(t, str) for t in given):
        return column
    texts = [str(time).strip() for time in given]
    read = _date if _number(texts[0]) is None else _number
    found = [read(text) for text in texts]
    for i, time in enumerate(found):
        if time is None:
            raise ArgumentError(
                f"column {name!r} has {given[i]!r} in row {i}: texts of times are all numbers, or "
                f"all dates such as 2023-02-01"
            )
    return found
