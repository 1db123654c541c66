"""Token mixers written in Python, which models then know by name.

    @filtra.mixer("average", scale=filtra.MixerOption(1.0, 0, 10, help="factor on the mean"))
    def average(scope, x, scale):
        mean = ops.mean(x.x, 1, keepdims=True).affine(scale)
        y = scope.linear("values", x.x, x.x.shape[-1]) + mean
        return scope.output(x, y)

    model = filtra.Model(device, mixer={"name": "average", "scale": 2.0}, ...)

The function is called once for each graph of a model, and must create the same parameters each
time. It records ops; what it computes runs on the device.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Union

from . import _c, _convert, _errors
from ._errors import ArgumentError
from ._library import lib
from .graph import Graph, Shape, dtype_of
from .ops._layers import linear_options
from .parameters import parameter_options
from .tensor import Tensor, tensor_pointer

__all__ = ["MixerInput", "MixerOption", "Scope", "mixer", "mixers"]

Build = Callable[..., Union[Tensor, "tuple[Tensor, Tensor]"]]


@dataclass(frozen=True)
class MixerOption:
    """A key of a mixer's configuration.

    Attributes
    ----------
    default : bool, int, float or str
        Its type is the key's.
    low, high : float
        Accepted range of numbers, ends included.
    names : sequence of str
        Accepted texts.
    help : str
        What it does.
    """

    default: bool | int | float | str
    low: float = 0.0
    high: float = 0.0
    names: Sequence[str] = ()
    help: str = ""


@dataclass(frozen=True)
class MixerInput:
    """What a mixer gets. B is the batch, N tokens, C channels.

    Attributes
    ----------
    x : Tensor
        [B, N, C], dense.
    mask : Tensor
        [B, N], 1 for real tokens, 0 for padding; in a "decode" pass [B, M].
    residual : Tensor or None
        [B, N, C], which `Scope.output` adds.
    heads : int
        Divides C.
    dropout : float
        On the output, before the residual.
    causal : bool
        No token may depend on later ones.
    max_length : int
        Longest sequence of the model, in tokens.
    bias : Tensor or None
        [B, H, N, N], H heads: a mixer with `takes_bias` adds it to its scaled scores. Of models of
        graphs; else None.
    """

    x: Tensor
    mask: Tensor
    residual: Tensor | None
    heads: int
    dropout: float
    causal: bool
    max_length: int
    bias: Tensor | None
    _struct: Any


class Scope:
    """Where a mixer is being built; valid during the call of the mixer's function."""

    def __init__(self, pointer: Any) -> None:
        self._raw = pointer
        self.graph = Graph._borrowed(lib.filtra_scope_graph(pointer))
        self.pass_ = _c.filtra_pass(lib.filtra_scope_pass(pointer)).name.lower()
        """What the graph is for: "whole" sequences, "prefill" or "decode"."""

    @property
    def _pointer(self) -> Any:
        self.graph._pointer  # noqa: B018  raises once the mixer's function has returned
        return self._raw

    def _op(self, function: Any, *arguments: Any) -> Tensor:
        made = function(self._pointer, *arguments)
        if not made:
            self.graph._fail()
        return Tensor(self.graph, made)

    def parameter(
        self, name: str, shape: Shape, *, init: str = "zero", value: float = 0.0,
        decay: bool = False, buffer: bool = False, copy: Any = None,
    ) -> Tensor:
        """Return the parameter of that name in this layer, as `Graph.parameter`."""
        options = parameter_options(init, value, decay, buffer, copy and dtype_of(copy, "copy"))
        ndim, lengths = _convert.shape_array(shape)
        return self._op(
            lib.filtra_scope_parameter, _convert.text(name, "name"), ndim, lengths,
            ctypes.byref(options),
        )

    def linear(
        self, name: str, x: Tensor, out: int, *, activation: str = "none", dropout: float = 0.0,
        residual: Tensor | None = None, dtype: Any = "f32",
    ) -> Tensor:
        """Apply a linear layer with the parameters NAME.weight [out, in] and NAME.bias [out]."""
        options = linear_options(self.graph, activation, dropout, residual, dtype)
        return self._op(
            lib.filtra_scope_linear, _convert.text(name, "name"),
            tensor_pointer(self.graph, x, "x"), _convert.whole(out, "out", 1),
            ctypes.byref(options),
        )

    def keep(self, name: str, x: Tensor) -> Tensor:
        """Keep x [B, H, N, D] for later tokens; when decoding return all kept rows."""
        pointer = tensor_pointer(self.graph, x, "x")
        return self._op(lib.filtra_scope_keep, _convert.text(name, "name"), pointer)

    def state(self, name: str, shape: Shape) -> Tensor:
        """When decoding: the state that the previous pass has set, zeros at first."""
        ndim, lengths = _convert.shape_array(shape)
        return self._op(lib.filtra_scope_state, _convert.text(name, "name"), ndim, lengths)

    def set_state(self, name: str, state: Tensor) -> None:
        """Set the state [B, ..] that the next pass reads; does nothing in a "whole" pass."""
        pointer = tensor_pointer(self.graph, state, "state")
        lib.filtra_scope_set_state(self._pointer, _convert.text(name, "name"), pointer)

    def qkv(self, inputs: MixerInput) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [B, H, N, D] from one linear layer, "qkv"."""
        made = (ctypes.POINTER(_c.filtra_tensor) * 3)()
        lib.filtra_mixer_qkv(self._pointer, inputs._struct, made)
        if not all(made):
            self.graph._fail()
        q, k, v = (Tensor(self.graph, pointer) for pointer in made)
        return q, k, v

    def output(self, inputs: MixerInput, y: Tensor) -> Tensor:
        """Apply the linear layer "out", dropout and residual to y [B, H, N, D] or [B, N, C]."""
        pointer = tensor_pointer(self.graph, y, "y")
        return self._op(lib.filtra_mixer_output, inputs._struct, pointer)


_TYPES: dict[type, tuple[_c.filtra_option_type, Any]] = {
    bool: (_c.filtra_option_type.BOOL, ctypes.c_bool),
    int: (_c.filtra_option_type.INT, ctypes.c_int64),
    float: (_c.filtra_option_type.FLOAT, ctypes.c_float),
    str: (_c.filtra_option_type.ENUM, ctypes.c_int),
}
_registered: list[Any] = []  # what the library points to, for the rest of the process


def _option(name: str, option: MixerOption, offset: int) -> Any:
    fallback: float
    names = None
    if isinstance(option.default, str):
        if option.default not in option.names:
            raise ArgumentError(f"the default of {name} must be one of its names")
        fallback = list(option.names).index(option.default)
        texts = [_convert.text(text, name) for text in option.names]
        names = (ctypes.c_char_p * (len(texts) + 1))(*texts, None)
        _registered.append(names)
    else:
        fallback = float(option.default)
    return _convert.fill(
        _c.filtra_mixer_option, name=name, type=_TYPES[type(option.default)][0], offset=offset,
        fallback=fallback, low=float(option.low), high=float(option.high), names=names,
        help=option.help or None,
    )


def _inputs(graph: Graph, pointer: Any) -> MixerInput:
    given = pointer.contents
    residual = Tensor(graph, given.residual) if given.residual else None
    return MixerInput(
        Tensor(graph, given.x), Tensor(graph, given.mask), residual, given.heads, given.dropout,
        given.causal, given.max_length, Tensor(graph, given.bias) if given.bias else None, pointer,
    )


def _builder(build: Build, struct: Any, options: dict[str, MixerOption]) -> Any:
    """Return the callback that calls `build` and passes what it raises on."""

    def call(scope: Any, given: int | None, pointer: Any, auxiliary: Any) -> int:
        place = Scope(scope)
        try:
            values = struct.from_address(given) if given else struct()
            chosen = {}
            for name, option in options.items():
                value = getattr(values, name)
                chosen[name] = option.names[value] if option.names else value
            made: Any = build(place, _inputs(place.graph, pointer), **chosen)
            if isinstance(made, tuple):
                made, extra = made
                auxiliary[0] = tensor_pointer(place.graph, extra, "the auxiliary loss")
            tensor_pointer(place.graph, made, "what a mixer returns")
            return int(made._address)
        finally:
            place.graph._handle.pointer = None

    return _c.filtra_mixer_build(_errors.guarded(call))


def mixer(
    name: str,
    *,
    description: str = "",
    not_causal: str = "",
    not_decoded: str = "",
    takes_bias: bool = False,
    **options: MixerOption,
) -> Callable[[Build], Build]:
    """Register the decorated function as a mixer, for the rest of the process.

    Parameters
    ----------
    name : str
        Lower-case letters, digits and underscores, a letter first, at most 31; not in use yet.
    description : str
        One line for lists. Default: the first line of the function's documentation.
    not_causal, not_decoded : str
        Why the mixer cannot be causal or decode token by token, as a clause.
    takes_bias : bool
        Whether it adds the input's `bias` to its scores. Models of graphs refuse other mixers.
    **options : MixerOption
        Keys of its configuration, which the function gets by name.
    """

    if not isinstance(name, str):
        raise TypeError('a mixer has a name: write @filtra.mixer("name")')

    def register(build: Build) -> Build:
        if not callable(build):
            raise TypeError(f"mixer {name!r} must be a function, not {type(build).__name__}")
        for key, option in options.items():
            if not isinstance(option, MixerOption) or type(option.default) not in _TYPES:
                raise TypeError(f"{key} must be a filtra.MixerOption of a bool, int, float or str")
        fields = [(key, _TYPES[type(option.default)][1]) for key, option in options.items()]
        struct = type("options", (ctypes.Structure,), {"_fields_": fields or [("_", ctypes.c_int)]})
        listed = [
            _option(key, option, getattr(struct, key).offset) for key, option in options.items()
        ]
        line = description or (build.__doc__ or "").strip().split("\n")[0]
        entry = _convert.fill(
            _c.filtra_mixer,
            name=name, description=line or None, options_size=ctypes.sizeof(struct),
            options=(_c.filtra_mixer_option * len(listed))(*listed) if listed else None,
            option_count=len(listed), not_causal=not_causal or None,
            not_decoded=not_decoded or None, takes_bias=takes_bias,
            build=_builder(build, struct, options),
        )
        _registered.append((entry, listed))
        lib.filtra_mixer_register(ctypes.byref(entry))
        _errors.Callbacks.registered = True
        return build

    return register


def mixers() -> dict[str, str]:
    """Names and descriptions of all known mixers."""
    found = {}
    for i in range(lib.filtra_mixer_count()):
        found[lib.filtra_mixer_name(i).decode()] = _convert.string(
            lib.filtra_mixer_description(i)
        ) or ""
    return found
