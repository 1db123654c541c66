/* Batches: checks, the graph around the network with the task's loss, and the copy into the graph's
 * inputs. Called by model/model.c for inference, and by train/trainer.c. */
#include "model/model.h"
#include "ops/support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

static filtra_status check_arrays(const filtra_model_config *o, const filtra_batch *b,
                                  bool labelled) {
  bool value = o->task == FILTRA_TASK_REGRESSION;
  FT_TRY(FT_CHECK_RESERVED(filtra_batch, b));
  if (b->size < 1 || b->length < 1 || !(o->features ? (void *)b->features : (void *)b->tokens) ||
      !b->lengths)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "batch: needs %s, lengths, size and length",
                   o->features ? "features" : "tokens");
  if (b->count > b->size)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "batch: count is %u, accepted are 0 to size, %u",
                   b->count, b->size);
  if ((b->sequences ? b->sequences : 1) != ft_model_sequences(o))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "batch: holds %d a sample where task \"%s\" takes %lld (sequences)",
                   b->sequences ? (int)b->sequences : 1, ft_task_name(o->task),
                   (long long)ft_model_sequences(o));
  if (b->second && o->task == FILTRA_TASK_PAIR_CLASSIFICATION)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "batch: has two texts in one sequence (second) where task \"%s\" takes two "
                   "sequences",
                   ft_task_name(o->task));
  if (!b->other_labels != !b->label_fractions)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "batch: other_labels and label_fractions go together");
  const bool several = o->task == FILTRA_TASK_MULTI_LABEL;
  const void *targets = several ? (void *)b->targets : value ? (void *)b->values : b->labels;
  if (labelled && (!targets || !b->weights))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "batch: needs %s and weights here",
                   several ? "targets"
                   : value ? "values"
                           : "labels");
  return FILTRA_OK;
}

/* Checks a sample that mixes two. */
static filtra_status check_mixture(const filtra_model_config *o, const filtra_batch *b, int64_t i) {
  int32_t label = b->other_labels[i];
  float share = b->label_fractions[i];
  if (label < 0 || label >= o->classes)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "batch: sample %lld has the other label %d, accepted are 0 to %lld",
                   (long long)i, label, (long long)o->classes - 1);
  if (share >= 0.0f && share <= 1.0f) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "batch: sample %lld has %g of its label (label_fractions), accepted are 0 to 1",
                 (long long)i, (double)share);
}

/* Checks all features, also those after a sequence's end: a NaN there is an error too. */
static filtra_status check_features(const filtra_model_config *o, const filtra_batch *b,
                                    int64_t number, int32_t length) {
  const float *row = b->features + number * b->length * o->features;
  for (int64_t i = 0; i < b->length * o->features; i++) {
    if (isfinite(row[i])) continue;
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "batch: sample %lld has %g as feature %lld of token %lld (of %d tokens); accepted "
        "are finite numbers",
        (long long)(number % b->size), (double)row[i], (long long)(i % o->features),
        (long long)(i / o->features), length);
  }
  return FILTRA_OK;
}

/* Checks a sequence. `number` counts the first sequences of all samples, then the second ones. */
static filtra_status check_sequence(const filtra_model_config *o, const filtra_batch *b,
                                    int64_t number) {
  int64_t sample = number % b->size;
  int32_t length = b->lengths[number];
  if (length < 0 || length > (int64_t)b->length || length > o->max_length)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "batch: sample %lld has %d tokens; the batch holds %lld a row and the model at "
                   "most %lld (max_length)",
                   (long long)sample, length, (long long)b->length, (long long)o->max_length);
  if (o->patch && length != o->max_length)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "batch: sample %lld has %d pixels, the model's images have %lld",
                   (long long)sample, length, (long long)o->max_length);
  if (b->second && (b->second[sample] < 0 || b->second[sample] > length))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "batch: sample %lld has its second text at token %d, accepted are 0 to %d, its "
                   "length",
                   (long long)sample, b->second[sample], length);
  if (o->features) return check_features(o, b, number, length);
  for (int32_t n = 0; n < length; n++) {
    int32_t token = b->tokens[number * b->length + n];
    if (token < 0 || token >= o->vocabulary)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "batch: sample %lld has token %d at position %d, accepted are 0 to %lld "
                     "(vocabulary)",
                     (long long)sample, token, n, (long long)o->vocabulary - 1);
  }
  return FILTRA_OK;
}

/* Checks which labels apply to a sample, -1: unknown. */
static filtra_status check_targets(const filtra_model_config *o, const filtra_batch *b, int64_t i) {
  const float *targets = b->targets + i * o->classes;
  for (int64_t k = 0; k < o->classes; k++)
    if (!(targets[k] >= 0.0f && isfinite(targets[k])) && targets[k] != -1.0f)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "batch: sample %lld has the target %g for label %lld, accepted are 0, 1 and "
                     "other weights above 0, and -1, unknown",
                     (long long)i, (double)targets[k], (long long)k);
  return FILTRA_OK;
}

static filtra_status check_label(const filtra_model_config *o, const filtra_batch *b, int64_t i) {
  if (o->task == FILTRA_TASK_MULTI_LABEL) return check_targets(o, b, i);
  if (o->task == FILTRA_TASK_REGRESSION) {
    if (isfinite(b->values[i])) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_INPUT, "batch: sample %lld has the value %g", (long long)i,
                   (double)b->values[i]);
  }
  bool next = o->task == FILTRA_TASK_LANGUAGE_MODEL;
  int64_t count = next ? b->lengths[i] : 1, least = next ? -1 : 0, most = ft_model_outputs(o) - 1;
  const int32_t *labels = b->labels + (next ? i * b->length : i);
  for (int64_t n = 0; n < count; n++)
    if (labels[n] < least || labels[n] > most)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "batch: sample %lld has label %d, accepted are %lld to %lld", (long long)i,
                     labels[n], (long long)least, (long long)most);
  return FILTRA_OK;
}

filtra_status ft_model_check_batch(const filtra_model *model, const filtra_batch *batch,
                                   bool labelled) {
  const filtra_model_config *o = &model->options.config;
  FT_TRY(check_arrays(o, batch, labelled));
  int64_t sequences = batch->size * ft_model_sequences(o);
  for (int64_t i = 0; i < sequences; i++)
    FT_TRY(check_sequence(o, batch, i));
  FT_TRY(ft_edges_check(o, batch));
  for (int64_t i = 0; i < sequences; i++) {
    if (!labelled || i >= batch->size) continue;
    float weight = batch->weights[i];
    if (!(weight >= 0.0f) || !isfinite(weight))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "batch: sample %lld has the weight %g, accepted are finite numbers from 0 on",
                     (long long)i, (double)weight);
    if (weight == 0.0f) continue;
    FT_TRY(check_label(o, batch, i));
    if (batch->other_labels && o->task < FILTRA_TASK_REGRESSION) FT_TRY(check_mixture(o, batch, i));
  }
  return FILTRA_OK;
}

/* ---- the graph around the network ---- */

/* Number of chunks for the rows of logits: one if a buffer holds all of them. Otherwise a chunk
 * takes an eighth of a buffer, as its gradients and other tensors need memory as well. */
static int64_t loss_chunks(const filtra_model *model, int64_t rows) {
  const filtra_model_config *o = &model->options.config;
  double limit = (double)ft_buffer_limit(model->device), most = 2147483647.0 * sizeof(float);
  double bytes = (double)rows * (double)ft_model_outputs(o) * sizeof(float);
  int64_t chunks = model->loss_chunks;
  if (o->task != FILTRA_TASK_LANGUAGE_MODEL) return 1;
  if (limit > most) limit = most;
  if (!chunks) chunks = bytes > limit ? (int64_t)ceil(8.0 * bytes / limit) : 1;
  return chunks < rows ? chunks : rows;
}

void ft_batch_graph_open(filtra_model *model, ft_batch_graph *b, filtra_tensor **auxiliary) {
  const filtra_model_config *o = &model->options.config;
  filtra_graph *g = b->graph;
  ft_scope scope = ft_network_scope(g, model->params, o);
  scope.observer = b->observer;
  int64_t sequences = b->size * ft_model_sequences(o);
  if (b->part) ft_graph_take_part(g, sequences);
  const int64_t shape[] = {sequences, b->length, o->features};
  if (o->features)
    b->features = filtra_graph_input(g, "features", FILTRA_F32, 3, shape);
  else
    b->tokens = filtra_graph_input(g, "tokens", FILTRA_I32, 2, shape);
  b->lengths = filtra_graph_input(g, "lengths", FILTRA_I32, 1, &sequences);
  b->typed = o->token_types > 1;
  b->config = o;
  if (ft_model_has_edges(o)) ft_edges_declare(g, o, b->size, b->length, &b->edges);
  if (o->token_types) b->types = filtra_graph_input(g, "token types", FILTRA_I32, 2, shape);
  ft_network_input in = {.tokens = b->tokens,
                         .features = b->features,
                         .types = b->types,
                         .edges = b->edges,
                         .vector = b->judged ? FILTRA_VECTOR_NONE : model->vector,
                         .mask = filtra_length_mask(g, b->lengths, b->length)};
  const bool tokens = o->task == FILTRA_TASK_LANGUAGE_MODEL && !in.vector;
  b->rows = tokens ? b->size * b->length : b->size;
  b->chunks = b->judged ? loss_chunks(model, b->rows) : 1;
  in.headless = b->chunks > 1;
  filtra_tensor **result = in.headless ? &b->hidden : &b->logits;
  *result = ft_network_build(&scope, &model->options, &in, auxiliary);
  const int64_t columns = o->features > 1 ? o->features : 1,
                inputs = sequences * b->length * columns;
  const int64_t labels = o->task == FILTRA_TASK_MULTI_LABEL ? b->size * o->classes : 0;
  size_t words = (size_t)(inputs > labels ? inputs : labels);
  if (ft_model_has_edges(o)) { /* may exceed the other inputs */
    const size_t more = ft_edges_words(o, b->size, b->length);
    words = words > more ? words : more;
  }
  b->host = ft_calloc(words, sizeof(int32_t));
  if (!b->host) ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* Loss and score of regression. The loss is in units of the model's output, the score, an absolute
 * error, in units of the values. */
static void judge_values(filtra_graph *g, const filtra_model_config *o, ft_batch_graph *b,
                         filtra_tensor **loss, filtra_tensor **score) {
  b->values = filtra_graph_input(g, "values", FILTRA_F32, 2, (int64_t[]){b->rows, 1});
  float scale = 1.0f / o->target_scale;
  filtra_tensor *target = filtra_affine(g, b->values, scale, -o->target_mean * scale);
  filtra_tensor *error = filtra_absolute_error(g, b->logits, target);
  *loss = b->absolute ? error : filtra_squared_error(g, b->logits, target);
  *score = filtra_affine(g, error, o->target_scale, 0.0f);
}

/* Loss and score of several labels; the score is 1 if all known ones are right. A label with logit
 * x and target t is wrong if x (1 - 2 t) > 0 and, since logit 0 predicts no label, also if x = 0
 * and t = 1: the added FLT_MIN t matters only when added to 0. Unknown labels have target and
 * weight 0. */
static void judge_labels(filtra_graph *g, const filtra_model_config *o, ft_batch_graph *b,
                         filtra_tensor **loss, filtra_tensor **score) {
  const int64_t shape[] = {b->rows, o->classes}, column[] = {b->rows, 1};
  b->targets = filtra_graph_input(g, "targets", FILTRA_F32, 2, shape);
  b->labels = filtra_graph_input(g, "labels", FILTRA_I32, 1, &b->rows);
  b->label_weights = filtra_graph_input(g, "label weights", FILTRA_F32, 2, shape);
  *loss = filtra_binary_cross_entropy(g, b->logits, b->targets, b->label_weights);
  filtra_tensor *zero = filtra_constant(g, 2, column, 0.0f);
  filtra_tensor *wrong = filtra_multiply(g, b->logits, filtra_affine(g, b->targets, -2.0f, 1.0f));
  wrong = filtra_multiply(g, wrong, b->label_weights);
  wrong = filtra_add(g, wrong, filtra_affine(g, b->targets, FLT_MIN, 0.0f));
  *score = filtra_accuracy(g, filtra_concat(g, 1, 2, (filtra_tensor *[]){zero, wrong}), b->labels);
}

/* Loss and score of classification. For mixed samples the loss is the mean of the cross-entropies
 * of both classes, weighted by their fractions, which equals the cross-entropy of the mixed target.
 * Accuracy counts the class in `labels`. */
static void judge_classes(filtra_graph *g, ft_batch_graph *b, float smoothing, filtra_tensor **loss,
                          filtra_tensor **score) {
  *loss = filtra_cross_entropy(g, b->logits, b->labels, smoothing);
  *score = filtra_accuracy(g, b->logits, b->labels);
  if (!b->mixed) return;
  b->other_labels = filtra_graph_input(g, "other labels", FILTRA_I32, 1, &b->rows);
  b->label_fractions = filtra_graph_input(g, "label shares", FILTRA_F32, 1, &b->rows);
  filtra_tensor *other = filtra_cross_entropy(g, b->logits, b->other_labels, smoothing);
  filtra_tensor *rest = filtra_affine(g, b->label_fractions, -1.0f, 1.0f);
  *loss =
      filtra_add(g, filtra_multiply(g, *loss, b->label_fractions), filtra_multiply(g, other, rest));
}

static filtra_tensor *rows_of(filtra_graph *g, filtra_tensor *t, int64_t first, int64_t count) {
  if (!ft_usable(g, t)) return NULL;
  const int64_t start[2] = {first, 0}, box[2] = {count, t->ndim > 1 ? t->shape[1] : 0};
  return filtra_slice(g, t, start, box);
}

/* Joins 1-D tensors into one. */
static filtra_tensor *join(filtra_graph *g, filtra_tensor **list, int64_t count) {
  enum { MOST = 8 };
  while (count > 1) {
    int64_t to = 0;
    for (int64_t i = 0; i < count; i += MOST)
      list[to++] = filtra_concat(g, 0, (int)(count - i < MOST ? count - i : MOST), list + i);
    count = to;
  }
  return list[0];
}

/* Computes logits and losses chunk by chunk of rows; the backward pass recomputes the logits. */
static void judge_chunks(const filtra_model *model, ft_batch_graph *b, float smoothing,
                         filtra_tensor **loss, filtra_tensor **score) {
  filtra_graph *g = b->graph;
  const ft_scope scope = ft_network_scope(g, model->params, &model->options.config);
  filtra_tensor **losses = ft_graph_alloc(g, 2 * (size_t)b->chunks * sizeof *losses);
  filtra_tensor **scores = losses ? losses + b->chunks : NULL;
  int64_t each = (b->rows + b->chunks - 1) / b->chunks, count = 0;
  for (int64_t first = 0; losses && first < b->rows; first += each, count++) {
    int64_t size = b->rows - first < each ? b->rows - first : each;
    ft_segment_begin(g, FT_RECOMPUTE_BLOCKS);
    filtra_tensor *logits =
        ft_network_predict(&scope, &model->options.config, rows_of(g, b->hidden, first, size));
    filtra_tensor *labels = rows_of(g, b->labels, first, size);
    losses[count] = filtra_cross_entropy(g, logits, labels, smoothing);
    scores[count] = filtra_accuracy(g, logits, labels);
    ft_segment_end(g);
  }
  *loss = losses ? join(g, losses, count) : NULL;
  *score = scores ? join(g, scores, count) : NULL;
}

/* The weighted mean over the batch; for a part, its contribution to that mean. */
static filtra_tensor *mean(ft_batch_graph *b, filtra_tensor *x, filtra_tensor *weights,
                           filtra_tensor *scale) {
  return b->part ? ft_weighted_sum(b->graph, x, weights, scale)
                 : filtra_weighted_mean(b->graph, x, weights);
}

void ft_batch_graph_judge(const filtra_model *model, ft_batch_graph *b, float smoothing,
                          filtra_tensor *auxiliary) {
  const filtra_model_config *o = &model->options.config;
  filtra_graph *g = b->graph;
  filtra_tensor *loss, *score;
  b->weights = filtra_graph_input(g, "weights", FILTRA_F32, 1, &b->rows);
  b->sample_weights = b->rows == b->size ? b->weights : NULL;
  if (b->part) b->scale = filtra_graph_input(g, "weight scale", FILTRA_F32, 1, (int64_t[]){1});
  b->sample_scale = b->sample_weights ? b->scale : NULL;
  if (o->task == FILTRA_TASK_REGRESSION) {
    judge_values(g, o, b, &loss, &score);
  } else if (o->task == FILTRA_TASK_MULTI_LABEL) {
    judge_labels(g, o, b, &loss, &score);
  } else {
    b->labels = filtra_graph_input(g, "labels", FILTRA_I32, 1, &b->rows);
    if (b->hidden)
      judge_chunks(model, b, smoothing, &loss, &score);
    else
      judge_classes(g, b, smoothing, &loss, &score);
  }
  b->score = filtra_graph_output(g, mean(b, score, b->weights, b->scale));
  if (!ft_graph_training(g) && ft_model_ranks(o))
    b->top5 = filtra_graph_output(
        g, mean(b, filtra_top_k_accuracy(g, b->logits, b->labels, 5), b->weights, b->scale));
  loss = mean(b, loss, b->weights, b->scale);
  if (auxiliary) {
    if (!b->sample_weights)
      b->sample_weights = filtra_graph_input(g, "sample weights", FILTRA_F32, 1, &b->size);
    if (b->part && !b->sample_scale)
      b->sample_scale = filtra_graph_input(g, "sample scale", FILTRA_F32, 1, (int64_t[]){1});
    auxiliary = mean(b, auxiliary, b->sample_weights, b->sample_scale);
  }
  b->loss = ft_total_loss(g, &model->options, loss, auxiliary);
}

/* ---- copying a batch into the graph ---- */

/* An array of a batch: `count` rows of `width` 32-bit words. */
typedef struct rows {
  const void *data; /* NULL: all zeros */
  int64_t count, width;
  int64_t first, end; /* the rows to copy */
  const int32_t
      /* Number of real tokens of each row, `columns` words each; NULL: the whole row is real. */
      *lengths;
  int64_t columns;
} rows;

static void put_rows(int32_t *to, const rows *from, int64_t width) {
  for (int64_t i = from->first; from->data && i < from->end; i++, to += width) {
    int64_t real = from->lengths ? from->lengths[i] * from->columns : from->width;
    memcpy(to, (const int32_t *)from->data + i * from->width,
           (size_t)(real < width ? real : width) * sizeof *to);
  }
}

/* Fills an input of rows of `width` words; pads short rows and missing rows with zeros. With
 * sequences = 2 there are two such arrays, one after the other: the first and second sequences of
 * pairs. */
static filtra_status set_input(ft_batch_graph *b, filtra_tensor *input, const rows *from,
                               int64_t sequences, int64_t width) {
  if (!input) return FILTRA_OK;
  memset(b->host, 0, (size_t)(sequences * b->size * width) * sizeof(int32_t));
  for (int64_t s = 0; s < sequences; s++) {
    rows part = *from;
    if (part.data) part.data = (const int32_t *)from->data + s * from->count * from->width;
    if (part.lengths) part.lengths += s * from->count;
    put_rows((int32_t *)b->host + s * b->size * width, &part, width);
  }
  return filtra_graph_set(b->graph, input, b->host);
}

/* Sets the type of each token: 0, and 1 from the row's second text on. */
static filtra_status set_types(ft_batch_graph *b, const filtra_batch *batch, int64_t first,
                               int64_t end) {
  if (!b->types) return FILTRA_OK;
  int32_t *to = b->host;
  memset(to, 0, (size_t)(b->size * b->length) * sizeof *to);
  for (int64_t i = first; i < end && batch->second && b->typed; i++, to += b->length)
    for (int64_t n = batch->second[i]; batch->second[i] && n < batch->lengths[i]; n++)
      to[n] = 1;
  return filtra_graph_set(b->graph, b->types, b->host);
}

/* Share of the labels of sample `i` that are known. */
static double known_share(const filtra_batch *batch, int64_t i, int64_t classes) {
  int64_t known = 0;
  for (int64_t k = 0; k < classes; k++)
    known += batch->targets[i * classes + k] >= 0.0f;
  return (double)known / (double)classes;
}

/* Sets targets and weights of labels for judge_labels, and the weights of samples. A sample weighs
 * the share of its labels that are known, each of these the inverse: the loss is a mean over known
 * labels. */
static filtra_status set_targets(ft_batch_graph *b, const filtra_batch *batch, int64_t first,
                                 int64_t end, bool labelled) {
  const int64_t classes = b->targets->shape[1], count = labelled ? end - first : 0;
  float *to = b->host;
  memset(to, 0, (size_t)(b->size * classes) * sizeof *to);
  for (int64_t i = 0; i < count * classes; i++)
    to[i] = batch->targets[first * classes + i] > 0.0f ? 1.0f : 0.0f;
  FT_TRY(filtra_graph_set(b->graph, b->targets, to));
  for (int64_t i = 0; i < count; i++) {
    const float *targets = batch->targets + (first + i) * classes;
    const float each = (float)(1.0 / known_share(batch, first + i, classes));
    for (int64_t k = 0; k < classes; k++)
      to[i * classes + k] = targets[k] < 0.0f ? 0.0f : targets[k] > 0.0f ? each * targets[k] : each;
  }
  FT_TRY(filtra_graph_set(b->graph, b->label_weights, to));
  memset(to, 0, (size_t)b->size * sizeof *to);
  for (int64_t i = 0; i < count; i++)
    to[i] = (float)((double)batch->weights[first + i] * known_share(batch, first + i, classes));
  return filtra_graph_set(b->graph, b->weights, to);
}

static bool predicted(const filtra_batch *batch, int64_t i, int64_t n) {
  return n < batch->lengths[i] && batch->labels[i * batch->length + n] >= 0;
}

/* Sets the weight of each token: its sample's, or 0 if the token has no successor to predict. */
static filtra_status set_token_weights(ft_batch_graph *b, const filtra_batch *batch, int64_t first,
                                       int64_t end, bool labelled) {
  float *to = b->host;
  if (!b->weights) return FILTRA_OK;
  memset(to, 0, (size_t)b->rows * sizeof *to);
  for (int64_t i = first; labelled && i < end; i++, to += b->length)
    for (int64_t n = 0; n < b->length && n < batch->lengths[i]; n++)
      if (predicted(batch, i, n)) to[n] = batch->weights[i];
  return filtra_graph_set(b->graph, b->weights, b->host);
}

static filtra_status set_arrays(ft_batch_graph *b, const filtra_batch *batch, int64_t first,
                                int64_t end, bool labelled) {
  int64_t sequences = b->lengths->shape[0] / b->size, size = batch->size, length = batch->length;
  int64_t columns = b->features ? b->features->shape[2] : 0;
  bool tokens = b->rows != b->size;
  const rows none = {0};
  const rows all = {.count = size, .width = 1, .first = first, .end = end};
  rows labels = all, weights = all, values = all, ids = all, features = all, lengths = all;
  rows others = all, shares = all;
  labels.data = batch->labels;
  labels.width = tokens ? length : 1;
  weights.data = batch->weights;
  others.data = batch->other_labels;
  shares.data = batch->label_fractions;
  values.data = batch->values;
  lengths.data = batch->lengths;
  ids.data = batch->tokens;
  ids.width = length;
  features.data = batch->features;
  features.width = length * columns;
  ids.lengths = features.lengths = batch->lengths;
  ids.columns = 1;
  features.columns = columns;
  FT_TRY(set_input(b, b->tokens, &ids, sequences, b->length));
  FT_TRY(set_types(b, batch, first, end));
  if (b->edges.degrees)
    FT_TRY(ft_edges_set(b->graph, b->config, &b->edges, batch, first, end, b->host));
  FT_TRY(set_input(b, b->features, &features, 1, b->length * columns));
  FT_TRY(set_input(b, b->lengths, &lengths, sequences, 1));
  if (b->targets) FT_TRY(set_targets(b, batch, first, end, labelled));
  FT_TRY(set_input(b, b->labels, labelled && !b->targets ? &labels : &none, 1,
                   tokens ? b->length : 1));
  FT_TRY(set_input(b, b->other_labels, &others, 1, 1));
  FT_TRY(set_input(b, b->label_fractions, &shares, 1, 1));
  FT_TRY(set_input(b, b->values, labelled ? &values : &none, 1, 1));
  if (b->targets) return FILTRA_OK; /* has set the weights */
  if (tokens) FT_TRY(set_token_weights(b, batch, first, end, labelled));
  return set_input(b, b->sample_weights, labelled ? &weights : &none, 1, 1);
}

filtra_status ft_batch_graph_set(ft_batch_graph *b, const filtra_batch *batch, bool labelled) {
  return set_arrays(b, batch, 0, batch->size, labelled);
}

static filtra_status set_scale(ft_batch_graph *b, filtra_tensor *input, double weight) {
  float scale = weight != 0.0 ? (float)(1.0 / weight) : 0.0f;
  return input ? filtra_graph_set(b->graph, input, &scale) : FILTRA_OK;
}

filtra_status ft_batch_graph_set_part(ft_batch_graph *b, const filtra_batch *batch, int64_t first,
                                      int64_t count, double weight) {
  double samples = 0.0;
  for (int64_t i = 0; i < batch->size; i++)
    samples += (double)batch->weights[i];
  ft_graph_set_part(b->graph, first, b->size, batch->size);
  FT_TRY(set_arrays(b, batch, first, first + count, true));
  if (b->sample_scale != b->scale) FT_TRY(set_scale(b, b->sample_scale, samples));
  return set_scale(b, b->scale, weight);
}

double ft_batch_weight(const filtra_model *model, const filtra_batch *batch) {
  const filtra_model_config *o = &model->options.config;
  double sum = 0.0;
  for (int64_t i = 0; i < batch->size; i++) {
    double count = 1.0;
    if (o->task == FILTRA_TASK_MULTI_LABEL) count = known_share(batch, i, o->classes);
    if (o->task == FILTRA_TASK_LANGUAGE_MODEL) {
      count = 0.0;
      for (int64_t n = 0; n < batch->lengths[i]; n++)
        count += predicted(batch, i, n);
    }
    sum += (double)batch->weights[i] * count;
  }
  return sum;
}

void ft_batch_graph_close(ft_batch_graph *b) {
  filtra_graph_destroy(&b->graph);
  free(b->host);
  b->host = NULL;
}
