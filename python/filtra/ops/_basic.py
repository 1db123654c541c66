"""Ops on elements and axes, products, masks, pooling and losses."""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Sequence
from typing import Any

from .. import _c, _convert
from .._errors import ArgumentError
from .._library import lib
from ..graph import dtype_of, optional_pointer, tensor_array
from ..tensor import Tensor, axis_of, tensor_pointer
from ._record import graph_of, rate_of, record


def matmul(
    a: Tensor,
    b: Tensor,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    scale: float = 1.0,
    token_major: bool = False,
    dtype: Any = "f32",
    residual: Tensor | None = None,
) -> Tensor:
    """Multiply matrices: [.., M, K] x [.., K, N] -> [.., M, N], with equal batch dimensions.

    Parameters
    ----------
    a, b : Tensor
        2 to 4 dimensions; F32, F16 or BF16. Sums are F32.
    transpose_a, transpose_b : bool
        `a` is [.., K, M]; `b` is [.., N, K].
    scale : float
        Factor on the result, not 0.
    token_major : bool
        A result [B, H, M, N] is stored [B, M, H, N], ready for `merge_heads`.
    dtype : str
        Of the result: "f32", or the operands' 16-bit type.
    residual : Tensor, optional
        F32 [.., M, N], added last; then the result is F32 and not `token_major`.
    """
    if scale == 0:
        raise ArgumentError("scale must not be 0")
    options = _convert.fill(
        _c.filtra_matmul_options, transpose_a=transpose_a, transpose_b=transpose_b, scale=scale,
        token_major=token_major, dtype=dtype_of(dtype),
        residual=optional_pointer(graph_of(a, "a"), residual, "residual"),
    )
    return record(lib.filtra_matmul, {"a": a, "b": b}, ctypes.byref(options))


def cast(x: Tensor, dtype: Any) -> Tensor:
    """Convert F32 to "f16" or "bf16", rounding to nearest, or back to "f32"."""
    return record(lib.filtra_cast, {"x": x}, dtype_of(dtype))


def detach(x: Tensor) -> Tensor:
    """View the same elements as a constant: no gradient flows through it."""
    return record(lib.filtra_detach, {"x": x})


def add(a: Tensor, b: Tensor) -> Tensor:
    """Add element by element, with NumPy's broadcasting."""
    return record(lib.filtra_add, {"a": a, "b": b})


def subtract(a: Tensor, b: Tensor) -> Tensor:
    """Subtract element by element, with NumPy's broadcasting."""
    return record(lib.filtra_subtract, {"a": a, "b": b})


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """Multiply element by element, with NumPy's broadcasting."""
    return record(lib.filtra_multiply, {"a": a, "b": b})


def divide(a: Tensor, b: Tensor) -> Tensor:
    """Divide element by element, with NumPy's broadcasting."""
    return record(lib.filtra_divide, {"a": a, "b": b})


def affine(x: Tensor, scale: float = 1.0, offset: float = 0.0) -> Tensor:
    """Compute scale * x + offset."""
    scale, offset = _convert.number(scale, "scale"), _convert.number(offset, "offset")
    return record(lib.filtra_affine, {"x": x}, scale, offset)


def activate(x: Tensor, activation: str) -> Tensor:
    """Apply a function to each element.

    "relu", "gelu", "gelu_tanh", "sin", "tanh", "softplus", "softplus5", "leaky_relu", "sigmoid",
    "exp", "log", "sqrt", "reciprocal" or "elu".
    """
    kind = _convert.choice(_c.filtra_activation, activation, "activation")
    return record(lib.filtra_activate, {"x": x}, kind)


def dropout(x: Tensor, rate: float) -> Tensor:
    """Zero elements at that rate in training, and scale the others by 1 / (1 - rate)."""
    return record(lib.filtra_dropout, {"x": x}, rate_of(rate, "rate"))


def sum(x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
    """Sum along an axis, which is dropped unless it is the only one or `keepdims` is set."""
    graph_of(x, "x")
    return x.sum(axis, keepdims)


def mean(x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
    """Mean along an axis, as `sum`."""
    graph_of(x, "x")
    return x.mean(axis, keepdims)


def max(x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
    """Largest element along an axis, as `sum`; NaN counts as largest."""
    graph_of(x, "x")
    return x.max(axis, keepdims)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x - max) / sum exp(x - max) along an axis."""
    graph_of(x, "x")
    return record(lib.filtra_softmax, {"x": x}, axis_of(x, axis))


def cumulative_sum(x: Tensor, axis: int, *, reverse: bool = False) -> Tensor:
    """Sum of all elements up to each along an axis, or from each on with `reverse`."""
    graph_of(x, "x")
    return record(lib.filtra_cumulative_sum, {"x": x}, axis_of(x, axis), int(bool(reverse)))


def permute(x: Tensor, order: Sequence[int]) -> Tensor:
    """Make a dense copy whose axis i is axis order[i] of x."""
    graph_of(x, "x")
    axes = [axis_of(x, axis, "order") for axis in order]
    if sorted(axes) != list(range(x.ndim)):
        raise ArgumentError(f"order must name each of {x.ndim} axes once; got {list(order)}")
    return record(lib.filtra_permute, {"x": x}, (ctypes.c_int * x.ndim)(*axes))


def transpose(x: Tensor, first: int = -2, second: int = -1) -> Tensor:
    """Make a dense copy with two axes exchanged."""
    graph_of(x, "x")
    return x.transpose(first, second)


def gather(x: Tensor, axis: int, indices: Tensor) -> Tensor:
    """Take slices of x along an axis by `indices`, I32 [K]; an index out of range gives zeros."""
    graph = graph_of(x, "x")
    chosen = tensor_pointer(graph, indices, "indices")
    return record(lib.filtra_gather, {"x": x}, axis_of(x, axis), chosen)


def argsort(x: Tensor, mask: Tensor | None = None, *, inverse: bool = False) -> Tensor:
    """Indices I32 [B N] that sort each row of x [B, N] in descending order, for `gather`.

    Parameters
    ----------
    x : Tensor
        [B, N], N at most 65,536.
    mask : Tensor, optional
        [B, N]; elements whose mask is not above 0 come last.
    inverse : bool
        Return the order that puts sorted elements back.
    """
    return record(lib.filtra_argsort, {"x": x, "mask": mask}, int(bool(inverse)))


def slice(x: Tensor, start: Sequence[int], shape: Sequence[int]) -> Tensor:
    """Copy the elements start[i] .. start[i] + shape[i] - 1 along each axis i."""
    graph_of(x, "x")
    if len(start) != x.ndim or len(shape) != x.ndim:
        raise ArgumentError(f"start and shape must have {x.ndim} numbers, one for each axis")
    begin = (ctypes.c_int64 * x.ndim)(*(_convert.whole(n, "start") for n in start))
    size = (ctypes.c_int64 * x.ndim)(*(_convert.whole(n, "shape") for n in shape))
    return record(lib.filtra_slice, {"x": x}, begin, size)


def concat(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenate 1 to 8 tensors along an axis; their other axes must agree."""
    if not 1 <= len(tensors) <= 8:
        raise ArgumentError(f"tensors must be 1 to 8; got {len(tensors)}")
    graph = graph_of(tensors[0], "tensors")
    pointers = tensor_array([tensor_pointer(graph, t, "tensors") for t in tensors])
    return graph._op(lib.filtra_concat, axis_of(tensors[0], axis), len(tensors), pointers)


def chunk(x: Tensor, count: int) -> list[Tensor]:
    """Cut the last axis into equal chunks, which are views.

    When gradients are wanted, no other op may use x.
    """
    graph = graph_of(x, "x")
    count = _convert.whole(count, "count", 1, builtins.max(x.shape[-1], 1))
    made = (ctypes.POINTER(_c.filtra_tensor) * count)()
    graph._call(lib.filtra_chunk, tensor_pointer(graph, x, "x"), count, made)
    if not all(made):
        graph._fail()
    return [Tensor(graph, pointer) for pointer in made]


def token_mask(tokens: Tensor) -> Tensor:
    """F32 [B, N]: 1 where tokens, I32 [B, N], are not 0, else 0."""
    return record(lib.filtra_token_mask, {"tokens": tokens})


def length_mask(lengths: Tensor, n: int) -> Tensor:
    """F32 [B, n]: 1 before lengths[b], I32 [B], else 0."""
    return record(lib.filtra_length_mask, {"lengths": lengths}, _convert.whole(n, "n", 1))


def mask_tokens(x: Tensor, mask: Tensor) -> Tensor:
    """Set tokens of x [B, N, C] whose mask [B, N] is not above 0 to zero."""
    return record(lib.filtra_mask_tokens, {"x": x, "mask": mask})


def pool_mean(x: Tensor, mask: Tensor | None = None, *, over: str = "mask") -> Tensor:
    """Mean over tokens: x [B, N, C], mask [B, N] -> [B, C].

    `over` is what the sum of real tokens is divided by: their number, "mask", or N, "all".
    """
    kind = _convert.choice(_c.filtra_mean_over, over, "over")
    return record(lib.filtra_pool_mean, {"x": x, "mask": mask}, kind)


def pool_first(x: Tensor) -> Tensor:
    """Take the first token: [B, N, C] -> [B, C]."""
    return record(lib.filtra_pool_first, {"x": x})


def pool_channels(x: Tensor, bins: int) -> Tensor:
    """Average-pool the last axis to `bins` numbers, at most 32,768."""
    return record(lib.filtra_pool_channels, {"x": x}, _convert.whole(bins, "bins", 1, 32768))


def cross_entropy(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of logits [R, K] and labels, I32 [R] -> [R]; a label outside of [0, K): 0."""
    rate = rate_of(smoothing, "smoothing")
    return record(lib.filtra_cross_entropy, {"logits": logits, "labels": labels}, rate)


def binary_cross_entropy(
    logits: Tensor, targets: Tensor, weights: Tensor | None = None
) -> Tensor:
    """Cross-entropy of K labels that may each apply: the mean over them, [R, K] -> [R].

    `targets` are 0 or 1, `weights` [R, K] their weights; neither has a gradient.
    """
    return record(
        lib.filtra_binary_cross_entropy,
        {"logits": logits, "targets": targets, "weights": weights},
    )


def squared_error(x: Tensor, y: Tensor) -> Tensor:
    """Mean over the last axis of (x - y)^2: [R, K] -> [R]. No gradient for y."""
    return record(lib.filtra_squared_error, {"x": x, "y": y})


def absolute_error(x: Tensor, y: Tensor) -> Tensor:
    """Mean over the last axis of the absolute value of x - y: [R, K] -> [R]. No gradient for y."""
    return record(lib.filtra_absolute_error, {"x": x, "y": y})


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """[R]: 1 where the first largest of logits[r] is labels[r], else 0."""
    return record(lib.filtra_accuracy, {"logits": logits, "labels": labels})


def top_k_accuracy(logits: Tensor, labels: Tensor, k: int) -> Tensor:
    """[R]: 1 where labels[r] is among the k largest of logits[r], else 0."""
    number = _convert.whole(k, "k", 1)
    return record(lib.filtra_top_k_accuracy, {"logits": logits, "labels": labels}, number)


def weighted_mean(x: Tensor, weights: Tensor | None = None) -> Tensor:
    """Weighted mean of x [R] -> [1]; without weights the mean."""
    return record(lib.filtra_weighted_mean, {"x": x, "weights": weights})
