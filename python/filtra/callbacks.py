"""Callbacks that pass measures on to TensorBoard and Weights & Biases, by their own libraries."""

from __future__ import annotations

import dataclasses
import importlib
import math
from typing import Any

from . import _convert, results
from .trainer import Callback

__all__ = ["TensorBoard", "WandB"]


def measures(found: Any, prefix: str) -> dict[str, float]:
    """Return the finite numbers of metrics or an evaluation by name, without the step."""
    values = dataclasses.asdict(found) if found is not None else {}
    return {
        f"{prefix}/{name}": float(value)
        for name, value in values.items()
        if name not in ("step", "steps") and type(value) in (int, float) and math.isfinite(value)
    }


class _Logger(Callback):
    """Passes measures on every so many steps, and after each evaluation."""

    def __init__(self, every: int) -> None:
        self.every = _convert.whole(every, "every", 1)
        self.last = -1
        self.step = 0

    def write(self, values: dict[str, float], step: int) -> None:
        """Write measures of a step."""
        raise NotImplementedError

    def on_step(self, trainer: Any, metrics: Any) -> None:
        """Write a step's measures, once a step."""
        self.step = int(metrics.step)
        if self.step < self.last:  # of another training
            self.last = -1
        if self.step > self.last and self.step > 0 and self.step // self.every > (
            max(self.last, 0) // self.every
        ):
            self.write(measures(metrics, "train"), self.step)
            self.last = self.step

    def on_epoch(self, trainer: Any, epoch: int, evaluation: results.Evaluation | None) -> None:
        """Write the validation's measures."""
        if evaluation is not None:
            self.write(measures(evaluation, "validation"), self.step)


class TensorBoard(_Logger):
    """Writes event files, by ``torch.utils.tensorboard`` or ``tensorboardX``.

    Parameters
    ----------
    target : path or SummaryWriter
        The folder of the event files, or a writer that is open.
    every : int
        Steps between the measures that are written.
    """

    def __init__(self, target: Any, every: int = 10) -> None:
        super().__init__(every)
        self.own = not hasattr(target, "add_scalar")
        self.writer = self._open(target) if self.own else target

    @staticmethod
    def _open(folder: Any) -> Any:
        path = _convert.string(_convert.path(folder, "target"))
        for name in ("torch.utils.tensorboard", "tensorboardX"):
            try:
                return importlib.import_module(name).SummaryWriter(path)
            except ImportError:
                continue
        raise ImportError(
            "TensorBoard's files are written by torch.utils.tensorboard (torch and tensorboard) or "
            "tensorboardX: install one"
        )

    def write(self, values: dict[str, float], step: int) -> None:
        """Write measures of a step."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def on_end(self, trainer: Any) -> None:
        """Write what is buffered; close the writer that this has opened."""
        self.writer.close() if self.own else self.writer.flush()


class WandB(_Logger):
    """Logs to a run of Weights & Biases.

    Parameters
    ----------
    run : wandb.Run, optional
        A run that is open. Default: ``wandb.init(**options)``, finished at the end.
    every : int
        Steps between the measures that are logged.
    **options
        Of ``wandb.init``.
    """

    def __init__(self, run: Any = None, every: int = 10, **options: Any) -> None:
        super().__init__(every)
        self.own = run is None
        self.run = importlib.import_module("wandb").init(**options) if self.own else run

    def write(self, values: dict[str, float], step: int) -> None:
        """Log measures of a step."""
        self.run.log(values, step=step)

    def on_end(self, trainer: Any) -> None:
        """Finish the run that this has begun."""
        if self.own:
            self.run.finish()
