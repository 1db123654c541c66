"""How ops are recorded: tensors of one graph become pointers, and the result a tensor."""

from __future__ import annotations

from typing import Any

from .. import _convert
from .._errors import ArgumentError
from ..graph import Graph, optional_pointer
from ..tensor import Tensor, tensor_pointer


def graph_of(tensor: Any, name: str) -> Graph:
    """Return the graph of an op's first tensor."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a Tensor, not {type(tensor).__name__}")
    return tensor.graph


def record(function: Any, tensors: dict[str, Any], *arguments: Any) -> Tensor:
    """Record an op of these tensors, by their names in messages, and of other arguments.

    The first must be a tensor; of the others None stands for none.
    """
    (first, tensor), *rest = tensors.items()
    graph = graph_of(tensor, first)
    pointers = [tensor_pointer(graph, tensor, first)]
    pointers += [optional_pointer(graph, other, name) for name, other in rest]
    return graph._op(function, *pointers, *arguments)


def rate_of(value: Any, name: str = "dropout") -> float:
    """Return a rate, from 0 to below 1."""
    rate = _convert.number(value, name)
    if not 0 <= rate < 1:
        raise ArgumentError(f"{name} must be from 0 to below 1; got {value!r}")
    return rate
