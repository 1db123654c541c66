"""GPU kernels of one's own, as SPIR-V, recorded among the ops of a graph.

    y = kernel_output(g, "halves", (n,))
    record_kernel(
        g, "halve", spirv, [(x, "read"), (y, "write")], push=struct.pack("<I", n),
        groups=(n + 63) // 64,
    )

The kernel gets the arguments' addresses, 8 bytes each, as push constants, then `push`;
specialization constant 0 is the size of its workgroups. Nothing checks what it reads and writes: it
must check its own bounds. include/filtra/kernel.h says all of it.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Optional, Union

import numpy as np

from . import _c, _convert, _errors
from ._errors import ArgumentError
from ._library import lib
from .graph import Graph, Shape, dtype_of, optional_pointer
from .tensor import Tensor, tensor_pointer

__all__ = [
    "add_gradient", "kernel_gradient", "kernel_output", "record_kernel", "wants_gradient",
]

Backward = Callable[[], None]
Argument = tuple[Optional[Tensor], str]


class _Entry:
    """A graph and the function that records a kernel's gradients."""

    def __init__(self, graph: Graph, backward: Backward) -> None:
        self.graph = graph
        self.backward = backward


_numbers = itertools.count(1)
_entries: weakref.WeakValueDictionary[int, _Entry] = weakref.WeakValueDictionary()
_borrowed: dict[int, _Entry] = {}  # of graphs that others own: until backward is called


@contextmanager
def revived(graph: Graph, pointer: Any) -> Iterator[None]:
    """Open a borrowed graph, whose owner calls back, for the time of that call."""
    handle = graph._handle
    closed = handle.pointer is None
    if closed:
        handle.pointer = pointer
    try:
        yield
    finally:
        if closed:
            handle.pointer = None


def _run_backward(pointer: Any, context: int | None) -> None:
    """Call the function in Python of the kernel whose number is in the context."""
    number = ctypes.c_uint64.from_address(context or 0).value
    entry = _entries[number]
    _borrowed.pop(number, None)
    with revived(entry.graph, pointer):
        entry.backward()


_trampoline = _c.filtra_backward_fn(_errors.guarded(_run_backward))


def kernel_output(graph: Graph, name: str, shape: Shape, dtype: Any = "f32") -> Tensor:
    """Return a dense tensor for a kernel to write.

    Parameters
    ----------
    graph : Graph
    name : str
        For messages.
    shape : int or sequence of int
    dtype : str or numpy.dtype
    """
    ndim, lengths = _convert.shape_array(shape)
    kind = dtype_of(dtype)
    return graph._op(lib.filtra_kernel_output, _convert.text(name, "name"), kind, ndim, lengths)


def _words(spirv: Any) -> Any:
    data = spirv if isinstance(spirv, (bytes, bytearray, memoryview)) else np.asarray(spirv)
    if isinstance(data, np.ndarray) and data.dtype.kind not in "iu":
        raise TypeError(f"spirv must be bytes or whole numbers of 32 bits, not {data.dtype}")
    raw = bytes(data) if not isinstance(data, np.ndarray) else data.astype("<u4").tobytes()
    if not raw or len(raw) % 4:
        raise ArgumentError(f"spirv must be words of 4 bytes; got {len(raw)} bytes")
    return (ctypes.c_uint32 * (len(raw) // 4)).from_buffer_copy(raw)


def _constants(values: Sequence[int], name: str) -> Any:
    checked = [_convert.whole(value, name, 0, (1 << 32) - 1) for value in values]
    return (ctypes.c_uint32 * len(checked))(*checked)


def record_kernel(
    graph: Graph,
    name: str,
    spirv: Any,
    arguments: Sequence[Argument],
    *,
    push: bytes = b"",
    workgroup: int = 64,
    subgroup: int = 0,
    groups: Union[int, Sequence[int]] = 1,
    constants: Sequence[int] = (),
    flops: float = 0.0,
    bytes_moved: float = 0.0,
    backward: Backward | None = None,
) -> None:
    """Record one dispatch of a kernel.

    Parameters
    ----------
    graph : Graph
    name : str
        For messages and profiles.
    spirv : bytes or array_like of int
        A module with the entry point "main".
    arguments : sequence of (Tensor or None, str)
        1 to 13 dense tensors, each with "read", "write" or "update".
    push : bytes
        Push constants after the addresses, a multiple of 4; at most 128 - 8 * len(arguments).
    workgroup : int
        Invocations of a workgroup.
    subgroup : int
        Required size of subgroups; 0: any.
    groups : int or sequence of int
        Workgroups along 1 to 3 axes.
    constants : sequence of int
        Specialization constants 1, 2 and so on.
    flops, bytes_moved : float
        Operations and memory traffic, for profiles.
    backward : callable, optional
        Records the gradients, by `kernel_gradient` and `add_gradient`, when `Graph.backward` calls
        it. None: no gradient flows through the kernel.
    """
    listed = (_c.filtra_kernel_argument * max(len(arguments), 1))()
    for entry, (tensor, access) in zip(listed, arguments):
        entry.tensor = optional_pointer(graph, tensor, "arguments")
        entry.access = _convert.choice(_c.filtra_access, access, "access")
    if not isinstance(push, bytes):
        raise TypeError(f"push must be bytes, not {type(push).__name__}")
    words, chosen = _words(spirv), _constants(constants, "constants")
    axes = [groups] if isinstance(groups, int) else list(groups)
    if not 1 <= len(axes) <= 3:
        raise ArgumentError(f"groups must be 1 to 3 numbers; got {len(axes)}")
    number = ctypes.c_uint64(next(_numbers))
    kernel = _convert.fill(
        _c.filtra_kernel,
        name=name, words=words, word_count=len(words), arguments=listed,
        argument_count=len(arguments), push_size=len(push), workgroup=workgroup,
        subgroup=subgroup, constants=chosen if len(chosen) else None, constant_count=len(chosen),
        groups=(ctypes.c_uint32 * 3)(*_constants(axes, "groups")), flops=flops, bytes=bytes_moved,
    )
    kept = ctypes.create_string_buffer(push, max(len(push), 1))
    if push:
        kernel.push = ctypes.addressof(kept)
    if backward is not None:
        kernel.backward = _trampoline
        kernel.context = ctypes.addressof(number)
        kernel.context_size = ctypes.sizeof(number)
        entry = _entries[number.value] = _Entry(graph, backward)
        if graph._handle.free is None:
            _borrowed[number.value] = entry
        else:
            graph._kept.append(entry)
    graph._call(lib.filtra_kernel_record, ctypes.byref(kernel))


def kernel_gradient(output: Tensor) -> Tensor | None:
    """Within `backward`: the gradient of what the kernel wrote; None if none reached it."""
    graph = output.graph
    found = graph._call(lib.filtra_kernel_gradient, tensor_pointer(graph, output, "output"))
    return Tensor(graph, found) if found else None


def wants_gradient(tensor: Tensor) -> bool:
    """Return whether the backward pass needs a gradient of the tensor."""
    pointer = tensor_pointer(tensor.graph, tensor, "tensor")
    return bool(lib.filtra_kernel_wants_gradient(pointer))


def add_gradient(tensor: Tensor, gradient: Tensor) -> None:
    """Within `backward`: add to the gradient of a tensor that the kernel read."""
    graph = tensor.graph
    graph._call(
        lib.filtra_kernel_add_gradient, tensor_pointer(graph, tensor, "tensor"),
        tensor_pointer(graph, gradient, "gradient"),
    )
