"""Fills in the arrays of a data set: samples and their targets, split by split."""

from __future__ import annotations

import ctypes
import datetime
from collections.abc import Collection, Mapping, Set
from typing import Any

import numpy as np

from . import _arrays, _c, _convert, _spread
from ._edges import MOST_TYPES, pack_edges
from ._errors import ArgumentError
from ._samples import Samples, pack
from ._stored import check_columns, columns_of, moments_of
from .tokenizer import Tokenizer

SPLITS = ("train", "val", "test")
TARGETS = {
    "class": _c.filtra_target.CLASS,
    "value": _c.filtra_target.VALUE,
    "labels": _c.filtra_target.LABELS,
}


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def one_type(y: Any, name: str) -> Any:
    """Return targets as an array; refuse missing ones, and texts among what is none."""
    listed = hasattr(type(y), "__len__") or hasattr(y, "__array__")
    if isinstance(y, (str, bytes, Mapping, Set)) or not listed:
        raise TypeError(f"{name} must be an array or a list, not {type(y).__name__}")
    _arrays.refuse_masked(y, name, "leave such samples out")
    try:
        values = np.asarray(y)
    except ValueError:
        raise ArgumentError(
            f'{name} has rows of unequal lengths: say target="labels" if a sample has any number '
            f"of labels"
        ) from None
    given = list(y) if values.ndim == 1 and values.dtype.kind in "OUS" else []
    for i, value in enumerate(given):
        if _is_missing(value):
            raise ArgumentError(f"{name}[{i}] is missing: leave such samples out")
        if isinstance(value, (datetime.date, datetime.timedelta)):
            raise TypeError(f"{name}[{i}] is {value!r}: targets are numbers or texts "
                            f"(.astype(str) makes texts)")
        if isinstance(value, str) != isinstance(given[0], str):
            raise TypeError(
                f"{name}[{i}] is {value!r}, and {name}[0] is {given[0]!r}: targets are of one type"
            )
    values = np.array(given) if values.dtype == object and given else values
    if values.dtype.kind == "c":  # as scikit-learn says it
        raise ArgumentError(f"Complex data not supported: {name} is {values.dtype}")
    if values.dtype.kind not in "biufUO":
        raise TypeError(
            f"{name} is {values.dtype}: targets are numbers or texts (.astype(str) makes texts)"
        )
    return values


class Targets:
    """What samples are to become: classes in the order of their names, values, or labels."""

    def __init__(
        self, y: Any, target: str | None, count: int, name: str, matrix: bool | None = None
    ) -> None:
        if target == "labels":
            self.target, self.y = target, _label_rows(y, count, name, matrix)
            return
        values = one_type(y, name)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.shape != (count,):
            raise ArgumentError(
                f"{name} must have the shape [{count}], one for each sample; got "
                f"{list(values.shape)}"
                + (' (several labels of a sample: target="labels")' if values.ndim == 2 else "")
            )
        if target is None:
            target = "value" if values.dtype.kind == "f" else "class"
        if target not in TARGETS:
            raise ArgumentError(
                f'target must be "class", "value", "labels" or "next"; got {target!r}'
            )
        self.target, self.y = target, values

    def found(self) -> Any:
        """Return all classes that there are, sorted."""
        if self.target == "class":
            return np.unique(self.y)
        if isinstance(self.y, np.ndarray):
            return np.arange(self.y.shape[1])
        found = {label for row in self.y for label in row}
        if not found:
            raise ArgumentError("no sample has a label")
        return np.unique(one_type(list(found), "labels"))

    def values(self, name: str) -> Any:
        """Return float32 values, all finite."""
        found = _arrays.array_of(self.y, _arrays.F32, (None,), name)
        if not np.isfinite(found).all():
            raise ArgumentError(f"{name}[{int(np.argmin(np.isfinite(found)))}] is not finite")
        return found

    def labels(self, classes: Any, name: str, without: str) -> Any:
        """Return the positions of classes in an array of all; `without`: what has no others."""
        order = np.argsort(classes, kind="stable")
        found = np.searchsorted(classes, self.y, sorter=order)
        found = order[np.minimum(found, len(classes) - 1)]
        wrong = classes[found] != self.y
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ArgumentError(
                f"{name}[{i}] is {self.y[i].item()!r}, which {without} do not have"
            )
        return found.astype(np.int32)

    def matrix(self, classes: Any, name: str) -> Any:
        """Return uint8 [samples, labels], 1 where a label applies, 2 where that is unknown."""
        if isinstance(self.y, np.ndarray):
            if self.y.shape[1] != len(classes):
                raise ArgumentError(
                    f"{name} has {self.y.shape[1]} labels; the training data have {len(classes)}"
                )
            return self.y
        at = {label: i for i, label in enumerate(classes.tolist())}
        found = np.zeros((len(self.y), len(classes)), np.uint8)
        for i, row in enumerate(self.y):
            for label in row:
                if label not in at:
                    raise ArgumentError(
                        f"{name}[{i}] has {label!r}, which the training data do not have"
                    )
                found[i, at[label]] = 1
        return found


def _label_rows(y: Any, count: int, name: str, matrix: bool | None) -> Any:
    """Return labels as uint8 [samples, labels], or as a list of collections of names.

    `matrix`: whether lists are rows of 0, 1 and NaN; None: told by them.
    """
    if not hasattr(y, "ndim") or y.ndim != 2:
        rows = list(y)
        if len(rows) != count:
            raise ArgumentError(f"{name} must have {count} elements, one for each sample")
        for i, row in enumerate(rows):
            _arrays.refuse_masked(row, f"{name}[{i}]", "NaN says that a label is unknown")
            if isinstance(row, (str, bytes, Mapping)) or not isinstance(row, Collection):
                raise TypeError(f"{name}[{i}] must be a list of labels, not {type(row).__name__}")
        if not (_is_matrix(rows) if matrix is None else matrix):
            return rows
        y = rows if len({len(row) for row in rows}) == 1 else []  # which has another shape
    masked: Any = np.ma  # whose functions have no types in older releases
    array = masked.asarray(y if isinstance(y, np.ma.MaskedArray) else np.asarray(y))
    values = array.data
    missing = np.vectorize(_is_missing, otypes=[bool])(values) if values.dtype == object else (
        values != values  # NaN
    )
    unknown = masked.getmaskarray(array) | missing
    known = np.where(unknown, 0, values)
    if array.ndim != 2 or array.shape[0] != count or not np.isin(known, (0, 1)).all():
        raise ArgumentError(f"{name} must be [{count}, labels] of 0 and 1, NaN where unknown")
    filled = np.where(unknown, int(_c.filtra_label.UNKNOWN), known)
    return np.ascontiguousarray(filled, np.uint8)


def _is_matrix(rows: list[Any]) -> bool:
    """Return whether lists are [samples, labels] of 0, 1 and NaN, and not of the names 0 and 1.

    As names, all samples would have both, or one twice.
    """
    return len({len(row) for row in rows}) == 1 and len(rows[0]) > 1 and all(
        not isinstance(label, str) and (_is_missing(label) or label in (0, 1))
        for row in rows for label in row
    )


class Packer:
    """Fills the struct of arrays, split by split; the training split comes first."""

    def __init__(
        self, kind: str | None, target: str | None, tokenizer: Tokenizer | None, classes: Any,
        standardise: bool, edge_types: int | None = None,
    ) -> None:
        self.kind = kind
        self.edge_types = edge_types
        self.standardise = standardise
        self.moments: tuple[Any, Any] | None = None
        self.known = False  # a model says what the data are
        self.target = target
        self.columns: list[Any] | None = None  # names, of a DataFrame
        self.whose = "X"  # they are
        self.matrix: bool | None = None  # whether several labels are rows of 0 and 1
        self.tokenizer = tokenizer
        self.classes = None if classes is None else one_type(classes, "classes")
        if self.classes is not None and len(np.unique(self.classes)) < len(self.classes):
            raise ArgumentError("classes has one twice")
        self.arrays = _c.filtra_dataset_arrays()
        self.without = "the training data"  # other classes
        if self.classes is not None:
            self.without = "`classes`"
            if target in ("value", "next"):
                raise ArgumentError(f'classes are given, but target="{target}" has none')
            self.target = target or "class"
        self.kept: list[Any] = []
        if tokenizer is not None:
            self.arrays.tokenizer = tokenizer._pointer

    def add(self, split: str, X: Any, y: Any, edges: Any = None) -> None:
        """Add a split; all splits have edges, or none has."""
        name = "X" if split == "train" else f"{split}[0]"
        check_columns(X, name, self.columns, self.whose)
        if self.columns is None and split == "train" and hasattr(X, "columns"):
            self.columns = list(X.columns)
        measured = split == "train" and not self.known
        samples = pack(X, self.kind, name, self.tokenizer, measured)
        if self.tokenizer is not None and samples.kind not in ("texts", "tokens"):
            raise ArgumentError(
                f"{name} is {samples.kind}, which no tokenizer reads: leave `tokenizer` out"
            )
        part = self.arrays.splits[SPLITS.index(split)]
        if split == "train":
            self.kind = samples.kind
            self.arrays.features = samples.features
            self.arrays.height, self.arrays.width = samples.height, samples.width
        elif samples.features != self.arrays.features:
            raise ArgumentError(
                f"{name} has {samples.features} features; X has {self.arrays.features}"
            )
        elif (samples.height, samples.width) != (self.arrays.height, self.arrays.width):
            raise ArgumentError(
                f"{name} has images of {samples.height} x {samples.width} pixels; X has "
                f"{self.arrays.height} x {self.arrays.width}"
            )
        part.count = len(samples)
        part.lengths = self.keep(samples.lengths)
        if samples.features:
            if self.moments is not None:
                self.check_moments(samples, name)
            if not self.standardise and np.isnan(samples.numbers).any():
                raise ArgumentError(f"{name} has NaN: missing values need standardise=True")
            part.features = self.keep(samples.numbers)
        else:
            part.tokens = self.keep(samples.numbers)
        if edges is not None:
            self.add_edges(part, edges, "edges" if split == "train" else f"{split}[2]")
        self.add_targets(part, samples, y, "y" if split == "train" else f"{split}[1]", split)

    def add_edges(self, part: Any, edges: Any, name: str) -> None:
        """Add a split's edges; without `edge_types` there are as many as the largest type says."""
        counts, rows = pack_edges(edges, part.count, name)
        part.edge_counts, part.edges = self.keep(counts), self.keep(rows)
        largest = int(rows[:, 2].max(initial=0))
        if largest >= MOST_TYPES:
            raise ArgumentError(
                f"{name} has the type {largest}, accepted are 0 to {MOST_TYPES - 1}"
            )
        self.arrays.edge_types = self.edge_types or max(self.arrays.edge_types, largest + 1)

    def take_input(self, read: dict[str, Any]) -> None:
        """Take columns as the data of a model had, and standardise as they were, or not at all."""
        self.columns, self.whose = columns_of(read), "the model's data"
        moments = moments_of(read)
        self.standardise = moments is not None
        self.known = True
        if moments is not None:
            self.moments = moments
            self.arrays.feature_mean, self.arrays.feature_factor = map(self.keep, moments)

    def check_moments(self, samples: Samples, name: str) -> None:
        """Refuse samples of another size than that of the moments."""
        assert self.moments is not None
        mean, _ = self.moments
        wanted = samples.lengths[0] if samples.kind == "vectors" else samples.features
        if len(mean) != wanted:
            raise ArgumentError(f"{name} has {wanted} numbers a row; the model's data {len(mean)}")

    def add_targets(self, part: Any, samples: Samples, y: Any, name: str, split: str) -> None:
        """Add a split's targets."""
        if self.target == "next":
            if y is not None:
                raise ArgumentError(f'{name} is given, but target="next" learns the next token')
            self.arrays.target = _c.filtra_target.NEXT
            return
        if self.target == "labels" and hasattr(y, "columns"):
            y = self.named_columns(y, name)
        targets = Targets(y, self.target, len(samples), name, self.matrix)
        if split == "train":
            self.target = targets.target
            self.matrix = isinstance(targets.y, np.ndarray)
            self.arrays.target = TARGETS[targets.target]
        if self.target == "value":
            part.values = self.keep(targets.values(name))
            if split == "train" and not self.known:
                _spread.check([targets.y[:, None]], name)
            return
        if self.classes is None:
            self.classes = targets.found()
        if split == "train":
            self.name_classes()
        if self.target == "labels":
            part.targets = self.keep(targets.matrix(self.classes, name))
        else:
            part.labels = self.keep(targets.labels(self.classes, name, self.without))

    def named_columns(self, y: Any, name: str) -> Any:
        """Return a frame's columns of labels in the order of the classes, their names."""
        if self.classes is None:
            self.classes = one_type(list(y.columns), f"the columns of {name}")
        wanted = self.classes.tolist()
        if len(y.columns) != len(wanted) or set(y.columns) != set(wanted):
            raise ArgumentError(
                f"{name} has the columns {', '.join(map(str, y.columns))}; the labels are "
                f"{', '.join(map(str, wanted))}"
            )
        return y[wanted]

    def name_classes(self) -> None:
        """Name the classes by their values as texts."""
        assert self.classes is not None
        if self.target == "class" and len(self.classes) < 2:
            raise ArgumentError(f"y has one class, {str(self.classes[0])!r}: two are the least")
        names = [_convert.text(str(value), "a class") for value in self.classes.tolist()]
        listed = (ctypes.c_char_p * len(names))(*names)
        self.kept.append(listed)
        self.arrays.class_names = ctypes.cast(listed, ctypes.POINTER(ctypes.c_char_p))
        self.arrays.classes = len(names)

    def weigh(self, weights: Any) -> None:
        """Give the training samples their weights."""
        part = self.arrays.splits[0]
        part.weights = self.keep(
            _arrays.array_of(weights, _arrays.F32, (part.count,), "sample_weight")
        )

    def keep(self, array: Any) -> Any:
        """Return a pointer to an array that stays until the data set has copied it."""
        self.kept.append(array)
        return _arrays.pointer(array)
