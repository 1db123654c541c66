/* `filtra check --precision`: outputs and gradients of layers and models in 16 bits against
 * float64, beside what PyTorch's autocast reaches on the cases (tests/golden/autocast.json). */
#include "support/command.h"
#include "support/harness.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

static const char *golden_folder(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/golden", TEST_SOURCE_DIR);
  return path;
}

/* The largest relative error of a case's tensors. */
static double worst_of(const char *name, const char *precision) {
  static char output[TEST_OUTPUT_BYTES];
  char arguments[1024];
  json_t *document, *tensor;
  size_t i;
  double worst = 0;
  snprintf(arguments, sizeof arguments, "check %s/%s.safetensors --json --precision %s",
           golden_folder(), name, precision);
  test_run_command("", arguments, output);
  assert_ok(ft_json_parse(output, strlen(output), "output", &document));
  json_t *cases = json_object_get(document, "cases");
  assert_int_equal(json_array_size(cases), 1);
  json_t *tensors = json_object_get(json_array_get(cases, 0), "tensors");
  if (json_array_size(tensors) < 3) fail_msg("%s in %s: %s", name, precision, output);
  json_array_foreach(tensors, i, tensor) {
    double error = json_number_value(json_object_get(tensor, "relative_error"));
    if (error > worst) worst = error;
  }
  json_decref(document);
  return worst;
}

/* bf16 rounds as autocast does, at other places: at most a quarter more. fp16 has three bits more,
 * of which two must show. And neither is fp32. */
static void test_against_autocast(void **state) {
  (void)state;
  char path[600];
  json_t *file, *value;
  const char *name;
  int count = 0;
  snprintf(path, sizeof path, "%s/autocast.json", golden_folder());
  assert_ok(ft_json_load(path, &file));
  json_object_foreach(json_object_get(file, "cases"), name, value) {
    const double autocast = json_number_value(value);
    const double bf16 = worst_of(name, "bf16"), fp16 = worst_of(name, "fp16");
    if (!(bf16 <= 1.25 * autocast && fp16 <= autocast / 4 && fp16 > 1e-5))
      fail_msg("%s: bf16 errs by %.3g, fp16 by %.3g, autocast by %.3g", name, bf16, fp16, autocast);
    count++;
  }
  json_decref(file);
  assert_true(count >= 12);
}

/* Single ops have no precision: nothing is run, and nothing claimed. */
static void test_ops_are_left_out(void **state) {
  (void)state;
  char output[TEST_OUTPUT_BYTES], arguments[1024];
  snprintf(arguments, sizeof arguments, "check %s/dhhp_n7c5.safetensors --precision bf16",
           golden_folder());
  assert_int_equal(test_run_command("", arguments, output), 0);
  assert_non_null(strstr(output, "0 of 0 golden cases pass"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_autocast),
      cmocka_unit_test(test_ops_are_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, test_teardown);
}
