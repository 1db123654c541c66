/* Masks and pooling over tokens. */
#include "support/harness.h"

#include "reference/tokenwise.h"

/* ---- masks ---- */

TEST_BUILD(build_token_mask) {
  out[0] = filtra_token_mask(g, in[0]);
}

TEST_REFERENCE(ref_token_mask) {
  for (int64_t i = 0; i < op->dims[0] * op->dims[1]; i++)
    out[0][i] = in[0][i] != 0;
}

TEST_BUILD(build_length_mask) {
  out[0] = filtra_length_mask(g, in[0], op->dims[1]);
}

TEST_REFERENCE(ref_length_mask) {
  int64_t n = op->dims[1];
  for (int64_t i = 0; i < op->dims[0] * n; i++)
    out[0][i] = (double)(i % n) < in[0][i / n];
}

TEST(test_masks) {
  const int64_t sizes[][2] = {{1, 1}, {3, 5}, {7, 130}, {70, 67}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    int64_t batch = sizes[i][0], n = sizes[i][1];
    test_op tokens = {.name = "token_mask",
                      .in = {{"tokens", FILTRA_I32, 2, {batch, n}, -1, 1}},
                      .build = build_token_mask,
                      .reference = ref_token_mask,
                      .dims = {batch, n}};
    test_check_op(test_device(), &tokens);
    test_op lengths = {.name = "length_mask",
                       .in = {{"lengths", FILTRA_I32, 1, {batch}, -2, (double)n + 3}},
                       .build = build_length_mask,
                       .reference = ref_length_mask,
                       .dims = {batch, n}};
    test_check_op(test_device(), &lengths);
  }
}

/* ---- mean ---- */

struct mean {
  bool masked, over_all;
};

TEST_BUILD(build_mean) {
  const struct mean *s = op->settings;
  out[0] = filtra_pool_mean(g, in[0], s->masked ? in[1] : NULL, s->over_all);
  out[1] = filtra_pool_mean(g, in[0], s->masked ? in[2] : NULL, s->over_all);
}

TEST_REFERENCE(ref_mean) {
  const struct mean *s = op->settings;
  const int64_t *d = op->dims;
  for (int i = 0; i < 2; i++)
    reference_pool_mean(in[0], s->masked ? in[1 + i] : NULL, out[i], d[0], d[1], d[2], s->over_all);
}

static void check_mean(int64_t batch, int64_t n, int64_t columns, struct mean settings) {
  /* Sample 0 keeps nothing in the first mask, all in the second; the rest at random. */
  float *masks[2];
  for (int k = 0; k < 2; k++) {
    masks[k] = malloc((size_t)(batch * n) * sizeof *masks[k]);
    assert_non_null(masks[k]);
    test_random((uint64_t)k, -1, 1, masks[k], (size_t)(batch * n));
    for (int64_t i = 0; i < batch * n; i++)
      masks[k][i] = i < n ? (float)k : masks[k][i] > 0;
  }
  test_op op = {.name = "pool_mean",
                .inputs = settings.masked ? 3 : 1,
                .in = {{"x", FILTRA_F32, 3, {batch, n, columns}, .gradient = true},
                       {"mask", FILTRA_F32, 2, {batch, n}, .fixed = masks[0]},
                       {"other mask", FILTRA_F32, 2, {batch, n}, .fixed = masks[1]}},
                .build = build_mean,
                .reference = ref_mean,
                .settings = &settings,
                .dims = {batch, n, columns}};
  test_check_op(test_device(), &op);
  free(masks[0]);
  free(masks[1]);
}

TEST(test_mean) {
  const int64_t sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {2, 64, 33}, {5, 321, 17}, {1, 1500, 3}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++)
    for (int k = 0; k < 4; k++)
      check_mean(sizes[i][0], sizes[i][1], sizes[i][2], (struct mean){k & 1, k & 2});
}

/* ---- first token ---- */

TEST_BUILD(build_first) {
  out[0] = filtra_pool_first(g, in[0]);
  out[1] = filtra_pool_first(g, in[0]);
}

TEST_REFERENCE(ref_first) {
  int64_t n = op->dims[1], columns = op->dims[2];
  for (int64_t i = 0; i < op->dims[0] * columns; i++)
    out[0][i] = out[1][i] = in[0][i / columns * n * columns + i % columns];
}

TEST(test_first) {
  const int64_t sizes[][3] = {{1, 1, 1}, {3, 1, 7}, {3, 5, 7}, {9, 67, 65}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    const int64_t *s = sizes[i];
    test_op op = {.name = "pool_first",
                  .in = {{"x", FILTRA_F32, 3, {s[0], s[1], s[2]}, .gradient = true}},
                  .build = build_first,
                  .reference = ref_first,
                  .dims = {s[0], s[1], s[2]}};
    test_check_op(test_device(), &op);
  }
}

/* ---- masked tokens ---- */

/* Twice, so that gradients are added. */
TEST_BUILD(build_mask_tokens) {
  out[0] = filtra_mask_tokens(g, in[0], in[1]);
  out[1] = filtra_mask_tokens(g, in[0], in[2]);
}

TEST_REFERENCE(ref_mask_tokens) {
  for (int k = 0; k < 2; k++)
    for (int64_t i = 0; i < op->out_elements[k]; i++)
      out[k][i] = in[1 + k][i / op->dims[2]] > 0 ? in[0][i] : 0;
}

TEST(test_mask_tokens) {
  const int64_t sizes[][3] = {{1, 1, 1}, {2, 5, 3}, {3, 33, 65}, {70, 7, 2}, {3, 5, 3}, {3, 5, 7}};
  const filtra_dtype types[FT_COUNT(sizes)] = {[4] = FILTRA_F16, [5] = FILTRA_BF16};
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    int64_t batch = sizes[i][0], n = sizes[i][1], columns = sizes[i][2];
    if (!test_stores(test_device(), types[i])) continue;
    test_op op = {.name = "mask_tokens",
                  .in = {{"x", types[i], 3, {batch, n, columns}, .gradient = true},
                         {"mask", FILTRA_F32, 2, {batch, n}},
                         {"other", FILTRA_F32, 2, {batch, n}}},
                  .build = build_mask_tokens,
                  .reference = ref_mask_tokens,
                  .out_elements = {batch * n * columns, batch * n * columns},
                  .dims = {batch, n, columns}};
    test_check_op(test_device(), &op);
  }
}

/* ---- channels ---- */

/* The second output's gradient is added. */
TEST_BUILD(build_channels) {
  out[0] = filtra_pool_channels(g, in[0], op->dims[2]);
  out[1] = filtra_pool_channels(g, in[0], op->dims[2]);
}

/* Bin i as the set of channels that the interval [i C / bins, (i+1) C / bins) touches. */
TEST_REFERENCE(ref_channels) {
  int64_t rows = op->dims[0], channels = op->dims[1], bins = op->dims[2];
  for (int64_t i = 0; i < rows * bins; i++) {
    double low = (double)(i % bins * channels) / (double)bins, sum = 0, count = 0;
    double high = (double)((i % bins + 1) * channels) / (double)bins;
    for (int64_t c = 0; c < channels; c++) {
      if ((double)(c + 1) <= low + 1e-9 || (double)c >= high - 1e-9) continue;
      sum += in[0][i / bins * channels + c];
      count++;
    }
    out[0][i] = out[1][i] = sum / count;
  }
}

TEST(test_channels) {
  const int64_t sizes[][3] = {{1, 1, 1},  {3, 1, 7},   {6, 5, 7},   {9, 7, 7},   {5, 16, 7},
                              {2, 65, 7}, {33, 64, 7}, {17, 33, 1}, {700, 5, 1}, {4, 500, 3}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    const int64_t *s = sizes[i];
    test_op op = {.name = "pool_channels",
                  .in = {{"x", FILTRA_F32, 2, {s[0], s[1]}, .gradient = true}},
                  .build = build_channels,
                  .reference = ref_channels,
                  .out_elements = {s[0] * s[2], s[0] * s[2]},
                  .dims = {s[0], s[1], s[2]}};
    test_check_op(test_device(), &op);
  }
}

TEST(test_errors) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 2, 5, 3);
  filtra_tensor *mask = test_input(g, "mask", 2, 4);
  test_refuse(&g, filtra_pool_mean(g, x, mask, FILTRA_OVER_MASK), "mask [2, 4]");

  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  filtra_tensor *lengths = filtra_graph_input(g, "lengths", FILTRA_I32, 1, (int64_t[]){2});
  test_refuse(&g, filtra_length_mask(g, lengths, 0), "0 tokens");

  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  x = test_input(g, "x", 2, 5, 3);
  test_refuse(&g, filtra_pool_channels(g, x, 0), "0 bins of x x [2, 5, 3]");
}

TEST_MAIN(NULL, test_teardown)
