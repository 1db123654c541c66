"""What a model's file says of the data that its model was trained on."""

from __future__ import annotations

import io
import json
import os
from itertools import zip_longest
from typing import Any, BinaryIO, Union

import numpy as np

from ._errors import ArgumentError


def _read(file: BinaryIO) -> dict[str, Any]:
    """Read a file's header of safetensors: its length in 8 bytes, then JSON."""
    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    texts = header["__metadata__"]
    texts["filtra.config"]  # noqa: B018  which every model of ours has
    found: dict[str, Any] = json.loads(texts.get("filtra.input", "{}"))
    return found


def input_of(source: Union[bytes, str, os.PathLike[str]], name: str) -> dict[str, Any]:
    """Return how a model's file, or its content, says that samples are read; {}: it does not."""
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as file:
            return _read(file)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
        raise ArgumentError(
            f"{name} must be the file of a model of filtra, Model.to_bytes(); it is another"
        ) from None


def moments_of(read: dict[str, Any]) -> tuple[Any, Any] | None:
    """Return mean and factor by which numbers are standardised."""
    if "feature_mean" not in read:
        return None
    return np.array(read["feature_mean"], float), np.array(read["feature_factor"], float)


def columns_of(read: dict[str, Any]) -> list[Any] | None:
    """Return the names of a table's numbers; ... for each of a column of categories.

    None: the data were no table, or one without names.
    """
    table = read.get("table") or {}
    if not table.get("header") or not table.get("columns"):
        return None
    names: list[Any] = []
    for column in table["columns"]:
        names += [...] * len(column["values"]) if "values" in column else [column["name"]]
    return names


def check_columns(X: Any, name: str, wanted: list[Any] | None, whose: str) -> None:
    """Refuse a DataFrame, or a list with one, whose columns are not those of `whose` in order."""
    if wanted is None:
        return
    if isinstance(X, (list, tuple)):
        for i, row in enumerate(X):
            if hasattr(row, "columns"):
                check_columns(row, f"{name}[{i}]", wanted, whose)
    elif hasattr(X, "columns"):
        for i, (own, want) in enumerate(zip_longest(X.columns, wanted)):
            if own != want and want is not ...:
                raise ArgumentError(f"column {i} of {name} is {own!r}, of {whose} {want!r}")
