"""Memory does not grow over many objects and calls."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import filtra

STATM = Path("/proc/self/statm")


def resident() -> int:
    """KiB of memory of this process."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * 4


def grows(call: Callable[[], object], times: int) -> bool:
    """Whether memory grows each time that `call` is called so often. What the allocator or the
    system takes at once is taken in one span; a leak grows in each."""
    for _ in range(4):
        before = resident()
        for _ in range(times):
            call()
        if resident() - before < 512:
            return False
    return True


def model(device: filtra.Device) -> filtra.Model:
    return filtra.Model(
        mixer="softmax", vocabulary=50, classes=3, max_length=16, layers=1, width=8, device=device
    )


@pytest.mark.skipif(not STATM.exists(), reason="this system does not say what a process takes")
def test_models_and_predictions(device: filtra.Device) -> None:
    for _ in range(300):
        model(device)
    gc.collect()
    used = device.memory_used
    assert not grows(lambda: model(device), 1000)
    assert device.memory_used == used

    predictor = filtra.Predictor(model(device))
    sample = np.ones((1, 10), np.int32)
    for _ in range(3000):
        predictor.predict(sample)
    assert not grows(lambda: predictor.predict(sample), 10000)
