"""Batches of samples: a loader's, and one's own."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _c, _convert
from ._edges import pack_edges
from ._errors import ArgumentError, ClosedError
from ._library import lib
from ._object import Gate, Object, holding

if TYPE_CHECKING:
    from .data import Dataset

__all__ = ["Batch", "Loader"]

_ARRAYS = (
    "tokens", "features", "lengths", "labels", "values", "weights", "indices", "other_labels",
    "label_fractions", "second", "targets", "edge_counts", "edges",
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
        Of several labels: 1, or another weight above 0, where one applies, -1 where it is unknown,
        else 0.
    weights : array_like of float, [size]
        Weights in the loss. Default: 1.
    second : array_like of int, [size]
        Where the second text of a row begins, 0 where there is none: its tokens have token type 1.
        Default: one text in every row.
    other_labels : array_like of int, [size]
    label_fractions : array_like of float, [size]
        Together, of rows that mix two samples: the class of the second one, and the fraction of the
        first, 0 to 1. For trainers with `mixed_labels`.
    edges : list of array_like of int, [size]
        Of graphs: the edges of each row, [edges, 3] or [edges, 2], as in `Dataset.from_arrays`.

    Attributes
    ----------
    indices : numpy.ndarray of uint32, [size], or None
        Positions in the split, of a loader's batch.
    edge_counts : numpy.ndarray of uint32, [size], or None
        Edges of each row, of graphs; the attribute `edges` is int32 [sum of edge_counts, 3].
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
        second: Any = None,
        other_labels: Any = None,
        label_fractions: Any = None,
        edges: Any = None,
    ) -> None:
        if (tokens is None) == (features is None):
            raise ArgumentError("a batch has either tokens or features")
        try:
            shape = np.shape(tokens if features is None else features)
        except ValueError:
            raise ArgumentError(
                "rows of a batch have one length: pad them, and give their `lengths`"
            ) from None
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
        by_row = (
            ("values", values, _arrays.F32), ("second", second, _arrays.I32),
            ("other_labels", other_labels, _arrays.I32),
            ("label_fractions", label_fractions, _arrays.F32),
        )
        for name, given, dtype in by_row:
            if given is not None:
                self.arrays[name] = _arrays.array_of(given, dtype, (size,), name)
        if edges is not None:
            if pair or features is not None:
                raise ArgumentError("edges join tokens [size, length], not features or pairs")
            counts, joined = pack_edges(edges, size, "edges")
            self.arrays.update(edge_counts=counts, edges=joined)
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
        edges = sum(struct.edge_counts[: struct.size]) if struct.edge_counts else 0
        shape = {
            "edges": (edges, 3),
            "tokens": (*rows, struct.length),
            "features": (struct.size, struct.length, loader.features),
            "lengths": rows,
            "labels": (struct.size, struct.length) if loader.next_tokens else (struct.size,),
            "targets": (struct.size, loader.classes),
        }.get(name, (struct.size,))
        found = getattr(struct, name)
        return np.ctypeslib.as_array(found, shape).copy() if found else None

    def _sizes(self) -> tuple[int, int, bool | None]:
        """Return numbers of a step, labels, and whether labels are of each token; 0, None: none."""
        if self.loader is not None:
            return self.loader.features, self.loader.classes, self.loader.next_tokens
        features, targets, labels = map(self.arrays.get, ("features", "targets", "labels"))
        return (
            0 if features is None else features.shape[2],
            0 if targets is None else targets.shape[1],
            None if labels is None else labels.ndim == 2,
        )

    def fitting(self, features: int, outputs: int, task: str) -> Any:
        """Return the struct for a call of a model, which reads arrays of its own sizes."""
        own, targets, next_tokens = self._sizes()
        if own and features and own != features:
            raise ArgumentError(f"the batch has {own} numbers a step, the model reads {features}")
        if task == "multi_label" and targets and targets != outputs:
            raise ArgumentError(f"the batch has {targets} labels, the model {outputs}")
        if next_tokens is not None and next_tokens != (task == "language_model"):
            wanted = "[size]" if next_tokens else "[size, length], next tokens"
            raise ArgumentError(f"labels of a batch for {task} are {wanted}")
        return self.pointed()

    def pointed(self) -> Any:
        """Return the struct for a call; refuse one whose memory its loader has given away."""
        if self.loader is not None and (self.loader.closed or self.loader.taken != self.number):
            raise ClosedError(
                "this batch was its loader's until the next one: read its arrays before"
            )
        return self.struct

    @property
    def held(self) -> list[Loader]:
        """The loader whose memory it points to, if any."""
        return [] if self.loader is None else [self.loader]

    def __getattr__(self, name: str) -> Any:
        if name not in _ARRAYS:
            raise AttributeError(f"a Batch has no {name}")
        if name not in self.arrays and self.loader is not None:
            with holding(self.held):
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
    """Batches of a split. Iterating over it gives the batches of one epoch, or what is left of it.

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
    augmentation : dict, optional
        Random changes of images, by the keys of docs/config.md: `hflip`, `crop_scale`,
        `crop_ratio`, `rand_augment`, `rand_augment_magnitude`, `rand_augment_std`,
        `random_erasing`, `mixup`, `cutmix`, `mixup_prob`, `repeats`. Batches of mixup and CutMix
        are for trainers with `mixed_labels`.
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
        augmentation: Mapping[str, Any] | None = None,
    ) -> None:
        from .data import Dataset  # which makes loaders

        if not isinstance(data, Dataset):
            raise TypeError(f"data must be a filtra.Dataset, not {type(data).__name__}")
        options = _convert.fill(
            _c.filtra_loader_options, split=split, batch_size=batch_size, shuffle=shuffle,
            seed=seed, drop_last=drop_last, sample_weights=sample_weights,
        )
        if isinstance(class_weights, (str, Mapping)):
            raise TypeError("class_weights must be a list of a number for each class, in order")
        if class_weights is not None:
            wanted = _arrays.array_of(
                class_weights, _arrays.F32, (len(data.classes),), "class_weights"
            )
            options.class_weights = _arrays.pointer(wanted)
        if augmentation is not None:
            if not isinstance(augmentation, Mapping):
                raise TypeError(
                    f"augmentation must be a dict such as {{'hflip': 0.5}}, not "
                    f"{type(augmentation).__name__}"
                )
            changes = _convert.fill(_c.filtra_augmentation, **augmentation)
            options.augmentation = ctypes.pointer(changes)
        self.data = data
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
        for _ in range(len(self) - self.position[1]):
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
