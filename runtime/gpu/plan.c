/* Reads the capability override, applies it to a device's capabilities, and decides what follows
 * from them: styles of kernels, matrix units, workgroup sizes. Called by device.c when a device is
 * opened, and by apps/filtra/devices for help and profiles. */
#include "gpu/plan.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "gpu/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the keys ---- */

typedef enum key_index {
  INT64,
  FP16,
  STORAGE16,
  SUBGROUP,
  SUBGROUP_SIZE,
  SUBGROUP_SIZE_CONTROL,
  SUBGROUPS,
  SUBGROUP_UNIFORM,
  MAXIMAL_RECONVERGENCE,
  UNIFORM_LOADS,
  TIMESTAMPS,
  PIPELINE_CACHE,
  CLASS,
  REGISTERS,
  SHARED,
  INVOCATIONS,
  GROUPS,
  PUSH_CONSTANTS,
  ALLOCATION,
  MEMORY,
  PROCESSORS,
  SUBMISSION_MS,
  GEMM,
  ATTENTION,
  MATRIX,
  MATRIX_SHAPE,
  FUSION,
  KEYS
} key_index;

#define MEMBER(member) .offset = offsetof(ft_caps, member), .bytes = sizeof((ft_caps *)0)->member
#define SWITCH(key, member, text)                                                                  \
  { .name = (key), .kind = FT_CAP_SWITCH, MEMBER(member), .meaning = (text) }
/* A limit can be lowered to Vulkan's guaranteed minimum, if there is one. */
#define LIMIT(key, member, least, text)                                                            \
  { .name = (key), .kind = FT_CAP_LIMIT, MEMBER(member), .low = (least), .meaning = (text) }
#define NAMES(key, text, ...)                                                                      \
  { .name = (key), .kind = FT_CAP_NAME, .names = {__VA_ARGS__}, .meaning = (text) }

const ft_cap_key ft_cap_keys[KEYS] = {
    [INT64] = SWITCH("int64", info.int64, "64-bit integers in kernels"),
    [FP16] = SWITCH("fp16", info.fp16, "16-bit floats in kernels and storage"),
    [STORAGE16] = SWITCH("storage16", storage16, "single 16-bit elements of buffers in kernels"),
    [SUBGROUP] = SWITCH("subgroup", subgroup, "sums, ballots and shuffles within a subgroup"),
    [SUBGROUP_SIZE] = {.name = "subgroup_size",
                       .kind = FT_CAP_POWER,
                       .low = 4,
                       .high = 128,
                       .meaning = "plan as for subgroups of so many, whatever really runs"},
    [SUBGROUP_SIZE_CONTROL] = SWITCH("subgroup_size_control", subgroup_size_control,
                                     "a kernel may require its subgroup size"),
    [SUBGROUPS] = LIMIT("subgroups", max_subgroups, 1,
                        "subgroups of a workgroup whose kernel requires their size"),
    [SUBGROUP_UNIFORM] = SWITCH("subgroup_uniform", subgroup_uniform,
                                "kernels ask that subgroups meet again where they parted"),
    [MAXIMAL_RECONVERGENCE] = SWITCH("maximal_reconvergence", maximal_reconvergence,
                                     "kernels ask that whoever parted meets again"),
    [UNIFORM_LOADS] =
        SWITCH("uniform_loads", uniform_loads,
               "products, attention and norms rely on scalar loads from uniform addresses"),
    [TIMESTAMPS] = SWITCH("timestamps", info.timestamps, "clock on the device"),
    [PIPELINE_CACHE] = SWITCH("pipeline_cache", pipeline_cache, "compiled kernels kept on disk"),
    [CLASS] = NAMES("class", "plan as for a device of this kind", "discrete", "integrated",
                    "virtual", "cpu"),
    [REGISTERS] = NAMES("registers", "what register tiles are cut for", "few", "many"),
    [SHARED] = LIMIT("shared", info.shared_memory_bytes, 16384, "shared memory, in bytes"),
    [INVOCATIONS] =
        LIMIT("invocations", info.max_workgroup_invocations, 128, "invocations of a workgroup"),
    [GROUPS] = LIMIT("groups", max_groups[0], 65535, "workgroups in each dimension of a dispatch"),
    [PUSH_CONSTANTS] = LIMIT("push_constants", max_push_bytes, FT_PUSH_BYTES,
                             "push constants, in bytes; no kernel takes more than 128"),
    [ALLOCATION] = LIMIT("allocation", info.max_allocation_bytes, 1 << 20,
                         "largest single allocation, in bytes"),
    [MEMORY] = LIMIT("memory", info.memory_bytes, 1 << 20,
                     "device memory, in bytes; what is beyond fails"),
    [PROCESSORS] = {.name = "processors",
                    .kind = FT_CAP_NUMBER,
                    .high = 65535,
                    .meaning = "plan as for so many compute units, SMs or shader cores; 0: as for "
                               "96"},
    [SUBMISSION_MS] = {.name = "submission_ms",
                       .kind = FT_CAP_NUMBER,
                       .high = 10000,
                       .meaning = "most that a submission should take; 0: no limit"},
    [GEMM] = NAMES("gemm", "kernel of matrix products", [FT_STYLE_NAIVE] = "naive",
                   [FT_STYLE_SHARED] = "tiled", [FT_STYLE_SUBGROUP] = "s64"),
    /* Values count from FT_STYLE_SHARED: attention has no naive kernel. */
    [ATTENTION] = NAMES("attention", "kernels of attention", "tiled", "lanes", "uniform"),
    [MATRIX] = NAMES("matrix", "when 16-bit products take matrix units", [FT_MATRIX_OFF] = "off",
                     [FT_MATRIX_TUNED] = "tuned", [FT_MATRIX_FORCE] = "force"),
    [MATRIX_SHAPE] =
        NAMES("matrix_shape", "with matrix=force, plan for this shape, M x N x K", "8x8x8",
              "8x8x16", "8x16x8", "8x16x16", "16x8x8", "16x8x16", "16x16x8", "16x16x16"),
    [FUSION] = NAMES("fusion",
                     "whether elementwise calls and copies that follow one another become one, "
                     "sums over parts one, repeated ones none, and derivatives of activations "
                     "parts of products",
                     "off", "on"),
};
const size_t ft_cap_key_count = KEYS;

enum { FEW, MANY };

static uint64_t get(const ft_caps *caps, const ft_cap_key *key) {
  const char *at = (const char *)caps + key->offset;
  if (key->kind == FT_CAP_SWITCH) return *(const bool *)at;
  return key->bytes == sizeof(uint32_t) ? *(const uint32_t *)at : *(const uint64_t *)at;
}

static void put(ft_caps *caps, const ft_cap_key *key, uint64_t value) {
  char *at = (char *)caps + key->offset;
  if (key->kind == FT_CAP_SWITCH)
    *(bool *)at = value != 0;
  else if (key->bytes == sizeof(uint32_t))
    *(uint32_t *)at = (uint32_t)value;
  else
    *(uint64_t *)at = value;
}

/* Writes "a, b or c". */
static void list_names(const char *const *names, char text[FT_CAP_TEXT]) {
  size_t used = 0;
  for (int i = 0; names[i]; i++) {
    const char *before = i == 0 ? "" : names[i + 1] ? ", " : " or ";
    used += (size_t)snprintf(text + used, FT_CAP_TEXT - used, "%s%s", before, names[i]);
  }
}

void ft_cap_range(const ft_cap_key *key, const ft_caps *caps, char text[FT_CAP_TEXT]) {
  switch (key->kind) {
  case FT_CAP_SWITCH:
    snprintf(text, FT_CAP_TEXT, "0 or 1");
    break;
  case FT_CAP_LIMIT:
    if (caps)
      snprintf(text, FT_CAP_TEXT,
               "a whole number from %" PRIu64 " to %" PRIu64 ", what this device has,", key->low,
               get(caps, key));
    else
      snprintf(text, FT_CAP_TEXT, "a whole number from %" PRIu64, key->low);
    break;
  case FT_CAP_POWER:
    snprintf(text, FT_CAP_TEXT, "a power of two from %" PRIu64 " to %" PRIu64, key->low, key->high);
    break;
  case FT_CAP_NUMBER:
    snprintf(text, FT_CAP_TEXT, "a whole number from %" PRIu64 " to %" PRIu64, key->low, key->high);
    break;
  case FT_CAP_NAME:
    list_names(key->names, text);
    break;
  }
}

static filtra_status find_key(const char *name, key_index *found) {
  char list[640];
  size_t used = 0;
  const char *near = NULL;
  for (int i = 0; i < KEYS; i++) {
    *found = (key_index)i;
    if (!strcmp(name, ft_cap_keys[i].name)) return FILTRA_OK;
    if (!near && ft_name_distance(name, ft_cap_keys[i].name) <= 2) near = ft_cap_keys[i].name;
    const char *before = i == 0 ? "" : i + 1 < KEYS ? ", " : " and ";
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", before, ft_cap_keys[i].name);
  }
  return ft_fail(FILTRA_ERROR_ARGUMENT, "unknown capability \"%.80s\"%s%s%s; there are %s", name,
                 near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", list);
}

/* ---- reading ---- */

/* The value given for a key; the last one counts. */
typedef struct setting {
  bool set;
  uint64_t value;
} setting;

typedef struct settings {
  const ft_caps *device; /* unchanged capabilities */
  setting of[KEYS];
} settings;

static bool parse_number(const char *text, uint64_t *value) {
  *value = 0;
  if (!*text) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    uint64_t digit = (uint64_t)(*text - '0');
    if (*value > (UINT64_MAX - digit) / 10) return false;
    *value = *value * 10 + digit;
  }
  return true;
}

/* Reads a value and checks that the key accepts it; in a profile, limits may exceed the
 * device's. */
static bool parse_value(const ft_cap_key *key, const char *text, uint64_t most, uint64_t *value) {
  if (key->kind == FT_CAP_NAME) {
    for (*value = 0; key->names[*value]; ++*value)
      if (!strcmp(text, key->names[*value])) return true;
    return false;
  }
  if (!parse_number(text, value)) return false;
  switch (key->kind) {
  case FT_CAP_SWITCH:
    return *value <= 1 && text[1] == '\0';
  case FT_CAP_LIMIT:
    return *value >= key->low && *value <= most;
  case FT_CAP_POWER:
    return *value >= key->low && *value <= key->high && !(*value & (*value - 1));
  default:
    return *value >= key->low && *value <= key->high;
  }
}

static filtra_status take(settings *s, const char *name, const char *text, bool given) {
  key_index index;
  FT_TRY(find_key(name, &index));
  const ft_cap_key *key = &ft_cap_keys[index];
  const ft_caps *device = given ? s->device : NULL;
  uint64_t value;
  if (!parse_value(key, text, device ? get(device, key) : UINT64_MAX, &value)) {
    char range[FT_CAP_TEXT];
    ft_cap_range(key, device, range);
    return ft_fail(FILTRA_ERROR_ARGUMENT, "capability %s=%.80s: %s is expected", name, text, range);
  }
  if (key->kind == FT_CAP_SWITCH && device && value && !get(device, key))
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "capability %s=1: this device does not have it", name);
  s->of[index] = (setting){true, value};
  return FILTRA_OK;
}

/* The profile being read; each key may occur once. */
typedef struct profile_reader {
  settings *settings;
  bool seen[KEYS];
} profile_reader;

static filtra_status take_profile_line(void *to, const char *name, const char *text) {
  profile_reader *reader = to;
  key_index index;
  FT_TRY(find_key(name, &index));
  if (reader->seen[index])
    return ft_fail(FILTRA_ERROR_INPUT, "capability %s is given a second time", name);
  reader->seen[index] = true;
  return take(reader->settings, name, text, false);
}

static filtra_status take_item(settings *s, char *item) {
  profile_reader reader = {.settings = s};
  if (*item == '@') return ft_profile_read(item + 1, take_profile_line, &reader);
  char *value = strchr(item, '=');
  if (!value)
    return ft_fail(
        FILTRA_ERROR_ARGUMENT,
        "capabilities are given as key=value or @profile, with commas between; \"%.80s\" "
        "is neither",
        item);
  *value++ = '\0';
  return take(s, item, value, true);
}

static filtra_status read_settings(settings *s, const char *text) {
  char *copy = ft_strdup(text), *rest = copy;
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = FILTRA_OK;
  for (char *item; !status && (item = ft_strsep(&rest, ",")) != NULL;)
    if (*item) status = take_item(s, item);
  free(copy);
  return status;
}

/* ---- deciding ---- */

bool ft_caps_runs(const ft_caps *caps, uint32_t size, uint32_t workgroup) {
  if (!caps->subgroup || !size || (size & (size - 1))) return false;
  if (!caps->subgroup_size_control)
    return size == caps->subgroup_least && size == caps->subgroup_most;
  return size >= caps->subgroup_least && size <= caps->subgroup_most &&
         workgroup <= (uint64_t)size * caps->max_subgroups;
}

uint32_t ft_uniform_lanes(const ft_caps *caps) {
  const uint32_t size = caps->info.subgroup_size;
  const bool gains = caps->cpu && caps->uniform_loads && caps->info.int64;
  return gains && ft_caps_runs(caps, size, size) ? size : 0;
}

static void apply_class(ft_caps *caps, filtra_device_class class) {
  caps->info.device_class = class;
  caps->cpu = class == FILTRA_DEVICE_CPU;
  caps->submission_seconds = ft_submission_seconds(caps->cpu);
}

static void apply(ft_caps *caps, const setting *s) {
  for (int i = 0; i < KEYS; i++) {
    const ft_cap_key *key = &ft_cap_keys[i];
    if (!s[i].set || (key->kind != FT_CAP_SWITCH && key->kind != FT_CAP_LIMIT)) continue;
    if (s[i].value < get(caps, key)) put(caps, key, s[i].value);
  }
  filtra_device_info *info = &caps->info;
  for (int i = 1; i < 3; i++)
    if (caps->max_groups[i] > caps->max_groups[0] && s[GROUPS].set)
      caps->max_groups[i] = caps->max_groups[0];
  if (s[MEMORY].set) caps->memory_limit = info->memory_bytes;
  if (info->max_allocation_bytes > info->memory_bytes && s[MEMORY].set)
    info->max_allocation_bytes = info->memory_bytes;
  if (s[SUBGROUP_SIZE].set)
    info->subgroup_size = info->subgroup_size_min = info->subgroup_size_max =
        (uint32_t)s[SUBGROUP_SIZE].value;
  if (s[CLASS].set) apply_class(caps, (filtra_device_class)s[CLASS].value);
  if (s[REGISTERS].set) caps->few_registers = s[REGISTERS].value == FEW;
  caps->fuses = !s[FUSION].set || s[FUSION].value;
  if (s[PROCESSORS].set) caps->processors = (uint32_t)s[PROCESSORS].value;
  if (s[SUBMISSION_MS].set) caps->submission_seconds = (double)s[SUBMISSION_MS].value * 1e-3;
  info->subgroup_arithmetic = caps->subgroup;
  caps->matrix = caps->matrix && info->fp16 && info->int64 && caps->storage16 &&
                 ft_caps_runs(caps, ft_matrix_lanes(caps), ft_matrix_lanes(caps));
  caps->bfloat16 = caps->bfloat16 && caps->matrix;
  info->cooperative_matrix = caps->matrix;
  if (!info->timestamps) caps->timestamp_ns = 0;
}

static filtra_status choose_matrices(ft_caps *caps, const setting *use, const setting *shape) {
  /* CPU drivers emulate matrix units. */
  caps->matrix_use = use->set        ? (ft_matrix_use)use->value
                     : caps->for_cpu ? FT_MATRIX_OFF
                                     : FT_MATRIX_TUNED;
  if (shape->set && caps->matrix_use != FT_MATRIX_FORCE)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "capability matrix_shape goes with matrix=force: else the shapes are those that "
                   "passed the self-test");
  if (shape->set) {
    ft_matrix_shape_read(ft_cap_keys[MATRIX_SHAPE].names[shape->value], &caps->matrix_f16);
    caps->matrix_bf16 = caps->matrix_f16;
  }
  if (caps->matrix_use == FT_MATRIX_FORCE && !caps->matrix && !shape->set)
    return ft_fail(
        FILTRA_ERROR_UNSUPPORTED,
        "capability matrix=force needs matrix units (VK_KHR_cooperative_matrix), 16-bit "
        "floats, 64-bit integers and a choice of subgroup size, which this device or its "
        "driver lacks or another capability masks; matrix=tuned runs everywhere");
  return FILTRA_OK;
}

/* Chooses the styles of products and attention. FT_STYLE_SUBGROUP needs one subgroup per workgroup,
 * of a size known here; for products (s64) also 64-bit integers, as lanes share pairs of floats
 * loaded as 64 bits. */
static filtra_status choose_kernels(ft_caps *caps, const setting *gemm, const setting *attention) {
  const filtra_device_info *info = &caps->info;
  bool known = ft_caps_runs(caps, info->subgroup_size, info->subgroup_size);
  bool s64 = info->int64 && known, lanes = known && info->subgroup_size >= 4;
  bool uniform = lanes && info->int64;
  caps->product_style = gemm->set          ? (ft_kernel_style)gemm->value
                        : caps->cpu && s64 ? FT_STYLE_SUBGROUP
                                           : FT_STYLE_SHARED;
  caps->attention_style = attention->set ? (ft_kernel_style)(FT_STYLE_SHARED + attention->value)
                          : !caps->cpu || !lanes           ? FT_STYLE_SHARED
                          : uniform && caps->uniform_loads ? FT_STYLE_UNIFORM
                                                           : FT_STYLE_SUBGROUP;
  if (caps->product_style == FT_STYLE_SUBGROUP && !s64)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "capability gemm=s64 needs 64-bit integers and subgroup operations in subgroups "
                   "of a known size, which this device lacks or another capability masks; use "
                   "tiled");
  if (caps->attention_style == FT_STYLE_SUBGROUP && !lanes)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "capability attention=lanes needs subgroup operations and subgroups of a known "
                   "size, which this device lacks or another capability masks; use tiled");
  if (caps->attention_style == FT_STYLE_UNIFORM && !uniform)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "capability attention=uniform needs 64-bit integers and subgroup operations in "
                   "subgroups of a known size, which this device lacks or another capability "
                   "masks; use lanes or tiled");
  return FILTRA_OK;
}

filtra_status ft_caps_override(ft_caps *caps, const char *text) {
  const ft_caps device = *caps;
  settings s = {.device = &device};
  if (text) FT_TRY(read_settings(&s, text));
  apply(caps, s.of);
  FT_TRY(choose_kernels(caps, &s.of[GEMM], &s.of[ATTENTION]));
  FT_TRY(choose_matrices(caps, &s.of[MATRIX], &s.of[MATRIX_SHAPE]));
  /* A GPU needs enough invocations to hide latency; a CPU driver runs subgroups one by one. */
  uint32_t row = caps->info.subgroup_size, most = caps->info.max_workgroup_invocations;
  if (!caps->cpu && row < 64) row = 64;
  caps->row_workgroup = row < most ? row : most;
  return FILTRA_OK;
}

/* ---- printing ---- */

char *ft_caps_profile(const ft_caps *caps) {
  char *text = ft_format("# %s\n# driver: %s\n", caps->info.name, caps->info.driver);
  for (int i = 0; i < KEYS && text; i++) {
    const ft_cap_key *key = &ft_cap_keys[i];
    const char *name = NULL;
    uint64_t value = 0;
    if (key->kind == FT_CAP_SWITCH || key->kind == FT_CAP_LIMIT)
      value = get(caps, key);
    else if (i == SUBGROUP_SIZE)
      value = caps->info.subgroup_size;
    else if (i == PROCESSORS && caps->processors)
      value = caps->processors;
    else if (i == CLASS && caps->info.device_class <= FILTRA_DEVICE_CPU)
      name = key->names[caps->info.device_class];
    else if (i == REGISTERS)
      name = key->names[caps->few_registers ? FEW : MANY];
    else
      continue; /* a choice, not a property of the device */
    /* No kernel needs a value below the key's range. */
    bool shown = name || (value >= key->low && (i != PIPELINE_CACHE));
    if (!shown) continue;
    char *longer = name ? ft_format("%s%s = %s\n", text, key->name, name)
                        : ft_format("%s%s = %" PRIu64 "\n", text, key->name, value);
    free(text);
    text = longer;
  }
  return text;
}

char *ft_caps_plan(const ft_caps *caps) {
  const filtra_device_info *info = &caps->info;
  const uint32_t most = 256; /* no kernel needs more */
  char subgroups[120] = "no subgroups", submissions[64] = "submissions uncut";
  if (caps->subgroup && ft_caps_runs(caps, info->subgroup_size, info->subgroup_size))
    snprintf(subgroups, sizeof subgroups, "subgroups of %u", info->subgroup_size);
  else if (caps->subgroup)
    snprintf(subgroups, sizeof subgroups, "subgroups taken for %u (%u to %u run)",
             info->subgroup_size, caps->subgroup_least, caps->subgroup_most);
  if (caps->submission_seconds > 0)
    snprintf(submissions, sizeof submissions, "submissions of %.0f ms as %s",
             caps->submission_seconds * 1e3, caps->timestamp_ns > 0 ? "measured" : "estimated");
  return ft_format("%s, %s, rows of %u, %s products, %s attention, workgroups to %u, %u bytes "
                   "shared, %s registers%s%s, %s",
                   caps->cpu ? "CPU" : "GPU", subgroups, caps->row_workgroup,
                   ft_cap_keys[GEMM].names[caps->product_style],
                   ft_cap_keys[ATTENTION].names[caps->attention_style - FT_STYLE_SHARED],
                   info->max_workgroup_invocations < most ? info->max_workgroup_invocations : most,
                   info->shared_memory_bytes, caps->few_registers ? "few" : "many",
                   caps->few_registers && ft_caps_runs(caps, 16, 128) ? " with lanes of 16" : "",
                   caps->cpu && !info->int64 ? ", no 64-bit integers" : "", submissions);
}
