"""Estimators as scikit-learn's: `FiltraClassifier` and `FiltraRegressor`.

They read vectors, series, token ids, texts and images, and work within Pipeline, GridSearchCV and
cross_val_score. They need scikit-learn 1.6 or later.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("filtra's estimators need scikit-learn 1.6 or later") from error

from . import _arrays, _convert, _inputs, _samples
from ._errors import ArgumentError, FiltraWarning
from ._fitting import (
    Curve,
    Patience,
    all_or_nothing,
    class_weights_of,
    labels_of,
    leave_out_classes,
    refuse_changes,
    shape_of,
    warn_of_scale,
    warn_of_targets,
    weighted,
)
from ._packing import Targets, one_type
from .data import Dataset
from .device import Where, device_of
from .model import Model
from .predictor import Predictor
from .tokenizer import Tokenizer
from .trainer import Trainer, loader_of

__all__ = ["FiltraClassifier", "FiltraRegressor"]

ROWS = 16  # that predictors compute together
_predictors: weakref.WeakKeyDictionary[Any, dict[Any, Predictor]] = weakref.WeakKeyDictionary()


class _Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both estimators have in common.

    Attributes
    ----------
    n_features_in_ : int
        Columns, or numbers of a step; of vectors and series.
    loss_curve_ : list of float
        Mean loss of each pass.
    """

    _target = ""
    kind_: str
    image_size_: tuple[int, ...]
    _content: bytes
    _shape: dict[str, bytes]

    def __init__(
        self,
        mixer: Any = "softmax",
        *,
        kind: str = "auto",
        layers: int = 2,
        heads: int = 2,
        width: int = 32,
        ffn_width: int | None = None,
        dropout: float = 0.0,
        model_options: Mapping[str, Any] | None = None,
        tokenizer: str = "bytes",
        max_length: int = 512,
        epochs: int = 40,
        batch_size: int = 32,
        learning_rate: float = 3e-3,
        weight_decay: float = 0.0,
        schedule: str = "cosine",
        train_options: Mapping[str, Any] | None = None,
        validation_share: float = 0.1,
        patience: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        device: Where = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.mixer = mixer
        self.kind = kind
        self.layers = layers
        self.heads = heads
        self.width = width
        self.ffn_width = ffn_width
        self.dropout = dropout
        self.model_options = model_options
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.train_options = train_options
        self.validation_share = validation_share
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    # ---- samples ----

    def _read(self, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
        """Check samples: vectors as scikit-learn does, others as `Dataset.from_arrays`."""
        _arrays.refuse_masked(X, "X", "fill them, with NaN where missing")
        _arrays.refuse_masked(y, "y", "leave such samples out")
        kind = self.kind if reset else self.kind_
        if kind == "auto":
            kind = self._guess(X)
        if kind == "vectors":
            _samples.refuse_texts(X)
            options: dict[str, Any] = {"dtype": "numeric", "ensure_all_finite": "allow-nan"}
            if y is None:
                X = validate_data(self, X, reset=reset, **options)
            else:
                X, y = validate_data(
                    self, X, y, reset=reset, y_numeric=self._target == "value", **options
                )
        else:
            X = _inputs.prepared(X, kind)
            if reset:
                self._forget_columns()
            if kind == "images":
                size = _inputs.size_of_images(X, None if reset else self.image_size_)
                self.image_size_ = size
            if kind == "series" and reset and len(X):
                self.n_features_in_ = np.shape(X[0])[1] if np.ndim(X[0]) == 2 else 1
            if y is not None:
                y = column_or_1d(y, warn=True)
                check_consistent_length(X, y)
        if reset:
            self.kind_ = kind
        return X, y

    def _targets(self, y: Any) -> Any:
        """Check targets as `Dataset.from_arrays`; other shapes are for scikit-learn to check."""
        if y is None:
            raise ArgumentError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        values = np.asarray(y)
        return one_type(y, "y") if values.ndim == 1 or values.dtype.kind in "mM" else y

    def _guess(self, X: Any) -> str:
        """Tell what samples are; what is no other kind is for scikit-learn to check as vectors."""
        if hasattr(X, "iloc") and getattr(X, "ndim", 1) == 2:
            return "vectors"
        try:
            values = _samples.as_array(X)
            return _samples.kind_of(values, "X", whole="vectors")
        except (TypeError, ValueError):
            return "vectors"

    def _forget_columns(self) -> None:
        """Forget the columns of vectors that an earlier `fit` has read."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _weights(self, X: Any, sample_weight: Any) -> Any:
        _arrays.refuse_masked(sample_weight, "sample_weight")
        return None if sample_weight is None else _check_sample_weight(sample_weight, X)

    # ---- training ----

    def _data(self, X: Any, y: Any, weights: Any, seed: int, share: float) -> Dataset:
        options: dict[str, Any] = {
            "target": self._target, "validation_share": share, "seed": seed,
            "sample_weight": weights, "classes": self._codes(),
            "like": getattr(self, "_content", None),
        }
        if self.kind_ != "texts":
            return Dataset.from_arrays(X, y, kind=self.kind_, **options)
        reader = self._tokenizer(X)
        longest = _convert.whole(self.max_length, "max_length", 1)
        rows = _inputs.cut_texts(X, reader, self._longest(longest))
        return Dataset.from_arrays(rows, y, kind="tokens", tokenizer=reader, **options)

    def _codes(self) -> Any:
        """Return all classes, whose names the model's file keeps; None: targets are values."""
        return None

    def _tokenizer(self, X: Any) -> Tokenizer:
        content = getattr(self, "_content", None)
        if content is not None:  # training goes on
            found = self._predictor().tokenizer
            assert found is not None
            return found
        if self.tokenizer in ("words", "characters"):
            return Tokenizer.fit(X, self.tokenizer)
        return Tokenizer(self.tokenizer)

    def _longest(self, longest: int) -> int:
        content = getattr(self, "_content", None)
        return min(longest, self._predictor().max_length) if content is not None else longest

    def _vocabulary(self, X: Any) -> int:
        """Return the number of token ids; 0: the data know it, or have none."""
        return 1 + max(int(np.max(row)) for row in X) if self.kind_ == "tokens" else 0

    def _new_model(self, data: Dataset, seed: int, vocabulary: int) -> Model:
        given = self.model_options or {}
        for name in given:
            if name in OWN_OPTIONS:
                raise ArgumentError(
                    f"model_options has {name!r}, which {OWN_OPTIONS[name]}: leave it out"
                )
        options: dict[str, Any] = {"vocabulary": vocabulary, **given}
        if self.kind_ == "vectors":  # columns differ by their positions alone
            options.setdefault("embedding_init", 0.5)
        return Model(
            data, device=device_of(self.device), mixer=self.mixer, layers=self.layers,
            heads=self.heads, width=self.width, ffn_width=self.ffn_width or 0,
            dropout=_convert.number(self.dropout, "dropout"), seed=seed, **options,
        )

    def _train(
        self, X: Any, y: Any, weights: Any, epochs: int, again: bool, class_weights: Any = None
    ) -> None:
        """Train a new model, or go on with the one there is. `epochs` 0: a part of training."""
        if self.n_jobs is not None:
            warnings.warn(
                "n_jobs is ignored: a device computes with all that it has", FiltraWarning,
                stacklevel=3,
            )
        patience = 0 if self.patience is None else _convert.whole(self.patience, "patience")
        if patience and not self.validation_share:
            raise ArgumentError("patience needs validation_share above 0")
        seed = int(check_random_state(self.random_state).randint(1 << 31))
        stop = Patience(patience, self.train_options) if patience else None
        shape = shape_of(self)
        if again:
            refuse_changes(self._shape, shape)
        else:
            self._forget()
            if not epochs and self.kind_ == "vectors":
                warn_of_scale(X)
        with self._data(X, y, weights, seed, self.validation_share if stop else 0.0) as data:
            model = (
                Model.from_bytes(self._content, device=device_of(self.device)) if again
                else self._new_model(data, seed, self._vocabulary(X))
            )
            with model, _inputs.advising():
                if stop and (weights is not None or class_weights is not None):
                    stop.weigh(data, self.batch_size, class_weights)
                self._run(model, data, epochs, seed, stop, class_weights)
                best = stop.content if stop else None
                self._content = best or model.to_bytes()
                self._n_features_out = model.config["width"]
        self._shape = shape
        _predictors.pop(self, None)

    def _run(
        self, model: Model, data: Dataset, epochs: int, seed: int, stop: Patience | None,
        class_weights: Any,
    ) -> None:
        loader = loader_of(data, self.batch_size, seed, class_weights)
        options: dict[str, Any] = {
            "learning_rate": self.learning_rate, "weight_decay": self.weight_decay,
            "schedule": self.schedule if epochs else "constant", "steps": len(loader) * epochs,
            "seed": seed, **(self.train_options or {}),
        }
        curve = Curve()
        callbacks = [curve, *([stop] if stop else [])]
        validation = data if data.counts["val"] and not (stop and stop.loader) else None
        with Trainer(model, **options) as trainer:
            trainer._fit(
                loader, validation, self.batch_size, epochs or 1, callbacks, self.verbose > 0
            )
        self.loss_curve_ = curve.curve
        self.n_iter_ = len(curve.curve)

    # ---- the model ----

    def _forget(self) -> None:
        self.__dict__.pop("_content", None)
        _predictors.pop(self, None)

    def _predictor(self, vector: str | None = None) -> Predictor:
        """Return a predictor of the model, or of its vectors; made once."""
        made = _predictors.setdefault(self, {})
        key = os.getpid(), vector  # a process that was forked makes its own
        if key not in made or made[key].closed:
            made[key] = Predictor(
                self._content, device=device_of(self.device), batch_size=ROWS, vector=vector
            )
        return made[key]

    def _inputs(self, X: Any) -> Any:
        check_is_fitted(self)
        X, _ = self._read(X, reset=False)
        if self.kind_ == "texts":
            predictor = self._predictor()
            assert predictor.tokenizer is not None
            return _inputs.cut_texts(X, predictor.tokenizer, predictor.max_length)
        if self.kind_ == "series":
            return [_arrays.array_of(row, name=f"X[{i}]") for i, row in enumerate(X)]
        return _arrays.array_of(X, name="X") if self.kind_ == "vectors" else X

    def _rows(self, X: Any, function: Any) -> Any:
        """Call a predictor's function with samples.

        Vectors come in whole batches, so that the last bits of an answer do not depend on how many
        others there are.
        """
        inputs = self._inputs(X)
        if self.kind_ != "vectors":
            with _inputs.advising():
                return function(inputs)
        count = len(inputs)
        filled = np.zeros((-(-count // ROWS) * ROWS, inputs.shape[1]), np.float32)
        filled[:count] = inputs
        return function(filled)[:count]

    def __sklearn_is_fitted__(self) -> bool:
        return "_content" in self.__dict__

    def transform(self, X: Any) -> Any:
        """Return a vector of each sample: the mean over its tokens, float32 [samples, width]."""
        return self._rows(X, lambda inputs: self._predictor("mean").embed(inputs))

    @property
    def model_(self) -> bytes:
        """The trained model's file, for `Model.from_bytes` and `Predictor`."""
        check_is_fitted(self)
        return self._content

    def save(self, path: Any) -> None:
        """Write the trained model to a file that every command of filtra reads."""
        with Model.from_bytes(self.model_, device=device_of(self.device)) as model:
            model.save(path)


OWN_OPTIONS = {
    "classes": "the data decide",
    **dict.fromkeys(
        ("mixer", "layers", "heads", "width", "ffn_width", "dropout"),
        "is a parameter of the estimator itself",
    ),
}
"""What model_options may not have, and why."""


class FiltraClassifier(ClassifierMixin, _Estimator):
    """A classifier: a Transformer with any of Filtra's mixers.

    Parameters
    ----------
    mixer : str, dict or list
        "softmax", "agf", "gfsa", "plaplacian", "kernelution" and others; ``{"name": "agf",
        "K": 5}``; or a list by layers.
    kind : str
        "vectors": numbers [samples, columns]; "series": [samples, channels, steps] as aeon and
        sktime have them, or a list of [channels, steps]; "tokens": lists of token ids; "texts": a
        list of str; "images": uint8 [samples, height, width] or [samples, height, width, 1 or 3].
        "auto": told by X; whole numbers [samples, n] are vectors.
    layers, heads, width, ffn_width, dropout
        The model's. `ffn_width` None: 2 `width`.
    model_options : dict, optional
        More keys of a model, as ``{"pooling": "first"}``, or ``{"max_length": 100}`` to predict
        series, ids and texts that are longer than those of training.
    tokenizer : str
        Of texts: "bytes", "words" or "characters" (fitted), or the path of a tokenizer.json or a
        folder.
    max_length : int
        Texts of training are cut at so many tokens, which a warning says. In prediction they are
        cut at the most that the model reads: `model_options` says how many, else the power of two,
        16 at least, that holds the longest text of training.
    epochs, batch_size, learning_rate, weight_decay, schedule
        Of training.
    train_options : dict, optional
        More options of `Trainer`.
    validation_share : float
        Fraction that is held out where `patience` is set.
    patience : int, optional
        End after so many passes without a better validation loss, weighted as that of training,
        and keep the best model.
    class_weight : dict, "balanced" or None
        Samples of classes of weight 0 are left out.
    warm_start : bool
        Whether `fit` goes on with the weights of the last one, whose model's parameters stay.
    random_state : int, RandomState or None
        Of initial values, order and dropout.
    device : Device, str or int, optional
        As of `Model`. Default: the best.
    verbose : int
        Above 0: a bar is shown.
    n_jobs : None
        Ignored, with a warning.

    Attributes
    ----------
    classes_ : numpy.ndarray
    n_features_in_ : int
    loss_curve_ : list of float
        Mean loss of each pass.
    model_ : bytes
        The trained model's file.
    """

    _target = "class"

    def __init__(
        self,
        mixer: Any = "softmax",
        *,
        kind: str = "auto",
        layers: int = 2,
        heads: int = 2,
        width: int = 32,
        ffn_width: int | None = None,
        dropout: float = 0.0,
        model_options: Mapping[str, Any] | None = None,
        tokenizer: str = "bytes",
        max_length: int = 512,
        epochs: int = 40,
        batch_size: int = 32,
        learning_rate: float = 3e-3,
        weight_decay: float = 0.0,
        schedule: str = "cosine",
        train_options: Mapping[str, Any] | None = None,
        validation_share: float = 0.1,
        patience: int | None = None,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        device: Where = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            mixer, kind=kind, layers=layers, heads=heads, width=width, ffn_width=ffn_width,
            dropout=dropout, model_options=model_options, tokenizer=tokenizer,
            max_length=max_length, epochs=epochs, batch_size=batch_size,
            learning_rate=learning_rate, weight_decay=weight_decay, schedule=schedule,
            train_options=train_options, validation_share=validation_share, patience=patience,
            warm_start=warm_start, random_state=random_state, device=device, verbose=verbose,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def _codes(self) -> Any:
        return self.classes_

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FiltraClassifier:
        """Train.

        Parameters
        ----------
        X : array_like
            Samples, as `kind` says.
        y : array_like, [samples]
            Classes.
        sample_weight : array_like of float, [samples], optional
            Relative to the other samples of a batch: its loss is the weighted mean, as PyTorch's
            with ``reduction="mean"``. So with `batch_size` 1, or one row, weights have no effect,
            but samples of weight 0 are left out. `class_weight` multiplies them.
        """
        epochs = _convert.whole(self.epochs, "epochs", 1)
        return self._fit(X, y, None, sample_weight, epochs, bool(self.warm_start))

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> FiltraClassifier:
        """Train by one pass over samples, at a constant learning rate.

        The first call needs all `classes`, if y lacks some; later ones take no others. Weights are
        as of `fit`: those of one row alone have no effect.
        """
        return self._fit(X, y, classes, sample_weight, 0, True)

    @all_or_nothing
    def _fit(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, epochs: int, more: bool
    ) -> FiltraClassifier:
        again = more and self.__sklearn_is_fitted__()
        y = self._targets(y)
        X, y = self._read(X, y, reset=not again)
        check_classification_targets(y)
        of_y = np.unique(y)  # those of samples without weight, too
        X, y, weights = weighted(X, np.asarray(y), self._weights(X, sample_weight))
        if classes is not None:
            classes = np.unique(one_type(classes, "classes"))
        if not again:
            self.classes_ = of_y if classes is None else classes
            if len(self.classes_) < 2:
                raise ArgumentError(
                    f"y has one class, {self.classes_[:1].tolist()}; a classifier needs two classes"
                )
        elif classes is not None and not np.array_equal(classes, self.classes_):
            raise ArgumentError(
                f"classes are {classes.tolist()}, those of the model {self.classes_.tolist()}"
            )
        labels = labels_of(y, self.classes_)
        of_classes = class_weights_of(self.class_weight, self.classes_, labels, weights)
        X, labels, weights, of_classes = leave_out_classes(X, labels, weights, of_classes)
        self._train(X, self.classes_[labels], weights, epochs, again, of_classes)
        return self

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each sample."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of the classes, float64 [samples, classes], which sum to 1."""
        logits = self._rows(X, lambda inputs: self._predictor().logits(inputs))
        logits = logits.astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        found = np.exp(logits)
        return found / found.sum(axis=1, keepdims=True)


class FiltraRegressor(RegressorMixin, _Estimator):
    """A regressor: a Transformer with any of Filtra's mixers.

    Parameters are those of `FiltraClassifier`, without `class_weight`. Targets are standardised
    for training.

    Attributes
    ----------
    n_features_in_ : int
    loss_curve_ : list of float
        Mean loss of each pass, of standardised targets.
    model_ : bytes
        The trained model's file.
    """

    _target = "value"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FiltraRegressor:
        """Train on values y, [samples]; `sample_weight` as of `FiltraClassifier.fit`."""
        epochs = _convert.whole(self.epochs, "epochs", 1)
        return self._fit(X, y, sample_weight, epochs, bool(self.warm_start))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> FiltraRegressor:
        """Train by one pass over samples, at a constant learning rate.

        The first call decides how columns and targets are scaled: begin with rows like the later.
        """
        return self._fit(X, y, sample_weight, 0, True)

    @all_or_nothing
    def _fit(self, X: Any, y: Any, sample_weight: Any, epochs: int, more: bool) -> FiltraRegressor:
        again = more and self.__sklearn_is_fitted__()
        y = self._targets(y)
        X, y = self._read(X, y, reset=not again)
        Targets(y, "value", len(y), "y").values("y")  # checks them
        X, y, weights = weighted(
            X, np.asarray(y, np.float64), self._weights(X, sample_weight)
        )
        first = self.__dict__.get("_first_targets")
        if again and first is not None:
            warn_of_targets(first, y)
        self._train(X, y, weights, epochs, again)
        if not again:
            self._first_targets = (float(y.min()), float(y.max()))
        return self

    def predict(self, X: Any) -> Any:
        """Return a value for each sample, float64 [samples]."""
        found = self._rows(X, lambda inputs: self._predictor().predict(inputs))
        return found.astype(np.float64)
