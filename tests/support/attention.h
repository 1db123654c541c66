/* Helpers for tests of attention and of the ops built on it. */
#ifndef TEST_SUPPORT_ATTENTION_H
#define TEST_SUPPORT_ATTENTION_H

#include "support/harness.h"

typedef struct test_attention_shape {
  int64_t batches, heads, queries, keys, columns, value_columns;
} test_attention_shape;

/** Adds q, k and v of that type, each with a gradient. */
void test_add_qkv(test_op *op, const test_attention_shape *n, filtra_dtype dtype);
/** Adds a mask [B,M], if wanted, and a bias of the last `bias_dims` of [B,H,N,M]; 0: none. */
void test_add_mask_and_bias(test_op *op, const test_attention_shape *n, bool mask, int bias_dims);

/** Converts the result of an op, stored token by token as [B,H,N,D], to F32. */
filtra_tensor *test_heads_as_floats(filtra_graph *g, filtra_tensor *y);

/** Caps for the three kinds of tiles, so that a device that prefers one can be made to use another.
 * Cases of one head width and one set of options share pipelines, which CPU drivers compile slowly:
 * for few registers, as on Intel and Apple, in half the time that many registers need, which
 * profiles choose. */
enum { TEST_ATTENTION_WAYS = 3 };
const char *test_attention_way(size_t i);
/** The rounding error of a number of size 1; 0 for F32. */
double test_half_ulp(filtra_dtype dtype);
/** Calls `check` with a device for each kind of tiles that the device supports. */
void test_attention_each_way(void (*check)(filtra_device *device, const void *cases, size_t count),
                             const void *cases, size_t count);

#endif
