/* What tests of whole runs share: a small data set, and run folders compared byte for byte. */
#ifndef TEST_SUPPORT_RUN_H
#define TEST_SUPPORT_RUN_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** printf; valid for the next 15 calls of this and test_path. */
const char *test_text(const char *format, ...) FT_PRINTF(1, 2);
/** "FOLDER/NAME"; valid as test_text's. */
const char *test_path(const char *folder, const char *name);
/** A path for a run folder that does not exist yet; valid to the end. */
const char *test_new_run(void);
/** A whole file, NUL-terminated; the caller frees. Fails the test when it cannot be read. `size`
 * may be NULL. */
char *test_read(const char *path, size_t *size);
void test_write(const char *path, const void *data, size_t size);
/** MNIST's files for training in a folder: `count` grey squares, of the classes in turn. */
void test_write_images(const char *folder, int side, int count, int classes);
/** Exchanges the first `from` in a file for `to`, of the same length; fails when there is none.
 * Takes the checksum out of a safetensors file. */
void test_patch(const char *path, const char *from, const char *to);

/** A folder with ListOps data of 6 to 28 tokens, 10 classes: 48 trees for training, 16 for
 * validation, 16 for testing. Made once. */
const char *test_listops(void);

/** Trains to a step, or to the run's end before it; NULL as configuration resumes. */
filtra_status test_train(const char *config, const char *folder, uint64_t stop);

/** A number that changes with any file below a folder, its name or content; 0: no such folder. */
uint64_t test_snapshot(const char *folder);
/** Fails when an atomic write left something in a run folder. */
void test_no_leftovers(const char *folder);
/** Fails unless two runs have the same model, checkpoint and configuration, byte for byte, and the
 * same metrics but for times, with no step missing or double. */
void test_same_run(const char *a, const char *b);

/** Fails unless two runs have the same metrics, except for times. */
void test_same_metrics(const char *a, const char *b);
/** Fails unless loss and accuracy in the last line of progress in `printed` are the means over the
 * last 20 steps of the run's metrics, where every step has a line. */
void test_progress_is_true(const char *printed, const char *folder);

#endif
