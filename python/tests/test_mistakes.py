"""What users do wrong is said, or done right where there is one meaning; nothing is silent."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import Batch, Dataset, Model, Trainer, _c, _convert

X = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
Y = [0, 1] * 8
MISSING = float("nan")
MASKED: Any = np.ma.masked_array(X, np.arange(48).reshape(X.shape) < 2)


def arrays(*arguments: Any, **options: Any) -> Callable[[], Any]:
    """Return a call of Dataset.from_arrays."""
    return lambda: Dataset.from_arrays(*arguments, **options)


DATA = [
    (arrays([], []), ValueError, "X has no samples"),
    (arrays(X, Y[:3]), ValueError, r"y must have the shape \[16\]"),
    (arrays(["a", MISSING] * 8, Y, tokenizer="bytes"), TypeError, r"X\[1\]: text must be a str"),
    (arrays([MISSING, "a"] * 8, Y, tokenizer="bytes"), TypeError, r"X\[0\]: text must be a str"),
    (arrays(["a", 5] * 8, Y, tokenizer="bytes"), TypeError, r"X\[1\]: text must be a str"),
    (arrays(["a", "\ud800"] * 8, Y, tokenizer="bytes"), ValueError, "lone surrogate"),
    (arrays(["a", ""] * 8, Y, tokenizer="bytes"), ValueError, "sample 1 of train.*0 tokens"),
    (arrays(["a", "b"] * 8, Y), ValueError, "name a tokenizer"),
    (arrays([[1, 2**40], [3]] * 8, Y), ValueError, r"X\[0\] must be from"),
    (arrays([[1, 2**25], [3]] * 8, Y), ValueError, "33554432"),
    (arrays([[1.0, 2.0], [3.0]] * 8, Y, kind="vectors"), TypeError, "equal lengths"),
    (arrays(X, ["a", None] * 8), ValueError, r"y\[1\] is missing"),
    (arrays(X, ["a", MISSING] * 8), ValueError, r"y\[1\] is missing"),
    (arrays(X, ["a", 1] * 8), TypeError, "targets are of one type"),
    (arrays(X, [1.0, MISSING] * 8), ValueError, r"y\[1\] is not finite"),
    (arrays(np.where(X > 1, np.inf, X), Y), ValueError, "infinite"),
    (arrays(np.where(X > 1, np.nan, X), Y, standardise=False), ValueError, "standardise=True"),
    (arrays(X.astype(float) * 1e300, Y), ValueError, "beyond the range of float32"),
    (arrays(X + 1j, Y), ValueError, "complex64"),
    (arrays(X, Y, val=X), TypeError, r"val must be a pair \(X, y\)"),
    (arrays(X, Y, val=(X, [0, 1, 2, 1] * 4)), ValueError, r"val\[1\]\[2\] is 2"),
    (arrays((row for row in X), Y), TypeError, "generator"),
    (arrays(np.ma.masked_array(X, X > 1), Y), ValueError, "masked"),
    (arrays(list(MASKED), Y), ValueError, "X has masked"),
    (arrays([row[: 2 + i % 2] for i, row in enumerate(MASKED)], Y), ValueError, "X has masked"),
    (arrays([[MASKED], [X[:2]]] * 8, Y), ValueError, "X has masked"),
    (arrays([np.ma.masked_array([1, 2], [0, 1]), [3]] * 8, Y), ValueError, "X has masked"),
    (arrays(X, list(MASKED), target="labels"), ValueError, r"y\[0\] has masked"),
    (arrays(X, Y, sample_weight=[np.ma.masked, *X[1:, 0]]), ValueError, "sample_weight has masked"),
    (arrays(X, Y, val=(list(MASKED), Y)), ValueError, r"val\[0\] has masked"),
    (arrays(X[:, 0], Y), ValueError, r"X.reshape\(-1, 1\)"),
    (arrays(np.float32(3), Y), ValueError, "not the number 3.0"),
    (arrays(X[:, :0], Y), ValueError, "X has 0 columns"),
    (arrays(X[:, :, None][:, :, :0], Y), ValueError, "0 features"),
    (arrays([[1], []] * 8, Y), ValueError, "sample 1 of train: a sequence of 0 tokens"),
    (arrays([[[1, 2], [3]], [[4]]] * 8, Y), TypeError, r"X\[0\].*lists of equal lengths"),
    (arrays(["a", "b"] * 8, Y, tokenizer="word"), OSError, "neither a file or folder nor one of"),
    (arrays(["a", "b"] * 8, Y, tokenizer=3), TypeError, "tokenizer must be a str"),
    (arrays(X, {0: 1}), TypeError, "not dict"),
    (arrays(X, set(range(16))), TypeError, "not set"),
    (arrays(X, (i % 2 for i in range(16))), TypeError, "not generator"),
    (arrays(X, "ab" * 8), TypeError, "not str"),
    (arrays(X, np.arange(16).astype("M8[D]")), TypeError, "datetime64"),
    (arrays(X, np.array(Y) * 1j), ValueError, "y is complex128"),
    (arrays(X, np.array([b"a", b"b"] * 8)), TypeError, "numbers or texts"),
    (arrays(X, np.ma.masked_array(Y, Y)), ValueError, "y has masked"),
    (arrays(X, Y, classes=[0, 1, 0]), ValueError, "one twice"),
    (arrays(X, [0.0, 0.5] * 8, classes=[0, 1]), ValueError, r"y\[1\] is 0.5, which `classes` do"),
    (arrays(X, [0.0, MISSING] * 8, classes=[0, 1]), ValueError, r"y\[1\] is nan, which `classes`"),
    (arrays(X, Y, classes=[0, 1], target="value"), ValueError, 'classes.*"value" has none'),
    (arrays([[1, 2]] * 8, classes=[0, 1], target="next"), ValueError, 'classes.*"next" has none'),
    (arrays([[1, 2]] * 8, [1] * 8, target="next", kind="tokens"), ValueError, "y is given, but"),
    (arrays(X, Y, tokenizer="bytes"), ValueError, "X is vectors, which no tokenizer reads"),
    (arrays(X, [[]] * 16, target="labels"), ValueError, "no sample has a label"),
    (arrays(X, [{"a": 1, "b": 0}] * 16, target="labels"), TypeError, r"y\[0\] must be.* not dict"),
    (arrays(X, [b"ab"] * 16, target="labels"), TypeError, r"y\[0\] must be.* not bytes"),
    (arrays(X, [["a"], [1]] * 8, target="labels"), TypeError, "of one type"),
    (arrays(X, [["a"], [MISSING]] * 8, target="labels"), ValueError, "missing"),
    (lambda: Dataset.from_text("abc" * 9, validation_share=1.5), ValueError, "0 to 0.9"),
    (lambda: Dataset.from_frame(X, "y"), TypeError, "pandas.DataFrame"),
]


@pytest.mark.parametrize(("call", "kind", "message"), DATA)
def test_data(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_arrays_of_any_form_are_the_same_data() -> None:
    plain = Dataset.from_arrays(X, Y, validation_share=0)
    wide = np.zeros((32, 6), np.float32)
    wide[::2, ::2] = X
    for form in (np.asfortranarray(X), wide[::2, ::2], X.astype(np.float64), X.tolist()):
        data = Dataset.from_arrays(form, Y, validation_share=0)
        for i in range(len(X)):
            np.testing.assert_array_equal(data.sample(i).features, plain.sample(i).features)


def test_frames() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"g": [0, 0, 1, None], "t": [1.0, MISSING, 3, 4], "x": 1.0, "y": 0})
    with pytest.raises(ValueError, match="column 'g' has no value in row 3"):
        Dataset.from_frame(frame, "y", group="g")
    with pytest.raises(ValueError, match="column 't' has no value in row 1"):
        Dataset.from_frame(frame[:3], "y", group="g", time="t")
    with pytest.raises(ValueError, match="two columns 'a'"):
        Dataset.from_frame(pd.DataFrame(np.ones((4, 3)), columns=["a", "a", "y"]), "y")
    plain = pd.DataFrame({"long": [1.0, 2.0] * 4, "y": [0, 1] * 4})
    assert len(Dataset.from_frame(plain, "y", columns="long")) == 8
    with pytest.raises(ValueError, match="column 'y' is among `columns` and has another use"):
        Dataset.from_frame(plain, "y", columns=["long", "y"])
    texts = pd.DataFrame({"text": ["a", None] * 4, "y": [0, 1] * 4})
    with pytest.raises(TypeError, match=r"X\[1\]: text must be a str"):
        Dataset.from_frame(texts, "y", text="text", tokenizer="bytes")


def test_columns_with_commas(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text('"a,c",a,c,y\n' + "1,2,3,0\n4,6,5,1\n" * 8, encoding="utf-8")
    for option in ("feature_columns", "text_column", "target_column"):
        with pytest.raises(ValueError, match=rf"{option}\[0\] is 'a,c', whose comma would part"):
            Dataset.open(table, **{option: ["a,c"]})
    by_number = Dataset.open(table, feature_columns=["1"], target_column=["y"])
    assert by_number.sample(0).features.shape == (1, 1)


def frame_of(times: list[Any]) -> Any:
    """Return a frame of two groups with these times, which are their values, too, by order."""
    pd = pytest.importorskip("pandas")
    count = len(times)
    return pd.DataFrame({"g": [0] * count + [1] * count, "t": times * 2,
                         "x": list(range(count)) * 2, "y": [0] * count + [1] * count})


@pytest.mark.filterwarnings("ignore:.*have one sample")
@pytest.mark.parametrize(("times", "order"), [
    (["0", "1", "10", "2"], [0, 1, 3, 2]), (["2", " -1", "1e1", "0.5"], [1, 3, 0, 2]),
    (["2023-10-01", "2023-9-30", "2023/11/02 10:00"], [1, 0, 2]),
    (["2023-01-01T12:30:00.5Z", "2023-01-01 13:00+0100", "2023-01-01T12:30:00"], [1, 2, 0]),
    (["2023-01-01T10:00-05", "2023-01-01T12:00+00:00", "2023-01-01T14:00-0200"], [1, 0, 2]),
    ([10, 9, 11], [1, 0, 2]),
    ([f"2023-05-01T12:00:00.00000{i}Z" for i in (3, 1, 2, 0)], [3, 1, 2, 0]),
])
def test_times_that_are_texts(times: list[Any], order: list[int], tmp_path: Path) -> None:
    frame = frame_of(times)
    options: dict[str, Any] = {"standardise": False, "validation_share": 0}
    found = Dataset.from_frame(frame, "y", group="g", time="t", **options)
    assert found.sample(0).features[:, 0].tolist() == order
    frame.to_csv(tmp_path / "t.csv", index=False)
    same = Dataset.open(
        tmp_path / "t.csv", target_column="y", group_column="g", time_column="t",
        validation_share=0.5, targets="classes",
    )
    np.testing.assert_array_equal(same.sample(0).features.argsort(0)[:, 0], np.argsort(order))


@pytest.mark.filterwarnings("ignore:.*have one sample")
def test_missing_numbers_of_series(tmp_path: Path) -> None:
    """A gap is interpolated, in a frame as in its file."""
    frame = frame_of(["0", "1", "2", "3"])
    frame["x"] = [1.0, np.nan, 3.0, 10.0] * 2
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = Dataset.from_frame(frame, "y", group="g", time="t", validation_share=0)
    same = Dataset.open(
        tmp_path / "t.csv", target_column="y", group_column="g", time_column="t",
        validation_share=0.5, targets="classes",
    )
    one, other = (data.sample(0).features[:, 0] for data in (found, same))
    for numbers in (one, other):
        np.testing.assert_allclose(np.diff(numbers)[0], np.diff(numbers)[1], rtol=1e-5)
        assert numbers[1] != 0  # the mean


def test_texts_that_are_no_times() -> None:
    for times, row in ((["0", "b"], 1), (["x", "1"], 0), (["2023-02-01", "3"], 1),
                       (["1", "nan"], 1), (["2023-02-30", "2023-01-01"], 0)):
        with pytest.raises(ValueError, match=rf"column 't' has '\S+' in row {row}: texts of times"):
            Dataset.from_frame(frame_of(times), "y", group="g", time="t")
    for same in ([4, 5, 5], ["1", "2", "2.0"], ["2023-02-01", "2023-02-02", "2023-02-02T00:00"]):
        with pytest.raises(ValueError, match="rows 1 and 2 of group 0 have the same time"):
            Dataset.from_frame(frame_of(same), "y", group="g", time="t")


def test_frames_as_they_come() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": pd.array([1, None] * 8, dtype="Int64"), "b": 1.5})
    plain = np.array([[1, 1.5], [MISSING, 1.5]] * 8)
    given, same = (Dataset.from_arrays(x, Y, validation_share=0) for x in (frame, plain))
    for i in range(16):
        np.testing.assert_array_equal(given.sample(i).features, same.sample(i).features)
    with pytest.raises(TypeError, match=r"column 't' is .*, not numbers.*frame\['t'\]"):
        Dataset.from_arrays(frame.assign(t="x"), Y)


def test_classes_in_an_order_of_ones_own() -> None:
    data = Dataset.from_arrays(X, ["b", "a"] * 8, classes=["b", "a"], validation_share=0)
    assert data.classes == ["b", "a"] and data.sample(0).label == 0 and data.sample(1).label == 1


def test_fractions_that_are_classes() -> None:
    data = Dataset.from_arrays(X, np.array(Y, float), classes=[1, 0], validation_share=0)
    assert data.info["target"] == "class" and data.classes == ["1", "0"]
    assert [data.sample(i).label for i in (0, 1)] == [1, 0]


def test_frames_say_what_is_learned() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": X[:, 0], "price": Y, "g": np.arange(16) // 2 * 2})
    for options in ({"columns": "x"}, {"group": "g"}):
        for target in ("value", "class"):
            steps = frame.assign(price=frame["g"] % 4)
            data = Dataset.from_frame(steps, "price", target=target, **options)
            assert data.info["target"] == target


def test_models_and_trainers(device: filtra.Device) -> None:
    data = Dataset.from_arrays(X, Y)
    small: dict[str, Any] = {"layers": 1, "width": 8, "device": device}
    for options, message in (({"layer": 2}, "did you mean 'layers'"), ({"mixer": 3}, "not int")):
        with pytest.raises(TypeError, match=message):
            Model(data, **{**small, **options})
    with Model(data, mixer={"name": "agf", "K": np.int64(2)}, **small) as model:
        assert model.config["mixer"]["K"] == 2
        for call in (lambda: Trainer(model, lr=1), lambda: Trainer(model, learning_rat=1)):
            with pytest.raises(TypeError, match="learning_rate"):
                call()
        with pytest.raises(TypeError, match="Predictor takes arrays"):
            model.predict(X)  # type: ignore[arg-type]
        trainer = Trainer(model, learning_rate=1e-3)
        with pytest.raises(ValueError, match="in pass 2 of 2"):
            trainer.fit((Batch(features=X[:, :, None], labels=Y) for _ in range(2)), epochs=2)
        with pytest.raises(TypeError, match="filtra.Callback, not type"):
            trainer.fit(data, callbacks=[filtra.Callback])  # type: ignore[list-item]
    for arguments, message in (
        ({"callbacks": print}, "objects of filtra.Callback"),
        ({"data": X}, r"data \(a Dataset or a path\) must be a str or a pathlib.Path, not ndarray"),
    ):
        with pytest.raises(TypeError, match=message):
            filtra.train("none", {}, device=device, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mixer has a NaN"):
        Model(data, mixer={"name": "agf", "K": MISSING}, **small)
    with pytest.raises(TypeError, match="config must be a dict"):
        filtra.complete_config("agf")  # type: ignore[arg-type]


def of(shape: tuple[int, ...], device: filtra.Device, y: Any = Y, **options: Any) -> Model:
    """Return a model of series of that shape."""
    data = Dataset.from_arrays(np.zeros((16, *shape), np.float32), y, **options)
    return Model(data, layers=1, width=8, device=device)


def test_batches_have_the_sizes_of_the_model(device: filtra.Device) -> None:
    wide = of((6, 2), device)
    trainer = Trainer(wide, learning_rate=1e-3)
    narrow = Batch(features=np.zeros((4, 6, 1)), labels=[0] * 4)
    for call in (wide.predict_batch, wide.evaluate_batch, trainer.step):
        with pytest.raises(ValueError, match="has 1 numbers a step, the model reads 2"):
            call(narrow)
        with pytest.raises(TypeError, match="must be a filtra.Batch, not list"):
            call([1])  # type: ignore[arg-type]
    other = Dataset.from_arrays(np.zeros((16, 6, 1)), Y)
    with pytest.raises(ValueError, match="1 numbers a step, the model reads 2"):
        trainer.fit(other)
    with pytest.raises(ValueError, match="1 numbers a step, the model reads 2"):
        wide.evaluate(other)
    with pytest.raises(ValueError, match=r"labels of a batch for classification are \[size\]"):
        trainer.step(Batch(features=np.zeros((4, 6, 2)), labels=np.zeros((4, 6), int)))
    several = of((6, 1), device, np.eye(3)[[0, 1, 2, 0] * 4], target="labels")
    with pytest.raises(ValueError, match="has 1 labels, the model 3"):
        several.evaluate_batch(Batch(features=np.zeros((4, 6, 1)), targets=np.ones((4, 1))))
    text = Model(Dataset.from_text("a b c" * 40, length=8), layers=1, width=8, device=device)
    with pytest.raises(ValueError, match=r"are \[size, length\], next tokens"):
        text.evaluate_batch(Batch(np.zeros((4, 8), int), labels=[1] * 4))


def test_options_that_cannot_be_zero(device: filtra.Device) -> None:
    """Zero is the default to C; where it is out of the range it must not become that."""
    page = Path(__file__).parents[2] / "docs" / "config.md"
    rows = re.findall(r"^\| `(\w+)` \| (?:whole )?number, (\S+) to", page.read_text("utf-8"), re.M)
    structs = (_c.filtra_model_config, _c.filtra_optimizer_options, _c.filtra_train_options,
               _c.filtra_dataset_options, _c.filtra_augmentation)
    fields = {entry[0] for struct in structs for entry in struct._fields_}
    bounded = {name for name, low in rows if float(low) > 0 and name in fields}
    assert bounded == _convert.ABOVE_ZERO - {"batch_size"}
    with of((6, 1), device) as model, pytest.raises(ValueError, match="learning_rate is 0"):
        Trainer(model, learning_rate=0.0)
    with pytest.raises(ValueError, match="layers is 0, accepted are numbers above 0"):
        Model(layers=0, vocabulary=4, classes=2, device=device)
    for zero in (np.float32(0), np.float64(0), 1e-50):  # the last is 0 to C
        with pytest.raises(ValueError, match="learning_rate is .*, accepted are numbers above 0"):
            _convert.fill(_c.filtra_optimizer_options, learning_rate=zero)
    for zero in (np.int64(0), np.uint8(0), np.array(0)):
        with pytest.raises(ValueError, match="accumulate is 0, accepted are numbers above 0"):
            _convert.fill(_c.filtra_train_options, accumulate=zero)


def test_options_of_trainers(device: filtra.Device) -> None:
    class Stop(filtra.Callback):
        def on_step(self, trainer: Any, metrics: Any) -> None:
            raise filtra.StopTraining

    data = Dataset.from_arrays(X, Y)
    with Model(data, layers=1, width=8, device=device) as model:
        with pytest.raises(TypeError, match="there is no option 'optimizer'"):
            Trainer(model, optimizer="adam")
        Trainer(model, freeze=["embeddings", "biases"], learning_rates={"head": 10}).close()
        trainer = Trainer(model, learning_rate=1e-3)
        given: dict[str, Any]
        for given, message in (
            ({"batch_size": 32}, "batch_size is given, which"), ({"seed": 0}, "seed is given, wh"),
            ({"seed": 5, "class_weights": [1, 2]}, "seed and class_weights are given, which bat"),
        ):
            with data.loader() as loader, pytest.raises(ValueError, match=message):
                trainer.fit(loader, **given)
        trainer.fit(data, epochs=9, callbacks=Stop())
        assert trainer.steps == 1
        for arguments, message in (
            ({"callbacks": print}, "objects of filtra.Callback"),
            ({"data": None}, "data must be a Dataset"),
            ({"class_weights": "balanced"}, "a number for each"),
            ({"class_weights": {0: 1}}, "a number for each"),
        ):
            with pytest.raises(TypeError, match=message):
                trainer.fit(**{"data": data, **arguments})  # type: ignore[arg-type]


def test_ids_need_no_vocabulary(device: filtra.Device) -> None:
    data = Dataset.from_arrays([[1, 5], [2]] * 4, [0, 1] * 4, test=([[6]], [1]), kind="tokens")
    with Model(data, layers=1, width=8, device=device) as model:
        assert model.config["vocabulary"] == 7


def test_estimators(device: filtra.Device) -> None:
    pytest.importorskip("sklearn")
    small: dict[str, Any] = {"layers": 1, "width": 8, "device": "cpu"}
    images = np.zeros((16, 4, 4), np.uint8)
    classifier = filtra.FiltraClassifier(epochs=1, **small).fit(images, Y)
    with pytest.raises(ValueError, match=r"\(2, 8\) pixels"):
        classifier.predict(np.zeros((2, 2, 8), np.uint8))
    for options, y, message in (
        ({"epochs": 0}, Y, "epochs must be from 1"),
        ({"patience": 1, "validation_share": 0}, Y, "patience needs validation_share"),
        ({}, ["a", MISSING] * 8, r"y\[1\] is missing"),
        ({}, ["a", None] * 8, r"y\[1\] is missing"),
        ({"learning_rate": 0}, Y, "learning_rate is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            filtra.FiltraClassifier(**{"epochs": 1, **small, **options}).fit(X, y)


def test_estimators_of_what_is_no_numbers() -> None:
    pytest.importorskip("sklearn")
    pd = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"texts is given as frame\['t'\]"):
        filtra.FiltraClassifier(device="cpu").fit(pd.DataFrame({"t": ["a", "b"] * 8}), Y)
    column = MASKED[:, 0]
    for kind in (filtra.FiltraClassifier, filtra.FiltraRegressor):
        estimator = kind(device="cpu", layers=1, width=8, epochs=1)
        for name, arguments in (
            ("X", (MASKED, Y)), ("X", (list(MASKED), Y)), ("X", ([row[None] for row in MASKED], Y)),
            ("y", (X, column.round())), ("y", (X, column.round()[:, None])),
            ("sample_weight", (X, Y, abs(column))), ("sample_weight", (X, Y, list(abs(column)))),
        ):
            with pytest.raises(ValueError, match=f"{name} has masked elements"):
                estimator.fit(*arguments)
        unset: Any = np.ma.masked_array(X, False)
        estimator.fit(list(unset), np.ma.masked_array(Y, False), unset[:, 0] ** 2 + 1)
        with pytest.raises(ValueError, match="X has masked elements"):
            estimator.predict(list(MASKED))
        with filtra.Predictor(estimator.model_, device="cpu") as predictor:
            assert len(predictor.predict(list(unset))) == 16
            with pytest.raises(ValueError, match="X has masked elements"):
                predictor.predict(list(MASKED))


def test_targets_of_regressors() -> None:
    pytest.importorskip("sklearn")
    pd = pytest.importorskip("pandas")
    times = pd.date_range("2020", periods=16)
    regressor = filtra.FiltraRegressor(device="cpu", layers=1, width=8, epochs=1)
    for samples in (X, X[:, None]):
        for y in (times, list(times), times.to_frame(), (times - times[0]).to_numpy()[:, None]):
            with pytest.raises(TypeError, match="targets are numbers or texts"):
                regressor.fit(samples, y)
        with pytest.raises(TypeError, match="y must be numbers of type float32, not texts"):
            regressor.fit(samples, np.array(["nan", "1"] * 8))
    values = np.where(np.arange(16) == 7, MISSING, 0.5)
    with pytest.raises(ValueError, match=r"y\[7\] is not finite"):  # as rows were given
        regressor.fit(X[:, None], values, np.arange(16) > 2)


def test_characters_are_those_of_the_texts() -> None:
    texts = ["  a ", "x\r\nb", "", "\u00fc\t"]
    with filtra.Tokenizer.fit(texts, "characters") as tokenizer:
        assert [tokenizer.decode(tokenizer.encode(text)) for text in texts] == texts
        symbols = [tokenizer.symbol(i) for i in range(1, len(tokenizer))]
        assert symbols == sorted(set("".join(texts)))
    for arguments, kind, message in (
        (("a b",), TypeError, "not one str"), (([],), ValueError, "no words"),
        ((["a", None],), TypeError, r"texts\[1\]"), (([" "],), ValueError, "no words"),
    ):
        with pytest.raises(kind, match=message):
            filtra.Tokenizer.fit(*arguments)  # type: ignore[arg-type]
    assert len(filtra.Tokenizer.fit(["a b", " "])) == len(filtra.Tokenizer.fit(["a b"]))


def test_a_mixer_has_a_name() -> None:
    with pytest.raises(TypeError, match=r'@filtra.mixer\("name"\)'):
        filtra.mixer(lambda scope, inputs: inputs.x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a function, not int"):
        filtra.mixer("none")(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a filtra.Tokenizer, not NoneType and str"):
        next(filtra.generate(None, "a", "b"))  # type: ignore[arg-type]


def test_predictions(device: filtra.Device, tmp_path: Path) -> None:
    data = Dataset.from_arrays(["a b", "b"] * 8, Y, tokenizer="words")
    small: dict[str, Any] = {"layers": 1, "width": 8, "device": device}
    with Model(data, **small) as model, filtra.Predictor(model) as predictor:
        for X, kind, message in (
            (["a", MISSING], TypeError, r"X\[1\] must be a text"),
            (["a", None], TypeError, r"X\[1\] must be a text"),
            ([("a", "b")], ValueError, r"X\[0\] is a pair"),
            ("a", TypeError, "not str"),
        ):
            with pytest.raises(kind, match=message):
                predictor.predict(X)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    table = tmp_path / "pairs.csv"
    table.write_text("x,y,label\n" + "a,b,0\nb,a,1\n" * 8, encoding="utf-8")
    pairs = Dataset.open(table, tokenizer=tmp_path, text_column="x,y", target_column="label")
    with Model(pairs, **small) as model, filtra.Predictor(model) as predictor:
        assert predictor.predict([("a", "b"), ("b", "a")]).shape == (2,)


def test_images_of_another_shape(device: filtra.Device) -> None:
    images = np.zeros((16, 6, 6), np.uint8)
    data = Dataset.from_arrays(images, Y)
    with Model(data, layers=1, width=8, device=device) as model, filtra.Predictor(model) as p:
        assert len(p.predict(images)) == len(p.predict(list(images))) == 16
        for wrong in (images.reshape(16, 9, 4), list(images.reshape(16, 9, 4))):
            with pytest.raises(ValueError, match="of 4 x 9 pixels; the model's are 6 x 6"):
                p.predict(wrong)
        with pytest.raises(ValueError, match="the model reads images, whose pixels are bytes"):
            p.predict(images.reshape(16, 36) / 255.0)


def test_arguments_of_another_type(device: filtra.Device) -> None:
    with pytest.raises(TypeError, match="data must be a filtra.Dataset, not str; a path"):
        filtra.measure({"mixer": "agf"}, "data.csv", device=device)  # type: ignore[arg-type]
    for like in ("model.safetensors", filtra.Model):
        with pytest.raises(TypeError, match="like must be bytes"):
            Dataset.from_arrays(X, Y, like=like)  # type: ignore[arg-type]
    texts = (b"", b"abc", b"\xff" * 20, b"\2" + b"\0" * 7 + b"{}", b"\2" + b"\0" * 7 + b"[]")
    for content in texts:
        with pytest.raises(filtra.FiltraError, match="like must be the file of a model of filtra"):
            Dataset.from_arrays(X, Y, like=content)


def test_targets() -> None:
    pd = pytest.importorskip("pandas")
    for y, message in (
        (pd.Series(["a", None] * 8, dtype="string"), r"y\[1\] is missing"),
        ([["a"], ["a", "b"]] * 8, 'say target="labels"'),
        (np.eye(2)[Y], r'\[16, 2\] \(several labels of a sample: target="labels"\)'),
    ):
        with pytest.raises(ValueError, match=message):
            Dataset.from_arrays(X, y)
    times = pd.date_range("2020", periods=16, tz="UTC")
    for y in (list(times), times.to_series(), [time.date() for time in times], times - times[0]):
        with pytest.raises(TypeError, match="targets are numbers or texts"):
            Dataset.from_arrays(X, y)
    with pytest.raises(ValueError, match="one length"):
        Batch([[1, 2], [3]])
    assert filtra.__version__ == filtra.library_version()


def test_all_of_it_is_imported_with_numpy_alone() -> None:
    code = ("import sys\n"
            "for name in ('sklearn', 'aeon', 'pandas', 'matplotlib', 'tqdm'):\n"
            "    sys.modules[name] = None\n"
            "from filtra import *\n"
            "import filtra\n"
            "assert Model is filtra.Model and 'FiltraClassifier' in dir(filtra)\n"
            "try:\n"
            "    filtra.FiltraClassifier\n"
            "except ImportError as error:\n"
            "    print(error)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "filtra's estimators need scikit-learn 1.6 or later\n", done.stderr


def test_a_saved_classifier_knows_its_classes(device: filtra.Device, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    y = np.array(["no", "yes"])[Y]
    classifier = filtra.FiltraClassifier(epochs=1, layers=1, width=8, device="cpu").fit(X, y)
    classifier.save(tmp_path / "model")
    with filtra.Predictor(tmp_path / "model", device=device) as predictor:
        assert predictor.classes == ["no", "yes"]
        np.testing.assert_array_equal(predictor.predict(X), classifier.predict(X))
    with pytest.raises(ValueError, match="the class 'maybe', which is new"):
        classifier.set_params(warm_start=True).fit(X, ["maybe", "no"] * 8)
