"""Times that a frame has as texts, read as `Dataset.open` reads those of a table."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

from ._errors import ArgumentError

_DATE = re.compile(
    r"(\d{4})[-/](\d\d?)(?:[-/](\d\d?)(?:[ T_](\d\d?)(?:([:-])(\d\d?)"
    r"(?:\5(\d\d?)(\.\d*)?)?)?(?:Z|([+-])(\d\d):?(\d\d)?)?)?)?", re.ASCII
)


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return math.nan
    return found if math.isfinite(found) and "_" not in text else math.nan


def _date(text: str) -> float:
    """Return seconds; NaN: the text is no date."""
    match = _DATE.fullmatch(text)
    if not match:
        return math.nan
    year, month, day = (int(part or 1) for part in match.groups()[:3])
    hour, minute, second = (int(match[i] or 0) for i in (4, 6, 7))
    zone = 60 * int(match[10] or 0) + int(match[11] or 0)
    zone = -zone if match[9] == "-" else zone
    try:
        days = datetime.date(year, month, day).toordinal()
    except ValueError:
        return math.nan
    return 60.0 * ((days * 24 + hour) * 60 + minute - zone) + second + float(f"0{match[8] or 0}")


def times_of(column: Any, name: str) -> Any:
    """Return a column of times so that it sorts: texts as numbers, or as seconds of dates."""
    given = list(column)
    if getattr(column.dtype, "ordered", False) or not any(isinstance(t, str) for t in given):
        return column
    texts = [str(time).strip() for time in given]
    read = _date if math.isnan(_number(texts[0])) else _number
    found = [read(text) for text in texts]
    for i, time in enumerate(found):
        if math.isnan(time):
            raise ArgumentError(
                f"column {name!r} has {given[i]!r} in row {i}: texts of times are all numbers, or "
                f"all dates such as 2023-02-01"
            )
    return found
