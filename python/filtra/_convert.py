"""Python's values to C's and back: texts, paths, enums by name, whole numbers, structs."""

from __future__ import annotations

import ctypes
import difflib
import json
import math
import operator
import os
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NoReturn, Optional, TypeVar, Union

from . import _c
from ._errors import ArgumentError

Path = Union[str, "os.PathLike[str]"]
Enum = TypeVar("Enum", bound=IntEnum)
Struct = TypeVar("Struct", bound=ctypes.Structure)

_FLOATS = (ctypes.c_float, ctypes.c_double)
_RANGES: dict[Any, tuple[int, int]] = {}
for _bits, _signed, _unsigned in (
    (8, ctypes.c_int8, ctypes.c_uint8),
    (32, ctypes.c_int32, ctypes.c_uint32),
    (64, ctypes.c_int64, ctypes.c_uint64),
):
    _RANGES[_signed] = (-(1 << (_bits - 1)), (1 << (_bits - 1)) - 1)
    _RANGES[_unsigned] = (0, (1 << _bits) - 1)


def content(value: Any, name: str) -> bytes:
    """Encode a text whose length C is told: it may have NUL."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"{name} has a lone surrogate at character {error.start}: it is no Unicode text"
        ) from None


def text(value: Any, name: str) -> bytes:
    """Encode a text for C; refuse what is none, NUL and lone surrogates."""
    data = content(value, name)
    if b"\0" in data:
        raise ArgumentError(f"{name} has a NUL at character {value.index(chr(0))}")
    return data


def optional_text(value: Any, name: str) -> bytes | None:
    """Encode a text for C; None stays None."""
    return None if value is None else text(value, name)


def path(value: Path, name: str = "path") -> bytes:
    """Encode a path for C."""
    try:
        data = os.fsencode(value)
    except TypeError:
        raise TypeError(
            f"{name} must be a str or a pathlib.Path, not {type(value).__name__}"
        ) from None
    except UnicodeEncodeError:
        raise ArgumentError(f"{name} has characters that no file's name can have") from None
    if b"\0" in data:
        raise ArgumentError(f"{name} has a NUL: no file's name has one")
    return data


def string(data: bytes | None) -> str | None:
    """Decode a text from C; NULL is None."""
    return None if data is None else data.decode("utf-8", "surrogateescape")


def names(kind: type[IntEnum]) -> list[str]:
    """Return an enum's names as Python users write them: in lower case."""
    return [member.name.lower() for member in kind]


def choice(kind: type[Enum], value: Any, name: str) -> Enum:
    """Return the member of an enum that a name, in any case, or a member says."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str):
        member = kind.__members__.get(value.upper().replace("-", "_"))
        if member is not None:
            return member
    raise ArgumentError(f"{name} must be one of {', '.join(names(kind))}; got {value!r}")


def whole(value: Any, name: str, low: int = 0, high: int = (1 << 63) - 1) -> int:
    """Return a whole number in a range, ends included; NumPy's are accepted, bool is not."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if not low <= number <= high:
        raise ArgumentError(f"{name} must be from {low} to {high}; got {number}")
    return number


def number(value: Any, name: str) -> float:
    """Return a finite number as a float that fits C's float."""
    if isinstance(value, (str, bytes)) or not hasattr(type(value), "__float__"):
        raise TypeError(f"{name} must be a number, not {value!r}")
    result = float(value)
    if not math.isfinite(result) or abs(result) > 3.4028235677973366e38:
        raise ArgumentError(f"{name} must be a finite number of 32 bits; got {value!r}")
    return result


def comma_list(names: Iterable[Any], name: str) -> bytes:
    """Join names of columns as C takes them, with commas; refuse those that have one."""
    listed = [text(column, f"{name}[{i}]") for i, column in enumerate(names)]
    for i, column in enumerate(listed):
        if b"," in column:
            raise ArgumentError(
                f"{name}[{i}] is {string(column)!r}, whose comma would part it in two: rename the "
                f"column, or give its number from 1"
            )
    return b",".join(listed)


def json_text(value: Any, name: str) -> bytes:
    """Return a configuration as JSON; NumPy's numbers and arrays are read as Python's."""

    def plain(other: Any) -> Any:
        if hasattr(other, "tolist"):
            return other.tolist()
        if isinstance(other, os.PathLike):
            return os.fspath(other)
        raise TypeError(f"{name} has {other!r}: its values are numbers, texts, lists and dicts")

    try:
        return json.dumps(value, default=plain, allow_nan=False).encode()
    except ValueError:
        raise ArgumentError(f"{name} has a NaN, an infinity or itself: {value!r}") from None


def config_text(value: Any) -> bytes:
    """Return a run's configuration as JSON."""
    if not isinstance(value, Mapping):
        raise TypeError(
            f"config must be a dict such as {{'mixer': 'agf'}}, not {type(value).__name__}"
        )
    return json_text(dict(value), "config")


def refuse_option(name: str, known: Iterable[str]) -> NoReturn:
    """Raise for an option that there is not, with the nearest that there is, or all."""
    listed = [label for label in known if label != "reserved"]
    near = difflib.get_close_matches(name, listed, 1, 0.7)
    advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(listed))}"
    raise TypeError(f"there is no option {name!r}; {advice}")


def options_of(struct: type[ctypes.Structure]) -> set[str]:
    """Return the fields that are numbers, texts, bools or enums."""
    kinds = {*_FLOATS, *_RANGES, ctypes.c_bool, ctypes.c_char_p, *getattr(struct, "enums", ())}
    return {
        label for label, kind, *_ in struct._fields_
        if (kind in kinds or label in kinds or _is_characters(kind)) and label != "group_count"
    }


def _is_characters(kind: Any) -> bool:
    return issubclass(kind, ctypes.Array) and kind._type_ is ctypes.c_char


def _characters(kind: Any, value: Any, name: str) -> bytes:
    """Encode a text, or a list of whole numbers, for an array of characters."""
    if not isinstance(value, (str, bytes)):
        if not isinstance(value, Iterable):
            raise TypeError(f"{name} must be a list of numbers or a str, not {value!r}")
        value = ",".join(str(whole(number, name, 0, 1 << 31)) for number in value)
    data = value if isinstance(value, bytes) else text(value, name)
    if len(data) >= ctypes.sizeof(kind):
        raise ArgumentError(f"{name} is longer than {ctypes.sizeof(kind) - 1} characters")
    return data


def _field(struct: ctypes.Structure, label: str, kind: Any, value: Any, name: str) -> Any:
    enum = getattr(struct, "enums", {}).get(label)
    if enum is not None:
        return choice(enum, value, name)
    if kind is ctypes.c_bool:
        if type(value).__name__ not in ("bool", "bool_"):
            raise TypeError(f"{name} must be True or False, not {value!r}")
        return bool(value)
    if kind is ctypes.c_char_p:
        return value if isinstance(value, bytes) else text(value, name)
    if _is_characters(kind):
        return _characters(kind, value, name)
    if kind in _FLOATS:
        return number(value, name)
    if kind in _RANGES:
        return whole(value, name, *_RANGES[kind])
    return value


ABOVE_ZERO = frozenset((
    "layers", "heads", "width", "norm_epsilon", "learning_rate", "beta1", "beta2", "epsilon",
    "accumulate", "layer_decay", "batch_size", "validation_share", "crop_pct", "crop_ratio",
    "crop_scale", "repeats",
))
"""Options of which C takes 0 for the default, and that cannot be 0."""


def fill(struct_type: type[Struct], /, **fields: Any) -> Struct:
    """Make a struct: zeros, and the given fields.

    None leaves a field zero. Texts, enums by name, numbers and bools are checked; all else, such
    as pointers and structs, is taken as ctypes takes it. The struct keeps what it points to alive.
    """
    struct = struct_type()
    kinds: dict[str, Any] = {entry[0]: entry[1] for entry in struct_type._fields_}
    for label, value in fields.items():
        if label not in kinds:
            refuse_option(label, kinds)
        if value is None:
            continue
        try:
            setattr(struct, label, _field(struct, label, kinds[label], value, label))
        except TypeError as error:
            raise TypeError(str(error) if label in str(error) else
                            f"{label} cannot be {value!r}: it is no option of this call") from None
        if label in ABOVE_ZERO and getattr(struct, label) == 0:  # as C reads it
            raise ArgumentError(f"{label} is {value}, accepted are numbers above 0")
    return struct


def values(struct: ctypes.Structure) -> dict[str, Any]:
    """Return a struct's numbers, texts (str) and enums (names in lower case) by field.

    Pointers, other than texts, and reserved words are left out; structs within become dicts.
    """
    found: dict[str, Any] = {}
    enums = getattr(struct, "enums", {})
    for label, kind, *_ in struct._fields_:
        value = getattr(struct, label)
        if label == "reserved" or isinstance(value, ctypes._Pointer) or kind is ctypes.c_void_p:
            continue
        if label in enums:
            value = enums[label](value).name.lower()
        elif isinstance(value, bytes):
            value = string(value)
        elif isinstance(value, ctypes.Structure):
            value = values(value)
        elif isinstance(value, ctypes.Array):
            value = tuple(value)
        elif isinstance(value, ctypes._CFuncPtr):  # type: ignore[attr-defined]
            continue
        found[label] = value
    return found


def shape_array(shape: Any, name: str = "shape") -> tuple[int, Any]:
    """Return the number of dimensions and a C array of lengths; a whole number is one."""
    if hasattr(type(shape), "__index__"):
        shape = (shape,)
    lengths = tuple(whole(length, name) for length in shape)
    if not 1 <= len(lengths) <= _c.FILTRA_MAX_DIMS:
        raise ArgumentError(
            f"{name} must have 1 to {_c.FILTRA_MAX_DIMS} dimensions; got {len(lengths)}"
        )
    return len(lengths), (ctypes.c_int64 * len(lengths))(*lengths)


OptionalPath = Optional[Path]
