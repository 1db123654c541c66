/* Token embeddings, learned positions and sinusoids. Called by model/network.c and programs. */
#include "embedding/contract.h"
#include "ops/decoding.h"
#include "ops/support.h"

#include <filtra/ops.h>
#include <math.h>

/* ---- tokens ---- */

struct embedding {
  filtra_tensor *table, *tokens, *y;
};

/* The gradient of a table, without atomics on floats and in a fixed order, in time proportional to
 * the number of tokens: equal tokens are linked within chunks of the sequence, each chunk's
 * gradients are summed per token, then each row of the table adds up its chunks. */
struct chunks {
  uint32_t length, count; /* tokens per chunk, chunks */
  uint32_t splits;        /* ranges of chunks that are summed in parallel, for small tables */
  uint32_t per_split;
};

/* Linking takes tokens * length comparisons; the sums of rows take at most vocabulary * columns *
 * tokens / length steps. A length near the root of vocabulary * columns balances them. */
static struct chunks plan_chunks(int64_t tokens, int64_t vocabulary, int64_t columns) {
  /* most_words: limit of the index of chunks. */
  const int64_t shortest = 64, longest = 512, most_words = 1 << 23;
  const int64_t busy = 1 << 14, least_chunks = 8;
  int64_t length = shortest;
  while (length < longest && length * length < vocabulary * columns)
    length *= 2;
  while (length < tokens && (tokens + length - 1) / length * vocabulary > most_words)
    length *= 2;
  int64_t count = tokens ? (tokens + length - 1) / length : 1;
  int64_t splits = busy / (vocabulary * columns), most = (count + least_chunks - 1) / least_chunks;
  splits = splits < 1 ? 1 : splits > most ? most : splits;
  int64_t per_split = (count + splits - 1) / splits;
  splits = (count + per_split - 1) / per_split;
  return (struct chunks){(uint32_t)length, (uint32_t)count, (uint32_t)splits, (uint32_t)per_split};
}

static void emit_link(filtra_graph *g, const char *label, filtra_tensor *tokens,
                      filtra_tensor *link, filtra_tensor *heads, struct chunks chunks) {
  const uint32_t count = (uint32_t)filtra_tensor_elements(tokens);
  ft_emit_fill(g, heads, -1);
  ft_record_call(
      g, &(ft_kernel_call){.label = label,
                           .kernel = "embedding/link",
                           FT_ARGUMENTS(embedding_link, .tokens = FT_READ(tokens),
                                        .link = FT_WRITE(link), .heads = FT_UPDATE(heads),
                                        .count = count, .vocabulary = (uint32_t)heads->shape[0],
                                        .chunk = chunks.length, .chunks = chunks.count),
                           FT_FLAT(g, count)});
}

static void emit_chunk_sums(filtra_graph *g, const char *label, filtra_tensor *dy,
                            filtra_tensor *link, filtra_tensor *sums) {
  const uint32_t count = (uint32_t)filtra_tensor_elements(dy);
  const ft_row_way way = ft_row_or_flat(g, "embedding/chunk_sums", FILTRA_F32, ft_rows(sums),
                                        ft_columns(sums), ft_in_pairs(dy) && ft_in_pairs(sums));
  ft_record_call(g, &(ft_kernel_call){
                        .label = label,
                        .kernel = way.kernel,
                        FT_ARGUMENTS(embedding_chunk_sums, .dy = FT_READ(dy), .link = FT_READ(link),
                                     .sums = FT_WRITE(sums), .count = count),
                        FT_CONSTANTS(embedding_chunk_sums, .columns = (uint32_t)ft_columns(sums)),
                        .workgroup = way.workgroup,
                        .subgroup = way.subgroup,
                        .groups = {way.groups},
                        .flops = count,
                        .bytes = 8.0 * count});
}

static void emit_row_sums(filtra_graph *g, const char *label, filtra_tensor *sums,
                          filtra_tensor *heads, filtra_tensor *rows, struct chunks chunks,
                          bool accumulate) {
  uint32_t columns = (uint32_t)ft_columns(sums);
  const uint32_t count = (uint32_t)heads->shape[0] * columns;
  ft_record_call(
      g, &(ft_kernel_call){
             .label = label,
             .kernel = "embedding/row_sums",
             FT_ARGUMENTS(embedding_row_sums, .sums = FT_READ(sums), .heads = FT_READ(heads),
                          .rows = FT_TARGET(rows, accumulate), .count = count,
                          .chunks = chunks.count, .per_split = chunks.per_split),
             .workgroup = FT_FLAT_WORKGROUP,
             FT_CONSTANTS(embedding_row_sums, .columns = columns, .accumulate = accumulate),
             .groups = {ft_flat_groups(g, count), chunks.splits}});
}

void ft_emit_rows_gradient(filtra_graph *g, const char *label, filtra_tensor *tokens,
                           filtra_tensor *dy, filtra_tensor *rows, int64_t vocabulary,
                           bool accumulate) {
  int64_t count = filtra_tensor_elements(tokens);
  int64_t columns = filtra_tensor_elements(rows) / vocabulary;
  struct chunks chunks = plan_chunks(count, vocabulary, columns);
  filtra_tensor *link = ft_tensor_new(g, "token links", FILTRA_I32, 1, &count);
  filtra_tensor *heads = ft_tensor_new(g, "token heads", FILTRA_I32, 2,
                                       (int64_t[]){vocabulary, 1 + (int64_t)chunks.count});
  filtra_tensor *sums = ft_tensor_new(g, "token sums", FILTRA_F32, 2, (int64_t[]){count, columns});
  if (!link || !heads || !sums) return;
  emit_link(g, label, tokens, link, heads, chunks);
  emit_chunk_sums(g, label, dy, link, sums);
  if (chunks.splits == 1) {
    emit_row_sums(g, label, sums, heads, rows, chunks, accumulate);
    return;
  }
  filtra_tensor *parts = ft_tensor_new(g, "table parts", FILTRA_F32, 3,
                                       (int64_t[]){chunks.splits, vocabulary, columns});
  if (!parts) return;
  emit_row_sums(g, label, sums, heads, parts, chunks, false);
  ft_emit_sum_leading(g, label, parts, rows, accumulate);
}

static void embedding_backward(filtra_graph *g, const void *context) {
  const struct embedding *c = context;
  bool accumulate;
  filtra_tensor *table = ft_grad_target(g, c->table, &accumulate);
  if (!table) return;
  const bool narrow = filtra_tensor_dtype(table) != FILTRA_F32;
  filtra_tensor *sums =
      narrow ? ft_tensor_new(g, "table gradient", FILTRA_F32, 2, table->shape) : table;
  if (!sums) return;
  ft_emit_rows_gradient(g, "embedding.backward", c->tokens, ft_grad(g, c->y), sums, table->shape[0],
                        accumulate && !narrow);
  if (narrow) ft_emit_cast(g, sums, table, accumulate);
}

filtra_tensor *filtra_embedding(filtra_graph *g, filtra_tensor *table, filtra_tensor *tokens) {
  if (!ft_usable_elements(g, table, "embedding", "table") ||
      !ft_usable_integers(g, tokens, 2, "embedding", "tokens"))
    return NULL;
  if (!ft_dense(table) || table->ndim != 2 || !filtra_tensor_elements(table))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "embedding: table (%s %s) must be dense, have 2 dimensions and not be "
                         "empty",
                         table->name, ft_shape_text(table));
  int64_t shape[] = {tokens->shape[0], tokens->shape[1], table->shape[1]};
  filtra_tensor *y = ft_tensor_new(g, "embedding", FILTRA_F32, 3, shape);
  if (!y) return NULL;
  const uint32_t count = (uint32_t)filtra_tensor_elements(y);
  const ft_row_way way = ft_row_or_flat(g, "embedding/embedding", filtra_tensor_dtype(table),
                                        ft_rows(y), shape[2], ft_in_pairs(table) && ft_in_pairs(y));
  ft_record_call(
      g, &(ft_kernel_call){.label = "embedding",
                           .kernel = way.kernel,
                           FT_ARGUMENTS(embedding_embedding, .table = FT_READ(table),
                                        .tokens = FT_READ(tokens), .y = FT_WRITE(y), .count = count,
                                        .vocabulary = (uint32_t)table->shape[0]),
                           FT_CONSTANTS(embedding_embedding, .columns = (uint32_t)shape[2]),
                           .workgroup = way.workgroup,
                           .subgroup = way.subgroup,
                           .groups = {way.groups},
                           .bytes = 8.0 * count});
  const struct embedding call = {table, tokens, y};
  return ft_record_op(g, "embedding", embedding_backward, &call, sizeof call, 2,
                      (filtra_tensor *[]){table, tokens}, 1, &y);
}

/* ---- learned positions ---- */

struct positions {
  filtra_tensor *x, *table, *y;
};

static void positions_backward(filtra_graph *g, const void *context) {
  const struct positions *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  bool accumulate;
  filtra_tensor *table = ft_grad_target(g, c->table, &accumulate);
  if (table) ft_emit_sum_leading(g, "add_positions.backward", dy, table, accumulate);
  ft_grad_give(g, c->x, dy);
}

filtra_tensor *filtra_add_positions(filtra_graph *g, filtra_tensor *x, filtra_tensor *table) {
  if (!ft_usable_floats(g, x, 3, "add_positions", "x") ||
      !ft_usable_floats(g, table, 2, "add_positions", "table"))
    return NULL;
  if (table->shape[0] < x->shape[1] || table->shape[1] != x->shape[2])
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "add_positions: table %s %s must have at least the tokens and exactly the "
                         "width of %s %s",
                         table->name, ft_shape_text(table), x->name, ft_shape_text(x));
  filtra_tensor *y = ft_tensor_like(g, x, "add_positions");
  if (!y) return NULL;
  const uint32_t period = (uint32_t)(x->shape[1] * x->shape[2]);
  const uint32_t batch = (uint32_t)x->shape[0];
  const ft_row_way way =
      ft_row_or_flat(g, "embedding/positions", FILTRA_F32, ft_rows(x), x->shape[2],
                     ft_in_pairs(x) && ft_in_pairs(table) && ft_in_pairs(y));
  const uint32_t along = ft_flat_groups(g, period), across = ft_batch_groups(g, period, batch);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "add_positions",
             .kernel = way.kernel,
             FT_ARGUMENTS(embedding_positions, .x = FT_READ(x), .table = FT_READ(table),
                          .y = FT_WRITE(y), .period = period, .batch = batch),
             FT_CONSTANTS(embedding_positions, .columns = way.rows ? (uint32_t)x->shape[2] : 0),
             .workgroup = way.workgroup,
             .subgroup = way.subgroup,
             .groups = {way.rows ? way.groups : along, way.rows ? 1 : across},
             .bytes = 8.0 * (double)filtra_tensor_elements(x)});
  const struct positions call = {x, table, y};
  return ft_record_op(g, "add_positions", positions_backward, &call, sizeof call, 2,
                      (filtra_tensor *[]){x, table}, 1, &y);
}

/* ---- sinusoids ---- */

enum { MOST_COLUMNS = 2 << EMBEDDING_FREQUENCY_BITS };

static void sinusoids_backward(filtra_graph *g, const void *context) {
  const struct positions *c = context;
  ft_grad_give(g, c->x, ft_grad(g, c->y));
}

filtra_tensor *filtra_add_sinusoids(filtra_graph *g, filtra_tensor *x) {
  return ft_add_sinusoids_from(g, x, NULL);
}

filtra_tensor *ft_add_sinusoids_from(filtra_graph *g, filtra_tensor *x, filtra_tensor *first) {
  if (!ft_usable_floats(g, x, 3, "add_sinusoids", "x")) return NULL;
  if (first && !ft_usable_integers(g, first, 1, "add_sinusoids", "first")) return NULL;
  if (first && first->shape[0] != x->shape[0])
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "add_sinusoids: first %s must be [B] of x %s",
                         ft_shape_text(first), ft_shape_text(x));
  if (x->shape[2] > MOST_COLUMNS)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "add_sinusoids: %s %s is wider than the %d channels that are accepted",
                         x->name, ft_shape_text(x), MOST_COLUMNS);
  filtra_tensor *y = ft_tensor_like(g, x, "add_sinusoids");
  if (!y) return NULL;
  struct ft_embedding_sinusoids_arguments given = {.x = FT_READ(x),
                                                   .first = FT_READ(first),
                                                   .y = FT_WRITE(y),
                                                   .period = (uint32_t)(x->shape[1] * x->shape[2]),
                                                   .batch = (uint32_t)x->shape[0]};
  for (int j = 0; j < EMBEDDING_FREQUENCY_BITS; j++) {
    double power = pow(10000.0, -2.0 * (double)(1 << j) / (double)x->shape[2]);
    uint64_t fraction = (uint64_t)ldexp(power, 64);
    given.power[2 * j] = (uint32_t)fraction;
    given.power[2 * j + 1] = (uint32_t)(fraction >> 32);
  }
  ft_record_call(
      g, &(ft_kernel_call){.label = "add_sinusoids",
                           .kernel = "embedding/sinusoids",
                           FT_ARGUMENTS_AT(embedding_sinusoids, &given),
                           .workgroup = FT_FLAT_WORKGROUP,
                           FT_CONSTANTS(embedding_sinusoids, .columns = (uint32_t)x->shape[2],
                                        .shifted = first != NULL),
                           .groups = {ft_flat_groups(g, given.period),
                                      ft_batch_groups(g, given.period, given.batch)},
                           .bytes = 8.0 * (double)filtra_tensor_elements(x)});
  const struct positions call = {x, NULL, y};
  return ft_record_op(g, "add_sinusoids", sinusoids_backward, &call, sizeof call, 1, &x, 1, &y);
}
