/* The stored verdict on matrix units, for any device: files may be damaged, from another driver, or
 * written by others. tests/faults/matrices.sh tests what the self-test finds. */
#include "gpu/matrix.h"

#include "base/file.h"
#include "base/json.h"
#include "gpu/identity.h"
#include "gpu/internal.h"
#include "ops/tuning.h"
#include "support/harness.h"
#include "support/run.h"

#include <sys/stat.h>

static const ft_matrix_verdict good = {
    .tested = true, .passed = true, .f16 = {16, 16, 16}, .bf16 = {16, 8, 16}};

static char *document(const ft_matrix_verdict *v) {
  char *text = ft_json_line(ft_matrix_document(test_device(), v), JSON_INDENT(1));
  assert_non_null(text);
  return text;
}

static void assert_same(const ft_matrix_verdict *a, const ft_matrix_verdict *b) {
  assert_true(a->tested == b->tested && a->passed == b->passed);
  assert_memory_equal(&a->f16, &b->f16, sizeof a->f16);
  assert_memory_equal(&a->bf16, &b->bf16, sizeof a->bf16);
  assert_string_equal(a->why, b->why);
}

TEST(test_round_trip) {
  const ft_matrix_verdict bad = {.tested = true, .why = "crashed (Aborted)"};
  const ft_matrix_verdict *const list[] = {&good, &bad};
  for (size_t i = 0; i < FT_COUNT(list); i++) {
    ft_matrix_verdict got;
    owned char *text = document(list[i]);
    assert_ok(ft_matrix_parse(test_device(), text, strlen(text), "f", &got));
    assert_same(&got, list[i]);
  }
}

/* The good one with one thing changed. */
static void assert_refused(const char *from, const char *to, const char *part) {
  char changed[4096], *text = document(&good), *at = strstr(text, from);
  ft_matrix_verdict got;
  assert_non_null(at);
  snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  assert_fails(ft_matrix_parse(test_device(), changed, strlen(changed), "f.json", &got),
               FILTRA_ERROR_INPUT, part);
  assert_false(got.tested || got.passed);
  free(text);
}

TEST(test_refused) {
  assert_refused("filtra-matrices-2", "filtra-tuning-1", "is not a verdict on matrix units");
  assert_refused("\"driver_version\": ", "\"driver_version\": 1", "another driver");
  assert_refused("\"filtra\": \"", "\"filtra\": \"9", "filtra 9");
  assert_refused("\"passed\": true", "\"passed\": 1", "\"passed\" is missing");
  static const char *const shapes[] = {"\"16x16x17\"", "\"16x16\"",    "\"0x16x16\"",
                                       "\"32x16x16\"", "\"016x8x8\"",  "\"16x16x16 \"",
                                       "16",           "\"-8x16x16\"", "\"12x16x16\""};
  for (size_t i = 0; i < FT_COUNT(shapes); i++)
    assert_refused("\"16x16x16\"", shapes[i], "\"f16\" is no shape");
  assert_refused("\"f16\": \"16x16x16\",\n \"bf16\": \"16x8x16\"", "\"f16\": null, \"bf16\": null",
                 "no shape has passed");
  owned char *text = document(&good);
  for (size_t length = 0; length + 2 < strlen(text); length += 3) {
    ft_matrix_verdict got;
    assert_fails(ft_matrix_parse(test_device(), text, length, "cut", &got), FILTRA_ERROR_INPUT,
                 "cut");
  }
}

/* What a device takes over when it is opened, whatever it can do. */
static ft_matrix_verdict opened(const char *folder) {
  filtra_device dev = {.instance = test_device()->instance,
                       .physical = test_device()->physical,
                       .caps = *ft_caps_of(test_device())};
  assert_ok(ft_matrix_open_cached(&dev, folder));
  free(dev.matrix_path);
  return dev.matrix_verdict;
}

TEST(test_cached) {
  const char *folder = test_folder();
  owned char *path = ft_document_path(test_device(), folder, "matrices"), *text = document(&good);
  assert_false(opened(folder).tested);
  const mode_t mask = umask(0); /* a group may write: what we write ourselves is trusted */
  assert_ok(ft_file_write_below(path, text, strlen(text)));
  umask(mask);
  const ft_matrix_verdict got = opened(folder);
  assert_same(&got, &good);
  assert_int_equal(chmod(path, 0666), 0);
  assert_false(opened(folder).tested);
  assert_int_equal(chmod(path, 0600), 0);
  test_patch(path, "\"passed\": true", "\"passed\": tru?");
  assert_false(opened(folder).tested);
}

/* Without a verdict that passed, a device has no shape, and no kernel for matrix units. */
TEST(test_untrusted) {
  ft_caps caps = *ft_caps_of(test_device());
  caps.matrix = true;
  caps.matrix_use = FT_MATRIX_TUNED;
  assert_false(ft_matrix_used(&caps));
  caps.matrix_f16 = good.f16;
  assert_true(ft_matrix_used(&caps));
  caps.matrix_use = FT_MATRIX_OFF;
  assert_false(ft_matrix_used(&caps));
}

static void count_warning(void *user, filtra_log_level level, const char *text) {
  if (level == FILTRA_LOG_WARNING && strstr(text, "matrix units for 1 keys")) ++*(int *)user;
}

static void count_untested(void *user, filtra_log_level level, const char *text) {
  if (level == FILTRA_LOG_WARNING && strstr(text, "filtra tune --precision bf16")) ++*(int *)user;
}

static int untested_warnings(bool there, ft_matrix_use use, bool tested) {
  int warnings = 0;
  filtra_device dev = {.caps = *ft_caps_of(test_device()), .matrix_verdict.tested = tested};
  dev.caps.matrix = there;
  dev.caps.matrix_use = use;
  filtra_log_set(count_untested, &warnings);
  for (int i = 0; i < 2; i++)
    ft_matrix_say_untested(&dev);
  filtra_log_set(NULL, NULL);
  return warnings;
}

/* Matrix units that nobody tested are said once; those that are off, failed or missing are not. */
TEST(test_untested_are_said) {
  assert_int_equal(untested_warnings(true, FT_MATRIX_TUNED, false), 1);
  assert_int_equal(untested_warnings(true, FT_MATRIX_TUNED, true), 0);
  assert_int_equal(untested_warnings(true, FT_MATRIX_OFF, false), 0);
  assert_int_equal(untested_warnings(false, FT_MATRIX_TUNED, false), 0);
}

/* What was measured and is not followed is said. */
TEST(test_warning) {
  int warnings = 0;
  filtra_device dev = {.caps = *ft_caps_of(test_device())};
  ft_tuning *t = ft_tuning_new();
  for (size_t i = 0; i < 2; i++) { /* of others, and of matrix units */
    ft_tuning_entry *e =
        ft_tuning_add(t, i ? "gemm.matrix b" : "gemm.matrix a", FT_TUNE_GEMM_MATRIX);
    e->chosen = true;
    e->choice = ft_configuration_at(FT_TUNE_GEMM_MATRIX, i);
  }
  filtra_log_set(count_warning, &warnings);
  dev.caps.matrix_use = FT_MATRIX_OFF;
  ft_tuning_warn(&dev, t, "x");
  assert_int_equal(warnings, 0);
  dev.caps.matrix_use = FT_MATRIX_TUNED;
  ft_tuning_warn(&dev, t, "x");
  assert_int_equal(warnings, 1);
  dev.caps.matrix = true;
  dev.caps.matrix_f16 = good.f16;
  ft_tuning_warn(&dev, t, "x");
  assert_int_equal(warnings, 1);
  filtra_log_set(NULL, NULL);
  ft_tuning_release(&t);
}

TEST_MAIN(NULL, test_teardown)
