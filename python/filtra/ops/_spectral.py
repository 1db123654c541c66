"""Fourier transforms, complex tensors, Chebyshev polynomials and unitary transforms of tokens.

A trailing axis of two holds real and imaginary parts.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .. import _arrays, _c, _convert
from .._errors import ArgumentError
from .._library import lib
from ..graph import optional_pointer
from ..tensor import Tensor, tensor_pointer
from ._record import graph_of, record


def fourier(
    cosine: Tensor | None, sine: Tensor | None, lengths: Tensor | None = None
) -> Tensor:
    """Discrete Fourier transform along the tokens of each sequence, in real arithmetic.

    Row k is the sum over n < L of cos(2 pi n k / L) cosine_n + sin(2 pi n k / L) sine_n.

    Parameters
    ----------
    cosine, sine : Tensor or None
        [B, N, C]; one may be None.
    lengths : Tensor, optional
        L, F32 [B], whole numbers; None: N.
    """
    graph = graph_of(sine if cosine is None else cosine, "cosine")
    return graph._op(
        lib.filtra_fourier, optional_pointer(graph, cosine, "cosine"),
        optional_pointer(graph, sine, "sine"), optional_pointer(graph, lengths, "lengths"),
    )


def complex(re: Tensor, im: Tensor | None = None) -> Tensor:
    """re + i im: [..] -> [.., 2]."""
    return record(lib.filtra_complex, {"re": re, "im": im})


def complex_parts(z: Tensor) -> tuple[Tensor, Tensor]:
    """Real and imaginary parts of z [.., 2]."""
    graph = graph_of(z, "z")
    re, im = ctypes.POINTER(_c.filtra_tensor)(), ctypes.POINTER(_c.filtra_tensor)()
    pointer = tensor_pointer(graph, z, "z")
    graph._call(lib.filtra_complex_parts, pointer, ctypes.byref(re), ctypes.byref(im))
    if not re or not im:
        graph._fail()
    return Tensor(graph, re), Tensor(graph, im)


def unit_phase(x: Tensor, angle: str = "radians") -> Tensor:
    """exp(i x), or with "turns" exp(2 pi i x): [..] -> [.., 2]."""
    kind = _convert.choice(_c.filtra_angle, angle, "angle")
    return record(lib.filtra_unit_phase, {"x": x}, kind)


def complex_multiply(a: Tensor, z: Tensor) -> Tensor:
    """Multiply every feature of z [.., C, 2] by the same a [.., 2]."""
    return record(lib.filtra_complex_multiply, {"a": a, "z": z})


def complex_blend(z: Tensor, weight: Tensor) -> Tensor:
    """w re + (1 - w) im of z [.., 2], with w the weight [1] clamped to 0 .. 1."""
    return record(lib.filtra_complex_blend, {"z": z, "weight": weight})


def gibbs_factors(
    kernel: str,
    order: int,
    *,
    lanczos_m: float = 3.0,
    lorentz_xi: float = 4.0,
    wang_a: float = 2.0,
    wang_b: float = 2.0,
) -> Any:
    """Damping factors of a truncated Chebyshev series against Gibbs oscillations.

    Parameters
    ----------
    kernel : str
        "dirichlet", "fejer", "jackson", "lanczos", "lorentz", "vekic" or "wang".
    order : int
        0 to 16.
    lanczos_m, lorentz_xi, wang_a, wang_b : float
        Parameters of these kernels, above 0 and at most 100.

    Returns
    -------
    numpy.ndarray
        float32 [order + 1]; the first is 1.
    """
    kind = _convert.choice(_c.filtra_gibbs, kernel, "kernel")
    number = _convert.whole(order, "order", 0, _c.FILTRA_CHEBYSHEV_MAX_ORDER)
    options = _convert.fill(
        _c.filtra_gibbs_options, lanczos_m=lanczos_m, lorentz_xi=lorentz_xi, wang_a=wang_a,
        wang_b=wang_b,
    )
    factors = _arrays.room(None, _arrays.F32, (number + 1,))
    pointer = _arrays.pointer(factors)
    lib.filtra_gibbs_factors(kind, number, ctypes.byref(options), pointer)
    return factors


def chebyshev(x: Tensor, coefficients: Tensor, damping: Any = None) -> Tensor:
    """sum_k g_k w_k T_k(x) for every element of x.

    Parameters
    ----------
    x : Tensor
    coefficients : Tensor
        w [K + 1], K at most 16.
    damping : array_like of float, optional
        g [K + 1], such as `gibbs_factors`; None: ones.
    """
    factors = None
    if damping is not None:
        graph_of(coefficients, "coefficients")
        factors = _arrays.array_of(damping, _arrays.F32, coefficients.shape, "damping")
    pointer = None if factors is None else _arrays.pointer(factors)
    return record(lib.filtra_chebyshev, {"x": x, "coefficients": coefficients}, pointer)


def chebyshev_loss(coefficients: Tensor, samples: int) -> Tensor:
    """Smoothness loss of coefficients [K + 1] -> [samples], all equal."""
    number = _convert.whole(samples, "samples", 1)
    return record(lib.filtra_chebyshev_loss, {"coefficients": coefficients}, number)


def givens(alpha: Tensor, beta: Tensor, gamma: Tensor, mask: Tensor | None = None) -> Tensor:
    """Rotations of neighbouring tokens by angles [B, N - 1] in turns -> [B, N - 1, 4, 2].

    With a mask [B, N] a rotation is the identity unless both its tokens are real.
    """
    tensors = {"alpha": alpha, "beta": beta, "gamma": gamma, "mask": mask}
    return record(lib.filtra_givens, tensors)


def dhhp(
    x: Tensor,
    lower: Tensor,
    upper: Tensor,
    phases: Tensor | None = None,
    *,
    inverse: bool = False,
    permutation: int = 0,
) -> Tensor:
    """Unitary transform of tokens, as the Converter's: D H_l H_u P x.

    Parameters
    ----------
    x : Tensor
        [B, N, F, 2].
    lower, upper : Tensor
        Rotations [B, N - 1, 4, 2], as `givens` makes them.
    phases : Tensor, optional
        The diagonal of D, [B, N, 2], of modulus 1.
    inverse : bool
        Apply the inverse.
    permutation : int
        Stride of the permutation P; 0: none.
    """
    options = _convert.fill(
        _c.filtra_dhhp_options, inverse=inverse,
        permutation=_convert.whole(permutation, "permutation"),
    )
    tensors = {"x": x, "lower": lower, "upper": upper, "phases": phases}
    return record(lib.filtra_dhhp, tensors, ctypes.byref(options))


def affine_scan(c: Tensor, d: Tensor, *, reverse: bool = False) -> Tensor:
    """Complex recurrence h_t = c_t h_(t-1) + d_t: c [B, N, 2], d [B, N, F, 2] -> [B, N, F, 2]."""
    if not isinstance(reverse, bool):
        raise ArgumentError(f"reverse must be True or False; got {reverse!r}")
    return record(lib.filtra_affine_scan, {"c": c, "d": d}, int(reverse))
