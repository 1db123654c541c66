/* filtra devices: lists devices, their capabilities, and why one would be chosen. */
#include "base/memory.h"
#include "common/options.h"
#include "devices/matrices.h"
#include "gpu/plan.h"
#include "ops/tuning.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan_core.h>

static void print_help(void) {
  command_print(
      "%s%s%s",
      "Usage: filtra devices [--json] [OPTION]...\n"
      "Lists the Vulkan devices in order of preference: discrete GPUs, integrated ones, virtual "
      "ones,\n"
      "CPU drivers. The one that other commands would use with the same options has a star.\n\n"
      "  --list-caps       list the keys of --caps with what they take\n"
      "  --list-profiles   list the profiles of devices that --caps takes, and what each comes to "
      "here\n"
      "  --profile         print the chosen device's own profile\n"
      "  --test-matrices   first test the chosen device's matrix units, also where that was done\n"
      "                    before, in a process of its own; filtra tune does it the first time\n"
      "  --seconds N       which may take so long (default 300)\n"
      "  --json            print one JSON object\n",
      device_options_help,
      "\nEnvironment variables, for every command:\n"
      "  FILTRA_DEVICE     as --device\n"
      "  FILTRA_CAPS       as --caps\n"
      "  FILTRA_CACHE_DIR  as --cache-dir; else $XDG_CACHE_HOME/filtra, else ~/.cache/filtra\n"
      "  FILTRA_TUNING     as --tuning; else this device's file in the cache folder\n"
      "  FILTRA_VALIDATION 1: as --validation\n"
      "  FILTRA_PLUGINS    as --plugin, several with : between (; on Windows)\n"
      "  FILTRA_UNPACKED_TIMES  how many times as long gzip data may become, beyond 64 MiB; 20\n"
      "  FILTRA_HEADER_BYTES    longest safetensors header; else 4 MiB and the file's data\n");
}

/* A capability that a device may lack. */
typedef struct feature {
  const char *name, *key; /* name in text; key in JSON */
  bool there;
} feature;

enum { FEATURES = 7 };

static void list_features(const filtra_device_info *info, feature out[FEATURES]) {
  const feature list[FEATURES] = {
      {"subgroup arithmetic", "subgroup_arithmetic", info->subgroup_arithmetic},
      {"int64", "int64", info->int64},
      {"fp16", "fp16", info->fp16},
      {"timestamps", "timestamps", info->timestamps},
      {"memory budget", "memory_budget", info->memory_budget},
      {"pipeline statistics", "pipeline_statistics", info->pipeline_statistics},
      {"cooperative matrix", "cooperative_matrix", info->cooperative_matrix}};
  for (int i = 0; i < FEATURES; i++)
    out[i] = list[i];
}

static const char *class_name(filtra_device_class device_class) {
  switch (device_class) {
  case FILTRA_DEVICE_DISCRETE:
    return "discrete";
  case FILTRA_DEVICE_INTEGRATED:
    return "integrated";
  case FILTRA_DEVICE_VIRTUAL:
    return "virtual";
  case FILTRA_DEVICE_CPU:
    return "cpu";
  default:
    return "other";
  }
}

static void version_text(uint32_t version, char text[32]) {
  snprintf(text, 32, "%u.%u.%u", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
           VK_API_VERSION_PATCH(version));
}

/* ---- as text ---- */

static void print_features(const filtra_device_info *info, bool there, const char *title) {
  feature features[FEATURES];
  list_features(info, features);
  const char *between = "";
  command_print("     %-10s", title);
  for (int i = 0; i < FEATURES; i++) {
    if (features[i].there != there) continue;
    command_print("%s%s", between, features[i].name);
    between = ", ";
  }
  command_print("%s\n", *between ? "" : "nothing");
}

static double gib(uint64_t bytes) {
  return (double)bytes / (1024.0 * 1024.0 * 1024.0);
}

static void print_tuning(const ft_tuning *t) {
  if (!t)
    command_print("     tuning    none: filtra tune finds the fastest kernels\n");
  else
    command_print("     tuning    %zu keys, %zu faster than by default, from %s\n", t->count,
                  ft_tuning_chosen(t), t->path);
}

/* Prints the decisions made for the device. */
static void print_plan(const filtra_device *device) {
  char *plan = ft_caps_plan(ft_caps_of(device));
  if (plan) command_print("     plan      %s\n", plan);
  free(plan);
  char *matrices = matrices_text(device);
  if (matrices) command_print("     matrices  %s\n", matrices);
  free(matrices);
}

/* Prints lavapipe's vector width, which follows from its subgroup size (docs/benchmarks.md). */
static void print_vectors(const filtra_device_info *info) {
  if (!device_is_lavapipe(info) || info->subgroup_size != 16) return;
  command_print(
      "     vectors   512 bits: mixers without attention gain by them, and attention where the "
      "processor has units as wide; LP_NATIVE_VECTOR_WIDTH=256 serves both\n");
}

static void print_device(const filtra_device_info *info, bool chosen) {
  char version[32];
  version_text(info->api_version, version);
  command_print("%c %2u %s\n", chosen ? '*' : ' ', info->index, info->name);
  command_print("     %-10s%s\n", info->usable ? "choice" : "UNUSABLE", info->reason);
  command_print("     driver    %s, Vulkan %s\n", info->driver, version);
  command_print("     uuid      %s\n", info->uuid);
  command_print("     memory    %.1f GiB, at most %.1f GiB at once\n", gib(info->memory_bytes),
                gib(info->max_allocation_bytes));
  command_print("     workgroup %u invocations, %.0f KiB shared\n", info->max_workgroup_invocations,
                info->shared_memory_bytes / 1024.0);
  command_print("     subgroup  %u invocations (%u to %u)\n", info->subgroup_size,
                info->subgroup_size_min, info->subgroup_size_max);
  print_vectors(info);
  print_features(info, true, "has");
  print_features(info, false, "lacks");
}

/* ---- as JSON ---- */

json_t *command_device_json(const filtra_device_info *info) {
  char version[32];
  version_text(info->api_version, version);
  json_t *object = json_pack(
      "{s:i, s:s, s:s, s:s, s:s, s:i, s:s, s:b, s:s, s:I, s:I, s:i, s:i, s:i, s:i, s:i}", "index",
      (int)info->index, "name", info->name, "driver", info->driver, "uuid", info->uuid, "class",
      class_name(info->device_class), "vendor_id", (int)info->vendor_id, "api_version", version,
      "usable", (int)info->usable, "reason", info->reason, "memory_bytes",
      (json_int_t)info->memory_bytes, "max_allocation_bytes",
      (json_int_t)info->max_allocation_bytes, "max_workgroup_invocations",
      (int)info->max_workgroup_invocations, "shared_memory_bytes", (int)info->shared_memory_bytes,
      "subgroup_size", (int)info->subgroup_size, "subgroup_size_min", (int)info->subgroup_size_min,
      "subgroup_size_max", (int)info->subgroup_size_max);
  feature features[FEATURES];
  list_features(info, features);
  for (int i = 0; i < FEATURES && object; i++)
    json_object_set_new(object, features[i].key, json_boolean(features[i].there));
  return object;
}

static json_t *tuning_json(const ft_tuning *t) {
  return t ? json_pack("{s:s, s:I, s:I}", "file", t->path, "keys", (json_int_t)t->count, "faster",
                       (json_int_t)ft_tuning_chosen(t))
           : json_null();
}

/* `device` is the one that would be chosen; NULL: none. */
static int print_json(const filtra_device_info *infos, uint32_t count,
                      const filtra_device *device) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++)
    json_array_append_new(list, command_device_json(&infos[i]));
  json_t *chosen = device ? json_integer(ft_caps_of(device)->info.index) : json_null();
  char *plan = device ? ft_caps_plan(ft_caps_of(device)) : NULL;
  json_t *root =
      json_pack("{s:s, s:o, s:s?, s:o, s:o, s:o}", "version", filtra_version(), "chosen", chosen,
                "plan", plan, "matrices", device ? matrices_json(device) : json_null(), "tuning",
                tuning_json(device ? ft_tuning_of(device) : NULL), "devices", list);
  free(plan);
  return command_print_exact_json("filtra devices", root);
}

/* ---- the command ---- */

static filtra_status list_all(filtra_device_info **infos, uint32_t *count) {
  FT_TRY(filtra_device_list(NULL, count));
  uint32_t room = *count;
  *infos = ft_calloc(room, sizeof **infos);
  if (!*infos) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(filtra_device_list(*infos, count));
  if (*count > room) *count = room; /* a device may have been added meanwhile */
  return FILTRA_OK;
}

static int list_and_print(const filtra_device_options *options, bool json) {
  filtra_device_info *infos = NULL;
  filtra_device *device = NULL;
  uint32_t count = 0, chosen = 0;
  filtra_status listed = list_all(&infos, &count);
  if (listed) {
    free(infos);
    return command_fail("filtra devices", listed);
  }
  filtra_status opened = filtra_device_open(options, &device);
  if (!opened) {
    chosen = filtra_device_get_info(device)->index;
    if (chosen < count) infos[chosen] = *filtra_device_get_info(device); /* with --caps applied */
  }
  int code = COMMAND_DONE;
  if (json) code = print_json(infos, count, device);
  for (uint32_t i = 0; i < count && !json; i++) {
    print_device(&infos[i], !opened && i == chosen);
    if (opened || i != chosen) continue;
    print_plan(device);
    print_tuning(ft_tuning_of(device));
  }
  if (opened) code = command_fail("filtra devices", opened);
  filtra_device_close(&device);
  free(infos);
  return code;
}

typedef struct devices_arguments {
  filtra_device_options device;
  uint64_t seconds;
  bool list_caps, list_profiles, profile, test_matrices, json;
} devices_arguments;

static const command_option OPTIONS[] = {
    COMMAND_FLAG("list-caps", devices_arguments, list_caps),
    COMMAND_FLAG("list-profiles", devices_arguments, list_profiles),
    COMMAND_FLAG("profile", devices_arguments, profile),
    COMMAND_FLAG("test-matrices", devices_arguments, test_matrices),
    COMMAND_NUMBER("seconds", devices_arguments, seconds, 1, 86400),
    COMMAND_FLAG("json", devices_arguments, json),
};

int run_devices(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true};
  devices_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (a.list_caps + a.list_profiles + a.profile + a.test_matrices > 1)
    return command_misused(
        argv[0], "--list-caps, --list-profiles, --profile or --test-matrices, one of them");
  if (a.seconds && !a.test_matrices)
    return command_misused(argv[0], "--seconds is for --test-matrices");
  if (a.profile && a.json) return command_misused(argv[0], "a profile is text, no JSON");
  if (a.list_caps) return list_cap_keys(a.json);
  if (a.list_profiles) return list_profiles(&a.device, a.json);
  if (a.profile) return print_profile(&a.device);
  if (!a.test_matrices) return list_and_print(&a.device, a.json);
  int tested = matrices_test(argv[0], &a.device, true,
                             a.seconds ? (unsigned)a.seconds : MATRIX_TEST_SECONDS);
  int listed = list_and_print(&a.device, a.json);
  return tested ? tested : listed;
}
