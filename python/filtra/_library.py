"""Finds libfiltra, loads it on first use, and checks that this package fits it.

It is searched in the folder of this package, where a wheel has it; then as the file or in the
folder that the environment variable FILTRA_LIBRARY names; then where the system looks.

``lib.filtra_NAME(...)`` calls the function of that name. A status other than OK is raised as an
exception, and so is what a callback raised meanwhile. ctypes releases the interpreter's lock (the
GIL) during each call, so that other threads run while a device works.
"""

from __future__ import annotations

import atexit
import ctypes
import ctypes.util
import os
import sys
import threading
from pathlib import Path
from typing import Any

from . import _c, _errors

NAMES = {"darwin": "libfiltra.dylib", "win32": "filtra.dll"}
NAME = NAMES.get(sys.platform, "libfiltra.so")
VERSION = (_c.FILTRA_VERSION_MAJOR, _c.FILTRA_VERSION_MINOR, _c.FILTRA_VERSION_PATCH)


def _candidate() -> str:
    """Path or name of the library."""
    own = Path(__file__).with_name(NAME)
    if own.exists():
        return str(own)
    named = os.environ.get("FILTRA_LIBRARY")
    if named:
        path = Path(named)
        path = path / NAME if path.is_dir() else path
        if not path.exists():
            raise _errors.LibraryError(f"FILTRA_LIBRARY names {named}, where no {NAME} is")
        return str(path)
    if sys.platform.startswith("linux"):
        return f"{NAME}.{VERSION[0]}.{VERSION[1]}"  # its soname
    found = ctypes.util.find_library("filtra")
    if not found:
        raise _missing()
    return found


def _missing() -> _errors.LibraryError:
    return _errors.LibraryError(
        f"{NAME} is neither in {Path(__file__).parent} nor where the system looks for libraries: "
        f"install a wheel of filtra, or set FILTRA_LIBRARY to the file"
    )


def _open() -> ctypes.CDLL:
    name = _candidate()
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        if os.sep not in name:
            raise _missing() from error
        raise _errors.LibraryError(f"{name} cannot be loaded: {error}") from error


def _check_fit(loaded: ctypes.CDLL) -> None:
    """Refuse a library of another version or with structs of other sizes than declared here."""
    name = getattr(loaded, "_name", NAME)
    try:
        version = loaded.filtra_version
        compare = loaded.filtra_compare_structs
    except AttributeError:
        raise _errors.LibraryError(f"{name} is no libfiltra of version 0.1 or later") from None
    version.restype = ctypes.c_char_p
    found = version().decode()
    if found.split(".")[:2] != [str(part) for part in VERSION[:2]]:
        wanted = ".".join(str(part) for part in VERSION[:2])
        raise _errors.LibraryError(f"{name} is version {found}; this package needs {wanted}")
    count = len(_c.STRUCTS)
    names = (ctypes.c_char_p * count)(*(struct.encode() for struct in _c.STRUCTS))
    sizes = (ctypes.c_size_t * count)(
        *(ctypes.sizeof(getattr(_c, struct)) for struct in _c.STRUCTS)
    )
    if compare(VERSION[0], VERSION[1], ctypes.c_size_t(count), names, sizes):
        message = loaded.filtra_error_message
        message.restype = ctypes.c_char_p
        raise _errors.LibraryError(f"{name} does not fit this package: {message().decode()}")


class Library:
    """The functions of libfiltra, which the first use of one loads."""

    def __init__(self) -> None:
        self._loaded: ctypes.CDLL | None = None
        self._lock = threading.RLock()
        self._unchecked: dict[str, Any] = {}

    def _load(self) -> ctypes.CDLL:
        with self._lock:
            if self._loaded is None:
                loaded = _open()
                _check_fit(loaded)
                self._message = loaded.filtra_error_message
                self._message.restype = ctypes.c_char_p
                self._message.argtypes = ()
                self._loaded = loaded
                from . import _log

                _log.begin(self)
                atexit.register(_log.end, self)
            return self._loaded

    def _checked(self, result: Any, function: Any, arguments: Any) -> Any:
        """Raise the failure of a call that returned a status; ctypes calls it after each."""
        if result or _errors._pending.error is not None:
            message = self.message() if result else ""
            _errors.raise_kept()
            raise _errors.error_of(result, message)
        return result

    @staticmethod
    def _passed(result: Any, function: Any, arguments: Any) -> Any:
        """Raise what a callback raised in a call that returned no status."""
        if _errors._pending.error is not None:
            _errors.raise_kept()
        return result

    def message(self) -> str:
        """Return the library's sentence about the last failure on this thread."""
        return (self._message() or b"").decode("utf-8", "replace")

    def __getattr__(self, name: str) -> Any:
        declared = _c.FUNCTIONS.get(name)
        if declared is None:
            raise AttributeError(f"libfiltra has no function {name}")
        try:
            function = getattr(self._load(), name)
        except AttributeError as error:
            raise _errors.LibraryError(f"the loaded libfiltra has no function {name}") from error
        result, *parameters = declared
        function.argtypes = parameters
        if result is _c.STATUS:
            function.restype = ctypes.c_int
            function.errcheck = self._checked
        else:
            function.restype = result
            function.errcheck = self._passed
        setattr(self, name, function)
        return function

    def unchecked(self, name: str) -> Any:
        """Return a function as a second object, which returns its status and raises nothing."""
        found = self._unchecked.get(name)
        if found is None:
            result, *parameters = _c.FUNCTIONS[name]
            kind = ctypes.CFUNCTYPE(ctypes.c_int if result is _c.STATUS else result, *parameters)
            found = self._unchecked[name] = kind((name, self._load()))
        return found

    def check(self, status: int) -> None:
        """Raise the failure of an unchecked call, or what a callback raised in it."""
        if status or _errors._pending.error is not None:
            self._checked(status, None, None)


lib = Library()
