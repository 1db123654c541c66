/* `filtra bench` as a shell sees it: what its JSON holds, and what it refuses. */
#include "support/command.h"
#include "support/harness.h"

#include <jansson.h>
#include <string.h>

static const json_t *find(const json_t *results, const char *op, int index) {
  size_t i;
  const json_t *entry;
  json_array_foreach(results, i, entry) {
    if (!strcmp(json_string_value(json_object_get(entry, "op")), op) && index-- == 0) return entry;
  }
  fail_msg("there is no result %s", op);
  return NULL;
}

static double number(const json_t *entry, const char *key) {
  const json_t *value = json_object_get(entry, key);
  if (!json_is_number(value)) fail_msg("there is no number %s", key);
  return json_number_value(value);
}

static void test_mixer(void **state) {
  (void)state;
  char output[TEST_OUTPUT_BYTES];
  assert_int_equal(test_run_command("", "bench --mixers agf --quick --json", output), 0);
  json_t *root = json_loads(output, 0, NULL); /* also says that nothing else was printed */
  assert_non_null(root);
  const json_t *results = json_object_get(root, "results");
  const filtra_device_info *info = filtra_device_get_info(test_device());
  assert_string_equal(json_string_value(json_object_get(root, "device")), info->name);
  double length = 1024, memory = 0;
  for (int i = 0; i < 3; i++, length *= 2) {
    const json_t *layer = find(results, "mixer_layer", i);
    assert_string_equal(json_string_value(json_object_get(layer, "mixer")), "agf");
    assert_true(number(layer, "length") == length);
    assert_true(number(layer, "seconds_best") > 0);
    assert_true(number(layer, "seconds_median") <= number(layer, "seconds_worst"));
    assert_true(number(layer, "memory_bytes") > memory);
    memory = number(layer, "memory_bytes");
  }
  /* Times are the machine's to disturb; memory is not. */
  double exponent = number(find(results, "mixer_scaling", 0), "memory_exponent");
  assert_true(exponent > 0.8 && exponent < 1.1);
  assert_true(number(find(results, "train_step", 0), "tokens_per_second") > 0);
  json_decref(root);
}

static void test_misuse(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *part;
  } cases[] = {{"bench --mixers agf,agff 2>&1", "no mixer \"agff\""},
               {"bench --mixers '' 2>&1", "no mixer \"\""},
               {"bench --ops nothing 2>&1", "--ops nothing"},
               {"bench more 2>&1", "\"more\""}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    char output[TEST_OUTPUT_BYTES];
    assert_int_equal(test_run_command("", cases[i].arguments, output), 2);
    assert_non_null(strstr(output, cases[i].part));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mixer), cmocka_unit_test(test_misuse)};
  return cmocka_run_group_tests_name("apps/bench", tests, NULL, test_teardown);
}
