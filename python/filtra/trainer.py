"""Training one step at a time, or by epochs with callbacks."""

from __future__ import annotations

import ctypes
import importlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _c, _convert, results
from ._errors import ArgumentError
from ._library import lib
from ._object import Object
from .batches import Batch, Loader
from .data import Dataset
from .model import Model

__all__ = ["Callback", "Progress", "StopTraining", "Trainer"]


class StopTraining(Exception):
    """Raised by a callback to end `Trainer.fit`; the steps that were taken stay."""


class Callback:
    """What `Trainer.fit` and `filtra.train` call; override what you need."""

    def on_begin(self, trainer: Any) -> None:
        """Do something before the first step."""

    def on_step(self, trainer: Any, metrics: Any) -> None:
        """Do something with the metrics of a step; called once after each."""

    def on_epoch(self, trainer: Any, epoch: int, evaluation: results.Evaluation | None) -> None:
        """Do something after a pass over the data, with the validation's results if there are.

        `Trainer.fit` counts passes from 0; `filtra.train` calls this after each evaluation, with
        the passes that are over then: 1 after the first.
        """

    def on_end(self, trainer: Any) -> None:
        """Do something after the last step, also after a failure."""


class Progress(Callback):
    """A bar of tqdm's, where it is installed; else a line every ten seconds in the log."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.bar: Any = None
        self.said = time.monotonic()

    def on_begin(self, trainer: Any) -> None:
        """Open the bar."""
        try:
            tqdm = importlib.import_module("tqdm.auto")
        except ImportError:
            return
        self.bar = tqdm.tqdm(total=self.steps, unit="step")

    def on_step(self, trainer: Any, metrics: Any) -> None:
        """Move the bar on."""
        if self.bar is not None:
            self.bar.set_postfix(loss=f"{metrics.loss:.4f}", refresh=False)
            self.bar.update(metrics.step - self.bar.n)
        elif time.monotonic() - self.said >= 10:
            from ._log import logger

            self.said = time.monotonic()
            logger.info("step %d of %d, loss %.4f", metrics.step, self.steps, metrics.loss)

    def on_end(self, trainer: Any) -> None:
        """Close the bar."""
        if self.bar is not None:
            self.bar.close()


def _class_of(value: Any, kinds: tuple[type, ...], expected: str) -> None:
    if not isinstance(value, kinds):
        raise TypeError(f"{expected}, not {type(value).__name__}")


def listed_callbacks(given: Any) -> list[Callback]:
    """Return callbacks, or one, as a list."""
    alone = isinstance(given, Callback) or not isinstance(given, Iterable)
    listed: list[Callback] = [given] if alone else list(given)
    for callback in listed:
        _class_of(callback, (Callback,), "callbacks must be objects of filtra.Callback")
    return listed


def _listed(value: Any) -> Any:
    """Return names, or names with numbers, as the keys of docs/config.md have them."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}={number}" for name, number in value.items())
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def loader_of(data: Dataset, batch_size: int, seed: int, class_weights: Any) -> Loader:
    """Return the loader of a training: in an order drawn by `seed`, with the data's weights."""
    return data.loader(
        "train", batch_size, shuffle=True, seed=seed, class_weights=class_weights,
        sample_weights=True,
    )


class Trainer(Object):
    """Trains a model: optimizer state, step count and training graphs.

    Parameters
    ----------
    model : Model
    **options
        Of the optimizer: `kind` ("adamw", "adam", "radam"), `learning_rate`, `schedule`, `steps`,
        `warmup_steps`, `weight_decay`, `decay_all`, `beta1`, `beta2`, `epsilon`, `clip_norm`,
        `loss_scale`. Of training: `label_smoothing`, `accumulate`, `recompute`, `loss_chunks`,
        `seed` (of dropout), `layer_decay`, `regression_loss`, `freeze` (a str or a list),
        `learning_rates`, `weight_decays` (a str, or a dict of names to numbers), `mixed_labels`.
        docs/config.md explains them.
    """

    _passes: int | None = 0  # begun over data sets; None: as many as the restored steps took

    def __init__(self, model: Model, **options: Any) -> None:
        _class_of(model, (Model,), "model must be a filtra.Model")
        of_optimizer = _convert.options_of(_c.filtra_optimizer_options)
        known = of_optimizer | _convert.options_of(_c.filtra_train_options)
        for name in options:
            if name not in known:
                _convert.refuse_option(name, known)
        options = {name: _listed(value) for name, value in options.items()}
        first = {name: options.pop(name) for name in list(options) if name in of_optimizer}
        filled = _convert.fill(_c.filtra_train_options, **options)
        filled.optimizer = _convert.fill(_c.filtra_optimizer_options, **first)
        self.model = model
        self._make(
            _c.filtra_trainer, "filtra_trainer_destroy", lib.filtra_trainer_create, model._pointer,
            ctypes.byref(filled), parents=[model],
        )

    def prepare(self, size: int, length: int) -> None:
        """Compile the graph for batches of that shape, so that no step has to. Longest first."""
        self._call(
            lib.filtra_trainer_prepare, _convert.whole(size, "size", 1),
            _convert.whole(length, "length", 1),
        )

    def step(self, batch: Batch) -> results.TrainerMetrics:
        """Submit one step, and return while the device works on it.

        Returns
        -------
        TrainerMetrics
            Of the newest finished step; `step` is 0 before the first.

        Raises
        ------
        NonfiniteError
            If an earlier step produced a NaN or an infinity. That step and this were not taken.
        """
        found, reference = results.new(_c.filtra_trainer_metrics)
        struct = self.model._fitting(batch)
        self._call(lib.filtra_trainer_step, ctypes.byref(struct), reference, held=batch.held)
        return results.metrics(found)

    def finish(self) -> results.TrainerMetrics:
        """Wait for all steps, and return the metrics of the last."""
        found, reference = results.new(_c.filtra_trainer_metrics)
        self._call(lib.filtra_trainer_finish, reference)
        return results.metrics(found)

    @property
    def steps(self) -> int:
        """Number of steps submitted so far."""
        return int(self._call(lib.filtra_trainer_step_count))

    def set_learning_rate(self, learning_rate: float) -> None:
        """Set the schedule's peak, from the next step on."""
        self._call(
            lib.filtra_trainer_set_learning_rate, _convert.number(learning_rate, "learning_rate")
        )

    def save(self, path: _convert.Path) -> None:
        """Write weights, moments and step to one file, whole or not at all."""
        self._call(lib.filtra_trainer_save, _convert.path(path))

    def restore(self, path: _convert.Path) -> None:
        """Read a file of `save`: training goes on with the same bits on the same device."""
        self._call(lib.filtra_trainer_restore, _convert.path(path))
        self._passes = None

    def fit(
        self,
        data: Dataset | Loader | Iterable[Batch],
        *,
        epochs: int = 1,
        batch_size: int | None = None,
        seed: int | None = None,
        class_weights: Any = None,
        callbacks: Callback | Sequence[Callback] = (),
        progress: bool = False,
    ) -> results.TrainerMetrics:
        """Train by passes over data.

        Parameters
        ----------
        data : Dataset, Loader or iterable of Batch
            Of a data set the training split, in an order drawn by `seed`, with its weights; after
            each pass its validation split, if it has one, is evaluated. One that was read
            otherwise than the model's data is refused; `Model.set_data` makes it the model's.
            Each pass of a trainer over data sets has an order of its own, so that ``fit(data,
            epochs=2)`` twice is ``fit(data, epochs=4)``. After `restore` passes go on from as many
            as the steps take with these data.
        epochs : int
        batch_size, seed : int, optional
            Of a data set; default: 32 and 0.
        class_weights : array_like of float, [classes], optional
            Of a data set.
        callbacks : Callback, or sequence of them
        progress : bool
            Whether a bar is shown (tqdm), or lines are logged.

        Returns
        -------
        TrainerMetrics
            Of the last step.
        """
        size = 32 if batch_size is None else batch_size
        given = {"batch_size": batch_size, "seed": seed, "class_weights": class_weights}
        of_data = [name for name, value in given.items() if value is not None]
        if isinstance(data, Dataset):
            loader = loader_of(data, size, 0 if seed is None else seed, class_weights)
            self.model.check_data(data)
            return self._fit_on(loader, size, epochs, callbacks, progress)
        if of_data:
            raise ArgumentError(
                f"{' and '.join(of_data)} {'is' if len(of_data) == 1 else 'are'} given, which "
                f"batches and a Loader have of their own: give them with a Dataset alone"
            )
        if isinstance(data, Loader):
            self.model.check_data(data.data)
        return self._fit(data, None, size, epochs, callbacks, progress)

    def _fit_on(self, loader: Loader, batch_size: int, *rest: Any) -> results.TrainerMetrics:
        """Train on a data set's loader, which goes on after the passes begun so far."""
        count = max(1, len(loader))
        begun = -(-self.steps // count) if self._passes is None else self._passes
        loader.position = (begun, 0)
        validation = loader.data if loader.data.counts["val"] else None
        try:
            return self._fit(loader, validation, batch_size, *rest)
        finally:
            self._passes = begun - (-loader.taken // count)

    def _fit(
        self,
        batches: Any,
        validation: Dataset | None,
        batch_size: int,
        epochs: int,
        callbacks: Callback | Sequence[Callback],
        progress: bool,
    ) -> results.TrainerMetrics:
        """Train by passes over batches; `batch_size` is the validation's."""
        epochs = _convert.whole(epochs, "epochs", 1)
        listed = listed_callbacks(callbacks)
        if progress:
            count = len(batches) if hasattr(batches, "__len__") else 0
            listed.append(Progress(self.steps + epochs * count))
        try:
            for callback in listed:
                callback.on_begin(self)
            for epoch in range(epochs):
                if not self._pass(batches, listed):
                    raise ArgumentError(
                        f"data gave no batches in pass {epoch + 1} of {epochs}: an iterator can "
                        f"be used once, a Dataset, a Loader or a list again"
                    )
                result = self.model.evaluate(validation, "val", batch_size) if validation else None
                for callback in listed:
                    callback.on_epoch(self, epoch, result)
        except StopTraining:
            pass
        finally:
            for callback in listed:
                callback.on_end(self)
        return self.finish()

    def _pass(self, batches: Iterable[Batch], callbacks: Sequence[Callback]) -> int:
        """Take a step with each batch; return how many there were.

        With callbacks the next batch is read while the device works, and submitted after the step:
        two in flight would leave C with the metrics of the last one alone at the end of a pass.
        """
        count = 0
        _class_of(batches, (Iterable,), "data must be a Dataset, a Loader or batches")
        for batch in batches:
            _class_of(batch, (Batch,), "data must be a Dataset, a Loader or batches")
            if count and callbacks:
                self._tell(callbacks)
            self.step(batch)
            count += 1
        if count:
            self._tell(callbacks)
        return count

    def _tell(self, callbacks: Sequence[Callback]) -> None:
        """Wait for the step that was submitted, and pass its metrics on."""
        found = self.finish()
        for callback in callbacks:
            callback.on_step(self, found)

    def __repr__(self) -> str:
        return f"<Trainer {'closed' if self.closed else f'after {self.steps} steps'}>"


