"""Filtra: Transformers with better graph filters than attention, on any Vulkan device.

The library is loaded on first use; importing the package is quick and needs no driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import (
    ArgumentError,
    CancelledError,
    ClosedError,
    DeviceLostError,
    DeviceMemoryError,
    FileError,
    FiltraError,
    FiltraWarning,
    ForkError,
    HostMemoryError,
    InputError,
    LibraryError,
    NoDeviceError,
    NonfiniteError,
    PathError,
    RankError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from .device import Device as Device
    from .device import DeviceInfo as DeviceInfo
    from .device import devices as devices

_WHERE = {"Device": "device", "DeviceInfo": "device", "devices": "device"}

__all__ = [
    "ArgumentError",
    "CancelledError",
    "ClosedError",
    "Device",
    "DeviceInfo",
    "DeviceLostError",
    "DeviceMemoryError",
    "FileError",
    "FiltraError",
    "FiltraWarning",
    "ForkError",
    "HostMemoryError",
    "InputError",
    "LibraryError",
    "NoDeviceError",
    "NonfiniteError",
    "PathError",
    "RankError",
    "UnsupportedError",
    "devices",
    "library_version",
]


def library_version() -> str:
    """Return the version of the loaded library."""
    from ._library import lib

    version: bytes = lib.filtra_version()
    return version.decode()


def __getattr__(name: str) -> Any:
    """Import the module of a public name on first use."""
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'filtra' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
