/* Executions cut into many submissions, and dispatches cut into several, give the same bits. */
#include "support/harness.h"

#include "gpu/internal.h"

#include "graph/program.h"

#include <filtra/ops.h>

enum { B = 2, H = 3, N = 257, D = 24, SCALARS = B * H * N * D };

/* Attention and a matrix product, forward and backward, as large as a cut needs to be worth it. */
typedef struct work {
  filtra_device *dev;
  filtra_graph *graph;
  filtra_tensor *in[3], *out[4], *product;
} work;

static void build(const char *caps, work *w) {
  filtra_device *dev = test_open_device(caps);
  filtra_graph *g = test_graph(dev, NULL);
  *w = (work){.dev = dev, .graph = g};
  for (int i = 0; i < 3; i++) {
    w->in[i] = test_input(g, "qkv", B, H, N, D);
    filtra_graph_require_gradient(g, w->in[i]);
  }
  filtra_tensor *y = filtra_attention(g, w->in[0], w->in[1], w->in[2], NULL);
  filtra_tensor *x = filtra_reshape(g, filtra_merge_heads(g, y), 2, (int64_t[]){B * N, H * D});
  w->product = filtra_matmul(g, x, x, &(filtra_matmul_options){.transpose_b = true});
  assert_ok(filtra_graph_backward(g, 1, &w->product, NULL));
  w->out[0] = x;
  for (int i = 0; i < 3; i++)
    w->out[i + 1] = filtra_graph_gradient(g, w->in[i]);
  for (int i = 0; i < 4; i++)
    filtra_graph_output(g, w->out[i]);
  assert_ok(filtra_graph_compile(g));
}

static void set_inputs(const work *w, float scale) {
  owned float *in = test_alloc(SCALARS * sizeof *in);
  for (int i = 0; i < 3; i++) {
    test_random((uint64_t)i + 1, -scale, scale, in, SCALARS);
    assert_ok(filtra_graph_set(w->graph, w->in[i], in));
  }
}

static void destroy(work *w) {
  filtra_graph_destroy(&w->graph);
  test_close_device(&w->dev);
}

/* A GPU that takes the whole work in about a millisecond has no reason to cut it. */
static bool too_fast(void) {
  work w;
  double seconds;
  if (ft_caps_of(test_device())->for_cpu) return false;
  build("submission_ms=0", &w);
  set_inputs(&w, 1.0f);
  assert_ok(ft_graph_seconds(w.graph, &seconds));
  destroy(&w);
  if (seconds < 4e-3) print_message("NOTE: %.1f ms of work, too little to be cut\n", 1e3 * seconds);
  return seconds < 4e-3;
}

/* All results of the last of `runs` runs; *count: submissions of that one. */
static float *results(const char *caps, int runs, size_t *count) {
  work w;
  build(caps, &w);
  float *values = test_alloc((4 * SCALARS) * sizeof *values);
  set_inputs(&w, 1.0f);
  for (int i = 0; i < runs; i++)
    assert_ok(filtra_graph_execute(w.graph));
  for (int i = 0; i < 4; i++)
    assert_ok(filtra_graph_get(w.graph, w.out[i], values + i * SCALARS));
  *count = ft_submissions_count(w.graph->program);
  destroy(&w);
  return values;
}

TEST(test_same_bits) {
  static const struct {
    const char *caps;
    int runs;
    bool cut;
  } cases[] = {{"submission_ms=1", 1, true}, /* the measured run; cut anew after it */
               {"submission_ms=1", 3, true},
               {"submission_ms=1,timestamps=0", 2, true}, /* by estimates alone */
               {"submission_ms=1,timestamps=0,gemm=tiled,attention=tiled", 1, true},
               {"submission_ms=10000", 2, false}};
  const bool fast = too_fast();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    size_t count = 0, whole = 0;
    if (!test_has_variant(cases[i].caps)) continue;
    const char *uncut = strstr(cases[i].caps, "tiled")
                            ? "submission_ms=0,gemm=tiled,attention=tiled"
                            : "submission_ms=0";
    float *expected = results(uncut, 1, &whole),
          *got = results(cases[i].caps, cases[i].runs, &count);
    assert_int_equal(whole, 1);
    if (cases[i].cut ? count <= 2 && !fast : count != 1)
      fail_msg("%s: %zu submissions", cases[i].caps, count);
    if (memcmp(expected, got, 4 * SCALARS * sizeof *got)) fail_msg("%s: other bits", cases[i].caps);
    free(expected);
    free(got);
  }
}

/* Looking into a run is cut like the run. */
TEST(test_looking_inside) {
  work w;
  build("submission_ms=1", &w);
  set_inputs(&w, 1.0f);
  owned ft_profile_entry *entries = NULL;
  size_t count;
  assert_ok(ft_graph_profile(w.graph, &entries, &count));
  if (!too_fast()) assert_true(ft_submissions_count(w.graph->program) > 2);
  assert_int_equal(count, w.graph->plan->call_count);
  for (size_t i = 0; i < count; i++)
    assert_true(entries[i].seconds > 0.0 && entries[i].seconds < 10.0);
  const char *name;
  for (int large = 0; large < 2; large++) { /* means of large values are finite, products not */
    uint64_t ticket;
    set_inputs(&w, large ? 1e30f : 1.0f);
    assert_ok(filtra_graph_submit(w.graph, &ticket));
    assert_ok(ft_graph_find_nonfinite(w.graph, ticket, &name));
    if (!large) assert_null(name);
  }
  assert_non_null(name);
  destroy(&w);
}

/* Whatever call of the first run fails, nothing in use is freed, and the next run is right. Pieces
 * make the same calls, hundreds on a slow driver: the further in, the fewer of them fail. */
TEST(test_failing_calls) {
  work w;
  build("submission_ms=1", &w);
  set_inputs(&w, 1.0f);
  filtra_status status;
  long n = 0;
  do {
    n += 1 + n / 16;
    ft_vk_fail_after(n, VK_ERROR_OUT_OF_HOST_MEMORY);
    status = filtra_graph_execute(w.graph);
    ft_vk_fail_after(0, VK_SUCCESS);
    assert_true(status == FILTRA_OK || status == FILTRA_ERROR_HOST_MEMORY);
  } while (status);
  assert_true(n > 10);
  destroy(&w);
}

/* What fails after the run was made is no failure of it, and the next run is measured instead. */
TEST(test_failing_after_the_run) {
  work w;
  build("submission_ms=1", &w);
  set_inputs(&w, 1.0f);
  const size_t estimated = ft_submissions_count(w.graph->program);
  size_t kept = 0;
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  for (int n = 1; status; n++) {
    ft_memory_fail_after(n);
    status = filtra_graph_execute(w.graph);
    ft_memory_fail_after(0);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
    kept = ft_submissions_count(w.graph->program);
  }
  assert_int_equal(kept, estimated);
  for (int i = 0; i < 2; i++)
    assert_ok(filtra_graph_execute(w.graph));
  destroy(&w);
}

/* Kernels that ask for the number of workgroups stay whole. */
TEST(test_kinds) {
  ft_pipeline *p[2];
  const ft_kernel_key keys[] = {{.kernel = "elementwise/affine", .workgroup = 64},
                                {.kernel = "gemm/naive", .workgroup = 64}};
  for (size_t i = 0; i < FT_COUNT(keys); i++)
    assert_ok(ft_pipelines_get(test_device(), &keys[i], 1, &p[i]));
  assert_true(ft_pipeline_counts_groups(p[0]));
  assert_false(ft_pipeline_counts_groups(p[1]));
}

TEST(test_wrong_budget) {
  filtra_device *dev;
  assert_fails(filtra_device_open(&(filtra_device_options){.caps = "submission_ms=-1"}, &dev),
               FILTRA_ERROR_ARGUMENT, "submission_ms=-1: a whole number from 0 to 10000");
}

TEST_MAIN(NULL, test_teardown)
