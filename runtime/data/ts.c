/* The format "ts", listed in dataset.c: time series as the UEA and UCR archives distribute them
 * (Bagnall et al. 2018), NAME_TRAIN.ts and NAME_TEST.ts. A line is a sample: dimensions separated
 * by ':', their values by ',', the class last. */
#include "base/file.h"
#include "base/lines.h"
#include "base/memory.h"
#include "data/names.h"
#include "data/number.h"
#include "data/ts_header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char TRAIN_END[] = "_TRAIN.ts", TEST_END[] = "_TEST.ts";

/* State of the file being read. */
typedef struct ts_reader {
  ft_lines lines;
  ft_ts_header header;
  ft_labels *labels;
  filtra_dataset *ds;
  const filtra_dataset_options *options;
  ft_samples *samples;
  uint32_t cut;  /* longer series are cut here; 0: never */
  float *series; /* one sample, [dimensions][length] as in the file */
  size_t capacity;
} ts_reader;

/* ---- one sample ---- */

static bool is_missing(const char *text, size_t length) {
  return (length == 1 && *text == '?') || (length == 3 && !strncasecmp(text, "nan", 3));
}

static filtra_status read_value(const ts_reader *r, const char *text, size_t length, float *value) {
  ft_trim(&text, &length);
  if (length == 0) return ft_fail(FILTRA_ERROR_INPUT, "nothing");
  if (!is_missing(text, length)) return ft_read_number(text, length, value);
  *value = NAN;
  if (r->header.no_missing)
    return ft_fail(FILTRA_ERROR_INPUT, "missing, though the header says @missing false");
  return FILTRA_OK;
}

/* Appends the values between `text` and `end` to the series at `first`. */
static filtra_status read_dimension(ts_reader *r, const char *text, const char *end, size_t number,
                                    size_t first, size_t *length) {
  *length = 0;
  for (bool more = true; more;) {
    const char *comma = memchr(text, ',', (size_t)(end - text));
    const char *stop = comma ? comma : end;
    FT_TRY(FT_GROW(r->series, first + *length, r->capacity));
    filtra_status status =
        read_value(r, text, (size_t)(stop - text), &r->series[first + (*length)++]);
    if (status) return ft_fail_context(status, "value %zu of dimension %zu", *length, number);
    more = comma != NULL;
    text = stop + 1;
  }
  return FILTRA_OK;
}

/* Interpolates missing values linearly between their neighbours; at the ends, takes the nearest
 * value. A series without any value stays missing; standardising then sets it to the mean. */
static void interpolate(float *x, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (!isnan(x[i])) continue;
    size_t next = i;
    while (next < length && isnan(x[next]))
      next++;
    bool before = i > 0, after = next < length;
    if (!before && !after) return;
    double from = before ? x[i - 1] : x[next], to = after ? x[next] : from;
    for (size_t k = i; k < next; k++)
      x[k] = (float)(from + (to - from) * (double)(k - i + 1) / (double)(next - i + 1));
  }
}

static filtra_status check_dimensions(ts_reader *r, size_t dimensions) {
  if (r->header.dimensions && dimensions != r->header.dimensions)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu dimension%s where the header says %llu", dimensions,
                   dimensions == 1 ? "" : "s", (unsigned long long)r->header.dimensions);
  if (!r->ds->info.features) r->ds->info.features = (uint32_t)dimensions;
  if (dimensions == r->ds->info.features) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%zu dimension%s where the samples before have %u", dimensions,
                 dimensions == 1 ? "" : "s", r->ds->info.features);
}

static filtra_status check_length(const ts_reader *r, size_t length, size_t *kept) {
  uint64_t expected = r->header.series_length;
  size_t limit = r->options->max_length;
  if (expected && length != expected)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "series of %zu values where the header says @seriesLength %llu", length,
                   (unsigned long long)expected);
  *kept = r->cut && length > r->cut ? r->cut : length;
  if (!limit || *kept <= limit) return FILTRA_OK;
  *kept = limit;
  if (r->options->truncate) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "series of %zu values where at most %zu are accepted; raise max_length or set "
                 "truncate",
                 length, limit);
}

/* Appends a series time step by time step, as models read it; the file has dimension after
 * dimension. */
static filtra_status append_series(ts_reader *r, size_t dimensions, size_t length, size_t kept) {
  ft_samples *s = r->samples;
  size_t count = kept * dimensions, wanted = s->value_count + count;
  if (wanted > s->value_capacity) {
    wanted += wanted / 2;
    float *values = ft_realloc(s->values, wanted, sizeof *values);
    if (!values) return FILTRA_ERROR_HOST_MEMORY;
    s->values = values;
    s->value_capacity = wanted;
  }
  float *to = s->values + s->value_count;
  for (size_t i = 0; i < kept; i++)
    for (size_t k = 0; k < dimensions; k++)
      *to++ = r->series[k * length + i];
  s->value_count += count;
  return FILTRA_OK;
}

static filtra_status read_target(ts_reader *r, const char *text, ft_sample_row *row) {
  size_t length = strlen(text);
  if (!r->header.values) return ft_labels_find(r->labels, text, length, &row->label);
  ft_trim(&text, &length);
  filtra_status status = ft_read_number(text, length, &row->value);
  return status ? ft_fail_context(status, "the target") : FILTRA_OK;
}

static filtra_status read_sample(ts_reader *r) {
  const char *text = r->lines.line, *last = strrchr(text, ':');
  ft_samples *s = r->samples;
  ft_sample_row row = {.first = s->value_count};
  size_t dimensions = 0, length = 0, kept = 0;
  if (!last)
    return ft_fail(FILTRA_ERROR_INPUT, "no ':' where one separates the series from the %s",
                   r->header.values ? "target" : "class");
  while (text <= last) {
    const char *end = strchr(text, ':');
    size_t count;
    FT_TRY(read_dimension(r, text, end, dimensions + 1, dimensions * length, &count));
    if (dimensions == 0) length = count;
    if (count != length)
      return ft_fail(FILTRA_ERROR_INPUT, "%zu values in dimension %zu where dimension 1 has %zu",
                     count, dimensions + 1, length);
    dimensions++;
    text = end + 1;
  }
  FT_TRY(check_dimensions(r, dimensions));
  FT_TRY(check_length(r, length, &kept));
  FT_TRY(read_target(r, last + 1, &row));
  for (size_t k = 0; k < dimensions; k++)
    interpolate(r->series + k * length, length);
  FT_TRY(append_series(r, dimensions, length, kept));
  FT_TRY(FT_GROW(s->rows, s->count, s->capacity));
  row.length = (uint32_t)kept;
  s->rows[s->count++] = row;
  return FILTRA_OK;
}

/* ---- one file ---- */

static filtra_status read_line(ts_reader *r) {
  const char *line = r->lines.line;
  if (*line == '#' || *line == '%' || !line[strspn(line, " \t")]) return FILTRA_OK;
  if (!r->header.complete) return ft_ts_header_line(&r->header, line, r->labels);
  return read_sample(r);
}

static filtra_status read_lines(ts_reader *r) {
  for (bool more = true; more;) {
    FT_TRY(ft_lines_next(&r->lines, &more));
    filtra_status status = more ? read_line(r) : FILTRA_OK;
    if (status)
      return ft_fail_context(status, "%s:%llu", r->lines.path, (unsigned long long)r->lines.number);
  }
  if (!r->header.complete)
    return ft_fail(FILTRA_ERROR_INPUT, "%s:%llu: the file ends before @data", r->lines.path,
                   (unsigned long long)r->lines.number - 1);
  if (r->samples->count > 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", r->lines.path);
}

/* Checks the kind of targets. Closes the classes after the first file, the training file if there
 * is one. */
static filtra_status finish_file(const ts_reader *r, bool first) {
  filtra_target target = r->header.values ? FILTRA_TARGET_VALUE : FILTRA_TARGET_CLASS;
  if (!first && target != r->ds->info.target)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: targets are %s, those of the training file are not",
                   r->lines.path, r->header.values ? "numbers" : "classes");
  r->ds->info.target = target;
  if (!first || r->header.values) return FILTRA_OK;
  return ft_labels_close(r->labels, false, r->samples);
}

static filtra_status read_file(const char *path, const filtra_dataset_options *options,
                               filtra_dataset *ds, filtra_split split, ft_labels *labels) {
  ts_reader r = {.labels = labels, .ds = ds, .options = options, .samples = &ds->samples[split]};
  bool first = !ds->info.features;
  for (size_t i = 0; split != FILTRA_SPLIT_TRAIN && i < ds->samples[FILTRA_SPLIT_TRAIN].count;
       i++) {
    uint32_t length = ds->samples[FILTRA_SPLIT_TRAIN].rows[i].length;
    if (length > r.cut) r.cut = length;
  }
  if (split != FILTRA_SPLIT_TRAIN && options->max_length && (!r.cut || options->max_length < r.cut))
    r.cut = options->max_length;
  FT_TRY(ft_lines_open(path, &r.lines));
  filtra_status status = read_lines(&r);
  if (!status) status = finish_file(&r, first);
  ft_lines_close(&r.lines);
  free(r.series);
  return status;
}

/* ---- finding the files ---- */

/* Whether `folder` is called NAME, for `train` NAME_TRAIN.ts. */
static bool is_named_after(const char *folder, const char *train) {
  size_t end = strlen(folder), length = strlen(train) - strlen(TRAIN_END);
  while (end > 1 && folder[end - 1] == '/')
    end--;
  bool whole = end == length || (end > length && folder[end - length - 1] == '/');
  return whole && !strncmp(folder + end - length, train, length);
}

/* Chooses a folder's training file: the only one, or the one named as the folder. */
static filtra_status choose_train(const char *folder, char **names, size_t count,
                                  const char **chosen) {
  const char *found[2] = {NULL, NULL};
  *chosen = NULL;
  for (size_t i = 0; i < count && !*chosen; i++) {
    if (!ft_ends_with(names[i], TRAIN_END)) continue;
    if (is_named_after(folder, names[i])) *chosen = names[i];
    found[1] = found[0] ? names[i] : NULL;
    if (!found[0]) found[0] = names[i];
  }
  if (!*chosen && !found[1]) *chosen = found[0];
  if (*chosen) return FILTRA_OK;
  if (!found[0]) return ft_fail(FILTRA_ERROR_INPUT, "%s holds no NAME_TRAIN.ts", folder);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s holds more than one data set, %s and %s; give one file's path", folder,
                 found[0], found[1]);
}

/* Path of the test file for a training file, or the reverse; NULL when out of memory. */
static char *other_half(const char *path, const char *end, const char *other_end) {
  return ft_format("%.*s%s", (int)(strlen(path) - strlen(end)), path, other_end);
}

/* Reads a training file and its test file, if there is one. */
static filtra_status read_train(const char *path, const filtra_dataset_options *options,
                                filtra_dataset *ds, ft_labels *labels) {
  FT_TRY(read_file(path, options, ds, FILTRA_SPLIT_TRAIN, labels));
  if (!ft_ends_with(path, TRAIN_END)) return FILTRA_OK;
  char *test = other_half(path, TRAIN_END, TEST_END);
  if (!test) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = FILTRA_OK;
  if (ft_file_exists(test)) status = read_file(test, options, ds, FILTRA_SPLIT_TEST, labels);
  free(test);
  return status;
}

static filtra_status read_folder(const char *path, const filtra_dataset_options *options,
                                 filtra_dataset *ds, ft_labels *labels) {
  const char *chosen;
  char **names, *train = NULL;
  size_t count;
  FT_TRY(ft_list_files(path, &names, &count));
  filtra_status status = choose_train(path, names, count, &chosen);
  if (!status && !(train = ft_path_join(path, chosen))) status = FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = read_train(train, options, ds, labels);
  free(train);
  ft_free_names(names, count);
  return status;
}

/* Reads a test file. Its training file is read first, if there is one: it defines how to
 * standardise, the length of series, and the classes. */
static filtra_status read_test(const char *path, const filtra_dataset_options *options,
                               filtra_dataset *ds, ft_labels *labels) {
  if (ft_ends_with(path, TEST_END)) {
    char *train = other_half(path, TEST_END, TRAIN_END);
    if (!train) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = FILTRA_OK;
    if (ft_file_exists(train)) status = read_file(train, options, ds, FILTRA_SPLIT_TRAIN, labels);
    free(train);
    FT_TRY(status);
  }
  return read_file(path, options, ds, options->file_split, labels);
}

static filtra_status open_ts(const char *path, const filtra_dataset_options *options,
                             filtra_dataset *ds) {
  ft_labels labels = {0};
  ds->info.input = FILTRA_INPUT_FEATURES;
  ds->standardise = true;
  if (options->tokenizer)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "tokenizer is \"%.64s\", but %s holds series of numbers",
                   options->tokenizer, path);
  filtra_status status;
  if (ft_is_directory(path))
    status = read_folder(path, options, ds, &labels);
  else if (options->file_split == FILTRA_SPLIT_TRAIN)
    status = read_train(path, options, ds, &labels);
  else
    status = read_test(path, options, ds, &labels);
  if (!status && ds->info.target == FILTRA_TARGET_CLASS) ft_labels_give(&labels, ds);
  ft_labels_free(&labels);
  return status;
}

static bool probe_ts(const ft_dataset_probe *p) {
  for (size_t i = 0; i < p->count; i++)
    if (ft_ends_with(p->names[i], TRAIN_END)) return true;
  return !p->directory &&
         (ft_ends_with(p->path, ".ts") || !strncasecmp(p->head, "@problemName", 12));
}

const ft_dataset_format ft_format_ts = {
    "ts", "UEA and UCR time series: NAME_TRAIN.ts and NAME_TEST.ts in a folder, or one file",
    probe_ts, open_ts};
