/* Writes the report of `filtra check --report`: a file of `filtra bench --quick` with a description
 * of the device, golden cases and tuning (docs/bench-file.md). Everything in it is listed here, so
 * that nothing personal gets in: paths of tuning and matrix-unit files and UUIDs of devices are
 * left out. Called by check.c. */
#include "report.h"

#include "base/memory.h"
#include "bench/bench.h"
#include "devices/matrices.h"
#include "gpu/plan.h"
#include "ops/tuning.h"
#include "tune/tune.h"

#include <stdlib.h>

static const char NAME[] = "filtra check";

static json_t *anonymous(json_t *device) {
  json_object_del(device, "uuid"); /* some drivers' UUID identifies the card */
  return device;
}

/* All devices of the machine, in the order of `filtra devices`. */
static json_t *devices_json(void) {
  uint32_t count = 0;
  json_t *list = json_array();
  if (filtra_device_list(NULL, &count)) return list; /* cannot happen: a device is open */
  filtra_device_info *infos = ft_calloc(count, sizeof *infos);
  const uint32_t room = count;
  if (!infos || filtra_device_list(infos, &count)) count = 0;
  for (uint32_t i = 0; i < count && i < room; i++)
    json_array_append_new(list, anonymous(command_device_json(&infos[i])));
  free(infos);
  return list;
}

/* The device's choices before tuning, and those that kernels now run with. */
static json_t *tuning_in_use(const filtra_device *device) {
  const ft_tuning *tuning = ft_tuning_of(device);
  json_t *list = json_array();
  for (size_t i = 0; tuning && i < tuning->count; i++)
    json_array_append_new(list, ft_tuning_entry_json(&tuning->entries[i]));
  return list;
}

static void describe(const filtra_device *device, json_t *root) {
  char *plan = ft_caps_plan(ft_caps_of(device)), *profile = ft_caps_profile(ft_caps_of(device));
  json_t *matrices = matrices_json(device);
  json_object_del(matrices, "file");
  json_object_update_new(root, json_pack("{ss? ss? so so so}", "plan", plan, "profile", profile,
                                         "matrices", matrices, "devices", devices_json(), "in_use",
                                         tuning_in_use(device)));
  free(plan);
  free(profile);
}

/* A failure becomes a part of the report. */
static filtra_status tune(filtra_device *device, double seconds, json_t *root) {
  json_t *results;
  fprintf(stderr, "%s: tuning for at most %.0f s\n", NAME, seconds);
  filtra_status status = tune_some(device, seconds, &results);
  json_object_set_new(root, "tuning", results);
  if (status) json_object_set_new(root, "tuning_error", json_string(filtra_error_message()));
  return status;
}

/* Writes the report without tuning, tunes, and writes it again. If the device does not open again,
 * such as after a loss, writes what is known. */
static filtra_status write_both(const filtra_device_options *options, double seconds, json_t *root,
                                const char *path, ft_atomic_file *file) {
  filtra_device *device = NULL;
  filtra_status status = filtra_device_open(options, &device);
  if (status) {
    command_fail(NAME, status);
    filtra_status saved = bench_save(root, file);
    return saved ? saved : ft_fail(status, "%s: written without what the device is", path);
  }
  describe(device, root);
  status = bench_save(root, file);
  filtra_status tuned = FILTRA_OK;
  if (!status) tuned = tune(device, seconds, root);
  if (!status) status = ft_atomic_open(path, file);
  if (!status) status = bench_save(root, file);
  filtra_device_close(&device);
  return status ? status : tuned;
}

int check_report(const filtra_device_options *device, const char *precisions, double seconds,
                 json_t *check, const char *path, ft_atomic_file *file) {
  json_t *root = NULL;
  filtra_status failed = FILTRA_OK, status = bench_quick(device, precisions, &root, &failed);
  if (status) {
    ft_atomic_abort(file);
    json_decref(check);
    return command_fail(NAME, status);
  }
  json_object_set_new(root, "format", json_string(CHECK_FORMAT "1"));
  json_object_set_new(root, "check", check);
  anonymous(json_object_get(root, "device"));
  status = write_both(device, seconds, root, path, file);
  json_decref(root);
  if (status) return command_fail(NAME, status);
  command_print("%s: written; it can be sent as it is, and filtra compare reads it\n", path);
  if (!failed) return COMMAND_DONE;
  fprintf(stderr, "%s: not all could be measured; \"error\" says why\n", NAME);
  return failed == FILTRA_ERROR_DEVICE_LOST ? COMMAND_DEVICE_LOST : COMMAND_FAILED;
}
