"""Estimators within scikit-learn: Pipeline, cross_val_score and GridSearchCV."""

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import filtra
from filtra import FiltraClassifier, FiltraRegressor

warnings.simplefilter("ignore", filtra.FiltraWarning)  # that there is no GPU
rng = np.random.default_rng(0)
X = rng.normal(size=(240, 6))
y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")  # no linear model can tell

small = {"layers": 1, "width": 32, "epochs": 40, "learning_rate": 0.01, "random_state": 0}
pipeline = make_pipeline(StandardScaler(), FiltraClassifier("softmax", **small))
for name, estimator in (("filtra", pipeline), ("linear", LogisticRegression())):
    scores = cross_val_score(estimator, X, y, cv=3)
    print(f"{name}: accuracy {scores.mean():.3f} +- {scores.std():.3f}")

search = GridSearchCV(
    FiltraClassifier(**small), {"mixer": ["softmax", "agf"], "layers": [1, 2]}, cv=2
)
search.fit(X, y)
print("best of the grid:", search.best_params_, f"{search.best_score_:.3f}")

regressor = FiltraRegressor(**small).fit(X, X[:, 0] * X[:, 1])
print(f"R2 of a regressor on its training data: {regressor.score(X, X[:, 0] * X[:, 1]):.3f}")
print("vectors for other estimators:", regressor.transform(X).shape)
