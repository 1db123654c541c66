"""Generated datasets, and callbacks that stop them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import filtra

SMALL: dict[str, Any] = {"train": 20, "val": 5, "test": 5, "min_length": 5, "max_length": 30}


def test_listops(tmp_path: Path) -> None:
    calls = []
    filtra.generate_listops(
        tmp_path, seed=1, progress=lambda done, total: calls.append((done, total)), **SMALL
    )
    assert len((tmp_path / "basic_train.tsv").read_text().splitlines()) == 21
    assert calls[-1][1] == 30
    with pytest.raises(ValueError, match="basic_train.tsv"):
        filtra.generate_listops(tmp_path, **SMALL)
    with pytest.raises(ValueError, match="train must be from 1"):
        filtra.generate_listops(tmp_path / "other", train=0)


def test_callbacks_stop(tmp_path: Path) -> None:
    with pytest.raises(filtra.CancelledError):
        filtra.generate_listops(tmp_path, progress=lambda done, total: False, **SMALL)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filtra.generate_listops(tmp_path, progress=interrupt, **SMALL)
    assert not list(tmp_path.iterdir())


def test_pathfinder(tmp_path: Path) -> None:
    filtra.generate_pathfinder(tmp_path, count=3, contour_length=6, seed=1, threads=1)
    assert len(list(tmp_path.rglob("*.png"))) == 3
    with pytest.raises(ValueError, match="contour_length must be from 3 to 20; got 2"):
        filtra.generate_pathfinder(tmp_path, contour_length=2)
