"""The examples run, and print what they promise. Each runs in a process and folder of its own."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
LONGEST = 60  # lines
NEEDS = {
    "first_prediction": ["sklearn"],
    "compare_mixers": ["matplotlib"],
    "scikit_learn": ["sklearn"],
    "first_steps": ["sklearn"],
}


def need(name: str) -> None:
    """Skip a test where a package is missing."""
    for package in NEEDS.get(name, []):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{name} needs {package}")


def run(name: str, folder: Path, *arguments: str) -> str:
    """Return what an example prints."""
    need(name)
    command = [sys.executable, *(arguments or [str(EXAMPLES / f"{name}.py")])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONWARNINGS": "ignore"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(pattern: str, text: str) -> float:
    """Return the number that follows."""
    found = re.search(pattern + r"\s*(-?[0-9.]+)", text)
    assert found, text
    return float(found[1])


def first_prediction(text: str, folder: Path) -> None:
    """The classes are the right ones."""
    assert "film -> good" in text and "mess -> bad" in text


def first_training(text: str, folder: Path) -> None:
    """It learns, and the file predicts."""
    assert number("accuracy:", text) > 0.95
    assert (folder / "ramp.safetensors").exists()


def own_mixer(text: str, folder: Path) -> None:
    """The mean over the tokens helps to tell the class."""
    accuracy = [number(f"scale {scale}: test accuracy", text) for scale in ("0.0", "1.0")]
    assert accuracy[1] > max(0.9, accuracy[0]) and "gated_mean: A gated mean of the tokens." in text


def saliency(text: str, folder: Path) -> None:
    """The step that tells the class is the most salient."""
    assert "most salient step: 9" in text and number("accuracy", text) > 0.95


def compare_mixers(text: str, folder: Path) -> None:
    """Each mixer has a mean and an error, and there is a plot."""
    for mixer in ("softmax", "agf", "gfsa", "plaplacian"):
        assert number(mixer, text) > 0.1
    assert text.count("+-") == 4 and (folder / "mixers.png").stat().st_size > 1000


def fine_tuning(text: str, folder: Path) -> None:
    """Weights that were trained before help."""
    assert number("fine-tuned, three classes:", text) > number("scratch, three classes:", text)


def generate_text(text: str, folder: Path) -> None:
    """The text is made of words of the training text, most of them."""
    assert number("character:", text) < 2
    words = re.findall(r"\w+", text.split("\n", 1)[1])
    known = {"the", "a", "cat", "dog", "bird", "sees", "likes", "hears"}
    assert len(known.intersection(words)) >= 4 and len(words) > 8


def scikit_learn(text: str, folder: Path) -> None:
    """It learns what a linear model cannot."""
    assert number("filtra: accuracy", text) > number("linear: accuracy", text)
    assert "best of the grid" in text and "(240, 32)" in text


CHECKS = [
    first_prediction, first_training, own_mixer, saliency, compare_mixers, fine_tuning,
    generate_text, scikit_learn,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.__name__))
def test_example(check: Any, tmp_path: Path) -> None:
    check(run(check.__name__, tmp_path), tmp_path)


def test_notebook(tmp_path: Path) -> None:
    book = json.loads((EXAMPLES / "first_steps.ipynb").read_text(encoding="utf-8"))
    if importlib.util.find_spec("nbformat"):
        importlib.import_module("nbformat").validate(book)
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    code = "\n".join("".join(cell["source"]) for cell in cells)
    text = run("first_steps", tmp_path, "-c", code)
    first_prediction(text, tmp_path)
    first_training(text, tmp_path)


def test_all_are_tested_and_short() -> None:
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert set(scripts) == {check.__name__ for check in CHECKS}
    for name, text in scripts.items():
        assert text.count("\n") <= LONGEST, name
        assert max(map(len, text.split("\n"))) <= 100, name
