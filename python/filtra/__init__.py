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
    from . import ops as ops
    from .device import Device as Device
    from .device import DeviceInfo as DeviceInfo
    from .device import devices as devices
    from .graph import Arena as Arena
    from .graph import Graph as Graph
    from .kernel import add_gradient as add_gradient
    from .kernel import kernel_gradient as kernel_gradient
    from .kernel import kernel_output as kernel_output
    from .kernel import record_kernel as record_kernel
    from .kernel import wants_gradient as wants_gradient
    from .mixing import MixerInput as MixerInput
    from .mixing import MixerOption as MixerOption
    from .mixing import Scope as Scope
    from .mixing import mixer as mixer
    from .mixing import mixers as mixers
    from .optimizer import Optimizer as Optimizer
    from .optimizer import OptimizerMetrics as OptimizerMetrics
    from .optimizer import ParameterGroup as ParameterGroup
    from .parameters import Parameters as Parameters
    from .tensor import Tensor as Tensor

_MODULES = {
    "device": ("Device", "DeviceInfo", "devices"),
    "graph": ("Arena", "Graph"),
    "kernel": (
        "add_gradient", "kernel_gradient", "kernel_output", "record_kernel", "wants_gradient",
    ),
    "mixing": ("MixerInput", "MixerOption", "Scope", "mixer", "mixers"),
    "optimizer": ("Optimizer", "OptimizerMetrics", "ParameterGroup"),
    "parameters": ("Parameters",),
    "tensor": ("Tensor",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Arena",
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
    "Graph",
    "HostMemoryError",
    "InputError",
    "LibraryError",
    "MixerInput",
    "MixerOption",
    "NoDeviceError",
    "NonfiniteError",
    "Optimizer",
    "OptimizerMetrics",
    "ParameterGroup",
    "Parameters",
    "PathError",
    "RankError",
    "Scope",
    "Tensor",
    "UnsupportedError",
    "add_gradient",
    "devices",
    "kernel_gradient",
    "kernel_output",
    "library_version",
    "mixer",
    "mixers",
    "ops",
    "record_kernel",
    "wants_gradient",
]


def library_version() -> str:
    """Return the version of the loaded library."""
    from ._library import lib

    version: bytes = lib.filtra_version()
    return version.decode()


def __getattr__(name: str) -> Any:
    """Import the module of a public name on first use."""
    import importlib  # here, so that importing the package takes no longer

    if name == "ops":
        return importlib.import_module(".ops", __name__)
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'filtra' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
