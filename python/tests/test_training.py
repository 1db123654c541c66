"""Models, trainers, predictors, generation and runs."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import Dataset, Model, Trainer, _c
from filtra.predictor import _SAMPLE, MOST

SMALL: dict[str, Any] = {"width": 16, "layers": 1, "heads": 2}


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    return Dataset.from_arrays(X, np.where(X[:, 0] > 0, "up", "down"), seed=1)


def fitted(data: Dataset, device: filtra.Device, **config: Any) -> Model:
    model = Model(data, device=device, seed=1, **{**SMALL, **config})
    Trainer(model, learning_rate=1e-2).fit(data, epochs=30, seed=2)
    return model


def test_a_model_learns(data: Dataset, device: filtra.Device, tmp_path: Path) -> None:
    model = fitted(data, device, mixer={"name": "agf", "K": 3})
    result = model.evaluate(data)
    assert result.accuracy > 0.8
    assert model.config["mixer"]["K"] == 3
    assert model.score(data, "val").confusion.sum() == result.samples == data.counts["val"]
    model.save(tmp_path / "m.safetensors")
    for other in (
        Model.load(tmp_path / "m.safetensors", device=device),
        Model.from_bytes(model.to_bytes(), device=device),
    ):
        np.testing.assert_array_equal(other.predict(data, "val"), model.predict(data, "val"))
    name = next(iter(model.parameters))
    model.parameters[name] = np.zeros_like(model.parameters[name])
    assert not model.parameters[name].any()
    model.parameters[name] += 1
    model.parameters[name][:] = 2  # a copy
    assert (model.parameters[name] == 1).all()


def test_steps_and_checkpoints_have_the_same_bits(
    data: Dataset, device: filtra.Device, tmp_path: Path
) -> None:
    def train(stop: int) -> list[bytes]:
        model = Model(data, device=device, seed=1, dropout=0.1, **SMALL)
        trainer = Trainer(model, schedule="cosine", steps=8, seed=3)
        loader = data.loader("train", 16, shuffle=True, seed=1)
        for i in range(8):
            if i == stop:
                trainer.save(tmp_path / "state")
                trainer.close()
                trainer = Trainer(model, schedule="cosine", steps=8, seed=3)
                trainer.restore(tmp_path / "state")
            trainer.step(loader.next())
        assert trainer.finish().step == trainer.steps == 8
        return [value.tobytes() for value in model.parameters.values()]

    assert train(-1) == train(3)


def test_fit_goes_on_with_new_orders(
    data: Dataset, device: filtra.Device, tmp_path: Path
) -> None:
    def train(*epochs: int, restored: bool = False) -> list[bytes]:
        model = Model(data, device=device, seed=1, **SMALL)
        trainer = Trainer(model)
        for count in epochs:
            trainer.fit(data, epochs=count, batch_size=16, seed=1)
            if restored:
                trainer.save(tmp_path / "state")
                trainer = Trainer(model)
                trainer.restore(tmp_path / "state")
        return [value.tobytes() for value in model.parameters.values()]

    class Stop(filtra.Callback):
        def on_step(self, trainer: Any, metrics: Any) -> None:
            raise filtra.StopTraining

    whole = train(4)
    assert train(2, 2) == train(1, 1, 1, 1) == train(2, 2, restored=True) == whole
    trainer = Trainer(Model(data, device=device, **SMALL))
    with pytest.raises(TypeError, match="epochs"):
        trainer.fit(data, epochs="2")  # type: ignore[arg-type]
    assert trainer._passes == 0
    trainer.fit(data, callbacks=Stop())
    assert trainer._passes == 1  # was begun


def test_images_in_windows_and_stages(device: filtra.Device) -> None:
    config: dict[str, Any] = {
        "features": 2, "classes": 3, "image_height": 8, "image_width": 12, "patch": 2, "layers": 2,
        "heads": 1, "width": 4, "window": 3, "positions": "relative", "layer_scale": 0.1,
        "class_layers": 1, "pooling": "class_token"}
    with Model(device=device, stages=[1, np.int64(1)], seed=1, **config) as model:
        assert model.config["stages"] == "1,1"
        assert model.parameters["layers.1.merge.weight"].shape == (8, 16)
        assert model.parameters["layers.2.mixer.q.weight"].shape == (8, 8)
    for wrong in (3, [1, 1.5]):
        with pytest.raises(TypeError, match="stages"):
            Model(device=device, stages=wrong, **config)
    with pytest.raises(filtra.ArgumentError, match="longer than 39"):
        Model(device=device, stages=[1] * 40, **config)


def test_callbacks(data: Dataset, device: filtra.Device) -> None:
    class Stop(filtra.Callback):
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def on_step(self, trainer: Any, metrics: Any) -> None:
            self.seen.append(metrics.step)

        def on_epoch(self, trainer: Any, epoch: int, evaluation: Any) -> None:
            self.seen.append(("epoch", epoch, evaluation.samples))
            raise filtra.StopTraining

        def on_end(self, trainer: Any) -> None:
            self.seen.append("end")

    stop = Stop()
    model = Model(data, device=device, **SMALL)
    Trainer(model).fit(data, epochs=5, batch_size=64, callbacks=[stop])
    assert stop.seen[-3:] == [2, ("epoch", 0, data.counts["val"]), "end"]


def test_callbacks_see_each_step_once(data: Dataset, device: filtra.Device) -> None:
    class Note(filtra.Callback):
        def __init__(self) -> None:
            self.seen: list[tuple[int, float]] = []

        def on_step(self, trainer: Any, metrics: Any) -> None:
            self.seen.append((metrics.step, metrics.loss))

    note = Note()
    fitted = Model(data, device=device, **SMALL)
    Trainer(fitted).fit(data, epochs=3, batch_size=32, callbacks=note)
    by_hand = Model(data, device=device, **SMALL)
    trainer = Trainer(by_hand)
    loader = data.loader(batch_size=32, shuffle=True, sample_weights=True)
    wanted = []
    for _ in range(3 * len(loader)):
        trainer.step(loader.next())
        found = trainer.finish()
        wanted.append((found.step, found.loss))
    assert len(loader) > 2
    assert note.seen == wanted
    Trainer(plain := Model(data, device=device, **SMALL)).fit(data, epochs=3, batch_size=32)
    assert plain.to_bytes() == fitted.to_bytes()  # which has two steps in flight


def test_predictor(data: Dataset, device: filtra.Device) -> None:
    model = fitted(data, device)
    predictor = filtra.Predictor(model)
    X = np.random.default_rng(5).normal(size=(40, 5))
    found = predictor.predict(X)
    assert (found == np.where(X[:, 0] > 0, "up", "down")).mean() > 0.8
    proba = predictor.predict_proba(X)
    np.testing.assert_allclose(proba.sum(1), 1, atol=1e-6)
    assert (np.array(predictor.classes)[proba.argmax(1)] == found).all()
    fixed = X.astype(np.float32)
    fixed.flags.writeable = False
    for same in (list(X), X.tolist(), np.asfortranarray(X), fixed):
        np.testing.assert_array_equal(predictor.predict_proba(same), proba)
    vectors = filtra.Predictor(model, vector="mean", normalise=True).embed(X[:3])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    several = [threading.Thread(target=predictor.predict, args=(X,)) for _ in range(4)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    for wrong, kind, part in (
        (X[:, :3], ValueError, "3 numbers; a row of the training data has 5"),
        (["text"], ValueError, "."),
        (X.astype(complex), TypeError, r"X\[0\].*complex"),
        (np.full((1, 5), np.inf), ValueError, "infinite"),
        ("text", TypeError, "array or a list"),
    ):
        with pytest.raises(kind, match=part):
            predictor.predict(wrong)
    with pytest.raises(filtra.ArgumentError, match="made with vector"):
        predictor.embed(X)
    many = np.resize(X, (MOST + 40, 5))
    np.testing.assert_array_equal(predictor.predict_proba(many)[-40:], predictor.predict_proba(
        many[-40:]
    ))
    many[-1, 2] = np.inf
    with pytest.raises(ValueError, match=rf"X\[{MOST}\] and after: request 39"):
        predictor.predict(many)
    model.device._pointer  # noqa: B018  is still open


def test_requests_are_packed_as_c_reads_them() -> None:
    request = _c.filtra_request()
    names = [name for name, *_ in request._fields_]
    names = names[: names.index("height") + 1]
    values = range(1, len(names) + 1)
    _SAMPLE.pack_into(request, 0, *values)
    found = {
        name: int.from_bytes(bytes(request)[field.offset : field.offset + field.size], "little")
        for name, field in ((name, getattr(_c.filtra_request, name)) for name in names)
    }
    assert found == dict(zip(names, values))


def test_arrays_in_turn(data: Dataset, device: filtra.Device) -> None:
    with Model(data, device=device, seed=1, **SMALL) as model:
        predictor = filtra.Predictor(model)
    X = np.random.default_rng(1).normal(size=(2, 5)).astype(np.float32)
    expected = predictor.logits(list(X))
    for _ in range(2):  # the second time in room that the first one left
        for same in (X, X.copy(), X.astype(np.float64), np.asfortranarray(X), list(X)):
            np.testing.assert_array_equal(predictor.logits(same), expected)
        np.testing.assert_array_equal(predictor.logits(X[::-1]), expected[::-1])
        assert len(predictor.predict(np.zeros((3, 5), np.float32))) == 3
        assert predictor.predict_proba(X).shape == expected.shape
    kept = predictor.logits(X)
    assert (predictor.logits(X + 1) != expected).any()
    np.testing.assert_array_equal(kept, expected)


def test_texts_and_pairs(device: filtra.Device) -> None:
    texts = ["good film", "bad film", "fine", "awful"] * 10
    data = Dataset.from_arrays(texts, [1, 0] * 20, tokenizer="words", seed=1)
    model = fitted(data, device)
    assert filtra.Predictor(model).predict(["good film", "awful"]).tolist() == ["1", "0"]


def test_rows_of_two_texts_and_of_two_samples(device: filtra.Device) -> None:
    tokens, labels = np.arange(1, 9).reshape(2, 4), [0, 1]
    model = Model(device=device, vocabulary=10, classes=2, max_length=4, token_types=2,
                  embedding_init=1, seed=1, **SMALL)
    one = model.predict_batch(filtra.Batch(tokens))
    none = model.predict_batch(filtra.Batch(tokens, second=[0, 0]))
    two = model.predict_batch(filtra.Batch(tokens, second=[2, 0]))
    np.testing.assert_array_equal(none, one)
    np.testing.assert_array_equal(two[1], one[1])
    assert (two[0] != one[0]).any()
    with pytest.raises(ValueError, match="accepted are 0 to 4"):
        model.predict_batch(filtra.Batch(tokens, second=[5, 0]))
    with pytest.raises(ValueError, match="go together"):
        model.evaluate_batch(filtra.Batch(tokens, labels=labels, other_labels=labels))

    def loss(**rows: Any) -> float:
        with Model.from_bytes(model.to_bytes(), device=device) as copy:
            trainer = Trainer(copy, mixed_labels=True, learning_rate=1e-3)
            trainer.step(filtra.Batch(tokens, **rows))
            return float(trainer.finish().loss)

    first = loss(labels=labels, other_labels=[1, 0], label_fractions=[1, 1])
    other = loss(labels=labels, other_labels=[1, 0], label_fractions=[0, 0])
    mixed = loss(labels=labels, other_labels=[1, 0], label_fractions=[0.25, 0.25])
    assert mixed == pytest.approx(0.25 * first + 0.75 * other, rel=1e-5) != first


def test_generation(device: filtra.Device) -> None:
    data = Dataset.from_text("abcd" * 300, length=32)
    model = Model(data, device=device, mixer="gfsa", seed=1, **SMALL)
    Trainer(model, learning_rate=1e-2).fit(data, epochs=20, batch_size=8)
    assert model.evaluate(data).perplexity < 1.5
    assert data.tokenizer is not None
    assert "".join(filtra.generate(model, data.tokenizer, "abcdabcd", 6)) == "abcdab"
    with filtra.Generator(model) as generator:
        logits = generator.feed(data.tokenizer.encode("abc"))
        assert len(generator) == 3
        assert filtra.sample_token(logits[0]) == ord("d") + 1
    for none in (0, -1):  # 0 is one to C, which would write beyond arrays of none
        with pytest.raises(ValueError, match=f"sequences must be from 1 to .*; got {none}"):
            filtra.Generator(model, sequences=none)


def test_runs(data: Dataset, device: filtra.Device, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    seen: list[filtra.RunProgress] = []

    class Note(filtra.Callback):
        def on_step(self, trainer: Any, metrics: Any) -> None:
            seen.append(metrics)
            if stop and metrics.step >= 3:
                raise filtra.StopTraining

    config = {**SMALL, "epochs": 3, "learning_rate": 1e-2, "mixer": {"name": "gfsa", "K": 4}}
    stop = True
    filtra.train(folder, config, data, device=device, callbacks=[Note()])
    assert 3 <= seen[-1].step < seen[-1].steps
    stop = False
    with pytest.raises(ValueError, match="mine"):
        filtra.train(folder, data=data, device=device, callbacks=[Failing()])
    before = seen[-1].step
    seen.clear()
    run = filtra.train(folder, data=data, device=device, callbacks=[Note()])
    steps = [before, *(metrics.step for metrics in seen)]
    assert (np.diff(steps) > 0).all()  # none twice, and none that the checkpoint had
    assert run.config["mixer"]["K"] == 4
    assert run.classes == ["down", "up"]
    assert run.records[-1]["step"] == seen[-1].steps
    assert np.nanmin(run.metrics["validation_loss"]) == pytest.approx(
        run.model(device=device).evaluate(data).loss, rel=1e-5
    )
    assert run.predictor(device=device).predict([[3.0, 0, 0, 0, 0]]).tolist() == ["up"]
    with pytest.raises(filtra.InputError, match='did you mean "mixer"'):
        filtra.train(tmp_path / "no", {"mixr": "agf"}, data, device=device)
    assert not (tmp_path / "no").exists()


def test_runs_read_files_written_otherwise(device: filtra.Device, tmp_path: Path) -> None:
    table, other = tmp_path / "train.csv", tmp_path / "other.csv"
    table.write_text("text,label\n" + "aaa,x\nbbb,y\n" * 10)
    other.write_text("kind|body\ny|bbb\n")
    config = {"data": str(table), "width": 8, "layers": 1, "steps": 3, "batch_size": 4}
    run = filtra.train(tmp_path / "run", config, device=device)
    written = {"text_column": "body", "target_column": "kind", "delimiter": "pipe"}
    with pytest.raises(filtra.InputError, match="there is no column"):
        run.data(other, "test")
    assert run.data(other, "test", **written).counts["test"] == 1
    assert run.evaluate("test", other, device=device, **written).samples == 1
    with pytest.raises(filtra.InputError, match='"mixer" does not say how data are written'):
        run.evaluate("test", other, device=device, mixer="agf")


def test_messages_name_arguments_of_python(
    data: Dataset, device: filtra.Device, tmp_path: Path
) -> None:
    class Stop(filtra.Callback):
        def on_step(self, trainer: Any, metrics: Any) -> None:
            raise filtra.StopTraining

    def refused(*arguments: Any, **named: Any) -> str:
        with pytest.raises(filtra.FiltraError) as error:
            filtra.train(*arguments, device=device, **named)
        assert "--" not in str(error.value)
        return str(error.value)

    folder = tmp_path / "run"
    filtra.train(folder, {**SMALL, "epochs": 9}, data, device=device, callbacks=[Stop()])
    X = np.random.default_rng(2).normal(size=(64, 5))
    other = Dataset.from_arrays(X, ["up", "down"] * 32)
    assert refused(folder, data=other).endswith("bring them back, or resume with allow_changes")
    assert refused(folder).endswith("name other data, or give these again in a program")
    assert refused(tmp_path / "new", SMALL).endswith("is missing, the path of a file or folder")
    run = filtra.Run(folder)
    with pytest.raises(filtra.InputError, match='after "eval_every" steps; resume the run$'):
        run.model(device=device)
    filtra.train(folder, data=other, allow_changes=True, device=device, callbacks=[Stop()])


class Failing(filtra.Callback):
    """A callback with a mistake."""

    def on_step(self, trainer: Any, metrics: Any) -> None:
        raise ValueError("mine")


def test_a_run_changes_images(device: filtra.Device, tmp_path: Path) -> None:
    images = np.zeros((8, 6, 6), np.uint8)
    images[::2] = 200
    data = Dataset.from_arrays(images, [0, 1] * 4)
    changes = {"hflip": 0.5, "crop_scale": 0.5, "rand_augment": 2, "random_erasing": 0.5}
    config = {"layers": 1, "width": 16, "heads": 2, "epochs": 1, **changes}
    run = filtra.train(tmp_path / "run", config, data, device=device)
    assert np.isfinite(run.records[-1]["validation_loss"])


def test_interrupts_end_a_run_in_good_order(
    data: Dataset, device: filtra.Device, tmp_path: Path
) -> None:
    class Press(filtra.Callback):
        def on_step(self, trainer: Any, metrics: Any) -> None:
            if metrics.step >= 2:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        filtra.train(tmp_path / "r", {**SMALL, "epochs": 9}, data, device=device,
                     callbacks=[Press()])
    assert (tmp_path / "r" / "checkpoint" / "state.safetensors").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_command_gives_the_same_bits(device: filtra.Device, tmp_path: Path) -> None:
    command = os.environ.get("FILTRA_COMMAND")
    if not command:
        pytest.skip("FILTRA_COMMAND does not name the command")
    (tmp_path / "train.csv").write_text("text,label\n" + "good,1\nbad,0\nfine,1\nawful,0\n" * 20)
    for mixer in ("softmax", "agf", "gfsa", "plaplacian", "kernelution"):
        config: dict[str, Any] = {"mixer": mixer, "epochs": 2, "batch_size": 16, **SMALL}
        if mixer == "kernelution":
            config["block"] = "converter"
        run = filtra.train(tmp_path / f"py-{mixer}", config, tmp_path / "train.csv", device=device)
        sets = [arg for key, value in config.items() for arg in ("--set", f"{key}={value}")]
        subprocess.run(
            [command, "train", "--device", "cpu", "--data", str(tmp_path / "train.csv"), *sets,
             "--out", str(tmp_path / f"c-{mixer}")], check=True, capture_output=True,
        )
        other = filtra.Run(tmp_path / f"c-{mixer}")
        for mine, theirs in zip(run.records, other.records):
            for name in ("step", "loss", "validation_loss", "grad_norm"):
                assert mine.get(name) == theirs.get(name)
        content = [(tmp_path / f"{who}-{mixer}" / "model.safetensors").read_bytes()
                   for who in ("py", "c")]
        assert content[0] == content[1]


def test_configurations() -> None:
    assert "stochastic depth" in filtra.describe_config("drop_path").lower()
    assert "data" in filtra.complete_config({"mixer": "agf", "data": "x"})
    name = filtra.presets()[0]
    assert filtra.preset(name)["config"]
    with pytest.raises(ValueError, match="nope"):
        filtra.preset("nope")


def test_import_and_export(device: filtra.Device, tmp_path: Path) -> None:
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 16, "n_head": 2,
        "n_layer": 1, "n_positions": 32, "vocab_size": 50, "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
    }
    from_scratch = Model(
        device=device, task="language_model", vocabulary=50, max_length=32, ffn_width=64,
        activation="gelu_tanh", tie_embeddings=True, no_head_bias=True, **SMALL,
    )
    from_scratch.save_pretrained(tmp_path / "gpt2")
    found = json.loads((tmp_path / "gpt2" / "config.json").read_text())
    assert {key: found.get(key) for key in config} == config
    model = Model.from_pretrained(tmp_path / "gpt2", device=device, mixer="gfsa")
    batch = filtra.Batch([[1, 2, 3]])
    np.testing.assert_allclose(
        model.predict_batch(batch), from_scratch.predict_batch(batch), atol=1e-6
    )


@pytest.mark.parametrize(
    ("call", "kind", "part"),
    [
        (lambda d, m: Model(d, mixer="nope"), ValueError, 'unknown mixer "nope"'),
        (lambda d, m: Model(d, mixer=3), TypeError, "mixer must be a name"),
        (lambda d, m: Model(d, width=31), ValueError, "multiple of"),
        (lambda d, m: Model(d, dropout="x"), TypeError, "dropout must be a number"),
        (lambda d, m: Model(d, dropout=float("nan")), ValueError, "finite"),
        (lambda d, m: Model(d, pooling="top"), ValueError, "pooling must be one of mean"),
        (lambda d, m: Model(d, nope=1), TypeError, "no option 'nope'"),
        (lambda d, m: Model(3), TypeError, "data must be a filtra.Dataset"),
        (lambda d, m: Trainer(m, learning_rate=-1), ValueError, "learning_rate"),
        (lambda d, m: Trainer(m, nope=1), TypeError, "no option 'nope'"),
        (lambda d, m: Trainer(3), TypeError, "model must be a filtra.Model"),
        (lambda d, m: Trainer(m).fit([1]), TypeError, "batches, not int"),
        (lambda d, m: m.predict_batch(filtra.Batch([[1, 2]])), ValueError, "features"),
        (lambda d, m: m.save("/nowhere/x"), OSError, "/nowhere"),
        (lambda d, m: Model.from_bytes(b"no"), ValueError, "."),
        (lambda d, m: Model.from_bytes("no"), TypeError, "bytes, not str"),
        (lambda d, m: m.evaluate(d, "all"), ValueError, "split must be one of"),
        (lambda d, m: filtra.Run("/nowhere"), ValueError, "no run folder|not a run folder"),
    ],
)
def test_mistakes(call, kind, part, data, device) -> None:  # type: ignore[no-untyped-def]
    model = Model(data, device=device, **SMALL)
    with pytest.raises(kind, match=part):
        call(data, model)


def test_a_closed_device_closes_all(data: Dataset) -> None:
    device = filtra.Device("cpu", cache_dir="")
    model = Model(data, device=device, **SMALL)
    trainer, predictor = Trainer(model), filtra.Predictor(model)
    device.close()
    for call in (trainer.finish, model.to_bytes, lambda: predictor.predict([[0.0] * 5])):
        with pytest.raises(filtra.ClosedError):
            call()


def test_several_labels_are_predicted_each(device: filtra.Device) -> None:
    X = np.random.default_rng(0).normal(size=(64, 4, 1))
    y = np.stack([X[:, 0, 0] > 0, X[:, 1, 0] > 0], axis=1).astype(int)
    data = Dataset.from_arrays(X, y, target="labels", validation_share=0)
    with Model(data, layers=1, width=16, pooling="flatten", device=device) as model:
        Trainer(model, learning_rate=1e-2).fit(data, epochs=60)
        with filtra.Predictor(model) as predictor:
            found = predictor.predict(X)
            np.testing.assert_array_equal(found, predictor.predict_proba(X) > 0.5)
    assert (found == y).mean() > 0.95


def test_data_that_were_read_otherwise_are_refused(device: filtra.Device) -> None:
    small: dict[str, Any] = {**SMALL, "device": device}
    texts = [f"{word} {i}" for i in range(20) for word in ("good film", "bad movie")]
    names = ["up", "down"] * 20
    own = Dataset.from_arrays(texts, names, tokenizer="words", test=(texts, names))
    others = [text.replace("film", "bad bad") for text in texts]  # "bad" comes first
    model = Model(own, **small)
    trainer = Trainer(model)
    other = Dataset.from_arrays(others, names, tokenizer="words")
    for call in (
        model.evaluate, model.score, model.predict, trainer.fit,
        lambda data: trainer.fit(data.loader()),
    ):
        with pytest.raises(ValueError, match="another vocabulary than the model's"):
            call(other)
    trainer.fit(Dataset.from_arrays(others, names, tokenizer=own.tokenizer))
    trainer.fit(own)
    model = Model(Dataset.from_arrays(texts, ["a", "b"] * 20, tokenizer="bytes"), **small)
    other = Dataset.from_arrays(texts, ["b", "c"] * 20, tokenizer="bytes")
    with pytest.raises(ValueError, match='class 0 of the data is "b", the model\'s is "a"'):
        model.evaluate(other)
    model.set_data(other)
    model.evaluate(other)
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = Model(Dataset.from_arrays(X, names), **small)
    with pytest.raises(ValueError, match="standardised otherwise"):
        model.evaluate(Dataset.from_arrays(X + 3, names))
    like = Dataset.from_arrays(X + 3, names, like=model.to_bytes())
    model.evaluate(like)
    Trainer(model).fit(like)
