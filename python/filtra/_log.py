"""The library's messages: to ``logging.getLogger("filtra")``, and warnings to ``warnings``.

A warning that arises in a call of this package names the caller's line, and
``warnings.simplefilter("error", FiltraWarning)`` raises it when the call returns. One that arises
in a thread of the library's own has no caller, and is logged.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import Any

from . import _c, _errors

logger = logging.getLogger("filtra")
LEVELS = {
    _c.filtra_log_level.DEBUG: logging.DEBUG,
    _c.filtra_log_level.INFO: logging.INFO,
    _c.filtra_log_level.WARNING: logging.WARNING,
    _c.filtra_log_level.ERROR: logging.ERROR,
}
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def caller_depth() -> int:
    """Return how many frames above the calling function the first one outside of this package is.

    0: there is none, as in a thread of the library's own.
    """
    frame: Any = sys._getframe(1)
    depth = 0
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_HERE):
            return depth
        frame = frame.f_back
        depth += 1
    return 0


def _receive(user: int | None, level: int, text: bytes) -> None:
    """Pass one message on; called by the library, from any thread."""
    try:
        message = text.decode("utf-8", "replace")
        if level == _c.filtra_log_level.WARNING:
            depth = caller_depth()
            if depth:
                warnings.warn(message, _errors.FiltraWarning, stacklevel=depth + 1)
                return
        logger.log(LEVELS.get(_c.filtra_log_level(level), logging.ERROR), "%s", message)
    except BaseException as error:  # noqa: B902  raised when the call returns
        if caller_depth():
            _errors.keep_error(error)
        else:
            logger.error("%s", text, exc_info=True)


_callback = _c.filtra_log_fn(_receive)  # lives as long as the library may call it


def begin(library: Any) -> None:
    """Have the library pass its messages on."""
    library.filtra_log_set(_callback, None)


def end(library: Any) -> None:
    """Have the library discard its messages: the interpreter ends."""
    library.filtra_log_set(_c.filtra_log_fn(0), None)
