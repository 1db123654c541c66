/* The tape, differentiation over shared and split tensors, the memory plan, barriers and their
 * checker, slots in flight, and errors while building. */
#include "support/harness.h"

#include "gpu/internal.h"

#include "graph/parameters.h"
#include "graph/program.h"

static filtra_graph *new_graph(void) {
  filtra_graph *g = test_graph(test_device(), NULL);
  return g;
}

static filtra_tensor *input(filtra_graph *g, const char *name, int64_t rows, int64_t columns) {
  filtra_tensor *t = test_input(g, name, rows, columns);
  filtra_graph_require_gradient(g, t);
  return t;
}

/* y = x*x + x: x is used three times, so its gradient 2x + 1 accumulates. */
TEST(gradient_accumulates) {
  filtra_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 3, 5);
  filtra_tensor *y = filtra_add(g, filtra_multiply(g, x, x), x);
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, x));
  filtra_graph_output(g, y);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float in[15], out[15], gradient[15];
  test_random(1, -2, 2, in, 15);
  test_run_graph(g, TEST_SET({x, in}), TEST_GET({y, out}, {dx, gradient}));
  for (int i = 0; i < 15; i++) {
    assert_true(fabsf(out[i] - (in[i] * in[i] + in[i])) < 1e-5f);
    assert_true(fabsf(gradient[i] - (2 * in[i] + 1)) < 1e-5f);
  }
  filtra_graph_destroy(&g);
  assert_null(g);
}

/* An output that is a view, a reshape in between, and a chain long enough to reuse memory. */
TEST(memory_is_reused) {
  owned_graph *g = new_graph();
  filtra_tensor *x = test_input(g, "x", 4096);
  filtra_tensor *t = filtra_reshape(g, x, 2, (int64_t[]){64, 64});
  for (int i = 0; i < 20; i++)
    t = filtra_affine(g, t, 1.0f, 1.0f);
  filtra_graph_output(g, t);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  assert_true(filtra_graph_activation_bytes(g) <= 3 * 4096 * sizeof(float)); /* 22 tensors */
  static float in[4096], out[4096];
  test_run_graph(g, TEST_SET({x, in}), TEST_GET({t, out}));
  for (int i = 0; i < 4096; i++)
    assert_true(out[i] == 20.0f);
}

/* The checker must find what the planners' faults would look like. */
TEST(checker_finds_hazards) {
  owned_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 8, 8);
  filtra_tensor *a = filtra_affine(g, x, 2.0f, 0.0f);
  filtra_tensor *b = filtra_affine(g, a, 3.0f, 0.0f);
  filtra_tensor *c = filtra_multiply(g, a, b);
  filtra_graph_output(g, c);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  ft_planned_call *calls = g->plan->calls;
  for (size_t i = 0; i < g->plan->call_count; i++) {
    if (!calls[i].barrier) continue;
    calls[i].barrier = false;
    assert_fails(ft_graph_check(g), FILTRA_ERROR_ARGUMENT, "without a barrier");
    calls[i].barrier = true;
  }
  ft_place *place = &g->plan->storages[b->storage->number].place, before = *place;
  *place = g->plan->storages[a->storage->number].place; /* a is still needed when b is written */
  assert_fails(ft_graph_check(g), FILTRA_ERROR_ARGUMENT, "hazard");
  *place = before;
  assert_ok(ft_graph_check(g));
  const uint32_t first = calls[0].position; /* b is made from a */
  calls[0].position = calls[1].position;
  calls[1].position = first;
  assert_fails(ft_graph_check(g), FILTRA_ERROR_ARGUMENT, "out of the tape's order");
}

static size_t barriers_of(const filtra_graph *g) {
  size_t count = 0;
  for (size_t i = 0; i < g->plan->call_count; i++)
    count += g->plan->calls[i].barrier;
  return count;
}

TEST(independent_calls_share_an_interval) {
  owned_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 8, 8);
  filtra_tensor *y[4];
  for (int i = 0; i < 4; i++)
    y[i] = filtra_graph_output(g, filtra_affine(g, x, (float)i, 0.0f));
  assert_ok(filtra_graph_compile(g));
  assert_int_equal(barriers_of(g), 0);
  assert_ok(ft_graph_check(g));
  (void)y;
}

/* Two chains, one behind the other on the tape, go side by side. */
TEST(chains_run_beside_each_other) {
  owned_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 8, 8), *end[2];
  for (int i = 0; i < 2; i++) {
    end[i] = x;
    for (int k = 0; k < 5; k++)
      end[i] = filtra_affine(g, end[i], 2.0f, (float)i);
    filtra_graph_output(g, end[i]);
  }
  assert_ok(filtra_graph_compile(g));
  assert_int_equal(g->tape.call_count, 10);
  assert_int_equal(barriers_of(g), 4);
  assert_ok(ft_graph_check(g));
  float in[64], out[64];
  test_random(3, -2, 2, in, 64);
  assert_ok(filtra_graph_set(g, x, in));
  assert_ok(filtra_graph_execute(g));
  for (int i = 0; i < 2; i++) {
    assert_ok(filtra_graph_get(g, end[i], out));
    for (int k = 0; k < 64; k++)
      assert_true(fabsf(out[k] - (32 * in[k] + 31.0f * (float)i)) < 1e-4f);
  }
}

/* Of three calls that could run first, one waits for the small call that would be alone. */
TEST(small_calls_get_company) {
  owned_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 8, 8), *free_ones[2];
  for (int i = 0; i < 2; i++)
    free_ones[i] = filtra_graph_output(g, filtra_affine(g, x, (float)i, 0.0f));
  filtra_tensor *a = filtra_affine(g, x, 2.0f, 0.0f);
  filtra_graph_output(g, filtra_affine(g, a, 3.0f, 0.0f));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  assert_int_equal(g->tape.call_count, 4);
  for (size_t i = 0; i < g->tape.call_count; i++)
    assert_int_equal(g->plan->calls[i].barrier, i == 2);
  assert_ptr_equal(g->plan->calls[2].call->args[1].tensor, free_ones[1]);
}

/* Pieces interleave in memory; the piece nobody used gets a zero gradient. */
TEST(split_gradients) {
  owned_graph *g = new_graph();
  filtra_tensor *x = test_input(g, "x", 2, 3, 12);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *piece[3], *base = filtra_affine(g, x, 1.0f, 0.0f);
  filtra_chunk(g, base, 3, piece);
  for (int i = 0; i < 3; i++)
    piece[i] = filtra_split_heads(g, piece[i], 2);
  filtra_tensor *y =
      filtra_matmul(g, piece[0], piece[2], &(filtra_matmul_options){.transpose_b = true});
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, x));
  filtra_graph_output(g, y);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float in[72], gradient[72], out[2 * 2 * 3 * 3];
  test_random(2, -1, 1, in, 72);
  test_run_graph(g, TEST_SET({x, in}), TEST_GET({dx, gradient}, {y, out}));
  for (int b = 0; b < 2; b++)
    for (int n = 0; n < 3; n++)
      for (int c = 0; c < 12; c++) {
        int part = c / 4, head_channel = c % 4;
        float want = 0.0f; /* of sum y: the other factor's sum over tokens */
        for (int m = 0; m < 3 && part != 1; m++)
          want += in[(b * 3 + m) * 12 + (part == 0 ? 8 : 0) + head_channel];
        assert_true(fabsf(gradient[(b * 3 + n) * 12 + c] - want) < 1e-5f);
      }
}

TEST(split_and_whole_use_is_an_error) {
  owned_graph *g = new_graph();
  filtra_tensor *x = test_input(g, "x", 1, 2, 4);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *base = filtra_affine(g, x, 1.0f, 0.0f), *piece[2];
  filtra_chunk(g, base, 2, piece);
  filtra_tensor *outputs[2] = {
      filtra_affine(g, base, 2.0f, 0.0f),
      filtra_matmul(g, piece[0], piece[1], &(filtra_matmul_options){.transpose_b = true})};
  filtra_status status = filtra_graph_backward(g, 2, outputs, NULL);
  assert_int_equal(status, FILTRA_ERROR_ARGUMENT);
  assert_non_null(strstr(filtra_error_message(), "split"));
}

/* Before the cut and after all uses of its pieces: their gradients add up. */
TEST(whole_use_around_a_split) {
  for (int after = 0; after < 2; after++) {
    owned_graph *g = new_graph();
    filtra_tensor *x = test_input(g, "x", 1, 2, 4), *piece[2], *outputs[2] = {0};
    filtra_graph_require_gradient(g, x);
    filtra_tensor *base = filtra_affine(g, x, 1.0f, 0.0f);
    if (!after) outputs[0] = filtra_affine(g, base, 2.0f, 0.0f);
    filtra_chunk(g, base, 2, piece);
    outputs[1] =
        filtra_matmul(g, piece[0], piece[1], &(filtra_matmul_options){.transpose_b = true});
    if (after) outputs[0] = filtra_affine(g, base, 2.0f, 0.0f);
    assert_ok(filtra_graph_backward(g, 2, outputs, NULL));
    filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, x));
    assert_ok(filtra_graph_compile(g));
    const float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, want[] = {12, 14, 8, 10};
    float gradient[8];
    test_run_graph(g, TEST_SET({x, in}), TEST_GET({dx, gradient}));
    for (int i = 0; i < 8; i++)
      assert_true(gradient[i] == want[i % 4]);
  }
}

/* A second cut would overwrite the gradients of the first one's pieces. */
TEST(cut_twice_is_an_error) {
  for (int differentiated = 0; differentiated < 2; differentiated++) {
    filtra_graph *g = new_graph();
    filtra_tensor *x = test_input(g, "x", 1, 4), *first[2], *second[2];
    if (differentiated) filtra_graph_require_gradient(g, x);
    filtra_chunk(g, x, 2, first);
    filtra_chunk(g, filtra_reshape(g, x, 2, (int64_t[]){2, 2}), 2, second);
    if (differentiated) {
      test_refuse(&g, second[0], "was cut before");
      continue;
    }
    filtra_tensor *y =
        filtra_graph_output(g, filtra_concat(g, 1, 2, (filtra_tensor *[]){first[1], first[0]}));
    float got[4];
    assert_ok(filtra_graph_compile(g));
    test_run_graph(g, TEST_SET({x, (float[]){1, 2, 3, 4}}), TEST_GET({y, got}));
    assert_memory_equal(got, ((float[]){3, 4, 1, 2}), sizeof got);
    filtra_graph_destroy(&g);
  }
}

TEST(parameters_and_unreached_gradients) {
  filtra_device *dev = test_device();
  owned_parameters *p = test_parameters(dev);
  const filtra_parameter_options normal = {FILTRA_INIT_NORMAL, 1.0f, true};
  owned_graph *g = new_graph();
  filtra_tensor *w = filtra_graph_parameter(g, p, "w", 2, (int64_t[]){3, 5}, &normal);
  filtra_graph_parameter(g, p, "unused", 1, (int64_t[]){7}, NULL);
  filtra_tensor *y = filtra_multiply(g, w, w);
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  filtra_graph_output(g, y);
  assert_ok(filtra_parameters_commit(p, 7, FILTRA_TRAINABLE));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  assert_ok(ft_fill(dev, &p->gradients, 0, p->bytes, 0x3f800000u));
  assert_ok(filtra_graph_execute(g));
  float value[15], gradient[15], unused[7];
  assert_ok(filtra_parameters_get(p, "w", value, 15));
  assert_ok(filtra_parameters_get_gradient(p, "w", gradient, 15));
  assert_ok(filtra_parameters_get_gradient(p, "unused", unused, 7));
  for (int i = 0; i < 15; i++)
    assert_true(fabsf(gradient[i] - 2 * value[i]) < 1e-5f);
  for (int i = 0; i < 7; i++)
    assert_true(unused[i] == 0.0f);
  assert_int_equal(filtra_parameters_count(p), 2);
  assert_int_equal(filtra_parameters_scalars(p), 22);
  assert_fails(filtra_parameters_get(p, "nobody", &(float){0}, 1), FILTRA_ERROR_ARGUMENT, "nobody");
}

static void check_parameter(const filtra_parameter_options *options, const char *why) {
  owned_parameters *params = test_parameters(test_device());
  owned_graph *g = test_graph(test_device(), NULL);
  assert_null(filtra_graph_parameter(g, params, "w", 1, (int64_t[]){3}, options));
  assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT, why);
}

TEST(initial_values_that_make_no_sense) {
  check_parameter(&(filtra_parameter_options){.init = (filtra_init_kind)6},
                  "parameter w: init is 6, accepted are 0 to 5");
  check_parameter(&(filtra_parameter_options){.init = FILTRA_INIT_NORMAL, .value = INFINITY},
                  "parameter w: its initial value is inf");
}

TEST(upstream_gradients_have_the_shape_of_the_output) {
  owned_parameters *params = test_parameters(test_device());
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *w = filtra_graph_parameter(g, params, "w", 2, (int64_t[]){2, 3}, NULL);
  filtra_tensor *y = filtra_affine(g, w, 2.0f, 0.0f);
  filtra_tensor *turned = filtra_graph_input(g, "turned", FILTRA_F32, 2, (int64_t[]){3, 2});
  assert_fails(filtra_graph_backward(g, 1, &y, &turned), FILTRA_ERROR_ARGUMENT,
               "upstream turned [3, 2] has another shape than output");
}

/* Rows of a block are orthogonal, those of two blocks are not; lengths are those of random vectors,
 * on average the root of the columns; another seed draws others. */
TEST(orthogonal_rows) {
  enum { ROWS = 100, COLUMNS = 24 };
  static float rows[2][ROWS][COLUMNS];
  const filtra_parameter_options options = {
      .init = FILTRA_INIT_ORTHOGONAL, .value = 2.0f, .buffer = true};
  for (int seed = 0; seed < 2; seed++) {
    owned_parameters *params = test_parameters(test_device());
    owned_graph *g = test_graph(test_device(), NULL);
    filtra_graph_parameter(g, params, "w", 2, (int64_t[]){ROWS, COLUMNS}, &options);
    assert_ok(filtra_parameters_commit(params, (uint64_t)seed, FILTRA_FIXED));
    assert_ok(filtra_parameters_get(params, "w", rows[seed][0], ROWS * COLUMNS));
  }
  double lengths = 0, between = 0;
  for (int a = 0; a < ROWS; a++)
    for (int b = 0; b <= a; b++) {
      double dot = 0;
      for (int i = 0; i < COLUMNS; i++)
        dot += (double)rows[0][a][i] * (double)rows[0][b][i];
      if (a == b)
        lengths += sqrt(dot) / ROWS;
      else if (a / COLUMNS == b / COLUMNS)
        assert_true(fabs(dot) < 1e-4);
      else
        between = fmax(between, fabs(dot));
    }
  assert_true(fabs(lengths - 2 * sqrt(COLUMNS)) < 0.5 && between > 1);
  assert_true(memcmp(rows[0], rows[1], sizeof rows[0]) != 0);
}

/* Several runs in flight, each with its own inputs and outputs; unset inputs keep their values. */
TEST(runs_overlap) {
  owned_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 1, 4), *k = input(g, "k", 1, 4);
  filtra_tensor *y = filtra_graph_output(g, filtra_multiply(g, x, k));
  assert_ok(filtra_graph_compile(g));
  float ones[4] = {1, 2, 3, 4}, out[4];
  assert_fails(filtra_graph_execute(g), FILTRA_ERROR_ARGUMENT, "never set");
  assert_fails(filtra_graph_get(g, y, out), FILTRA_ERROR_ARGUMENT, "wait");
  assert_ok(filtra_graph_set(g, k, ones));
  uint64_t ticket[10];
  for (int i = 0; i < 10; i++) {
    float in[4] = {(float)i, (float)i, (float)i, (float)i};
    assert_ok(filtra_graph_set(g, x, in));
    assert_ok(filtra_graph_submit(g, &ticket[i]));
    if (i < 2) continue;
    assert_ok(filtra_graph_wait(g, ticket[i - 2]));
    assert_ok(filtra_graph_get(g, y, out));
    for (int c = 0; c < 4; c++)
      assert_true(out[c] == (float)((i - 2) * (c + 1)));
  }
  assert_fails(filtra_graph_wait(g, ticket[0]), FILTRA_ERROR_ARGUMENT, "last 3");
}

TEST(building_errors_are_sticky) {
  filtra_graph *g = new_graph();
  filtra_tensor *a = input(g, "a", 2, 3), *b = input(g, "b", 3, 2);
  assert_null(filtra_add(g, a, b));
  test_refuse(&g, filtra_multiply(g, filtra_add(g, a, a), b), "[2, 3]");
  g = new_graph();
  test_refuse(&g, test_input(g, "huge", 1 << 20, 1 << 20), "huge");
}

/* The ops before it would have no rules, and their part of the gradient would be missing. */
TEST(gradients_are_required_before_use) {
  for (int view = 0; view < 2; view++) {
    owned_graph *g = new_graph();
    filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 1, (int64_t[]){3});
    if (view)
      filtra_reshape(g, x, 2, (int64_t[]){3, 1});
    else
      filtra_multiply(g, x, x);
    filtra_graph_require_gradient(g, x);
    assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT,
                 "x: filtra_graph_require_gradient comes before the first op");
  }
}

TEST(ops_on_a_compiled_graph_say_so) {
  owned_graph *g = new_graph();
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 1, (int64_t[]){3});
  filtra_tensor *y = filtra_graph_output(g, filtra_affine(g, x, 2, 0));
  assert_ok(filtra_graph_compile(g));
  for (int i = 0; i < 2; i++) { /* the second time, too */
    ft_fail(FILTRA_ERROR_INPUT, "another");
    assert_null(i == 0 ? filtra_add(g, x, y) : filtra_graph_output(g, x));
    assert_non_null(strstr(filtra_error_message(), "the graph is compiled; nothing can be added"));
  }
  assert_ok(filtra_graph_set(g, x, (float[]){1, 2, 3}));
  assert_ok(filtra_graph_execute(g));
}

TEST(one_tensor_over_the_limit) {
  owned_device *dev = test_open_device("allocation=1048576");
  owned_graph *g = test_graph(dev, NULL);
  filtra_tensor *x = test_input(g, "x", 1 << 19);
  filtra_graph_output(g, filtra_affine(g, x, 1.0f, 0.0f));
  assert_fails(filtra_graph_compile(g), FILTRA_ERROR_DEVICE_MEMORY, "2097152 bytes");
}

/* Many tensors that together pass the allocation limit are spread over several blocks. */
TEST(plan_spreads_over_blocks) {
  owned_device *dev = test_open_device("allocation=1048576");
  owned_graph *g = test_graph(dev, NULL);
  enum { COUNT = 5, SIZE = 1 << 17 };
  filtra_tensor *x = test_input(g, "x", SIZE), *y[COUNT];
  for (int i = 0; i < COUNT; i++)
    y[i] = filtra_affine(g, x, (float)i, 1.0f);
  filtra_tensor *sum = y[0];
  for (int i = 1; i < COUNT; i++)
    sum = filtra_add(g, sum, y[i]);
  filtra_graph_output(g, sum);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  assert_true(g->plan->block_count >= 3);
  static float in[SIZE], out[SIZE];
  test_random(3, -1, 1, in, SIZE);
  test_run_graph(g, TEST_SET({x, in}), TEST_GET({sum, out}));
  for (int k = 0; k < SIZE; k++)
    assert_true(fabsf(out[k] - (10.0f * in[k] + 5.0f)) < 1e-4f);
}

TEST(sentinel_names_the_tensor) {
  owned_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 5, 33);
  filtra_tensor *a = filtra_affine(g, x, 1e30f, 0.0f);
  filtra_tensor *b = filtra_multiply(g, a, a); /* overflows where x is 1 */
  filtra_graph_output(g, filtra_affine(g, b, 0.5f, 0.0f));
  assert_ok(filtra_graph_compile(g));
  float in[5 * 33] = {0};
  const char *name;
  uint64_t ticket;
  for (int bad = 0; bad < 2; bad++) {
    in[4 * 33 + 32] = (float)bad;
    assert_ok(filtra_graph_set(g, x, in));
    assert_ok(filtra_graph_submit(g, &ticket));
    assert_ok(ft_graph_find_nonfinite(g, ticket, &name));
    if (bad)
      assert_string_equal(name, b->name);
    else
      assert_null(name);
  }
}

/* What a call leaves unwritten is no find, whatever lay there: here rows of the Fourier table
 * after a sequence's end, made when two calls an interval have run. */
TEST(sentinel_skips_what_nobody_wrote) {
  owned_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 7, 5);
  filtra_tensor *lengths = test_input(g, "lengths", 1);
  filtra_tensor *tokens = filtra_reshape(g, filtra_affine(g, x, 2, 0), 3, (int64_t[]){1, 7, 5});
  filtra_graph_output(g, filtra_fourier(g, tokens, NULL, filtra_affine(g, lengths, 1, 1)));
  assert_ok(filtra_graph_compile(g));
  assert_int_equal(g->plan->calls[2].interval, 1);
  const float in[7 * 5] = {1}, two = 2;
  test_run_graph(g, TEST_SET({x, in}, {lengths, &two}), NULL);
  for (size_t i = 0; i < g->plan->block_count; i++)
    assert_ok(ft_fill(test_device(), g->program->blocks[i], 0, g->plan->blocks[i], UINT32_MAX));
  const char *name;
  assert_ok(ft_graph_find_nonfinite(g, g->program->slots[g->program->done_slot].ticket, &name));
  if (name) fail_msg("%s", name);
}

TEST(profile_times_every_call) {
  owned_graph *g = new_graph();
  filtra_tensor *x = input(g, "x", 64, 64);
  filtra_graph_output(g, filtra_multiply(g, filtra_affine(g, x, 2.0f, 0.0f), x));
  assert_ok(filtra_graph_compile(g));
  static float in[64 * 64];
  assert_ok(filtra_graph_set(g, x, in));
  owned ft_profile_entry *entries = NULL;
  size_t count;
  if (test_device()->caps.timestamp_ns <= 0.0) {
    assert_fails(ft_graph_profile(g, &entries, &count), FILTRA_ERROR_UNSUPPORTED, "no timestamps");
    filtra_graph_destroy(&g);
    print_message("not tested: there are no timestamps\n");
    skip();
  }
  assert_ok(ft_graph_profile(g, &entries, &count));
  assert_int_equal(count, g->plan->call_count);
  for (size_t i = 0; i < count; i++)
    assert_true(entries[i].seconds > 0.0 && entries[i].seconds < 1.0);
}

/* Calls are planned as they are recorded; fusion has a test of its own. */
static int setup(void **state) {
  (void)state;
  return test_use_variant("fusion=off") ? 0 : -1;
}

TEST_MAIN(setup, test_teardown)
