/* Reads files of `filtra bench`, without trusting them: every error names file and field, and says
 * what is accepted. Called by compare.c. */
#include "compare.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "common/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Formats of a benchmark's file, and of a report, which adds other parts. */
static const char FORMAT[] = "filtra-bench-1", CHECK_FORMAT[] = "filtra-check-1";

enum { MOST_RESULTS = 2000, MOST_LOSSES = 100, MOST_STEPS = 10000 };

/* ---- results ---- */

/* Whether a whole number is a measurement, not part of the case. */
static bool is_measured(const char *key) {
  static const char *const KEYS[] = {"flops", "matrix_flops", "bytes", "memory_bytes", "runs"};
  for (size_t i = 0; i < FT_COUNT(KEYS); i++)
    if (!strcmp(key, KEYS[i])) return true;
  return false;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Layers are compared per sequence, since CPUs and GPUs use different batch sizes. */
static bool is_layer(const compare_entry *e) {
  return !strcmp(e->op, "mixer_layer");
}

/* Lists a case's numbers by name, so that their order in the file does not matter: "batch 4, length
 * 1024". */
static filtra_status describe_shape(const json_t *object, bool layer, char **out) {
  enum { MOST_NUMBERS = 24, TEXT = 480 };
  const char *names[MOST_NUMBERS], *key;
  json_t *value;
  size_t count = 0, used = 0;
  char text[TEXT] = "";
  json_object_foreach((json_t *)object, key, value) {
    if (!json_is_integer(value) || is_measured(key) || (layer && !strcmp(key, "batch"))) continue;
    if (count < MOST_NUMBERS) names[count++] = key;
  }
  qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 0; i < count && used < TEXT; i++)
    used += (size_t)snprintf(text + used, TEXT - used, "%s%s %lld", i ? ", " : "", names[i],
                             (long long)json_integer_value(json_object_get(object, names[i])));
  *out = ft_strdup(text);
  return *out ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* FNV-1a over all texts, including their NULs. */
static uint64_t hash_of(const compare_entry *e) {
  const char *const texts[] = {
      e->op, is_layer(e) ? "" : e->name, e->variant, e->pass, e->mixer, e->shape, e->precision};
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < FT_COUNT(texts); i++)
    for (const char *at = texts[i];; at++) {
      hash = (hash ^ (unsigned char)*at) * 1099511628211u;
      if (!*at) break;
    }
  return hash;
}

static filtra_status check_times(const compare_entry *e, const char *where) {
  bool grows = !strcmp(e->op, "mixer_scaling");
  if (*e->error || *e->skipped || (grows && !isnan(e->time_exponent))) return FILTRA_OK;
  if (isnan(e->median))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: has neither \"%s\" nor \"error\"", where,
                   grows ? "time_exponent" : "seconds_median");
  if (!(e->best > e->median) && !(e->median > e->worst)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: seconds_best %.6g, seconds_median %.6g and seconds_worst %.6g are out of "
                 "order",
                 where, e->best, e->median, e->worst);
}

static const field ENTRY_FIELDS[] = {
    {"op", offsetof(compare_entry, op), FIELD_TEXT, true},
    {"case", offsetof(compare_entry, name), FIELD_TEXT, true},
    {"variant", offsetof(compare_entry, variant), FIELD_TEXT, false},
    {"precision", offsetof(compare_entry, precision), FIELD_TEXT, false},
    {"pass", offsetof(compare_entry, pass), FIELD_TEXT, false},
    {"mixer", offsetof(compare_entry, mixer), FIELD_TEXT, false},
    {"error", offsetof(compare_entry, error), FIELD_TEXT, false},
    {"skipped", offsetof(compare_entry, skipped), FIELD_TEXT, false},
    {"seconds_best", offsetof(compare_entry, best), FIELD_AMOUNT, false},
    {"seconds_median", offsetof(compare_entry, median), FIELD_AMOUNT, false},
    {"seconds_worst", offsetof(compare_entry, worst), FIELD_AMOUNT, false},
    {"flops", offsetof(compare_entry, flops), FIELD_AMOUNT, false},
    {"bytes", offsetof(compare_entry, bytes), FIELD_AMOUNT, false},
    {"gflops", offsetof(compare_entry, gflops), FIELD_AMOUNT, false},
    {"gbytes_per_second", offsetof(compare_entry, gbytes), FIELD_AMOUNT, false},
    {"fraction_of_peak", offsetof(compare_entry, fraction), FIELD_AMOUNT, false},
    {"roof", offsetof(compare_entry, roof), FIELD_TEXT, false},
    {"memory_bytes", offsetof(compare_entry, memory), FIELD_AMOUNT, false},
    {"tokens_per_second", offsetof(compare_entry, tokens), FIELD_AMOUNT, false},
    {"batch", offsetof(compare_entry, batch), FIELD_AMOUNT, false},
    {"length", offsetof(compare_entry, length), FIELD_AMOUNT, false},
    {"time_exponent", offsetof(compare_entry, time_exponent), FIELD_NUMBER, false},
    {"memory_exponent", offsetof(compare_entry, memory_exponent), FIELD_NUMBER, false},
};

static filtra_status read_entry(const json_t *object, const char *where, compare_entry *e) {
  if (!json_is_object(object))
    return ft_fail(FILTRA_ERROR_INPUT, "%s must be an object, not %s", where, fields_type(object));
  FT_TRY(fields_read(object, ENTRY_FIELDS, FT_COUNT(ENTRY_FIELDS), where, e));
  FT_TRY(describe_shape(object, is_layer(e), &e->shape));
  if (!strcmp(e->precision, "fp32")) e->precision = "";
  e->sequences = is_layer(e) && e->batch > 0.0 ? e->batch : 1.0;
  e->hash = hash_of(e);
  return check_times(e, where);
}

static filtra_status check_single(const compare_machine *m, size_t i) {
  const compare_entry *e = &m->entries[i];
  for (size_t k = 0; k < i; k++)
    if (m->entries[k].hash == e->hash)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: results[%zu] repeats results[%zu]: op \"%.80s\", case \"%.160s\"",
                     m->path, i, k, e->op, e->name);
  return FILTRA_OK;
}

static filtra_status read_results(compare_machine *m) {
  const json_t *list;
  char where[512];
  FT_TRY(fields_find(m->root, m->path, "results", JSON_ARRAY, true, &list));
  size_t count = json_array_size(list);
  if (count > MOST_RESULTS)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"results\" has %zu entries, at most %d are accepted",
                   m->path, count, MOST_RESULTS);
  m->entries = ft_calloc(count + 1, sizeof *m->entries);
  if (!m->entries) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++) {
    snprintf(where, sizeof where, "%.400s: results[%zu]", m->path, i);
    m->entry_count = i + 1;
    FT_TRY(read_entry(json_array_get(list, i), where, &m->entries[i]));
    FT_TRY(check_single(m, i));
  }
  return FILTRA_OK;
}

/* ---- losses ---- */

static filtra_status read_values(const json_t *list, const char *where, compare_losses *l) {
  size_t count = json_array_size(list);
  if (count < 1 || count > MOST_STEPS)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"values\" has %zu numbers, accepted are 1 to %d",
                   where, count, MOST_STEPS);
  l->values = ft_calloc(count, sizeof *l->values);
  if (!l->values) return FILTRA_ERROR_HOST_MEMORY;
  for (l->count = 0; l->count < count; l->count++) {
    const json_t *value = json_array_get(list, l->count);
    if (!json_is_number(value))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: values[%zu] must be a number, not %s", where,
                     l->count, fields_type(value));
    l->values[l->count] = json_number_value(value);
  }
  return FILTRA_OK;
}

static const field LOSSES_FIELDS[] = {
    {"mixer", offsetof(compare_losses, mixer), FIELD_TEXT, true},
    {"error", offsetof(compare_losses, error), FIELD_TEXT, false},
    {"seed", offsetof(compare_losses, seed), FIELD_AMOUNT, false},
    {"steps", offsetof(compare_losses, steps), FIELD_AMOUNT, false},
};

static filtra_status read_one_losses(const json_t *object, const char *where, compare_losses *l) {
  const json_t *values;
  if (!json_is_object(object))
    return ft_fail(FILTRA_ERROR_INPUT, "%s must be an object, not %s", where, fields_type(object));
  FT_TRY(fields_read(object, LOSSES_FIELDS, FT_COUNT(LOSSES_FIELDS), where, l));
  FT_TRY(fields_find(object, where, "config", JSON_OBJECT, !*l->error, &l->config));
  FT_TRY(fields_find(object, where, "values", JSON_ARRAY, !*l->error, &values));
  return *l->error ? FILTRA_OK : read_values(values, where, l);
}

static filtra_status read_losses(compare_machine *m) {
  const json_t *list;
  char where[512];
  FT_TRY(fields_find(m->root, m->path, "losses", JSON_ARRAY, false, &list));
  size_t count = json_array_size(list);
  if (count > MOST_LOSSES)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"losses\" has %zu entries, at most %d are accepted",
                   m->path, count, MOST_LOSSES);
  m->losses = ft_calloc(count + 1, sizeof *m->losses);
  if (!m->losses) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++) {
    snprintf(where, sizeof where, "%.400s: losses[%zu]", m->path, i);
    m->loss_count = i + 1;
    FT_TRY(read_one_losses(json_array_get(list, i), where, &m->losses[i]));
    for (size_t k = 0; k < i; k++)
      if (!strcmp(m->losses[k].mixer, m->losses[i].mixer))
        return ft_fail(FILTRA_ERROR_INPUT, "%s repeats losses[%zu]: mixer \"%.80s\"", where, k,
                       m->losses[i].mixer);
  }
  return FILTRA_OK;
}

/* ---- device, host and peaks ---- */

static const field FILE_FIELDS[] = {
    {"filtra", offsetof(compare_machine, version), FIELD_TEXT, true},
    {"commit", offsetof(compare_machine, commit), FIELD_TEXT, false},
    {"date", offsetof(compare_machine, date), FIELD_TEXT, false},
    {"caps", offsetof(compare_machine, caps), FIELD_TEXT, false},
    {"quick", offsetof(compare_machine, quick), FIELD_FLAG, false},
    {"tuned", offsetof(compare_machine, tuned), FIELD_AMOUNT, false},
    {"driver_threads", offsetof(compare_machine, driver_threads), FIELD_AMOUNT, false},
};
static const field DEVICE_FIELDS[] = {
    {"name", offsetof(compare_machine, device), FIELD_TEXT, true},
    {"driver", offsetof(compare_machine, driver), FIELD_TEXT, true},
    {"class", offsetof(compare_machine, kind), FIELD_TEXT, false},
    {"api_version", offsetof(compare_machine, api), FIELD_TEXT, false},
    {"memory_bytes", offsetof(compare_machine, memory), FIELD_AMOUNT, false},
    {"subgroup_size", offsetof(compare_machine, subgroup), FIELD_AMOUNT, false},
};
static const field HOST_FIELDS[] = {
    {"cpu", offsetof(compare_machine, cpu), FIELD_TEXT, false},
    {"system", offsetof(compare_machine, system), FIELD_TEXT, false},
    {"cores", offsetof(compare_machine, cores), FIELD_AMOUNT, false},
};
static const field FMA_FIELDS[] = {
    {"gflops", offsetof(compare_machine, peak_gflops), FIELD_AMOUNT, false}};
static const field BF16_FIELDS[] = {
    {"gflops", offsetof(compare_machine, peak_bf16), FIELD_AMOUNT, false}};
static const field FP16_FIELDS[] = {
    {"gflops", offsetof(compare_machine, peak_fp16), FIELD_AMOUNT, false}};
static const field COPY_FIELDS[] = {
    {"gbytes_per_second", offsetof(compare_machine, peak_gbytes), FIELD_AMOUNT, false}};
static const field DISPATCH_FIELDS[] = {
    {"seconds_best", offsetof(compare_machine, dispatch), FIELD_AMOUNT, false}};

static const field CHECK_FIELDS[] = {
    {"files", offsetof(compare_machine, golden_cases), FIELD_AMOUNT, false},
    {"passed", offsetof(compare_machine, golden_passed), FIELD_AMOUNT, false},
};

static const struct {
  const char *outer, *name; /* `name` within the object `outer`; NULL: at the top level */
  const field *fields;
  size_t count;
  bool needed;
} PARTS[] = {
    {NULL, "device", DEVICE_FIELDS, FT_COUNT(DEVICE_FIELDS), true},
    {NULL, "check", CHECK_FIELDS, FT_COUNT(CHECK_FIELDS), false},
    {NULL, "host", HOST_FIELDS, FT_COUNT(HOST_FIELDS), false},
    {"peaks", "fma", FMA_FIELDS, FT_COUNT(FMA_FIELDS), false},
    {"peaks", "matrix_bf16", BF16_FIELDS, FT_COUNT(BF16_FIELDS), false},
    {"peaks", "matrix_fp16", FP16_FIELDS, FT_COUNT(FP16_FIELDS), false},
    {"peaks", "copy", COPY_FIELDS, FT_COUNT(COPY_FIELDS), false},
    {"peaks", "dispatch", DISPATCH_FIELDS, FT_COUNT(DISPATCH_FIELDS), false},
};

static filtra_status read_parts(compare_machine *m) {
  for (size_t i = 0; i < FT_COUNT(PARTS); i++) {
    const json_t *outer = m->root, *part;
    char where[512];
    if (PARTS[i].outer)
      FT_TRY(fields_find(m->root, m->path, PARTS[i].outer, JSON_OBJECT, false, &outer));
    FT_TRY(fields_find(outer, m->path, PARTS[i].name, JSON_OBJECT, PARTS[i].needed, &part));
    snprintf(where, sizeof where, "%.400s: \"%s\"", m->path, PARTS[i].name);
    FT_TRY(fields_read(part, PARTS[i].fields, PARTS[i].count, where, m));
  }
  return FILTRA_OK;
}

static filtra_status check_format(const compare_machine *m) {
  if (!json_is_object(m->root))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: must be an object written by 'filtra bench --out', not %s", m->path,
                   fields_type(m->root));
  const char *format = json_string_value(json_object_get(m->root, "format"));
  if (format && (!strcmp(format, FORMAT) || !strcmp(format, CHECK_FORMAT))) return FILTRA_OK;
  if (format && !strncmp(format, "filtra-", strlen("filtra-")))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"format\" is \"%.40s\", accepted are \"%s\" and \"%s\"", m->path, format,
                   FORMAT, CHECK_FORMAT);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: is no file of 'filtra bench --out': \"format\": \"%s\" is missing", m->path,
                 FORMAT);
}

filtra_status compare_read(const char *path, compare_machine *m) {
  *m = (compare_machine){.path = path};
  if (ft_is_directory(path))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s is a folder; compared are files of 'filtra bench --out'. Of runs, 'filtra "
                   "report' makes a table and 'filtra analyze' shows the mixers",
                   path);
  FT_TRY(ft_json_load(path, &m->root));
  FT_TRY(check_format(m));
  FT_TRY(fields_read(m->root, FILE_FIELDS, FT_COUNT(FILE_FIELDS), path, m));
  FT_TRY(fields_find(m->root, path, "model", JSON_OBJECT, false, &m->model));
  FT_TRY(read_parts(m));
  FT_TRY(read_results(m));
  return read_losses(m);
}

void compare_free_machine(compare_machine *m) {
  for (size_t i = 0; i < m->entry_count; i++)
    free(m->entries[i].shape);
  for (size_t i = 0; i < m->loss_count; i++)
    free(m->losses[i].values);
  free(m->entries);
  free(m->losses);
  free(m->label);
  json_decref(m->root);
}
