"""Objects that several threads use, and close, at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import Dataset, Model, Trainer

SMALL: dict[str, Any] = {"layers": 1, "heads": 2, "width": 16}
X = np.random.default_rng(0).normal(size=(60, 6))
Y = np.arange(60) % 2


def data() -> Dataset:
    return Dataset.from_arrays(X, Y)


def until_closed(work: Callable[[], Any], started: threading.Event) -> None:
    with pytest.raises(filtra.ClosedError):
        while True:
            work()
            started.set()


def close_beside(work: Callable[[], Any], closed: Any) -> None:
    """Close an object while another thread goes on with calls that read it."""
    started = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(until_closed, work, started)
        assert started.wait(60)
        closed.close()
        done.result(60)


@pytest.mark.parametrize("name", ["evaluate", "predict", "score"])
def test_data_that_a_model_reads_are_closed(name: str, device: filtra.Device) -> None:
    given = data()
    model = Model(given, device=device, **SMALL)
    close_beside(lambda: getattr(model, name)(given, "train"), given)


def test_data_are_closed_while_models_are_made(device: filtra.Device) -> None:
    given = data()
    close_beside(lambda: Model(given, device=device, **SMALL).close(), given)


def test_a_loader_whose_batches_are_trained_on_is_closed(device: filtra.Device) -> None:
    given = data()
    trainer, loader = Trainer(Model(given, device=device, **SMALL)), given.loader("train", 54)
    close_beside(lambda: trainer.step(loader.next()), loader)
    batch = given.loader("train", 8).next()
    close_beside(lambda: trainer.step(batch), batch.loader)


class Calls(filtra.Callback):
    """Calls a function after the first step."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function: Callable[[], Any] | None = function
        self.found: Any = None

    def on_step(self, trainer: Any, metrics: Any) -> None:
        if self.function is not None:
            function, self.function = self.function, None
            self.found = function()


def run(folder: Path, given: Dataset, device: filtra.Device, function: Callable[[], Any]) -> Any:
    calls = Calls(function)
    filtra.train(folder, {**SMALL, "epochs": 2}, given, device=device, callbacks=calls)
    return calls.found


def test_callbacks_may_not_close_what_the_run_uses(device: filtra.Device, tmp_path: Path) -> None:
    given = data()
    for number, used in enumerate((given, device)):
        with pytest.raises(filtra.UnsupportedError, match="used by a call that is under way"):
            run(tmp_path / str(number), given, device, used.close)
        assert not used.closed
    other = Model(given, device=device, **SMALL)
    run(tmp_path / "2", given, device, other.close)
    assert other.closed
    given.close()


def test_a_run_lets_others_in_between_its_steps(device: filtra.Device, tmp_path: Path) -> None:
    given = data()
    predictor = filtra.Predictor(Model(given, device=device, **SMALL))
    expected = predictor.predict_proba(X)
    with ThreadPoolExecutor(1) as pool:
        found = run(tmp_path / "run", given, device,
                    lambda: pool.submit(predictor.predict_proba, X).result(60))
    np.testing.assert_array_equal(found, expected)
