/* What tests of data sets share: writing their files, opening them, and looking at what is read. */
#ifndef TEST_SUPPORT_FILES_H
#define TEST_SUPPORT_FILES_H

#include <filtra/data.h>
#include <stdio.h>

/** Writes FOLDER/NAME, whose folders are made, and gives its path until the next call. */
const char *test_write_bytes(const char *folder, const char *name, const void *data, size_t size);
const char *test_write_text(const char *folder, const char *name, const char *text);
/** The same, packed by gzip: the bytes so many times over. */
const char *test_write_gzip(const char *folder, const char *name, const void *data, size_t size,
                            int times);
/** The path of shared/data/NAME, until the next call; skips the test where it is not there. */
const char *test_shared_data(const char *name);

/** Opens a data set, which must be read as `format` unless that is NULL. */
filtra_dataset *test_open_dataset(const char *path, const char *format,
                                  const filtra_dataset_options *options);
/** Opens and closes, after looking at every sample. */
filtra_status test_try_dataset(const char *path, const filtra_dataset_options *options);
/** Opening must fail with INPUT, a message that contains `part`, and nothing opened; with no `part`
 * every sample must be right. */
#define test_refuse_dataset(path, options, part)                                                   \
  test_dataset_refused(path, options, part, __FILE__, __LINE__)
void test_dataset_refused(const char *path, const filtra_dataset_options *options, const char *part,
                          const char *file, int line);
/** Opens it once with each allocation failing in turn: each time HOST_MEMORY, or all is well. */
void test_dataset_memory(const char *path, const filtra_dataset_options *options);
/** Opens a file cut at every byte: INPUT with the file's name in the message, or all is well, which
 * is as often as this gives. */
size_t test_dataset_cuts(const char *name, const char *text, size_t size,
                         const filtra_dataset_options *options);
/** Opens a file with each byte in turn replaced by each of `bytes`: INPUT, or all is well. */
void test_dataset_damage(const char *name, const char *text, const char *bytes, size_t count);

/** Compares the page docs/NAME.md, after the line `<!-- NAME -->`, with what `write_rows` writes.
 * With the environment variable FILTRA_WRITE_DOCS, as the build target docs-NAME sets it, writes
 * the page. */
void test_written_page(const char *name, void (*write_rows)(FILE *to));

filtra_sample test_sample(const filtra_dataset *ds, filtra_split split, uint64_t index);
/** How many samples each split must have. */
#define test_counts(ds, train, val, test)                                                          \
  test_dataset_counts(ds, train, val, test, __FILE__, __LINE__)
void test_dataset_counts(const filtra_dataset *ds, uint64_t train, uint64_t val, uint64_t test,
                         const char *file, int line);
/** A row's tokens as text, in the file's order whether held out or not; until the next call. */
const char *test_row_text(const filtra_dataset *ds, filtra_split split, size_t row);
/** Its label and its tokens as text. */
#define test_text_row(ds, split, row, label, text)                                                 \
  test_row_is(ds, split, row, label, text, __FILE__, __LINE__)
void test_row_is(const filtra_dataset *ds, filtra_split split, size_t row, int label,
                 const char *text, const char *file, int line);

#endif
