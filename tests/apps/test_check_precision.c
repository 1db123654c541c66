/* `filtra check --precision`: outputs and gradients of layers and models in 16 bits against
 * float64, compared with the errors of PyTorch's autocast on the same cases
 * (tests/golden/autocast.json). */
#include "support/command.h"
#include "support/harness.h"

#include "base/json.h"

static const char *golden_folder(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/golden", TEST_SOURCE_DIR);
  return path;
}

/* What the command says of all these cases, in one run, which makes each kernel once. */
static json_t *check_all(const json_t *cases, const char *precision) {
  static char arguments[8192];
  const char *name;
  json_t *value, *document;
  int length = snprintf(arguments, sizeof arguments, "check --json --precision %s", precision);
  json_object_foreach((json_t *)cases, name, value) length +=
      snprintf(arguments + length, sizeof arguments - (size_t)length, " %s/%s.safetensors",
               golden_folder(), name);
  assert_true(length < (int)sizeof arguments);
  test_run_command("", arguments);
  assert_ok(ft_json_parse(test_output, strlen(test_output), "output", &document));
  return document;
}

/* The largest relative error of a case's tensors. */
static double worst_of(const json_t *document, const char *name) {
  json_t *entry, *tensor;
  size_t i, k;
  double worst = -1;
  json_array_foreach(json_object_get(document, "cases"), i, entry) {
    const char *found = json_string_value(json_object_get(entry, "case"));
    if (!found || strcmp(found, name)) continue;
    json_array_foreach(json_object_get(entry, "tensors"), k, tensor) {
      double error = json_number_value(json_object_get(tensor, "relative_error"));
      if (error > worst) worst = error;
    }
  }
  return worst;
}

/* bf16 rounds as autocast does, at other places: at most a quarter more. fp16 has three bits more,
 * of which two must show. And neither is fp32. */
TEST(test_against_autocast) {
  char path[600];
  json_t *file, *value;
  const char *name;
  int count = 0;
  snprintf(path, sizeof path, "%s/autocast.json", golden_folder());
  assert_ok(ft_json_load(path, &file));
  json_t *cases = json_object_get(file, "cases");
  json_t *bf16 = check_all(cases, "bf16"), *fp16 = check_all(cases, "fp16");
  json_object_foreach(cases, name, value) {
    const double autocast = json_number_value(value);
    const double brain = worst_of(bf16, name), half = worst_of(fp16, name);
    if (!(brain <= 1.25 * autocast && half <= autocast / 4 && brain > 1e-5 && half > 1e-5))
      fail_msg("%s: bf16 errs by %.3g, fp16 by %.3g, autocast by %.3g", name, brain, half,
               autocast);
    count++;
  }
  json_decref(bf16);
  json_decref(fp16);
  json_decref(file);
  assert_true(count >= 12);
}

/* Single ops have no precision: nothing is run, and nothing claimed. */
TEST(test_ops_are_left_out) {
  assert_prints(test_filtra("check %s/dhhp_n7c5.safetensors --precision bf16", golden_folder()), 0,
                "0 of 0 golden cases pass");
}

TEST_MAIN(NULL, test_teardown)
