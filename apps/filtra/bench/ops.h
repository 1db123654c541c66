/* Tables of ops at shapes that papers use. */
#ifndef FILTRA_BENCH_OPS_H
#define FILTRA_BENCH_OPS_H

#include "bench.h"

#include "graph/graph.h"

#include <filtra/ops.h>

/** Sizes of a case; the family's builder defines `out`. 0: the op has no such size. */
typedef struct bench_shape {
  const char *from; /* where the shape is from */
  int64_t batch, length, width, heads, out;
  bool quick; /* for --quick only; cases without it for everything else */
  bool causal;
} bench_shape;

typedef struct bench_family {
  const char *op;
  /* `what` is a bench_shape. */
  filtra_tensor *(*build)(bench_graph *g, const void *what);
  const bench_shape *shapes;
  size_t count;
  bool forward_only;    /* the op has no gradient */
  const char *out;      /* name of `out` in the file */
  const char *out_text; /* printf format of `out` in a case's name */
} bench_family;

/** Ops that mix tokens (mixing.c), and ops on each token (tokens.c). */
extern const bench_family bench_mixing[], bench_tokens[];
extern const size_t bench_mixing_count, bench_tokens_count;

#endif
