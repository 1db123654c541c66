"""NumPy's arrays as C reads them: dense, in C's order, of one type, copied only where needed."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import _c
from ._errors import ArgumentError

DTYPES: dict[int, np.dtype[Any]] = {
    _c.filtra_dtype.F32: np.dtype("<f4"),
    _c.filtra_dtype.I32: np.dtype("<i4"),
    _c.filtra_dtype.F16: np.dtype("<f2"),
    _c.filtra_dtype.BF16: np.dtype("<u2"),  # NumPy has none: the upper halves of float32
    _c.filtra_dtype.F64: np.dtype("<f8"),
    _c.filtra_dtype.I64: np.dtype("<i8"),
    _c.filtra_dtype.I16: np.dtype("<i2"),
    _c.filtra_dtype.I8: np.dtype("i1"),
    _c.filtra_dtype.U8: np.dtype("u1"),
    _c.filtra_dtype.BOOL: np.dtype("?"),
}
F32 = DTYPES[_c.filtra_dtype.F32]
I32 = DTYPES[_c.filtra_dtype.I32]
_C_TYPES: dict[np.dtype[Any], Any] = {
    F32: ctypes.c_float,
    I32: ctypes.c_int32,
    np.dtype("<u4"): ctypes.c_uint32,
    np.dtype("u1"): ctypes.c_uint8,
    np.dtype("<f8"): ctypes.c_double,
    np.dtype("<u8"): ctypes.c_uint64,
}


def _described(shape: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("any" if n is None else str(n) for n in shape) + "]"


def _check_shape(array: Any, shape: tuple[int | None, ...] | None, name: str) -> None:
    if shape is None or array.shape == shape:
        return
    fits = len(shape) == array.ndim
    for want, have in zip(shape, array.shape):
        fits = fits and (want is None or want == have)
    if not fits:
        raise ArgumentError(
            f"{name} must have the shape {_described(shape)}; got {_described(array.shape)}"
        )


def _converted(array: Any, dtype: np.dtype[Any], name: str) -> Any:
    """Convert to another type where no number changes but by rounding."""
    kind = array.dtype.kind
    if not array.size and kind == "f":  # an empty list
        return np.zeros(array.shape, dtype)
    allowed = "biuf" if dtype.kind == "f" else "biu"
    if kind not in allowed:
        what = {"O": "Python objects", "U": "texts", "S": "bytes", "c": "complex numbers",
                "f": "fractions"}.get(kind, f"the type {array.dtype}")
        raise TypeError(f"{name} must be numbers of type {dtype.name}, not {what}"
                        f" (dtype {array.dtype})")
    if array.size and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = array.min(), array.max()
        if low < limits.min or high > limits.max:
            raise ArgumentError(f"{name} must be from {limits.min} to {limits.max}; has "
                                f"{low if low < limits.min else high}")
    with np.errstate(over="ignore"):
        result = np.array(array, dtype=dtype, order="C")
    if kind == "f" and array.dtype.itemsize > dtype.itemsize and array.size:
        lost = np.isinf(result) & np.isfinite(array)
        if lost.any():
            raise ArgumentError(f"{name} has {array[lost].flat[0]}, beyond the range of "
                                f"{dtype.name}")
    return result


def _is_masked(value: Any) -> bool:
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.any(value.mask))
    if getattr(value, "dtype", None) == object and getattr(value, "ndim", 0) == 1:
        value = list(value)
    if not isinstance(value, (list, tuple)):
        return False
    kinds = set(map(type, value))  # so that long lists of numbers cost little
    nested = any(issubclass(kind, (np.ndarray, list, tuple)) for kind in kinds)
    return nested and any(map(_is_masked, value))


def refuse_masked(value: Any, name: str, advice: str = "fill them") -> None:
    """Refuse masked elements, in lists too: NumPy would take what is below the mask."""
    if type(value) is not np.ndarray or value.dtype == object:
        if _is_masked(value):
            raise ArgumentError(f"{name} has masked elements: {advice}")


def array_of(
    value: Any,
    dtype: np.dtype[Any] = F32,
    shape: tuple[int | None, ...] | None = None,
    name: str = "array",
) -> Any:
    """Return `value` as a dense array of that type, the same one where it is so already.

    Parameters
    ----------
    value : array_like
        Arrays in Fortran order or with strides are copied. Whole numbers become fractions, and
        numbers of more bits are rounded; nothing else is converted.
    dtype : numpy.dtype
    shape : tuple of int or None
        Expected lengths; None in it stands for any length.
    name : str
        What error messages call it.

    Raises
    ------
    TypeError
        For Python objects, texts, complex numbers, ragged lists, and fractions where whole numbers
        are needed.
    ArgumentError
        For another shape, and numbers out of range.
    """
    if type(value) is not np.ndarray:
        refuse_masked(value, name)
        try:
            value = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise TypeError(
                f"{name} must be an array, or lists of equal lengths: {error}"
            ) from None
    _check_shape(value, shape, name)
    if value.dtype != dtype:
        return _converted(value, dtype, name)
    flags = value.flags
    if not flags.c_contiguous or not flags.aligned:
        return np.array(value, dtype=dtype, order="C")
    return value


def room(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...], name: str = "out") -> Any:
    """Return an array for C to write: a new one, or `value` if it is not None and fits as it is."""
    if value is None:
        return np.empty(shape, dtype)
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a numpy.ndarray, not {type(value).__name__}")
    if value.dtype != dtype:
        raise TypeError(f"{name} must have the type {dtype.name}, not {value.dtype}")
    _check_shape(value, shape, name)
    if not value.flags.c_contiguous or not value.flags.aligned:
        raise ArgumentError(f"{name} must be dense and in C's order")
    if not value.flags.writeable:
        raise ArgumentError(f"{name} must be writable")
    return value


def pointer(array: Any) -> Any:
    """Return a ctypes pointer to a dense array's elements.

    It keeps the array alive, as does a struct that it is assigned to.
    """
    element = _C_TYPES[array.dtype]
    kind: Any = ctypes.POINTER(element)
    if array.size and array.flags.writeable:
        return kind(element.from_buffer(array))
    found = ctypes.cast(ctypes.c_void_p(address(array)), kind)
    found._objects["array"] = array
    return found


def address(array: Any) -> int:
    """Return the address of a dense array's elements; the caller keeps the array."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # in half the time
    except (TypeError, ValueError):  # may not be written, or is empty
        return int(array.__array_interface__["data"][0])


def address_of_bytes(data: bytes) -> int:
    """Return the address of bytes, followed by a NUL; the caller keeps them."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def copied(pointer: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return a new array of what a pointer from the library points to."""
    count = int(np.prod(shape, dtype=np.int64))
    if not pointer or not count:
        return np.empty(shape, dtype)
    size = count * dtype.itemsize
    return np.frombuffer(ctypes.string_at(pointer, size), dtype).reshape(shape).copy()
