#include "reference/agf.h"
#include "support/attention.h"
#include "support/harness.h"

typedef enum padding { NO_MASK, SOME_PADDING, EMPTY_SAMPLE } padding;

struct settings {
  ref_agf_settings ref;
  padding padding;
  bool ortho;
  bool packed;        /* u, s, vv, value are pieces of one [B,N,4C] tensor, split into heads */
  bool only_ortho;    /* y is not an output */
  bool twice;         /* y is the sum of two equal filters, so that gradients accumulate */
  double range;       /* of u, s, vv, value; 0: 1.5 */
  filtra_dtype dtype; /* theirs */
};

enum { INPUT_COEFFICIENTS = 4, INPUT_MASK = 5, INPUTS = 6 };

static void take_views(filtra_graph *g, const struct settings *s, filtra_tensor **in,
                       filtra_tensor **views) {
  memcpy(views, in, 4 * sizeof *views);
  if (!s->packed) return;
  filtra_chunk(g, in[0], 4, views);
  for (int i = 0; i < 4; i++)
    views[i] = filtra_split_heads(g, views[i], s->ref.heads);
}

static filtra_tensor *filter(filtra_graph *g, filtra_tensor **view, filtra_tensor **in,
                             const struct settings *s, filtra_tensor **ortho) {
  const ref_agf_settings *r = &s->ref;
  filtra_agf_options options = {.mask = s->padding ? in[INPUT_MASK] : NULL,
                                .basis = r->basis,
                                .a = (float)r->a,
                                .b = (float)r->b,
                                .rho = r->rho,
                                .theta_mode = r->theta_mode,
                                .variant = r->variant,
                                .symmetric_domain = r->symmetric,
                                .ortho = ortho,
                                .ortho_padding = r->ortho_padding};
  filtra_tensor *y =
      filtra_agf(g, view[0], r->variant == FILTRA_AGF_FILTER ? view[1] : NULL, view[2], view[3],
                 r->variant == FILTRA_AGF_UV ? NULL : in[INPUT_COEFFICIENTS], &options);
  y = filtra_merge_heads(g, y);
  return s->twice && s->dtype != FILTRA_F32 ? filtra_cast(g, y, FILTRA_F32) : y;
}

TEST_BUILD(build) {
  const struct settings *s = op->settings;
  filtra_tensor *view[4], *ortho = NULL;
  take_views(g, s, in, view);
  filtra_tensor *y = filter(g, view, in, s, s->ortho ? &ortho : NULL);
  if (s->twice) y = filtra_add(g, y, filter(g, view, in, s, NULL));
  int count = 0;
  if (!s->only_ortho) out[count++] = y;
  if (s->ortho) out[count] = ortho;
}

/* Piece `part` of [B,N,4,H,D] as [B,H,N,D]. */
static double *unpack(const double *packed, const ref_agf_settings *r, int part) {
  double *out = malloc((size_t)(r->batch * r->heads * r->tokens * r->width) * sizeof *out),
         *to = out;
  assert_non_null(out);
  for (int64_t b = 0; b < r->batch; b++)
    for (int64_t h = 0; h < r->heads; h++)
      for (int64_t n = 0; n < r->tokens; n++, to += r->width)
        memcpy(to, packed + (((b * r->tokens + n) * 4 + part) * r->heads + h) * r->width,
               (size_t)r->width * sizeof *out);
  return out;
}

TEST_REFERENCE(reference) {
  const struct settings *s = op->settings;
  const ref_agf_settings *r = &s->ref;
  double *view[4];
  for (int i = 0; i < 4; i++)
    view[i] = s->packed ? unpack(in[0], r, i) : in[i];
  owned double *unseen = NULL;
  if (s->only_ortho)
    unseen = malloc((size_t)(r->batch * r->heads * r->tokens * r->width) * sizeof *unseen);
  ref_agf(r, view[0], view[1], view[2], view[3], in[INPUT_COEFFICIENTS],
          s->padding ? in[INPUT_MASK] : NULL, s->only_ortho ? unseen : out[0],
          s->ortho ? out[!s->only_ortho] : NULL);
  for (int64_t i = 0; s->twice && i < r->batch * r->heads * r->tokens * r->width; i++)
    out[0][i] *= 2;
  for (int i = 0; i < 4 && s->packed; i++)
    free(view[i]);
}

/* 1 for real tokens: the first sample loses its last third and one token in the middle, others
 * nothing; or the last sample has no real token at all. */
static float *make_mask(const struct settings *s) {
  const int64_t tokens = s->ref.tokens, batch = s->ref.batch;
  float *mask = test_alloc((size_t)(batch * tokens) * sizeof *mask);
  for (int64_t b = 0; b < batch; b++)
    for (int64_t n = 0; n < tokens; n++) {
      bool excluded = b == 0 && tokens > 2 && (n >= tokens - tokens / 3 || n == tokens / 2);
      if (s->padding == EMPTY_SAMPLE && b == batch - 1) excluded = true;
      mask[b * tokens + n] = !excluded;
    }
  return mask;
}

static void run(filtra_device *device, const struct settings *s, uint64_t seed) {
  const ref_agf_settings *r = &s->ref;
  const bool filter = r->variant == FILTRA_AGF_FILTER, svd = r->variant == FILTRA_AGF_SVD;
  const double range = s->range > 0 ? s->range : 1.5;
  owned float *mask = make_mask(s);
  test_op op = {.name = "agf",
                .inputs = INPUTS,
                .outputs = s->ortho && !s->only_ortho ? 2 : 1,
                .build = build,
                .reference = reference,
                .settings = s,
                .seed = seed};
  /* W, V^T value and y are rounded. The coefficients' gradient is a sum over all tokens and
   * features, of rounded terms of both signs. */
  op.forward_tolerance = 4 * test_half_ulp(s->dtype);
  op.gradient_tolerance = 20 * test_half_ulp(s->dtype);
  static const char *const names[] = {"u", "s", "vv", "value"};
  for (int i = 0; i < 4; i++) {
    op.in[i] = (test_tensor){names[i],
                             s->dtype,
                             4,
                             {r->batch, r->heads, r->tokens, r->width},
                             -range,
                             range,
                             .gradient = i == 1 ? filter : i < 3 || !s->only_ortho};
    if (!s->packed) continue;
    op.in[i] = (test_tensor){"unused", FILTRA_F32, 1, {1}};
  }
  if (s->packed)
    op.in[0] = (test_tensor){
        "packed", s->dtype,        3, {r->batch, r->tokens, 4 * r->heads * r->width}, -range,
        range,    .gradient = true};
  op.in[INPUT_COEFFICIENTS] =
      (test_tensor){"coefficients", FILTRA_F32, 1, {r->order + 1}, .gradient = filter};
  if (svd)
    op.in[INPUT_COEFFICIENTS] = (test_tensor){
        "singular values", FILTRA_F32, 2, {r->heads, r->width}, .gradient = !s->only_ortho};
  op.in[INPUT_MASK] = (test_tensor){"mask", FILTRA_F32, 2, {r->batch, r->tokens}, .fixed = mask};
  test_check_op(device, &op);
}

static struct settings make(int64_t tokens, int64_t width, int order) {
  return (struct settings){.ref = {.batch = 2,
                                   .heads = 2,
                                   .tokens = tokens,
                                   .width = width,
                                   .order = order,
                                   .a = 1,
                                   .b = 1}};
}

/* Lengths, widths and orders; packed, masked and with the loss in turn. */
static void check_shapes(filtra_device *device) {
  static const int64_t shapes[][3] = {{1, 5, 3},   {7, 5, 0},   {7, 5, 1},    {7, 16, 2},
                                      {33, 16, 5}, {33, 33, 2}, {130, 5, 10}, {130, 16, 3},
                                      {9, 64, 2},  {1, 1, 2}};
  for (size_t i = 0; i < FT_COUNT(shapes); i++) {
    struct settings s = make(shapes[i][0], shapes[i][1], (int)shapes[i][2]);
    s.packed = i % 2 == 0;
    s.ortho = i % 3 == 0;
    s.padding = i % 4 == 1 ? SOME_PADDING : NO_MASK;
    run(device, &s, i + 1);
  }
}

TEST_WITH(test_shapes, NULL, check_shapes)
TEST_WITH(test_without_subgroups, "subgroup=0", check_shapes)

/* CPU drivers give an invocation a row of its own where they can load pairs. */
TEST_WITH(test_without_pairs, "int64=0", check_shapes)

TEST(test_large) {
  struct settings s = make(130, 64, 3);
  s.packed = s.ortho = true;
  s.ref.batch = 1;
  run(test_device(), &s, 1);
}

TEST(test_long) {
  struct settings s = make(1500, 3, 2);
  s.ref.batch = 1;
  s.padding = SOME_PADDING;
  run(test_device(), &s, 1);
}

/* Logits far apart: exponentials that overflow or vanish without the shift by the largest. */
TEST(test_wide_range) {
  struct settings s = make(150, 12, 2);
  s.range = 120;
  s.ref.batch = 1;
  run(test_device(), &s, 1);
}

TEST(test_accumulation) {
  for (int flags = 0; flags < 12; flags++) {
    struct settings s = make(7, 5, 2);
    s.twice = true;
    s.packed = flags & 1;
    s.ortho = flags & 2;
    s.ref.variant = (filtra_agf_variant)(flags >> 2);
    run(test_device(), &s, (uint64_t)flags);
  }
}

TEST(test_bases) {
  static const struct {
    filtra_basis basis;
    double a, b;
  } bases[] = {{FILTRA_BASIS_LEGENDRE, 0, 0},    {FILTRA_BASIS_CHEBYSHEV, 0, 0},
               {FILTRA_BASIS_CHEBYSHEV_T, 0, 0}, {FILTRA_BASIS_MONOMIAL, 0, 0},
               {FILTRA_BASIS_JACOBI, 0, 0},      {FILTRA_BASIS_JACOBI, 1.5, 2},
               {FILTRA_BASIS_JACOBI, 1.5, -1},   {FILTRA_BASIS_JACOBI, 2, -2}};
  static const int orders[] = {0, 1, 2, 5, 10};
  for (size_t i = 0; i < FT_COUNT(bases); i++)
    for (size_t k = 0; k < FT_COUNT(orders); k++)
      for (int symmetric = 0; symmetric < 2; symmetric++) {
        struct settings s = make(3, 5, orders[k]);
        s.ref.basis = bases[i].basis;
        s.ref.a = bases[i].a;
        s.ref.b = bases[i].b;
        s.ref.symmetric = symmetric;
        run(test_device(), &s, i + 10 * k + 100 * (uint64_t)symmetric);
      }
}

/* The orders that take more than one piece of the coefficient table. */
TEST(test_high_orders) {
  for (int order = 7; order <= 32; order += order < 9 ? 1 : 23) {
    struct settings s = make(5, 5, order);
    s.ref.symmetric = true;
    s.ref.basis = FILTRA_BASIS_CHEBYSHEV_T;
    run(test_device(), &s, (uint64_t)order);
  }
}

TEST(test_rho) {
  static const padding paddings[] = {NO_MASK, SOME_PADDING, EMPTY_SAMPLE};
  for (int rho = FILTRA_RHO_SOFTMAX; rho <= FILTRA_RHO_NONE; rho++)
    for (size_t p = 0; p < FT_COUNT(paddings); p++)
      for (int flags = 0; flags < 4; flags++) {
        struct settings s = make(7, 6, 2);
        s.ref.rho = (filtra_rho)rho;
        s.padding = paddings[p];
        s.packed = flags & 1;
        s.ortho = flags & 2;
        run(test_device(), &s, (uint64_t)(rho + 10 * flags) + 100 * p);
      }
}

TEST(test_theta_modes) {
  for (int mode = FILTRA_THETA_TANH_FIX0; mode <= FILTRA_THETA_RAW; mode++)
    for (int order = 0; order < 4; order += 3) {
      struct settings s = make(7, 5, order);
      s.ref.theta_mode = (filtra_theta_mode)mode;
      run(test_device(), &s, (uint64_t)(mode + 10 * order));
    }
}

TEST(test_variants) {
  for (int variant = FILTRA_AGF_UV; variant <= FILTRA_AGF_SVD; variant++)
    for (int flags = 0; flags < 4; flags++) {
      struct settings s = make(33, 16, 0);
      s.ref.variant = (filtra_agf_variant)variant;
      s.padding = SOME_PADDING;
      s.packed = flags & 1;
      s.ortho = flags & 2;
      run(test_device(), &s, (uint64_t)(variant + 10 * flags));
    }
}

/* A loss that depends on U and V alone: of all rows, of the real ones, and with U's at padding. */
TEST(test_ortho_alone) {
  for (int variant = FILTRA_AGF_FILTER; variant <= FILTRA_AGF_SVD; variant++)
    for (int rows = 0; rows < 3; rows++) {
      struct settings s = make(9, 5, 2);
      s.ref.variant = (filtra_agf_variant)variant;
      s.padding = rows ? SOME_PADDING : NO_MASK;
      s.ref.ortho_padding = rows == 2;
      s.ortho = s.only_ortho = true;
      run(test_device(), &s, 1);
    }
}

/* ---- 16 bits ---- */

/* In one of both types, by the seed. */
static void run_narrow(filtra_device *device, struct settings s, uint64_t seed) {
  static const filtra_dtype types[] = {FILTRA_F16, FILTRA_BF16};
  s.dtype = types[seed % FT_COUNT(types)];
  if (test_stores(device, s.dtype)) run(device, &s, seed);
}

static void check_narrow_shapes(filtra_device *device, uint64_t turn) {
  static const int64_t shapes[][3] = {{1, 1, 2},   {1, 5, 3},   {7, 16, 2},
                                      {33, 33, 2}, {130, 5, 5}, {9, 64, 2}};
  for (size_t i = 0; i < FT_COUNT(shapes); i++) {
    struct settings s = make(shapes[i][0], shapes[i][1], (int)shapes[i][2]);
    s.packed = i % 2 == 0;
    s.ortho = i % 3 != 2;
    s.padding = i % 4 == 1 ? SOME_PADDING : NO_MASK;
    run_narrow(device, s, i + turn);
  }
}

TEST(test_narrow_shapes) {
  check_narrow_shapes(test_device(), 0);
}

TEST(test_narrow_without_subgroups) {
  owned_device *device = test_open_device("subgroup=0");
  check_narrow_shapes(device, 1);
}

/* Several chunks of tokens; logits far apart, with g = 1 for the reason below. */
TEST(test_narrow_long) {
  for (uint64_t turn = 0; turn < 4; turn++) {
    struct settings s = make(400, 3, turn & 2 ? 0 : 2);
    s.ref.batch = 1;
    s.padding = turn & 1 ? SOME_PADDING : NO_MASK;
    s.range = turn & 2 ? 40 : 0;
    run_narrow(test_device(), s, turn);
  }
}

/* With g = 1: the sums that are the coefficients' gradients cancel nearly all without softmax. */
TEST(test_narrow_rho) {
  static const padding paddings[] = {NO_MASK, SOME_PADDING, EMPTY_SAMPLE};
  for (int rho = FILTRA_RHO_SOFTMAX; rho <= FILTRA_RHO_NONE; rho++)
    for (size_t p = 0; p < FT_COUNT(paddings); p++) {
      struct settings s = make(7, 6, 0);
      s.ref.rho = (filtra_rho)rho;
      s.padding = paddings[p];
      s.packed = p & 1;
      s.ortho = rho == FILTRA_RHO_SOFTMAX; /* entries near 0 change their sign at a rounding */
      run_narrow(test_device(), s, (uint64_t)rho + p);
    }
}

TEST(test_narrow_variants) {
  for (int variant = FILTRA_AGF_FILTER; variant <= FILTRA_AGF_SVD; variant++)
    for (uint64_t flags = 0; flags < 4; flags++) {
      struct settings s = make(9, 5, 2);
      s.ref.variant = (filtra_agf_variant)variant;
      s.padding = SOME_PADDING;
      s.ref.ortho_padding = flags & 1;
      s.packed = s.ortho = flags & 2;
      s.twice = flags == 3;
      s.only_ortho = flags == 2;
      run_narrow(test_device(), s, (uint64_t)variant + flags);
    }
}

/* ---- errors ---- */

struct attempt {
  int64_t coefficients, mask_tokens;
  bool transposed; /* s has another shape than u */
  bool narrow;     /* and another type */
  filtra_agf_options options;
};

static filtra_status attempt(struct attempt a) {
  owned_graph *g = test_graph(test_device(), NULL);
  int64_t shape[] = {2, 3, 7, 5}, other[] = {2, 7, 3, 5};
  filtra_tensor *t[4];
  for (int i = 0; i < 4; i++)
    t[i] = filtra_graph_input(g, "t", i == 1 && a.narrow ? FILTRA_BF16 : FILTRA_F32, 4,
                              i == 1 && a.transposed ? other : shape);
  filtra_tensor *coefficients =
      filtra_graph_input(g, "coefficients", FILTRA_F32, 1, &a.coefficients);
  if (a.mask_tokens) a.options.mask = test_input(g, "mask", 2, a.mask_tokens);
  filtra_graph_output(g, filtra_agf(g, t[0], t[1], t[2], t[3], coefficients, &a.options));
  filtra_status status = filtra_graph_compile(g);
  return status;
}

TEST(test_errors) {
  assert_ok(attempt((struct attempt){.coefficients = 3, .mask_tokens = 7}));
  assert_fails(attempt((struct attempt){.coefficients = 3, .transposed = true}),
               FILTRA_ERROR_ARGUMENT, "shape of u");
  if (test_stores(test_device(), FILTRA_BF16))
    assert_fails(attempt((struct attempt){.coefficients = 3, .narrow = true}),
                 FILTRA_ERROR_ARGUMENT, "agf: s (t, BF16 [2, 3, 7, 5]) must have the type and");
  assert_fails(attempt((struct attempt){.coefficients = 3, .mask_tokens = 6}),
               FILTRA_ERROR_ARGUMENT, "mask");
  assert_fails(attempt((struct attempt){.coefficients = 34}), FILTRA_ERROR_ARGUMENT, "K at most");
  assert_fails(attempt((struct attempt){.coefficients = 3, .options = {.rho = (filtra_rho)9}}),
               FILTRA_ERROR_ARGUMENT, "rho 9");
  assert_fails(attempt((struct attempt){.coefficients = 3, .options = {.variant = FILTRA_AGF_UV}}),
               FILTRA_ERROR_ARGUMENT, "pass NULL");
  assert_fails(attempt((struct attempt){.coefficients = 3, .options = {.variant = FILTRA_AGF_SVD}}),
               FILTRA_ERROR_ARGUMENT, "dimension");
  assert_fails(attempt((struct attempt){.coefficients = 3, .options = {.a = NAN}}),
               FILTRA_ERROR_ARGUMENT, "finite");
  /* a + b = -2 has no recurrence at order 2, and a + b = -3 none at order 3; below it is fine. */
  assert_fails(attempt((struct attempt){.coefficients = 3, .options = {.a = -0.5f, .b = -1.5f}}),
               FILTRA_ERROR_ARGUMENT, "order 2");
  assert_ok(attempt((struct attempt){.coefficients = 2, .options = {.a = -0.5f, .b = -1.5f}}));
  assert_fails(attempt((struct attempt){.coefficients = 4, .options = {.a = -1, .b = -2}}),
               FILTRA_ERROR_ARGUMENT, "order 3");
}

TEST_MAIN(NULL, test_teardown)
