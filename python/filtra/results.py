"""Results of training and evaluation."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _c, _convert
from ._library import lib
from ._object import Gate, Object

__all__ = ["ClassScores", "Evaluation", "Scores", "TrainerMetrics"]


@dataclass(frozen=True)
class TrainerMetrics:
    """Results of one step of training.

    Attributes
    ----------
    step : int
        Counts from 1; 0: no step has finished.
    loss : float
        With label smoothing and auxiliary losses.
    accuracy : float
        Fraction of correct samples, or of correct next tokens; 0 in regression.
    absolute_error : float
        In regression the mean, in the units of the values; else 0.
    gradient_norm : float
        Before clipping; 0 if the step was skipped.
    learning_rate : float
    loss_scale : float
        In fp16; else 0, as `skipped` and `skipped_step`: steps that overflowed, and the last one.
    exchange_seconds, hidden_seconds : float
        With several ranks: seconds spent in messages, and those that the device computed through.
    """

    step: int
    loss: float
    accuracy: float
    absolute_error: float
    gradient_norm: float
    learning_rate: float
    exchange_seconds: float
    hidden_seconds: float
    loss_scale: float
    skipped: int
    skipped_step: int


@dataclass(frozen=True)
class Evaluation:
    """Results of a model on a split.

    Attributes
    ----------
    task : str
    samples, predictions : int
        Predictions are the samples; of a language model, the predicted tokens.
    loss : float
        Mean cross-entropy; in regression the mean squared error of standardised values.
    accuracy, chance, majority : float
        Of the model, of guessing, and of the most frequent label; 0 in regression.
    perplexity : float
        Of a language model; else 0.
    absolute_error, root_mean_square_error, r_squared, pearson, spearman : float
        In regression; else 0.
    top5_accuracy : float
        Below 0: not of this task, or there are no more than five classes.
    f1, macro_f1, matthews : float
        In classification; else 0.
    """

    task: str
    samples: int
    predictions: int
    loss: float
    accuracy: float
    chance: float
    majority: float
    perplexity: float
    absolute_error: float
    root_mean_square_error: float
    r_squared: float
    top5_accuracy: float
    f1: float
    macro_f1: float
    matthews: float
    pearson: float
    spearman: float


@dataclass(frozen=True)
class ClassScores:
    """Scores of one class; NaN: undefined.

    Attributes
    ----------
    known : int
        All samples but those whose label is unknown.
    samples, predicted, hits : int
        Samples of this class, those for which it was predicted, and those that are both.
    precision, recall, f1 : float
    auc : float
        Area under the ROC curve against all others.
    """

    known: int
    samples: int
    predicted: int
    hits: int
    precision: float
    recall: float
    f1: float
    auc: float


@dataclass(frozen=True)
class Scores:
    """Scores of a classifier.

    Attributes
    ----------
    of_class : list of ClassScores
    confusion : numpy.ndarray of uint64, [classes, classes], or None
        True class by predicted class; None with more than 1,024 classes.
    accuracy_low, accuracy_high : float
        The accuracy's 95 % interval (Wilson 1927).
    balanced_accuracy : float
        Mean recall of the classes that have samples.
    """

    classes: int
    samples: int
    of_class: list[ClassScores]
    confusion: Any
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    balanced_accuracy: float
    macro_f1: float
    auc: float
    matthews: float
    micro_f1: float


def scores(labels: Any, logits: Any) -> Scores:
    """Compute the scores of predictions.

    Parameters
    ----------
    labels : array_like of int, [samples]
    logits : array_like of float, [samples, classes]
        The first largest is the prediction.
    """
    numbers = _arrays.array_of(logits, _arrays.F32, (None, None), "logits")
    wanted = _arrays.array_of(labels, _arrays.I32, (len(numbers),), "labels")
    return make_scores(
        lib.filtra_scores_create, numbers.shape[1], len(numbers), _arrays.pointer(wanted),
        _arrays.pointer(numbers),
    )


class _Scores(Object):
    """The C library's scores, until they are copied."""


def make_scores(function: Any, *arguments: Any) -> Scores:
    """Call a function whose last argument receives scores, and copy these."""
    owner = _Scores()
    owner._make(_c.filtra_scores, "filtra_scores_destroy", function, *arguments, gate=Gate())
    with owner:
        found = owner._pointer.contents
        fields = _convert.values(found)
        count = found.classes
        fields["of_class"] = [
            ClassScores(**_convert.values(found.of_class[i])) for i in range(count)
        ]
        fields["confusion"] = (
            np.ctypeslib.as_array(found.confusion, (count, count)).copy()
            if found.confusion else None
        )
        return Scores(**fields)


def evaluation(struct: Any) -> Evaluation:
    """Copy the C library's evaluation."""
    return Evaluation(**_convert.values(struct))


def metrics(struct: Any) -> TrainerMetrics:
    """Copy the C library's metrics of a step."""
    return TrainerMetrics(**_convert.values(struct))


def new(kind: Any) -> tuple[Any, Any]:
    """Return an empty struct and a reference to it for a call."""
    struct = kind()
    return struct, ctypes.byref(struct)
