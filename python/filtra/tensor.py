"""Tensors of a graph, with Python's operators."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _c, _convert
from ._errors import ArgumentError
from ._library import lib

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Tensor"]

Operand = Union["Tensor", float, int]


class Tensor:
    """A tensor of a graph: an input, a parameter, or what an op gives.

    ``np.asarray(tensor)`` and DLPack read the outputs of the last execution and parameters.
    Operators and methods record ops; `filtra.ops` has all of them.
    """

    __slots__ = ("__weakref__", "_address", "_kind", "_pointer", "graph", "shape")
    __array_priority__ = 1000

    def __init__(self, graph: Graph, pointer: Any) -> None:
        lengths = (ctypes.c_int64 * _c.FILTRA_MAX_DIMS)()
        ndim = lib.filtra_tensor_shape(pointer, lengths)
        self.graph = graph
        self.shape: tuple[int, ...] = tuple(lengths[:ndim])
        self._pointer = pointer
        self._address: int = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        self._kind: int = lib.filtra_tensor_dtype(pointer)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(lib.filtra_tensor_elements(tensor_pointer(self.graph, self, "tensor")))

    @property
    def dtype(self) -> str:
        """Element type: "f32", "i32", "f16" or "bf16"."""
        return _c.filtra_dtype(self._kind).name.lower()

    def __repr__(self) -> str:
        return f"<Tensor {list(self.shape)} {self.dtype}>"

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        raise TypeError("a tensor of a graph has no truth value: read it by np.asarray(tensor)")

    def __iter__(self) -> Any:
        raise TypeError("a tensor of a graph is no sequence: read it by np.asarray(tensor)")

    # ---- reading -----------------------------------------------------------------------------

    def numpy(self) -> Any:
        """Return the values of the last execution, or of a parameter, as a new array.

        "bf16" becomes float32, since NumPy has no such type.
        """
        values = self.graph.get(self)
        if self.dtype == "bf16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if copy is False:
            raise ValueError("the values of a tensor are on the device: reading them is a copy")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        """Export the values, copied to the host."""
        options.pop("copy", None)
        options.pop("stream", None)
        values = self.numpy()
        if options.get("max_version") is None:
            options.pop("max_version", None)
        options.pop("dl_device", None)
        return values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    # ---- operators ---------------------------------------------------------------------------

    def _binary(self, function: Any, other: Tensor, reverse: bool = False) -> Tensor:
        mine = tensor_pointer(self.graph, self, "tensor")
        theirs = tensor_pointer(self.graph, other, "other")
        first, second = (theirs, mine) if reverse else (mine, theirs)
        return self.graph._op(function, first, second)

    def affine(self, scale: float = 1.0, offset: float = 0.0) -> Tensor:
        """Record scale * x + offset."""
        pointer = tensor_pointer(self.graph, self, "tensor")
        scale, offset = _convert.number(scale, "scale"), _convert.number(offset, "offset")
        return self.graph._op(lib.filtra_affine, pointer, scale, offset)

    def __add__(self, other: Operand) -> Tensor:
        if isinstance(other, Tensor):
            return self._binary(lib.filtra_add, other)
        return self.affine(1.0, scalar(other))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Tensor:
        if isinstance(other, Tensor):
            return self._binary(lib.filtra_subtract, other)
        return self.affine(1.0, -scalar(other))

    def __rsub__(self, other: Operand) -> Tensor:
        return self.affine(-1.0, scalar(other))

    def __mul__(self, other: Operand) -> Tensor:
        if isinstance(other, Tensor):
            return self._binary(lib.filtra_multiply, other)
        return self.affine(scalar(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Tensor:
        if isinstance(other, Tensor):
            return self._binary(lib.filtra_divide, other)
        divisor = scalar(other)
        if divisor == 0:
            raise ZeroDivisionError("a tensor divided by zero")
        return self.affine(1.0 / divisor)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return self.activate("reciprocal") * scalar(other)

    def __neg__(self) -> Tensor:
        return self.affine(-1.0)

    def __pow__(self, power: int) -> Tensor:
        if power == 2:
            return self * self
        if power == -1:
            return self.activate("reciprocal")
        if power == 0.5:
            return self.activate("sqrt")
        raise ArgumentError(f"tensor ** {power!r}: the power must be 2, 0.5 or -1")

    def __matmul__(self, other: Tensor) -> Tensor:
        return self._binary(_matmul, other)

    def activate(self, activation: str) -> Tensor:
        """Apply "relu", "gelu", "tanh", "exp", "log" and so on to each element."""
        kind = _convert.choice(_c.filtra_activation, activation, "activation")
        return self.graph._op(
            lib.filtra_activate, tensor_pointer(self.graph, self, "tensor"), kind
        )

    # ---- axes --------------------------------------------------------------------------------

    def _reduce(self, function: Any, axis: int, keepdims: bool) -> Tensor:
        pointer = tensor_pointer(self.graph, self, "tensor")
        return self.graph._op(function, pointer, axis_of(self, axis), int(bool(keepdims)))

    def sum(self, axis: int, keepdims: bool = False) -> Tensor:
        """Sum along an axis."""
        return self._reduce(lib.filtra_sum, axis, keepdims)

    def mean(self, axis: int, keepdims: bool = False) -> Tensor:
        """Mean along an axis."""
        return self._reduce(lib.filtra_mean, axis, keepdims)

    def max(self, axis: int, keepdims: bool = False) -> Tensor:
        """Largest element along an axis."""
        return self._reduce(lib.filtra_max, axis, keepdims)

    def reshape(self, *shape: Any) -> Tensor:
        """View the elements in another shape; one length may be -1."""
        if len(shape) == 1 and not hasattr(type(shape[0]), "__index__"):
            shape = tuple(shape[0])
        if shape.count(-1) == 1:
            known = -math.prod(shape)
            if known <= 0 or self.size % known:
                raise ArgumentError(f"{list(self.shape)} cannot be reshaped to {list(shape)}")
            shape = tuple(self.size // known if n == -1 else n for n in shape)
        ndim, lengths = _convert.shape_array(shape)
        pointer = tensor_pointer(self.graph, self, "tensor")
        return self.graph._op(lib.filtra_reshape, pointer, ndim, lengths)

    def transpose(self, first: int = -2, second: int = -1) -> Tensor:
        """Exchange two axes: a dense copy."""
        first, second = axis_of(self, first, "first"), axis_of(self, second, "second")
        pointer = tensor_pointer(self.graph, self, "tensor")
        return self.graph._op(lib.filtra_transpose, pointer, first, second)

    def __getitem__(self, key: Any) -> Tensor:
        """Slice by whole numbers, which drop an axis, and slices of step 1: a dense copy."""
        keys = key if isinstance(key, tuple) else (key,)
        at = next((i for i, part in enumerate(keys) if part is Ellipsis), None)
        if at is not None:
            fill = (slice(None),) * (self.ndim - len(keys) + 1)
            keys = keys[:at] + fill + keys[at + 1 :]
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for a tensor of {self.ndim} dimensions")
        start, lengths, kept = [], [], []
        for axis, length in enumerate(self.shape):
            part = keys[axis] if axis < len(keys) else slice(None)
            if not isinstance(part, slice):
                index = _convert.whole(part, "index", -length, length - 1) % max(length, 1)
                part = slice(index, index + 1)
            else:
                kept.append(axis)
            low, high, step = part.indices(length)
            if step != 1:
                raise ArgumentError(f"slices of tensors have step 1, not {step}")
            start.append(low)
            lengths.append(max(0, high - low))
        made = self.graph._op(
            lib.filtra_slice, tensor_pointer(self.graph, self, "tensor"),
            (ctypes.c_int64 * self.ndim)(*start), (ctypes.c_int64 * self.ndim)(*lengths),
        )
        if len(kept) == self.ndim:
            return made
        return made.reshape([lengths[axis] for axis in kept] or [1])


def _matmul(graph: Any, a: Any, b: Any) -> Any:
    return lib.filtra_matmul(graph, a, b, None)


def scalar(value: Any) -> float:
    """Return a number beside a tensor; arrays have to be inputs."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("an array beside a tensor has to be an input of the graph: Graph.input()")
    return _convert.number(value, "the number beside a tensor")


def axis_of(tensor: Tensor, axis: Any, name: str = "axis") -> int:
    """Return an axis counted from 0; negative ones count from the last."""
    return _convert.whole(axis, name, -tensor.ndim, tensor.ndim - 1) % tensor.ndim


def tensor_pointer(graph: Graph, tensor: Any, name: str) -> Any:
    """Return the pointer of a tensor of that graph; say what is expected if it is none."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a Tensor, not {type(tensor).__name__}")
    if tensor.graph is not graph:
        raise ArgumentError(f"{name} is a tensor of another graph")
    graph._pointer  # noqa: B018  raises if it is closed
    return tensor._pointer
