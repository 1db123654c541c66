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
    from .batches import Batch as Batch
    from .batches import Loader as Loader
    from .callbacks import TensorBoard as TensorBoard
    from .callbacks import WandB as WandB
    from .data import Dataset as Dataset
    from .data import Sample as Sample
    from .data import data_formats as data_formats
    from .device import Device as Device
    from .device import DeviceInfo as DeviceInfo
    from .device import default_device as default_device
    from .device import devices as devices
    from .estimators import FiltraClassifier as FiltraClassifier
    from .estimators import FiltraRegressor as FiltraRegressor
    from .generation import Generator as Generator
    from .generation import generate as generate
    from .generation import sample_token as sample_token
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
    from .model import Model as Model
    from .model import convert as convert
    from .optimizer import Optimizer as Optimizer
    from .optimizer import OptimizerMetrics as OptimizerMetrics
    from .optimizer import ParameterGroup as ParameterGroup
    from .parameters import Parameters as Parameters
    from .predictor import Predictor as Predictor
    from .results import ClassScores as ClassScores
    from .results import Evaluation as Evaluation
    from .results import Scores as Scores
    from .results import TrainerMetrics as TrainerMetrics
    from .results import scores as scores
    from .run import Run as Run
    from .run import RunProgress as RunProgress
    from .run import complete_config as complete_config
    from .run import describe_config as describe_config
    from .run import import_run as import_run
    from .run import measure as measure
    from .run import preset as preset
    from .run import presets as presets
    from .run import train as train
    from .series import FiltraTimeSeriesClassifier as FiltraTimeSeriesClassifier
    from .synthetic import generate_listops as generate_listops
    from .synthetic import generate_pathfinder as generate_pathfinder
    from .tensor import Tensor as Tensor
    from .tokenizer import Tokenizer as Tokenizer
    from .trainer import Callback as Callback
    from .trainer import StopTraining as StopTraining
    from .trainer import Trainer as Trainer

_MODULES = {
    "batches": ("Batch", "Loader"),
    "callbacks": ("TensorBoard", "WandB"),
    "data": ("Dataset", "Sample", "data_formats"),
    "device": ("Device", "DeviceInfo", "default_device", "devices"),
    "estimators": ("FiltraClassifier", "FiltraRegressor"),
    "generation": ("Generator", "generate", "sample_token"),
    "graph": ("Arena", "Graph"),
    "kernel": (
        "add_gradient", "kernel_gradient", "kernel_output", "record_kernel", "wants_gradient",
    ),
    "mixing": ("MixerInput", "MixerOption", "Scope", "mixer", "mixers"),
    "model": ("Model", "convert"),
    "optimizer": ("Optimizer", "OptimizerMetrics", "ParameterGroup"),
    "parameters": ("Parameters",),
    "predictor": ("Predictor",),
    "results": ("ClassScores", "Evaluation", "Scores", "TrainerMetrics", "scores"),
    "run": (
        "Run", "RunProgress", "complete_config", "describe_config", "import_run",
        "measure", "preset", "presets", "train",
    ),
    "series": ("FiltraTimeSeriesClassifier",),
    "synthetic": ("generate_listops", "generate_pathfinder"),
    "tensor": ("Tensor",),
    "tokenizer": ("Tokenizer",),
    "trainer": ("Callback", "StopTraining", "Trainer"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

# For `from filtra import *`: what needs NumPy alone, and so not the estimators.
__all__ = [
    "Arena",
    "ArgumentError",
    "Batch",
    "Callback",
    "CancelledError",
    "ClassScores",
    "ClosedError",
    "Dataset",
    "Device",
    "DeviceInfo",
    "DeviceLostError",
    "DeviceMemoryError",
    "Evaluation",
    "FileError",
    "FiltraError",
    "FiltraWarning",
    "ForkError",
    "Generator",
    "Graph",
    "HostMemoryError",
    "InputError",
    "LibraryError",
    "Loader",
    "MixerInput",
    "MixerOption",
    "Model",
    "NoDeviceError",
    "NonfiniteError",
    "Optimizer",
    "OptimizerMetrics",
    "ParameterGroup",
    "Parameters",
    "PathError",
    "Predictor",
    "RankError",
    "Run",
    "RunProgress",
    "Sample",
    "Scope",
    "Scores",
    "StopTraining",
    "Tensor",
    "TensorBoard",
    "Tokenizer",
    "Trainer",
    "TrainerMetrics",
    "UnsupportedError",
    "WandB",
    "add_gradient",
    "complete_config",
    "convert",
    "data_formats",
    "default_device",
    "describe_config",
    "devices",
    "generate",
    "generate_listops",
    "generate_pathfinder",
    "import_run",
    "kernel_gradient",
    "kernel_output",
    "library_version",
    "measure",
    "mixer",
    "mixers",
    "ops",
    "preset",
    "presets",
    "record_kernel",
    "sample_token",
    "scores",
    "train",
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
    if name == "__version__":
        return library_version()
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'filtra' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_WHERE})
