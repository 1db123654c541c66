"""Kernels and mixers written in Python."""

from __future__ import annotations

import ctypes
import gc
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import _arrays, _c, _convert, kernel, ops
from filtra._library import lib
from filtra._object import Object

SOURCE = """#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint twice = 0;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant) uniform Push { F32 x; F32 y; uint count; float scale; } p;
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < p.count) p.y.v[i] = p.scale * p.x.v[i] * (twice == 1u ? 2.0 : 1.0);
}
"""


@pytest.fixture(scope="module")
def spirv(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if not shutil.which("glslc"):
        pytest.skip("glslc is not installed")
    folder: Path = tmp_path_factory.mktemp("kernel")
    (folder / "scale.comp").write_text(SOURCE)
    subprocess.run(
        ["glslc", "--target-env=vulkan1.3", "scale.comp", "-o", "scale.spv"], cwd=folder, check=True
    )
    return (folder / "scale.spv").read_bytes()


def scaled(x: filtra.Tensor, spirv: Any, factor: float) -> filtra.Tensor:
    """Twice factor * x, by the kernel, with its gradient."""

    def run(source: filtra.Tensor, backward: Any = None) -> filtra.Tensor:
        n = x.size
        y = filtra.kernel_output(x.graph, "scaled", x.shape)
        filtra.record_kernel(
            x.graph, "scale", spirv, [(source, "read"), (y, "write")], constants=[1],
            push=struct.pack("<If", n, factor), groups=(n + 63) // 64, backward=backward,
        )
        return y

    def backward() -> None:
        dy = filtra.kernel_gradient(y)
        if dy is not None and filtra.wants_gradient(x):
            filtra.add_gradient(x, run(dy))

    y = run(x, backward)
    return y


def test_kernel(device: filtra.Device, spirv: bytes) -> None:
    a = np.random.default_rng(1).normal(size=(9, 11)).astype(np.float32)
    g = filtra.Graph(device)
    x = g.input("x", a.shape, gradient=True)
    y = g.output(scaled(x, np.frombuffer(spirv, np.uint32), 1.5))
    g.backward(y)
    dx = g.gradient(x)
    assert dx is not None
    g.output(dx)
    g.compile()
    g.run({x: a})
    assert np.array_equal(y, 3 * a) and np.array_equal(dx, np.full_like(a, 3))
    assert kernel._entries
    del g, x, y, dx
    gc.collect()
    assert not kernel._entries and not kernel._borrowed


def test_what_backward_raises_is_raised(device: filtra.Device, spirv: bytes) -> None:
    def fail() -> None:
        raise LookupError("from within")

    with filtra.Graph(device) as g:
        x = g.input("x", (4,), gradient=True)
        y = filtra.kernel_output(g, "y", 4)
        filtra.record_kernel(
            g, "scale", spirv, [(x, "read"), (y, "write")], push=bytes(8), backward=fail
        )
        with pytest.raises(LookupError, match="from within"):
            g.backward(y)


def test_kernel_mistakes(device: filtra.Device, spirv: bytes) -> None:
    with filtra.Graph(device) as g:
        x, y = g.input("x", (4,)), filtra.kernel_output(g, "y", 4)
        both = [(x, "read"), (y, "write")]
        for wrong, message in (
            ({"arguments": [(x, "rw")]}, "access must be one of read, write, update"),
            ({"spirv": b"abc"}, "words of 4 bytes; got 3 bytes"),
            ({"push": "text"}, "push must be bytes"),
            ({"groups": (1, 2, 3, 4)}, "1 to 3 numbers"),
            ({"groups": -1}, "groups must be from 0"),
            ({"spirv": b"abcd" * 9}, "SPIR-V"),
        ):
            given: Any = {"spirv": spirv, "arguments": both, **wrong}
            with pytest.raises((TypeError, ValueError), match=message):
                filtra.record_kernel(g, "wrong", **given)


class Model(Object):
    """As much of a model as a mixer needs."""

    def __init__(self, device: filtra.Device, mixer: str, **config: Any) -> None:
        filled = _convert.fill(
            _c.filtra_model_config, mixer=mixer, vocabulary=11, classes=3, max_length=16, layers=2,
            width=8, seed=1, **config,
        )
        self._make(
            _c.filtra_model, "filtra_model_destroy", lib.filtra_model_create, device._pointer,
            ctypes.byref(filled), parents=[device],
        )

    @property
    def parameters(self) -> filtra.Parameters:
        return filtra.Parameters._borrowed(self._call(lib.filtra_model_parameters), self)

    def predict(self, tokens: Any) -> Any:
        rows = _arrays.array_of(tokens, _arrays.I32)
        lengths = np.full(len(rows), rows.shape[1], np.int32)
        batch = _convert.fill(
            _c.filtra_batch, size=len(rows), count=len(rows), length=rows.shape[1],
            tokens=_arrays.pointer(rows), lengths=_arrays.pointer(lengths),
        )
        out = _arrays.room(None, _arrays.F32, (len(rows), 3))
        self._call(lib.filtra_model_predict_batch, ctypes.byref(batch), _arrays.pointer(out))
        return out


seen: list[dict[str, Any]] = []


@filtra.mixer(
    "py_average",
    scale=filtra.MixerOption(1.0, 0, 10, help="factor on the mean"),
    rank=filtra.MixerOption(2, 1, 8),
    gated=filtra.MixerOption(False),
    kind=filtra.MixerOption("mean", names=("mean", "sum")),
)
def average(scope: filtra.Scope, x: filtra.MixerInput, **options: Any) -> filtra.Tensor:
    """Adds the mean of all tokens."""
    seen.append({"pass": scope.pass_, "heads": x.heads, "graph": scope.graph, **options})
    low = scope.linear("down", x.x, options["rank"])
    w = scope.parameter("up", (x.x.shape[-1], options["rank"]), init="constant", value=0.5)
    y = ops.mean(ops.linear(low, w), 1, keepdims=True) * options["scale"] + x.x
    return scope.output(x, y)


def test_mixer(device: filtra.Device) -> None:
    assert filtra.mixers()["py_average"] == "Adds the mean of all tokens."
    seen.clear()
    model = Model(device, '{"name": "py_average", "scale": 2, "kind": "sum", "gated": true}')
    assert model.parameters.shapes["layers.1.mixer.up"] == (8, 2)
    out = model.predict(np.ones((2, 16), np.int32))
    assert np.isfinite(out).all() and np.array_equal(out[0], out[1])
    first = {k: v for k, v in seen[0].items() if k != "graph"}
    assert first == {"pass": "whole", "heads": 2, "scale": 2, "rank": 2, "gated": True,
                     "kind": "sum"}
    with pytest.raises(filtra.ClosedError):
        seen[0]["graph"].constant(1, 1)


def test_mixer_options_are_checked(device: filtra.Device) -> None:
    with pytest.raises(ValueError, match="scale"):
        Model(device, '{"name": "py_average", "scale": 11}')
    with pytest.raises(ValueError, match="py_average"):
        filtra.mixer("py_average")(average)
    with pytest.raises(TypeError, match="wrong must be a filtra.MixerOption"):
        filtra.mixer("py_other", wrong=3)(average)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="default of k must be one of its names"):
        filtra.mixer("py_other", k=filtra.MixerOption("a", names=("b",)))(average)


class Fault(Exception):
    pass


@filtra.mixer("py_failing")
def failing(scope: filtra.Scope, x: filtra.MixerInput) -> Any:
    raise Fault("within the mixer")


@filtra.mixer("py_nothing")
def nothing(scope: filtra.Scope, x: filtra.MixerInput) -> Any:
    return None


@filtra.mixer("py_wrong_shape")
def wrong_shape(scope: filtra.Scope, x: filtra.MixerInput) -> Any:
    return ops.linear(x.x, x.x)


def test_what_mixers_raise_is_raised(device: filtra.Device) -> None:
    with pytest.raises(Fault, match="within the mixer"):
        Model(device, "py_failing")
    with pytest.raises(TypeError, match="what a mixer returns must be a Tensor, not NoneType"):
        Model(device, "py_nothing")
    with pytest.raises(ValueError, match="linear"):
        Model(device, "py_wrong_shape")
    Model(device, "softmax")  # nothing is left of it


@filtra.mixer("py_kernel", not_decoded="it is a test")
def with_kernel(
    scope: filtra.Scope, x: filtra.MixerInput, _spirv: list[bytes] = []
) -> tuple[filtra.Tensor, filtra.Tensor]:
    q, k, v = scope.qkv(x)
    y = ops.attention(q, k, v, mask=x.mask, causal=x.causal)
    y = ops.merge_heads(y)
    if _spirv:
        y = scaled(y, _spirv[0], 0.5)
    ortho = ops.pool_mean(y * y, x.mask)
    return scope.output(x, y), ops.mean(ortho, 1)


class Trainer(Object):
    def __init__(self, model: Model) -> None:
        self._make(
            _c.filtra_trainer, "filtra_trainer_destroy", lib.filtra_trainer_create, model._pointer,
            None, parents=[model],
        )

    def step(self, tokens: Any, labels: Any) -> None:
        rows, classes = _arrays.array_of(tokens, _arrays.I32), _arrays.array_of(labels, _arrays.I32)
        lengths, weights = np.full(len(rows), 16, np.int32), np.ones(len(rows), np.float32)
        batch = _convert.fill(
            _c.filtra_batch, size=len(rows), count=len(rows), length=16,
            tokens=_arrays.pointer(rows), lengths=_arrays.pointer(lengths),
            labels=_arrays.pointer(classes), weights=_arrays.pointer(weights),
        )
        self._call(lib.filtra_trainer_step, ctypes.byref(batch), None)

    def finish(self) -> float:
        metrics = _c.filtra_trainer_metrics()
        self._call(lib.filtra_trainer_finish, ctypes.byref(metrics))
        return float(metrics.loss)


def test_mixer_with_kernel_trains(device: filtra.Device, spirv: bytes) -> None:
    with_kernel.__defaults__[0].append(spirv)  # type: ignore[index]
    model = Model(device, "py_kernel")
    trainer = Trainer(model)
    rng = np.random.default_rng(1)
    tokens, labels = rng.integers(1, 11, (6, 16)), rng.integers(0, 3, 6)
    losses = []
    for _ in range(5):
        trainer.step(tokens, labels)
        losses.append(trainer.finish())
    assert losses[-1] < losses[0]
    model.close()
    assert trainer.closed
