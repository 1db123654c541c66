"""Whole runs in folders, as the command ``filtra train`` makes them."""

from __future__ import annotations

import ctypes
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _c, _convert, _errors, results
from ._library import lib
from ._object import Gate, Object
from .data import Dataset
from .device import Where, device_of
from .model import Model, mixer_text
from .predictor import Predictor
from .tokenizer import Tokenizer
from .trainer import Callback, Progress, StopTraining, listed_callbacks

__all__ = [
    "Run", "RunProgress", "complete_config", "describe_config", "import_run", "measure",
    "preset", "presets",
    "train",
]


def describe_config(key: str | None = None) -> str:
    """Explain a key of the configuration, a mixer or an option "mixer.K"; None: list all."""
    text = ctypes.c_char_p()
    lib.filtra_config_describe(_convert.optional_text(key, "key"), ctypes.byref(text))
    return _taken(text)


def complete_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Check a configuration, and return it with every key."""
    text = ctypes.c_char_p()
    lib.filtra_config_complete(_convert.config_text(config), b"config", ctypes.byref(text))
    return dict(json.loads(_taken(text)))


def presets() -> list[str]:
    """Names of the papers' recipes, for the key `preset`."""
    names: list[str] = []
    while True:
        name = _convert.string(lib.filtra_preset_name(len(names)))
        if name is None:
            return names
        names.append(name)


def preset(name: str) -> dict[str, Any]:
    """Return a recipe: title, paper, data, config and note."""
    found = lib.filtra_preset_json(_convert.text(name, "name"))
    if found is None:
        raise _errors.ArgumentError(lib.message())
    return dict(json.loads(found))


def _reading(settings: Mapping[str, Any]) -> bytes | None:
    return _convert.json_text(settings, "settings") if settings else None


def _taken(text: Any) -> str:
    """Copy a text of the library's, and free it."""
    try:
        return _convert.string(text.value) or ""
    finally:
        lib.filtra_free(text)


@dataclass(frozen=True)
class RunProgress:
    """Where a run is; what callbacks get as metrics.

    Attributes
    ----------
    step, steps : int
        Finished steps, and steps of the run.
    epoch : float
        Passes over the training data so far.
    loss, accuracy, absolute_error : float
        Means over the last 20 steps.
    tokens_per_second, milliseconds, seconds_left : float
        The last is an estimate; below 0: unknown.
    last : dict
        Metrics of the last step.
    validation, best : Evaluation or None
    evaluated : bool
        Whether an evaluation precedes this call.
    """

    step: int
    steps: int
    epoch: float
    loss: float
    accuracy: float
    absolute_error: float
    tokens_per_second: float
    milliseconds: float
    seconds_left: float
    last: dict[str, Any]
    validation: results.Evaluation | None
    best: results.Evaluation | None
    evaluated: bool


def _progress(struct: Any) -> RunProgress:
    found = _convert.values(struct)
    fields = {name: found[name] for name in RunProgress.__annotations__ if name in found}
    for name in ("validation", "best"):
        pointer = getattr(struct, name)
        fields[name] = results.evaluation(pointer.contents) if pointer else None
    return RunProgress(**fields)


class _Listener:
    """Passes a run's progress on to callbacks."""

    def __init__(self, callbacks: list[Callback], progress: bool) -> None:
        self.callbacks = callbacks
        self.bar = progress
        self.begun = False
        self.step = 0  # that callbacks know
        self.stopped = False

    def __call__(self, user: Any, pointer: Any) -> bool:
        try:
            self.tell(_progress(pointer.contents))
            return True
        except StopTraining:
            self.stopped = True
            return False

    def tell(self, metrics: RunProgress) -> None:
        """Call the callbacks."""
        if not self.begun:
            self.begun = True
            self.step = metrics.step
            if self.bar:
                self.callbacks.append(Progress(metrics.steps))
            for callback in self.callbacks:
                callback.on_begin(self)
        for callback in self.callbacks if metrics.step > self.step else ():
            callback.on_step(self, metrics)
        self.step = metrics.step
        if metrics.evaluated:
            for callback in self.callbacks:
                callback.on_epoch(self, int(metrics.epoch), metrics.validation)

    def end(self) -> None:
        """Tell callbacks that it is over."""
        for callback in self.callbacks if self.begun else ():
            callback.on_end(self)


def train(
    folder: _convert.Path,
    config: Mapping[str, Any] | None = None,
    data: Dataset | _convert.Path | None = None,
    *,
    device: Where = None,
    callbacks: Callback | Sequence[Callback] = (),
    progress: bool = False,
    allow_changes: bool = False,
    steps: int = 0,
    epochs: int = 0,
) -> Run:
    """Train a whole run: schedule, evaluation, metrics, checkpoints and best model in a folder.

    A run that was interrupted, by Ctrl-C, too, goes on where its checkpoint is.

    Parameters
    ----------
    folder : path
        New or empty; or that of a run to resume.
    config : dict, optional
        Keys of docs/config.md, as ``{"mixer": "agf", "epochs": 3}``. None resumes the run.
    data : Dataset or path, optional
        In place of the key `data`. A `Dataset` of one's own is needed again for resuming.
    callbacks : Callback, or sequence of them
        `on_step` gets a `RunProgress` of the newest finished step, and passes over one where two
        have finished at once; `on_epoch` is called after each evaluation.
    progress : bool
        Whether a bar is shown (tqdm), or lines are logged.
    allow_changes : bool
        Whether a run goes on where settings or data differ from its checkpoint's.
    steps, epochs : int
        Resume to this length in place of the configuration's.

    Raises
    ------
    InputError
        For a key or data that cannot be used; before the folder is made.
    """
    opened = device_of(device)
    listener = _Listener(listed_callbacks(callbacks), progress)
    options = _c.filtra_run_options()
    text = None
    if config is not None:
        _convert.config_text(config)
        keys = dict(config)
        if data is not None and not isinstance(data, Dataset):
            keys["data"] = _convert.string(_convert.path(data, "data (a Dataset or a path)"))
        text = _convert.config_text(keys)
        mixer_text(keys.get("mixer"))
    elif data is not None and not isinstance(data, Dataset):
        raise TypeError("a run that is resumed knows its path of data: leave `data` out")
    given = _convert.path(folder, "folder")
    options.config, options.folder, options.allow_changes = text, given, allow_changes
    options.steps = _convert.whole(steps, "steps")
    options.epochs = _convert.whole(epochs, "epochs")
    held: list[Dataset] = []
    if isinstance(data, Dataset):
        options.data = data._pointer
        held.append(data)
    gate = opened._handle.gate

    def tell(*arguments: Any) -> Any:
        with gate.lent():
            return listener(*arguments)

    told = type(options.progress)(_errors.guarded(tell, False))
    options.progress = told
    # Python handles Ctrl-C as a function of its own begins; without one, after the evaluation.
    asked = type(options.stop)(_errors.guarded(lambda user: False, True))
    options.stop = asked
    try:
        with _errors.interruptible():
            opened._call(lib.filtra_run_train, ctypes.byref(options), held=held)
    except _errors.CancelledError:
        if not listener.stopped:
            raise
    finally:
        listener.end()
    return Run(folder)


def measure(
    config: Mapping[str, Any],
    data: Dataset | None = None,
    *,
    device: Where = None,
) -> dict[str, Any]:
    """Compute the device memory of a run before anything is made.

    Returns
    -------
    dict
        Bytes by use: parameters, gradients, moments, activations, transfers, total, available;
        `fits`; and `advice`: settings with which it would fit.
    """
    options = _c.filtra_run_options()
    options.config = _convert.config_text(config)
    if data is not None and not isinstance(data, Dataset):
        raise TypeError(
            f"data must be a filtra.Dataset, not {type(data).__name__}; a path is given as the key "
            f'"data" of config'
        )
    if data is not None:
        options.data = data._pointer
    found, reference = results.new(_c.filtra_run_memory_use)
    held = [] if data is None else [data]
    device_of(device)._call(lib.filtra_run_measure, ctypes.byref(options), reference, held=held)
    return _convert.values(found)


def import_run(
    source: _convert.Path,
    folder: _convert.Path,
    *,
    device: Where = None,
    **changes: Any,
) -> Run:
    """Make a run folder, without data, of a model that was trained elsewhere."""
    text = _convert.json_text(changes, "changes") if changes else None
    device_of(device)._call(
        lib.filtra_run_import, _convert.path(source, "source"), text,
        _convert.path(folder, "folder"),
    )
    return Run(folder)


class Run(Object):
    """A run's folder: configuration, metrics, best model, and data as it read them.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder: _convert.Path) -> None:
        self.folder = Path(folder)
        self._make(
            _c.filtra_run, "filtra_run_close", lib.filtra_run_open,
            _convert.path(folder, "folder"), gate=Gate(),
        )

    @property
    def _info(self) -> Any:
        return self._call(lib.filtra_run_get_info).contents

    @property
    def config(self) -> dict[str, Any]:
        """All keys of its configuration."""
        return dict(json.loads(self._info.config))

    @property
    def task(self) -> str:
        """What its model predicts."""
        return _c.filtra_task(self._info.task).name.lower()

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        info = self._info
        return [_convert.string(info.classes[i]) or "" for i in range(info.class_count)]

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of its texts."""
        return Tokenizer._of(self._info.tokenizer, self)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl."""
        path = self.folder / _c.FILTRA_RUN_METRICS
        if not path.exists():
            return []
        with path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    @property
    def metrics(self) -> dict[str, Any]:
        """Measures as arrays by name, one element a record; NaN where a record has it not.

        "loss" is of training, "validation_loss" of validation, both over "step".
        """
        records = self.records
        names = {name: None for record in records for name in record}
        return {name: np.array([record.get(name, np.nan) for record in records]) for name in names}

    def frame(self) -> Any:
        """Return the metrics as a pandas DataFrame, one row a record."""
        return importlib.import_module("pandas").DataFrame(self.metrics)

    def plot(self, name: str = "loss", ax: Any = None) -> Any:
        """Draw a measure of training and validation over the steps; returns matplotlib's axes."""
        if ax is None:
            ax = importlib.import_module("matplotlib.pyplot").subplots()[1]
        found = self.metrics
        drawn = [curve for curve in (name, f"validation_{name}") if curve in found]
        if not drawn:
            raise _errors.ArgumentError(f"the run has no {name!r}; it has {', '.join(found)}")
        for curve in drawn:
            there = ~np.isnan(found[curve].astype(float))
            ax.plot(found["step"][there], found[curve][there], label=curve)
        ax.set_xlabel("step")
        ax.legend()
        return ax

    def model(self, *, device: Where = None) -> Model:
        """Load the best model."""
        opened = device_of(device)
        model = Model.__new__(Model)
        model.device = opened
        model._make(
            _c.filtra_model, "filtra_model_destroy",
            lambda *arguments: self._call(lib.filtra_run_load_model, *arguments), opened._pointer,
            parents=[opened],
        )
        return model

    def predictor(self, *, device: Where = None, **options: Any) -> Predictor:
        """Load the best model as a predictor: see `Predictor`."""
        predictor = Predictor.__new__(Predictor)
        predictor._create(
            device_of(device),
            lambda *arguments: self._call(lib.filtra_run_create_predictor, *arguments), (),
            **options,
        )
        predictor._read_columns(self.folder / _c.FILTRA_RUN_MODEL)
        return predictor

    def data(
        self, path: _convert.OptionalPath = None, split: str = "train", **settings: Any
    ) -> Dataset:
        """Open its data, or those at `path`, as it read its own; one file is read as `split`.

        `settings` say how the file at `path` is written where it differs from its own, as in
        ``run.data("new.csv", "test", text_column="body", delimiter="semicolon")``: format,
        delimiter, decimal, quoting, text_column, target_column, label_separator, group_column,
        time_column, id_column.
        """
        data = Dataset.__new__(Dataset)
        data._make(
            _c.filtra_dataset, "filtra_dataset_close",
            lambda *arguments: self._call(lib.filtra_run_open_data, *arguments),
            None if path is None else _convert.path(path),
            _convert.choice(_c.filtra_split, split, "split"), _reading(settings), parents=[self],
            gate=Gate(),
        )
        return data

    def evaluate(
        self,
        split: str = "test",
        data: _convert.OptionalPath = None,
        *,
        precision: str | None = None,
        device: Where = None,
        **settings: Any,
    ) -> results.Evaluation:
        """Evaluate the best model on a split of its data, or of those at a path.

        `settings` say how the file at that path is written: see `data`.
        """
        found, reference = results.new(_c.filtra_evaluation)
        chosen = None
        if precision is not None:
            member = _convert.choice(_c.filtra_precision, precision, "precision")
            chosen = ctypes.byref(ctypes.c_int(member))
        device_of(device)._call(
            lib.filtra_run_evaluate, _convert.path(self.folder), _convert.text(split, "split"),
            None if data is None else _convert.path(data, "data"), _reading(settings), chosen,
            reference, None,
        )
        return results.evaluation(found)

    def __repr__(self) -> str:
        return f"<Run {self.folder}>"
