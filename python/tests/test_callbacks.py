"""Callbacks to TensorBoard and Weights & Biases, with stand-ins for their writers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import filtra


class Writer:
    """Notes what it is given."""

    def __init__(self) -> None:
        self.seen: dict[str, list[tuple[int, float]]] = {}
        self.ended = ""

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.seen.setdefault(name, []).append((step, value))

    def log(self, values: dict[str, float], step: int) -> None:
        for name, value in values.items():
            self.add_scalar(name, value, step)

    def flush(self) -> None:
        self.ended = "flushed"

    def finish(self) -> None:
        self.ended = "finished"


@pytest.mark.parametrize("kind", [filtra.TensorBoard, filtra.WandB])
def test_measures_are_passed_on(kind: Any, device: filtra.Device) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    data = filtra.Dataset.from_arrays(X, (X[:, 0] > 0).astype(int))
    model = filtra.Model(data, device=device, width=16, layers=1)
    writer = Writer()
    callback = kind(writer, every=4)
    filtra.Trainer(model).fit(data, epochs=2, batch_size=16, callbacks=[callback])
    steps = [step for step, _ in writer.seen["train/loss"]]
    assert steps == sorted(set(steps)) and 3 <= len(steps) <= 4
    assert [step for step, _ in writer.seen["validation/accuracy"]] == [6, 12]
    assert "train/step" not in writer.seen
    assert writer.ended == ("flushed" if kind is filtra.TensorBoard else "")
    other = filtra.Model(data, device=device, width=16, layers=1)
    filtra.Trainer(other).fit(data, epochs=2, batch_size=16, callbacks=[callback])
    assert len(writer.seen["train/loss"]) >= 2 * len(steps) - 1


def test_event_files(device: filtra.Device, tmp_path: Any) -> None:
    pytest.importorskip("tensorboardX")
    callback = filtra.TensorBoard(tmp_path)
    callback.write({"train/loss": 1.0}, 1)
    callback.on_end(None)
    assert list(tmp_path.iterdir())
