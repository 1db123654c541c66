"""One model by the command, a program in C and Python: the same numbers, to the bit."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import Dataset

SMALL: dict[str, Any] = {"width": 8, "layers": 1, "heads": 2, "epochs": 3, "batch_size": 8,
                         "log_every": 1}
KEPT = ("step", "loss", "accuracy", "validation_loss", "validation_accuracy", "grad_norm")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler, command = os.environ.get("FILTRA_COMPILER"), os.environ.get("FILTRA_COMMAND")
    if not compiler or not command:
        pytest.skip("FILTRA_COMPILER and FILTRA_COMMAND do not name a compiler and the command")
    made: Path = tmp_path_factory.mktemp("ways") / "ways"
    here = Path(__file__).resolve().parent
    subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{here.parents[1] / 'include'}",
         here / "ways.c", os.environ["FILTRA_LIBRARY"], "-o", made], check=True,
    )
    return made


def output(*call: Any) -> str:
    """Return what a program prints."""
    folder = str(Path(os.environ["FILTRA_LIBRARY"]).parent)
    done = subprocess.run(
        [str(part) for part in call], capture_output=True, text=True,
        env={**os.environ, "LD_LIBRARY_PATH": folder},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*call: Any) -> str:
    """Return what the command prints."""
    return output(os.environ["FILTRA_COMMAND"], *call, "--device", "cpu", "--cache-dir", "")


# Each of these writes data and returns the samples of the test split as a program gives them.


def text(folder: Path, rng: Any) -> Any:
    """Texts with classes."""
    words = np.array(["good", "bad", "fine", "awful", "film", "so"])
    for split, count in (("train", 30), ("val", 10), ("test", 20)):
        texts = [" ".join(rng.choice(words, 1 + i % 5)) for i in range(count)]
        rows = [f"{line},{'no' if i % 3 else 'yes'}" for i, line in enumerate(texts)]
        (folder / f"{split}.csv").write_text("\n".join(["text,label", *rows, ""]))
    return texts


def series(folder: Path, rng: Any) -> Any:
    """Series of unequal lengths."""
    for split, count in (("TRAIN", 40), ("TEST", 20)):
        X = [rng.normal(5, 30, (3 + i % 4, 2)).round(3) for i in range(count)]
        rows = [":".join(",".join(map(str, values)) for values in x.T) + f":{'ab'[i % 2]}"
                for i, x in enumerate(X)]
        (folder / f"x_{split}.ts").write_text(
            "\n".join(["@problemName x", "@dimensions 2", "@classLabel true a b", "@data", *rows])
        )
    return X


def images(folder: Path, rng: Any) -> Any:
    """Images as MNIST has them."""
    for split, count in (("train", 40), ("t10k", 20)):
        pixels = rng.integers(0, 256, (count, 6, 6), dtype=np.uint8)
        header = struct.pack(">4i", 0x803, count, 6, 6)
        (folder / f"{split}-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
        labels = (np.arange(count) % 3).astype(np.uint8)
        header = struct.pack(">2i", 0x801, count)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(header + labels.tobytes())
    return pixels


def table(folder: Path, rng: Any) -> Any:
    """Rows of two numbers and a category, which is a number for each text, with a value."""
    for split, count in (("train", 30), ("val", 10), ("test", 20)):
        X = np.array([[round(rng.normal(3, 9), 3), rng.integers(99), i % 3 == 0, i % 3 > 0]
                      for i in range(count)])
        rows = [f"{a},{b:.0f},{'red' if red else 'blue'},{rng.normal():.3f}" for a, b, _, red in X]
        (folder / f"{split}.csv").write_text("\n".join(["a,b,colour,y", *rows, ""]))
    return X


def pairs(folder: Path, rng: Any) -> Any:
    """Pairs of documents as Long Range Arena has them."""
    for split, count in (("train", 30), ("eval", 10), ("test", 20)):
        X = [tuple("".join(rng.choice(list("abc "), 3 + i % 5)) + "x" for _ in range(2))
             for i in range(count)]
        rows = [f"{float(i % 2)}\t{i}\t{i + 100}\t{one}\t{other}\n"
                for i, (one, other) in enumerate(X)]
        (folder / f"new_aan_pairs.{split}.tsv").write_text("".join(rows))
    return X


def records(run: Path) -> list[list[Any]]:
    """Return the numbers that training logged."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [[line.get(name) for name in KEPT] for line in lines]


def check_alike(folder: Path, python: tuple[float, Any], data: list[Any], loss: str) -> None:
    """Compare what came of the runs `command`, `c` and `python` in the folder."""
    runs = [folder / name for name in ("command", "c", "python") if (folder / name).exists()]
    said = json.loads(command("eval", runs[0], *data, "--split", "test", "--json"))
    assert f"{python[0]:.9g}" == loss.strip() == f"{said['loss']:.9g}"
    command("predict", runs[0], *data, "--split", "test", "--output", folder / "command.npy",
            *(["--logits"] if python[1].shape[-1] > 1 else []))
    wanted = np.load(folder / "command.npy").tobytes()
    assert python[1].dtype == np.float32 and python[1].tobytes() == wanted
    assert (folder / "c.bin").read_bytes() == wanted
    for other in runs[1:]:
        assert records(other) == records(runs[0]) != []
        a, b = ((run / "model.safetensors").read_bytes() for run in (runs[0], other))
        assert a == b


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (text, {"tokenizer": "words", "mixer": "agf"}),
        (series, {}),
        (images, {}),  # as ids
        (images, {"pixels": "grey_features", "patch": 3}),  # standardised
        (table, {"target_column": "y", "feature_columns": "a,b,colour", "dropout": 0.1}),
        (pairs, {"max_length": 16}),
    ],
    ids=["text", "series", "images", "standardised images", "table", "pairs"],
)
def test_files(
    kind: Any, config: dict[str, Any], program: Path, device: filtra.Device, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    samples = kind(data, np.random.default_rng(3))
    keys = {**SMALL, **config, "data": str(data)}
    (tmp_path / "config.json").write_text(json.dumps(keys))
    command("train", "--config", tmp_path / "config.json", "--out", tmp_path / "command")
    loss = output(
        program, tmp_path / "c", tmp_path / "config.json", data, tmp_path / "c.bin"
    )
    run = filtra.train(tmp_path / "python", keys, device=device)
    model, opened = run.model(device=device), run.data()
    found = model.predict(opened, "test", keys["batch_size"])
    predictor = filtra.Predictor(tmp_path / "c" / "model.safetensors", device=device)
    single = predictor.predict(samples) if kind is table else predictor.logits(samples)
    assert np.asarray(single, np.float32).tobytes() == found.tobytes()
    assert run.evaluate("test", device=device) == model.evaluate(opened, "test", keys["batch_size"])
    check_alike(tmp_path, (run.evaluate("test", device=device).loss, found), [], loss)


@pytest.mark.parametrize("standardise", [True, False])
def test_arrays(
    standardise: bool, program: Path, device: filtra.Device, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(5, 30, (60, 7, 2)).astype(np.float32)
    y = (X[:, 0, 0] > 5).astype(np.int32)
    (tmp_path / "arrays").write_bytes(X.tobytes() + y.tobytes())
    names = np.where(y, "up", "down")
    np.savez(tmp_path / "test.npz", X_test=X[40:], y_test=names[40:])
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    loss = output(
        program, tmp_path / "c", tmp_path / "config.json", tmp_path / "arrays", tmp_path / "c.bin",
        int(standardise),
    )
    data = Dataset.from_arrays(
        X[:30], names[:30], val=(X[30:40], names[30:40]), test=(X[40:], names[40:]),
        standardise=standardise,
    )
    run = filtra.train(tmp_path / "python", SMALL, data, device=device)
    model = run.model(device=device)
    found = model.predict(data, "test", SMALL["batch_size"])
    loaded = run.predictor(device=device).logits(X[40:])
    assert loaded.tobytes() == found.tobytes()
    check_alike(
        tmp_path, (model.evaluate(data, "test", SMALL["batch_size"]).loss, found),
        ["--data", tmp_path / "test.npz"], loss,
    )
