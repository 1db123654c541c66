"""Graphs of tensors: recorded once, compiled once, executed many times, with gradients.

    with filtra.Device() as device:
        params = filtra.Parameters(device)
        g = filtra.Graph(device)
        x = g.input("x", (8, 16))
        w = g.parameter(params, "w", (4, 16), init="normal", value=0.1)
        y = g.output(ops.linear(x, w))
        params.commit(seed=1)
        g.compile()
        g.run({x: np.ones((8, 16))})
        print(np.asarray(y))

An op that fails raises at once; the graph that it was recorded into cannot be used after that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Union

import numpy as np

from . import _arrays, _c, _convert
from ._errors import ArgumentError, interruptible
from ._library import lib
from ._object import Handle, Object
from .device import Where, device_of
from .parameters import Parameters, parameter_options
from .tensor import Tensor, tensor_pointer

__all__ = ["Arena", "Graph"]

Shape = Union[int, Sequence[int]]


def dtype_of(value: Any, name: str = "dtype") -> _c.filtra_dtype:
    """Return the library's element type that a name ("f32", "bf16") or NumPy's type says."""
    if isinstance(value, (str, _c.filtra_dtype)) and str(value).upper() in ("F16", "F32", "F64"):
        return _c.filtra_dtype[str(value).upper()]  # to NumPy "f16" has 16 bytes
    if isinstance(value, str) and value.upper() in _c.filtra_dtype.__members__:
        return _c.filtra_dtype[value.upper()]
    if isinstance(value, _c.filtra_dtype):
        return value
    try:
        wanted = np.dtype(value)
    except TypeError:
        wanted = np.dtype(object)
    for kind, dtype in _arrays.DTYPES.items():
        if dtype == wanted and kind != _c.filtra_dtype.BF16:
            return _c.filtra_dtype(kind)
    names = ", ".join(_convert.names(_c.filtra_dtype))
    raise ArgumentError(f"{name} must be one of {names}, or NumPy's type of one; got {value!r}")


class Arena(Object):
    """Memory for intermediate tensors of graphs that are never executed at the same time.

    Parameters
    ----------
    device : Device, str or int, optional
    """

    def __init__(self, device: Where = None) -> None:
        opened = device_of(device)
        self._make(
            _c.filtra_arena, "filtra_arena_destroy", lib.filtra_arena_create, opened._pointer,
            parents=[opened],
        )


class Graph(Object):
    """A graph of tensors on a device.

    Parameters
    ----------
    device : Device, str or int, optional
    training : bool
        Whether dropout is active.
    slots : int
        Executions that may be in flight at once, 1 to 4; 0: 3.
    arena : Arena, optional
        Memory that it shares with other graphs.
    """

    def __init__(
        self,
        device: Where = None,
        *,
        training: bool = False,
        slots: int = 0,
        arena: Arena | None = None,
    ) -> None:
        opened = device_of(device)
        parents: list[Object] = [opened]
        if arena is not None:
            parents.append(arena)
        options = _convert.fill(
            _c.filtra_graph_options,
            arena=None if arena is None else arena._pointer,
            slots=slots,
            training=training,
        )
        self._make(
            _c.filtra_graph, "filtra_graph_destroy", lib.filtra_graph_create, opened._pointer,
            ctypes.byref(options), parents=parents,
        )
        self._begin()

    def _begin(self) -> None:
        self._inputs: dict[str, Tensor] = {}
        self._parameters: dict[int, tuple[Parameters, str]] = {}
        self._outputs: set[int] = set()
        self._kept: list[Any] = []  # what callbacks of the graph need

    @classmethod
    def _borrowed(cls, pointer: Any, parent: Object | None = None) -> Graph:
        """Return a graph that another part of the library owns, for as long as that says."""
        graph = cls.__new__(cls)
        if parent is None:
            from ._object import Gate

            graph._handle = Handle(pointer, "Graph", None, Gate())
        else:
            graph._own(pointer, None, [parent])
        graph._begin()
        return graph

    # ---- recording ---------------------------------------------------------------------------

    def _fail(self) -> NoReturn:
        """Raise the graph's first error."""
        self._call(lib.filtra_graph_compile)
        raise ArgumentError("an op gave no tensor")

    def _op(self, function: Any, *arguments: Any) -> Tensor:
        """Record an op that returns a tensor."""
        made = self._call(function, *arguments)
        if not made:
            self._fail()
        return Tensor(self, made)

    def input(
        self, name: str, shape: Shape, dtype: Any = "f32", *, gradient: bool = False
    ) -> Tensor:
        """Record a tensor whose content `set` or `run` gives.

        Parameters
        ----------
        name : str
            Of this input alone.
        shape : int or sequence of int
            1 to 4 lengths.
        dtype : str or numpy.dtype
            "f32", "i32", "f16" or "bf16".
        gradient : bool
            Whether `backward` computes its gradient.
        """
        if name in self._inputs and not self.closed:
            raise ArgumentError(f"the graph has an input {name!r}: a name is of one input")
        kind = dtype_of(dtype)
        ndim, lengths = _convert.shape_array(shape)
        made = self._op(lib.filtra_graph_input, _convert.text(name, "name"), kind, ndim, lengths)
        if gradient:
            self._call(lib.filtra_graph_require_gradient, made._pointer)
        self._inputs[name] = made
        return made

    def parameter(
        self,
        params: Parameters,
        name: str,
        shape: Shape,
        *,
        init: str = "zero",
        value: float = 0.0,
        decay: bool = False,
        buffer: bool = False,
        copy: Any = None,
    ) -> Tensor:
        """Return the parameter of that name, which the first use declares.

        Parameters
        ----------
        params : Parameters
        name : str
        shape : int or sequence of int
        init : str
            "zero", "constant", "normal", "uniform", "series" or "orthogonal".
        value : float
            The constant, deviation or bound of `init`.
        decay : bool
            Whether weight decay applies.
        buffer : bool
            Saved in files, but not trained.
        copy : str, optional
            "f16" or "bf16": keeps a copy of that type, for `parameter_copy`.
        """
        options = parameter_options(init, value, decay, buffer, copy and dtype_of(copy, "copy"))
        ndim, lengths = _convert.shape_array(shape)
        made = self._op(
            lib.filtra_graph_parameter, params._pointer, _convert.text(name, "name"), ndim,
            lengths, ctypes.byref(options),
        )
        self._handle.need(params._handle)
        self._parameters[made._address] = (params, name)
        return made

    def parameter_copy(self, params: Parameters, name: str) -> Tensor:
        """Return the 16-bit copy of a parameter that was declared with one."""
        data = _convert.text(name, "name")
        made = self._op(lib.filtra_graph_parameter_copy, params._pointer, data)
        self._handle.need(params._handle)
        return made

    def constant(self, shape: Shape, value: float) -> Tensor:
        """Record a dense F32 tensor whose elements are all `value`."""
        ndim, lengths = _convert.shape_array(shape)
        value = _convert.number(value, "value")
        return self._op(lib.filtra_constant, ndim, lengths, value)

    def output(self, tensor: Tensor) -> Tensor:
        """Mark a tensor to be copied back after each execution; return it."""
        made = self._op(lib.filtra_graph_output, tensor_pointer(self, tensor, "tensor"))
        self._outputs.add(made._address)
        return made

    def backward(
        self,
        outputs: Tensor | Sequence[Tensor],
        upstream: Tensor | Sequence[Tensor | None] | None = None,
    ) -> None:
        """Record the gradients of outputs for all parameters and inputs that want one.

        Parameters
        ----------
        outputs : Tensor or sequence of Tensor
        upstream : Tensor or sequence of Tensor, optional
            Gradients of the outputs; None: ones.
        """
        tops = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        above = [upstream] if isinstance(upstream, Tensor) else upstream
        pointers = tensor_array([tensor_pointer(self, t, "outputs") for t in tops])
        gradients = None
        if above is not None:
            if len(above) != len(tops):
                raise ArgumentError(f"{len(tops)} outputs have {len(above)} upstream gradients")
            gradients = tensor_array([optional_pointer(self, t, "upstream") for t in above])
        with interruptible():  # kernels may have functions for their gradients
            self._call(lib.filtra_graph_backward, len(tops), pointers, gradients)

    def gradient(self, tensor: Tensor) -> Tensor | None:
        """Return the gradient of a parameter or input; None where no output depends on it."""
        pointer = tensor_pointer(self, tensor, "tensor")
        found = self._call(lib.filtra_graph_gradient, pointer)
        return Tensor(self, found) if found else None

    # ---- executing ---------------------------------------------------------------------------

    def compile(self) -> None:
        """Plan memory and create pipelines. Nothing can be recorded after that."""
        self._call(lib.filtra_graph_compile)

    def set(self, tensor: Tensor | str, data: Any) -> None:
        """Set an input for the next execution.

        Parameters
        ----------
        tensor : Tensor or str
            An input or its name.
        data : array_like
            Of the input's shape. "bf16" is given as an array of uint16, the upper halves of
            float32.
        """
        target = self._input(tensor)
        dtype = _arrays.DTYPES[target._kind]
        given = getattr(data, "dtype", type(data).__name__)
        if target.dtype == "bf16" and given != np.uint16:  # numbers would pass as bits
            raise TypeError(
                f"data of a bf16 input must be uint16, the upper halves of float32, not {given}: "
                f"(x.view(numpy.uint32) >> 16).astype(numpy.uint16) cuts float32 to them"
            )
        array = _arrays.array_of(data, dtype, target.shape, "data")
        pointer = tensor_pointer(self, target, "tensor")
        self._call(lib.filtra_graph_set, pointer, _arrays.address(array))

    def _input(self, tensor: Any) -> Tensor:
        if isinstance(tensor, str):
            if tensor not in self._inputs:
                names = ", ".join(self._inputs) or "none"
                raise ArgumentError(f"the graph has no input {tensor!r}; its inputs: {names}")
            return self._inputs[tensor]
        if not isinstance(tensor, Tensor):
            raise TypeError(f"tensor must be a Tensor or a name, not {type(tensor).__name__}")
        return tensor

    def run(self, inputs: Mapping[Any, Any] | None = None) -> None:
        """Set inputs, by tensor or name, and execute; read outputs by ``np.asarray(tensor)``."""
        for tensor, data in (inputs or {}).items():
            self.set(tensor, data)
        self._call(lib.filtra_graph_execute)

    def submit(self) -> int:
        """Submit one execution; return its ticket while the device works."""
        ticket = ctypes.c_uint64()
        self._call(lib.filtra_graph_submit, ctypes.byref(ticket))
        return ticket.value

    def wait(self, ticket: int) -> None:
        """Wait until that execution is done."""
        self._call(lib.filtra_graph_wait, _convert.whole(ticket, "ticket"))

    def done(self, ticket: int) -> bool:
        """Return whether that execution is done."""
        return bool(self._call(lib.filtra_graph_done, _convert.whole(ticket, "ticket")))

    def get(self, tensor: Tensor, out: Any = None) -> Any:
        """Return an output of the execution last waited for, or the values of a parameter.

        Parameters
        ----------
        tensor : Tensor
        out : numpy.ndarray, optional
            Dense array that receives them. "bf16" is given as uint16, the upper halves of float32.
        """
        pointer = tensor_pointer(self, tensor, "tensor")
        found = self._parameters.get(tensor._address)
        if found is not None and tensor._address not in self._outputs:
            return found[0].read(found[1], out)
        if tensor._address not in self._outputs:
            raise ArgumentError(
                "only outputs and parameters can be read: mark the tensor by Graph.output() before "
                "the graph is compiled"
            )
        array = _arrays.room(out, _arrays.DTYPES[tensor._kind], tensor.shape)
        self._call(lib.filtra_graph_get, pointer, _arrays.address(array))
        return array

    def set_step(self, seed: int, step: int) -> None:
        """Set seed and step of the next execution, from which dropout masks follow."""
        limit = (1 << 64) - 1
        self._call(
            lib.filtra_graph_set_step, _convert.whole(seed, "seed", 0, limit),
            _convert.whole(step, "step", 0, limit),
        )

    @property
    def activation_bytes(self) -> int:
        """Bytes that intermediate tensors take; 0 before compiling."""
        return int(self._call(lib.filtra_graph_activation_bytes))


def tensor_array(pointers: Iterable[Any]) -> Any:
    """Return a C array of tensors' pointers."""
    found = [pointer or ctypes.POINTER(_c.filtra_tensor)() for pointer in pointers]
    return (ctypes.POINTER(_c.filtra_tensor) * len(found))(*found)


def optional_pointer(graph: Graph, tensor: Tensor | None, name: str) -> Any:
    """Return a tensor's pointer, None for None."""
    return None if tensor is None else tensor_pointer(graph, tensor, name)
