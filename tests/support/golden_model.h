/* Golden models of tests/golden/FOLDER: NAME.safetensors, a model file, and
 * NAME.golden.safetensors, a batch and the reference model's results for it. */
#ifndef TEST_SUPPORT_GOLDEN_MODEL_H
#define TEST_SUPPORT_GOLDEN_MODEL_H

#include "support/pretrained.h"

/** The path tests/golden/FOLDER/NAME with that ending; valid until the next call. */
const char *test_golden_path(const char *folder, const char *name, const char *end);
filtra_model *test_golden_model(const char *folder, const char *name);
/** The caller closes the file. */
void test_golden_open(const char *folder, const char *name, test_golden_batch *g);
/** Fails the test unless logits and loss equal the reference's within 2e-5. */
void test_golden_logits(const char *folder, const char *name);
/** Fails the test unless each parameter's gradient equals the reference's within 2e-4. */
void test_golden_gradients(const char *folder, const char *name);

#endif
