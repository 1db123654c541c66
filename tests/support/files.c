#include "support/files.h"
#include "support/harness.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

const char *test_write_bytes(const char *folder, const char *name, const void *data, size_t size) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  char *last = strrchr(path, '/');
  *last = '\0';
  if (!ft_is_directory(path)) assert_ok(ft_make_directories(path));
  *last = '/';
  FILE *stream = fopen(path, "wb"); /* not atomically: a flush to disk each would take long */
  assert_non_null(stream);
  assert_int_equal(fwrite(data, 1, size, stream), size);
  assert_int_equal(fclose(stream), 0);
  return path;
}

const char *test_write_text(const char *folder, const char *name, const char *text) {
  return test_write_bytes(folder, name, text, strlen(text));
}

filtra_dataset *test_open_dataset(const char *path, const char *format,
                                  const filtra_dataset_options *options) {
  filtra_dataset *ds;
  assert_ok(filtra_dataset_open(path, options, &ds));
  assert_string_equal(filtra_dataset_get_info(ds)->format, format);
  return ds;
}

void test_refuse_dataset(const char *path, const filtra_dataset_options *options,
                         const char *part) {
  filtra_dataset *ds = (filtra_dataset *)1;
  assert_fails(filtra_dataset_open(path, options, &ds), FILTRA_ERROR_INPUT, part);
  assert_null(ds);
}

void test_dataset_memory(const char *path, const filtra_dataset_options *options) {
  enum { MORE_THAN_PROBING = 60, TOO_MANY = 2000 };
  for (long n = 1;; n++) {
    filtra_dataset *ds;
    ft_memory_fail_after(n);
    filtra_status status = filtra_dataset_open(path, options, &ds);
    ft_memory_fail_after(0);
    filtra_dataset_close(&ds);
    /* A probe that fails says no more than that a format is not its own. */
    if (!status && n > MORE_THAN_PROBING) break;
    assert_true(status == FILTRA_OK || status == FILTRA_ERROR_HOST_MEMORY);
    assert_true(n < TOO_MANY);
  }
}
