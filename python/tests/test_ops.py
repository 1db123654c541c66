"""Each op once, by what NumPy gives: that arguments arrive where they belong. The library's own
tests say whether the numbers are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import filtra
from filtra import ops

rng = np.random.default_rng(1)
X = rng.normal(size=(3, 4, 6)).astype(np.float32)  # [B, N, C]
Y = rng.normal(size=(3, 4, 6)).astype(np.float32)
M = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]], np.float32)  # [B, N]
W = rng.normal(size=(5, 6)).astype(np.float32)
Q = rng.normal(size=(2, 2, 4, 8)).astype(np.float32)  # [B, H, N, D]
K = rng.normal(size=(2, 2, 4, 8)).astype(np.float32)
V = rng.normal(size=(2, 2, 4, 8)).astype(np.float32)
LOGITS = rng.normal(size=(5, 4)).astype(np.float32)
LABELS = np.array([0, 3, 1, 2, 0], np.int32)
Z = rng.normal(size=(3, 4, 6, 2)).astype(np.float32)


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -np.log(softmax(logits)[np.arange(len(labels)), labels])


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def of(z: Any) -> Any:
    return z[..., 0] + 1j * z[..., 1]


def parts(z: Any) -> Any:
    return np.stack([z.real, z.imag], -1)


def norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any]] = {
    "add": (ops.add, (X, Y), X + Y),
    "subtract": (ops.subtract, (X, Y), X - Y),
    "multiply": (ops.multiply, (X, Y), X * Y),
    "divide": (ops.divide, (X, Y), X / Y),
    "broadcast": (ops.add, (X, Y[0, 0]), X + Y[0, 0]),
    "affine": (lambda x: ops.affine(x, 2, 3), (X,), 2 * X + 3),
    "operators": (lambda x, y: 1 - (-x + y * 3) / 2, (X, Y), 1 - (-X + Y * 3) / 2),
    "reverse": (lambda x: 2 / x + (3 - x) * 2 - 1, (X,), 2 / X + (3 - X) * 2 - 1),
    "powers": (lambda x: x**2 + (x * x) ** 0.5 + x**-1, (X,), X**2 + abs(X) + 1 / X),
    "matmul": (lambda x, w: ops.matmul(x, w, transpose_b=True, scale=2), (X[0], W), 2 * X[0] @ W.T),
    "matmul + residual": (lambda x, w, y: ops.matmul(x, w, transpose_b=True, residual=y),
                          (X[0], W, X[1, :, :1] + W[:, 0]), X[0] @ W.T + X[1, :, :1] + W[:, 0]),
    "operator @": (lambda x, w: x @ w, (X[0], W.T.copy()), X[0] @ W.T),
    "linear": (lambda x, w, b: ops.linear(x, w, b, activation="relu"), (X, W, W[:, 0]),
               np.maximum(X @ W.T + W[:, 0], 0)),
    "residual": (lambda x, w, r: ops.linear(x, w, residual=r), (X, W, (X @ W.T)), 2 * X @ W.T),
    "activate": (lambda x: ops.activate(x, "tanh"), (X,), np.tanh(X)),
    "cast": (lambda x: ops.cast(ops.cast(x, "f16"), "f32"), (X,), X.astype("f2")),
    "detach": (ops.detach, (X,), X),
    "dropout": (lambda x: ops.dropout(x, 0.5), (X,), X),
    "sum": (lambda x: ops.sum(x, 1), (X,), X.sum(1)),
    "mean": (lambda x: ops.mean(x, -1, keepdims=True), (X,), X.mean(-1, keepdims=True)),
    "max": (lambda x: ops.max(x, 0), (X,), X.max(0)),
    "softmax": (lambda x: ops.softmax(x, 1), (X,), softmax(X, 1)),
    "cumulative_sum": (lambda x: ops.cumulative_sum(x, 1), (X,), X.cumsum(1)),
    "reversed sum": (lambda x: ops.cumulative_sum(x, 1, reverse=True), (X,),
                     X[:, ::-1].cumsum(1)[:, ::-1]),
    "permute": (lambda x: ops.permute(x, (2, 0, -2)), (X,), X.transpose(2, 0, 1)),
    "transpose": (lambda x: ops.transpose(x, 0, 2), (X,), X.swapaxes(0, 2)),
    "reshape": (lambda x: x.reshape(3, -1), (X,), X.reshape(3, -1)),
    "gather": (lambda x, i: ops.gather(x, 1, i), (X, np.array([2, 0])), X[:, [2, 0]]),
    "argsort": (ops.argsort, (X[0],), (np.argsort(-X[0], 1) + 6 * np.arange(4)[:, None]).ravel()),
    "slice": (lambda x: ops.slice(x, (1, 0, 2), (2, 3, 4)), (X,), X[1:3, 0:3, 2:6]),
    "indices": (lambda x: x[-1, ..., 2:-1], (X,), X[-1, ..., 2:-1]),
    "concat": (lambda x, y: ops.concat([x, y], 1), (X, Y), np.concatenate([X, Y], 1)),
    "chunk": (lambda x: ops.add(*(ops.permute(c, (0, 1, 2)) for c in ops.chunk(x, 2))), (X,),
              X[..., :3] + X[..., 3:]),
    "token_mask": (ops.token_mask, (np.array([[3, 0], [1, 2]]),), [[1, 0], [1, 1]]),
    "length_mask": (lambda n: ops.length_mask(n, 4), (np.array([4, 2, 1]),), M),
    "mask_tokens": (ops.mask_tokens, (X, M), X * M[..., None]),
    "pool_mean": (ops.pool_mean, (X, M), (X * M[..., None]).sum(1) / M.sum(1)[:, None]),
    "pool over all": (lambda x, m: ops.pool_mean(x, m, over="all"), (X, M),
                      (X * M[..., None]).sum(1) / 4),
    "pool_first": (ops.pool_first, (X,), X[:, 0]),
    "pool_channels": (lambda x: ops.pool_channels(x, 2), (X,), X.reshape(3, 4, 2, 3).mean(-1)),
    "cross_entropy": (ops.cross_entropy, (LOGITS, LABELS), cross_entropy(LOGITS, LABELS)),
    "squared_error": (ops.squared_error, (X[0], Y[0]), ((X - Y)[0] ** 2).mean(1)),
    "absolute_error": (ops.absolute_error, (X[0], Y[0]), abs(X - Y)[0].mean(1)),
    "accuracy": (ops.accuracy, (LOGITS, LABELS), LOGITS.argmax(1) == LABELS),
    "top_k_accuracy": (lambda x, y: ops.top_k_accuracy(x, y, 4), (LOGITS, LABELS), np.ones(5)),
    "weighted_mean": (ops.weighted_mean, (LOGITS[:, 0], LABELS.astype("f4")),
                      [np.average(LOGITS[:, 0], weights=LABELS)]),
    "layer_norm": (ops.layer_norm, (X, W[0], W[1]), norm(X) * W[0] + W[1]),
    "scale_norm": (ops.scale_norm, (X, W[0]),
                   W[0] * X / (np.linalg.norm(X, axis=-1, keepdims=True) + 1e-5)),
    "embedding": (ops.embedding, (W, np.array([[1, 4], [0, 2]])), W[[[1, 4], [0, 2]]]),
    "add_positions": (ops.add_positions, (X, W), X + W[:4]),
    "add_sinusoids": (lambda x: ops.add_sinusoids(x)[:, 0], (X,), X[:, 0] + [0, 1, 0, 1, 0, 1]),
    "heads": (lambda x: ops.merge_heads(ops.split_heads(x, 2)), (X,), X),
    "attention": (lambda q, k, v: ops.attention(q, k, v), (Q, K, V), attention(Q, K, V)),
    "gfsa": (lambda q, k, v: ops.gfsa(q, k, v, 0.5, 2.0, 0.0), (Q, K, V),
             0.5 * V + 2 * attention(Q, K, V)),
    "plaplacian": (lambda q, k, v: ops.plaplacian(q, k, v, [2, 2]), (Q, K, V), attention(Q, K, V)),
    "fourier": (lambda x: ops.fourier(x, None), (X,), np.fft.fft(X, axis=1).real),
    "complex": (ops.complex, (X, Y), parts(X + 1j * Y)),
    "complex_parts": (ops.complex_parts, (Z,), [Z[..., 0], Z[..., 1]]),
    "unit_phase": (lambda x: ops.unit_phase(x, "turns"), (X,), parts(np.exp(2j * np.pi * X))),
    "complex_multiply": (ops.complex_multiply, (Z[:, :, 0], Z),
                         parts(of(Z[:, :, 0])[..., None] * of(Z))),
    "complex_blend": (ops.complex_blend, (Z, np.array([0.25], "f4")),
                      0.25 * Z[..., 0] + 0.75 * Z[..., 1]),
    "chebyshev": (lambda x, w: ops.chebyshev(x, w, [1, 1, 0.5]), (np.tanh(X), W[0, :3]),
                  np.polynomial.chebyshev.chebval(np.tanh(X), W[0, :3] * [1, 1, 0.5])),
    "chebyshev_loss": (lambda w: ops.chebyshev_loss(w, 2), (W[0, :3],),
                       [np.pi * (W[0, 1] ** 2 + 4 * W[0, 2] ** 2)] * 2),
    "dhhp": (lambda z, a: ops.dhhp(*([z] + [ops.givens(a, a, a)] * 2)), (Z, np.zeros((3, 3))), Z),
    "affine_scan": (ops.affine_scan, (np.zeros((3, 4, 2)), Z), Z),
}


@pytest.mark.parametrize("name", CASES)
def test_op(name: str, evaluate: Callable[..., Any]) -> None:
    function, arrays, expected = CASES[name]
    arrays = tuple(a.astype(np.int32 if a.dtype.kind == "i" else np.float32) for a in arrays)
    made = evaluate(function, *arrays)
    if not isinstance(made, list):
        made, expected = [made], [expected]
    for value, wanted in zip(made, expected):
        assert value.shape == np.shape(wanted)
        np.testing.assert_allclose(value, wanted, rtol=2e-4, atol=2e-5)


def test_agf(evaluate: Callable[..., Any]) -> None:
    uv = evaluate(lambda u, v, x: ops.agf(u, None, v, x, None, variant="uv"), Q, K, V)
    expected = softmax(Q) @ softmax(K, -2).swapaxes(-1, -2) @ V
    np.testing.assert_allclose(uv[0], expected, rtol=1e-4, atol=1e-5)
    assert uv[1].shape == (2,) and (uv[1] > 0).all()


def test_gru(evaluate: Callable[..., Any]) -> None:
    h, x = 3, rng.normal(size=(2, 1, 4)).astype(np.float32)
    w_ih, w_hh = rng.normal(size=(9, 4)), rng.normal(size=(9, 3))
    b_ih, b_hh = rng.normal(size=9), rng.normal(size=9)
    made = evaluate(ops.gru, x, *(a.astype(np.float32) for a in (w_ih, w_hh, b_ih, b_hh)))
    gates = x[:, 0] @ w_ih.T + b_ih
    r, z = (1 / (1 + np.exp(-(gates + b_hh)[:, i * h : (i + 1) * h])) for i in (0, 1))
    n = np.tanh(gates[:, 2 * h :] + r * b_hh[2 * h :])
    np.testing.assert_allclose(made[:, 0], (1 - z) * n, rtol=1e-4, atol=1e-5)


def test_dropout_in_training(evaluate: Callable[..., Any]) -> None:
    made = evaluate(lambda x: ops.dropout(x, 0.5), np.ones((64, 64), "f4"), training=True)
    assert set(np.unique(made)) == {0, 2} and 0.4 < (made > 0).mean() < 0.6


def test_gibbs_factors() -> None:
    np.testing.assert_allclose(ops.gibbs_factors("fejer", 3), [1, 0.75, 0.5, 0.25], rtol=1e-6)
    with pytest.raises(ValueError, match="kernel must be one of dirichlet, fejer"):
        ops.gibbs_factors("nonesuch", 3)


def test_every_op_is_listed() -> None:
    assert all(callable(getattr(ops, name)) for name in ops.__all__)
    assert filtra.ops is ops
