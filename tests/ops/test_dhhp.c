/* Rotations, the unitary transform built from them, and complex recurrences. */
#include "support/harness.h"

#include "base/rng.h"
#include "ops/support.h"
#include "reference/dhhp.h"

enum { X, ALPHA_L, ALPHA_U = ALPHA_L + 3, THETA = ALPHA_U + 3, INPUTS };

/* ---- the transform ---- */

/* Synvolution: Phi^H D Phi, with Phi without phases. */
enum transform { FORWARD, INVERSE, SYNVOLUTION };

struct settings {
  int64_t batch, tokens, features, permutation;
  enum transform transform;
  bool no_phases;
  double gamma; /* the rotations' third angle varies by 0.2 about this; 0: over a whole turn */
};

TEST_BUILD(build) {
  const struct settings *s = op->settings;
  filtra_tensor *lower = filtra_givens(g, in[ALPHA_L], in[ALPHA_L + 1], in[ALPHA_L + 2], NULL);
  filtra_tensor *upper = filtra_givens(g, in[ALPHA_U], in[ALPHA_U + 1], in[ALPHA_U + 2], NULL);
  filtra_tensor *phases = s->no_phases ? NULL : filtra_unit_phase(g, in[THETA], FILTRA_TURNS);
  filtra_dhhp_options options = {.inverse = s->transform == INVERSE, .permutation = s->permutation};
  out[0] = filtra_dhhp(g, in[X], lower, upper, phases, &options);
  if (s->transform != SYNVOLUTION) return;
  options.inverse = true;
  out[0] = filtra_dhhp(g, out[0], lower, upper, NULL, &options);
}

TEST_REFERENCE(reference) {
  const struct settings *s = op->settings;
  const int64_t area = s->tokens * s->features;
  memcpy(out[0], in[X], (size_t)(2 * s->batch * area) * sizeof *out[0]);
  for (int64_t b = 0; b < s->batch; b++) {
    reference_dhhp phi = {s->tokens, s->features, s->permutation, {0}, {0}, NULL};
    for (int i = 0; i < 3; i++) {
      phi.lower[i] = in[ALPHA_L + i] + b * (s->tokens - 1);
      phi.upper[i] = in[ALPHA_U + i] + b * (s->tokens - 1);
    }
    if (!s->no_phases) phi.theta = in[THETA] + b * s->tokens;
    double complex *x = (double complex *)out[0] + b * area;
    reference_dhhp_apply(&phi, s->transform == INVERSE, x);
    phi.theta = NULL;
    if (s->transform == SYNVOLUTION) reference_dhhp_apply(&phi, true, x);
  }
}

static void run(filtra_device *device, const struct settings *s) {
  static const char *const names[] = {"x",       "alpha_l", "beta_l",  "gamma_l",
                                      "alpha_u", "beta_u",  "gamma_u", "theta"};
  test_op op = {.name = "dhhp",
                .inputs = INPUTS,
                .build = build,
                .reference = reference,
                .settings = s,
                .out_elements = {2 * s->batch * s->tokens * s->features}};
  for (int i = 0; i < INPUTS; i++)
    op.in[i] = (test_tensor){names[i],
                             FILTRA_F32,
                             2,
                             {s->batch, s->tokens - (i != THETA)},
                             .gradient = i != THETA || !s->no_phases};
  for (int i = ALPHA_L + 2; s->gamma != 0 && i <= ALPHA_U + 2; i += 3) {
    op.in[i].low = s->gamma - 0.1;
    op.in[i].high = s->gamma + 0.1;
  }
  op.in[X].ndim = 4;
  const int64_t shape[] = {s->batch, s->tokens, s->features, 2};
  memcpy(op.in[X].shape, shape, sizeof shape);
  test_check_op(device, &op);
}

static void check_shapes(filtra_device *device) {
  static const struct settings cases[] = {
      {.batch = 1, .tokens = 1, .features = 1},
      {.batch = 3, .tokens = 1, .features = 5, .transform = INVERSE},
      {.batch = 1, .tokens = 1, .features = 16, .no_phases = true},
      {.batch = 2, .tokens = 2, .features = 1},
      {.batch = 1, .tokens = 2, .features = 5, .permutation = 2, .transform = INVERSE},
      {.batch = 2, .tokens = 7, .features = 5},
      {.batch = 2, .tokens = 7, .features = 16, .transform = INVERSE},
      {.batch = 2, .tokens = 33, .features = 64, .permutation = 5, .transform = SYNVOLUTION},
      {.batch = 2, .tokens = 7, .features = 5, .transform = SYNVOLUTION},
      {.batch = 1, .tokens = 33, .features = 16, .permutation = 3},
      {.batch = 2, .tokens = 33, .features = 5, .permutation = 11, .transform = INVERSE},
      {.batch = 1, .tokens = 33, .features = 37, .transform = SYNVOLUTION},
      {.batch = 2, .tokens = 7, .features = 5, .permutation = 3},
      {.batch = 1, .tokens = 33, .features = 3, .permutation = 7, .transform = INVERSE},
      {.batch = 2, .tokens = 5, .features = 2, .permutation = 8, .transform = SYNVOLUTION},
      {.batch = 9, .tokens = 12, .features = 3, .permutation = 4, .transform = SYNVOLUTION},
      {.batch = 1, .tokens = 130, .features = 5, .permutation = 13},
      {.batch = 1, .tokens = 130, .features = 16, .transform = INVERSE, .no_phases = true},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    run(device, &cases[i]);
}

TEST_WITH(test_shapes, NULL, check_shapes)
TEST_WITH(test_without_subgroups, "subgroup=0", check_shapes)
TEST_WITH(test_without_int64, "int64=0", check_shapes)

/* More features than a workgroup takes: the rotations' gradients are added over workgroups. */
TEST(test_wide) {
  run(test_device(), &(struct settings){.batch = 1, .tokens = 9, .features = 150});
  run(test_device(),
      &(struct settings){.batch = 2, .tokens = 5, .features = 300, .transform = SYNVOLUTION});
}

/* Lengths about multiples of the chunks that CPU (256 steps and more) and GPU devices (32 and more)
 * use; N tokens are N - 1 steps. */
TEST(test_chunks) {
  static const int64_t tokens[] = {65, 66, 67, 98, 513, 514, 769};
  for (size_t i = 0; i < FT_COUNT(tokens); i++) {
    run(test_device(),
        &(struct settings){
            .batch = 1, .tokens = tokens[i], .features = 1, .transform = (enum transform)(i % 3)});
  }
  run(test_device(), &(struct settings){.batch = 1, .tokens = 1000, .features = 5});
  run(test_device(),
      &(struct settings){.batch = 2, .tokens = 1000, .features = 16, .transform = INVERSE});
  run(test_device(),
      &(struct settings){
          .batch = 1, .tokens = 1000, .features = 3, .permutation = 8, .transform = SYNVOLUTION});
}

/* Rotations by nearly a quarter turn hand each row on to the next: the carry lives long. */
TEST(test_long_carries) {
  run(test_device(), &(struct settings){.batch = 1, .tokens = 600, .features = 2, .gamma = 0.5});
  run(test_device(),
      &(struct settings){
          .batch = 1, .tokens = 600, .features = 2, .gamma = -0.5, .transform = INVERSE});
}

/* ---- unitarity at length ---- */

static double squares(const float *x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (double)x[i] * x[i];
  return sum;
}

static filtra_tensor *angles(filtra_graph *g, int64_t tokens, filtra_tensor *in[3]) {
  for (int i = 0; i < 3; i++)
    in[i] = test_input(g, "angle", 1, tokens);
  return filtra_givens(g, in[0], in[1], in[2], NULL);
}

/* |Phi x| = |x| and Phi^-1 Phi x = x. */
TEST(test_unitary) {
  enum { TOKENS = 32768, FEATURES = 5, COUNT = 2 * TOKENS * FEATURES };
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 1, TOKENS, FEATURES, 2);
  filtra_tensor *in[7];
  filtra_tensor *lower = angles(g, TOKENS - 1, in), *upper = angles(g, TOKENS - 1, in + 3);
  in[6] = test_input(g, "theta", 1, TOKENS);
  filtra_tensor *phases = filtra_unit_phase(g, in[6], FILTRA_TURNS);
  filtra_dhhp_options options = {.permutation = 128};
  filtra_tensor *y = filtra_dhhp(g, x, lower, upper, phases, &options);
  options.inverse = true;
  filtra_tensor *back = filtra_dhhp(g, y, lower, upper, phases, &options);
  filtra_graph_output(g, y);
  filtra_graph_output(g, back);
  assert_ok(filtra_graph_compile(g));

  float *values = malloc(3 * COUNT * sizeof *values), *got = values + COUNT;
  assert_non_null(values);
  test_random(1, -1, 1, values, COUNT);
  assert_ok(filtra_graph_set(g, x, values));
  for (int i = 0; i < 7; i++) {
    test_random(2 + (uint64_t)i, -1, 1, got, TOKENS);
    assert_ok(filtra_graph_set(g, in[i], got));
  }
  test_run_graph(g, NULL, TEST_GET({y, got}, {back, got + COUNT}));
  double norm = sqrt(squares(values, COUNT)), transformed = sqrt(squares(got, COUNT));
  if (!(fabs(transformed - norm) <= 1e-5 * norm))
    fail_msg("|Phi x| is %.9g, |x| is %.9g", transformed, norm);
  for (int i = 0; i < COUNT; i++) {
    double error = (double)got[COUNT + i] - values[i];
    if (!(fabs(error) <= 1e-5)) fail_msg("Phi^-1 Phi x differs from x by %g at %d", error, i);
  }
  free(values);
}

/* ---- rotations alone ---- */

enum { MASK = 3 };

TEST_BUILD(build_givens) {
  out[0] = filtra_givens(g, in[0], in[1], in[op->dims[1]], op->inputs > MASK ? in[MASK] : NULL);
}

TEST_REFERENCE(ref_givens) {
  const int64_t steps = op->in[0].shape[1];
  for (int64_t i = 0; i < op->dims[0]; i++) {
    const double *mask = op->inputs > MASK ? in[MASK] + i + i / steps : NULL;
    double complex g[4] = {1, 0, 0, 1};
    if (!mask || (mask[0] != 0 && mask[1] != 0))
      reference_givens(in[0][i], in[1][i], in[op->dims[1]][i], g);
    memcpy(out[0] + 8 * i, g, sizeof g);
  }
}

static void check_angles(int64_t batch, int64_t count, const float *fixed, bool shared) {
  test_op op = {.name = "givens",
                .inputs = shared ? 2 : 3,
                .build = build_givens,
                .reference = ref_givens,
                .dims = {batch * count, shared ? 0 : 2},
                .forward_tolerance = 1e-6};
  static const char *const names[] = {"alpha", "beta", "gamma"};
  for (int i = 0; i < op.inputs; i++)
    op.in[i] = (test_tensor){names[i],         FILTRA_F32,    2, {batch, count}, -4, 4,
                             .gradient = true, .fixed = fixed};
  test_check_op(test_device(), &op);
}

/* Rotations of which a token is masked are the identity, and their angles get no gradient. */
TEST(test_mask) {
  enum { BATCH = 3, TOKENS = 6 };
  static const float mask[BATCH * TOKENS] = {1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0};
  test_op op = {.name = "givens",
                .inputs = MASK + 1,
                .build = build_givens,
                .reference = ref_givens,
                .dims = {BATCH * (TOKENS - 1), 2},
                .in = {[MASK] = {"mask", FILTRA_F32, 2, {BATCH, TOKENS}, .fixed = mask}}};
  for (int i = 0; i < MASK; i++)
    op.in[i] = (test_tensor){"angle", FILTRA_F32, 2, {BATCH, TOKENS - 1}, .gradient = true};
  test_check_op(test_device(), &op);
}

/* Angles of many turns; multiples of an eighth, where the sine's pieces meet; one tensor as two of
 * the angles; and none. */
TEST(test_angles) {
  static const float eighths[] = {0,     0.125f,  0.25f,  0.375f, 0.5f,   0.625f,
                                  0.75f, 0.875f,  1,      1.125f, 3.5f,   -7.25f,
                                  -1,    -0.125f, -0.25f, -0.5f,  -0.75f, -0.875f};
  check_angles(3, 45, NULL, false);
  check_angles(1, FT_COUNT(eighths), eighths, false);
  check_angles(2, 33, NULL, true);
  check_angles(2, 0, NULL, false);
}

enum { FIRST, FLAT }; /* op->dims */

TEST_BUILD(build_of_tokens) {
  const int64_t *shape = in[0]->shape, runs[] = {shape[0], 3 * shape[1]};
  filtra_tensor *angles[3];
  filtra_chunk(g, op->dims[FLAT] ? filtra_reshape(g, in[0], 2, runs) : in[0], 3, angles);
  out[0] = ft_givens_of_tokens(g, angles, op->dims[FIRST], in[1]);
}

TEST_REFERENCE(ref_of_tokens) {
  const int64_t batch = op->in[0].shape[0], n = op->in[0].shape[1];
  const int64_t kind = op->dims[FLAT] ? n : 1, token = op->dims[FLAT] ? 1 : 3;
  for (int64_t i = 0; i < batch * (n - 1); i++) {
    const int64_t b = i / (n - 1), k = i % (n - 1);
    const double *x = in[0] + 3 * n * b + token * (k + op->dims[FIRST]), *mask = in[1] + n * b + k;
    double complex g[4] = {1, 0, 0, 1};
    if (mask[0] != 0 && mask[1] != 0) reference_givens(x[0], x[kind], x[2 * kind], g);
    memcpy(out[0] + 8 * i, g, sizeof g);
  }
}

/* Angles as columns or runs of one tensor, of all tokens but the last or the first. */
TEST(test_angles_of_tokens) {
  enum { BATCH = 3 };
  static const float mask[BATCH * 5] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0};
  for (int i = 0; i < 8; i++) {
    const int64_t tokens = i < 4 ? 5 : 1;
    test_op op = {.name = "givens",
                  .inputs = 2,
                  .build = build_of_tokens,
                  .reference = ref_of_tokens,
                  .dims = {[FIRST] = i % 2, [FLAT] = i / 2 % 2},
                  .in = {{"angles", FILTRA_F32, 3, {BATCH, tokens, 3}, .gradient = true},
                         {"mask", FILTRA_F32, 2, {BATCH, tokens}, .fixed = mask}}};
    test_check_op(test_device(), &op);
  }
}

/* ---- recurrences ---- */

TEST_BUILD(build_scan) {
  out[0] = filtra_affine_scan(g, in[0], in[1], op->dims[3]);
}

TEST_REFERENCE(ref_scan) {
  const int64_t batch = op->dims[0], tokens = op->dims[1], features = op->dims[2];
  for (int64_t b = 0; b < batch; b++) {
    int64_t at = 2 * b * tokens * features;
    reference_affine_scan((const double complex *)(in[0] + 2 * b * tokens),
                          (const double complex *)(in[1] + at), (double complex *)(out[0] + at),
                          tokens, features, op->dims[3]);
  }
}

static void check_scan(filtra_device *device, int64_t batch, int64_t tokens, int64_t features,
                       bool reverse) {
  test_op op = {.name = "affine_scan",
                .inputs = 2,
                .in = {{"c", FILTRA_F32, 3, {batch, tokens, 2}, -0.7, 0.7, true},
                       {"d", FILTRA_F32, 4, {batch, tokens, features, 2}, .gradient = true}},
                .build = build_scan,
                .reference = ref_scan,
                .dims = {batch, tokens, features, reverse}};
  test_check_op(device, &op);
}

TEST(test_scan) {
  static const int64_t shapes[][3] = {{1, 1, 1},   {2, 1, 5},   {2, 2, 5},    {3, 7, 1},
                                      {1, 33, 16}, {2, 65, 5},  {2, 66, 3},   {1, 130, 37},
                                      {2, 513, 1}, {1, 514, 5}, {1, 1000, 16}};
  owned_device *plain = test_open_device("subgroup=0");
  for (size_t i = 0; i < FT_COUNT(shapes); i++)
    for (int reverse = 0; reverse < 2; reverse++) {
      const int64_t *s = shapes[i];
      check_scan(test_device(), s[0], s[1], s[2], reverse);
      if (s[1] < 100) check_scan(plain, s[0], s[1], s[2], reverse);
    }
}

/* ---- errors ---- */

TEST(test_errors) {
  static const struct {
    int64_t tokens, rotations, phases, permutation;
    const char *message;
  } cases[] = {{8, 8, 8, 0, "dhhp: lower (lower [2, 8, 4, 2]) must be [2, 7, 4, 2]"},
               {8, 7, 7, 0, "dhhp: phases (phases [2, 7, 2]) must be [2, 8, 2]"},
               {8, 7, 8, -2, "permutation -2"},
               {0, 0, 0, 0, "must be complex, [B,N,F,2], not empty"}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *x = test_input(g, "x", 2, cases[i].tokens, 3, 2);
    filtra_tensor *lower = test_input(g, "lower", 2, cases[i].rotations, 4, 2);
    filtra_tensor *phases = test_input(g, "phases", 2, cases[i].phases, 2);
    filtra_dhhp_options options = {.permutation = cases[i].permutation};
    test_refuse(&g, filtra_dhhp(g, x, lower, lower, phases, &options), cases[i].message);
  }
}

TEST_MAIN(NULL, test_teardown)
