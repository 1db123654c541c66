"""Data sets, from files or from memory, and batches of them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _c, _convert
from ._errors import ArgumentError, ClosedError
from ._library import lib
from ._object import Gate, Object
from ._samples import Samples, pack
from .tokenizer import Tokenizer

__all__ = ["Batch", "Dataset", "Loader", "Sample", "data_formats"]

SPLITS = ("train", "val", "test")
_TARGETS = {"class": _c.filtra_target.CLASS, "value": _c.filtra_target.VALUE}


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
    value : float or None
    name : str or None
        What the data call it.
    """

    tokens: Any
    features: Any
    second: Any
    label: int | None
    labels: list[int] | None
    value: float | None
    name: str | None


def _split(name: Any) -> _c.filtra_split:
    return _convert.choice(_c.filtra_split, name, "split")


def one_type(y: Any, name: str) -> Any:
    """Return targets as an array; refuse missing ones, and texts among what is none."""
    values = np.asarray(y)
    given = list(y) if values.ndim == 1 and values.dtype.kind in "OUS" else []
    for i, value in enumerate(given):
        if value is None or value != value or type(value).__name__ == "NAType":
            raise ArgumentError(f"{name}[{i}] is missing: leave such samples out")
        if isinstance(value, str) != isinstance(given[0], str):
            raise TypeError(
                f"{name}[{i}] is {value!r}, and {name}[0] is {given[0]!r}: targets are of one type"
            )
    return np.array(given) if values.dtype == object and given else values


class Targets:
    """What samples are to become: classes in the order of their names, or values."""

    def __init__(self, y: Any, target: str | None, count: int, name: str = "y") -> None:
        values = one_type(y, name)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.shape != (count,):
            raise ArgumentError(
                f"{name} must have the shape [{count}], one for each sample; got "
                f"{list(values.shape)}"
            )
        if target is None:
            target = "value" if values.dtype.kind == "f" else "class"
        if target not in _TARGETS:
            raise ArgumentError(f'target must be "class", "value" or "next"; got {target!r}')
        self.target = target
        self.y = values

    def values(self, name: str) -> Any:
        """Return float32 values, all finite."""
        found = _arrays.array_of(self.y, _arrays.F32, (None,), name)
        if not np.isfinite(found).all():
            raise ArgumentError(f"{name}[{int(np.argmin(np.isfinite(found)))}] is not finite")
        return found

    def labels(self, classes: Any, name: str) -> Any:
        """Return the positions of classes in a sorted array of all."""
        found = np.searchsorted(classes, self.y)
        found = np.minimum(found, len(classes) - 1)
        wrong = classes[found] != self.y
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ArgumentError(
                f"{name}[{i}] is {self.y[i].item()!r}, which the training data do not have"
            )
        return found.astype(np.int32)


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
            path or a `Tokenizer`), `max_length`, `truncate`, `text_column`, `target_column`,
            `feature_columns`, `group_column`, `time_column`, `id_column`, `delimiter`, `decimal`,
            `targets`, `validation_share`, `seed`, `max_vocabulary`, `image_size`, `crop_pct`,
            `pixels`, `normalize`, `file_split`, `verify_labels`, `unlabelled`.

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
        val: tuple[Any, Any] | None = None,
        test: tuple[Any, Any] | None = None,
        kind: str | None = None,
        target: str | None = None,
        tokenizer: Tokenizer | str | None = None,
        sample_weight: Any = None,
        classes: Any = None,
        standardise: bool = True,
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
            Whole numbers, bools and texts are classes, fractions are values. Not with `target`
            "next".
        val, test : (X, y), optional
            The other splits. Without `val`, `validation_share` of the samples is held out by
            `seed`; 0: none is.
        kind : {"texts", "tokens", "vectors", "series", "images"}, optional
            What X is. Default: told by its type, if it can only be one.
        target : {"class", "value", "next"}, optional
            What is learned. "next": the next token, by a language model.
        tokenizer : Tokenizer or str
            Of texts: "bytes", a file, a folder; or "words" or "characters", fitted to X.
        sample_weight : array_like of float, [samples], optional
            Weights in the loss of training, above 0.
        classes : array_like, optional
            All classes, sorted, where y may lack some.
        standardise : bool
            Whether numbers get mean 0 and deviation 1 by the training split.
        """
        reader = _tokenizer_of(tokenizer, X)
        parts = {"train": (X, y), "val": val, "test": test}
        if target != "next" and y is None:
            raise ArgumentError('y is missing: give the targets, or target="next"')
        packer = _Packer(kind, target, reader, classes, bool(standardise))
        for split, part in parts.items():
            if part is None:
                continue
            if not isinstance(part, (tuple, list)) or len(part) != 2:
                raise TypeError(f"{split} must be a pair (X, y)")
            packer.add(split, part[0], part[1])
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
        target: str,
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
        target : str
            The column that is learned.
        text : str, optional
            The column of texts; `tokenizer` says how they are read.
        columns : sequence of str, optional
            Columns of numbers. Default: all others.
        group, time : str, optional
            Rows of one group are the steps of a series, in the order of `time` (default: of the
            frame). All rows of a group have one target.
        **options
            As of `from_arrays`.
        """
        if not hasattr(frame, "columns"):
            raise TypeError(f"frame must be a pandas.DataFrame, not {type(frame).__name__}")
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise ArgumentError(f"the frame has two columns {twice!r}")
        used = [target, text, group, time]
        for column in [name for name in [*used, *(columns or ())] if name is not None]:
            if column not in frame.columns:
                raise ArgumentError(
                    f"there is no column {column!r}; there are {', '.join(map(str, frame.columns))}"
                )
        if text is not None:
            return cls.from_arrays(
                list(frame[text]), frame[target].to_numpy(), kind="texts", **options
            )
        chosen = list(columns or [name for name in frame.columns if name not in used])
        for name in chosen:
            if frame[name].dtype.kind not in "fiub":
                raise TypeError(
                    f"column {name!r} is {frame[name].dtype}, not numbers: leave it out by "
                    f"`columns`, or encode it"
                )
        if group is None:
            X = frame[chosen].to_numpy(np.float32)
            return cls.from_arrays(X, frame[target].to_numpy(), kind="vectors", **options)
        for name in [column for column in (group, time) if column is not None]:
            if frame[name].isna().any():
                row = int(np.argmax(frame[name].isna()))
                raise ArgumentError(f"column {name!r} has no value in row {row}")
        series, targets = [], []
        for key, rows in frame.groupby(group, sort=False):
            if rows[target].nunique(dropna=False) != 1:
                raise ArgumentError(f"rows of group {key!r} have more than one {target!r}")
            rows = rows if time is None else rows.sort_values(time, kind="stable")
            series.append(rows[chosen].to_numpy(np.float32))
            targets.append(rows[target].iloc[0])
        return cls.from_arrays(series, np.asarray(targets), kind="series", **options)

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
            Fraction at the end that is held out; 0: none.
        """
        reader = _tokenizer_of(tokenizer, [text])
        assert reader is not None
        length = _convert.whole(length, "length", 1, 1 << 20)
        ids = reader.encode(text)
        share = _convert.number(validation_share, "validation_share")
        if not 0 <= share < 1:
            raise ArgumentError(f"validation_share is {share}, accepted are 0 to below 1")
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
        )

    def loader(self, split: str = "train", batch_size: int = 32, **options: Any) -> Loader:
        """Make batches of a split: see `Loader`."""
        return Loader(self, split, batch_size, **options)

    def __repr__(self) -> str:
        if self.closed:
            return "<Dataset closed>"
        counts = ", ".join(f"{count} {split}" for split, count in self.counts.items() if count)
        return f"<Dataset {counts}>"


class _Packer:
    """Fills the struct of arrays, split by split; the training split comes first."""

    def __init__(
        self, kind: str | None, target: str | None, tokenizer: Tokenizer | None, classes: Any,
        standardise: bool,
    ) -> None:
        self.kind = kind
        self.standardise = standardise
        self.target = target
        self.tokenizer = tokenizer
        self.classes = None if classes is None else np.asarray(classes)
        self.arrays = _c.filtra_dataset_arrays()
        self.kept: list[Any] = []
        if tokenizer is not None:
            self.arrays.tokenizer = tokenizer._pointer

    def add(self, split: str, X: Any, y: Any) -> None:
        """Add a split."""
        name = "X" if split == "train" else f"{split}[0]"
        samples = pack(X, self.kind, name, self.tokenizer)
        part = self.arrays.splits[SPLITS.index(split)]
        if split == "train":
            self.kind = samples.kind
            self.arrays.features = samples.features
            self.arrays.height, self.arrays.width = samples.height, samples.width
        elif samples.features != self.arrays.features:
            raise ArgumentError(
                f"{name} has {samples.features} features; X has {self.arrays.features}"
            )
        part.count = len(samples)
        part.lengths = self.keep(samples.lengths)
        if samples.features:
            if not self.standardise and np.isnan(samples.numbers).any():
                raise ArgumentError(f"{name} has NaN: missing values need standardise=True")
            part.features = self.keep(samples.numbers)
        else:
            part.tokens = self.keep(samples.numbers)
        self.add_targets(part, samples, y, "y" if split == "train" else f"{split}[1]", split)

    def add_targets(self, part: Any, samples: Samples, y: Any, name: str, split: str) -> None:
        """Add a split's targets."""
        if self.target == "next":
            self.arrays.target = _c.filtra_target.NEXT
            return
        targets = Targets(y, self.target, len(samples), name)
        if split == "train":
            self.target = targets.target
            self.arrays.target = _TARGETS[targets.target]
        if self.target == "value":
            part.values = self.keep(targets.values(name))
            return
        if self.classes is None:
            self.classes = np.unique(targets.y)
        if split == "train":
            self.name_classes()
        part.labels = self.keep(targets.labels(self.classes, name))

    def name_classes(self) -> None:
        """Name the classes by their values as texts."""
        assert self.classes is not None
        if len(self.classes) < 2:
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


def _tokenizer_of(tokenizer: Any, texts: Any) -> Tokenizer | None:
    if tokenizer is None or isinstance(tokenizer, Tokenizer):
        return tokenizer
    if tokenizer in ("words", "characters"):
        return Tokenizer.fit(texts, tokenizer)
    return Tokenizer(tokenizer)


_ARRAYS = (
    "tokens", "features", "lengths", "labels", "values", "weights", "indices", "other_labels",
    "label_fractions", "second", "targets",
)


class Batch:
    """Samples padded to one length.

    Parameters
    ----------
    tokens : array_like of int, [size, length], or of pairs [2, size, length]
    features : array_like of float, [size, length, features]
        Instead of tokens; 0 after each end.
    lengths : array_like of int, [size], or of pairs [2, size]
        Tokens without padding. Default: all.
    labels : array_like of int, [size]; of a language model [size, length]
        Classes; or next tokens, -1 where there is none.
    values : array_like of float, [size]
        Targets of regression.
    targets : array_like of float, [size, classes]
        Of several labels: 1, or another weight above 0, where one applies, else 0.
    weights : array_like of float, [size]
        Weights in the loss. Default: 1.

    Attributes
    ----------
    indices : numpy.ndarray of uint32, [size], or None
        Positions in the split, of a loader's batch.
    count : int
        Rows that are samples; others are fillers of weight 0.
    """

    loader: Loader | None = None
    number = 0  # of the loader's batches so far

    def __init__(
        self,
        tokens: Any = None,
        *,
        features: Any = None,
        lengths: Any = None,
        labels: Any = None,
        values: Any = None,
        targets: Any = None,
        weights: Any = None,
    ) -> None:
        if (tokens is None) == (features is None):
            raise ArgumentError("a batch has either tokens or features")
        shape = np.shape(tokens if features is None else features)
        pair = features is None and len(shape) == 3
        if len(shape) < 2 or (pair and shape[0] != 2):
            raise ArgumentError(f"tokens must be [size, length] or [2, size, length]; got "
                                f"{list(shape)}")
        size, length = shape[1:] if pair else shape[:2]
        rows = (2, size) if pair else (size,)
        if lengths is None:
            lengths = np.full(rows, length, np.int32)
        if weights is None:
            weights = np.ones(size, np.float32)
        self.arrays: dict[str, Any] = {
            "lengths": _arrays.array_of(lengths, _arrays.I32, rows, "lengths"),
            "weights": _arrays.array_of(weights, _arrays.F32, (size,), "weights"),
        }
        if features is None:
            self.arrays["tokens"] = _arrays.array_of(tokens, _arrays.I32, shape, "tokens")
        else:
            self.arrays["features"] = _arrays.array_of(
                features, _arrays.F32, (size, length, None), "features"
            )
        if labels is not None:
            next_tokens = np.ndim(labels) == 2
            self.arrays["labels"] = _arrays.array_of(
                labels, _arrays.I32, (size, length) if next_tokens else (size,), "labels"
            )
        if targets is not None:
            self.arrays["targets"] = _arrays.array_of(
                targets, _arrays.F32, (size, None), "targets"
            )
        if values is not None:
            self.arrays["values"] = _arrays.array_of(values, _arrays.F32, (size,), "values")
        self.struct = _c.filtra_batch(
            size=size, length=length, count=size, sequences=2 if pair else 1
        )
        for name, array in self.arrays.items():
            setattr(self.struct, name, _arrays.pointer(array))

    @classmethod
    def _of(cls, struct: Any, loader: Loader) -> Batch:
        """Take a loader's batch, whose memory the loader's next batch may reuse."""
        self = cls.__new__(cls)
        self.struct = struct
        self.loader = loader
        self.number = loader.taken
        self.arrays = {}
        return self

    def _copied(self, name: str) -> Any:
        """Copy an array from the loader's memory."""
        struct, loader = self.pointed(), self.loader
        assert loader is not None
        rows = (2, struct.size) if struct.sequences == 2 else (struct.size,)
        shape = {
            "tokens": (*rows, struct.length),
            "features": (struct.size, struct.length, loader.features),
            "lengths": rows,
            "labels": (struct.size, struct.length) if loader.next_tokens else (struct.size,),
            "targets": (struct.size, loader.classes),
        }.get(name, (struct.size,))
        found = getattr(struct, name)
        return np.ctypeslib.as_array(found, shape).copy() if found else None

    def pointed(self) -> Any:
        """Return the struct for a call; refuse one whose memory its loader has given away."""
        if self.loader is not None and (self.loader.closed or self.loader.taken != self.number):
            raise ClosedError(
                "this batch was its loader's until the next one: read its arrays before"
            )
        return self.struct

    def __getattr__(self, name: str) -> Any:
        if name not in _ARRAYS:
            raise AttributeError(f"a Batch has no {name}")
        if name not in self.arrays and self.loader is not None:
            self.arrays[name] = self._copied(name)
        return self.arrays.get(name)

    @property
    def count(self) -> int:
        """Rows that are samples."""
        return int(self.struct.count)

    def __len__(self) -> int:
        return int(self.struct.size)

    def __repr__(self) -> str:
        return f"<Batch {self.count} of {self.struct.size} rows, {self.struct.length} tokens>"


class Loader(Object):
    """Batches of a split. Iterating over it gives the batches of one epoch.

    Read a batch's arrays before the next batch: its memory is used again.

    Parameters
    ----------
    data : Dataset
    split : str
    batch_size : int
    shuffle : bool
        Whether each epoch has a new order, drawn by (seed, epoch).
    seed : int
    drop_last : bool
        Whether partial batches are left out.
    class_weights : array_like of float, [classes], optional
    sample_weights : bool
        Whether weights are multiplied by the data's `sample_weight`.
    """

    def __init__(
        self,
        data: Dataset,
        split: str = "train",
        batch_size: int = 32,
        *,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        class_weights: Any = None,
        sample_weights: bool = False,
    ) -> None:
        if not isinstance(data, Dataset):
            raise TypeError(f"data must be a filtra.Dataset, not {type(data).__name__}")
        options = _convert.fill(
            _c.filtra_loader_options, split=split, batch_size=batch_size, shuffle=shuffle,
            seed=seed, drop_last=drop_last, sample_weights=sample_weights,
        )
        if class_weights is not None:
            wanted = _arrays.array_of(
                class_weights, _arrays.F32, (len(data.classes),), "class_weights"
            )
            options.class_weights = _arrays.pointer(wanted)
        info = data._info
        self.features = int(info.features)
        self.classes = int(info.classes)
        self.next_tokens = info.target == _c.filtra_target.NEXT
        self.taken = 0
        self._make(
            _c.filtra_loader, "filtra_loader_destroy", lib.filtra_loader_create, data._pointer,
            ctypes.byref(options), parents=[data], gate=Gate(),
        )

    def __len__(self) -> int:
        """Return the batches of an epoch."""
        return int(self._call(lib.filtra_loader_batch_count))

    def next(self) -> Batch:
        """Return the next batch, epoch after epoch without end."""
        struct = _c.filtra_batch()
        self.taken += 1
        self._call(lib.filtra_loader_next, ctypes.byref(struct))
        return Batch._of(struct, self)

    def __iter__(self) -> Iterator[Batch]:
        for _ in range(len(self)):
            yield self.next()

    @property
    def lengths(self) -> list[int]:
        """The padded lengths of batches, ascending."""
        count = ctypes.c_size_t()
        found = self._call(lib.filtra_loader_buckets, ctypes.byref(count))
        return [int(found[i]) for i in range(count.value)]

    @property
    def position(self) -> tuple[int, int]:
        """Epoch and batch of what comes next; set it to continue from there."""
        found = self._call(lib.filtra_loader_get_position)
        return int(found.epoch), int(found.batch)

    @position.setter
    def position(self, value: tuple[int, int]) -> None:
        epoch, batch = (_convert.whole(number, "position") for number in value)
        self._call(
            lib.filtra_loader_set_position, _c.filtra_loader_position(epoch=epoch, batch=batch)
        )
