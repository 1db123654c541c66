/* Golden files of tests/golden/pretrained: models of Hugging Face's `transformers`, and what they
 * make of a batch. */
#ifndef TEST_SUPPORT_PRETRAINED_H
#define TEST_SUPPORT_PRETRAINED_H

#include "base/safetensors.h"

#include <filtra/filtra.h>

/** tests/golden/pretrained/NAME, or a part of it (NULL: none); valid until the next call. */
const char *test_pretrained_folder(const char *name, const char *part);

/** A batch, and the logits and the loss of the folder's model. */
typedef struct test_golden_batch {
  ft_safetensors *file;
  filtra_batch batch;
  const float *logits, *loss;
  int32_t next[256];
  float weights[8];
} test_golden_batch;

/** The caller closes the file. */
void test_open_golden(const char *name, test_golden_batch *g);
/** A batch, its logits and its loss from a file; the caller closes it. */
void test_golden_read(const char *path, test_golden_batch *g);
/** A tensor of its file; NULL: it has none of that name. */
const void *test_golden_data(const test_golden_batch *g, const char *name);
/** Numbers of the batch's logits. */
size_t test_logits_count(filtra_model *model, const test_golden_batch *g);
/** The largest difference of the model's logits from the batch's, relative to the largest. */
double test_golden_difference(filtra_model *model, const test_golden_batch *g);

#endif
