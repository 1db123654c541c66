/* Runs the self-test of matrix units in a child process, since drivers may crash or hang when asked
 * for their shapes. The child writes lines of JSON. The parent, which has not opened a device yet,
 * stores the last line's verdict and how the child ended. Called by devices.c and tune.c. */
#include "devices/matrices.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "common/child.h"
#include "common/command.h"
#include "gpu/plan.h"
#include "ops/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct task {
  const filtra_device_options *options;
  bool again;
} task;

/* ---- the child ---- */

static void say(FILE *to, json_t *object) {
  char *line = ft_json_line(object, JSON_COMPACT);
  if (line) fputs(line, to);
  fflush(to);
  free(line);
}

static void say_verdict(FILE *to, const filtra_device *dev, const ft_matrix_verdict *v) {
  say(to,
      json_pack("{ss so}", "path", ft_matrix_path_of(dev), "verdict", ft_matrix_document(dev, v)));
}

static void say_untested(FILE *to, const char *why) {
  say(to, json_pack("{ss}", "untested", why));
}

/* Why there is nothing to test; NULL if there is. */
static const char *what_is_missing(const filtra_device *dev) {
  const ft_caps *caps = ft_caps_of(dev);
  if (!caps->matrix)
    return "the device has none (VK_KHR_cooperative_matrix) that kernels can use, or --caps masks "
           "them";
  if (caps->matrix_use == FT_MATRIX_FORCE) return "matrix=force takes them untested";
  if (caps->matrix_use == FT_MATRIX_OFF)
    return "they are off; --caps matrix=tuned takes them where they are trusted";
  return ft_matrix_path_of(dev) ? NULL : "there is no cache folder that could keep the verdict";
}

/* Tests the device without --caps. Running out of memory gives no verdict on matrix units. */
static filtra_status judge(const filtra_device_options *as, ft_matrix_verdict *v) {
  filtra_device_options options = *as;
  filtra_device *dev = NULL;
  char why[FT_MATRIX_REASON] = "";
  options.caps = "matrix=force";
  options.cache_dir = options.tuning = "";
  filtra_status status = filtra_device_open(&options, &dev);
  if (!status) status = matrix_test(dev, why);
  if (status == FILTRA_ERROR_HOST_MEMORY || status == FILTRA_ERROR_DEVICE_MEMORY) {
    filtra_device_close(&dev);
    return status;
  }
  if (status)
    snprintf(why, sizeof why, "failed: %.*s", FT_MATRIX_REASON - 16, filtra_error_message());
  *v = (ft_matrix_verdict){.tested = true, .passed = !*why};
  memcpy(v->why, why, sizeof why);
  if (v->passed) {
    v->f16 = ft_matrix_shape_of(ft_caps_of(dev), FILTRA_F16);
    v->bf16 = ft_matrix_shape_of(ft_caps_of(dev), FILTRA_BF16);
  }
  filtra_device_close(&dev);
  return FILTRA_OK;
}

static void test(FILE *to, const filtra_device *dev, const task *t) {
  const char *missing = what_is_missing(dev);
  if (missing && t->again) say_untested(to, missing);
  if (missing || (ft_matrix_verdict_of(dev)->tested && !t->again)) return;
  ft_matrix_verdict v = {0};
  say_verdict(to, dev, &v); /* even if the test crashes, the parent needs path and device */
  if (judge(t->options, &v))
    say_untested(to, filtra_error_message());
  else
    say_verdict(to, dev, &v);
}

static void work(FILE *to, const void *user) {
  const task *t = user;
  filtra_device *dev = NULL;
  filtra_log_set(NULL, NULL);
  if (filtra_device_open(t->options, &dev) == FILTRA_OK)
    test(to, dev, t);
  else if (t->again)
    say_untested(to, filtra_error_message());
  filtra_device_close(&dev);
}

/* ---- the parent ---- */

static json_t *last_line(char *text) {
  char *end = strrchr(text, '\n'); /* the rest of the line is incomplete */
  if (!end) return NULL;
  *end = '\0';
  const char *before = strrchr(text, '\n');
  const char *line = before ? before + 1 : text;
  json_error_t error;
  bool starved;
  return ft_json_decode(line, strlen(line), 0, &error, &starved);
}

static filtra_status keep(const char *path, json_t *verdict) {
  json_object_set_new(verdict, "date", json_string(ft_date()));
  char *text = command_json_starved() ? NULL : ft_json_line(json_incref(verdict), JSON_INDENT(1));
  filtra_status status = text ? ft_file_write_below(path, text, strlen(text))
                              : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  free(text);
  return status;
}

static bool has_passed(const json_t *verdict) {
  return json_is_true(json_object_get(verdict, "passed"));
}

/* Stores the verdict; prints it if it is negative. */
static int take(const char *name, const char *path, json_t *verdict) {
  const json_t *device = json_object_get(verdict, "device");
  if (!has_passed(verdict))
    fprintf(stderr,
            "%s: matrix units of %s, %s, are off: the self-test %s; filtra devices "
            "--test-matrices tests them again\n",
            name, ft_json_string(device, "name"), ft_json_string(device, "driver"),
            ft_json_string(verdict, "why"));
  filtra_status status = keep(path, verdict);
  if (status) return command_fail(name, status);
  return has_passed(verdict) ? COMMAND_DONE : COMMAND_FAILED;
}

int matrices_test(const char *name, const filtra_device_options *options, bool again,
                  unsigned seconds) {
  const task t = {options, again};
  command_child child;
  filtra_status status = command_run_child(work, &t, seconds, &child);
  if (status) return command_fail(name, status);
  json_t *said = last_line(child.text), *verdict = json_object_get(said, "verdict");
  const char *untested = ft_json_string(said, "untested");
  int code = again ? COMMAND_FAILED : COMMAND_DONE;
  if (verdict && *child.end)
    json_object_update_new(verdict, json_pack("{sb ss}", "passed", 0, "why", child.end));
  if (has_passed(verdict) || *ft_json_string(verdict, "why"))
    code = take(name, ft_json_string(said, "path"), verdict);
  else if (said || again)
    fprintf(stderr, "%s: matrix units were not tested: %s\n", name,
            *untested    ? untested
            : *child.end ? child.end
                         : "the test came to no result");
  json_decref(said);
  free(child.text);
  return code;
}

/* ---- showing ---- */

static size_t tuned_keys(const filtra_device *dev) {
  const ft_tuning *t = ft_tuning_of(dev);
  size_t keys = 0;
  for (size_t i = 0; t && i < t->count; i++)
    keys += t->entries[i].chosen &&
            ft_configuration_on_matrices(t->entries[i].family, &t->entries[i].choice);
  return keys;
}

char *matrices_text(const filtra_device *dev) {
  const ft_caps *caps = ft_caps_of(dev);
  const ft_matrix_verdict *v = ft_matrix_verdict_of(dev);
  char f16[FT_MATRIX_TEXT], bf16[FT_MATRIX_TEXT];
  ft_matrix_shape_text(ft_matrix_shape_of(caps, FILTRA_F16), f16);
  ft_matrix_shape_text(ft_matrix_shape_of(caps, FILTRA_BF16), bf16);
  if (!caps->matrix) return NULL;
  if (caps->matrix_use == FT_MATRIX_FORCE)
    return ft_format("F16 %s, BF16 %s, taken wherever they can be, as --caps says", f16, bf16);
  if (caps->matrix_use == FT_MATRIX_OFF)
    return ft_format(caps->for_cpu ? "off: CPU drivers only imitate them" : "off, as --caps says");
  if (!v->tested)
    return ft_format("off: not tested yet; filtra tune%s tests them",
                     ft_matrix_path_of(dev) ? "" : " with a cache folder");
  if (!v->passed) return ft_format("off: the self-test %s", v->why);
  return ft_format("F16 %s, BF16 %s, self-test passed, tuned for %zu keys", f16, bf16,
                   tuned_keys(dev));
}

json_t *matrices_json(const filtra_device *dev) {
  const ft_caps *caps = ft_caps_of(dev);
  const ft_matrix_verdict *v = ft_matrix_verdict_of(dev);
  static const char *const USES[] = {"off", "tuned", "force"};
  char f16[FT_MATRIX_TEXT], bf16[FT_MATRIX_TEXT];
  if (!caps->matrix) return json_null();
  ft_matrix_shape_text(ft_matrix_shape_of(caps, FILTRA_F16), f16);
  ft_matrix_shape_text(ft_matrix_shape_of(caps, FILTRA_BF16), bf16);
  return json_pack("{ss sb sb ss ss ss sI ss?}", "use", USES[caps->matrix_use], "tested",
                   (int)v->tested, "passed", (int)v->passed, "why", v->why, "f16", f16, "bf16",
                   bf16, "keys", (json_int_t)tuned_keys(dev), "file", ft_matrix_path_of(dev));
}
