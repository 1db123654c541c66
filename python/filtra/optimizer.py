"""Optimizers update parameters by the gradients that executions of a graph leave.

    g.backward(loss)
    optimizer = filtra.Optimizer(params, learning_rate=1e-3)
    optimizer.watch_loss(g, loss)
    g.compile()
    for batch in batches:
        g.run({x: batch})
        optimizer.step()
    print(optimizer.finish().loss)
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _c, _convert
from ._library import lib
from ._object import Object
from .graph import Graph
from .parameters import Parameters
from .tensor import Tensor, tensor_pointer

__all__ = ["Optimizer", "OptimizerMetrics", "ParameterGroup"]


@dataclass(frozen=True)
class ParameterGroup:
    """Settings for the parameters whose names match.

    Attributes
    ----------
    names : str
        Patterns with commas between; "*" stands for any characters.
    frozen : bool
        Whether they stay as they are.
    rate_scale : float
        Factor on the learning rate.
    weight_decay : float
        0: the optimizer's; negative: none.
    decay_all : bool
        Whether weight decay applies to all of them.
    """

    names: str
    frozen: bool = False
    rate_scale: float = 1.0
    weight_decay: float = 0.0
    decay_all: bool = False


@dataclass(frozen=True)
class OptimizerMetrics:
    """Results of a step; `step` 0: none has finished.

    Attributes
    ----------
    gradient_norm : float
        Before clipping; 0 if the step was skipped.
    skipped, skipped_step : int
        Number of steps that overflowed, and the last of them.
    """

    step: int
    loss: float
    gradient_norm: float
    learning_rate: float
    loss_scale: float
    skipped: int
    skipped_step: int


def group_array(groups: Sequence[ParameterGroup]) -> Any:
    """Return the C array of groups."""
    listed = [
        _convert.fill(
            _c.filtra_parameter_group, names=group.names, frozen=group.frozen,
            rate_scale=group.rate_scale, weight_decay=group.weight_decay,
            decay_all=group.decay_all,
        )
        for group in groups
    ]
    return (_c.filtra_parameter_group * len(listed))(*listed) if listed else None


class Optimizer(Object):
    """Moments and step count of a set of committed parameters.

    Closing it closes the graphs that it watches.

    Parameters
    ----------
    params : Parameters
    kind : str
        "adamw", "adam" or "radam".
    learning_rate : float
        The schedule's peak.
    schedule : str
        "constant", "linear", "cosine" or "one_cycle".
    steps, warmup_steps : int
        Length of the schedule and of its warmup, in steps.
    weight_decay : float
        Of parameters declared with `decay`, or of all with `decay_all`.
    beta1, beta2, epsilon : float
    clip_norm : float
        Largest global norm of the gradient; 0: no clipping.
    loss_scale : float
        Initial factor on gradients, for graphs that compute in F16; 0: none.
    loss_scale_window : int
        Steps without overflow after which it doubles.
    groups : sequence of ParameterGroup
        Settings for some of the parameters.
    """

    def __init__(
        self,
        params: Parameters,
        *,
        kind: str = "adamw",
        learning_rate: float = 1e-3,
        schedule: str = "constant",
        steps: int = 0,
        warmup_steps: int = 0,
        weight_decay: float = 0.0,
        decay_all: bool = False,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        clip_norm: float = 0.0,
        loss_scale: float = 0.0,
        loss_scale_window: int = 2000,
        groups: Sequence[ParameterGroup] = (),
    ) -> None:
        options = _convert.fill(
            _c.filtra_optimizer_options,
            kind=kind, learning_rate=learning_rate, schedule=schedule, steps=steps,
            warmup_steps=warmup_steps, weight_decay=weight_decay, decay_all=decay_all,
            beta1=beta1, beta2=beta2, epsilon=epsilon, clip_norm=clip_norm,
            loss_scale=loss_scale, loss_scale_window=loss_scale_window,
            groups=group_array(groups), group_count=len(groups),
        )
        if not isinstance(params, Parameters):
            raise TypeError(f"params must be filtra.Parameters, not {type(params).__name__}")
        self._make(
            _c.filtra_optimizer, "filtra_optimizer_destroy", lib.filtra_optimizer_create,
            params._pointer, ctypes.byref(options), parents=[params],
        )

    def watch_loss(self, graph: Graph, loss: Tensor) -> None:
        """Have each execution of the graph pass its loss, one F32 element, to the optimizer.

        Call it before the graph is compiled. A loss that is not finite then holds steps back.
        """
        pointer = tensor_pointer(graph, loss, "loss")
        self._call(lib.filtra_optimizer_watch_loss, graph._pointer, pointer)
        graph._handle.need(self._handle)

    def loss_scale(self, graph: Graph) -> Tensor | None:
        """Return the loss scale [1], the upstream gradient of the loss; None without scaling."""
        found = self._call(lib.filtra_optimizer_loss_scale, graph._pointer)
        if not found:
            return None
        graph._handle.need(self._handle)
        return Tensor(graph, found)

    def accumulate(self, scale: float) -> None:
        """Add `scale` times the gradients of the last execution to what the next step takes."""
        self._call(lib.filtra_optimizer_accumulate, _convert.number(scale, "scale"))

    def step(self) -> None:
        """Submit one update; return while the device works.

        Raises
        ------
        NonfiniteError
            Where an earlier step met a NaN or an infinity; parameters are those before that step.
        """
        self._call(lib.filtra_optimizer_step)

    def discard(self) -> None:
        """Discard the accumulated gradients."""
        self._call(lib.filtra_optimizer_discard)

    def finish(self) -> OptimizerMetrics:
        """Wait for all steps; return the metrics of the last finished one."""
        metrics = _c.filtra_optimizer_metrics()
        self._call(lib.filtra_optimizer_finish, ctypes.byref(metrics))
        return OptimizerMetrics(**_convert.values(metrics))

    def set_learning_rate(self, learning_rate: float) -> None:
        """Set the schedule's peak, from the next step on."""
        rate = _convert.number(learning_rate, "learning_rate")
        self._call(lib.filtra_optimizer_set_learning_rate, rate)

    @property
    def step_count(self) -> int:
        """Number of steps so far, without those that were held back."""
        return int(self._call(lib.filtra_optimizer_step_count))

    def save(self, path: _convert.Path) -> None:
        """Write parameters, moments and step to a safetensors file, atomically."""
        self._call(lib.filtra_optimizer_save, _convert.path(path))

    def restore(self, path: _convert.Path) -> None:
        """Read a file of `save`; training then goes on with the same bits."""
        self._call(lib.filtra_optimizer_restore, _convert.path(path))
