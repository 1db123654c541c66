"""A time-series classifier as aeon's, which needs aeon 1.0 or later."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from aeon.classification import BaseClassifier
except ImportError as error:
    raise ImportError("FiltraTimeSeriesClassifier needs aeon 1.0 or later") from error

from .estimators import FiltraClassifier

__all__ = ["FiltraTimeSeriesClassifier"]


class FiltraTimeSeriesClassifier(BaseClassifier):
    """Classifies series by a Transformer with any of Filtra's mixers.

    Parameters
    ----------
    mixer : str, dict or list
        As of `FiltraClassifier`.
    epochs, batch_size, learning_rate
        Of training.
    random_state : int, RandomState or None
    options : dict, optional
        More parameters of `FiltraClassifier`.

    Attributes
    ----------
    classifier_ : FiltraClassifier
    """

    _tags = {
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "capability:missing_values": True,
        "algorithm_type": "deeplearning",
        "X_inner_type": ["numpy3D", "np-list"],
    }

    def __init__(
        self,
        mixer: Any = "softmax",
        epochs: int = 40,
        batch_size: int = 32,
        learning_rate: float = 3e-3,
        random_state: Any = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.mixer = mixer
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.options = options
        super().__init__()

    def _fit(self, X: Any, y: Any) -> FiltraTimeSeriesClassifier:
        self.classifier_ = FiltraClassifier(
            self.mixer, kind="series", epochs=self.epochs, batch_size=self.batch_size,
            learning_rate=self.learning_rate, random_state=self.random_state,
            **(self.options or {}),
        )
        self.classifier_.fit(X, y)
        return self

    def _predict(self, X: Any) -> Any:
        return np.asarray(self.classifier_.predict(X))

    def _predict_proba(self, X: Any) -> Any:
        return self.classifier_.predict_proba(X)

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        """Return parameters with which tests are quick."""
        return {"epochs": 2, "options": {"layers": 1, "width": 16}}
