"""Devices, and what all objects have in common: life time, threads, processes, errors."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import filtra
from filtra import _c, _library
from filtra._library import lib
from filtra._object import Object


def test_lists_devices() -> None:
    listed = filtra.devices()
    assert listed and [info.index for info in listed] == list(range(len(listed)))
    assert all(info.memory_bytes > 0 for info in listed if info.usable)


def test_opens_and_closes() -> None:
    with filtra.Device("cpu") as device:
        assert device.info.device_class == "cpu" and device.name in repr(device)
        assert device.memory_used == 0
    assert device.closed
    device.close()  # does nothing
    with pytest.raises(filtra.ClosedError, match="this Device is closed"):
        device.info
    with pytest.raises(ValueError):
        device.__enter__()


def test_errors_are_those_of_python() -> None:
    with pytest.raises(filtra.NoDeviceError, match='no usable device is "nonesuch"') as caught:
        filtra.Device("nonesuch")
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.status == _c.filtra_status.ERROR_NO_DEVICE
    with pytest.raises(ValueError, match="unknown capability"):
        filtra.Device("cpu", caps="nonesuch=1")
    for select in ("\0", "\ud800"):
        with pytest.raises(ValueError, match="select has"):
            filtra.Device(select)
    with pytest.raises(TypeError, match="caps must be a str"):
        filtra.Device("cpu", caps=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cache_dir must be a str or a pathlib.Path"):
        filtra.Device("cpu", cache_dir=3)  # type: ignore[arg-type]
    statuses = {kind.status for kind in filtra.FiltraError.__subclasses__()} - {None}
    assert statuses == set(_c.filtra_status) - {_c.filtra_status.OK}


def test_warnings_name_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FILTRA_DEVICE", raising=False)
    if any(i.usable and i.device_class != "cpu" for i in filtra.devices()):
        pytest.skip("no warning where there is a GPU")
    with pytest.warns(filtra.FiltraWarning, match="no usable GPU") as caught:
        filtra.Device().close()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", filtra.FiltraWarning)
        with pytest.raises(filtra.FiltraWarning):
            filtra.Device()


def test_cannot_be_pickled_or_copied() -> None:
    with filtra.Device("cpu") as device:
        for attempt in (pickle.dumps, copy.copy):
            with pytest.raises(TypeError, match="a Device cannot be pickled"):
                attempt(device)
        assert copy.deepcopy(device) is device  # clones of an estimator share it
        with pytest.raises(TypeError, match="a Graph cannot be pickled or copied"):
            copy.deepcopy(filtra.Graph(device))


class Arena(Object):
    """A child of a device, made here because nothing else is needed of it."""

    def __init__(self, device: filtra.Device) -> None:
        self.device = device
        lib = _library.lib
        self._make(
            _c.filtra_arena, "filtra_arena_destroy", lib.filtra_arena_create, device._pointer,
            parents=[device],
        )


def test_parents_close_their_children() -> None:
    with filtra.Device("cpu") as device:
        arena = Arena(device)
    assert arena.closed and device.closed
    with pytest.raises(filtra.ClosedError, match="this Device is closed"):
        Arena(device)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_collected_in_any_order(order: tuple[int, ...]) -> None:
    device = filtra.Device("cpu")
    first, second = Arena(device), Arena(device)
    handle = device._handle
    first.device = second.device = None  # type: ignore[assignment]
    objects = [device, first, second]
    del device, first, second
    for index in order:
        assert handle.pointer is not None
        objects[index] = None  # type: ignore[call-overload]
        gc.collect()
    assert handle.pointer is None


def test_interrupted_at_any_line(device: filtra.Device, monkeypatch: Any) -> None:
    """Ctrl-C while an object is made leaves nothing of it."""
    made, freed = [], []
    create, destroy = lib.filtra_graph_create, lib.unchecked("filtra_graph_destroy")
    monkeypatch.setattr(lib, "filtra_graph_create", lambda *a: made.append(1) or create(*a))
    monkeypatch.setitem(
        lib._unchecked, "filtra_graph_destroy", lambda *a: freed.append(1) or destroy(*a)
    )
    left = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        code = frame.f_code
        of_objects = code.co_filename.endswith("_object.py")
        if not of_objects or code.co_name not in ("_make", "_own", "need", "__init__"):
            return None
        if code.co_name == "_make":
            return trace
        left -= event == "line" and bool(made)
        if not left:
            left = -1
            raise KeyboardInterrupt
        return trace

    gc.collect()
    gc.freeze()  # what other tests have imported: the collections below take most of the time
    for count in range(1, 60):
        del made[:], freed[:]
        left, interrupted = count, False
        try:
            sys.settrace(trace)
            filtra.Graph(device)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(None)
        gc.collect()
        assert len(freed) == len(made) == 1, count
        assert not any(child.kind == "Graph" for child in device._handle.children)
        if not interrupted:
            break
    assert 10 < count < 59


def test_collected_in_a_circle() -> None:
    device = filtra.Device("cpu")
    arena = Arena(device)
    device.arena = arena  # type: ignore[attr-defined]
    handle = device._handle
    del device, arena
    gc.collect()
    assert handle.pointer is None


def test_collected_while_another_thread_is_within_a_call() -> None:
    device = filtra.Device("cpu")
    arena = Arena(device)
    handle = arena._handle
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with device._handle.gate:
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    del arena
    gc.collect()
    assert handle.pointer is not None  # waits
    done.set()
    thread.join()
    device.memory_used
    assert handle.pointer is None
    device.close()


def test_threads_share_a_device() -> None:
    failed = []
    with filtra.Device("cpu") as device:

        def work() -> None:
            try:
                for _ in range(50):
                    Arena(device).close()
                    device.memory_used
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed


def test_shared_calls_run_side_by_side() -> None:
    with filtra.Device("cpu") as device:
        both, used = threading.Barrier(2), []

        def meet(_: Any) -> None:
            both.wait(30)  # passes only if both are here
            used.append(device.memory_used)  # as a callback may

        def work() -> None:
            device._share(lambda _: device._share(meet))

        threads = [threading.Thread(target=work) for _ in range(2)]

        def start(_: Any) -> None:
            for thread in threads:
                thread.start()
            assert not used

        with device._handle.gate:
            device._share(start)
        for thread in threads:
            thread.join()
        assert used == [0, 0]
        assert device._share(_library.lib.filtra_device_memory_used) == 0

        arenas = [Arena(device)]
        handle = arenas[0]._handle

        def collect(_: Any) -> Any:
            arenas.clear()
            gc.collect()
            return handle.pointer

        assert device._share(collect) is not None
        device.memory_used
        assert handle.pointer is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_process_is_refused() -> None:
    with filtra.Device("cpu") as device:
        child = os.fork()
        if child == 0:
            try:
                device.memory_used
            except filtra.ForkError:
                with filtra.Device("cpu"):  # its own works
                    os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert device.memory_used == 0


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, text=True,
        capture_output=True, check=False, timeout=120,
    )


def test_import_loads_nothing() -> None:
    done = run("import filtra, sys; assert 'numpy' not in sys.modules; print(filtra.Device)",
               FILTRA_LIBRARY="/nowhere")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    Path(filtra.__file__).with_name(_library.NAME).exists(), reason="the package has its own"
)
def test_a_missing_library_is_said() -> None:
    done = run("import filtra; filtra.devices()", FILTRA_LIBRARY="/nowhere")
    assert "LibraryError: FILTRA_LIBRARY names /nowhere, where no" in done.stderr
    done = run("import filtra; filtra.devices()", FILTRA_LIBRARY=__file__)
    assert f"LibraryError: {__file__} cannot be loaded" in done.stderr


def test_ends_with_objects_open() -> None:
    done = run("import filtra; d = filtra.Device('cpu'); a = d; import gc; gc.disable()")
    assert done.returncode == 0 and not done.stderr, done.stderr


CTRL_C = """
import ctypes, os, signal, tempfile, threading
import filtra
from filtra import _c, _convert, _errors
from filtra._library import lib

filtra.devices()
called = _c.filtra_progress_fn(_errors.guarded(lambda user, done, total: True, False))
options = _convert.fill(_c.filtra_listops_options, progress=called, threads=1)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with _errors.interruptible():
        lib.filtra_listops_generate(tempfile.mkdtemp().encode(), ctypes.byref(options))
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_ctrl_c_ends_a_call() -> None:
    done = run(CTRL_C)
    assert done.stdout == "interrupted True\n" and not done.stderr, done.stderr


def test_named_wherever_one_is_taken() -> None:
    with filtra.Graph("cpu") as graph, filtra.Parameters(device="cpu") as parameters:
        assert graph._handle.parents == parameters._handle.parents  # the same device
    with pytest.raises(TypeError, match='a str such as "cpu", an index or None; not float'):
        filtra.Graph(1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not bool"):
        filtra.Graph(True)
    with pytest.raises(filtra.NoDeviceError, match="nothing-like-it"):
        filtra.Graph("nothing-like-it")
