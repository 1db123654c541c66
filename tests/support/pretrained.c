/* Golden files of tests/golden/pretrained: a model's folder, a batch, and the model's results for
 * it. Called by the tests of imported and exported models. */
#include "support/pretrained.h"

#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

const char *test_pretrained_folder(const char *name, const char *part) {
  static char path[600];
  snprintf(path, sizeof path, "%s/golden/pretrained/%s%s%s", TEST_SOURCE_DIR, name, part ? "/" : "",
           part ? part : "");
  return path;
}

const char *test_copy_pretrained(const char *name) {
  static const char *const FILES[] = {"config.json", "model.safetensors"};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(FILES); i++) {
    size_t size;
    owned char *bytes = test_read(test_pretrained_folder(name, FILES[i]), &size);
    test_write(test_path(folder, FILES[i]), bytes, size);
  }
  return folder;
}

void test_change_text(const char *folder, const char *name, const char *from, const char *to) {
  const char *path = test_path(folder, name);
  size_t size;
  owned char *text = test_read(path, &size);
  const char *at = strstr(text, from);
  if (!at) fail_msg("%s: no %s", path, from);
  const char *changed = test_text("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  test_write(path, changed, strlen(changed));
}

const void *test_golden_data(const test_golden_batch *g, const char *name) {
  const ft_safetensor *t = ft_safetensors_find(g->file, name);
  return t ? t->data : NULL;
}

/* A language model's labels are the next tokens. */
static void set_next(test_golden_batch *g) {
  const filtra_batch *b = &g->batch;
  assert_true((size_t)(b->size * b->length) <= FT_COUNT(g->next));
  for (uint32_t i = 0; i < b->size * b->length; i++) {
    const uint32_t row = i / b->length, n = i % b->length;
    g->next[i] = (int32_t)n + 1 < b->lengths[row] ? b->tokens[i + 1] : -1;
  }
}

void test_golden_read(const char *path, test_golden_batch *g) {
  *g = (test_golden_batch){0};
  assert_ok(ft_safetensors_open(path, &g->file));
  const ft_safetensor *tokens = ft_safetensors_find(g->file, "tokens"),
                      *features = ft_safetensors_find(g->file, "features");
  const ft_safetensor *input = tokens ? tokens : features;
  assert_non_null(input);
  for (size_t i = 0; i < FT_COUNT(g->weights); i++)
    g->weights[i] = 1;
  g->batch = (filtra_batch){.size = (uint32_t)input->shape[0],
                            .length = (uint32_t)input->shape[1],
                            .count = (uint32_t)input->shape[0],
                            .tokens = tokens ? tokens->data : NULL,
                            .features = features ? features->data : NULL,
                            .lengths = test_golden_data(g, "lengths"),
                            .second = test_golden_data(g, "second"),
                            .edge_counts = test_golden_data(g, "edge_counts"),
                            .edges = test_golden_data(g, "edges"),
                            .labels = test_golden_data(g, "labels"),
                            .values = test_golden_data(g, "values"),
                            .weights = g->weights};
  g->logits = test_golden_data(g, "logits");
  g->loss = test_golden_data(g, "loss");
}

void test_open_golden(const char *name, test_golden_batch *g) {
  test_golden_read(test_pretrained_folder(name, "golden.safetensors"), g);
  if (g->batch.labels || g->batch.values) return;
  set_next(g);
  g->batch.labels = g->next;
}

/* The largest difference, relative to the largest value. Skips a language model's rows at padding,
 * where Filtra gives zeros and `transformers` anything. */
static double difference(const filtra_batch *b, const float *x, const float *y, size_t count,
                         bool tokens) {
  double most = 0, largest = 0;
  const size_t columns = tokens ? count / ((size_t)b->size * b->length) : count;
  for (size_t i = 0; i < count; i++) {
    const size_t row = i / columns;
    if (tokens && (int32_t)(row % b->length) >= b->lengths[row / b->length]) continue;
    most = fmax(most, fabs((double)x[i] - (double)y[i]));
    largest = fmax(largest, fabs((double)y[i]));
  }
  return most / largest;
}

static bool has_tokens(filtra_model *model) {
  return filtra_model_task(model) == FILTRA_TASK_LANGUAGE_MODEL;
}

size_t test_logits_count(filtra_model *model, const test_golden_batch *g) {
  return (size_t)g->batch.size * (has_tokens(model) ? g->batch.length : 1) *
         (size_t)filtra_model_outputs(model);
}

double test_golden_difference(filtra_model *model, const test_golden_batch *g) {
  const size_t count = test_logits_count(model, g);
  owned float *logits = calloc(count, sizeof *logits);
  assert_non_null(logits);
  assert_ok(filtra_model_predict_batch(model, &g->batch, logits));
  return difference(&g->batch, logits, g->logits, count, has_tokens(model));
}
