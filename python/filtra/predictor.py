"""Prediction with a trained model: from texts, numbers and images to classes, values and vectors.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Union

import numpy as np

from . import _arrays, _c, _convert
from ._errors import ArgumentError
from ._library import lib
from ._object import Object
from ._samples import as_array
from .device import Device, Where, device_of
from .model import Model
from .tokenizer import Tokenizer

__all__ = ["Predictor"]

Source = Union[_convert.Path, bytes, Model]
MOST = 1024  # requests of one call: what Ctrl-C waits for

# Fields of a filtra_request up to its channels, and all of them but those reserved: packing them is
# much faster than setting attributes of the struct.
Fields = tuple[int, int, int, int, int, int, int, int, int]
_REQUEST = struct.Struct("@PNPNPPPIIPPP56x")


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _pointing(field: str, at: int, length: int, channels: int) -> Fields:
    """Return the fields of a request whose `field` points to numbers at an address."""
    return (
        0, 0, 0, 0, at if field == "tokens" else 0, at if field == "series" else 0,
        at if field == "pixels" else 0, length, channels,
    )


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
        if isinstance(source, (bytes, bytearray, memoryview)):
            function = lib.filtra_predictor_create_from_memory
            arguments = (bytes(source), len(source))
        else:
            function = lib.filtra_predictor_create
            arguments = (_convert.path(source, "source"),)
        self._create(
            device_of(device), function, arguments, batch_size=batch_size, precision=precision,
            vector=vector, normalise=normalise, prepare_all=prepare_all,
        )

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
            0, 0, 0, 0, 0,
        )

    def _numbers(self, array: Any, above: tuple[None, ...], name: str) -> tuple[Any, str, int, int]:
        """Return ids, numbers or pixels as C reads them, their field, length and channels.

        `above` has a None for each axis before those of a sample.
        """
        shape = array.shape[len(above) :]
        if len(shape) in (2, 3) and array.dtype == np.uint8:
            channels = shape[2] if len(shape) == 3 else 1
            return np.ascontiguousarray(array), "pixels", shape[0] * shape[1], channels
        if self.features:
            array = array[..., None] if len(shape) == 1 else array
            array = _arrays.array_of(array, _arrays.F32, (*above, None, self.features), name)
            return array, "series", shape[0], 0
        return _arrays.array_of(array, _arrays.I32, (*above, None), name), "tokens", shape[0], 0

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
        array, field, length, channels = self._numbers(array, (), name)
        keep.append(array)
        return _pointing(field, _arrays.address(array), length, channels)

    def _fields(self, X: Any, keep: list[Any]) -> list[Fields]:
        """Return the fields of all samples' requests; `keep` receives what they point to."""
        X = as_array(X)
        if type(X) is not np.ndarray or X.ndim < 2 or X.dtype.kind not in "biuf":
            return [self._sample(value, f"X[{i}]", keep) for i, value in enumerate(X)]
        array, field, length, channels = self._numbers(X, (None,), "X")
        keep.append(array)
        first, step = _arrays.address(array), array.strides[0]
        return [
            _pointing(field, first + i * step, length, channels) for i in range(len(array))
        ]

    def _predict(self, X: Any, wanted: str = "") -> tuple[Any, Any]:
        """Return answers as C gives them, and the numbers `wanted` [samples, outputs]."""
        if self._vector != (wanted == "vector"):
            raise ArgumentError(
                "this predictor gives vectors: use embed" if self._vector
                else 'vectors need a predictor made with vector="mean", "first" or "head"'
            )
        keep: list[Any] = []
        samples = self._fields(X, keep)
        count = len(samples)
        numbers = np.empty((count, self.outputs), np.float32) if wanted else None
        to, row = _arrays.address(numbers) if wanted else 0, 4 * self.outputs
        requests, answers = (_c.filtra_request * count)(), (_c.filtra_prediction * count)()
        for i, fields in enumerate(samples):
            _REQUEST.pack_into(
                requests, i * _REQUEST.size, *fields, to if wanted == "logits" else 0,
                to if wanted == "probabilities" else 0, to if wanted == "vector" else 0,
            )
            to += row
        for first in range(0, count, MOST):
            self._answer(requests, answers, first, min(MOST, count - first))
        return answers, numbers

    def _answer(self, requests: Any, answers: Any, first: int, count: int) -> None:
        """Answer `count` requests from `first`."""
        try:
            self._share(
                lib.filtra_predictor_predict, count, ctypes.byref(requests[first]),
                ctypes.byref(answers[first]),
            )
        except ValueError as error:
            if first and str(error).startswith("request "):
                raise type(error)(f"X[{first}] and after: {error}") from None
            raise

    # ---- answers ----

    def predict(self, X: Any) -> Any:
        """Predict samples.

        Parameters
        ----------
        X : array_like
            Texts, pairs of texts as tuples, arrays of token ids, numbers [samples, columns] or
            [samples, steps, features], uint8 images: what the model was trained on.

        Returns
        -------
        numpy.ndarray, [samples]
            float32 values in regression; else names of classes, or labels (int32) where classes
            have none. Of several labels int32 [samples, labels] of 0 and 1: those with a logit
            above 0, a probability above 0.5.
        """
        if self.task == "multi_label":
            return (self.logits(X) > 0).astype(np.int32)
        answers, _ = self._predict(X)
        if self.task == "regression":
            return np.array([answer.value for answer in answers], np.float32)
        labels = [answer.label for answer in answers]
        return np.array(labels, np.int32) if self._names is None else self._names[labels]

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of the classes, or of each label, float32 [samples, classes]."""
        if self.task == "regression":
            raise ArgumentError("a regression has no probabilities: use predict")
        return self._predict(X, "probabilities")[1]

    def logits(self, X: Any) -> Any:
        """Return the numbers before the softmax, float32 [samples, outputs]."""
        return self._predict(X, "logits")[1]

    def embed(self, X: Any) -> Any:
        """Return a vector of each sample, float32 [samples, outputs]."""
        return self._predict(X, "vector")[1]

    def __repr__(self) -> str:
        return f"<Predictor {'closed' if self.closed else self.task}>"
