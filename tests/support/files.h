/* Helpers for tests of data sets: writing files, opening them, and checking what was read. */
#ifndef TEST_SUPPORT_FILES_H
#define TEST_SUPPORT_FILES_H

#include <filtra/data.h>
#include <stdio.h>

/** Writes FOLDER/NAME and makes its folders; returns the path, valid until the next call. */
const char *test_write_bytes(const char *folder, const char *name, const void *data, size_t size);
const char *test_write_text(const char *folder, const char *name, const char *text);
/** As test_write_bytes, compressed by gzip: the bytes repeated `times` times. */
const char *test_write_gzip(const char *folder, const char *name, const void *data, size_t size,
                            int times);
/** The path of shared/data/NAME, valid until the next call; skips the test if the file does not
 * exist. */
const char *test_shared_data(const char *name);

/** Opens a data set, which must be read as `format` unless that is NULL. */
filtra_dataset *test_open_dataset(const char *path, const char *format,
                                  const filtra_dataset_options *options);
/** Opens and closes a data set, and reads every sample in between. */
filtra_status test_try_dataset(const char *path, const filtra_dataset_options *options);
/** Opens a data set. Exactly one of its warnings must contain `kind`, and `part`; none may contain
 * `kind` if `part` is NULL. */
void test_open_warns(const char *path, const filtra_dataset_options *options, const char *kind,
                     const char *part);
/** Opening must fail with INPUT and a message that contains `part`, and open nothing; without
 * `part` every sample must be valid. */
#define test_refuse_dataset(path, options, part)                                                   \
  test_dataset_refused(path, options, part, __FILE__, __LINE__)
void test_dataset_refused(const char *path, const filtra_dataset_options *options, const char *part,
                          const char *file, int line);
/** Opens the data set once with each allocation failing in turn: each time it must fail with
 * HOST_MEMORY or succeed. */
void test_dataset_memory(const char *path, const filtra_dataset_options *options);
/** Opens a file truncated at every byte: each time it must fail with INPUT and the file's name in
 * the message, or succeed; returns how often it succeeded. */
size_t test_dataset_cuts(const char *name, const char *text, size_t size,
                         const filtra_dataset_options *options);
/** Opens a file with each byte in turn replaced by each of `bytes`: it must fail with INPUT or
 * succeed. */
void test_dataset_damage(const char *name, const char *text, const char *bytes, size_t count);

/** Compares the page docs/NAME.md, after the line `<!-- NAME -->`, with the output of `write_rows`.
 * With the environment variable FILTRA_WRITE_DOCS, which the build target docs-NAME sets, writes
 * the page. */
void test_written_page(const char *name, void (*write_rows)(FILE *to));

filtra_sample test_sample(const filtra_dataset *ds, filtra_split split, uint64_t index);
/** Checks the number of samples in each split. */
#define test_counts(ds, train, val, test)                                                          \
  test_dataset_counts(ds, train, val, test, __FILE__, __LINE__)
void test_dataset_counts(const filtra_dataset *ds, uint64_t train, uint64_t val, uint64_t test,
                         const char *file, int line);
/** A row's tokens as text, by its index in the file whether held out or not; valid until the next
 * call. */
const char *test_row_text(const filtra_dataset *ds, filtra_split split, size_t row);
/** Checks a row's label and its tokens as text. */
#define test_text_row(ds, split, row, label, text)                                                 \
  test_row_is(ds, split, row, label, text, __FILE__, __LINE__)
void test_row_is(const filtra_dataset *ds, filtra_split split, size_t row, int label,
                 const char *text, const char *file, int line);

#endif
