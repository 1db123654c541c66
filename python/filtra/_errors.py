"""Exceptions by the library's status codes, and errors that only Python knows."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _c


class FiltraError(Exception):
    """Base of all exceptions that say why the library did not do what was asked.

    The message is the library's own sentence, without the command's options. Subclasses also derive
    from the built-in exception that Python users expect, so that ``except ValueError`` works.
    """

    status: _c.filtra_status | None = None
    """The library's status code; None where the library was not asked."""


class ArgumentError(FiltraError, ValueError):
    """Wrong use: a shape, range, option or order of calls."""

    status = _c.filtra_status.ERROR_ARGUMENT


class InputError(FiltraError, ValueError):
    """Wrong content of a file or of data."""

    status = _c.filtra_status.ERROR_INPUT


class FileError(FiltraError, OSError):
    """Reading or writing failed, for example on a full disk."""

    status = _c.filtra_status.ERROR_IO


class PathError(FiltraError, OSError):
    """A path is missing, of the wrong kind, or not permitted."""

    status = _c.filtra_status.ERROR_PATH


class NoDeviceError(FiltraError, RuntimeError):
    """No Vulkan device meets the request."""

    status = _c.filtra_status.ERROR_NO_DEVICE


class HostMemoryError(FiltraError, MemoryError):
    """Out of host memory."""

    status = _c.filtra_status.ERROR_HOST_MEMORY


class DeviceMemoryError(FiltraError, MemoryError):
    """Out of device memory, or over one of the device's limits."""

    status = _c.filtra_status.ERROR_DEVICE_MEMORY


class DeviceLostError(FiltraError, RuntimeError):
    """The device stopped responding; it can only be closed."""

    status = _c.filtra_status.ERROR_DEVICE_LOST


class UnsupportedError(FiltraError, RuntimeError):
    """A valid request that this device or version cannot fulfil."""

    status = _c.filtra_status.ERROR_UNSUPPORTED


class NonfiniteError(FiltraError, FloatingPointError):
    """A NaN or an infinity appeared; the message names the tensor."""

    status = _c.filtra_status.ERROR_NONFINITE


class CancelledError(FiltraError, RuntimeError):
    """Stopped on request."""

    status = _c.filtra_status.ERROR_CANCELLED


class RankError(FiltraError, RuntimeError):
    """Another rank of the run died, hangs, or runs something else."""

    status = _c.filtra_status.ERROR_RANK


class ClosedError(FiltraError, ValueError):
    """The object was closed, as was what it was made on."""


class ForkError(FiltraError, RuntimeError):
    """The object was made before this process was forked."""


class LibraryError(FiltraError, ImportError):
    """libfiltra is missing or does not fit this package."""


class FiltraWarning(UserWarning):
    """Warnings of the library, such as that the best device is a CPU driver."""


BY_STATUS: dict[int, type[FiltraError]] = {
    kind.status: kind
    for kind in FiltraError.__subclasses__()
    if kind.status is not None
}


class _Pending(threading.local):
    """The exception that a callback of this thread raised within a call of the library."""

    error: BaseException | None = None


_pending = _Pending()


def keep_error(error: BaseException) -> None:
    """Keep a callback's exception until the call of the library that it was raised in returns.

    The first one counts: later ones follow from it.
    """
    if _pending.error is None:
        _pending.error = error


def raise_kept() -> None:
    """Raise what a callback of this thread raised since the last call, if it did."""
    error = _pending.error
    if error is not None:
        _pending.error = None
        raise error


def has_kept() -> bool:
    """Return whether a callback of this thread has raised."""
    return _pending.error is not None


def guarded(function: Callable[..., Any], failed: Any = None) -> Callable[..., Any]:
    """Return a function for the library to call, which keeps what `function` raises.

    After that it returns `failed`, also at all later calls until the library has returned.
    """

    def call(*arguments: Any) -> Any:
        try:
            return failed if _pending.error is not None else function(*arguments)
        except BaseException as error:  # raised when the library returns
            keep_error(error)
            return failed

    return call


class Callbacks:
    """Whether functions in Python stay registered with the library: mixers."""

    registered = False


@contextmanager
def interruptible() -> Iterator[None]:
    """Within it, Ctrl-C makes the next `guarded` callback end the call of the library.

    Python otherwise raises KeyboardInterrupt as the callback begins, before its first line, where
    nothing can catch it, and the library would read a result that is none.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def keep(number: int, frame: Any) -> None:
        try:
            before(number, frame)
        except BaseException as error:
            keep_error(error)

    signal.signal(signal.SIGINT, keep)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    raise_kept()


# What the command calls that which the library's sentence has just named: "a folder (--out)".
_OF_THE_COMMAND = re.compile(r" \((?:filtra [a-z]+ )?--[a-z-]+(?: [^\s()]+)?\)")


def error_of(status: int, message: str) -> FiltraError:
    """Make the exception of a status; options of the command are left out of its message."""
    message = _OF_THE_COMMAND.sub("", message) or f"failed with status {status}"
    return BY_STATUS.get(status, FiltraError)(message)
