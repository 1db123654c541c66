/* Operations on graph tensors, each with its gradient.
 *
 * Every function records an op on the graph and returns its result, or NULL after an error (sticky,
 * see graph.h). One thread at a time per device. Option structs may be NULL: all defaults. "Dense"
 * means packed without gaps; ops that accept views (heads, chunks) say so. In shapes, B is the
 * batch, H heads, N tokens, D the width of a head and C = H*D the width of a token.
 */
#ifndef FILTRA_OPS_H
#define FILTRA_OPS_H

#include <filtra/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- choices that several ops take ------------------------------------------------------- */

typedef enum filtra_direction {
  FILTRA_FORWARD = 0, /**< from the first token or element to the last */
  FILTRA_BACKWARD     /**< from the last to the first */
} filtra_direction;

/** What becomes of the axis that a reduction goes along. */
typedef enum filtra_reduced_axis {
  FILTRA_DROP_AXIS = 0, /**< it is removed, unless it is the only one */
  FILTRA_KEEP_AXIS      /**< it stays with length 1 */
} filtra_reduced_axis;

typedef enum filtra_number {
  FILTRA_REAL = 0,
  FILTRA_COMPLEX /**< a trailing axis of two holds (re, im) */
} filtra_number;

typedef enum filtra_angle { FILTRA_RADIANS = 0, FILTRA_TURNS } filtra_angle;

typedef enum filtra_sorting {
  FILTRA_SORT = 0, /**< the order that sorts */
  FILTRA_UNSORT    /**< its inverse, which puts sorted elements back */
} filtra_sorting;

/** What the sum over real tokens is divided by. */
typedef enum filtra_mean_over {
  FILTRA_OVER_MASK = 0, /**< the number of real tokens */
  FILTRA_OVER_ALL       /**< the number of all tokens, padding included */
} filtra_mean_over;

/* ---- matrix products (ops/matmul.c, ops/linear.c) ---------------------------------------- */

typedef struct filtra_matmul_options {
  bool transpose_a;   /**< a is [.., K, M] */
  bool transpose_b;   /**< b is [.., N, K] */
  float scale;        /**< result times scale; 0: 1 */
  bool token_major;   /**< 4-D result [B,H,M,N] is stored [B,M,H,N], ready for filtra_merge_heads */
  filtra_dtype dtype; /**< of the result: F32, or the operands' 16-bit type */
  /** F32 dense [.., M, N], added last; NULL: none. Then the result is F32 and not token_major. */
  filtra_tensor *residual;
  uint64_t reserved[3]; /**< 0 */
} filtra_matmul_options;

/** residual + scale * (a b): [.., M, K] x [.., K, N] -> [.., M, N]; 2 to 4 dimensions, equal batch
 * dimensions. Accepts views whose last axis is dense. The operands are F32, F16 or BF16; if one has
 * 16 bits and the other is F32 and dense, the F32 one is rounded to the 16-bit type, and its
 * gradient stays F32. Sums are F32; a 16-bit result is rounded once. */
FILTRA_API filtra_tensor *filtra_matmul(filtra_graph *g, filtra_tensor *a, filtra_tensor *b,
                                        const filtra_matmul_options *options);

typedef enum filtra_activation {
  FILTRA_ACTIVATION_NONE = 0,
  FILTRA_ACTIVATION_RELU,
  FILTRA_ACTIVATION_GELU, /**< exact, by erf */
  FILTRA_ACTIVATION_SIN,  /**< SIREN (Sitzmann et al. 2020); accurate to 1e-6 up to |x| = 1e5 */
  FILTRA_ACTIVATION_TANH,
  FILTRA_ACTIVATION_SOFTPLUS,   /**< log(1 + e^x) */
  FILTRA_ACTIVATION_SOFTPLUS5,  /**< softplus for x <= 5, x above, a jump of 0.0067 */
  FILTRA_ACTIVATION_LEAKY_RELU, /**< x, or 0.01 x where x < 0 */
  /* Not available in models' configurations. Outside their domain they give infinities and NaN, as
   * IEEE arithmetic does. */
  FILTRA_ACTIVATION_SIGMOID,    /**< 1 / (1 + e^-x) */
  FILTRA_ACTIVATION_EXP,        /**< e^x */
  FILTRA_ACTIVATION_LOG,        /**< the natural logarithm */
  FILTRA_ACTIVATION_SQRT,       /**< the square root; infinite derivative at 0 */
  FILTRA_ACTIVATION_RECIPROCAL, /**< 1 / x */
  FILTRA_ACTIVATION_ELU,        /**< x, or e^x - 1 where x < 0 */
  /** x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as in GPT-2; in models' configurations, too */
  FILTRA_ACTIVATION_GELU_TANH,
  /** Only for layers of a model, whose default is NONE: x itself. Ops refuse it. */
  FILTRA_ACTIVATION_IDENTITY
} filtra_activation;

typedef struct filtra_linear_options {
  filtra_activation activation; /**< applied to x W^T + b */
  float dropout;                /**< rate in [0,1), applied after the activation; training only */
  filtra_tensor *residual;      /**< F32 dense [.., out], added last; NULL: none */
  /** Of the result: F32, or the operands' 16-bit type, which excludes a residual. */
  filtra_dtype dtype;
  uint64_t reserved[3]; /**< 0 */
} filtra_linear_options;

/** residual + dropout(activation(x W^T + b)) in one kernel: x [.., in] dense, w [out, in], b [out]
 * F32 or NULL -> [.., out]. x and w are F32, F16 or BF16; if only one has 16 bits, the other is
 * rounded to that type, and its gradient is F32. Sums are F32. */
FILTRA_API filtra_tensor *filtra_linear(filtra_graph *g, filtra_tensor *x, filtra_tensor *w,
                                        filtra_tensor *b, const filtra_linear_options *options);

/* ---- element types (ops/cast.c) ------------------------------------------------------------ */

/** Converts dense F32 to F16 or BF16, rounding to nearest, ties to even; or back, exactly. The
 * gradient of a 16-bit tensor has its type, except a parameter's copy, which shares the F32
 * gradient of the parameter. */
FILTRA_API filtra_tensor *filtra_cast(filtra_graph *g, filtra_tensor *x, filtra_dtype dtype);

/* ---- token mixing (ops/attention.c, gfsa.c, plaplacian.c, agf.c) ------------------------- */

typedef struct filtra_attention_options {
  bool causal; /**< query i sees keys j <= i + (Nk - Nq) */
  /** F32 [B,Nk], > 0 keeps a key; NULL: all keys. No gradient. q, k and v hold finite numbers at
   * masked keys, too: their weight is 0, and 0 times a NaN or an infinity is a NaN. */
  filtra_tensor *mask;
  filtra_tensor *bias;  /**< F32 added to the scaled scores: [Nq,Nk], [H,Nq,Nk] or [B,H,Nq,Nk];
                             NULL: none */
  float scale;          /**< of the scores; 0: 1/sqrt(D) */
  float dropout;        /**< rate on the attention weights; training only */
  uint64_t reserved[4]; /**< 0 */
} filtra_attention_options;

/** softmax(scale q k^T + bias) v. Uses an online softmax and forms no Nq x Nk matrix, forward or
 * backward (Milakov & Gimelshein 2018; Dao et al. 2022). q [B,H,Nq,D], k [B,H,Nk,D],
 * v [B,H,Nk,Dv], views with a dense last axis -> [B,H,Nq,Dv] stored token by token. A query whose
 * keys are all masked gives zeros. D, Dv <= 128. */
FILTRA_API filtra_tensor *filtra_attention(filtra_graph *g, filtra_tensor *q, filtra_tensor *k,
                                           filtra_tensor *v,
                                           const filtra_attention_options *options);

typedef struct filtra_gfsa_options {
  filtra_attention_options attention; /**< of A; every use of A has the same dropout mask */
  int order;                          /**< K, 1 to 32; 0: 3 */
  float w0, w1, wK;                   /**< for all heads, where the tensor argument is NULL */
  uint64_t reserved[4];               /**< 0 */
} filtra_gfsa_options;

/** Graph-filter self-attention (Choi et al. 2024): y = H v with A the weights of filtra_attention
 * and H = w0 I + w1 A + wK (A + (K-1)(A^2 - A)). A^2 is never formed: with u = A v,
 * y = w0 v + (w1 + wK) u + (K-1) wK (A u - u), O(N^2 D) time and O(N D) memory. q, k [B,H,N,D],
 * v [B,H,N,Dv] as in filtra_attention; w0, w1, wK [H], or NULL: the options' constant. A query
 * whose keys are all masked gives w0 v.
 *
 * With causal attention the filter is causal too, and a row of u stays the same when tokens are
 * appended. To decode token by token, keep u beside k and v: append u_t = filtra_attention(q_t, k,
 * v) to u; then A u is filtra_attention(q_t, k, u). Numbers at masked keys are finite, as in
 * filtra_attention_options. */
FILTRA_API filtra_tensor *filtra_gfsa(filtra_graph *g, filtra_tensor *q, filtra_tensor *k,
                                      filtra_tensor *v, filtra_tensor *w0, filtra_tensor *w1,
                                      filtra_tensor *wK, const filtra_gfsa_options *options);

/** The weight P_xx of a token with itself. */
typedef enum filtra_diagonal {
  FILTRA_DIAGONAL_EPS = 0, /**< eps^((p-2)/2): the formula for two equal values */
  FILTRA_DIAGONAL_ZERO,
  FILTRA_DIAGONAL_ONE
} filtra_diagonal;

typedef struct filtra_plaplacian_options {
  filtra_attention_options attention; /**< dropout is on A */
  /** [H] in host memory, copied; each in [1,10]. NULL: 1.5 for the first ceil(H/2) heads, 2.5 for
   * the others. */
  const float *p;
  float eps; /**< added to squared distances, in [1e-12,1e6]; 0: 1e-3 */
  filtra_diagonal diagonal;
  bool euler;           /**< y_x = v_x + sum_y A_xy P_xy (v_y - v_x) */
  uint64_t reserved[4]; /**< 0 */
} filtra_plaplacian_options;

/** p-Laplacian attention (Nguyen et al. 2023, equation 12): y_x = sum_y A_xy P_xy v_y with the
 * weights A of filtra_attention and P_xy = (|v_x - v_y|^2 + eps)^((p-2)/2), |.| the Euclidean norm
 * within the head. Forms no Nq x Nk matrix. Shapes as in filtra_attention with Nq <= Nk: query i is
 * the token of key i + (Nk - Nq). A head with p = 2 gives the bits of filtra_attention, except with
 * FILTRA_DIAGONAL_ZERO and without `euler`. With `euler`, a query whose keys are all masked gives
 * its own value in heads with p != 2. Numbers at masked keys are finite, as in
 * filtra_attention_options, and so are the squares of those of v. */
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
  /** F32 [B,N], > 0 real token: padding is excluded from V. No gradient. All operands hold finite
   * numbers at padding, too: 0 times a NaN or an infinity is a NaN. */
  filtra_tensor *mask;
  filtra_basis basis;
  float a, b; /**< Jacobi parameters; a+b = -2 is singular for K >= 2 */
  filtra_rho rho;
  filtra_theta_mode theta_mode;
  filtra_agf_variant variant;
  bool symmetric_domain; /**< evaluate the basis at 2 sigmoid(s) - 1 instead of sigmoid(s) */
  filtra_tensor **ortho; /**< receives the orthogonality loss per sample [B]; NULL: not computed */
  bool ortho_padding;    /**< the loss includes rows of U at padding, as in the authors' code */
  uint64_t reserved[4];  /**< 0 */
} filtra_agf_options;

/** Attentive graph filter (Wi et al. 2025): y = (U * g(sigmoid(s))) (V^T value), U = rho(u),
 * V = rho(vv), g(x) = sum_k theta_k P_k(x), in O(N D^2). u, s, vv, value: [B,H,N,D] views of one
 * type, F32, F16 or BF16. `coefficients`, F32: raw theta [K+1], K <= 32, for FILTER; the vector
 * [H,D] for SVD; NULL for UV. s may be NULL except for FILTER. -> [B,H,N,D] of u's type, stored
 * token by token. A sample without a real token gives zeros.
 *
 * *ortho, F32: the mean over heads and D*D entries of |U^T U - I|, plus that of V, per sample, over
 * real tokens. With 16-bit operands, U, U g and V are rounded; V of softmax is kept as exponentials
 * and divided by its F32 sums after the product. Sums, polynomial and V^T value are F32; the last
 * is rounded before it is multiplied. */
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
 * 2019); x dense [.., C], gain [C] or NULL (FixNorm). FILTRA_COMPLEX: x is [.., C, 2], |x|^2 the
 * sum of re^2 + im^2, gain still [C]. The derivative at a row of zeros is gain / eps. eps 0: 1e-5.
 */
FILTRA_API filtra_tensor *filtra_scale_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain,
                                            float eps, filtra_number number);

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
 * axes; an axis that is missing or has length 1 is repeated to the other tensor's length. The
 * gradient of a repeated tensor is the sum over the repetitions, in a fixed order. */
FILTRA_API filtra_tensor *filtra_add(filtra_graph *g, filtra_tensor *a, filtra_tensor *b);
FILTRA_API filtra_tensor *filtra_subtract(filtra_graph *g, filtra_tensor *a, filtra_tensor *b);
FILTRA_API filtra_tensor *filtra_multiply(filtra_graph *g, filtra_tensor *a, filtra_tensor *b);
FILTRA_API filtra_tensor *filtra_divide(filtra_graph *g, filtra_tensor *a, filtra_tensor *b);
/** scale * x + offset. */
FILTRA_API filtra_tensor *filtra_affine(filtra_graph *g, filtra_tensor *x, float scale,
                                        float offset);
/** A dense F32 tensor whose elements are all `value`; no gradient. The cumulative sum of ones
 * counts 1 to n. */
FILTRA_API filtra_tensor *filtra_constant(filtra_graph *g, int ndim, const int64_t *shape,
                                          float value);
/** Applies one of the functions of filtra_activation to every element. */
FILTRA_API filtra_tensor *filtra_activate(filtra_graph *g, filtra_tensor *x,
                                          filtra_activation activation);

/* ---- axes (ops/reduce.c, ops/softmax.c, ops/cumulative.c, ops/axes.c, ops/slice.c) --------
 * `axis` counts from 0, the outermost. x is dense F32 unless a comment says otherwise. */

/** Sum, mean and largest element along an axis. Only a sum may go along an axis of length 0, and
 * gives 0. Of several largest elements the first gets the gradient; NaN counts as largest. */
FILTRA_API filtra_tensor *filtra_sum(filtra_graph *g, filtra_tensor *x, int axis,
                                     filtra_reduced_axis mode);
FILTRA_API filtra_tensor *filtra_mean(filtra_graph *g, filtra_tensor *x, int axis,
                                      filtra_reduced_axis mode);
FILTRA_API filtra_tensor *filtra_max(filtra_graph *g, filtra_tensor *x, int axis,
                                     filtra_reduced_axis mode);

/** exp(x - max) / sum exp(x - max) along the axis. -inf gives 0, even if all elements along the
 * axis are -inf. */
FILTRA_API filtra_tensor *filtra_softmax(filtra_graph *g, filtra_tensor *x, int axis);

/** y_t = x_0 + .. + x_t along the axis; FILTRA_BACKWARD: y_t = x_t + .. + x_(n-1). */
FILTRA_API filtra_tensor *filtra_cumulative_sum(filtra_graph *g, filtra_tensor *x, int axis,
                                                filtra_direction direction);

/** A dense copy whose axis i is axis order[i] of x; x any view, F32 or I32. */
FILTRA_API filtra_tensor *filtra_permute(filtra_graph *g, filtra_tensor *x, const int *order);
/** A dense copy of x with two axes exchanged; x any view, F32 or I32. */
FILTRA_API filtra_tensor *filtra_transpose(filtra_graph *g, filtra_tensor *x, int first,
                                           int second);

/** The slices indices[0], indices[1], .. of x along the axis, whose length becomes K; `indices` is
 * dense I32 [K]. An index outside of [0, length) gives zeros and no gradient. A slice that occurs
 * several times gets the sum of the gradients, in a fixed order. */
FILTRA_API filtra_tensor *filtra_gather(filtra_graph *g, filtra_tensor *x, int axis,
                                        filtra_tensor *indices);

/** Indices I32 [B N] that sort each row of x [B,N], N <= 65,536, in descending order, for
 * filtra_gather on a tensor [B N, ..]: element b N + r is b N + t, where x[b,t] is the r-th largest
 * number of row b, r from 0. FILTRA_UNSORT: the inverse, element b N + t is b N + r. Equal numbers
 * keep their order; those whose `mask` [B,N] (NULL: all ones) is not above 0 come last. No
 * gradient. */
FILTRA_API filtra_tensor *filtra_argsort(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask,
                                         filtra_sorting sorting);

/** The elements start[i] .. start[i] + shape[i] - 1 along each axis i of x; x any view -> dense. */
FILTRA_API filtra_tensor *filtra_slice(filtra_graph *g, filtra_tensor *x, const int64_t *start,
                                       const int64_t *shape);
/** Concatenates `count` tensors, 1 to 8, along `axis`; their other axes must agree. Any views ->
 * dense. */
FILTRA_API filtra_tensor *filtra_concat(filtra_graph *g, int axis, int count,
                                        filtra_tensor *const *x);

/* ---- frequencies (ops/fourier.c) ---------------------------------------------------------- */

/** The discrete Fourier transform along the tokens of each sequence, in real arithmetic: row k of
 * [B,N,C] is the sum over n < L of cos(2 pi n k / L) cosine_n + sin(2 pi n k / L) sine_n for k < L.
 * Rows from L on are not read and become zeros. `cosine` and `sine` are dense [B,N,C], either may
 * be NULL; `lengths` L is F32 [B], whole numbers, no gradient; NULL: N. The transform of real x is
 * filtra_fourier(x, NULL) - i filtra_fourier(NULL, x). Angles are exact at any length; O(N^2 C)
 * time, O(N C) memory. */
FILTRA_API filtra_tensor *filtra_fourier(filtra_graph *g, filtra_tensor *cosine,
                                         filtra_tensor *sine, filtra_tensor *lengths);

/* ---- complex tensors (ops/complex.c) ------------------------------------------------------
 * A trailing axis of two holds (re, im). A gradient is (dL/dre, dL/dim). */

/** re + i im: dense [..] -> [.., 2]; im NULL: zeros. */
FILTRA_API filtra_tensor *filtra_complex(filtra_graph *g, filtra_tensor *re, filtra_tensor *im);
/** Both parts of z [.., 2] -> *re, *im [..]; NULL after an error. */
FILTRA_API void filtra_complex_parts(filtra_graph *g, filtra_tensor *z, filtra_tensor **re,
                                     filtra_tensor **im);
/** exp(i x), or with FILTRA_TURNS exp(2 pi i x): dense [..] -> [.., 2]. Accurate to 2e-7 up to
 * |x| = 1e4 in radians, and at any x in turns. */
FILTRA_API filtra_tensor *filtra_unit_phase(filtra_graph *g, filtra_tensor *x, filtra_angle angle);
/** The product a z: every feature of z [.., C, 2] is multiplied by the same a [.., 2]. */
FILTRA_API filtra_tensor *filtra_complex_multiply(filtra_graph *g, filtra_tensor *a,
                                                  filtra_tensor *z);
/** w re + (1 - w) im of z [.., 2] -> [..]. w is `weight` [1] clamped to [0,1]; outside that range
 * it gets no gradient. */
FILTRA_API filtra_tensor *filtra_complex_blend(filtra_graph *g, filtra_tensor *z,
                                               filtra_tensor *weight);

/* ---- recurrence (ops/gru.c) --------------------------------------------------------------- */

/** One layer of gated recurrent units (Cho et al. 2014) with h = 0 before the first token: x dense
 * [B,N,C], w_ih [3H,C], w_hh [3H,H], b_ih and b_hh [3H], gates stacked (reset, update, new) as in
 * PyTorch -> [B,N,H]. H <= 512. */
FILTRA_API filtra_tensor *filtra_gru(filtra_graph *g, filtra_tensor *x, filtra_tensor *w_ih,
                                     filtra_tensor *w_hh, filtra_tensor *b_ih, filtra_tensor *b_hh);

/* ---- Chebyshev polynomials (ops/kernel_polynomial.c) ----------------------------------------- */

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

/** Parameters of the damping factors, at most 100 each; 0: the default. */
typedef struct filtra_gibbs_options {
  float lanczos_m;      /**< 3 */
  float lorentz_xi;     /**< 4 */
  float wang_a, wang_b; /**< 2, 2 */
  uint64_t reserved[4]; /**< 0 */
} filtra_gibbs_options;

#define FILTRA_CHEBYSHEV_MAX_ORDER 16

/** Fills factors[0..order]; factors[0] is 1. 0 <= order <= FILTRA_CHEBYSHEV_MAX_ORDER. Thread-safe.
 */
FILTRA_API filtra_status filtra_gibbs_factors(filtra_gibbs kernel, int order,
                                              const filtra_gibbs_options *options, float *factors);

/** The kernel polynomial of the Converter: sum_k g_k w_k T_k(x), T_k the Chebyshev polynomials, for
 * every entry of dense x. `coefficients` w [K+1], K <= FILTRA_CHEBYSHEV_MAX_ORDER; `damping` g
 * [K+1], finite, in host memory, copied; NULL: ones. w_0 is not halved. */
FILTRA_API filtra_tensor *filtra_chebyshev(filtra_graph *g, filtra_tensor *x,
                                           filtra_tensor *coefficients, const float *damping);
/** The smoothness loss sum_k pi k^2 w_k^2 (the Converter's equation 15) -> [samples], all equal. */
FILTRA_API filtra_tensor *filtra_chebyshev_loss(filtra_graph *g, filtra_tensor *coefficients,
                                                int64_t samples);

/* ---- unitary token transforms (ops/dhhp.c, ops/givens.c, ops/affine_scan.c) ---------------
 * On complex features x [B,N,F,2]. All F features of a token share its coefficients. A sequence of
 * one token has no rotations: their tensor is [B,0,4,2]. */

/** Givens rotations that mix neighbouring tokens k and k+1. Angles are dense [B,N-1], in turns ->
 * [B,N-1,4,2], the entries ii, ij, ji, jj of each rotation: with A = pi (alpha + beta),
 * B = pi (alpha - beta) and C = pi gamma they are e^(-iA) cos C, -e^(iB) sin C, e^(-iB) sin C,
 * e^(iA) cos C. `mask` [B,N] or NULL: a rotation is the identity unless both its tokens have a 1.
 * So padding leaves the transform of a sequence as it is without padding. */
FILTRA_API filtra_tensor *filtra_givens(filtra_graph *g, filtra_tensor *alpha, filtra_tensor *beta,
                                        filtra_tensor *gamma, filtra_tensor *mask);

typedef struct filtra_dhhp_options {
  bool inverse; /**< Phi^H x, which equals Phi^-1 x, instead of Phi x */
  /** Stride m of the permutation P, which takes tokens 0, m, 2m, .., then 1, m + 1, .. and so on.
   * If m divides N, that is a transposed [N/m, m] matrix. 0: no permutation. */
  int64_t permutation;
  uint64_t reserved[4]; /**< 0 */
} filtra_dhhp_options;

/** Phi x with Phi = D H_l H_u P, the Converter's one-dimensional unitary transform: x [B,N,F,2],
 * lower and upper rotations [B,N-1,4,2], phases [B,N,2] the diagonal of D (NULL: D = I).
 * H_u = G_0 G_1 .. G_{N-2} of `upper`, H_l = G_{N-2} .. G_1 G_0 of `lower`, G_k acting on tokens k
 * and k+1. O(N F) work and memory. Rotations must be unitary and phases of modulus 1, as those of
 * filtra_givens and filtra_unit_phase are: the backward pass recomputes intermediate rows by the
 * exact inverse. */
FILTRA_API filtra_tensor *filtra_dhhp(filtra_graph *g, filtra_tensor *x, filtra_tensor *lower,
                                      filtra_tensor *upper, filtra_tensor *phases,
                                      const filtra_dhhp_options *options);

/** The complex recurrence h_t = c_t h_{t-1} + d_t from h_0 = d_0 (c_0 is not used);
 * FILTRA_BACKWARD: h_t = c_t h_{t+1} + d_t from h_{N-1} = d_{N-1}. c [B,N,2], d [B,N,F,2] ->
 * [B,N,F,2]. O(N F) work. */
FILTRA_API filtra_tensor *filtra_affine_scan(filtra_graph *g, filtra_tensor *c, filtra_tensor *d,
                                             filtra_direction direction);

/* ---- pooling (ops/pool.c) ----------------------------------------------------------------- */

/** F32 [B,N]: 1 where tokens[b,n] != 0, else 0. */
FILTRA_API filtra_tensor *filtra_token_mask(filtra_graph *g, filtra_tensor *tokens);
/** F32 [B,N]: 1 where n < lengths[b] (I32 [B]), else 0. */
FILTRA_API filtra_tensor *filtra_length_mask(filtra_graph *g, filtra_tensor *lengths, int64_t n);

/** Sets tokens whose mask [B,N] is not above 0 to zero; x dense [B,N,C], F32, F16 or BF16. */
FILTRA_API filtra_tensor *filtra_mask_tokens(filtra_graph *g, filtra_tensor *x,
                                             filtra_tensor *mask);
/** The mean over tokens: x dense [B,N,C], mask [B,N] or NULL (all ones) -> [B,C]. The sum over
 * tokens whose mask is above 0, divided by their number (none: 0), or with FILTRA_OVER_ALL by N. */
FILTRA_API filtra_tensor *filtra_pool_mean(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask,
                                           filtra_mean_over over);
/** x dense [B,N,C] -> [B,C], the first token. */
FILTRA_API filtra_tensor *filtra_pool_first(filtra_graph *g, filtra_tensor *x);
/** Adaptive average pooling of the last axis: x dense [.., C] -> [.., bins], bin i the mean of
 * channels floor(i C / bins) .. ceil((i+1) C / bins) - 1. Bins overlap unless they divide C.
 * C, bins <= 32768. */
FILTRA_API filtra_tensor *filtra_pool_channels(filtra_graph *g, filtra_tensor *x, int64_t bins);

/* ---- losses (ops/loss.c) ------------------------------------------------------------------ */

/** logits [R,K], labels I32 [R] -> [R]: cross-entropy against (1-s) one-hot + s/K, s the label
 * smoothing in [0,1). A label outside [0,K) gives 0 and no gradient. */
FILTRA_API filtra_tensor *filtra_cross_entropy(filtra_graph *g, filtra_tensor *logits,
                                               filtra_tensor *labels, float smoothing);
/** logits x, targets t and weights w [R,K] -> [R]: the binary cross-entropy of K labels: the mean
 * over labels of w softplus(-x) where t is 1, and of w softplus(x) where t is 0; t has no other
 * values. No gradient for t and w. w NULL: all ones. */
FILTRA_API filtra_tensor *filtra_binary_cross_entropy(filtra_graph *g, filtra_tensor *logits,
                                                      filtra_tensor *targets,
                                                      filtra_tensor *weights);
/** Mean over the last axis of (x-y)^2, or |x-y|: [R,K] -> [R]. No gradient for y. */
FILTRA_API filtra_tensor *filtra_squared_error(filtra_graph *g, filtra_tensor *x, filtra_tensor *y);
FILTRA_API filtra_tensor *filtra_absolute_error(filtra_graph *g, filtra_tensor *x,
                                                filtra_tensor *y);
/** [R]: 1 where labels[r] is the index of the largest of logits[r] (the first of equal ones), else
 * 0. No gradient. */
FILTRA_API filtra_tensor *filtra_accuracy(filtra_graph *g, filtra_tensor *logits,
                                          filtra_tensor *labels);
/** [R]: 1 where labels[r] is among the k largest of logits[r] (of equal ones the first), else 0;
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
