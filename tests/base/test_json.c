/* Reading and writing JSON, with and without memory, and the messages about mistakes. */
#include "support/files.h"
#include "support/harness.h"
#include "support/starving.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#include <limits.h>

/* Every allocation in turn, until none is left that fails. */
static void check_starved(const char *text) {
  json_t *whole = json_loads(text, 0, NULL), *got;
  assert_non_null(whole);
  for (int kind = 0; kind < 2; kind++) {
    long n = 1;
    for (;; n++) {
      test_starve(n, kind);
      filtra_status status = ft_json_parse(text, strlen(text), "c.json", &got);
      if (!test_feed()) break;
      assert_fails(status, FILTRA_ERROR_HOST_MEMORY, "reading c.json");
      assert_null(got);
    }
    assert_true(json_equal(got, whole));
    json_decref(got);
    assert_true(n > 4);
  }
  json_decref(whole);
}

/* What is read while memory runs out is all there, or the failure says that it did. Jansson would
 * go on without a byte that its buffer has no room for: a name's, a number's, or the quotation mark
 * behind a string, which then has no end. */
TEST(test_memory_runs_out) {
  char text[160] = "";
  check_starved("{\"a\": [1, 2.5, {}, true, \"text\"], \"key\": []}");
  check_starved("[12345678901234567, 0.12345678901234567890123456789, \"\\u00e4\\n\\\"\"]");
  for (int length = 0; length < 70; length++) { /* the buffer grows at 15, 31 and 63 */
    snprintf(text, sizeof text, "{\"%.*s\": \"%.*s\"}", length,
             "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
             length,
             "zyxwvutsrqponmlkjihgfedcbazyxwvutsrqponmlkjihgfedcbazyxwvutsrqponmlkjihgfedcba");
    check_starved(text);
  }
}

/* What is taken from a value while memory runs out is not said to be of another form. */
TEST(test_taking_without_memory) {
  json_auto_t *value = json_pack("{si ss}", "format", 3, "id", "a");
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  int format = 0;
  const char *id = NULL;
  for (long n = 1; status; n++) {
    test_starve(n, false);
    status = ft_json_unpack(value, "c.json", "{si ss}", "format", &format, "id", &id);
    test_feed();
    if (status) assert_fails(status, FILTRA_ERROR_HOST_MEMORY, "reading c.json");
    assert_true(status || n > 1);
  }
  assert_int_equal(format, 3);
  assert_string_equal(id, "a");
  assert_int_equal(ft_json_unpack(value, "c.json", "{ss}", "format", &id), FILTRA_ERROR_INPUT);
  assert_int_equal(ft_json_unpack(value, "c.json", "{si}", "other", &format), FILTRA_ERROR_INPUT);
  assert_int_equal(ft_json_unpack(NULL, "c.json", "{si}", "format", &format), FILTRA_ERROR_INPUT);
}

/* A text that is made is whole. Jansson's own is closed over a piece that it had no memory for. */
TEST(test_writing_without_memory) {
  static const char NAMES[] = "{\"a\": 1, \"long\": \"%s\", \"list\": [1, 2, [3, {\"b\": null}]]}";
  char text[1024], filler[512];
  memset(filler, 'x', sizeof filler - 1);
  filler[sizeof filler - 1] = '\0';
  snprintf(text, sizeof text, NAMES, filler);
  json_auto_t *object = json_loads(text, 0, NULL);
  owned char *whole = json_dumps(object, JSON_INDENT(1));
  for (int hook = 0; hook < 2; hook++) { /* allocations of Jansson's; ours */
    bool failed = true;
    for (long n = 1; failed; n++) {
      ft_fail(FILTRA_ERROR_INPUT, "before");
      ft_memory_fail_after(hook ? n : 0);
      test_starve(hook ? LONG_MAX : n, false);
      owned char *got = ft_json_dumps(object, JSON_INDENT(1));
      const bool starved = test_feed();
      ft_memory_fail_after(0);
      if (got)
        assert_string_equal(got, whole);
      else
        assert_non_null(strstr(filtra_error_message(), "out of host memory"));
      failed = hook ? !got : starved;
      assert_true(n > 1 || failed);
    }
  }
}

/* A list has all its values, or there is none. */
TEST(test_lists_are_whole) {
  enum { VALUES = 20 };
  bool failed = true;
  for (long n = 1; failed; n++) {
    test_starve(n, false);
    json_auto_t *list = json_array();
    for (int i = 0; i < VALUES; i++)
      ft_json_append(&list, json_integer(i));
    failed = test_feed();
    assert_int_equal(json_array_size(list), failed ? 0 : VALUES);
    assert_true(failed == !list && (failed || n > VALUES));
  }
}

TEST(test_not_json) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"{\"layers\": 9223372036854775808}", "c.json:1:"},
      {"{\"learning_rate\": 1e999}", "c.json:1:"},
      {"{\"name\": \"\\u0000\"}", "c.json:1:"},
      {"{\"layers\": 1,\n \"layers\": 2}", "c.json:2:9: not valid JSON: duplicate object key"},
      {"{\n\"layers\": 1,\n}", "c.json:3:1: "},
      {"", "c.json:1:0: "},
      {"{\"a\": 1} x", "c.json:1:10: "},
      {"{\"name\": \"\xff\"}", "c.json:1:"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    json_t *object;
    filtra_status status = ft_json_parse(cases[i].text, strlen(cases[i].text), "c.json", &object);
    assert_fails(status, FILTRA_ERROR_INPUT, cases[i].message);
    assert_null(object);
  }
}

TEST(test_shortest) {
  assert_true(ft_shortest(0.1f) == 0.1 && ft_shortest(1e-30f) == 1e-30 && ft_shortest(0) == 0);
  float values[1000];
  test_random(1, -1, 1, values, FT_COUNT(values));
  for (size_t i = 0; i < FT_COUNT(values); i++)
    assert_true((float)ft_shortest(values[i]) == values[i]);
}

TEST(test_load_errors) {
  json_t *object;
  const char *marked = test_write_text(test_folder(), "m.json", "\xef\xbb\xbf{\"a\": 7}\n");
  json_auto_t *seven = NULL;
  assert_ok(ft_json_load(marked, &seven));
  assert_int_equal(json_integer_value(json_object_get(seven, "a")), 7);
  assert_fails(ft_json_load("/dev/null/none.json", &object), FILTRA_ERROR_PATH,
               "/dev/null/none.json");
  owned char *path = ft_path_join(test_folder(), "bad.json");
  assert_ok(ft_file_write(path, "{\n  \"a\": tru\n}", 14));
  assert_fails(ft_json_load(path, &object), FILTRA_ERROR_INPUT, "bad.json:2:10: ");
  assert_null(object);
}

/* Whole numbers beyond 64 bits become floating ones, as in files of transformers. */
TEST(test_big_numbers) {
  static const char text[] =
      "{\"most\": 1000000000000000019884624838656, \"a\\\"99999999999999999999\": "
      "[9223372036854775807, -9223372036854775808, 9223372036854775808, "
      "0.10000000000000000000001, 12345678901234567890123e2]}";
  json_auto_t *object = NULL;
  const char *path = test_write_text(test_folder(), "a.json", text);
  json_t *none;
  assert_fails(ft_json_load(path, &none), FILTRA_ERROR_INPUT, "a.json:1:");
  assert_ok(ft_json_load_foreign(path, 0, &object));
  assert_true(json_real_value(json_object_get(object, "most")) == 1e30);
  const json_t *list = json_object_get(object, "a\"99999999999999999999");
  assert_true(json_integer_value(json_array_get(list, 0)) == INT64_MAX);
  assert_true(json_is_real(json_array_get(list, 2)) && json_is_real(json_array_get(list, 4)));
  assert_float_equal(json_real_value(json_array_get(list, 3)), 0.1, 1e-15);
  path = test_write_text(test_folder(), "a.json", "[1e999]");
  assert_fails(ft_json_load_foreign(path, 0, &none), FILTRA_ERROR_INPUT, "a.json:1:");
}

TEST_MAIN(NULL, test_teardown)
