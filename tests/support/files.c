#include "support/files.h"
#include "support/harness.h"

#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"

#include <zlib.h>

const char *test_write_bytes(const char *folder, const char *name, const void *data, size_t size) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  char *last = strrchr(path, '/');
  *last = '\0';
  if (!ft_is_directory(path)) assert_ok(ft_make_directories(path));
  *last = '/';
  FILE *stream = fopen(path, "wb"); /* not atomically: syncing each file takes long */
  assert_non_null(stream);
  assert_int_equal(fwrite(data, 1, size, stream), size);
  assert_int_equal(fclose(stream), 0);
  return path;
}

const char *test_write_text(const char *folder, const char *name, const char *text) {
  return test_write_bytes(folder, name, text, strlen(text));
}

const char *test_write_gzip(const char *folder, const char *name, const void *data, size_t size,
                            int times) {
  static char path[1024];
  snprintf(path, sizeof path, "%s", test_write_bytes(folder, name, "", 0));
  gzFile stream = gzopen(path, "wb");
  for (int i = 0; i < times; i++)
    assert_int_equal(gzwrite(stream, data, (unsigned)size), size);
  assert_int_equal(gzclose(stream), Z_OK);
  return path;
}

const char *test_shared_data(const char *name) {
  static char path[1024];
  snprintf(path, sizeof path, TEST_SOURCE_DIR "/../../shared/data/%s", name);
  if (ft_file_exists(path)) return path;
  print_message("SKIPPED: %s is not there\n", path);
  skip();
  return NULL;
}

/* ---- opening ---- */

filtra_dataset *test_open_dataset(const char *path, const char *format,
                                  const filtra_dataset_options *options) {
  filtra_dataset *ds = NULL;
  assert_ok(filtra_dataset_open(path, options, &ds));
  if (format) assert_string_equal(filtra_dataset_get_info(ds)->format, format);
  return ds;
}

static void look_at(const filtra_dataset *ds, filtra_split split, uint64_t index, float *x) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  const filtra_sample s = test_sample(ds, split, index);
  const int least = info->height ? 0 : 1; /* pixels have no padding, so 0 is valid */
  assert_between(s.length, 1, info->longest);
  const bool all = info->unlabelled[split] == 0;
  if (info->target == FILTRA_TARGET_CLASS && (all || s.label != -1))
    assert_between(s.label, 0, info->classes - 1);
  if (info->target == FILTRA_TARGET_VALUE) assert_true(isfinite(s.value) || !all);
  for (uint32_t k = 0; info->tokenizer && k < s.length; k++)
    assert_between(s.tokens[k], least, filtra_tokenizer_size(info->tokenizer) - 1);
  if (info->input != FILTRA_INPUT_FEATURES) return;
  assert_ok(filtra_dataset_sample_features(ds, split, index, x));
  for (size_t k = 0; k < (size_t)s.length * info->features; k++)
    assert_true(isfinite(x[k]));
}

filtra_status test_try_dataset(const char *path, const filtra_dataset_options *options) {
  filtra_dataset *ds = (filtra_dataset *)1;
  filtra_status status = filtra_dataset_open(path, options, &ds);
  if (status) {
    assert_null(ds);
    return status;
  }
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  float *x = ft_calloc((size_t)info->longest * (info->features + 1), sizeof *x);
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++)
    for (uint64_t i = 0; i < info->count[split]; i++)
      look_at(ds, split, i, x);
  free(x);
  filtra_dataset_close(&ds);
  assert_null(ds);
  return FILTRA_OK;
}

typedef struct warnings {
  const char *kind;
  int count;
  char last[1024];
} warnings;

static void keep_warning(void *user, filtra_log_level level, const char *message) {
  warnings *w = user;
  if (level != FILTRA_LOG_WARNING || !strstr(message, w->kind)) return;
  snprintf(w->last, sizeof w->last, "%s", message);
  w->count++;
}

void test_open_warns(const char *path, const filtra_dataset_options *options, const char *kind,
                     const char *part) {
  warnings w = {.kind = kind};
  filtra_dataset *ds;
  filtra_log_set(keep_warning, &w);
  assert_ok(filtra_dataset_open(path, options, &ds));
  filtra_log_set(NULL, NULL);
  filtra_dataset_close(&ds);
  assert_int_equal(w.count, part != NULL);
  if (part && !strstr(w.last, part)) fail_msg("\"%s\" is said, not \"%s\"", w.last, part);
}

void test_dataset_refused(const char *path, const filtra_dataset_options *options, const char *part,
                          const char *file, int line) {
  filtra_status status = test_try_dataset(path, options);
  if (part)
    test_assert_fails(status, FILTRA_ERROR_INPUT, part, file, line);
  else
    test_assert_ok(status, path, file, line);
}

void test_dataset_memory(const char *path, const filtra_dataset_options *options) {
  enum { MORE_THAN_PROBING = 60, TOO_MANY = 2000 };
  for (long n = 1;; n++) {
    filtra_dataset *ds;
    ft_memory_fail_after(n);
    filtra_status status = filtra_dataset_open(path, options, &ds);
    ft_memory_fail_after(0);
    filtra_dataset_close(&ds);
    /* A probe that fails only shows that the format is not its own. */
    if (!status && n > MORE_THAN_PROBING) break;
    assert_true(status == FILTRA_OK || status == FILTRA_ERROR_HOST_MEMORY);
    assert_true(n < TOO_MANY);
  }
}

/* Whether the file opens; otherwise it must be refused. */
static bool is_fine(const char *path, const char *name, const filtra_dataset_options *options) {
  filtra_status status = test_try_dataset(path, options);
  if (status) assert_fails(status, FILTRA_ERROR_INPUT, name);
  return !status;
}

size_t test_dataset_cuts(const char *name, const char *text, size_t size,
                         const filtra_dataset_options *options) {
  const char *folder = test_folder();
  size_t fine = 0;
  for (size_t i = 0; i <= size; i++)
    fine += is_fine(test_write_bytes(folder, name, text, i), name, options);
  return fine;
}

void test_dataset_damage(const char *name, const char *text, const char *bytes, size_t count) {
  const char *folder = test_folder();
  const size_t size = strlen(text);
  char *damaged = ft_calloc(size, 1);
  for (size_t i = 0; i < size; i++)
    for (size_t b = 0; b < count; b++) {
      memcpy(damaged, text, size);
      damaged[i] = bytes[b];
      is_fine(test_write_bytes(folder, name, damaged, size), "", NULL);
    }
  free(damaged);
}

/* ---- what was read ---- */

filtra_sample test_sample(const filtra_dataset *ds, filtra_split split, uint64_t index) {
  filtra_sample s;
  assert_ok(filtra_dataset_sample(ds, split, index, &s));
  return s;
}

void test_dataset_counts(const filtra_dataset *ds, uint64_t train, uint64_t val, uint64_t test,
                         const char *file, int line) {
  const uint64_t want[] = {train, val, test}, *got = filtra_dataset_get_info(ds)->count;
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    _assert_int_equal(got[i], want[i], file, line);
}

const char *test_row_text(const filtra_dataset *ds, filtra_split split, size_t row) {
  static char text[512];
  const ft_samples *samples = &ds->samples[split];
  const ft_sample_row *r = &samples->rows[row];
  int32_t tokens[sizeof text];
  size_t length;
  assert_true(row < samples->count && r->length < sizeof text);
  for (uint32_t i = 0; i < r->length; i++)
    tokens[i] = samples->tokens.ids[r->first + i];
  assert_ok(
      filtra_tokenizer_decode(ds->info.tokenizer, tokens, r->length, text, sizeof text, &length));
  return text;
}

void test_row_is(const filtra_dataset *ds, filtra_split split, size_t row, int label,
                 const char *text, const char *file, int line) {
  _assert_string_equal(test_row_text(ds, split, row), text, file, line);
  _assert_int_equal((uint64_t)(int64_t)ds->samples[split].rows[row].label, (uint64_t)(int64_t)label,
                    file, line);
}

/* ---- pages ---- */

void test_written_page(const char *name, void (*write_rows)(FILE *to)) {
  char path[1024], mark[64];
  owned char *page = NULL, *should = NULL;
  size_t size;
  snprintf(path, sizeof path, "%s/../docs/%s.md", TEST_SOURCE_DIR, name);
  snprintf(mark, sizeof mark, "<!-- %s -->\n", name);
  assert_ok(ft_file_read(path, 1 << 20, &page, &size));
  const char *end = strstr(page, mark);
  assert_non_null(end);
  FILE *to = open_memstream(&should, &size);
  assert_non_null(to);
  fwrite(page, 1, (size_t)(end - page) + strlen(mark), to);
  write_rows(to);
  assert_int_equal(fclose(to), 0);
  if (getenv("FILTRA_WRITE_DOCS"))
    assert_ok(ft_file_write(path, should, strlen(should)));
  else if (strcmp(page, should) != 0)
    fail_msg("docs/%s.md is not what happens; the build target docs-%s writes it:\n%s", name, name,
             should);
}
