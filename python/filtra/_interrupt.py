"""Ctrl-C during a long call of the library, whose callback ends it in good order."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Notes Ctrl-C while it is entered, and raises KeyboardInterrupt when it is left.

    Python would raise it within the callback, before that can catch it. Where a program has a
    handler of its own, or another thread trains, nothing is changed.
    """

    def __init__(self) -> None:
        self.asked = False
        self.before: Any = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def __enter__(self) -> Interrupt:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.asked:
            raise KeyboardInterrupt from None
