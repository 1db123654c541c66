/* Golden files of tests/golden/pretrained: models of Hugging Face's `transformers`, and their
 * results for a batch. */
#ifndef TEST_SUPPORT_PRETRAINED_H
#define TEST_SUPPORT_PRETRAINED_H

#include "base/safetensors.h"

#include <filtra/filtra.h>

/** tests/golden/pretrained/NAME, or a file in it (`part` NULL: the folder); valid until the next
 * call. */
const char *test_pretrained_folder(const char *name, const char *part);

/** A new folder with the model's files of such a folder. */
const char *test_copy_pretrained(const char *name);
/** Replaces text in a file of a folder, which must have it. */
void test_change_text(const char *folder, const char *name, const char *from, const char *to);

/** A batch with the logits and the loss that the reference computed. */
typedef struct test_golden_batch {
  ft_safetensors *file;
  filtra_batch batch;
  const float *logits, *loss;
  int32_t next[256];
  float weights[8];
} test_golden_batch;

/** The caller closes the file. */
void test_open_golden(const char *name, test_golden_batch *g);
/** Reads a batch, its logits and its loss from a file; the caller closes it. */
void test_golden_read(const char *path, test_golden_batch *g);
/** A tensor of the batch's file; NULL: there is none of that name. */
const void *test_golden_data(const test_golden_batch *g, const char *name);
/** Number of values in the batch's logits. */
size_t test_logits_count(filtra_model *model, const test_golden_batch *g);
/** The largest difference between the model's logits and the batch's, relative to the largest
 * logit. */
double test_golden_difference(filtra_model *model, const test_golden_batch *g);

#endif
