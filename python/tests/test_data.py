"""Data sets from memory, their batches, and what is refused."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import Batch, Dataset, Model


def test_vectors_have_columns_with_their_own_means() -> None:
    X = np.arange(12.0).reshape(4, 3) * [1, 10, 100]
    data = Dataset.from_arrays(X, ["a", "b", "a", "b"], validation_share=0)
    assert data.classes == ["a", "b"]
    assert data.counts == {"train": 4, "val": 0, "test": 0}
    rows = np.array([data.sample(i).features[:, 0] for i in range(4)])
    wanted = (X - X.mean(0)) / X.std(0, ddof=1)
    np.testing.assert_allclose(rows, wanted, atol=1e-6)
    assert [data.sample(i).label for i in range(4)] == [0, 1, 0, 1]


def test_numbers_that_float32_does_not_tell_apart() -> None:
    y = np.arange(20) % 2
    X = np.random.default_rng(1).normal(size=(20, 3))
    far = X + np.array([0.0, 1e9, 0.0])
    for samples in (far, far.tolist()):
        with pytest.raises(filtra.ArgumentError, match="column 1 holds numbers from .* subtract"):
            filtra.Dataset.from_arrays(samples, y)
    with pytest.raises(filtra.ArgumentError, match="X: feature 1 holds numbers from"):
        filtra.Dataset.from_arrays(far.reshape(20, 1, 3), y)
    with pytest.raises(filtra.ArgumentError, match="X: column 0 holds"):
        filtra.Dataset.from_arrays(2**25 + np.arange(20).reshape(20, 1), y, kind="vectors")
    for values in (1e9 + X[:, 0], 1_700_000_000_000 + y):
        with pytest.raises(filtra.ArgumentError, match="^y holds numbers from .* subtract"):
            filtra.Dataset.from_arrays(X, values, target="value")
    far[:, 1] = 1e9 + 0.5
    for kept in (X, far, 2**23 + np.arange(20.0).reshape(20, 1), (X + 1e9).astype(np.float32)):
        filtra.Dataset.from_arrays(kept, y, kind="vectors")


def test_targets_that_float32_does_not_tell_apart(device: filtra.Device) -> None:
    X = np.random.default_rng(1).normal(size=(20, 3))
    y = X[:, 0]
    with pytest.raises(filtra.ArgumentError, match="y holds numbers from 33554432 to"):
        filtra.Dataset.from_arrays(X, 2**25 + np.arange(20), target="value")
    with pytest.raises(filtra.ArgumentError, match="y holds numbers"):
        filtra.Dataset.from_arrays(["a", "b"] * 10, y + 1e9, tokenizer="bytes")
    for kept in (y, (y + 1e9).astype(np.float32), np.full(20, 1e9 + 0.5), 2.0**23 + np.arange(20)):
        filtra.Dataset.from_arrays(X, kept)
    close = y[:2] * 1e-6 + 1e9
    data = filtra.Dataset.from_arrays(X, y + 1000, test=(X[:2], close))
    with filtra.Model(data, device=device, width=8, layers=1) as model:  # few samples to evaluate
        filtra.Dataset.from_arrays(X[:2], close, like=model.to_bytes())


def test_series_of_unequal_lengths() -> None:
    X = [np.ones((n, 2)) * n for n in (3, 5, 4)]
    data = Dataset.from_arrays(X, [0.5, 1.5, 2.5], validation_share=0, standardise=False)
    assert data.sample(1).features.shape == (5, 2)
    assert data.sample(2).value == 2.5
    assert data.info["longest"] == 5


def test_tokens_texts_and_images() -> None:
    data = Dataset.from_arrays([[1, 2], [3]], [0, 1], validation_share=0)
    assert data.sample(0).tokens.tolist() == [1, 2]
    data = Dataset.from_arrays(["ab", "c"], [0, 1], tokenizer="bytes", validation_share=0)
    assert data.tokenizer is not None and data.tokenizer.name == "bytes"
    assert data.sample(0).tokens.tolist() == [98, 99]
    images = np.zeros((4, 5, 6, 3), np.uint8)
    data = Dataset.from_arrays(images, [0, 1, 0, 1])
    assert (data.info["height"], data.info["width"], data.info["features"]) == (5, 6, 3)


def test_splits_and_classes_of_all() -> None:
    X = np.zeros((2, 3))
    data = Dataset.from_arrays(
        X, [2, 7], val=(X[:1], [7]), test=(X, [7, 2]), standardise=False
    )
    assert data.counts == {"train": 2, "val": 1, "test": 2}
    assert data.sample(0, "val").label == 1
    with pytest.raises(filtra.ArgumentError, match=r"val\[1\]\[0\] is .*3.*training data"):
        Dataset.from_arrays(X, [2, 7], val=(X[:1], [3]))


def test_text_is_cut_into_windows() -> None:
    data = Dataset.from_text("abcdefgh", length=3, validation_share=0.0)
    rows = [data.sample(i).tokens - 98 for i in range(data.counts["train"])]
    assert [row.tolist() for row in rows] == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7]]
    with pytest.raises(filtra.ArgumentError, match="validation_share is 0.95, .* 0 to 0.9"):
        Dataset.from_text("abcdefgh", length=3, validation_share=0.95)


def test_batches_of_a_loader() -> None:
    X = [np.full((n, 1), n) for n in range(1, 6)]
    data = Dataset.from_arrays(
        X, [0, 1, 0, 1, 0], sample_weight=[1, 2, 3, 4, 5], validation_share=0, standardise=False
    )
    loader = data.loader("train", 4, sample_weights=True)
    assert len(loader) == 2
    seen = []
    for batch in loader:
        assert batch.features.shape == (4, 5, 1)
        seen += [
            (int(batch.lengths[i]), float(batch.weights[i])) for i in range(batch.count)
        ]
    assert sorted(seen) == [(n, float(n)) for n in range(1, 6)]
    assert loader.position == (1, 0)
    loader.position = (0, 1)
    assert loader.next().count == 1


def test_passes_end_with_epochs() -> None:
    data = Dataset.from_arrays(np.zeros((10, 1)), [0, 1] * 5, validation_share=0, standardise=False)
    loader = data.loader(batch_size=2, shuffle=True)
    loader.next()  # a look at the first one
    assert len(list(loader)) == 4
    assert loader.position == (1, 0)
    seen = np.concatenate([batch.indices for batch in loader])
    assert sorted(seen) == list(range(10))
    loader.position = 5, 3
    assert (len(list(loader)), loader.position) == (2, (6, 0))


def test_a_batch_is_its_loaders_until_the_next() -> None:
    data = Dataset.from_arrays(np.zeros((4, 2)), [0, 1, 0, 1], validation_share=0)
    batch = data.loader("train", 2).next()  # the loader lives on in its batch
    gc.collect()
    assert batch.labels.shape == (2,)
    loader = data.loader("train", 2)
    first, _ = loader.next(), loader.next()
    with pytest.raises(filtra.ClosedError, match="until the next one"):
        _ = first.labels
    with pytest.raises(filtra.ClosedError):
        first.pointed()


def test_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"who": [1, 1, 2, 2], "when": [2, 1, 1, 2], "x": [4.0, 3.0, 1.0, 2.0], "y": list("aabb")}
    )
    data = Dataset.from_frame(
        frame, "y", group="who", time="when", validation_share=0, standardise=False
    )
    assert data.sample(0).features[:, 0].tolist() == [3.0, 4.0]
    data = Dataset.from_frame(frame, "y", columns=["x"], validation_share=0)
    assert data.counts["train"] == 4
    data = Dataset.from_frame(frame, "x", text="y", tokenizer="bytes", validation_share=0)
    assert data.sample(1).value == 3.0
    with pytest.raises(filtra.ArgumentError, match="no column 'z'"):
        Dataset.from_frame(frame, "z")
    with pytest.raises(TypeError, match="'y' is .*not numbers"):
        Dataset.from_frame(frame, "x")


def test_numbers_of_frames_are_checked_as_those_of_arrays() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "who": np.arange(20) // 2, "when": 1_700_000_000_000 + np.arange(20), "x": np.arange(20.0),
        "y": np.arange(20) // 2 % 2,
    })
    with pytest.raises(filtra.ArgumentError, match="column 0 holds numbers from .* subtract"):
        Dataset.from_frame(frame, "y", columns=["when", "x"])
    with pytest.raises(filtra.ArgumentError, match="feature 0 holds numbers from .* subtract"):
        Dataset.from_frame(frame, "y", columns=["when", "x"], group="who")
    frame["when"] = frame["x"] * 1e300
    with pytest.raises(filtra.ArgumentError, match="beyond the range of float32"):
        Dataset.from_frame(frame, "y", columns=["when", "x"])
    frame["when"] = pandas.array([1, None] * 10, dtype="Int64")
    data = Dataset.from_frame(
        frame, "y", columns=["when"], group="who", validation_share=0
    )
    assert data.sample(0).features.shape == (2, 1)


def test_columns_that_frames_would_not_use() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"t": ["a", "b"] * 5, "x": np.arange(10.0), "y": [0, 1] * 5})
    for options in ({"columns": ["x"]}, {"group": "x"}, {"time": "x"}):
        with pytest.raises(filtra.ArgumentError, match="text and .* are given"):
            Dataset.from_frame(frame, "y", text="t", tokenizer="bytes", **options)
    with pytest.raises(filtra.ArgumentError, match="give `group`"):
        Dataset.from_frame(frame, "y", columns=["x"], time="t")
    with pytest.raises(filtra.ArgumentError, match="columns is empty"):
        Dataset.from_frame(frame, "y", columns=[])
    data = Dataset.from_frame(frame, "y", columns=(name for name in ["x"]))
    assert data.info["longest"] == 1


def test_lists_of_0_and_1_are_rows_of_labels() -> None:
    X = np.zeros((3, 2))
    rows = [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    options: dict[str, Any] = {"target": "labels", "standardise": False}
    data = Dataset.from_arrays(
        X, rows, val=(X[:1], [[1, 0, 0]]), test=(X, np.array(rows)), **options
    )
    for split, count in data.counts.items():
        assert data.sample(0, split).labels == [0], count
    assert data.sample(1).labels == [1, 2] and data.classes == ["0", "1", "2"]
    with pytest.raises(filtra.ArgumentError, match=r"val\[1\] must be \[1, labels\] of 0 and 1"):
        Dataset.from_arrays(X, rows, val=(X[:1], [[2]]), **options)
    with pytest.raises(filtra.ArgumentError, match=r"val\[1\] must be \[3, labels\] of 0 and 1"):
        Dataset.from_arrays(X, rows, val=(X, [[1, 0, 0], [0], [1]]), **options)
    data = Dataset.from_arrays(X, [[1], [0, 1], []], val=(X[:1], [[0, 1]]), **options)  # names
    assert data.sample(1).labels == data.sample(0, "val").labels == [0, 1]


def test_images_of_all_splits_have_one_size() -> None:
    images = np.zeros((4, 6, 6), np.uint8)
    with pytest.raises(filtra.ArgumentError, match=r"test\[0\] has images of 9 x 4.*X has 6 x 6"):
        Dataset.from_arrays(images, [0, 1, 0, 1], test=(images.reshape(4, 9, 4), [0, 1, 0, 1]))


def test_splits_have_the_same_columns() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"a": np.arange(6), "b": np.arange(6.0), "c": [True, False] * 3, "y": [0, 1] * 3}
    )
    X, y = frame[["a", "b", "c"]], frame["y"]
    other = X[["b", "a", "c"]]
    with pytest.raises(filtra.ArgumentError, match=r"column 0 of test\[0\] is 'b', of X 'a'"):
        Dataset.from_arrays(X, y, test=(other, y), kind="vectors")
    with pytest.raises(filtra.ArgumentError, match=r"column 2 of val\[0\] is None, of X 'c'"):
        Dataset.from_frame(frame, "y", val=(X[["a", "b"]], y))
    for test in (X, X.to_numpy(float)):
        assert Dataset.from_frame(frame, "y", test=(test, y)).counts["test"] == 6


def test_loaders_change_images(device: filtra.Device) -> None:
    images = np.random.default_rng(0).integers(0, 255, (8, 6, 6)).astype(np.uint8)
    data = Dataset.from_arrays(images, [0, 1] * 4, validation_share=0)
    whole = data.loader(batch_size=8).next().features.reshape(8, 6, 6)
    flipped = data.loader(batch_size=8, augmentation={"hflip": 1.0}).next().features
    np.testing.assert_array_equal(flipped.reshape(8, 6, 6), whole[:, :, ::-1])
    mixed = data.loader(batch_size=8, shuffle=True, augmentation={"mixup": 0.8})
    batch = mixed.next()
    assert batch.other_labels is not None and (batch.label_fractions >= 0.5).all()
    model = filtra.Model(data, device=device, layers=1, heads=2, width=8)
    assert filtra.Trainer(model, mixed_labels=True).fit(mixed).step == 1
    for wrong, kind, message in (
        ({"hflip": 2.0}, ValueError, "hflip"), ({"flip": 1.0}, TypeError, "no option 'flip'"),
        (["hflip"], TypeError, "augmentation must be a dict"),
    ):
        with pytest.raises(kind, match=message):
            data.loader(augmentation=wrong)
    with pytest.raises(filtra.ArgumentError, match="image"):
        Dataset.from_arrays([[1, 2], [3]], [0, 1]).loader(augmentation={"hflip": 0.5})


def test_files(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n" + "good,1\nbad,0\n" * 10)
    data = Dataset.open(tmp_path, seed=3)
    assert data.info["format"] == "table"
    assert data.counts["train"] == 18
    words = filtra.Tokenizer.fit(["good", "bad"], "words")
    data = Dataset.open(tmp_path, tokenizer=words)
    assert data.tokenizer is not None and data.tokenizer.name == "words"
    assert "table" in filtra.data_formats()


def test_labels_of_any_number(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n" + "a b,cats;sun\nb,\nc,sun\n" * 9)
    data = Dataset.open(tmp_path, label_separator=";", validation_share=0.2)
    labels = {tuple(data.sample(i).labels or ()) for i in range(data.counts["train"])}
    assert labels == {(0, 1), (), (1,)}
    assert data.loader("train", 4).next().targets.shape == (4, 2)


def test_labels_from_memory() -> None:
    X = np.zeros((3, 2))
    data = Dataset.from_arrays(
        X, [["sun", "cat"], [], ["sun"]], target="labels", validation_share=0
    )
    assert data.classes == ["cat", "sun"]
    assert [data.sample(i).labels for i in range(3)] == [[0, 1], [], [1]]
    data = Dataset.from_arrays(
        X, np.array([[0, 1], [1, 1], [0, 0]]), target="labels", validation_share=0
    )
    assert [data.sample(i).labels for i in range(3)] == [[1], [0, 1], []]
    for y, part in (
        ([["a"], "b", []], r"y\[1\] must be a list"),
        ([["a"]], "3 elements"),
        (np.full((3, 2), np.nan), "no label of any sample of train is known"),
        (np.array([[0, 1], [np.nan, 2], [1, 0]]), "of 0 and 1, NaN where unknown"),
    ):
        with pytest.raises((TypeError, ValueError), match=part):
            Dataset.from_arrays(X, y, target="labels")


def test_unknown_labels() -> None:
    """NaN, None and masked elements are unknown: they have the target -1, and no loss."""
    rows = [[0, 1], [1, None], [0, 0]]
    matrix = np.array(rows, float)
    for y in (matrix, np.array(rows, object), rows, np.ma.masked_invalid(matrix)):
        data = Dataset.from_arrays(np.zeros((3, 2)), y, target="labels", validation_share=0)
        samples = [data.sample(i) for i in range(3)]
        assert [s.labels for s in samples] == [[1], [0], []]
        assert [s.unknown for s in samples] == [[], [1], []]
        batch = data.loader("train", 3).next()
        assert sorted(batch.targets.tolist()) == [[0, 0], [0, 1], [1, -1]]


def test_frames_of_labels(tmp_path: Path) -> None:
    """Columns are labels by their names, in whatever order they stand."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"v": [1.0, 2, 3], "b": [0, 1, None], "a": [1, None, None], "g": [1, 2, 3],
         "t": list("xyz")}
    )
    y, other = frame[["b", "a"]], frame[["a", "b"]]
    X = np.zeros((3, 2))
    data = Dataset.from_arrays(X, y, val=(X, other), target="labels")
    assert data.classes == ["b", "a"]
    for split in ("train", "val"):
        samples = [data.sample(i, split) for i in range(3)]
        assert [s.labels for s in samples] == [[1], [0], []]
        assert [s.unknown for s in samples] == [[], [1], [0, 1]]
    ordered = Dataset.from_arrays(X, y, classes=["a", "b"], target="labels", validation_share=0)
    assert ordered.classes == ["a", "b"] and ordered.sample(0).labels == [0]
    with pytest.raises(filtra.ArgumentError, match="has the columns a, c; the labels are b, a"):
        Dataset.from_arrays(
            X, y, val=(X, other.rename(columns={"b": "c"})), target="labels"
        )
    for options in ({"columns": "v"}, {"text": "t", "tokenizer": "characters"},
                    {"columns": "v", "group": "g"}):
        made = Dataset.from_frame(frame, ["b", "a"], validation_share=0, **options)
        assert made.classes == ["b", "a"]
        assert [made.sample(i).unknown for i in range(3)] == [[], [1], [0, 1]]
    frame.fillna(0).to_csv(tmp_path / "a.csv", index=False)
    read = Dataset.open(
        tmp_path / "a.csv", target_column=["b", "a"], feature_columns=["v", "g"], file_split="test"
    )
    assert read.classes == ["b", "a"]


MISTAKES = [
    (np.zeros((4, 3), int), [0, 1, 0, 1], {}, ValueError, 'kind="tokens" or kind="vectors"'),
    (np.zeros((4, 3)), [0, 1], {}, ValueError, r"shape \[4\], one for each sample"),
    (np.zeros((4, 3)), [1, 1, 1, 1], {}, ValueError, "one class, '1'"),
    (np.zeros((4, 3)), None, {}, ValueError, "y is missing"),
    (np.zeros(4), [0, 1, 0, 1], {}, ValueError, "1 dimensions"),
    (np.zeros((4, 3), complex), [0, 1, 0, 1], {"kind": "vectors"}, TypeError, "complex"),
    (np.array([[1, "a"], [2, "b"]], object), [0, 1], {"kind": "vectors"}, TypeError, "objects"),
    (np.full((2, 3), np.inf), [0, 1], {}, ValueError, "infinite"),
    (np.full((2, 3), np.nan), [0.5, np.nan], {}, ValueError, r"y\[1\] is not finite"),
    ([], [], {}, ValueError, "no samples"),
    ("text", [0], {}, TypeError, "array or a list, not str"),
    (["a", "b"], [0, 1], {}, ValueError, "name a tokenizer"),
    (["a", "\udcff"], [0, 1], {"tokenizer": "bytes"}, ValueError, r"X\[1\].*surrogate"),
    ([[1, 2], [3, -4]], [0, 1], {"kind": "tokens"}, ValueError, "sample 1.*token -4"),
    ([[1], [2.5]], [0, 1], {"kind": "tokens"}, TypeError, "fractions"),
    ([np.zeros((2, 2)), np.zeros((2, 3))], [0, 1], {}, ValueError, r"X\[1\] has 3 features"),
    (np.zeros((2, 3)), [0, 1], {"sample_weight": [1, 0]}, ValueError, r"weights\[1\] is 0"),
    (np.zeros((2, 3)), [0, 1], {"kind": "rows"}, ValueError, "kind must be one of"),
    (np.zeros((2, 3)), [0, 1], {"target": "both"}, ValueError, "target must be"),
    (np.zeros((2, 4, 4, 3)), [0, 1], {"kind": "images"}, ValueError, "images are uint8"),
]


@pytest.mark.parametrize(("X", "y", "options", "kind", "part"), MISTAKES)
def test_mistakes(X, y, options, kind, part) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(kind, match=part):
        Dataset.from_arrays(X, y, **options)


def test_batches_of_ones_own() -> None:
    batch = Batch([[1, 2], [3, 0]], lengths=[2, 1], labels=[0, 1])
    assert len(batch) == batch.count == 2
    assert batch.weights.tolist() == [1, 1]
    order = np.asfortranarray(np.arange(12.0).reshape(2, 3, 2))
    batch = Batch(features=order)
    np.testing.assert_array_equal(batch.features, order)
    with pytest.raises(filtra.ArgumentError, match=r"labels must have the shape \[2\]"):
        Batch([[1, 2], [3, 0]], labels=[0])
    with pytest.raises(filtra.ArgumentError, match="either tokens or features"):
        Batch()


def test_frames_have_the_columns_of_the_models_table(
    device: filtra.Device, tmp_path: Path
) -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(24, 3)), columns=list("abc"))
    rows = table.assign(w=["x", "y", "z"] * 8, label=[0, 1] * 12)
    rows.to_csv(tmp_path / "t.csv", index=False)
    names = ["a", "b", "c"]
    data = Dataset.open(tmp_path / "t.csv", target_column="label", feature_columns=names)
    small: dict[str, Any] = {"layers": 1, "width": 8, "device": device}
    config = {"layers": 1, "width": 8, "epochs": 1}
    run = filtra.train(tmp_path / "run", config, data, device=device)
    with Model(data, **small) as model:
        content = model.to_bytes()
        model.save(tmp_path / "m")
        predictors = [
            filtra.Predictor(source, device=device) for source in (model, content, tmp_path / "m")
        ]
    for predictor in [*predictors, run.predictor(device=device)]:
        for given in (table[["c", "a", "b"]], table.rename(columns={"a": "c", "c": "a"})):
            with pytest.raises(ValueError, match="column 0 of X is 'c', of the model's data 'a'"):
                predictor.predict(given)
        found = predictor.predict_proba(table)
        np.testing.assert_array_equal(predictor.predict_proba(table.to_numpy()), found)
        predictor.close()
    with pytest.raises(ValueError, match="column 2 of X is None, of the model's data 'c'"):
        Dataset.from_arrays(table[["a", "b"]], rows["label"], like=content)
    Dataset.from_arrays(table, rows["label"], like=content).close()
    names = ["w", "a"]
    data = Dataset.open(tmp_path / "t.csv", target_column="label", feature_columns=names)
    coded = pd.get_dummies(rows["w"], dtype=float)
    with Model(data, **small) as model, filtra.Predictor(model) as predictor:
        assert len(predictor.predict(pd.concat([table[["a"]], coded], axis=1))) == 24
        with pytest.raises(ValueError, match="column 0 of X is 'b', of the model's data 'a'"):
            predictor.predict(pd.concat([table[["b"]], coded], axis=1))


def test_frames_of_steps_have_the_columns_of_the_models_table(
    device: filtra.Device, tmp_path: Path
) -> None:
    pd = pytest.importorskip("pandas")
    rows = pd.DataFrame({"g": np.arange(24) // 3, "a": np.arange(24) % 5.0, "b": 1 / (
        np.arange(24) + 1), "y": np.arange(24) // 3 % 2})
    rows.to_csv(tmp_path / "s.csv", index=False)
    data = Dataset.open(tmp_path / "s.csv", target_column="y", group_column="g")
    with Model(data, layers=1, width=8, device=device) as model:
        content = model.to_bytes()
    Dataset.from_frame(rows, "y", group="g", like=content).close()
    with pytest.raises(ValueError, match="column 0 of the frame is 'b', of the model's data 'a'"):
        Dataset.from_frame(rows[["b", "a", "g", "y"]], "y", group="g", like=content)
    with filtra.Predictor(content, device=device) as predictor:
        assert len(predictor.predict([rows[:3][["a", "b"]], rows[3:6][["a", "b"]]])) == 2
        with pytest.raises(ValueError, match=r"column 0 of X\[1\] is 'b', of the model's data 'a'"):
            predictor.predict([rows[:3][["a", "b"]], rows[3:6][["b", "a"]]])
