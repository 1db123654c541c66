/* Decoding token by token equals the causal forward pass over the whole sequence, for every mixer
 * that can be causal and for both kinds of attention's tiles. */
#include "support/harness.h"

#include "nn/encoder.h"
#include "nn/past.h"
#include "ops/decoding.h"

enum { WIDTH = 24, HEADS = 3, LAYERS = 2, CAPACITY = 19 };

typedef struct past_case {
  const char *mixer; /* JSON */
  int64_t batch, tokens, prompt;
} past_case;

typedef struct stack {
  filtra_device *device;
  filtra_parameters *params;
  ft_mixer mixer;
  const past_case *setting;
} stack;

static void read_mixer(const char *text, ft_mixer *mixer) {
  json_auto_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
  assert_non_null(json);
  assert_ok(ft_mixer_read(json, "test", mixer));
}

static filtra_tensor *build(const ft_scope *scope, const ft_mixer *mixer, filtra_tensor *x,
                            filtra_tensor *mask) {
  ft_encoder_options o = {.mixer = mixer,
                          .heads = HEADS,
                          .ffn_width = WIDTH,
                          .activation = FILTRA_ACTIVATION_GELU,
                          .causal = true,
                          .max_length = CAPACITY};
  for (int i = 0; i < LAYERS; i++) {
    ft_scope layer = ft_scope_enter(scope, "layers.%d", i);
    filtra_tensor *auxiliary;
    x = ft_encoder_block(&layer, &o, x, mask, &auxiliary);
  }
  return x;
}

/* Random values for all parameters, filter coefficients and biases too. */
static void open_stack(stack *s, filtra_device *device, const past_case *setting) {
  *s = (stack){.device = device, .setting = setting};
  read_mixer(setting->mixer, &s->mixer);
  assert_ok(filtra_parameters_create(device, &s->params));
  owned_graph *g = test_graph(device, NULL);
  ft_scope scope = {.graph = g, .params = s->params};
  build(&scope, &s->mixer, test_input(g, "x", 1, 2, WIDTH), test_input(g, "mask", 1, 2));
  assert_ok(ft_graph_status(g));
  assert_ok(filtra_parameters_commit(s->params, 3, FILTRA_FIXED));
  for (size_t i = 0; i < filtra_parameters_count(s->params); i++) {
    const int64_t n = test_scalars(s->params, i);
    float values[3 * WIDTH * WIDTH];
    assert_true((size_t)n <= FT_COUNT(values));
    test_random(100 + i, -0.4, 0.4, values, (size_t)n);
    assert_ok(
        filtra_parameters_set(s->params, filtra_parameters_name(s->params, i), values, (size_t)n));
  }
}

/* One graph over `tokens` tokens of each sequence, the first ones or, at a position, one more. */
typedef struct pass {
  filtra_graph *graph;
  filtra_tensor *x, *lengths, *position, *y;
} pass;

static void open_pass(stack *s, ft_past *past, int64_t tokens, bool step, int64_t seen, pass *p) {
  const int64_t batch = s->setting->batch;
  *p = (pass){0};
  assert_ok(filtra_graph_create(s->device, NULL, &p->graph));
  filtra_graph *g = p->graph;
  p->x = test_input(g, "x", batch, tokens, WIDTH);
  if (step)
    p->position = filtra_graph_input(g, "position", FILTRA_I32, 1, &batch);
  else
    p->lengths = filtra_graph_input(g, "lengths", FILTRA_I32, 1, &batch);
  const ft_past_use use = ft_past_begin(past, p->position, seen);
  ft_scope scope = {.graph = g, .params = s->params, .past = past ? &use : NULL};
  filtra_tensor *mask =
      step ? ft_cache_mask(g, p->position, seen) : filtra_length_mask(g, p->lengths, tokens);
  p->y = filtra_graph_output(g, build(&scope, &s->mixer, p->x, mask));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
}

/* x and y are [batch, all, WIDTH]; the pass takes `count` tokens from `first` on. */
static void run_pass(const stack *s, pass *p, const float *x, float *y, int64_t all, int64_t first,
                     int64_t count) {
  enum { MOST = 4 * CAPACITY };
  const int64_t batch = s->setting->batch;
  int64_t tokens = p->x->shape[1];
  float values[MOST * WIDTH] = {0};
  int32_t lengths[MOST], position[MOST];
  for (int64_t b = 0; b < batch; b++) {
    lengths[b] = (int32_t)(first + count);
    position[b] = (int32_t)first;
    memcpy(values + b * tokens * WIDTH, x + (b * all + first) * WIDTH,
           (size_t)(count * WIDTH) * sizeof *x);
  }
  assert_ok(filtra_graph_set(p->graph, p->x, values));
  if (p->lengths) assert_ok(filtra_graph_set(p->graph, p->lengths, lengths));
  if (p->position) assert_ok(filtra_graph_set(p->graph, p->position, position));
  test_run_graph(p->graph, NULL, TEST_GET({p->y, values}));
  for (int64_t b = 0; b < batch; b++)
    memcpy(y + (b * all + first) * WIDTH, values + b * tokens * WIDTH,
           (size_t)(count * WIDTH) * sizeof *y);
}

/* The prompt in one pass, padded by two; then token by token, through graphs that read 4, 8, .. of
 * the past. Twice, so that what the first time left must not matter. */
static void check(filtra_device *device, const past_case *setting) {
  stack s;
  ft_past past = {.device = device, .size = setting->batch, .capacity = CAPACITY};
  open_stack(&s, device, setting);
  size_t count = (size_t)(setting->batch * setting->tokens * WIDTH);
  float *x = test_alloc(count * sizeof *x), *whole = test_alloc(count * sizeof *x),
        *decoded = test_alloc(count * sizeof *x);
  owned double *reference = test_alloc(count * sizeof *reference);
  pass full, prompt = {0}, step = {0};
  open_pass(&s, NULL, setting->tokens, false, 0, &full);
  if (setting->prompt) open_pass(&s, &past, setting->prompt + 2, false, 0, &prompt);
  for (uint64_t seed = 1; seed < 3; seed++) {
    test_random(seed, -1, 1, x, count);
    run_pass(&s, &full, x, whole, setting->tokens, 0, setting->tokens);
    if (setting->prompt) run_pass(&s, &prompt, x, decoded, setting->tokens, 0, setting->prompt);
    int64_t seen = 0;
    for (int64_t n = setting->prompt; n < setting->tokens; n++) {
      if (n + 1 > seen) {
        for (seen = 4; seen < n + 1;)
          seen *= 2;
        seen = seen < CAPACITY ? seen : CAPACITY;
        filtra_graph_destroy(&step.graph);
        open_pass(&s, &past, 1, true, seen, &step);
      }
      run_pass(&s, &step, x, decoded, setting->tokens, n, 1);
    }
    for (size_t i = 0; i < count; i++)
      reference[i] = whole[i];
    double error = test_relative_error(decoded, reference, count);
    if (!(error < 1e-5)) fail_msg("%s: decoding is off by %g", setting->mixer, error);
    filtra_graph_destroy(&step.graph);
  }
  filtra_graph_destroy(&full.graph);
  filtra_graph_destroy(&prompt.graph);
  ft_past_close(&past);
  filtra_parameters_destroy(&s.params);
  free(x);
  free(whole);
  free(decoded);
}

static void check_mixers(filtra_device *device) {
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    if (ft_mixer_at(i)->not_causal) continue;
    char text[64];
    snprintf(text, sizeof text, "\"%s\"", ft_mixer_at(i)->name);
    check(device, &(past_case){text, .batch = 1, .tokens = 13, .prompt = 5});
    check(device, &(past_case){text, .batch = 3, .tokens = CAPACITY, .prompt = 1});
    check(device, &(past_case){text, .batch = 2, .tokens = 9, .prompt = 0});
  }
}

TEST_WITH(steps_give_the_whole, NULL, check_mixers)

TEST(options_count_in_steps_too) {
  static const char *const MIXERS[] = {
      "{\"name\": \"gfsa\", \"K\": 7}",
      "{\"name\": \"gfsa\", \"learn_w0\": false, \"w0\": 0.3, \"learn_wK\": false, \"wK\": -0.7}",
      "{\"name\": \"plaplacian\", \"p\": [1.2, 2, 3.5], \"eps\": 0.1}",
      "{\"name\": \"plaplacian\", \"diagonal\": \"zero\"}",
      "{\"name\": \"plaplacian\", \"diagonal\": \"one\"}",
      "{\"name\": \"plaplacian\", \"euler\": true}",
      "{\"name\": \"plaplacian\", \"symmetric\": true}",
      "{\"name\": \"gfsa\", \"w0\": [1, 0, 0], \"w1\": [-1, 1, 1], \"fixed_heads\": \"0\"}",
      "{\"name\": \"gfsa\", \"wK\": 0.4, \"filter_dropout\": 0.5}",
      "{\"name\": \"softmax\", \"attention_dropout\": 0.5}", /* none outside of training */
      "{\"name\": \"softmax\", \"talking_heads\": true}",
      "{\"name\": \"gfsa\", \"K\": 4, \"talking_heads\": true}",
      "{\"name\": \"synthesizer\", \"hidden\": 5}",
      "{\"name\": \"synthesizer\", \"variant\": \"random\"}",
      "{\"name\": \"synthesizer\", \"variant\": \"factorized_dense\", \"a\": 3}",
      "{\"name\": \"synthesizer\", \"variant\": \"factorized_random\", \"k\": 3}",
  };
  for (size_t i = 0; i < FT_COUNT(MIXERS); i++)
    check(test_device(), &(past_case){MIXERS[i], .batch = 2, .tokens = 11, .prompt = 4});
}

TEST_WITH(with_tiles_in_shared_memory, "attention=tiled", check_mixers)
TEST_WITH(with_tiles_in_subgroups, "attention=lanes", check_mixers)

/* ---- a mixer of the test's own, which keeps a state ---- */

/* y_t = s_t, the sum of the values so far, times a number. */
static filtra_tensor *build_sums(const filtra_scope *scope, const void *options,
                                 const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)options;
  (void)auxiliary;
  filtra_graph *g = filtra_scope_graph(scope);
  if (!ft_usable(g, in->x)) return NULL;
  const int64_t batch = in->x->shape[0], n = in->x->shape[1], state[] = {batch, WIDTH};
  filtra_tensor *v = filtra_scope_linear(scope, "value", in->x, WIDTH, NULL), *sums;
  if (filtra_scope_pass(scope) == FILTRA_PASS_DECODE) {
    sums = filtra_add(g, filtra_reshape(g, v, 2, state), filtra_scope_state(scope, "s", 2, state));
    filtra_scope_set_state(scope, "s", sums);
    sums = filtra_reshape(g, sums, 3, (int64_t[]){batch, 1, WIDTH});
  } else {
    v = filtra_multiply(g, v, filtra_reshape(g, in->mask, 3, (int64_t[]){batch, n, 1}));
    sums = filtra_cumulative_sum(g, v, 1, FILTRA_FORWARD);
    filtra_scope_set_state(scope, "s", filtra_sum(g, v, 1, FILTRA_DROP_AXIS));
  }
  return filtra_mixer_output(scope, in, filtra_affine(g, sums, 0.3f, 0));
}

static int register_sums(void **state) {
  (void)state;
  return filtra_mixer_register(&(filtra_mixer){.name = "sums", .build = build_sums});
}

/* ---- errors ---- */

static filtra_graph *open_scope(ft_scope *scope, const ft_past_use *use) {
  filtra_graph *g = test_graph(test_device(), NULL);
  *scope = (ft_scope){.graph = g, .past = use, .prefix = "layers.0."};
  return g;
}

TEST(states_that_do_not_fit) {
  ft_past past = {.device = test_device(), .size = 2, .capacity = 4};
  ft_past_use use = ft_past_begin(&past, NULL, 0);
  ft_scope scope;
  filtra_graph *g = open_scope(&scope, &use);
  assert_int_equal(filtra_scope_pass(&scope), FILTRA_PASS_PREFILL);
  test_refuse(&g, filtra_scope_state(&scope, "s", 1, (int64_t[]){2}), "only a DECODE pass");
  static const struct {
    int64_t shape[2];
    const char *part;
  } CASES[] = {{{3, 5}, "the first of the 2 sequences"},
               {{2, 0}, "dimension 1 is 0"},
               {{2, 7}, "kept with 5 numbers before, now with 7"}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    use = ft_past_begin(&past, NULL, 0);
    g = open_scope(&scope, &use);
    filtra_scope_set_state(&scope, "s", test_input(g, "s", 2, 5));
    filtra_scope_set_state(&scope, "s", filtra_graph_input(g, "x", FILTRA_F32, 2, CASES[i].shape));
    assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT, CASES[i].part);
    filtra_graph_destroy(&g);
  }
  ft_past_close(&past);
}

static void refuse(int64_t batch, int64_t tokens, bool step, const char *part) {
  ft_past past = {.device = test_device(), .size = 2, .capacity = 4};
  filtra_graph *g = test_graph(test_device(), NULL);
  const ft_past_use use = ft_past_begin(
      &past, step ? filtra_graph_input(g, "position", FILTRA_I32, 1, &batch) : NULL, 4);
  ft_scope scope = {.graph = g, .past = &use};
  filtra_tensor *x = test_input(g, "x", batch, HEADS, tokens, 5);
  test_refuse(&g, filtra_scope_keep(&scope, "k", x), part);
  ft_past_close(&past);
}

TEST(too_many_tokens_are_refused) {
  refuse(2, 5, false, "2 sequences and at most 4 tokens of each");
  refuse(2, 2, true, "2 sequences and at most 1 tokens of each");
  refuse(3, 1, true, "2 sequences");
}

/* What would replace keys by values, or a state by what it becomes. */
TEST(names_are_used_once) {
  ft_past past = {.device = test_device(), .size = 2, .capacity = 4};
  for (int kind = 0; kind < 3; kind++) {
    ft_scope scope;
    filtra_graph *g = test_graph(test_device(), NULL);
    const ft_past_use use =
        ft_past_begin(&past, filtra_graph_input(g, "position", FILTRA_I32, 1, (int64_t[]){2}), 4);
    scope = (ft_scope){.graph = g, .past = &use, .prefix = "layers.0."};
    filtra_tensor *x = test_input(g, "x", 2, HEADS, 1, 5), *s = test_input(g, "s", 2, 5);
    for (int i = 0; i < 2 && kind == 0; i++)
      filtra_scope_keep(&scope, "k", x);
    for (int i = 0; i < 2 && kind > 0; i++) {
      assert_ok(ft_graph_status(g));
      if (i && kind == 1) filtra_scope_state(&scope, "s", 2, (int64_t[]){2, 5});
      filtra_scope_set_state(&scope, "s", s);
    }
    assert_fails(ft_graph_status(g), FILTRA_ERROR_ARGUMENT,
                 kind == 1 ? "layers.0.state.s: read after it was set" : "kept twice in one pass");
    filtra_graph_destroy(&g);
  }
  ft_past_close(&past);
}

TEST_MAIN(register_sums, test_teardown)
