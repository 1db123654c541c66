/* Helpers for tests of whole runs: a small data set, and byte-for-byte comparison of run
 * folders. */
#ifndef TEST_SUPPORT_RUN_H
#define TEST_SUPPORT_RUN_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** As printf; the text stays valid during the next 15 calls of this function and test_path. */
const char *test_text(const char *format, ...) FT_PRINTF(1, 2);
/** "FOLDER/NAME"; valid as test_text's result. */
const char *test_path(const char *folder, const char *name);
/** A path for a run folder that does not exist yet; valid to the end of the program. */
const char *test_new_run(void);
/** Reads a whole file, NUL-terminated; the caller frees. Fails the test if it cannot be read.
 * `size` may be NULL. */
char *test_read(const char *path, size_t *size);
void test_write(const char *path, const void *data, size_t size);
/** Writes MNIST's training files to a folder: `count` grey squares, with classes in turn. */
void test_write_images(const char *folder, int side, int count, int classes);
/** Replaces the first `from` in a file by `to` of the same length; fails if there is none. Removes
 * the checksum of a safetensors file. */
void test_patch(const char *path, const char *from, const char *to);

/** A folder with ListOps data of 6 to 28 tokens in 10 classes: 48 trees for training, 16 for
 * validation, 16 for testing. Made once. */
const char *test_listops(void);

/** Trains up to a step or to the run's end, whichever is first; `config` NULL resumes. */
filtra_status test_train(const char *config, const char *folder, uint64_t stop);

/** A hash of names and content of all files below a folder; 0: no such folder. */
uint64_t test_snapshot(const char *folder);
/** Fails if an atomic write left temporary files in a run folder. */
void test_no_leftovers(const char *folder);
/** Fails unless two runs have the same model, checkpoint and configuration, byte for byte, and the
 * same metrics except for times, with no step missing or repeated. */
void test_same_run(const char *a, const char *b);

/** Fails unless two runs have the same metrics, except for times. */
void test_same_metrics(const char *a, const char *b);
/** Fails unless loss and accuracy in the last progress line of `printed` are the means over the
 * last 20 steps of the run's metrics, which must have a line for every step. */
void test_progress_is_true(const char *printed, const char *folder);

#endif
