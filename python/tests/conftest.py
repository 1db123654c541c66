"""What the tests share: a device, and a graph that is recorded, executed and read in one call."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import filtra


def pytest_collection_finish() -> None:
    """Leave modules and collected tests out of every later collection: many tests ask for one."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def device() -> Iterator[filtra.Device]:
    with filtra.Device("cpu", cache_dir="") as opened:
        yield opened


@pytest.fixture
def evaluate(device: filtra.Device) -> Callable[..., Any]:
    """Return the values of what a function makes of inputs with these arrays."""

    def call(function: Callable[..., Any], *arrays: Any, training: bool = False) -> Any:
        with filtra.Graph(device, training=training) as g:
            inputs = {}
            for i, array in enumerate(arrays):
                array = np.asarray(array)
                dtype = "i32" if array.dtype.kind in "iu" else "f32"
                inputs[g.input(f"x{i}", array.shape, dtype)] = array
            made = function(*inputs)
            several = isinstance(made, (tuple, list))
            outputs = [g.output(t) for t in (made if several else [made])]
            g.compile()
            g.run(inputs)
            values = [np.asarray(t) for t in outputs]
            return values if several else values[0]

    return call
