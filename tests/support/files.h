/* What tests of data sets share: writing their files, and opening them. */
#ifndef TEST_SUPPORT_FILES_H
#define TEST_SUPPORT_FILES_H

#include <filtra/data.h>

/** Writes FOLDER/NAME, whose folders are made, and gives its path until the next call. */
const char *test_write_bytes(const char *folder, const char *name, const void *data, size_t size);
const char *test_write_text(const char *folder, const char *name, const char *text);

/** Opens a data set that must be read as `format`. */
filtra_dataset *test_open_dataset(const char *path, const char *format,
                                  const filtra_dataset_options *options);
/** Opening must fail with INPUT, a message that contains `part`, and nothing opened. */
void test_refuse_dataset(const char *path, const filtra_dataset_options *options, const char *part);
/** Opens it once with each allocation failing in turn: each time HOST_MEMORY, or all is well. */
void test_dataset_memory(const char *path, const filtra_dataset_options *options);

#endif
