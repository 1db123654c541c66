"""Models around any token mixer."""

from __future__ import annotations

import ctypes
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _arrays, _c, _convert, results
from ._errors import ArgumentError
from ._library import lib
from ._object import Object
from .batches import Batch
from .data import Dataset
from .device import Device, Where, device_of
from .parameters import Parameters

__all__ = ["Memory", "Model"]

Memory = dict[str, int]
"""Bytes of device memory by use: parameters, training, activations, transfers, total."""


def mixer_text(mixer: Any) -> Any:
    """Return a mixer's name, or its options as JSON text."""
    if mixer is None or isinstance(mixer, str):
        return mixer
    if isinstance(mixer, (Mapping, list)):
        return _convert.json_text(mixer, "mixer").decode()
    raise TypeError(
        f"mixer must be a name, a dict with \"name\" and options, or a list of these by layers; "
        f"not {type(mixer).__name__}"
    )


def _config(data: Dataset | None, config: Mapping[str, Any]) -> Any:
    fields = {**config, "mixer": mixer_text(config.get("mixer"))}
    filled = _convert.fill(_c.filtra_model_config, **fields)
    if data is not None:
        if not isinstance(data, Dataset):
            raise TypeError(f"data must be a filtra.Dataset, not {type(data).__name__}")
        filled.data = data._pointer
    return filled


def _split_of(data: Any, split: Any) -> _c.filtra_split:
    """Check data, and return the split's number."""
    if not isinstance(data, Dataset):
        raise TypeError(
            f"data must be a filtra.Dataset, not {type(data).__name__}; a filtra.Predictor takes "
            f"arrays"
        )
    return _convert.choice(_c.filtra_split, split, "split")


class Model(Object):
    """A model on a device, with initial values.

    Parameters
    ----------
    data : Dataset, optional
        The data that it learns: sizes and task are taken from them, and model files record how
        they were read.
    device : Device, str or int, optional
        Default: `default_device()`.
    mixer : str, dict or list
        A mixer's name, ``{"name": "agf", "K": 5}``, or a list of such with "layers".
    **config
        The keys of docs/config.md that are a model's: `layers`, `heads`, `width`, `ffn_width`,
        `dropout`, `task`, `classes`, `vocabulary`, `features`, `max_length`, `pooling`, `norm`,
        `positions`, `precision`, `seed` and others.

    Raises
    ------
    ArgumentError
        Naming the field and its accepted range.
    """

    _sizes: tuple[int, int, str] | None = None  # numbers of a step, outputs, task

    def __init__(
        self, data: Dataset | None = None, *, device: Where = None, **config: Any
    ) -> None:
        device = device_of(device)
        filled = _config(data, config)
        held = [] if data is None else [data]
        self._create(device, lib.filtra_model_create, ctypes.byref(filled), held=held)

    def _create(
        self, device: Device, function: Any, *arguments: Any, held: Sequence[Dataset] = ()
    ) -> None:
        self.device = device
        self._make(
            _c.filtra_model, "filtra_model_destroy", function, device._pointer, *arguments,
            parents=[device], held=held,
        )

    @classmethod
    def _new(cls, device: Where, function: Any, *arguments: Any) -> Model:
        self = cls.__new__(cls)
        self._create(device_of(device), function, *arguments)
        return self

    @classmethod
    def load(cls, path: _convert.Path, *, device: Where = None) -> Model:
        """Load a file of `save`, which holds the configuration too."""
        return cls._new(device, lib.filtra_model_load, _convert.path(path))

    @classmethod
    def from_bytes(cls, data: bytes, *, device: Where = None) -> Model:
        """Load what `to_bytes` returned."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data must be bytes, not {type(data).__name__}")
        data = bytes(data)
        return cls._new(device, lib.filtra_model_load_from_memory, data, len(data))

    @classmethod
    def from_pretrained(
        cls, path: _convert.Path, *, device: Where = None, **changes: Any
    ) -> Model:
        """Create a model from one that was trained before.

        Parameters
        ----------
        path : path
            A folder as Hugging Face's transformers write it (BERT, RoBERTa, DistilBERT, GPT-2, ViT,
            DeiT), a run folder or a model file.
        **changes
            Keys that replace the source's: ``mixer="gfsa"``, ``classes=3``. Parameters that the
            source has no values for get initial ones, which a warning names.
        """
        text = _convert.json_text(changes, "changes") if changes else None
        return cls._new(device, lib.filtra_model_import, _convert.path(path), text)

    @staticmethod
    def measure(
        size: int,
        length: int,
        *,
        data: Dataset | None = None,
        training: bool = True,
        device: Where = None,
        **config: Any,
    ) -> Memory:
        """Compute the device memory of a model for batches of `size` samples of `length` tokens."""
        found, reference = results.new(_c.filtra_memory_use)
        opened = device_of(device)
        filled = _config(data, config)
        purpose = _c.filtra_purpose.TRAINING if training else _c.filtra_purpose.INFERENCE
        opened._call(
            lib.filtra_model_measure, ctypes.byref(filled), _convert.whole(size, "size", 1),
            _convert.whole(length, "length", 1), purpose, reference,
        )
        return _convert.values(found)

    # ---- out ----

    def save(self, path: _convert.Path) -> None:
        """Write weights and configuration to a safetensors file, whole or not at all."""
        self._call(lib.filtra_model_save, _convert.path(path))

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        content, size = ctypes.c_void_p(), ctypes.c_size_t()
        self._call(lib.filtra_model_save_to_memory, ctypes.byref(content), ctypes.byref(size))
        try:
            return ctypes.string_at(content, size.value)
        finally:
            lib.filtra_free(content)

    def save_pretrained(self, folder: _convert.Path) -> None:
        """Write a new folder that Hugging Face's transformers load.

        Raises
        ------
        ArgumentError
            Naming the key, for a model that is none of their architectures.
        """
        with tempfile.TemporaryDirectory(prefix="filtra-") as temporary:
            file = Path(temporary, "model.safetensors")
            self.save(file)
            lib.filtra_model_export(_convert.path(file), _convert.path(folder, "folder"))

    # ---- what it is ----

    @property
    def config(self) -> dict[str, Any]:
        """The configuration with all defaults; `mixer` is a dict, or a list of such."""
        found, reference = results.new(_c.filtra_model_config)
        self._call(lib.filtra_model_get_config, reference)
        values = _convert.values(found)
        values["mixer"] = json.loads(values["mixer"])
        values.pop("seed", None)
        return values

    @property
    def task(self) -> str:
        """What it predicts: "classification", "regression", "language_model" ..."""
        return _c.filtra_task(self._call(lib.filtra_model_task)).name.lower()

    @property
    def outputs(self) -> int:
        """Numbers of a prediction: classes; 1 in regression; the vocabulary of a language model."""
        return int(self._call(lib.filtra_model_outputs))

    @property
    def classes(self) -> int:
        """Number of classes; 0 in other tasks."""
        return int(self._call(lib.filtra_model_classes))

    @property
    def max_length(self) -> int:
        """Longest sequence, in tokens."""
        return int(self._call(lib.filtra_model_max_length))

    @property
    def parameters(self) -> Parameters:
        """Names and values of the weights, readable and writable."""
        return Parameters._borrowed(self._call(lib.filtra_model_parameters), self)

    def set_precision(self, precision: str) -> None:
        """Compute in "fp32", "bf16" or "fp16"; the values of the weights stay."""
        self._call(
            lib.filtra_model_set_precision,
            _convert.choice(_c.filtra_precision, precision, "precision"),
        )

    def set_data(self, data: Dataset) -> None:
        """Record how data were read, so that predictors read requests the same way.

        A model that is trained further on data which were read otherwise takes them as its own.
        """
        if not isinstance(data, Dataset):
            raise TypeError(f"data must be a filtra.Dataset, not {type(data).__name__}")
        self._call(lib.filtra_model_set_data, data._pointer, held=[data])

    def check_data(self, data: Dataset) -> None:
        """Raise InputError for data of other sizes, vocabulary, classes or standardisation."""
        if not isinstance(data, Dataset):
            raise TypeError(f"data must be a filtra.Dataset, not {type(data).__name__}")
        self._call(lib.filtra_model_check_data, data._pointer, held=[data])

    # ---- what it does ----

    def _fitting(self, batch: Batch) -> Any:
        """Return the struct of a batch that has the sizes which the model reads."""
        if not isinstance(batch, Batch):
            raise TypeError(f"batch must be a filtra.Batch, not {type(batch).__name__}")
        if self._sizes is None:
            self._sizes = (self.config["features"], self.outputs, self.task)
        return batch.fitting(*self._sizes)

    def predict_batch(self, batch: Batch, out: Any = None) -> Any:
        """Predict a batch.

        Returns
        -------
        numpy.ndarray of float32
            Logits [size, classes]; values [size, 1] in regression; of a language model logits
            [size, length, vocabulary].
        """
        struct = self._fitting(batch)
        shape: tuple[int, ...] = (struct.size, self.outputs)
        if self.task == "language_model":
            shape = (struct.size, struct.length, self.outputs)
        found = _arrays.room(out, _arrays.F32, shape)
        self._call(
            lib.filtra_model_predict_batch, ctypes.byref(struct), _arrays.pointer(found),
            held=batch.held,
        )
        return found

    def predict(self, data: Dataset, split: str = "test", batch_size: int = 32) -> Any:
        """Predict a split: float32 [samples, outputs], in its order. Not of language models."""
        which = _split_of(data, split)
        found = np.empty((data.counts[which.name.lower()], self.outputs), np.float32)
        self._call(
            lib.filtra_model_predict_split, data._pointer, which,
            _convert.whole(batch_size, "batch_size", 1, 65535), _arrays.pointer(found),
            held=[data],
        )
        return found

    def evaluate_batch(self, batch: Batch) -> tuple[float, float, float]:
        """Return a batch's loss, its score (accuracy; in regression absolute error) and weight."""
        loss, score, weight = ctypes.c_double(), ctypes.c_double(), ctypes.c_double()
        self._call(
            lib.filtra_model_evaluate_batch, ctypes.byref(self._fitting(batch)), ctypes.byref(loss),
            ctypes.byref(score), ctypes.byref(weight), held=batch.held,
        )
        return loss.value, score.value, weight.value

    def evaluate(
        self,
        data: Dataset,
        split: str = "val",
        batch_size: int = 32,
        *,
        stride: int | None = None,
    ) -> results.Evaluation:
        """Evaluate a split.

        Parameters
        ----------
        stride : int, optional
            Of a language model on one text: by a window that moves on by so many tokens.

        Raises
        ------
        InputError
            For data of another vocabulary, other classes or another standardisation than the
            model's own data. `Dataset.from_arrays` takes `tokenizer`, `classes` and `like`.
        """
        found, reference = results.new(_c.filtra_evaluation)
        which = _split_of(data, split)
        size = _convert.whole(batch_size, "batch_size", 1, 65535)
        if stride is None:
            self._call(
                lib.filtra_model_evaluate_split, data._pointer, which, size, reference, held=[data]
            )
        else:
            self._call(
                lib.filtra_model_evaluate_text, data._pointer, which, size,
                _convert.whole(stride, "stride", 1, 1 << 31), reference, held=[data],
            )
        return results.evaluation(found)

    def score(self, data: Dataset, split: str = "test", batch_size: int = 32) -> results.Scores:
        """Score a classifier on a split: per class, averaged, and the confusion matrix."""
        which = _split_of(data, split)
        return results.make_scores(
            self._call_with(lib.filtra_model_score_split, held=[data]), data._pointer, which,
            _convert.whole(batch_size, "batch_size", 1, 65535),
        )

    def _call_with(self, function: Any, held: Sequence[Dataset] = ()) -> Any:
        """Return a function that calls with this as the first argument."""
        return lambda *arguments: self._call(function, *arguments, held=held)

    def __repr__(self) -> str:
        if self.closed:
            return "<Model closed>"
        return f"<Model {self.task}, {self.parameters.scalars} numbers>"


def convert(source: _convert.Path, target: _convert.Path, dtype: str = "f16") -> None:
    """Copy a model file with weights of another type: "f32", "f16" or "bf16".

    Raises
    ------
    NonfiniteError
        Naming the tensor, where a number is beyond the range of the type.
    """
    if not isinstance(dtype, str) or dtype.lower() not in ("f32", "f16", "bf16"):
        raise ArgumentError(f'dtype must be "f32", "f16" or "bf16"; got {dtype!r}')
    lib.filtra_model_convert(
        _convert.path(source, "source"), _convert.path(target, "target"),
        _c.filtra_dtype[dtype.upper()],
    )
