#include "support/attention.h"

#include <string.h>

void test_add_qkv(test_op *op, const test_attention_shape *n, filtra_dtype dtype) {
  const test_tensor qkv[] = {
      {"q", FILTRA_F32, 4, {n->batches, n->heads, n->queries, n->columns}, -2, 2, .gradient = true},
      {"k", FILTRA_F32, 4, {n->batches, n->heads, n->keys, n->columns}, -2, 2, .gradient = true},
      {"v", FILTRA_F32, 4, {n->batches, n->heads, n->keys, n->value_columns}, .gradient = true}};
  for (size_t i = 0; i < FT_COUNT(qkv); i++) {
    op->in[op->inputs] = qkv[i];
    op->in[op->inputs++].dtype = dtype;
  }
}

filtra_tensor *test_heads_as_floats(filtra_graph *g, filtra_tensor *y) {
  if (filtra_tensor_dtype(y) == FILTRA_F32) return y;
  int64_t shape[FILTRA_MAX_DIMS];
  filtra_tensor_shape(y, shape);
  return filtra_split_heads(g, filtra_cast(g, filtra_merge_heads(g, y), FILTRA_F32), shape[1]);
}

void test_add_mask_and_bias(test_op *op, const test_attention_shape *n, bool mask, int bias_dims) {
  if (mask) op->in[op->inputs++] = (test_tensor){"mask", FILTRA_F32, 2, {n->batches, n->keys}};
  if (bias_dims) {
    test_tensor bias = {.name = "bias", .ndim = bias_dims, .gradient = true};
    const int64_t whole[4] = {n->batches, n->heads, n->queries, n->keys};
    memcpy(bias.shape, whole + 4 - bias_dims, (size_t)bias_dims * sizeof *whole);
    op->in[op->inputs++] = bias;
  }
}

double test_half_ulp(filtra_dtype dtype) {
  return dtype == FILTRA_F16 ? 0x1p-11 : dtype == FILTRA_BF16 ? 0x1p-8 : 0;
}

const char *test_attention_way(size_t i) {
  return i == 2                 ? "attention=uniform"
         : i                    ? "attention=lanes"
         : test_under_profile() ? "attention=tiled"
                                : "attention=tiled,registers=few";
}

void test_attention_each_way(void (*check)(filtra_device *device, const void *cases, size_t count),
                             const void *cases, size_t count) {
  for (size_t i = 0; i < TEST_ATTENTION_WAYS; i++) {
    filtra_device *device = test_open_variant(test_attention_way(i));
    if (!device) continue;
    check(device, cases, count);
    test_close_device(&device);
  }
}
