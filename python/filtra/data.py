"""Data sets, from files or from memory, and batches of them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _c, _convert
from ._edges import MOST_TYPES
from ._errors import ArgumentError
from ._library import lib
from ._object import Gate, Object
from ._packing import SPLITS, Packer
from ._stored import check_columns, columns_of, input_of
from ._times import times_of
from .batches import Loader
from .tokenizer import Tokenizer

__all__ = ["Dataset", "Sample", "data_formats"]


def data_formats() -> dict[str, str]:
    """Return the formats that `Dataset.open` knows, each with one line on it."""
    found: dict[str, str] = {}
    while True:
        name = _convert.string(lib.filtra_dataset_format_name(len(found)))
        if name is None:
            return found
        described = lib.filtra_dataset_format_description(len(found))
        found[name] = _convert.string(described) or ""


@dataclass(frozen=True)
class Sample:
    """One sample of a data set.

    Attributes
    ----------
    tokens : numpy.ndarray of int32, [tokens], or None
    features : numpy.ndarray of float32, [steps, features], or None
        As the model reads them: standardised.
    second : numpy.ndarray of int32, or None
        The other sequence of a pair.
    label : int or None
        Number of its class; None: unknown, or the data have no classes.
    labels : list of int or None
        Numbers of its labels, where a sample has any number of them; None: unknown.
    unknown : list of int
        Numbers of the labels of which it is unknown whether they apply.
    value : float or None
    name : str or None
        What the data call it.
    edges : numpy.ndarray of int32, [edges, 3], or None
        Of a graph, whose nodes are the tokens: two nodes and a type each.
    second_at : int
        Token at which the second of two texts begins in `tokens`, as `Batch` takes it in `second`;
        0: there is one text.
    """

    tokens: Any
    features: Any
    second: Any
    label: int | None
    labels: list[int] | None
    value: float | None
    name: str | None
    edges: Any
    second_at: int
    unknown: list[int]


def _split(name: Any) -> _c.filtra_split:
    return _convert.choice(_c.filtra_split, name, "split")


class Dataset(Object):
    """Labelled sequences in host memory, in the splits "train", "val" and "test".

    Make one by `open`, `from_arrays`, `from_frame` or `from_text`. It never changes.
    """

    @classmethod
    def open(cls, path: _convert.Path, **options: Any) -> Dataset:
        """Read a file or a folder.

        Parameters
        ----------
        path : path
        **options
            Fields of the C library's ``filtra_dataset_options``: `format`, `tokenizer` (a name, a
            path or a `Tokenizer`), `max_length`, `truncate`, `text_column`, `target_column` and
            `feature_columns` (a name or a list of names), `group_column`, `time_column`,
            `id_column`, `delimiter`, `decimal`, `targets`, `label_separator`, `quoting`,
            `validation_share`, `seed`, `max_vocabulary`, `image_size`, `crop_pct`, `pixels`,
            `normalize`, `file_split`, `verify_labels`, `unlabelled`.

        Raises
        ------
        InputError
            For a file that is not what it should be; the message names file and line.
        """
        parents = []
        tokenizer = options.get("tokenizer")
        if isinstance(tokenizer, Tokenizer):
            parents.append(tokenizer)
            options = {**options, "tokenizer": None, "fitted": tokenizer._pointer}
        elif tokenizer is not None and not isinstance(tokenizer, str):
            options = {**options, "tokenizer": _convert.path(tokenizer, "tokenizer")}
        for key in ("text_column", "target_column", "feature_columns"):
            if isinstance(options.get(key), (list, tuple)):
                options = {**options, key: _convert.comma_list(options[key], key)}
        filled = _convert.fill(_c.filtra_dataset_options, **options)
        self = cls.__new__(cls)
        self._make(
            _c.filtra_dataset, "filtra_dataset_close", lib.filtra_dataset_open,
            _convert.path(path), ctypes.byref(filled), parents=parents, gate=Gate(),
        )
        return self

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        *,
        val: tuple[Any, ...] | None = None,
        test: tuple[Any, ...] | None = None,
        kind: str | None = None,
        target: str | None = None,
        tokenizer: Tokenizer | str | None = None,
        edges: Any = None,
        edge_types: int | None = None,
        sample_weight: Any = None,
        classes: Any = None,
        standardise: bool = True,
        like: bytes | None = None,
        validation_share: float = 0.1,
        seed: int = 0,
    ) -> Dataset:
        """Copy samples that are in memory.

        Parameters
        ----------
        X : array_like
            Texts: a list of str. Token ids: a list of arrays of whole numbers, or [samples,
            tokens]. Vectors: numbers [samples, columns], each column a step, with a mean of its
            own. Series: numbers [samples, steps, features], or a list of arrays [steps, features];
            NaN is a missing value. Images: uint8 [samples, height, width] or [samples, height,
            width, 1 or 3].
        y : array_like, [samples]
            Whole numbers, bools and texts are classes, fractions are values. With `target`
            "labels" a list of each sample's names, or [samples, labels] of 0 and 1, NaN where a
            label is unknown. None with "next".
        val, test : (X, y), or (X, y, edges) of graphs, optional
            The other splits. Without `val`, `validation_share` of the samples is held out by
            `seed`; 0: none is.
        kind : {"texts", "tokens", "vectors", "series", "images"}, optional
            What X is. Default: told by its type, if it can only be one.
        target : {"class", "value", "labels", "next"}, optional
            What is learned. "labels": any number of labels; "next": the next token, by a language
            model.
        tokenizer : Tokenizer or str
            Of texts: "bytes", a file, a folder; or "words" or "characters", fitted to X. Of token
            ids: the one that made them.
        edges : list of array_like of int, [samples], optional
            Of graphs, whose nodes are the token ids of X: of each [edges, 3], two nodes of 0 to
            tokens - 1 and a type, or [edges, 2], all of type 0; [] has none. An edge has no
            direction, joins two different nodes, and is given once.
        edge_types : int, optional
            1 to 64; types are 0 to that - 1. Default: the largest type of all splits + 1.
        sample_weight : array_like of float, [samples], optional
            Weights in the loss of training, above 0.
        classes : array_like, optional
            All classes, in the order of their labels, where y may lack some. Default: those of y,
            sorted. With them y is classes, fractions too.
        standardise : bool
            Whether numbers get mean 0 and deviation 1 by the training split.
        like : bytes, optional
            The file of a model that is to be trained further or evaluated, `Model.to_bytes()`:
            numbers are standardised as those of its data were. Give its `tokenizer` and `classes`,
            too, where it has some.
        """
        reader = _tokenizer_of(tokenizer, X)
        graphs = () if edges is None else (edges,)
        parts = {"train": (X, y, *graphs), "val": val, "test": test}
        if target != "next" and y is None:
            raise ArgumentError('y is missing: give the targets, or target="next"')
        if edge_types is not None:
            edge_types = _convert.whole(edge_types, "edge_types", 1, MOST_TYPES)
        if graphs and kind not in (None, "tokens"):
            raise ArgumentError(f'edges join token ids, kind="tokens"; got {kind!r}')
        if edge_types and not graphs:
            raise ArgumentError("edge_types is of graphs: give their edges, too")
        packer = Packer(
            "tokens" if graphs else kind, target, reader, classes, bool(standardise), edge_types
        )
        if like is not None:
            packer.take_input(_input_of(like))
        for split, part in parts.items():
            if part is None:
                continue
            if not isinstance(part, (tuple, list)) or len(part) != 2 + len(graphs):
                raise TypeError(
                    f"{split} must be {'(X, y, edges)' if graphs else 'a pair (X, y)'}"
                )
            packer.add(split, *part)
        if sample_weight is not None:
            packer.weigh(sample_weight)
        packer.arrays.standardise = bool(packer.standardise and packer.arrays.features)
        packer.arrays.columns = bool(packer.arrays.standardise and packer.kind == "vectors")
        packer.arrays.hold_out = val is None and validation_share > 0
        packer.arrays.validation_share = _convert.number(validation_share, "validation_share")
        packer.arrays.seed = _convert.whole(seed, "seed")
        self = cls.__new__(cls)
        self._make(
            _c.filtra_dataset, "filtra_dataset_close", lib.filtra_dataset_create,
            ctypes.byref(packer.arrays), parents=[reader] if reader else [], gate=Gate(),
        )
        return self

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        y: str | Sequence[str],
        *,
        text: str | None = None,
        columns: Sequence[str] | None = None,
        group: str | None = None,
        time: str | None = None,
        **options: Any,
    ) -> Dataset:
        """Copy a pandas DataFrame.

        Parameters
        ----------
        frame : pandas.DataFrame
        y : str or sequence of str
            The column that is learned; or columns of 0, 1 and NaN, unknown, each of a label.
        text : str, optional
            The column of texts; `tokenizer` says how they are read.
        columns : sequence of str, optional
            Columns of numbers. Default: all others.
        group, time : str, optional
            Rows of one group are the steps of a series, in the order of `time` (default: of the
            frame), whose texts are all numbers or all dates. All rows of a group have one target.
        **options
            As of `from_arrays`; `target` says what is learned of the column.
        """
        if not hasattr(frame, "columns"):
            raise TypeError(f"frame must be a pandas.DataFrame, not {type(frame).__name__}")
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise ArgumentError(f"the frame has two columns {twice!r}")
        labels = list(y) if isinstance(y, (list, tuple)) else []
        if labels:
            options = {"target": "labels", **options}
        used = [*(labels or [y]), text, group, time]
        if columns is not None:
            columns = [columns] if isinstance(columns, str) else list(columns)
        for name in columns or ():
            if name in used:
                raise ArgumentError(f"column {name!r} is among `columns` and has another use, too")
        for column in [name for name in [*used, *(columns or ())] if name is not None]:
            if column not in frame.columns:
                raise ArgumentError(
                    f"there is no column {column!r}; there are {', '.join(map(str, frame.columns))}"
                )
        if columns is not None and not columns:
            raise ArgumentError("columns is empty: name one, or leave it out for all others")
        for name, other in (("columns", columns), ("group", group), ("time", time)):
            if text is not None and other is not None:
                raise ArgumentError(f"text and {name} are given: a sample is a text or numbers")
        if time is not None and group is None:
            raise ArgumentError("time orders the rows of a group: give `group`, too")
        learned = frame[labels] if labels else frame[y].to_numpy()
        if text is not None:
            return cls.from_arrays(list(frame[text]), learned, kind="texts", **options)
        chosen = columns or [name for name in frame.columns if name not in used]
        for name in chosen:
            if frame[name].dtype.kind not in "fiub":
                raise TypeError(
                    f"column {name!r} is {frame[name].dtype}, not numbers: leave it out by "
                    f"`columns`, or encode it"
                )
        if group is None:
            return cls.from_arrays(frame[chosen], learned, kind="vectors", **options)
        for name in [column for column in (group, time) if column is not None]:
            if frame[name].isna().any():
                row = int(np.argmax(frame[name].isna()))
                raise ArgumentError(f"column {name!r} has no value in row {row}")
        if time is not None:
            frame = frame.copy(deep=False)
            frame[time] = times_of(frame[time], time)
        if options.get("like") is not None:
            wanted = columns_of(_input_of(options["like"]))
            check_columns(frame[chosen], "the frame", wanted, "the model's data")
        series, targets = [], []
        for key, rows in frame.groupby(group, sort=False):
            if len(rows[labels or y].drop_duplicates()) != 1:
                raise ArgumentError(f"rows of group {key!r} have more than one {y!r}")
            if time is not None:
                rows = rows.sort_values(time, kind="stable")
                same = rows[time].duplicated()
                if same.any():
                    at = int(np.argmax(same))
                    raise ArgumentError(
                        f"rows {rows.index[at - 1]!r} and {rows.index[at]!r} of group {key!r} have "
                        f"the same time"
                    )
            series.append(_numbers(rows[chosen]))
            targets.append(rows[labels or y].iloc[0])
        learned = type(frame)(targets, columns=labels) if labels else np.asarray(targets)
        return cls.from_arrays(series, learned, kind="series", **options)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        tokenizer: Tokenizer | str = "bytes",
        length: int = 256,
        validation_share: float = 0.1,
    ) -> Dataset:
        """Cut one text into windows for a language model.

        Parameters
        ----------
        text : str
        tokenizer : Tokenizer or str
        length : int
            Tokens of a window; each token is predicted once.
        validation_share : float
            Fraction at the end that is held out, at most 0.9; 0: none.
        """
        reader = _tokenizer_of(tokenizer, [text])
        assert reader is not None
        length = _convert.whole(length, "length", 1, 1 << 20)
        ids = reader.encode(text)
        share = _convert.number(validation_share, "validation_share")
        if not 0 <= share <= 0.9:
            raise ArgumentError(f"validation_share is {share}, accepted are 0 to 0.9")
        cut = len(ids) - int(round(len(ids) * share))

        def windows(part: Any) -> list[Any]:
            rows = [part[i : i + length + 1] for i in range(0, max(len(part) - 1, 0), length)]
            return [row for row in rows if len(row) > 1]

        train, val = windows(ids[:cut]), windows(ids[cut:])
        if not train:
            raise ArgumentError(f"text has {len(ids)} tokens; two are the least")
        return cls.from_arrays(
            train, val=(val, None) if val else None, kind="tokens", target="next",
            tokenizer=reader, validation_share=0.0,
        )

    @property
    def _info(self) -> Any:
        return self._call(lib.filtra_dataset_get_info).contents

    @property
    def info(self) -> dict[str, Any]:
        """What the data are: format, input, target, features, classes, longest and more."""
        found = _convert.values(self._info)
        for name in ("count", "unlabelled"):
            found[name] = dict(zip(SPLITS, found[name]))
        return found

    @property
    def counts(self) -> dict[str, int]:
        """Samples of each split."""
        return dict(zip(SPLITS, map(int, self._info.count)))

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of its texts; None: the samples are numbers, or ids of an unknown one."""
        return Tokenizer._of(self._info.tokenizer, self)

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in the order of their labels."""
        count = self._info.classes
        names = (self._call(lib.filtra_dataset_class_name, i) for i in range(count))
        return [_convert.string(name) or "" for name in names]

    def __len__(self) -> int:
        return sum(self.counts.values())

    def sample(self, index: int, split: str = "train") -> Sample:
        """Return one sample, in the split's order."""
        which = _split(split)
        index = _convert.whole(index, "index")
        found = _c.filtra_sample()
        self._call(lib.filtra_dataset_sample, which, index, ctypes.byref(found))
        info = self._info
        features = None
        if info.input == _c.filtra_input.FEATURES:
            features = np.empty((found.length, info.features), np.float32)
            self._call(
                lib.filtra_dataset_sample_features, which, index, _arrays.pointer(features)
            )
        extra = info.target == _c.filtra_target.NEXT
        return Sample(
            tokens=_arrays.copied(found.tokens, (found.length + extra,), _arrays.I32)
            if found.tokens else None,
            features=features,
            second=_arrays.copied(found.second, (found.second_length,), _arrays.I32)
            if found.second else None,
            label=int(found.label)
            if info.target == _c.filtra_target.CLASS and found.label >= 0 else None,
            labels=sorted(found.labels[: found.label_count])
            if info.target == _c.filtra_target.LABELS and found.label >= 0 else None,
            value=float(found.value)
            if info.target == _c.filtra_target.VALUE and np.isfinite(found.value) else None,
            name=_convert.string(found.name),
            edges=_arrays.copied(found.edges, (found.edge_count, 3), _arrays.I32)
            if info.edge_types else None,
            second_at=int(found.second_at),
            unknown=sorted(
                found.labels[found.label_count : found.label_count + found.unknown_count]
            )
            if found.unknown_count else [],
        )

    def loader(self, split: str = "train", batch_size: int = 32, **options: Any) -> Loader:
        """Make batches of a split: see `Loader`."""
        return Loader(self, split, batch_size, **options)

    def __repr__(self) -> str:
        if self.closed:
            return "<Dataset closed>"
        counts = ", ".join(f"{count} {split}" for split, count in self.counts.items() if count)
        return f"<Dataset {counts}>"


def _input_of(like: Any) -> dict[str, Any]:
    """Return how the file of the model `like` says that samples are read."""
    if not isinstance(like, (bytes, bytearray, memoryview)):
        raise TypeError(f"like must be bytes, as of Model.to_bytes(), not {type(like).__name__}")
    return input_of(bytes(like), "like")


def _numbers(frame: Any) -> Any:
    """Return numbers with all their bits, which `from_arrays` checks; <NA> becomes NaN."""
    return frame.to_numpy(np.float64, na_value=np.nan)


def _tokenizer_of(tokenizer: Any, texts: Any) -> Tokenizer | None:
    if tokenizer is None or isinstance(tokenizer, Tokenizer):
        return tokenizer
    if tokenizer in ("words", "characters"):
        return Tokenizer.fit(texts, tokenizer)
    return Tokenizer(tokenizer)
