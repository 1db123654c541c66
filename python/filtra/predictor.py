"""Prediction with a trained model: from texts, numbers and images to classes, values and vectors.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
from collections import deque
from typing import Any, Union

import numpy as np

from . import _arrays, _c, _convert
from ._errors import ArgumentError
from ._library import lib
from ._object import Object
from ._samples import as_array
from ._stored import check_columns, columns_of, input_of
from .device import Device, Where, device_of
from .model import Model
from .tokenizer import Tokenizer

__all__ = ["Predictor"]

Source = Union[_convert.Path, bytes, Model]
MOST = 1024  # requests of one call: what Ctrl-C waits for

# Fields of a filtra_request up to its height, which say what a sample is; then where its numbers
# go. Packing them is much faster than setting attributes of the struct.
Fields = tuple[int, ...]
_SAMPLE = struct.Struct("@PNPNPPPIII")
_POINTER = struct.Struct("@P")
_STRIDE = ctypes.sizeof(_c.filtra_request)
_ANSWER = np.dtype({
    "names": ["label", "value"],
    "formats": [np.int32, np.float32],
    "offsets": [_c.filtra_prediction.label.offset, _c.filtra_prediction.value.offset],
    "itemsize": ctypes.sizeof(_c.filtra_prediction),
})


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


class _Layout:
    """Arrays of one shape and type, whose samples are read where they lie."""

    __slots__ = ("after", "at", "before", "dtype", "shape")

    def __init__(self, array: Any, field: str, *size: int) -> None:
        before = 4 + ("tokens", "series", "pixels").index(field)
        self.shape, self.dtype = array.shape, array.dtype
        self.before, self.after = (0,) * before, (*(0,) * (6 - before), *size)
        self.at = getattr(_c.filtra_request, field).offset
        """Where the pointer to a sample stands in a request."""


class _Room:
    """Requests, their answers and numbers, for one call at a time."""

    __slots__ = ("answers", "count", "labels", "layout", "numbers", "requests", "values", "wanted")

    def __init__(self, count: int, outputs: int, wanted: str) -> None:
        self.count = count
        self.wanted = wanted
        self.layout: _Layout | None = None
        self.requests = (_c.filtra_request * count)()
        self.answers = (_c.filtra_prediction * count)()
        answers: Any = np.ndarray((count,), _ANSWER, memoryview(self.answers))
        self.labels = answers["label"]
        self.values = answers["value"]
        self.numbers: Any = np.empty((count, outputs if wanted else 0), np.float32)
        if wanted:
            first, row = _arrays.address(self.numbers), self.numbers.strides[0]
            at = getattr(_c.filtra_request, wanted).offset
            for i in range(count):
                _POINTER.pack_into(self.requests, i * _STRIDE + at, first + i * row)

    def hold(self, samples: list[Fields]) -> None:
        """Fill the requests."""
        self.layout = None
        for i, fields in enumerate(samples):
            _SAMPLE.pack_into(self.requests, i * _STRIDE, *fields)

    def hold_array(self, array: Any, layout: _Layout) -> None:
        """Fill the requests with the rows of an array."""
        first, step, at = _arrays.address(array), array.strides[0], layout.at
        if self.layout is not layout:
            self.hold([(*layout.before, first, *layout.after)] * self.count)
            self.layout = layout
        for i in range(self.count):
            _POINTER.pack_into(self.requests, i * _STRIDE + at, first + i * step)


class Predictor(Object):
    """A loaded model that reads samples as it was trained to. Any number of threads may use it.

    Parameters
    ----------
    source : path, bytes or Model
        A run folder's model.safetensors or a file of `Model.save`, its content, or a model.
    device : Device, str or int, optional
    batch_size : int
        Most samples computed together.
    precision : str, optional
        "fp32", "bf16" or "fp16". Default: the model's.
    vector : {"mean", "first", "head"}, optional
        `embed` gives vectors of this kind, and there are no predictions.
    normalise : bool
        Whether vectors have length 1.
    prepare_all : bool
        Whether all graphs are compiled now, so that no sample waits for one.
    """

    _columns: list[Any] | None = None  # names, of a table's numbers

    def __init__(
        self,
        source: Source,
        *,
        device: Where = None,
        batch_size: int = 16,
        precision: str | None = None,
        vector: str | None = None,
        normalise: bool = False,
        prepare_all: bool = False,
    ) -> None:
        if isinstance(source, Model):
            device = source.device if device is None else device
            source = source.to_bytes()
        arguments: tuple[Any, ...]
        stored: bytes | _convert.Path
        if isinstance(source, (bytes, bytearray, memoryview)):
            stored = bytes(source)
            function = lib.filtra_predictor_create_from_memory
            arguments = (stored, len(stored))
        else:
            stored, function = source, lib.filtra_predictor_create
            arguments = (_convert.path(source, "source"),)
        self._create(
            device_of(device), function, arguments, batch_size=batch_size, precision=precision,
            vector=vector, normalise=normalise, prepare_all=prepare_all,
        )
        self._read_columns(stored)

    def _read_columns(self, stored: bytes | _convert.Path) -> None:
        """Read the names of a table's columns, so that frames with others are refused."""
        with contextlib.suppress(OSError, ArgumentError):  # of another program
            self._columns = columns_of(input_of(stored, "source"))

    def _create(
        self,
        device: Device,
        function: Any,
        arguments: tuple[Any, ...],
        *,
        precision: str | None = None,
        vector: str | None = None,
        **options: Any,
    ) -> None:
        """Call a function that makes a predictor; `arguments` come after the device."""
        filled = _convert.fill(_c.filtra_predictor_options, vector=vector, **options)
        if precision is not None:
            chosen = ctypes.c_int(_convert.choice(_c.filtra_precision, precision, "precision"))
            filled.precision = ctypes.pointer(chosen)
        self._make(
            _c.filtra_predictor, "filtra_predictor_destroy", function, device._pointer,
            *arguments, ctypes.byref(filled), parents=[device],
        )
        info = self._share(lib.filtra_predictor_get_info).contents
        self.task = _c.filtra_task(info.task).name.lower()
        """What it predicts: "classification", "regression" ..."""
        self.outputs = int(info.outputs)
        """Numbers of a prediction, or of a vector."""
        self.features = int(info.features)
        """Numbers of a step; 0: it reads token ids."""
        self.max_length = int(info.max_length)
        """Longest sequence, in tokens, pixels or steps."""
        self.classes = [_convert.string(info.classes[i]) or "" for i in range(info.class_count)]
        """Names of the classes."""
        self._names = np.array(self.classes) if self.classes else None
        self._vector = vector is not None
        self._answering = lib.unchecked("filtra_predictor_predict")
        self._rooms: deque[_Room] = deque(maxlen=8)  # as many threads find one each
        self._layout: _Layout | None = None  # of the last array that was read where it lay
        self._may_pair = bool(info.may_pair)

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of its texts; None: it reads none."""
        info = self._share(lib.filtra_predictor_get_info).contents
        return Tokenizer._of(info.tokenizer, self)

    # ---- requests ----

    def _texts(self, value: Any, name: str, keep: list[Any]) -> Fields:
        """Return the fields of a request that has a text, or a pair of texts."""
        if isinstance(value, str):
            first, second = _convert.content(value, name), None
        elif self._may_pair:
            first, second = (_convert.content(text, name) for text in value)
        else:
            raise ArgumentError(f"{name} is a pair of texts; the model reads one text")
        keep += (first, second)
        return (
            _arrays.address_of_bytes(first), len(first),
            0 if second is None else _arrays.address_of_bytes(second), len(second or b""),
            0, 0, 0, 0, 0, 0,
        )

    def _numbers(
        self, array: Any, above: tuple[None, ...], name: str
    ) -> tuple[Any, str, int, int, int]:
        """Return ids, numbers or pixels as C reads them, their field, length, channels and height.

        `above` has a None for each axis before those of a sample.
        """
        shape = array.shape[len(above) :]
        if len(shape) in (2, 3) and array.dtype == np.uint8:
            channels = shape[2] if len(shape) == 3 else 1
            pixels = np.ascontiguousarray(array)
            return pixels, "pixels", shape[0] * shape[1], channels, shape[0]
        if self.features:
            array = array[..., None] if len(shape) == 1 else array
            array = _arrays.array_of(array, _arrays.F32, (*above, None, self.features), name)
            return array, "series", shape[0], 0, 0
        return _arrays.array_of(array, _arrays.I32, (*above, None), name), "tokens", shape[0], 0, 0

    def _sample(self, value: Any, name: str, keep: list[Any]) -> Fields:
        """Return the fields of a request: a text, a pair of texts, ids, numbers or an image."""
        if isinstance(value, str) or _is_pair(value):
            return self._texts(value, name, keep)
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
        if array.ndim == 0:
            raise TypeError(
                f"{name} must be a text, ids, numbers or an image, not {type(value).__name__}; one "
                f"sample alone is given as [sample]"
            )
        array, field, *size = self._numbers(array, (), name)
        keep.append(array)
        layout = _Layout(array, field, *size)
        return (*layout.before, _arrays.address(array), *layout.after)

    def _hold(self, X: Any, wanted: str, keep: list[Any]) -> _Room:
        """Return room with the requests of all samples; `keep` receives what they point to."""
        layout = self._layout
        if (layout is not None and type(X) is np.ndarray and X.shape == layout.shape
                and X.dtype == layout.dtype and X.flags.carray):
            room = self._room(len(X), wanted)
            room.hold_array(X, layout)
            return room
        check_columns(X, "X", self._columns, "the model's data")
        X = as_array(X)
        room = self._room(len(X), wanted)
        if type(X) is np.ndarray and X.ndim > 1 and X.dtype.kind in "biuf":
            array, field, *size = self._numbers(X, (None,), "X")
            layout = _Layout(array, field, *size)
            if array is X:
                self._layout = layout
            keep.append(array)
            room.hold_array(array, layout)
        else:
            room.hold([self._sample(value, f"X[{i}]", keep) for i, value in enumerate(X)])
        return room

    def _room(self, count: int, wanted: str) -> _Room:
        """Return room for as many requests: one that was given back, or a new one."""
        try:
            room = self._rooms.pop()
            if room.count == count and room.wanted == wanted:
                return room
        except IndexError:
            pass
        return _Room(count, self.outputs, wanted)

    def _predict(self, X: Any, wanted: str = "") -> _Room:
        """Return answers as C gives them, with the numbers `wanted` [samples, outputs]."""
        if self._vector != (wanted == "vector"):
            raise ArgumentError(
                "this predictor gives vectors: use embed" if self._vector
                else 'vectors need a predictor made with vector="mean", "first" or "head"'
            )
        keep: list[Any] = []
        room = self._hold(X, wanted, keep)
        for first in range(0, room.count, MOST):
            self._answer(room, first, min(MOST, room.count - first))
        return room

    def _answer(self, room: _Room, first: int, count: int) -> None:
        """Answer `count` requests from `first`."""
        requests: Any = room.requests
        answers: Any = room.answers
        if first:
            requests = ctypes.byref(requests[first])
            answers = ctypes.byref(answers[first])
        # ctypes takes as long to call what checks a status as for the call itself.
        status = self._share(self._answering, count, requests, answers)
        try:
            lib.check(status)
        except ValueError as error:
            if first and str(error).startswith("request "):
                raise type(error)(f"X[{first}] and after: {error}") from None
            raise

    def _give_back(self, room: _Room) -> None:
        """Keep room whose answers have been read, for the next call of as many requests."""
        if room.count <= MOST:
            self._rooms.append(room)

    def _numbers_of(self, X: Any, wanted: str) -> Any:
        """Return the numbers `wanted`, [samples, outputs]."""
        room = self._predict(X, wanted)
        numbers = room.numbers.copy()
        self._give_back(room)
        return numbers

    # ---- answers ----

    def predict(self, X: Any) -> Any:
        """Predict samples.

        Parameters
        ----------
        X : array_like
            Texts, pairs of texts as tuples, arrays of token ids, numbers [samples, columns] or
            [samples, steps, features], uint8 images: what the model was trained on. A DataFrame
            has the columns of the table that it was trained on, in their order.

        Returns
        -------
        numpy.ndarray, [samples]
            float32 values in regression; else names of classes, or labels (int32) where classes
            have none. Of several labels int32 [samples, labels] of 0 and 1: those with a logit
            above 0, a probability above 0.5.
        """
        if self.task == "multi_label":
            return (self.logits(X) > 0).astype(np.int32)
        room = self._predict(X)
        if self.task == "regression":
            found = room.values.copy()
        else:
            found = room.labels.copy() if self._names is None else self._names.take(room.labels)
        self._give_back(room)
        return found

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of the classes, or of each label, float32 [samples, classes]."""
        if self.task == "regression":
            raise ArgumentError("a regression has no probabilities: use predict")
        return self._numbers_of(X, "probabilities")

    def logits(self, X: Any) -> Any:
        """Return the numbers before the softmax, float32 [samples, outputs]."""
        return self._numbers_of(X, "logits")

    def embed(self, X: Any) -> Any:
        """Return a vector of each sample, float32 [samples, outputs]."""
        return self._numbers_of(X, "vector")

    def __repr__(self) -> str:
        return f"<Predictor {'closed' if self.closed else self.task}>"
