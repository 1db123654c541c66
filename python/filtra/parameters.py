"""Named parameters of graphs and models: a mapping of names to arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, MutableMapping
from typing import Any

from . import _arrays, _c, _convert
from ._library import lib
from ._object import Object
from .device import Where, device_of

__all__ = ["Parameters"]


def parameter_options(
    init: str, value: float, decay: bool, buffer: bool, copy: _c.filtra_dtype | None
) -> Any:
    """Return the struct of options of a parameter."""
    return _convert.fill(
        _c.filtra_parameter_options, init=init, value=value, decay=decay, buffer=buffer,
        copy=copy or None,
    )


class Parameters(Object, MutableMapping[str, Any]):
    """A set of named parameters, which graphs declare.

    ``params["w"]`` reads values as a new float32 array, after waiting for the device, and
    ``params["w"] = array`` writes them. Parameters cannot be deleted.

    Parameters
    ----------
    device : Device, str or int, optional
    """

    def __init__(self, device: Where = None) -> None:
        opened = device_of(device)
        self._make(
            _c.filtra_parameters, "filtra_parameters_destroy", lib.filtra_parameters_create,
            opened._pointer, parents=[opened],
        )
        self._shapes: dict[str, tuple[int, ...]] = {}

    @classmethod
    def _borrowed(cls, pointer: Any, parent: Object) -> Parameters:
        """Return the parameters that `parent` owns."""
        params = cls.__new__(cls)
        params._own(pointer, None, [parent])
        params._shapes = {}
        return params

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes by name, in order of declaration."""
        count = self._call(lib.filtra_parameters_count)
        lengths = (ctypes.c_int64 * _c.FILTRA_MAX_DIMS)()
        for i in range(len(self._shapes), count):
            name = self._call(lib.filtra_parameters_name, i).decode()
            ndim = self._call(lib.filtra_parameters_shape, i, lengths)
            self._shapes[name] = tuple(lengths[:ndim])
        return dict(self._shapes)

    def _shape(self, name: Any) -> tuple[int, ...]:
        if name not in self._shapes and name not in self.shapes:
            raise KeyError(name)
        return self._shapes[name]

    @property
    def scalars(self) -> int:
        """Number of numbers in all parameters."""
        return int(self._call(lib.filtra_parameters_scalars))

    def commit(self, seed: int = 0, *, trainable: bool = True) -> None:
        """Allocate memory and fill in initial values. No parameter can be declared later.

        Parameters
        ----------
        seed : int
            Values depend on the seed and the parameter's name only.
        trainable : bool
            Whether there are gradients.
        """
        number = _convert.whole(seed, "seed", 0, (1 << 64) - 1)
        kind = _c.filtra_trainable.TRAINABLE if trainable else _c.filtra_trainable.FIXED
        self._call(lib.filtra_parameters_commit, number, kind)

    def _read(self, function: Any, name: str, out: Any) -> Any:
        array = _arrays.room(out, _arrays.F32, self._shape(name))
        self._call(function, name.encode(), _arrays.pointer(array), array.size)
        return array

    def _write(self, function: Any, name: str, values: Any) -> None:
        array = _arrays.array_of(values, _arrays.F32, self._shape(name), name)
        self._call(function, name.encode(), _arrays.pointer(array), array.size)

    def read(self, name: str, out: Any = None) -> Any:
        """Return a copy of a parameter's values; `out`, a dense float32 array, receives them."""
        return self._read(lib.filtra_parameters_get, name, out)

    def __getitem__(self, name: str) -> Any:
        return self._read(lib.filtra_parameters_get, name, None)

    def __setitem__(self, name: str, values: Any) -> None:
        self._write(lib.filtra_parameters_set, name, values)

    def __delitem__(self, name: str) -> None:
        raise TypeError("parameters cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return int(self._call(lib.filtra_parameters_count))

    def __contains__(self, name: object) -> bool:
        return name in self._shapes or name in self.shapes

    def __repr__(self) -> str:
        return "<Parameters closed>" if self.closed else f"<Parameters {self.shapes}>"

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def gradient(self, name: str, out: Any = None) -> Any:
        """Return the gradient of the last execution, float32 in the parameter's shape."""
        return self._read(lib.filtra_parameters_get_gradient, name, out)

    def set_gradient(self, name: str, values: Any) -> None:
        """Replace a gradient before the optimizer's step."""
        self._write(lib.filtra_parameters_set_gradient, name, values)

    def save(self, path: _convert.Path) -> None:
        """Write all values by name to a safetensors file, atomically."""
        self._call(lib.filtra_parameters_save, _convert.path(path))

    def load(self, path: _convert.Path) -> None:
        """Read all values from a safetensors file; on failure none has changed."""
        self._call(lib.filtra_parameters_load, _convert.path(path))
