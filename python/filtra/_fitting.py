"""What estimators need for fitting: early stopping, curves of losses, weights of samples."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from . import _convert
from ._errors import ArgumentError, FiltraWarning
from .batches import Loader
from .data import Dataset
from .trainer import Callback, StopTraining


Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Let a fit that fails leave no trace: the model before it answers as it did."""

    @functools.wraps(fit)
    def call(self: Any, *arguments: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return fit(self, *arguments)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return cast(Fit, call)


def warn_of_scale(X: Any) -> None:
    """Warn of columns in which the rows that decide how numbers are scaled are all alike."""
    values = np.asarray(X, np.float64)
    missing = np.isnan(values)
    least = np.where(missing, np.inf, values).min(axis=0)
    most = np.where(missing, -np.inf, values).max(axis=0)
    constant = int((least >= most).sum())
    if constant:
        warnings.warn(
            f"{constant} of {values.shape[1]} columns are constant in the first rows of "
            f"partial_fit, which decide how numbers are scaled: the model reads them as 0 from now "
            f"on; begin with more rows", FiltraWarning, stacklevel=5,
        )


def warn_of_targets(first: tuple[float, float], values: Any) -> None:
    """Warn of numbers to learn far beyond those of the first call of partial_fit."""
    least, most = first
    room = 10 * (most - least)
    outside = int(((values < least - room) | (values > most + room)).sum())
    if outside:
        warnings.warn(
            f"{outside} of {len(values)} targets lie far outside {least:g} to {most:g}, those of "
            f"the first call of partial_fit, which decided how targets are scaled: the model will "
            f"hardly learn them; begin with more rows", FiltraWarning, stacklevel=5,
        )


SHAPING = (
    "mixer", "kind", "layers", "heads", "width", "ffn_width", "dropout", "model_options",
    "tokenizer",
)
"""Parameters that only a new model takes."""


def shape_of(estimator: Any) -> dict[str, bytes]:
    """Return an estimator's parameters that make its model, as texts that do not change."""
    given = {name: getattr(estimator, name) for name in SHAPING}
    return {name: _convert.json_text(value or None, name) for name, value in given.items()}


def refuse_changes(made: dict[str, bytes], shape: dict[str, bytes]) -> None:
    """Refuse to go on with a model that was made with other parameters."""
    changed = [name for name in SHAPING if made[name] != shape[name]]
    if changed:
        raise ArgumentError(
            f"{' and '.join(changed)} changed, which only a new model takes: training goes on with "
            f"the one there is; clone(estimator), or warm_start=False and fit, make a new one"
        )


class Patience(Callback):
    """Ends training after so many passes without a better validation loss, and keeps the best."""

    loader: Loader | None = None  # of weighted validation data, which this evaluates itself

    def __init__(self, patience: int, train_options: Mapping[str, Any] | None) -> None:
        self.patience = patience
        self.absolute = (train_options or {}).get("regression_loss") == "mae"
        self.best = math.inf
        self.waited = 0
        self.content: bytes | None = None

    def weigh(self, data: Dataset, batch_size: int, class_weights: Any) -> None:
        """Judge by the loss that training has, with weights of samples and classes."""
        if data.counts["val"]:
            self.loader = data.loader(
                "val", batch_size, class_weights=class_weights, sample_weights=True
            )

    def _weighted_loss(self, model: Any, loader: Loader) -> float:
        """Return the weighted mean loss; of the absolute error where that is what is minimized."""
        found = [model.evaluate_batch(batch) for batch in loader]
        losses, errors, weights = zip(*found)
        return float(np.average(errors if self.absolute else losses, weights=weights))

    def on_epoch(self, trainer: Any, epoch: int, evaluation: Any) -> None:
        """Compare the validation's loss with the best."""
        if self.loader is not None:
            loss = self._weighted_loss(trainer.model, self.loader)
        elif evaluation is not None:
            loss = evaluation.absolute_error if self.absolute else evaluation.loss
        else:
            return
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.content = trainer.model.to_bytes()
            return
        self.waited += 1
        if self.waited >= self.patience:
            raise StopTraining


class Curve(Callback):
    """Notes the mean loss of each pass."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.curve: list[float] = []

    def on_step(self, trainer: Any, metrics: Any) -> None:
        """Note a step's loss."""
        self.losses.append(metrics.loss)

    def on_epoch(self, trainer: Any, epoch: int, evaluation: Any) -> None:
        """Note a pass."""
        self.curve.append(float(np.mean(self.losses)))
        self.losses = []


def weighted(X: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Leave out samples of weight 0."""
    if weights is None:
        return X, y, None
    if (weights < 0).any():
        raise ArgumentError("sample_weight has negative weights")
    kept = np.flatnonzero(weights > 0)
    return rows_of(X, kept), y[kept], weights[kept]


def rows_of(X: Any, kept: Any) -> Any:
    """Return the samples at those positions."""
    return X[kept] if isinstance(X, np.ndarray) else [X[i] for i in kept]


def leave_out_classes(
    X: Any, labels: Any, weights: Any, of_classes: Any
) -> tuple[Any, Any, Any, Any]:
    """Leave out samples of classes of weight 0, which then is 1: C takes weights above 0."""
    listed = [] if of_classes is None else list(of_classes)
    none = [i for i, weight in enumerate(listed) if weight == 0]
    if not none:
        return X, labels, weights, of_classes
    kept = np.flatnonzero(~np.isin(labels, none))
    if not len(kept):
        raise ArgumentError("class_weight is 0 for the classes of all samples that have a weight")
    weights = weights if weights is None else weights[kept]
    of_classes = [1.0 if i in none else weight for i, weight in enumerate(listed)]
    return rows_of(X, kept), labels[kept], weights, of_classes


def labels_of(y: Any, classes: Any) -> Any:
    """Return the positions of targets in sorted classes."""
    labels = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    wrong = classes[labels] != y
    if wrong.any():
        raise ArgumentError(f"y has the class {y[np.argmax(wrong)].item()!r}, which is new")
    return labels


def class_weights_of(given: Any, classes: Any, labels: Any, weights: Any) -> Any:
    """Return a number for each class, as `class_weight` says; None: they are alike."""
    if given is None:
        return None
    count = len(classes)
    if isinstance(given, str) and given == "balanced":
        sums = np.bincount(labels, weights, minlength=count)
        return np.where(sums > 0, sums.sum() / (count * np.maximum(sums, 1e-30)), 1.0)
    if not isinstance(given, Mapping):
        raise ArgumentError(f'class_weight must be a dict, "balanced" or None; got {given!r}')
    unknown = set(given) - set(classes.tolist())
    if unknown:
        raise ArgumentError(f"class_weight has {sorted(map(str, unknown))}, which are no classes")
    return [given.get(name, 1.0) for name in classes.tolist()]
