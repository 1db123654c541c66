"""Graphs, parameters and optimizers."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import ops

A = np.random.default_rng(1).normal(size=(8, 16)).astype(np.float32)


class Line:
    """y = x w, and the mean of its squares."""

    def __init__(self, device: filtra.Device, **options: Any) -> None:
        self.params = filtra.Parameters(device)
        self.g = g = filtra.Graph(device, **options)
        self.x = g.input("x", (8, 16), gradient=True)
        self.w = g.parameter(self.params, "w", (4, 16), init="normal", value=0.1, decay=True)
        self.y = g.output(ops.linear(self.x, self.w))
        self.loss = g.output(ops.weighted_mean(ops.sum(self.y**2, 1)))
        g.backward(self.loss)
        dx = g.gradient(self.x)
        assert dx is not None
        self.dx = g.output(dx)
        self.params.commit(seed=1)


def test_runs_and_differentiates(device: filtra.Device) -> None:
    line = Line(device)
    line.g.compile()
    assert line.g.activation_bytes > 0
    line.g.run({line.x: A})
    w = line.params["w"]
    np.testing.assert_allclose(np.asarray(line.y), A @ w.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(line.dx), A @ w.T @ w / 4, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        line.params.gradient("w"), (A @ w.T).T @ A / 4, rtol=1e-4, atol=1e-4
    )
    assert np.array_equal(np.from_dlpack(line.y), line.y.numpy())
    assert np.array_equal(np.asarray(line.w), w)
    ticket = line.g.submit()
    line.g.wait(ticket)
    assert line.g.done(ticket)


def test_reads_into_an_array(device: filtra.Device) -> None:
    line = Line(device)
    line.g.compile()
    line.g.run({"x": A})
    out = np.empty((8, 4), np.float32)
    assert line.g.get(line.y, out) is out and np.array_equal(out, line.y)
    for wrong, message in (
        (out.T, "shape"), (np.empty((8, 8), np.float32)[:, ::2], "dense"),
        (np.empty((8, 4)), "type float32"), ([1], "numpy.ndarray"),
    ):
        with pytest.raises((ValueError, TypeError), match=f"out must .*{message}"):
            line.g.get(line.y, wrong)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out must be writable"):
        line.g.get(line.y, out)


def test_parameters_are_a_mapping(device: filtra.Device, tmp_path: Path) -> None:
    line = Line(device)
    params = line.params
    assert list(params) == ["w"] and len(params) == 1 and params.shapes == {"w": (4, 16)}
    assert params.scalars == 64 and "w" in params and "v" not in params
    assert params.get("v") is None and repr(params) == "<Parameters {'w': (4, 16)}>"
    new = np.arange(64, dtype=np.float64).reshape(4, 16)
    params["w"] = new
    assert np.array_equal(params["w"], new)
    params.save(tmp_path / "w.safetensors")
    params["w"] = new[::-1]  # not dense
    assert np.array_equal(params["w"], new[::-1])
    params["w"] = np.asfortranarray(new + 1)
    assert np.array_equal(params["w"], new + 1)
    params.load(tmp_path / "w.safetensors")
    assert np.array_equal(params["w"], new)
    with pytest.raises(KeyError):
        params["v"]
    with pytest.raises(ValueError, match=r"w must have the shape \[4, 16\]; got \[16, 4\]"):
        params["w"] = new.T
    with pytest.raises(TypeError, match="cannot be deleted"):
        del params["w"]
    with pytest.raises(OSError, match="nowhere"):
        params.load(tmp_path / "nowhere")


def test_optimizer(device: filtra.Device, tmp_path: Path) -> None:
    line = Line(device, training=True)
    optimizer = filtra.Optimizer(
        line.params, learning_rate=0.05, clip_norm=1,
        groups=[filtra.ParameterGroup("w", rate_scale=2)],
    )
    optimizer.watch_loss(line.g, line.loss)
    line.g.compile()
    line.g.set_step(1, 0)
    losses = []
    for step in range(20):
        line.g.run({line.x: A})
        optimizer.step()
        losses.append(optimizer.finish().loss)
        if step == 9:
            optimizer.save(tmp_path / "state")
    assert losses[-1] < losses[0] / 10 and optimizer.step_count == 20
    optimizer.restore(tmp_path / "state")
    again = []
    for _ in range(10):
        line.g.run({line.x: A})
        optimizer.step()
        again.append(optimizer.finish().loss)
    assert again == losses[10:]
    line.g.run()
    line.params.set_gradient("w", np.zeros((4, 16)))
    optimizer.accumulate(0.5)
    optimizer.discard()
    optimizer.set_learning_rate(0.01)
    line.g.run({line.x: np.full_like(A, np.nan)})
    optimizer.step()
    with pytest.raises(FloatingPointError):
        optimizer.finish()
    optimizer.close()
    assert line.g.closed and not line.params.closed


def test_loss_scale(device: filtra.Device) -> None:
    params = filtra.Parameters(device)
    g = filtra.Graph(device)
    w = g.parameter(params, "w", (4,), init="constant", value=1)
    loss = g.output(ops.weighted_mean(w * w))
    params.commit()
    optimizer = filtra.Optimizer(params, loss_scale=8)
    scale = optimizer.loss_scale(g)
    assert scale is not None
    g.backward(loss, [scale])
    g.compile()
    g.run()
    np.testing.assert_allclose(params.gradient("w"), np.full(4, 4.0))
    assert filtra.Optimizer(params).loss_scale(g) is None


def test_copies_arenas_and_constants(device: filtra.Device) -> None:
    arena = filtra.Arena(device)
    params = filtra.Parameters(device)
    g = filtra.Graph(device, arena=arena, slots=1)
    g.parameter(params, "w", 4, init="constant", value=1.5, copy="bf16")
    y = g.output(ops.cast(g.parameter_copy(params, "w"), np.float32) + g.constant((4,), 1))
    params.commit(trainable=False)
    g.compile()
    g.run()
    assert np.array_equal(y, [2.5] * 4)
    arena.close()
    assert g.closed


def test_bf16_is_read_as_numbers(device: filtra.Device) -> None:
    g = filtra.Graph(device)
    y = g.output(ops.cast(g.constant((3,), -1.5), "bf16"))
    g.compile()
    g.run()
    assert np.array_equal(y, [-1.5] * 3) and np.asarray(y).dtype == np.float32
    assert np.from_dlpack(y)[0] == -1.5
    assert g.get(y)[0] == 0xBFC0


def test_many_graphs_leave_nothing(device: filtra.Device) -> None:
    gc.collect()
    before = device.memory_used
    for _ in range(50):
        line = Line(device)
        line.g.compile()
        line.g.run({line.x: A})
    del line
    gc.collect()
    assert device.memory_used == before


def test_mistakes_are_said(device: filtra.Device) -> None:
    line = Line(device)
    g, x = line.g, line.x
    with pytest.raises(ValueError, match="only outputs and parameters can be read"):
        np.asarray(x)
    with pytest.raises(TypeError, match="no truth value"):
        bool(x)
    with pytest.raises(TypeError, match="is no sequence"):
        list(x)
    with pytest.raises(TypeError, match="has to be an input"):
        x + A
    with pytest.raises(TypeError, match="must be a number, not 'a'"):
        x + "a"  # type: ignore[operator]
    with pytest.raises(ZeroDivisionError):
        x / 0
    with pytest.raises(ValueError, match="the power must be 2"):
        x**3
    with pytest.raises(ValueError, match="axis must be from -2 to 1; got 2"):
        ops.sum(x, 2)
    with pytest.raises(ValueError, match="step 1"):
        x[::2]
    with pytest.raises(ValueError, match="index must be from -8 to 7"):
        x[8]
    with pytest.raises(TypeError, match="w must be a Tensor, not ndarray"):
        ops.linear(x, A)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dtype must be one of f32, i32"):
        g.input("c", (2,), "c64")
    for shape in ((), (1, 2, 3, 4, 5), (-1, 2)):
        with pytest.raises(ValueError, match="shape must"):
            g.input("s", shape)
    with pytest.raises(TypeError, match="must be a whole number, not 2.5"):
        g.input("s", (2.5, 1))  # type: ignore[arg-type]
    with filtra.Graph(device) as other, pytest.raises(ValueError, match="another graph"):
        ops.add(other.input("o", (8, 16)), x)
    with pytest.raises(filtra.ClosedError, match="this Graph is closed"):
        ops.activate(other.input("o", (8, 16)), "relu")
    g.compile()
    with pytest.raises(ValueError, match=r"data must have the shape \[8, 16\]; got \[16, 8\]"):
        g.set(x, A.T)
    with pytest.raises(TypeError, match="Python objects"):
        g.set(x, A.astype(object))
    with pytest.raises(TypeError, match="complex"):
        g.set(x, A.astype(complex))
    with pytest.raises(TypeError, match="lists of equal lengths"):
        g.set(x, [[1], [1, 2]])
    with pytest.raises(ValueError, match="beyond the range of float32"):
        g.set(x, np.full((8, 16), 1e300))
    with pytest.raises(ValueError, match="masked"):
        g.set(x, np.ma.masked_array(A, A > 0))
    with pytest.raises(ValueError, match="has no input 'z'; its inputs: x"):
        g.run({"z": A})
    g.run({x: np.asfortranarray(A)})
    assert np.array_equal(line.y, np.asarray(line.y))
    with pytest.raises(ValueError, match="a copy"):
        line.y.__array__(copy=False)
    g.close()
    for attempt in (g.compile, g.run, lambda: np.asarray(line.y), lambda: x + 1):
        with pytest.raises(filtra.ClosedError):
            attempt()


def test_whole_numbers_must_fit(device: filtra.Device) -> None:
    with filtra.Graph(device) as g:
        t = g.input("t", (3,), "i32")
        y = g.output(ops.gather(g.constant((4,), 1), 0, t))
        g.compile()
        with pytest.raises(TypeError, match="must be numbers of type int32, not fractions"):
            g.set(t, [1.5, 0, 0])
        with pytest.raises(ValueError, match="from -2147483648 to 2147483647; has 2147483648"):
            g.set(t, np.array([1 << 31, 0, 0]))
        g.run({t: np.array([0, 9, 1], np.uint64)})
        assert np.array_equal(y, [1, 0, 1])


def test_inputs_have_names_of_their_own(device: filtra.Device) -> None:
    with filtra.Graph(device) as g:
        x = g.input("x", (2,))
        with pytest.raises(filtra.ArgumentError, match="the graph has an input 'x': a name is of"):
            g.input("x", (3,))
        y = g.output(x + g.input("z", (2,)))  # the graph can go on
        g.compile()
        g.run({"x": [1, 2], "z": [3, 4]})
        assert np.array_equal(y, [4, 6])


def test_bf16_is_given_as_uint16(device: filtra.Device) -> None:
    with filtra.Graph(device) as g:
        x = g.input("x", (3,), "bf16")
        y = g.output(ops.cast(x, "f32"))
        g.compile()
        halves = (np.array([1, 2, -1.5], np.float32).view(np.uint32) >> 16).astype(np.uint16)
        g.run({x: halves})
        assert np.array_equal(y, [1, 2, -1.5])
        for wrong in ([1, 2, 3], np.arange(3), np.arange(3, dtype=np.uint8), np.ones(3, bool),
                      np.ones(3, np.float32), np.ones(3, np.int16)):
            with pytest.raises(TypeError, match="data of a bf16 input must be uint16, the upper"):
                g.set("x", wrong)


def test_first_error_stays(device: filtra.Device) -> None:
    with filtra.Graph(device) as g:
        x = g.input("x", (3, 4))
        with pytest.raises(ValueError, match="linear"):
            ops.linear(x, g.input("w", (3, 5)))
        with pytest.raises(ValueError, match="linear"):
            g.compile()


def test_indexed_by_what_is_no_index(device: filtra.Device) -> None:
    with filtra.Graph(device) as g, pytest.raises(TypeError, match="index must be a whole number"):
        g.input("x", (4, 3))[np.array([0, 1])]
