/* The reader of `filtra compare` against files that are cut or wrong anywhere. */
#include "common/fields.c"
#include "compare/read.c" /* the command is no library */

#include "support/harness.h"
#include "support/run.h"

#include "bench_file.h"

static filtra_status read_text_file(const char *path, const char *text, size_t size) {
  compare_machine m;
  test_write(path, text, size);
  filtra_status status = compare_read(path, &m);
  compare_free_machine(&m);
  return status;
}

TEST(test_cut) {
  const char *path = test_path(test_folder(), "cut.json");
  for (size_t size = 0; size < sizeof FILE_A - 1; size++) {
    assert_int_equal(read_text_file(path, FILE_A, size), FILTRA_ERROR_INPUT);
    assert_non_null(strstr(filtra_error_message(), "cut.json:"));
  }
  assert_ok(read_text_file(path, FILE_A, sizeof FILE_A - 1));
}

/* Replaces one value after the other, however deep, by others of every type. */
static size_t replace_each(json_t *root, json_t *inner, const char *path, const json_t *other) {
  size_t tried = 0,
         length = json_is_object(inner) ? json_object_size(inner) : json_array_size(inner);
  for (size_t i = 0; i < length; i++) {
    void *at = json_object_iter(inner);
    for (size_t k = 0; k < i && json_is_object(inner); k++)
      at = json_object_iter_next(inner, at);
    json_t *old =
        json_incref(json_is_object(inner) ? json_object_iter_value(at) : json_array_get(inner, i));
    tried += replace_each(root, old, path, other);
    for (int turn = 0; turn < 2; turn++) {
      json_t *value = turn ? old : json_deep_copy(other);
      if (json_is_object(inner))
        json_object_iter_set_new(inner, at, value);
      else
        json_array_set_new(inner, i, value);
      if (turn) break;
      owned char *text = json_dumps(root, 0);
      filtra_status status = read_text_file(path, text, strlen(text));
      assert_true(status == FILTRA_OK || status == FILTRA_ERROR_INPUT);
      tried++;
    }
  }
  return tried;
}

TEST(test_types) {
  static const char *const OTHERS[] = {"null", "true", "-1", "[]", "{}", "\"\"", "[[0]]", "1e308"};
  const char *path = test_path(test_folder(), "types.json");
  json_auto_t *root = json_loads(FILE_A, 0, NULL);
  for (size_t i = 0; i < FT_COUNT(OTHERS); i++) {
    json_auto_t *other = json_loads(OTHERS[i], JSON_DECODE_ANY, NULL);
    assert_true(replace_each(root, root, path, other) > 100);
  }
}

/* Each allocation fails in turn. */
TEST(test_out_of_memory) {
  const char *path = test_path(test_folder(), "f.json");
  test_write(path, FILE_A, sizeof FILE_A - 1);
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  for (long n = 1; status; n++) {
    compare_machine m;
    ft_memory_fail_after(n);
    status = compare_read(path, &m);
    ft_memory_fail_after(0);
    compare_free_machine(&m);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
    assert_true(n < 100);
  }
}

TEST_MAIN(NULL, test_teardown)
