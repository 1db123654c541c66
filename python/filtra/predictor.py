"""Prediction with a trained model: from texts, numbers and images to classes, values and vectors.
"""

from __future__ import annotations

import ctypes
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


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


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
        self._vector = vector is not None
        self._may_pair = bool(info.may_pair)

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of its texts; None: it reads none."""
        info = self._share(lib.filtra_predictor_get_info).contents
        return Tokenizer._of(info.tokenizer, self)

    # ---- requests ----

    def _fill(self, request: Any, value: Any, name: str, keep: list[Any]) -> None:
        """Fill in one request: a text, a pair of texts, ids, numbers or an image."""
        if _is_pair(value) and not self._may_pair:
            raise ArgumentError(f"{name} is a pair of texts; the model reads one text")
        if isinstance(value, str) or _is_pair(value):
            texts = (value,) if isinstance(value, str) else value
            for field, text in zip(("text", "second"), texts):
                data = _convert.content(text, name)
                setattr(request, field, data)
                setattr(request, f"{field}_length", len(data))
                keep.append(data)
            return
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
        if array.ndim == 0:
            raise TypeError(
                f"{name} must be a text, ids, numbers or an image, not {type(value).__name__}; one "
                f"sample alone is given as [sample]"
            )
        if array.dtype == np.uint8 and array.ndim in (2, 3):
            array = np.ascontiguousarray(array)
            request.channels = array.shape[2] if array.ndim == 3 else 1
            request.length = array.shape[0] * array.shape[1]
            field = "pixels"
        elif self.features:
            array = array[:, None] if array.ndim == 1 else array
            array = _arrays.array_of(array, _arrays.F32, (None, self.features), name)
            request.length, field = len(array), "series"
        else:
            array = _arrays.array_of(array, _arrays.I32, (None,), name)
            request.length, field = len(array), "tokens"
        keep.append(array)
        setattr(request, field, _arrays.pointer(array))

    def _answer(
        self, samples: list[Any], name: str, first: int, out: dict[str, Any]
    ) -> Any:
        """Predict samples, whose numbers go to rows of `out` from `first`."""
        count = len(samples)
        requests, answers = (_c.filtra_request * count)(), (_c.filtra_prediction * count)()
        keep: list[Any] = []
        for i, sample in enumerate(samples):
            self._fill(requests[i], sample, f"{name}[{first + i}]", keep)
            for field, rows in out.items():
                setattr(requests[i], field, _arrays.pointer(rows[first + i]))
        try:
            self._share(lib.filtra_predictor_predict, count, requests, answers)
        except ValueError as error:
            if first and str(error).startswith("request "):
                raise type(error)(f"{name}[{first}] and after: {error}") from None
            raise
        return answers

    def _predict(self, X: Any, *wanted: str) -> tuple[list[Any], dict[str, Any]]:
        if self._vector != ("vector" in wanted):
            raise ArgumentError(
                "this predictor gives vectors: use embed" if self._vector
                else 'vectors need a predictor made with vector="mean", "first" or "head"'
            )
        samples = list(as_array(X))
        out = {field: np.empty((len(samples), self.outputs), np.float32) for field in wanted}
        answers: list[Any] = []
        for first in range(0, len(samples), MOST):
            answers.extend(self._answer(samples[first : first + MOST], "X", first, out))
        return answers, out

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
        labels = np.array([answer.label for answer in answers], np.int32)
        return np.array(self.classes)[labels] if self.classes else labels

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of the classes, or of each label, float32 [samples, classes]."""
        if self.task == "regression":
            raise ArgumentError("a regression has no probabilities: use predict")
        return self._predict(X, "probabilities")[1]["probabilities"]

    def logits(self, X: Any) -> Any:
        """Return the numbers before the softmax, float32 [samples, outputs]."""
        return self._predict(X, "logits")[1]["logits"]

    def embed(self, X: Any) -> Any:
        """Return a vector of each sample, float32 [samples, outputs]."""
        return self._predict(X, "vector")[1]["vector"]

    def __repr__(self) -> str:
        return f"<Predictor {'closed' if self.closed else self.task}>"
