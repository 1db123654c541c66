"""What all objects of the library have in common: life time, locks, threads and processes.

- Closing an object first closes what was made on it; using a closed one raises ClosedError. An
  object that is no longer referenced is closed when the last one made on it is, in any order.
- A device, with all that was made on it, may be used from several threads: a lock lets one in at a
  time. While one waits for the device, other threads of Python run. A run lets others in between
  its steps.
- What a call uses is not closed before the call ends: other threads that close it wait, and its
  own callbacks are refused.
- A process that was forked cannot use objects from before: ForkError. Make them after the fork, or
  start processes by ``multiprocessing.get_context("spawn")``.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from ._errors import Callbacks, ClosedError, ForkError, UnsupportedError, error_of, interruptible
from ._library import lib

Self = TypeVar("Self", bound="Object")


class _Process:
    """Counts forks, so that objects know whether they are of this process."""

    forks = 0


def _forked() -> None:
    _Process.forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Gate:
    """Lets one thread at a time use a device, and destroys what a thread found of no more use.

    ``with gate`` waits for the device and has it alone. Between `join` and `leave` a thread has it
    together with others: for calls that the library allows at the same time.

    Garbage collection may happen in any thread at any time, also within a call of the library. What
    cannot be destroyed at once waits in `dead` for the next call.
    """

    __slots__ = ("_depth", "_door", "_guests", "_owner", "_used", "_waiting", "dead")

    def __init__(self) -> None:
        self._owner: Any = threading.RLock()  # held by the thread that has the device alone
        self._depth = 0
        self._used = threading.Lock()  # held while anyone has the device
        self._door = threading.Lock()  # guards the guests and the number of those that wait
        self._guests: dict[int, int] = {}
        self._waiting = 0  # threads in `_wait`
        self.dead: deque[Handle] = deque()

    def within(self) -> bool:
        """Return whether this thread has the device: it is in a callback, or collects garbage."""
        return bool(self._owner._is_owned()) or self.guest()

    def __enter__(self) -> None:
        if self.guest():
            return
        if not self._owner.acquire(blocking=False):
            self._wait()
        if not self._depth:
            try:
                self._used.acquire()
            except BaseException:  # Ctrl-C
                self._owner.release()
                raise
        self._depth += 1

    def _wait(self) -> None:
        with self._door:
            self._waiting += 1
        try:
            self._owner.acquire()
        finally:
            with self._door:
                self._waiting -= 1

    def __exit__(self, *error: object) -> None:
        if self.guest():
            return
        self._depth -= 1
        if not self._depth:
            self._used.release()
        self._owner.release()

    def guest(self) -> bool:
        """Return whether this thread has the device together with others."""
        return bool(self._guests) and threading.get_ident() in self._guests

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Let others have the device, which this thread has alone, within a callback."""
        depth = self._depth
        self._depth = 0
        self._used.release()
        for _ in range(depth):
            self._owner.release()
        try:
            yield
            if self._waiting:
                time.sleep(0.001)  # a lock that is free goes to whoever runs
        finally:
            self._take_back(depth)

    def _take_back(self, depth: int) -> None:
        """End `lent`, also where Ctrl-C interrupts the waiting: the library expects it."""
        interrupted: BaseException | None = None
        for lock in [self._owner] * depth + [self._used]:
            while True:
                try:
                    lock.acquire()
                    break
                except BaseException as error:
                    interrupted = error
        self._depth = depth
        if interrupted is not None:
            raise interrupted

    def join(self, thread: int) -> bool:
        """Have the device together with others; returns False if this thread has it alone."""
        if self._owner._is_owned():
            return False
        with self._door:
            if not self._guests:
                self._used.acquire()
            self._guests[thread] = self._guests.get(thread, 0) + 1
        return True

    def leave(self, thread: int) -> None:
        """End what `join` began."""
        with self._door:
            self._guests[thread] -= 1
            if not self._guests[thread]:
                del self._guests[thread]
            if not self._guests:
                self._used.release()

    def clear(self) -> None:
        """Destroy what waits, unless this thread is within a call."""
        if self.within():
            return
        with self:
            while self.dead:
                self.dead.popleft().destroy()

    def drop(self, handle: Handle) -> None:
        """Destroy a handle now if the device is free, else later; never waits."""
        if self.within() or not self._owner.acquire(blocking=False):
            self.dead.append(handle)
            return
        try:
            if not self._used.acquire(blocking=False):
                self.dead.append(handle)
                return
            self._depth += 1
            try:
                handle.destroy()
            finally:
                self._depth -= 1
                self._used.release()
        finally:
            self._owner.release()


class Handle:
    """A pointer of the library's, with what it was made on and what was made on it."""

    __slots__ = (
        "__weakref__", "calls", "children", "dropped", "forks", "free", "gate", "keep", "kind",
        "parents", "pointer",
    )

    def __init__(self, pointer: Any, kind: str, free: str | None, gate: Gate) -> None:
        self.pointer = pointer
        self.kind = kind
        self.free = None if free is None else lib.unchecked(free)
        self.gate = gate
        self.parents: list[Handle] = []
        self.children: set[Handle] = set()
        self.calls = 0  # that are under way, with the gate alone
        self.dropped = False
        self.forks = _Process.forks
        self.keep: list[Any] = []

    def need(self, parent: Handle) -> None:
        """Have the parent live longer than this."""
        if parent not in self.parents:
            self.parents.append(parent)
            parent.children.add(self)

    def refuse(self) -> NoReturn:
        """Raise why this handle cannot be used."""
        if self.pointer is None:
            raise ClosedError(f"this {self.kind} is closed")
        raise ForkError(
            f"this {self.kind} was made before the process was forked: make it after the fork, or "
            f"start processes with multiprocessing.get_context('spawn')"
        )

    def pass_to(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Call a function with the pointer and these arguments. Within the gate."""
        if self.pointer is None:
            self.refuse()
        if Callbacks.registered:
            with interruptible():
                return function(self.pointer, *arguments)
        return function(self.pointer, *arguments)

    def drop(self) -> None:
        """Destroy this as soon as nothing made on it is left: nobody refers to it any more."""
        self.dropped = True
        if self.pointer is not None and not self.children and self.forks == _Process.forks:
            self.gate.drop(self)

    def destroy(self) -> int:
        """Free the pointer, and parents that waited for it. Under the gate's lock.

        Returns the status of the function that frees; what it cannot free is left to the process.
        """
        if self.pointer is None or self.children:
            return 0
        status = self.free(ctypes.byref(self.pointer)) if self.free is not None else 0
        self.pointer = None
        self.keep.clear()
        parents, self.parents = self.parents, []
        for parent in parents:
            parent.children.discard(self)
            if parent.dropped and parent.gate is self.gate:
                parent.destroy()
            elif parent.dropped:
                parent.drop()
        return status or 0

    def close(self) -> None:
        """Destroy what was made on this, and this."""
        if self.pointer is None:
            return
        if self.forks != _Process.forks:
            self.refuse()
        if self.gate.guest():
            self._refuse_to_close()
        with self.gate:
            if self.used():
                self._refuse_to_close()
            while self.children:
                next(iter(self.children)).close()
            status = self.destroy()
            if status:
                raise error_of(status, lib.message())


    def used(self) -> bool:
        """Return whether a call of this or of what was made on it is under way. Within the gate."""
        return self.calls > 0 or any(child.used() for child in self.children)

    def _refuse_to_close(self) -> NoReturn:
        raise UnsupportedError(
            f"this {self.kind} is used by a call that is under way: close it when that has ended"
        )


@contextmanager
def holding(objects: Iterable[Object]) -> Iterator[None]:
    """Keep objects of other gates from being closed: for calls that read their memory."""
    thread = threading.get_ident()
    joined: list[Gate] = []
    try:
        for held in objects:
            gate = held._handle.gate
            if gate.join(thread):
                joined.append(gate)
            held._pointer  # noqa: B018  raises if it is closed
        yield
    finally:
        for gate in reversed(joined):
            gate.leave(thread)


class Object:
    """An object of the library; a context manager that closes it."""

    _handle: Handle

    def _make(
        self,
        kind: Any,
        free: str,
        function: Any,
        *arguments: Any,
        parents: Iterable[Object] = (),
        gate: Gate | None = None,
        held: Iterable[Object] = (),
    ) -> None:
        """Call a function whose last argument receives a new pointer, and take it over.

        Parameters
        ----------
        kind : type
            The opaque struct that is made, such as ``_c.filtra_graph``.
        free : str
            The function that destroys or closes it.
        function : function of the library
        arguments
            All arguments but the last.
        parents : iterable of Object
            What must live longer than it.
        gate : Gate or None
            Lock of its calls; None: that of the first parent, or a new one.
        held : iterable of Object
            What the arguments point to besides, of other gates.
        """
        above = list(parents)
        if gate is None:
            gate = above[0]._handle.gate if above else Gate()
        if gate.dead:
            gate.clear()
        made = ctypes.POINTER(kind)()
        others = [parent for parent in above if parent._handle.gate is not gate]
        with gate, holding([*others, *held]):
            for parent in above:
                parent._pointer  # noqa: B018  raises if it is closed
            try:
                with interruptible():
                    function(*arguments, ctypes.byref(made))
                self._own(made, free, above, gate)
            except BaseException:  # Ctrl-C, or a warning that the user has raised as an error
                owned: Handle | None = self.__dict__.get("_handle")
                if owned is not None:
                    owned.destroy()
                elif made:
                    lib.unchecked(free)(ctypes.byref(made))
                raise

    def _own(
        self, pointer: Any, free: str | None, parents: Iterable[Object], gate: Gate | None = None
    ) -> None:
        """Take over a pointer; with `free` None it belongs to its first parent."""
        above = list(parents)
        self._handle = Handle(
            pointer, type(self).__name__, free, gate or above[0]._handle.gate
        )
        for parent in above:
            self._handle.need(parent._handle)
        weakref.finalize(self, self._handle.drop)

    @property
    def _pointer(self) -> Any:
        """The pointer, for arguments of calls."""
        handle = self._handle
        if handle.pointer is None or handle.forks != _Process.forks:
            handle.refuse()
        return handle.pointer

    def _call(self, function: Any, *arguments: Any, held: Iterable[Object] = ()) -> Any:
        """Call a function of the library whose first argument is this, one thread at a time.

        held: what the arguments point to, of other gates.
        """
        handle = self._handle
        if handle.forks != _Process.forks:
            handle.refuse()
        gate = handle.gate
        if gate.dead:
            gate.clear()
        with gate:
            handle.calls += 1
            try:
                if not held:
                    return handle.pass_to(function, arguments)
                with holding(held):
                    return handle.pass_to(function, arguments)
            finally:
                handle.calls -= 1

    def _share(self, function: Any, *arguments: Any) -> Any:
        """As `_call`, for functions that several threads may call at the same time."""
        handle = self._handle
        if handle.forks != _Process.forks:
            handle.refuse()
        thread = threading.get_ident()
        if not handle.gate.join(thread):
            return handle.pass_to(function, arguments)
        try:
            return handle.pass_to(function, arguments)
        finally:
            handle.gate.leave(thread)

    @property
    def closed(self) -> bool:
        """Whether it was closed; then it can no longer be used."""
        return self._handle.pointer is None

    def close(self) -> None:
        """Close what was made on it, and it. Does nothing if it is closed."""
        self._handle.close()

    def __enter__(self: Self) -> Self:
        self._pointer  # noqa: B018  raises if it is closed
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled or copied: save it to a file, or make "
            f"another one where it is needed"
        )
