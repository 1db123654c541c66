"""Ops that are layers: linear, norms, embeddings, attention and its filters."""

from __future__ import annotations

import ctypes
from typing import Any

from .. import _arrays, _c, _convert
from .._errors import ArgumentError
from .._library import lib
from ..graph import dtype_of, optional_pointer
from ..tensor import Tensor, tensor_pointer
from ._record import graph_of, rate_of, record


def linear_options(
    graph: Any, activation: str, dropout: float, residual: Tensor | None, dtype: Any
) -> Any:
    """Return the struct of options of a linear layer."""
    return _convert.fill(
        _c.filtra_linear_options,
        activation=activation,
        dropout=rate_of(dropout),
        residual=optional_pointer(graph, residual, "residual"),
        dtype=dtype_of(dtype),
    )


def linear(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    activation: str = "none",
    dropout: float = 0.0,
    residual: Tensor | None = None,
    dtype: Any = "f32",
) -> Tensor:
    """Compute residual + dropout(activation(x W^T + b)) in one kernel.

    Parameters
    ----------
    x : Tensor
        [.., in], dense.
    w : Tensor
        [out, in].
    b : Tensor, optional
        [out].
    activation : str
        As in `activate`.
    dropout : float
        Rate after the activation, in training.
    residual : Tensor, optional
        F32 [.., out], added last.
    dtype : str
        Of the result: "f32", or the operands' 16-bit type.
    """
    options = linear_options(graph_of(x, "x"), activation, dropout, residual, dtype)
    return record(lib.filtra_linear, {"x": x, "w": w, "b": b}, ctypes.byref(options))


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * gain + bias over the last axis; gain and bias [C]."""
    number = _convert.number(eps, "eps")
    return record(lib.filtra_layer_norm, {"x": x, "gain": gain, "bias": bias}, number)


def scale_norm(
    x: Tensor, gain: Tensor | None = None, eps: float = 1e-5, *, complex: bool = False
) -> Tensor:
    """Compute ``gain * x / (norm(x) + eps)``, with the norm over the last axis.

    Parameters
    ----------
    x : Tensor
        [.., C]; with `complex` [.., C, 2].
    gain : Tensor, optional
        [C].
    eps : float
    complex : bool
        A trailing axis of two holds real and imaginary parts.
    """
    number = _convert.number(eps, "eps")
    return record(lib.filtra_scale_norm, {"x": x, "gain": gain}, number, int(bool(complex)))


def embedding(table: Tensor, tokens: Tensor) -> Tensor:
    """Rows of a table [V, C] by tokens, I32 [B, N] -> [B, N, C]; tokens out of range give zeros."""
    return record(lib.filtra_embedding, {"table": table, "tokens": tokens})


def add_positions(x: Tensor, table: Tensor) -> Tensor:
    """Add row n of a table [M, C] to token n of x [B, N, C]; M at least N."""
    return record(lib.filtra_add_positions, {"x": x, "table": table})


def add_sinusoids(x: Tensor) -> Tensor:
    """Add fixed sine and cosine positions to x [B, N, C]; C at most 4,096."""
    return record(lib.filtra_add_sinusoids, {"x": x})


def split_heads(x: Tensor, heads: int) -> Tensor:
    """View [B, N, C] as [B, heads, N, C / heads]."""
    return record(lib.filtra_split_heads, {"x": x}, _convert.whole(heads, "heads", 1))


def merge_heads(x: Tensor) -> Tensor:
    """View [B, H, N, D], stored token by token, as [B, N, H D]."""
    return record(lib.filtra_merge_heads, {"x": x})


def _attention_options(
    graph: Any,
    causal: bool,
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float | None,
    dropout: float,
) -> Any:
    if scale == 0:
        raise ArgumentError("scale must not be 0; None is 1/sqrt(D)")
    return _convert.fill(
        _c.filtra_attention_options,
        causal=causal,
        mask=optional_pointer(graph, mask, "mask"),
        bias=optional_pointer(graph, bias, "bias"),
        scale=scale,
        dropout=rate_of(dropout),
    )


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """softmax(scale q k^T + bias) v, without a matrix of all scores.

    Parameters
    ----------
    q, k, v : Tensor
        [B, H, Nq, D], [B, H, Nk, D] and [B, H, Nk, Dv]; D and Dv at most 128.
    causal : bool
        Query i sees keys j <= i + (Nk - Nq).
    mask : Tensor, optional
        F32 [B, Nk]; above 0 keeps a key.
    bias : Tensor, optional
        F32 [Nq, Nk], [H, Nq, Nk] or [B, H, Nq, Nk], added to the scaled scores.
    scale : float, optional
        Default: 1 / sqrt(D).
    dropout : float
        Rate on the weights, in training.

    Returns
    -------
    Tensor
        [B, H, Nq, Dv], stored token by token.
    """
    options = _attention_options(graph_of(q, "q"), causal, mask, bias, scale, dropout)
    return record(lib.filtra_attention, {"q": q, "k": k, "v": v}, ctypes.byref(options))


def gfsa(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w0: Tensor | float = 0.0,
    w1: Tensor | float = 1.0,
    wK: Tensor | float = 0.0,
    *,
    order: int = 3,
    causal: bool = False,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Graph-filter self-attention (Choi et al. 2024).

    Parameters
    ----------
    q, k, v : Tensor
        As in `attention`, with as many queries as keys.
    w0, w1, wK : Tensor or float
        Weights of the identity, the attention and its power: [H], or one for all heads.
    order : int
        K, 1 to 32.
    causal, mask, bias, scale, dropout
        As in `attention`.
    """
    graph = graph_of(q, "q")
    weights = {"w0": w0, "w1": w1, "wK": wK}
    constants = {n: float(w) for n, w in weights.items() if not isinstance(w, Tensor)}
    tensors = {n: w if isinstance(w, Tensor) else None for n, w in weights.items()}
    options = _convert.fill(
        _c.filtra_gfsa_options,
        attention=_attention_options(graph, causal, mask, bias, scale, dropout),
        order=_convert.whole(order, "order", 1, 32),
        **constants,
    )
    return record(
        lib.filtra_gfsa, {"q": q, "k": k, "v": v, **tensors}, ctypes.byref(options)
    )


def plaplacian(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    p: Any = None,
    *,
    eps: float = 1e-3,
    diagonal: str = "eps",
    euler: bool = False,
    causal: bool = False,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """p-Laplacian attention (Nguyen et al. 2023).

    Parameters
    ----------
    q, k, v : Tensor
        As in `attention`; at most as many queries as keys.
    p : array_like of float, optional
        [H], each 1 to 10. Default: 1.5 for the first half of the heads, 2.5 for the others.
    eps : float
        Added to squared distances, 1e-12 to 1e6.
    diagonal : str
        Weight of a token with itself: "eps", "zero" or "one".
    euler : bool
        Add the weighted differences to the values.
    causal, mask, bias, scale, dropout
        As in `attention`.
    """
    graph = graph_of(q, "q")
    powers = None if p is None else _arrays.array_of(p, _arrays.F32, (q.shape[1],), "p")
    options = _convert.fill(
        _c.filtra_plaplacian_options,
        attention=_attention_options(graph, causal, mask, bias, scale, dropout),
        p=None if powers is None else _arrays.pointer(powers),
        eps=eps,
        diagonal=diagonal,
        euler=euler,
    )
    return record(lib.filtra_plaplacian, {"q": q, "k": k, "v": v}, ctypes.byref(options))


def agf(
    u: Tensor,
    s: Tensor | None,
    vv: Tensor,
    value: Tensor,
    coefficients: Tensor | None,
    *,
    mask: Tensor | None = None,
    basis: str = "jacobi",
    a: float = 0.0,
    b: float = 0.0,
    rho: str = "softmax",
    theta_mode: str = "tanh_fix0",
    variant: str = "filter",
    symmetric_domain: bool = False,
    ortho_padding: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attentive graph filter (Wi et al. 2025): (U * g(sigmoid(s))) (V^T value), in O(N D^2).

    Parameters
    ----------
    u, s, vv, value : Tensor
        [B, H, N, D] of one type; `s` may be None unless `variant` is "filter".
    coefficients : Tensor or None
        Raw coefficients [K + 1], K at most 32; for "svd" [H, D]; for "uv" None.
    mask : Tensor, optional
        F32 [B, N]; above 0 for real tokens.
    basis : str
        "jacobi", "legendre", "chebyshev", "chebyshev_t" or "monomial".
    a, b : float
        Parameters of Jacobi's polynomials.
    rho : str
        "softmax", "sigmoid", "tanh" or "none".
    theta_mode : str
        "tanh_fix0", "tanh" or "raw".
    variant : str
        "filter", "uv" or "svd".
    symmetric_domain : bool
        Evaluate the basis at 2 sigmoid(s) - 1.
    ortho_padding : bool
        The orthogonality loss includes padding.

    Returns
    -------
    y, ortho : Tensor
        [B, H, N, D], stored token by token, and the orthogonality loss of each sample [B].
    """
    graph = graph_of(u, "u")
    ortho = ctypes.POINTER(_c.filtra_tensor)()
    options = _convert.fill(
        _c.filtra_agf_options,
        mask=optional_pointer(graph, mask, "mask"),
        basis=basis,
        a=a,
        b=b,
        rho=rho,
        theta_mode=theta_mode,
        variant=variant,
        symmetric_domain=symmetric_domain,
        ortho=ctypes.pointer(ortho),
        ortho_padding=ortho_padding,
    )
    tensors = {"u": u, "s": s, "vv": vv, "value": value, "coefficients": coefficients}
    made = record(lib.filtra_agf, tensors, ctypes.byref(options))
    return made, Tensor(graph, ortho)


def gru(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    """One layer of gated recurrent units (Cho et al. 2014), with PyTorch's weights.

    Parameters
    ----------
    x : Tensor
        [B, N, C].
    w_ih, w_hh : Tensor
        [3 H, C] and [3 H, H]: reset, update and new gates; H at most 512.
    b_ih, b_hh : Tensor
        [3 H].

    Returns
    -------
    Tensor
        [B, N, H].
    """
    tensors = {"x": x, "w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh}
    pointers = {name: tensor_pointer(graph_of(x, "x"), t, name) for name, t in tensors.items()}
    return x.graph._op(lib.filtra_gru, *pointers.values())
