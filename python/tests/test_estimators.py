"""The estimators pass scikit-learn's and aeon's own checks, and read all kinds of samples."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra

sklearn = pytest.importorskip("sklearn", minversion="1.6")

from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from filtra import FiltraClassifier, FiltraRegressor  # noqa: E402

QUICK: dict[str, Any] = {"layers": 1, "width": 16, "epochs": 40, "random_state": 0, "device": "cpu"}


# scikit-learn's own estimators that train on mini-batches are excused from it, too.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data":
        "weights and repeated rows make other mini-batches, which a row's weight is relative to",
}


@pytest.fixture(scope="module")
def vectors() -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(90, 4))
    return X, np.array(["low", "mid", "top"])[np.digitize(X[:, 1], [-0.5, 0.5])]


@pytest.mark.parametrize("kind", [FiltraClassifier, FiltraRegressor])
def test_checks_of_scikit_learn(kind: Any, capsys: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            kind(device="cpu"), expected_failed_checks=EXPECTED, on_skip=None, on_fail=None
        )
    with capsys.disabled():
        names = [result["check_name"] for result in found]
        print(f"\n{kind.__name__}: {len(names)} checks: {', '.join(names)}")
    failed = {r["check_name"]: r["exception"] for r in found if r["status"] == "failed"}
    assert not failed
    assert {r["check_name"] for r in found if r["status"] == "xfail"} == set(EXPECTED)
    assert {r["check_name"] for r in found if r["status"] == "skipped"} <= {"check_array_api_input"}


def test_checks_of_aeon(capsys: Any) -> None:
    checking = pytest.importorskip("aeon.testing.estimator_checking")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checking.check_estimator(filtra.FiltraTimeSeriesClassifier, verbose=False)
    with capsys.disabled():
        names = sorted({str(name).split("(")[0] for name in found})
        print(f"\nFiltraTimeSeriesClassifier: {len(found)} checks: {', '.join(names)}")
    assert len(found) > 20
    assert {str(result) for result in found.values()} == {"PASSED"}


def test_pipelines_and_searches(vectors: Any) -> None:
    X, y = vectors
    pipe = make_pipeline(StandardScaler(), FiltraClassifier(**QUICK))
    assert cross_val_score(pipe, X, y, cv=2).mean() > 0.6
    search = GridSearchCV(FiltraClassifier(**QUICK), {"mixer": ["softmax", "linear"]}, cv=2)
    assert search.fit(X, y).best_params_["mixer"] in ("softmax", "linear")


def test_on_a_device_object(vectors: Any) -> None:
    X, y = vectors
    with filtra.Device("cpu") as device:
        model = FiltraClassifier(**{**QUICK, "device": device, "epochs": 3})
        first = sklearn.base.clone(model).fit(X, y).predict_proba(X)
        named = FiltraClassifier(**{**QUICK, "epochs": 3}).fit(X, y)
        np.testing.assert_array_equal(named.predict_proba(X), first)


def test_pickled(vectors: Any) -> None:
    X, y = vectors
    model = FiltraClassifier(**QUICK).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert other.transform(X).shape == (90, 16)
    assert filtra.Predictor(model.model_).predict(X[:2]).shape == (2,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_predicts(vectors: Any, tmp_path: Path) -> None:
    X, y = vectors
    model = FiltraClassifier(**{**QUICK, "epochs": 1}).fit(X, y)
    before = model.predict_proba(X)  # by a predictor, which the child has to leave alone
    child = os.fork()
    if not child:
        try:
            np.save(tmp_path / "found.npy", model.predict_proba(X))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert (np.load(tmp_path / "found.npy") == before).all()
    assert (model.predict_proba(X) == before).all()


def test_repeated_rows_are_samples() -> None:
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (2000, 6)).astype(float)  # 64 rows that differ
    y = (X[:, 0] != X[:, 1]).astype(int)
    assert FiltraClassifier(epochs=10, random_state=0, device="cpu").fit(X, y).score(X, y) == 1
    model = FiltraRegressor(**{**QUICK, "epochs": 1, "batch_size": 8})
    first = model.fit(X[:64], X[:64, 0]).predict(X)
    ones = model.fit(X[:64], X[:64, 0], np.ones(64)).predict(X)
    left = model.fit(X[:80], X[:80, 0], [1] * 64 + [0] * 16).predict(X)
    assert (first == ones).all() and (first == left).all()


def test_going_on(vectors: Any) -> None:
    X, y = vectors
    model = FiltraClassifier(**{**QUICK, "epochs": 3}, warm_start=True)
    losses = [model.fit(X, y).loss_curve_[-1] for _ in range(4)]
    assert losses[3] < losses[0]
    model = FiltraClassifier(**QUICK)
    for _ in range(3):
        model.partial_fit(X[:40], y[:40], classes=["low", "mid", "top", "none"])
    assert model.predict_proba(X).shape == (90, 4)
    with pytest.raises(ValueError, match="'new', which is new|new"):
        model.partial_fit(X[:2], ["new", "low"])
    for classes in (["low", "mid", "top"], ["low", "mid", "top", "new"], [0, 1, 2, 3]):
        with pytest.raises(ValueError, match=r"classes are \[.*, those of the model \['low'"):
            model.partial_fit(X[:40], y[:40], classes=classes)


def test_classes_without_weight_stay(vectors: Any) -> None:
    X, y = vectors[0], np.arange(90) % 3
    model = FiltraClassifier(layers=1, width=16, epochs=2, random_state=0)
    model.fit(X, y, sample_weight=y != 2)
    assert model.classes_.tolist() == [0, 1, 2] and model.predict_proba(X).shape == (90, 3)


def test_classes_of_weight_0(vectors: Any) -> None:
    X, y = vectors[0], np.arange(90) % 3
    options = {**QUICK, "epochs": 2}
    given = np.arange(90) + 1.0
    for weights in (None, given):
        model = FiltraClassifier(**options, class_weight={2: 0, 1: 3}).fit(X, y, weights)
        other = FiltraClassifier(**options, class_weight={1: 3})
        other.fit(X, y, (y != 2) * (1.0 if weights is None else weights))
        assert model.classes_.tolist() == [0, 1, 2] and model.model_ == other.model_
    texts = FiltraClassifier(**options, class_weight={1: 0.0}).fit(["a", "b"] * 8, [0, 1] * 8)
    assert texts.predict_proba(["a"]).shape == (1, 2)
    with pytest.raises(ValueError, match="class_weight is 0 for the classes of all samples"):
        FiltraClassifier(**options, class_weight={0: 0, 1: 0, 2: 0}).fit(X, y)
    with pytest.raises(ValueError, match="class_weights.0. is -1"):
        FiltraClassifier(**options, class_weight={0: -1}).fit(X, y)


def test_partial_fit_warns_of_rows_that_give_no_scale() -> None:
    X = np.array([[1.0, 2.0, np.nan], [1.0, 3.0, 5.0], [1.0, 4.0, 5.0]])
    model = FiltraRegressor(layers=1, width=16, random_state=0)
    with pytest.warns(filtra.FiltraWarning, match="2 of 3 columns are constant in the first rows"):
        model.partial_fit(X, [1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", filtra.FiltraWarning)
        model.partial_fit(X[:1], [1.0])
        FiltraRegressor(layers=1, width=16, epochs=1).partial_fit(X[:, 1:2], [1.0, 2.0, 3.0])
        model.partial_fit(X[:2], [-10.0, 20.0])
    with pytest.warns(filtra.FiltraWarning, match="1 of 2 targets lie far outside 1 to 3"):
        model.partial_fit(X[:2], [1.0, 30.0])


@pytest.mark.parametrize("name", ["classes", "width"])
def test_model_options_that_are_not_the_models(name: str) -> None:
    with pytest.raises(filtra.ArgumentError, match=f"model_options has '{name}', which"):
        FiltraClassifier(**QUICK, model_options={name: 8}).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("kind", [FiltraClassifier, FiltraRegressor])
def test_going_on_with_another_model(vectors: Any, kind: Any) -> None:
    X, y = vectors[0], np.arange(90) % 2
    options = {"K": 3}
    model = kind({"name": "agf", **options}, **{**QUICK, "epochs": 1, "warm_start": True}).fit(X, y)
    changes = {"mixer": "softmax", "layers": 2, "heads": 1, "width": 8, "ffn_width": 8,
               "dropout": 0.5, "model_options": {"pooling": "first"}, "tokenizer": "words",
               "kind": "tokens"}
    for name, value in changes.items():
        before = getattr(model, name)
        model.set_params(**{name: value})
        for call in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=f"^{name} changed, which only a new model takes"):
                call(X, y)
        model.set_params(**{name: before})
    with pytest.raises(ValueError, match="^layers and width changed"):
        model.set_params(layers=2, width=8).fit(X, y)
    model.set_params(layers=1, width=16, learning_rate=1e-3, epochs=2, dropout=0).fit(X, y)
    model.mixer["K"] = 2
    with pytest.raises(ValueError, match="^mixer changed"):
        model.fit(X, y)
    assert model.set_params(warm_start=False).fit(X, y).n_iter_ == 2


def test_going_on_with_other_data(vectors: Any) -> None:
    X, y = vectors
    model = FiltraClassifier(**QUICK).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(warm_start=True, learning_rate=1e-12)
    model.fit(X[:30] * 3 + 50, y[:30])  # learns nothing: is standardised as at first
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-5)
    loss = -np.log(model.predict_proba(X[:30] * 3 + 50)[range(30), np.searchsorted(
        model.classes_, y[:30])]).mean()
    assert model.loss_curve_[0] == pytest.approx(loss, rel=1e-3)


def test_patience(vectors: Any) -> None:
    X, y = vectors
    model = FiltraClassifier(**{**QUICK, "epochs": 200, "schedule": "constant"}, patience=2)
    assert model.fit(X, y).n_iter_ < 200


def test_patience_heeds_weights() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), (rng.random(600) < 0.5).astype(int)
    options = {**QUICK, "learning_rate": 3e-4, "epochs": 20, "patience": 2}
    for classes, weights in ((None, np.where(y, 9.0, 1.0)), ({1: 9.0}, None)):
        model = FiltraClassifier(**options, class_weight=classes).fit(X, y, weights)
        assert model.predict_proba(X)[:, 1].mean() > 0.85  # the loss is least at 0.9
    alike = [FiltraClassifier(**options).fit(X, y, w).model_ for w in (None, np.ones(600))]
    assert alike[0] == alike[1]
    found = []
    for loss in ("mse", "mae"):
        model = FiltraRegressor(**options, train_options={"regression_loss": loss})
        found.append(model.fit(X, y, np.where(y, 9.0, 1.0)).predict(X).mean())
    assert found[0] > 0.75 and found[1] > 0.75
    absolute = FiltraRegressor(**options, train_options={"regression_loss": "mae"})
    skewed = rng.exponential(size=600)  # the two errors are least at other constants
    assert absolute.fit(X, skewed).model_ == absolute.fit(X, skewed, np.ones(600)).model_


def test_class_weights(vectors: Any) -> None:
    X, y = vectors
    many = FiltraClassifier(**QUICK, class_weight={"low": 50.0}).fit(X, y).predict(X)
    few = FiltraClassifier(**QUICK, class_weight="balanced").fit(X, y).predict(X)
    assert (many == "low").sum() > (few == "low").sum()
    with pytest.raises(ValueError, match="which are no classes"):
        FiltraClassifier(**QUICK, class_weight={"no": 1.0}).fit(X, y)


def test_series_as_aeon_has_them() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2, 12))  # samples, channels, steps
    y = (X[:, 1].mean(axis=1) > 0).astype(int)
    model = FiltraClassifier(**QUICK).fit(X, y)
    assert model.score(X, y) > 0.8
    ragged = [x[:, : 8 + i % 4] for i, x in enumerate(X)]
    assert FiltraClassifier(**QUICK, kind="series").fit(ragged, y).predict(ragged).shape == (60,)


def test_what_was_fitted_last_counts(vectors: Any) -> None:
    X, y = vectors
    model = FiltraClassifier(**{**QUICK, "epochs": 1})
    model.fit(X[:, :, None], y)
    assert (model.kind_, model.n_features_in_) == ("series", 4)
    assert model.fit([row[:2, None].repeat(5, 1) for row in X], y).n_features_in_ == 2
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    before = model.fit(frame, y).predict_proba(frame)
    model.set_params(kind="series")  # is for the next fit
    assert (model.predict_proba(frame) == before).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])
    model.set_params(kind="texts").fit(["a b", "c d", "e f"] * 30, y)
    assert not hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_")


def test_a_failed_fit_changes_nothing(vectors: Any) -> None:
    X, y = vectors
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    for kind, targets in ((FiltraClassifier, y), (FiltraRegressor, X[:, 1])):
        model = kind(**{**QUICK, "epochs": 1})
        with pytest.raises(ValueError, match="heads"):
            model.set_params(heads=3).fit(frame, targets)
        with pytest.raises(sklearn.exceptions.NotFittedError):
            model.predict(frame)
        before = model.set_params(heads=2).fit(frame, targets).predict(frame)
        state = dict(vars(model))
        other = np.arange(90) % 2
        for options in ({"heads": 3}, {"learning_rate": 0}):
            with pytest.raises(ValueError, match="heads|learning_rate"):
                model.set_params(**options).fit(X[:, :2], other)
            model.set_params(heads=2, learning_rate=QUICK.get("learning_rate", 3e-3))
            assert vars(model) == state
            np.testing.assert_array_equal(model.predict(frame), before)
    model = FiltraClassifier(**{**QUICK, "epochs": 1}).fit(X, y)
    with pytest.raises(ValueError, match="which are no classes"):
        model.set_params(class_weight={"zz": 1}).fit(X, np.where(y == "low", "x", "w"))
    assert set(model.predict(X)) <= set(y)


def test_texts_tokens_and_images() -> None:
    texts = ["good film", "bad film", "fine", "awful"] * 15
    y = [1, 0] * 30
    model = FiltraClassifier(**QUICK, tokenizer="words").fit(texts, y)
    assert model.score(texts, y) == 1
    with pytest.warns(filtra.FiltraWarning, match="1 of 2 texts are cut at 16 tokens"):
        model.predict(["good " * 20, "film"])
    assert FiltraClassifier(**QUICK).fit([[1, 2], [3]] * 20, y[:40]).predict([[3]]) == [0]
    images = np.zeros((40, 4, 4), np.uint8)
    images[::2] = 200
    model = FiltraClassifier(**QUICK, model_options={"patch": 2}).fit(images, y[:40])
    assert model.score(images, y[:40]) == 1


def test_values_of_texts() -> None:
    y = np.array([1.0, 3.0] * 20)
    model = FiltraRegressor(**{**QUICK, "epochs": 40}).fit(["a", "bb"] * 20, y)
    np.testing.assert_allclose(model.predict(["a", "bb"]), [1, 3], atol=0.3)


def test_longer_than_in_training() -> None:
    rng = np.random.default_rng(0)
    y = [0, 1] * 20
    kinds = {
        "series": (rng.normal(size=(40, 2, 20)), rng.normal(size=(40, 2, 50))),
        "tokens": ([[1, 2], [3]] * 20, [[1] * 50] * 40),
    }
    more = {"max_length": 64}
    for kind, (X, longer) in kinds.items():
        options = {**QUICK, "epochs": 1, "kind": kind}
        model = FiltraClassifier(**options, warm_start=True).fit(X, y)
        advice = r'cut it, or fit a model with model_options={"max_length": N}$'
        for call in (model.predict, model.transform):
            with pytest.raises(filtra.InputError, match=advice):
                call(longer)
        with pytest.raises(filtra.InputError, match=r'\(model_options={"max_length": N}\)$'):
            model.fit(longer, y)
        model = FiltraClassifier(**options, model_options=more).fit(X, y)
        assert model.predict(longer).shape == (40,)
    words = FiltraClassifier(**{**QUICK, "epochs": 1}, tokenizer="words", model_options=more)
    with pytest.warns(filtra.FiltraWarning, match="1 of 1 texts are cut at 64 tokens"):
        words.fit(["good film", "bad"] * 20, y).predict(["good " * 70])


@pytest.mark.parametrize(
    ("options", "X", "y", "part"),
    [
        ({"mixer": "nope"}, [[0.0], [1.0]], [0, 1], 'unknown mixer "nope"'),
        ({"heads": 3}, [[0.0], [1.0]], [0, 1], "multiple of"),
        ({}, ["a", ""], [0, 1], r"X\[1\] has no tokens"),
        ({"kind": "rows"}, [[0.0], [1.0]], [0, 1], "kind must be one of"),
        ({}, [[0.0], [1.0]], [0, 0], "one class"),
        ({"patience": -1}, [[0.0], [1.0]], [0, 1], "patience must be from 0"),
        ({"max_length": 0}, ["a", "b"], [0, 1], "max_length must be from 1"),
        ({}, [[0.0], [1.0]], [0.5, 0.7], "continuous"),
    ],
)
def test_mistakes(options: Any, X: Any, y: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        FiltraClassifier(**{**QUICK, **options}).fit(X, y)


def test_mistakes_of_predict(vectors: Any) -> None:
    quick = {**QUICK, "epochs": 1}
    for name in ("patience", "dropout", "max_length"):
        with pytest.raises(TypeError, match=f"{name} must be a"):
            FiltraClassifier(**{**quick, name: "1"}).fit(["a", "b"], [0, 1])
    X, y = vectors
    model = FiltraClassifier(**quick)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="X has 1e.300, beyond the range of float32"):
            model.fit(X, y).predict(np.full((2, 4), 1e300))
        with pytest.raises(ValueError, match=r"X\[1\] has 1e.300, beyond the range of float32"):
            model.fit(X[:, None], y).predict([X[:1], np.full((1, 4), 1e300)])
    images = np.zeros((4, 4, 4), np.uint8)
    with pytest.raises(ValueError, match="X is float64; images are uint8"):
        model.fit(images, [0, 1, 0, 1]).predict(images / 255)


def test_images_of_another_size() -> None:
    y = [0, 1, 0, 1]
    grey, colours = np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 4, 3), np.uint8)
    options = {**QUICK, "epochs": 1, "warm_start": True}
    model = FiltraClassifier(**options).fit(grey, y)
    assert model.predict(grey[..., None]).shape == (4,)  # is grey, too
    of_grey, of_colours = r"\(4, 4\) pixels with 1 channel", r"\(4, 4\) pixels with 3 channels"
    for call in (model.predict, model.transform, lambda X: model.fit(X, y)):
        with pytest.raises(ValueError, match=f"of {of_colours}; those of training have {of_grey}"):
            call(colours)
    model = FiltraClassifier(**options).fit(colours, y)
    with pytest.raises(ValueError, match=f"of {of_grey}; those of training have {of_colours}"):
        model.predict(grey)
    with pytest.raises(ValueError, match=r"of \(2, 4\) pixels"):
        model.predict(colours[:, :2])


def test_as_many_targets_as_samples() -> None:
    texts, weights = ["a good film", "a bad film"] * 5, np.ones(10)
    for count in (8, 12):
        with pytest.raises(ValueError, match=rf"inconsistent numbers of samples.*10.*{count}"):
            FiltraRegressor(**QUICK).fit(texts, np.arange(count), weights)


def test_ignored_aloud(vectors: Any) -> None:
    with pytest.warns(filtra.FiltraWarning, match="n_jobs is ignored"):
        FiltraClassifier(**{**QUICK, "epochs": 1}, n_jobs=2).fit(*vectors)
