"""Devices: listing the Vulkan devices of this machine, and opening one."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any, Union

from . import _c, _convert
from ._library import lib
from ._object import Object

__all__ = ["Device", "DeviceInfo", "default_device", "devices"]


@dataclass(frozen=True)
class DeviceInfo:
    """Properties of a device.

    Attributes
    ----------
    index : int
        Position in `devices()`, accepted by ``Device(str(index))``.
    name, driver : str
        As the driver reports them.
    uuid : str
        8-4-4-4-12 lower-case hexadecimal digits.
    device_class : str
        "discrete", "integrated", "virtual", "cpu" or "other".
    usable : bool
        Whether it meets the requirements.
    reason : str
        Why it is not usable, or why it ranks where it does.
    memory_bytes, max_allocation_bytes, shared_memory_bytes : int
        Largest heap, largest buffer, and memory of a workgroup, in bytes.
    """

    index: int
    name: str
    driver: str
    uuid: str
    device_class: str
    vendor_id: int
    api_version: int
    usable: bool
    reason: str
    memory_bytes: int
    max_allocation_bytes: int
    max_workgroup_invocations: int
    shared_memory_bytes: int
    subgroup_size: int
    subgroup_size_min: int
    subgroup_size_max: int
    subgroup_arithmetic: bool
    int64: bool
    fp16: bool
    timestamps: bool
    memory_budget: bool
    pipeline_statistics: bool
    cooperative_matrix: bool


def devices() -> list[DeviceInfo]:
    """List all devices, usable or not, in order of preference.

    Raises
    ------
    NoDeviceError
        Where no Vulkan loader or driver is installed.
    """
    count = ctypes.c_uint32()
    lib.filtra_device_list(None, ctypes.byref(count))
    infos = (_c.filtra_device_info * count.value)()
    lib.filtra_device_list(infos, ctypes.byref(count))
    return [DeviceInfo(**_convert.values(info)) for info in infos[: count.value]]


class Device(Object):
    """An open device. Closing it closes all that was made on it.

    Parameters
    ----------
    select : str or int, optional
        An index, a UUID, part of a name or driver that one device has, or "cpu". Default: the
        environment variable FILTRA_DEVICE, else the best device, with a warning if that is a CPU.
    caps : str, optional
        Overrides of capabilities, "key=value" and "@profile" with commas between.
    cache_dir : path, optional
        Folder of the pipeline cache; "": none. Default: FILTRA_CACHE_DIR, else ~/.cache/filtra.
    tuning : path, optional
        File that ``filtra tune`` wrote; "": none. Default: this device's file in the cache folder.
    validation : bool
        Whether Vulkan's validation layer checks the library.

    Raises
    ------
    NoDeviceError
        Where no device is as requested; the message lists those there are.
    """

    def __init__(
        self,
        select: str | int | None = None,
        *,
        caps: str | None = None,
        cache_dir: _convert.OptionalPath = None,
        tuning: _convert.OptionalPath = None,
        validation: bool = False,
    ) -> None:
        if isinstance(select, int):
            select = str(_convert.whole(select, "select"))
        options = _convert.fill(
            _c.filtra_device_options,
            select=select or None,
            caps=caps,
            cache_dir=None if cache_dir is None else _convert.path(cache_dir, "cache_dir"),
            tuning=None if tuning is None else _convert.path(tuning, "tuning"),
            validation=validation,
        )
        self._make(
            _c.filtra_device, "filtra_device_close", lib.filtra_device_open, ctypes.byref(options)
        )

    @property
    def info(self) -> DeviceInfo:
        """Properties, with overrides applied."""
        return DeviceInfo(**_convert.values(self._call(lib.filtra_device_get_info).contents))

    @property
    def name(self) -> str:
        """The name that the driver reports."""
        return self.info.name

    @property
    def memory_used(self) -> int:
        """Bytes of device memory that are allocated."""
        return int(self._call(lib.filtra_device_memory_used))

    @property
    def validation_count(self) -> int:
        """Number of messages of the validation layer so far; 0 without it."""
        return int(self._call(lib.filtra_device_validation_count))

    def __deepcopy__(self, memo: Any) -> Device:
        """Return this: copies of an estimator share its device."""
        return self

    def __repr__(self) -> str:
        return f"<Device {'closed' if self.closed else self.name}>"


Where = Union[Device, str, int, None]
"""A device, what `Device` takes for `select`, or None for the default one."""
_shared: dict[tuple[int, str | None], Device] = {}


def _share(select: str | None) -> Device:
    """Return the device of that selection, which all share who name it; opened on first use.

    A process that was forked opens its own.
    """
    key = os.getpid(), select
    device = _shared.get(key)
    if device is None or device.closed:
        for other in [other for other in _shared if other[0] != key[0]]:
            del _shared[other]
        device = _shared[key] = Device(select)
    return device


def default_device() -> Device:
    """Return the device that is used where none is given: ``Device()``, opened on first use.

    A process that was forked opens its own.
    """
    return _share(None)


def device_of(value: Any) -> Device:
    """Return `value` if it is an open device, of None the default one, else the one it names."""
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)):
        return _share(None if value is None else str(value))
    if not isinstance(value, Device):
        raise TypeError(
            f'device must be a filtra.Device, a str such as "cpu", an index or None; not '
            f"{type(value).__name__}"
        )
    value._pointer  # noqa: B018  raises if it is closed
    return value
