/* Promises of every mixer about batches: a sequence gives the same result as alone, whatever
 * follows its end and however far the batch is padded, and a causal mixer attends to no later
 * token. */
#include "support/harness.h"

#include "nn/mixer.h"

enum { WIDTH = 12, HEADS = 3, MAX_LENGTH = 200 };

typedef struct layer {
  ft_mixer mixer;
  filtra_parameters *params;
  bool causal;
} layer;

/* One graph over `batch` sequences of up to `tokens` tokens. */
typedef struct mixing {
  filtra_graph *graph;
  filtra_tensor *x, *lengths, *y;
  filtra_tensor *loss; /* of each sample, or NULL */
} mixing;

static void build(layer *l, int64_t batch, int64_t tokens, mixing *m) {
  assert_ok(filtra_graph_create(test_device(), NULL, &m->graph));
  filtra_graph *g = m->graph;
  m->x = test_input(g, "x", batch, tokens, WIDTH);
  m->lengths = filtra_graph_input(g, "lengths", FILTRA_I32, 1, &batch);
  const filtra_mixer_input in = {.x = m->x,
                                 .mask = filtra_length_mask(g, m->lengths, tokens),
                                 .heads = HEADS,
                                 .causal = l->causal,
                                 .max_length = MAX_LENGTH};
  ft_scope scope = {.graph = g, .params = l->params};
  m->loss = NULL;
  m->y = filtra_graph_output(g, l->mixer.kind->build(&scope, l->mixer.options, &in, &m->loss));
  if (m->loss) filtra_graph_output(g, m->loss);
}

/* Random values for all parameters, those that start at zero too. */
static void open_layer(const char *mixer, bool causal, layer *l) {
  *l = (layer){.causal = causal};
  json_auto_t *json = json_loads(mixer, JSON_DECODE_ANY, NULL);
  assert_ok(ft_mixer_read(json, "test", &l->mixer));
  assert_ok(filtra_parameters_create(test_device(), &l->params));
  mixing m;
  build(l, 1, 2, &m);
  assert_ok(ft_graph_status(m.graph));
  filtra_graph_destroy(&m.graph);
  if (filtra_parameters_count(l->params)) /* some have none */
    assert_ok(filtra_parameters_commit(l->params, 3, FILTRA_FIXED));
  for (size_t i = 0; i < filtra_parameters_count(l->params); i++) {
    const char *name = filtra_parameters_name(l->params, i);
    const int64_t n = test_scalars(l->params, i);
    owned float *values = malloc((size_t)n * sizeof *values);
    test_random(100 + i, -0.4, 0.4, values, (size_t)n);
    if (strcmp(name, "directions") != 0) /* which stay as drawn */
      assert_ok(filtra_parameters_set(l->params, name, values, (size_t)n));
  }
}

/* x [batch, tokens, WIDTH] -> y, and behind it a loss for each sample, zeros where the mixer has
 * none; freed by the caller. */
static float *run(layer *l, int64_t batch, int64_t tokens, const int32_t *lengths, const float *x) {
  mixing m;
  size_t count = (size_t)(batch * tokens * WIDTH);
  float *y = calloc(count + (size_t)batch, sizeof *y);
  build(l, batch, tokens, &m);
  test_compile_and_run(m.graph, TEST_SET({m.x, x}, {m.lengths, lengths}), TEST_GET({m.y, y}));
  if (m.loss) assert_ok(filtra_graph_get(m.graph, m.loss, y + count));
  filtra_graph_destroy(&m.graph);
  return y;
}

static float *numbers(uint64_t seed, int64_t tokens) {
  float *x = malloc((size_t)(tokens * WIDTH) * sizeof *x);
  test_random(seed, -1, 1, x, (size_t)(tokens * WIDTH));
  return x;
}

/* ---- padding ---- */

/* Three sequences of a batch, each against the one that has no padding. */
static void check_padding(const char *mixer, bool causal) {
  enum { BATCH = 3, TOKENS = 90 };
  const int32_t lengths[BATCH] = {TOKENS, 1, 37};
  layer l;
  open_layer(mixer, causal, &l);
  float *x = numbers(5, BATCH * TOKENS), *together = run(&l, BATCH, TOKENS, lengths, x);
  for (int b = 0; b < BATCH; b++) {
    size_t count = (size_t)lengths[b] * WIDTH;
    owned double *reference = malloc(count * sizeof *reference);
    owned float *alone = run(&l, 1, lengths[b], &lengths[b], x + b * TOKENS * WIDTH);
    for (size_t i = 0; i < count; i++)
      reference[i] = alone[i];
    double error = test_relative_error(together + b * TOKENS * WIDTH, reference, count);
    error = fmax(error, fabs(together[BATCH * TOKENS * WIDTH + b] - alone[count]));
    if (!(error < 2e-6))
      fail_msg("%s: %d of %d tokens are off by %g", mixer, lengths[b], TOKENS, error);
  }
  free(together);
  free(x);
  filtra_parameters_destroy(&l.params);
}

TEST(padding_changes_nothing) {
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    char text[64];
    snprintf(text, sizeof text, "\"%s\"", filtra_mixer_name(i));
    check_padding(text, false);
    if (!ft_mixer_at(i)->not_causal) check_padding(text, true);
  }
}

static const char *const SYNTHESIZERS[] = {
    "{\"name\": \"synthesizer\", \"variant\": \"random\"}",
    "{\"name\": \"synthesizer\", \"variant\": \"factorized_dense\"}",
    "{\"name\": \"synthesizer\", \"variant\": \"factorized_random\"}"};

TEST(variants_are_padded_too) {
  for (size_t i = 0; i < FT_COUNT(SYNTHESIZERS); i++) {
    check_padding(SYNTHESIZERS[i], false);
    check_padding(SYNTHESIZERS[i], true);
  }
}

/* ---- causality ---- */

/* From token `at` on all is different: what comes out before is the same to the bit, and what comes
 * out there is not. */
static void check_causality(const char *mixer, int64_t at) {
  enum { TOKENS = 150 };
  const int32_t length = TOKENS;
  layer l;
  open_layer(mixer, true, &l);
  float *x = numbers(5, TOKENS), *other = numbers(6, TOKENS);
  memcpy(other, x, (size_t)(at * WIDTH) * sizeof *x);
  float *y = run(&l, 1, TOKENS, &length, x), *changed = run(&l, 1, TOKENS, &length, other);
  for (int64_t n = 0; n <= at; n++) {
    bool same = !memcmp(y + n * WIDTH, changed + n * WIDTH, WIDTH * sizeof *y);
    if (same != (n < at))
      fail_msg("%s: token %lld %s with token %lld", mixer, (long long)n,
               same ? "does not change" : "changes", (long long)at);
  }
  free(x);
  free(other);
  free(y);
  free(changed);
  filtra_parameters_destroy(&l.params);
}

TEST(no_token_sees_later_ones) {
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    if (ft_mixer_at(i)->not_causal) continue;
    char text[64];
    snprintf(text, sizeof text, "\"%s\"", filtra_mixer_name(i));
    check_causality(text, 1);
    check_causality(text, 64);
    check_causality(text, 131);
  }
}

/* ---- what estimates softmax attention ---- */

/* With parameters of the same names, the largest error of the mixer's outputs. */
static double distance_from_softmax(const char *mixer) {
  enum { TOKENS = 60 };
  const int32_t length = TOKENS;
  layer exact, estimate;
  double reference[TOKENS * WIDTH];
  open_layer("\"softmax\"", false, &exact);
  open_layer(mixer, false, &estimate);
  for (size_t i = 0; i < filtra_parameters_count(exact.params); i++) {
    const char *name = filtra_parameters_name(exact.params, i);
    int64_t shape[FILTRA_MAX_DIMS], n = 1;
    float values[3 * WIDTH * WIDTH];
    for (int k = filtra_parameters_shape(exact.params, i, shape); k-- > 0;)
      n *= shape[k];
    assert_true((size_t)n <= FT_COUNT(values));
    assert_ok(filtra_parameters_get(exact.params, name, values, (size_t)n));
    assert_ok(filtra_parameters_set(estimate.params, name, values, (size_t)n));
  }
  float *x = numbers(5, TOKENS), *y = run(&exact, 1, TOKENS, &length, x);
  for (size_t i = 0; i < TOKENS * WIDTH; i++)
    reference[i] = y[i];
  free(y);
  y = run(&estimate, 1, TOKENS, &length, x);
  double error = test_relative_error(y, reference, TOKENS * WIDTH);
  free(x);
  free(y);
  filtra_parameters_destroy(&exact.params);
  filtra_parameters_destroy(&estimate.params);
  return error;
}

TEST(random_features_estimate_softmax) {
  double few = distance_from_softmax("{\"name\": \"performer\", \"random_features\": 8}"),
         many = distance_from_softmax("{\"name\": \"performer\", \"random_features\": 4096}");
  print_message("performer: off by %.3f with 8 features, %.4f with 4096\n", few, many);
  assert_true(many < 0.03 && many < 0.5 * few);
}

/* Keys along long directions: features of e^88 and more would be infinite. */
TEST(features_do_not_overflow) {
  enum { TOKENS = 40, FEATURES = 8 };
  const int32_t length = TOKENS;
  for (int causal = 0; causal < 2; causal++) {
    layer l;
    float directions[FEATURES * WIDTH / HEADS];
    open_layer("{\"name\": \"performer\", \"random_features\": 8}", causal, &l);
    test_random(9, -200, 200, directions, FT_COUNT(directions));
    assert_ok(filtra_parameters_set(l.params, "directions", directions, FT_COUNT(directions)));
    owned float *x = numbers(5, TOKENS), *y = run(&l, 1, TOKENS, &length, x);
    for (size_t i = 0; i < TOKENS * WIDTH; i++)
      assert_true(isfinite(y[i]));
    filtra_parameters_destroy(&l.params);
  }
}

/* As many landmarks as tokens: softmax(Q K^T) twice, and its pseudoinverse between. */
TEST(landmarks_estimate_softmax) {
  double few = distance_from_softmax("{\"name\": \"nystrom\", \"landmarks\": 4}"),
         all = distance_from_softmax(
             "{\"name\": \"nystrom\", \"landmarks\": 60, \"iterations\": 12}");
  print_message("nystrom: off by %.3f with 4 landmarks, %.4f with all tokens\n", few, all);
  assert_true(all < 0.002 && all < 0.1 * few);
}

TEST_MAIN(NULL, test_teardown)
