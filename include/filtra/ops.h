/* Operations on graph tensors, each with its gradient.
 *
 * Every function records on the graph and returns the result, or NULL after an error (sticky, see
 * graph.h). One thread at a time per device. Option structs may be NULL: all defaults. "Dense"
 * means packed without gaps; ops that take views (heads, split pieces) say so. B batch, H heads, N
 * tokens, C = H*D width, D head width.
 */
#ifndef FILTRA_OPS_H
#define FILTRA_OPS_H

#include <filtra/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- matrix products (ops/matmul.c, ops/linear.c) ---------------------------------------- */

typedef struct filtra_matmul_options {
  bool transpose_a;   /**< a is [.., K, M] */
  bool transpose_b;   /**< b is [.., N, K] */
  float scale;        /**< result times scale; 0: 1 */
  bool token_major;   /**< 4-D result [B,H,M,N] is stored [B,M,H,N], ready for filtra_merge_heads */
  filtra_dtype dtype; /**< of the result: F32, or the product's type */
  uint64_t reserved[4]; /**< 0 */
} filtra_matmul_options;

/** [.., M, K] x [.., K, N] -> [.., M, N]; 2 to 4 dimensions, equal batch dimensions. Both operands
 * F32, F16 or BF16; a dense F32 one beside one of 16 bits is rounded to that type first, the
 * product's, and its gradient stays F32. Takes views whose last axis is dense. fp32 accumulation; a
 * result of 16 bits is rounded once. */
FILTRA_API filtra_tensor *filtra_matmul(filtra_graph *g, filtra_tensor *a, filtra_tensor *b,
                                        const filtra_matmul_options *options);

typedef enum filtra_activation {
  FILTRA_ACTIVATION_NONE = 0,
  FILTRA_ACTIVATION_RELU,
  FILTRA_ACTIVATION_GELU, /**< exact, by erf */
  FILTRA_ACTIVATION_SIN,  /**< SIREN (Sitzmann et al. 2020); accurate to 1e-6 up to |x| = 1e5 */
  FILTRA_ACTIVATION_TANH,
  FILTRA_ACTIVATION_SOFTPLUS,   /**< log(1 + e^x) */
  FILTRA_ACTIVATION_SOFTPLUS5,  /**< the same up to 5, x itself above (a jump of 0.0067) */
  FILTRA_ACTIVATION_LEAKY_RELU, /**< x, or 0.01 x where x < 0 */
  /* Functions that models' configurations do not name. Outside their domain they give what IEEE
   * arithmetic does: infinities and NaN. */
  FILTRA_ACTIVATION_SIGMOID,    /**< 1 / (1 + e^-x) */
  FILTRA_ACTIVATION_EXP,        /**< e^x */
  FILTRA_ACTIVATION_LOG,        /**< the natural logarithm */
  FILTRA_ACTIVATION_SQRT,       /**< its slope at 0 is infinite */
  FILTRA_ACTIVATION_RECIPROCAL, /**< 1 / x */
  FILTRA_ACTIVATION_ELU,        /**< x, or e^x - 1 where x < 0; finite everywhere */
  /** Of a model's layers alone: x itself, where NONE means their default. Ops refuse it: they take
   * NONE. */
  FILTRA_ACTIVATION_IDENTITY
} filtra_activation;

typedef struct filtra_linear_options {
  filtra_activation activation; /**< applied to x W^T + b */
  float dropout;                /**< rate in [0,1), applied after the activation; training only */
  filtra_tensor *residual;      /**< F32 dense [.., out], added last */
  /** Of the result: F32, or the type of the operands where they have 16 bits, without a
   * residual. */
  filtra_dtype dtype;
  uint64_t reserved[3]; /**< 0 */
} filtra_linear_options;

/** residual + dropout(activation(x W^T + b)) in one kernel: x [.., in] dense, w [out, in],
 * b [out] F32 or NULL -> [.., out]. x and w may be F16 or BF16, one of them or both of one type:
 * where one is F32 it is rounded to the other's type first, and its gradient is F32. fp32
 * accumulation. */
FILTRA_API filtra_tensor *filtra_linear(filtra_graph *g, filtra_tensor *x, filtra_tensor *w,
                                        filtra_tensor *b, const filtra_linear_options *options);

/* ---- element types (ops/cast.c) ------------------------------------------------------------ */

/** x dense F32 -> F16 or BF16, rounded to nearest, ties to even, or the way back, exact. The
 * gradient of a 16-bit tensor has 16 bits too, but for a parameter's copy, whose is the
 * parameter's. */
FILTRA_API filtra_tensor *filtra_cast(filtra_graph *g, filtra_tensor *x, filtra_dtype dtype);

/* ---- token mixing (ops/attention.c, gfsa.c, plaplacian.c, agf.c) ------------------------- */

typedef struct filtra_attention_options {
  bool causal;          /**< query i sees keys j <= i + (Nk - Nq) */
  filtra_tensor *mask;  /**< F32 [B,Nk], > 0 keeps a key; NULL: all. No gradient */
  filtra_tensor *bias;  /**< F32 added to the scaled scores: [Nq,Nk], [H,Nq,Nk] or [B,H,Nq,Nk] */
  float scale;          /**< of the scores; 0: 1/sqrt(D) */
  float dropout;        /**< rate on the attention weights; training only */
  uint64_t reserved[4]; /**< 0 */
} filtra_attention_options;

/** softmax(scale q k^T + bias) v by online softmax; never forms an Nq x Nk matrix, forward or
 * backward (Milakov & Gimelshein 2018; Dao et al. 2022). q [B,H,Nq,D], k [B,H,Nk,D],
 * v [B,H,Nk,Dv] (views with a dense last axis) -> [B,H,Nq,Dv] stored token by token. A query with
 * no admissible key gives zeros. D, Dv <= 128. */
FILTRA_API filtra_tensor *filtra_attention(filtra_graph *g, filtra_tensor *q, filtra_tensor *k,
                                           filtra_tensor *v,
                                           const filtra_attention_options *options);

typedef struct filtra_gfsa_options {
  filtra_attention_options attention; /**< of A; dropout is on A, one mask for every use of it */
  int order;                          /**< K, 1 to 32; 0: 3 */
  float w0, w1, wK;                   /**< of every head, where there is no tensor */
  uint64_t reserved[4];               /**< 0 */
} filtra_gfsa_options;

/** Graph-filter self-attention (Choi et al. 2024): y = H v with A the weights of filtra_attention
 * and H = w0 I + w1 A + wK (A + (K-1)(A^2 - A)). A^2 is never formed: with u = A v,
 * y = w0 v + (w1 + wK) u + (K-1) wK (A u - u), O(N^2 D) time and O(N D) memory. q, k [B,H,N,D],
 * v [B,H,N,Dv] as in filtra_attention; w0, w1, wK [H], or NULL: the options' constant. A query
 * without an admissible key gives w0 v. Causal attention makes a causal filter, and rows of u do
 * not change as tokens follow: keep them beside those of k and v to go on token by token, with
 * u_t = filtra_attention(q_t, k, v) and A u = filtra_attention(q_t, k, u), u_t in its place. */
FILTRA_API filtra_tensor *filtra_gfsa(filtra_graph *g, filtra_tensor *q, filtra_tensor *k,
                                      filtra_tensor *v, filtra_tensor *w0, filtra_tensor *w1,
                                      filtra_tensor *wK, const filtra_gfsa_options *options);

/** The weight P of a token with itself. */
typedef enum filtra_diagonal {
  FILTRA_DIAGONAL_EPS = 0, /**< eps^((p-2)/2), as for any two equal values */
  FILTRA_DIAGONAL_ZERO,
  FILTRA_DIAGONAL_ONE
} filtra_diagonal;

typedef struct filtra_plaplacian_options {
  filtra_attention_options attention; /**< dropout is on A */
  /** [H] on the host, copied; each in [1,10]. NULL: 1.5 in the first half of the heads, the larger
   * one where H is odd, 2.5 in the others. */
  const float *p;
  float eps; /**< added to squared distances, in [1e-12,1e6]; 0: 1e-3 */
  filtra_diagonal diagonal;
  bool euler;           /**< y_x = v_x + sum_y A_xy P_xy (v_y - v_x) */
  uint64_t reserved[4]; /**< 0 */
} filtra_plaplacian_options;

/** p-Laplacian attention (Nguyen et al. 2023, equation 12): y_x = sum_y A_xy P_xy v_y with the
 * weights A of filtra_attention and P_xy = (|v_x - v_y|^2 + eps)^((p-2)/2), |.| the Euclidean norm
 * within the head. Never forms an Nq x Nk matrix. Shapes as in filtra_attention with Nq <= Nk:
 * query i is the token of key i + (Nk - Nq). A head with p = 2 gives filtra_attention bit for bit
 * (unless `diagonal` is ZERO and `euler` is not set). Other heads with `euler` give a query without
 * admissible key its own value. */
FILTRA_API filtra_tensor *filtra_plaplacian(filtra_graph *g, filtra_tensor *q, filtra_tensor *k,
                                            filtra_tensor *v,
                                            const filtra_plaplacian_options *options);

typedef enum filtra_basis {
  FILTRA_BASIS_JACOBI = 0,  /**< P_k^(a,b), three-term recurrence */
  FILTRA_BASIS_LEGENDRE,    /**< Jacobi(0,0) */
  FILTRA_BASIS_CHEBYSHEV,   /**< Jacobi(-1/2,-1/2), the AGF authors' scaling */
  FILTRA_BASIS_CHEBYSHEV_T, /**< T_k with T_k(1) = 1 */
  FILTRA_BASIS_MONOMIAL     /**< x^k */
} filtra_basis;

typedef enum filtra_rho {
  FILTRA_RHO_SOFTMAX = 0, /**< U over features, V over tokens */
  FILTRA_RHO_SIGMOID,
  FILTRA_RHO_TANH,
  FILTRA_RHO_NONE
} filtra_rho;

typedef enum filtra_theta_mode {
  FILTRA_THETA_TANH_FIX0 = 0, /**< theta_0 = 1, theta_k = tanh(raw_k) */
  FILTRA_THETA_TANH,          /**< theta_k = tanh(raw_k) for every k */
  FILTRA_THETA_RAW            /**< theta_k = raw_k */
} filtra_theta_mode;

typedef enum filtra_agf_variant {
  FILTRA_AGF_FILTER = 0, /**< the polynomial filter g(Sigma) */
  FILTRA_AGF_UV,         /**< ablation: all singular values 1 */
  FILTRA_AGF_SVD         /**< ablation: one free vector [H,D], no polynomial */
} filtra_agf_variant;

typedef struct filtra_agf_options {
  filtra_tensor *mask; /**< F32 [B,N], > 0 real token: padding is excluded from V. No gradient */
  filtra_basis basis;
  float a, b; /**< Jacobi parameters; a+b = -2 is singular for K >= 2 */
  filtra_rho rho;
  filtra_theta_mode theta_mode;
  filtra_agf_variant variant;
  bool symmetric_domain; /**< basis argument 2 sigmoid(s) - 1 instead of sigmoid(s) */
  filtra_tensor **ortho; /**< receives the orthogonality loss per sample [B]; NULL: not wanted */
  bool ortho_padding;    /**< rows of U at padding count in it, as in the authors' code */
  uint64_t reserved[4];  /**< 0 */
} filtra_agf_options;

/** Attentive graph filter (Wi et al. 2025): y = (U * g(sigmoid(s))) (V^T value), g(x) = sum_k
 * theta_k P_k(x), in O(N D^2). u, s, vv, value: [B,H,N,D] views of one type, F32, F16 or BF16;
 * `coefficients`: F32, raw theta [K+1], K <= 32 (FILTER), the vector [H,D] (SVD), NULL (UV). s may
 * be NULL unless FILTER. -> [B,H,N,D] of u's type, stored token by token. A sample without a real
 * token gives zeros. *ortho: F32, mean over heads and D*D entries of |U^T U - I| plus the same of
 * V, per sample, over real tokens. In 16 bits U, U g and V are rounded, softmax's V as exponentials
 * that F32 sums divide behind the products; sums, polynomial and V^T value are F32, the last one
 * rounded where it is multiplied. */
FILTRA_API filtra_tensor *filtra_agf(filtra_graph *g, filtra_tensor *u, filtra_tensor *s,
                                     filtra_tensor *vv, filtra_tensor *value,
                                     filtra_tensor *coefficients,
                                     const filtra_agf_options *options);

/* ---- token-wise (ops/layer_norm.c, ops/scale_norm.c, ops/embedding.c, ops/dropout.c,
 *      ops/elementwise.c, ops/slice.c) ---------------------------------------------------- */

/** (x - mean) / sqrt(var + eps) * gain + bias over the last axis (biased variance); x dense
 * [.., C], gain and bias [C]. eps 0: 1e-5. */
FILTRA_API filtra_tensor *filtra_layer_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain,
                                            filtra_tensor *bias, float eps);

/** gain * x / (|x| + eps), |x| the Euclidean norm over the last axis (ScaleNorm, Nguyen & Salazar
 * 2019); x dense [.., C], gain [C] or NULL (FixNorm). `complex_features`: x is [.., C, 2], |x|^2
 * the sum of re^2 + im^2, gain still [C]. A row of zeros has the derivative gain / eps. eps 0:
 * 1e-5. */
FILTRA_API filtra_tensor *filtra_scale_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain,
                                            float eps, bool complex_features);

/** table [V,C], tokens I32 [B,N] -> [B,N,C]. Tokens outside [0,V) give zeros and no gradient. */
FILTRA_API filtra_tensor *filtra_embedding(filtra_graph *g, filtra_tensor *table,
                                           filtra_tensor *tokens);
/** x [B,N,C] + table[n] for every batch entry; table [M,C], M >= N, learned. */
FILTRA_API filtra_tensor *filtra_add_positions(filtra_graph *g, filtra_tensor *x,
                                               filtra_tensor *table);
/** x [B,N,C] + fixed sine/cosine positions (Vaswani et al. 2017, section 3.5); C <= 4096. Accurate
 * to 1e-7 at any position. */
FILTRA_API filtra_tensor *filtra_add_sinusoids(filtra_graph *g, filtra_tensor *x);

/** Inverted dropout: kept entries are scaled by 1/(1-rate). Identity in graphs that are not
 * training and at rate 0. The mask is a function of (seed, step, op, index). */
FILTRA_API filtra_tensor *filtra_dropout(filtra_graph *g, filtra_tensor *x, float rate);

/** Element by element on dense tensors, with NumPy's broadcasting: shapes are aligned at their last
 * axes, and an axis of length 1 or that only one of them has is repeated along the other's. The
 * gradient of what was repeated is the sum over the repetitions, in a fixed order. */
FILTRA_API filtra_tensor *filtra_add(filtra_graph *g, filtra_tensor *a, filtra_tensor *b);
FILTRA_API filtra_tensor *filtra_subtract(filtra_graph *g, filtra_tensor *a, filtra_tensor *b);
FILTRA_API filtra_tensor *filtra_multiply(filtra_graph *g, filtra_tensor *a, filtra_tensor *b);
FILTRA_API filtra_tensor *filtra_divide(filtra_graph *g, filtra_tensor *a, filtra_tensor *b);
/** scale * x + offset. */
FILTRA_API filtra_tensor *filtra_affine(filtra_graph *g, filtra_tensor *x, float scale,
                                        float offset);
/** A dense F32 tensor, every element `value`; no gradient. Whole numbers 1 to n are its cumulative
 * sum. */
FILTRA_API filtra_tensor *filtra_constant(filtra_graph *g, int ndim, const int64_t *shape,
                                          float value);
/** One of the functions above for every element: the activations, and exp, log and so on. */
FILTRA_API filtra_tensor *filtra_activate(filtra_graph *g, filtra_tensor *x,
                                          filtra_activation activation);

/* ---- axes (ops/reduce.c, ops/softmax.c, ops/cumulative.c, ops/axes.c, ops/slice.c) --------
 * `axis` counts from 0, the outermost. x is dense F32 where nothing else is said. */

/** Sum, mean and largest element along an axis, which goes, or stays with length 1 if `keep` is set
 * (or if it is the only one). The axis is not empty, but for sums, which are then 0. The gradient
 * of the largest goes to the first of several; a NaN is larger than any number. */
FILTRA_API filtra_tensor *filtra_sum(filtra_graph *g, filtra_tensor *x, int axis, bool keep);
FILTRA_API filtra_tensor *filtra_mean(filtra_graph *g, filtra_tensor *x, int axis, bool keep);
FILTRA_API filtra_tensor *filtra_max(filtra_graph *g, filtra_tensor *x, int axis, bool keep);

/** exp(x - max) / sum exp(x - max) along the axis. -inf gives 0, also where there is nothing else
 * along the axis. */
FILTRA_API filtra_tensor *filtra_softmax(filtra_graph *g, filtra_tensor *x, int axis);

/** y_t = x_0 + .. + x_t along the axis; `reverse`: x_t + .. + x_(n-1). */
FILTRA_API filtra_tensor *filtra_cumulative_sum(filtra_graph *g, filtra_tensor *x, int axis,
                                                bool reverse);

/** A dense copy whose axis i is axis order[i] of x; x any view, F32 or I32. */
FILTRA_API filtra_tensor *filtra_permute(filtra_graph *g, filtra_tensor *x, const int *order);
/** The same with two axes exchanged. */
FILTRA_API filtra_tensor *filtra_transpose(filtra_graph *g, filtra_tensor *x, int first,
                                           int second);

/** The slices indices[0], indices[1], .. (dense I32 [K]) of x along the axis, which gets the length
 * K. An index outside of [0, length) gives zeros and no gradient. A slice that is taken several
 * times gets the sum of their gradients, in a fixed order. */
FILTRA_API filtra_tensor *filtra_gather(filtra_graph *g, filtra_tensor *x, int axis,
                                        filtra_tensor *indices);

/** The order of each row of x [B,N], N <= 65,536, as I32 [B N]: element b N + r is b N + t, with t
 * the place of row b's r-th largest number, r from 0; `back`: element b N + t is b N + r. With that
 * filtra_gather sorts the rows of a tensor [B N, ..], or takes it back. Equal numbers stay in their
 * order; those whose `mask` [B,N] (or NULL) is not above 0 come last. No gradient. */
FILTRA_API filtra_tensor *filtra_argsort(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask,
                                         bool back);

/** The box that begins at start[i] and has shape[i] elements along axis i, one number each per axis
 * of x; x any view -> dense. */
FILTRA_API filtra_tensor *filtra_slice(filtra_graph *g, filtra_tensor *x, const int64_t *start,
                                       const int64_t *shape);
/** `count` tensors, 1 to 8, one behind the other along `axis`; their other axes agree. Takes any
 * views -> dense. */
FILTRA_API filtra_tensor *filtra_concat(filtra_graph *g, int axis, int count,
                                        filtra_tensor *const *x);

/* ---- frequencies (ops/fourier.c) ---------------------------------------------------------- */

/** The discrete Fourier transform along the tokens of each sequence, in real parts: row k of
 * [B,N,C] is the sum over n < L of cos(2 pi n k / L) cosine_n + sin(2 pi n k / L) sine_n for k < L,
 * and zeros behind, where nothing is read. `cosine` and `sine` dense [B,N,C], either may be NULL;
 * `lengths` L: F32 [B], whole numbers, without gradient, or NULL: N. The transform of real x is
 * filtra_fourier(x, NULL) - i filtra_fourier(NULL, x). Exact angles at any length, O(N^2 C) time,
 * O(N C) memory. */
FILTRA_API filtra_tensor *filtra_fourier(filtra_graph *g, filtra_tensor *cosine,
                                         filtra_tensor *sine, filtra_tensor *lengths);

/* ---- complex tensors (ops/complex.c) ------------------------------------------------------
 * A trailing axis of two holds (re, im). A gradient is (dL/dre, dL/dim). */

/** re + i im: dense [..] -> [.., 2]; im NULL: zeros. */
FILTRA_API filtra_tensor *filtra_complex(filtra_graph *g, filtra_tensor *re, filtra_tensor *im);
/** Both parts of z [.., 2] -> *re, *im [..]; NULL after an error. */
FILTRA_API void filtra_complex_parts(filtra_graph *g, filtra_tensor *z, filtra_tensor **re,
                                     filtra_tensor **im);
/** exp(i x), or exp(2 pi i x) for x in `turns`: dense [..] -> [.., 2]. Accurate to 2e-7 up to
 * |x| = 1e4 radians; in turns at any x. */
FILTRA_API filtra_tensor *filtra_unit_phase(filtra_graph *g, filtra_tensor *x, bool turns);
/** a z, a [.., 2] the same for every feature of z [.., C, 2]. */
FILTRA_API filtra_tensor *filtra_complex_multiply(filtra_graph *g, filtra_tensor *a,
                                                  filtra_tensor *z);
/** w re + (1 - w) im of z [.., 2] -> [..], w the single weight [1] clamped to [0,1]; it gets no
 * gradient beyond. */
FILTRA_API filtra_tensor *filtra_complex_blend(filtra_graph *g, filtra_tensor *z,
                                               filtra_tensor *weight);

/* ---- recurrence (ops/gru.c) --------------------------------------------------------------- */

/** One layer of gated recurrent units (Cho et al. 2014) with h = 0 before the first token: x dense
 * [B,N,C], w_ih [3H,C], w_hh [3H,H], b_ih and b_hh [3H], gates stacked (reset, update, new) as in
 * PyTorch -> [B,N,H]. H <= 512. */
FILTRA_API filtra_tensor *filtra_gru(filtra_graph *g, filtra_tensor *x, filtra_tensor *w_ih,
                                     filtra_tensor *w_hh, filtra_tensor *b_ih, filtra_tensor *b_hh);

/* ---- kernel polynomials (ops/kernel_polynomial.c) ----------------------------------------- */

/** Damping of a truncated Chebyshev series against Gibbs oscillations, r = k / (K+1). */
typedef enum filtra_gibbs {
  FILTRA_GIBBS_DIRICHLET = 0, /**< 1: no damping */
  FILTRA_GIBBS_FEJER,         /**< 1 - r */
  FILTRA_GIBBS_JACKSON,       /**< ((K+2-k) cos kc + sin kc cot c) / (K+2), c = pi/(K+2) */
  FILTRA_GIBBS_LANCZOS,       /**< (sin(pi r) / (pi r))^m */
  FILTRA_GIBBS_LORENTZ,       /**< sinh(xi (1-r)) / sinh xi */
  FILTRA_GIBBS_VEKIC,         /**< 1/2 - 1/2 tanh((r - 1/2) / (r (1-r))) */
  FILTRA_GIBBS_WANG           /**< exp(-(a r)^b) */
} filtra_gibbs;

/** 0 means the default; at most 100. */
typedef struct filtra_gibbs_options {
  float lanczos_m;      /**< 3 */
  float lorentz_xi;     /**< 4 */
  float wang_a, wang_b; /**< 2, 2 */
  uint64_t reserved[4]; /**< 0 */
} filtra_gibbs_options;

#define FILTRA_MAX_KERNEL_ORDER 16

/** Fills factors[0..order]; factors[0] is 1. 0 <= order <= FILTRA_MAX_KERNEL_ORDER. Thread-safe. */
FILTRA_API filtra_status filtra_gibbs_factors(filtra_gibbs kernel, int order,
                                              const filtra_gibbs_options *options, float *factors);

/** sum_k g_k w_k T_k(x), T_k the Chebyshev polynomials, for every entry of dense x; coefficients w
 * [K+1], K <= FILTRA_MAX_KERNEL_ORDER; `damping` g [K+1] on the host, copied; NULL: ones. w_0 is
 * not halved. */
FILTRA_API filtra_tensor *filtra_kernel_polynomial(filtra_graph *g, filtra_tensor *x,
                                                   filtra_tensor *coefficients,
                                                   const float *damping);
/** sum_k pi k^2 w_k^2 (the Converter's equation 15) -> [samples], the same number for each. */
FILTRA_API filtra_tensor *
filtra_kernel_polynomial_loss(filtra_graph *g, filtra_tensor *coefficients, int64_t samples);

/* ---- unitary token transforms (ops/dhhp.c, ops/givens.c, ops/affine_scan.c) ---------------
 * On complex features x [B,N,F,2]; what varies with the token is the same for all F. A sequence of
 * one token has no rotations: tensors [B,0,4,2]. */

/** Rotations that mix neighbouring tokens. Angles dense [B,N-1], in turns -> [B,N-1,4,2], the
 * entries ii, ij, ji, jj: with A = pi (alpha + beta), B = pi (alpha - beta) and C = pi gamma they
 * are e^(-iA) cos C, -e^(iB) sin C, e^(-iB) sin C, e^(iA) cos C. `mask` [B,N] or NULL: a rotation
 * is the identity unless both its tokens, k and k+1, have a 1; behind the end of a sequence that
 * makes filtra_dhhp the transform of the sequence alone. */
FILTRA_API filtra_tensor *filtra_givens(filtra_graph *g, filtra_tensor *alpha, filtra_tensor *beta,
                                        filtra_tensor *gamma, filtra_tensor *mask);

typedef struct filtra_dhhp_options {
  bool inverse; /**< Phi^H x, which is Phi^-1 x, instead of Phi x */
  /** Stride m of P, which takes the tokens 0, m, 2m, .., then 1, m + 1, .. and so on; where m
   * divides N, the view [N/m, m] transposed. 0: no permutation. */
  int64_t permutation;
  uint64_t reserved[4]; /**< 0 */
} filtra_dhhp_options;

/** Phi x with Phi = D H_l H_u P, the Converter's one-dimensional unitary transform: x [B,N,F,2],
 * lower and upper rotations [B,N-1,4,2], phases [B,N,2] the diagonal of D (NULL: D = I).
 * H_u = G_0 G_1 .. G_{N-2} of `upper`, H_l = G_{N-2} .. G_1 G_0 of `lower`, G_k acting on tokens k
 * and k+1. O(N F) work and memory. Rotations must be unitary, phases of modulus 1, as
 * filtra_givens and filtra_unit_phase make them: the backward pass recomputes what it needs by the
 * exact inverse. */
FILTRA_API filtra_tensor *filtra_dhhp(filtra_graph *g, filtra_tensor *x, filtra_tensor *lower,
                                      filtra_tensor *upper, filtra_tensor *phases,
                                      const filtra_dhhp_options *options);

/** h_t = c_t h_{t-1} + d_t from h_0 = d_0 (c_0 is not used); `reverse`: h_t = c_t h_{t+1} + d_t
 * from h_{N-1} = d_{N-1}. Complex: c [B,N,2], d [B,N,F,2] -> [B,N,F,2]. O(N F) work. */
FILTRA_API filtra_tensor *filtra_affine_scan(filtra_graph *g, filtra_tensor *c, filtra_tensor *d,
                                             bool reverse);

/* ---- pooling (ops/pool.c) ----------------------------------------------------------------- */

/** F32 [B,N]: 1 where tokens[b,n] != 0, else 0. */
FILTRA_API filtra_tensor *filtra_token_mask(filtra_graph *g, filtra_tensor *tokens);
/** F32 [B,N]: 1 where n < lengths[b] (I32 [B]), else 0. */
FILTRA_API filtra_tensor *filtra_length_mask(filtra_graph *g, filtra_tensor *lengths, int64_t n);

/** x dense [B,N,C], F32, F16 or BF16, with zeros for the tokens whose mask [B,N] is not above 0. */
FILTRA_API filtra_tensor *filtra_mask_tokens(filtra_graph *g, filtra_tensor *x,
                                             filtra_tensor *mask);
/** x dense [B,N,C], mask [B,N] or NULL -> [B,C]. Sum over kept tokens divided by their number
 * (0 gives 0), or by N when `over_all`. */
FILTRA_API filtra_tensor *filtra_pool_mean(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask,
                                           bool over_all);
/** x dense [B,N,C] -> [B,C], the first token. */
FILTRA_API filtra_tensor *filtra_pool_first(filtra_graph *g, filtra_tensor *x);
/** Adaptive average pooling of the last axis: x dense [.., C] -> [.., bins], bin i the mean of
 * channels floor(i C / bins) .. ceil((i+1) C / bins) - 1, which overlap where C is no multiple of
 * bins. One bin is the mean over channels. C, bins <= 32768. */
FILTRA_API filtra_tensor *filtra_pool_channels(filtra_graph *g, filtra_tensor *x, int64_t bins);

/* ---- losses (ops/loss.c) ------------------------------------------------------------------ */

/** logits [R,K], labels I32 [R] -> [R]: cross-entropy against (1-s) one-hot + s/K, s the label
 * smoothing in [0,1). A label outside [0,K) gives 0 and no gradient. */
FILTRA_API filtra_tensor *filtra_cross_entropy(filtra_graph *g, filtra_tensor *logits,
                                               filtra_tensor *labels, float smoothing);
/** Mean over the last axis of (x-y)^2, or |x-y|: [R,K] -> [R]. No gradient for y. */
FILTRA_API filtra_tensor *filtra_squared_error(filtra_graph *g, filtra_tensor *x, filtra_tensor *y);
FILTRA_API filtra_tensor *filtra_absolute_error(filtra_graph *g, filtra_tensor *x,
                                                filtra_tensor *y);
/** [R]: 1 where the first largest of logits[r] is labels[r], else 0. No gradient. */
FILTRA_API filtra_tensor *filtra_accuracy(filtra_graph *g, filtra_tensor *logits,
                                          filtra_tensor *labels);
/** [R]: 1 where labels[r] is among the k largest of logits[r], of equal ones the first, else 0;
 * k 1 to K. No gradient. */
FILTRA_API filtra_tensor *filtra_top_k_accuracy(filtra_graph *g, filtra_tensor *logits,
                                                filtra_tensor *labels, int64_t k);
/** sum_r w_r x_r / sum_r w_r -> [1]; x and weights [R] (NULL: all ones). Zero weight sum gives 0.
 * Fixed order. No gradient for weights. */
FILTRA_API filtra_tensor *filtra_weighted_mean(filtra_graph *g, filtra_tensor *x,
                                               filtra_tensor *weights);

#ifdef __cplusplus
}
#endif
#endif
