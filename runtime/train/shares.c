/* Shares of a batch: equal, given, or by the measured speed of each rank. Called by
 * train/trainer.c, and by train/run.c for the configuration's key `shares`. */
#include "train/shares.h"

#include "base/file.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Executions per measurement. The first still compiles and warms up; the fastest of the others
 * counts. */
enum { RUNS = 4 };

/* ---- as text ---- */

bool ft_shares_read(const char *text, int rank, int *size, float *share) {
  *size = 0;
  for (const char *at = text; at; (*size)++) {
    char *end;
    double value = ft_strtod(at, &end);
    if (end == at || !(value >= 1e-3 && value <= 1e6) || (*end && *end != ':')) return false;
    if (*size == rank) *share = (float)value;
    at = *end ? end + 1 : NULL;
  }
  return true;
}

filtra_status ft_shares_write(const filtra_trainer *t, int64_t batch, char *text, size_t size) {
  size_t used = 0;
  for (int i = 0; i < t->ranks.transport->size && used < size; i++) {
    int64_t first, end;
    ft_shares_samples(t, i, batch, &first, &end);
    used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ":" : "",
                             (long long)(end - first));
  }
  if (used < size) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                 "shares of %d ranks do not fit a configuration; give each its --share",
                 t->ranks.transport->size);
}

/* ---- samples ---- */

void ft_shares_samples(const filtra_trainer *t, int rank, int64_t batch, int64_t *first,
                       int64_t *end) {
  *first = 0;
  *end = batch;
  if (!t->shares) return;
  *first = (int64_t)(t->shares[rank] * (double)batch + 0.5);
  *end = (int64_t)(t->shares[rank + 1] * (double)batch + 0.5);
}

/* Turns rank i's share, at i + 1, into the end of its share, between 0 and 1. */
static void line_up(double *shares, int size) {
  for (int i = 0; i < size; i++)
    shares[i + 1] += shares[i];
  for (int i = 0; i <= size; i++)
    shares[i] /= shares[size];
}

filtra_status ft_shares_join(filtra_trainer *t, float share) {
  const filtra_transport *transport = t->ranks.transport;
  t->shares = ft_calloc((size_t)transport->size + 1, sizeof *t->shares);
  if (!t->shares) return FILTRA_ERROR_HOST_MEMORY;
  t->shares[transport->rank + 1] = share != 0.0f ? (double)share : 1.0;
  FT_TRY(ft_ranks_gather(&t->ranks, t->shares + 1, sizeof *t->shares));
  for (int i = 1; i <= transport->size; i++)
    if (t->shares[i] < 0.0) t->measures = true;
  for (int i = 1; i <= transport->size && t->measures; i++)
    t->shares[i] = 1.0;
  line_up(t->shares, transport->size);
  return FILTRA_OK;
}

/* ---- measuring ---- */

/* A batch of zeros and full lengths: which kernels run does not depend on its content. */
static filtra_status make_batch(const filtra_model_config *o, int64_t size, int64_t length,
                                filtra_batch *batch, void **memory) {
  size_t sequences = (size_t)ft_model_sequences(o) * (size_t)size;
  size_t words = (size_t)length * sequences;
  size_t features = o->features ? (size_t)(size * length * o->features) : 0;
  size_t labels = (size_t)(size * length), all = words + features + labels + sequences;
  int32_t *tokens = ft_calloc(all + 2 * (size_t)size, sizeof *tokens);
  *memory = tokens;
  if (!tokens) return FILTRA_ERROR_HOST_MEMORY;
  int32_t *lengths = tokens + words + features + labels;
  float *values = (float *)lengths + sequences, *weights = values + size;
  for (size_t i = 0; i < sequences; i++)
    lengths[i] = (int32_t)length;
  for (int64_t i = 0; i < size; i++)
    weights[i] = 1.0f;
  *batch = (filtra_batch){.size = (uint32_t)size,
                          .length = (uint32_t)length,
                          .count = (uint32_t)size,
                          .sequences = (uint32_t)ft_model_sequences(o),
                          .tokens = features ? NULL : tokens,
                          .features = features ? (float *)(tokens + words) : NULL,
                          .lengths = lengths,
                          .labels = tokens + words + features,
                          .values = values,
                          .weights = weights};
  return FILTRA_OK;
}

/* Times forward and backward pass of a part. Leaves nothing that a step reads. */
static filtra_status time_graph(filtra_trainer *t, ft_batch_graph *b, double *seconds) {
  filtra_batch batch;
  void *memory;
  filtra_status status = make_batch(&t->model->options.config, b->size, b->length, &batch, &memory);
  *seconds = INFINITY;
  for (int i = 0; i < RUNS && !status; i++) {
    status = ft_batch_graph_set_part(b, &batch, 0, b->size, ft_batch_weight(t->model, &batch));
    double began = ft_seconds();
    if (!status) status = filtra_graph_execute(b->graph);
    double taken = ft_seconds() - began;
    if (i && taken < *seconds) *seconds = taken;
  }
  free(memory);
  return status;
}

/* Times a part in an arena that is freed with its graph: graphs of other shares may need less
 * memory. */
static filtra_status time_part(filtra_trainer *t, int64_t size, int64_t length, double *seconds) {
  ft_batch_graph graph;
  filtra_arena *arena = t->model->arena;
  t->model->arena = NULL;
  filtra_status status = ft_trainer_build_part(t, size, length, &graph);
  t->model->arena = arena;
  if (!status) status = filtra_graph_compile(graph.graph);
  if (!status) status = time_graph(t, &graph, seconds);
  ft_batch_graph_close(&graph);
  return status;
}

/* For more = 1, the rank that would need the least time with one more sample. For more = -1, the
 * rank that needs the most time now, among those with more than one sample. */
static int quickest(const double *speeds, const double *samples, int size, double more) {
  int best = 0;
  double least = INFINITY;
  for (int i = 0; i < size; i++) {
    double seconds = (more > 0.0 ? samples[i] + more : -samples[i]) / speeds[i];
    if ((more < 0.0 && samples[i] <= 1.0) || seconds >= least) continue;
    least = seconds;
    best = i;
  }
  return best;
}

/* Gives each rank whole samples in proportion to its speed, at least one; writes them from
 * speeds[size] on. */
static void share_out(double *speeds, int size, int64_t batch) {
  double all = 0.0, *samples = speeds + size;
  int64_t missing = batch;
  for (int i = 0; i < size; i++)
    all += speeds[i];
  for (int i = 0; i < size; i++) {
    samples[i] = fmax(1.0, floor(speeds[i] / all * (double)batch));
    missing -= (int64_t)samples[i];
  }
  for (; missing > 0; missing--)
    samples[quickest(speeds, samples, size, 1.0)] += 1.0;
  for (; missing < 0; missing++)
    samples[quickest(speeds, samples, size, -1.0)] -= 1.0;
}

filtra_status ft_shares_measure(filtra_trainer *t, int64_t batch, int64_t length) {
  const filtra_transport *transport = t->ranks.transport;
  int size = transport->size;
  int64_t first, end;
  double seconds = 0.0;
  if (batch < size) return FILTRA_OK; /* the caller refuses it */
  ft_shares_samples(t, transport->rank, batch, &first, &end);
  int64_t part = (end - first + t->accumulate - 1) / t->accumulate;
  FT_TRY(time_part(t, part, length, &seconds));
  double *speeds = ft_calloc(2 * (size_t)size, sizeof *speeds);
  if (!speeds) return FILTRA_ERROR_HOST_MEMORY;
  speeds[transport->rank] = (double)part / seconds;
  filtra_status status = ft_ranks_gather(&t->ranks, speeds, sizeof *speeds);
  if (!status) {
    share_out(speeds, size, batch);
    memcpy(t->shares + 1, speeds + size, (size_t)size * sizeof *speeds);
    t->shares[0] = 0.0;
    line_up(t->shares, size);
    for (int i = 0; i < size && transport->rank == 0; i++)
      ft_log(FILTRA_LOG_INFO, "rank %d takes %g of %lld samples: %.4g a second", i,
             speeds[size + i], (long long)batch, speeds[i]);
  }
  free(speeds);
  t->measures = false;
  return status;
}
