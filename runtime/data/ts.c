/* The format "ts", listed in dataset.c: time series as the UEA and UCR archives distribute them
 * (Bagnall et al. 2018), NAME_TRAIN.ts and NAME_TEST.ts. A line is a sample: dimensions separated
 * by ':', their values by ',', the class last. */
#include "base/file.h"
#include "base/lines.h"
#include "base/text.h"
#include "data/number.h"
#include "data/series.h"
#include "data/ts_header.h"
#include "data/ts_stamps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The files of a data set. */
typedef struct ts_files {
  const filtra_dataset_options *options;
  filtra_dataset *ds;
  ft_labels labels;
  ft_ts_stamps stamps;
  bool begun; /* a file was read */
} ts_files;

/* State of the file being read. */
typedef struct ts_reader {
  ft_lines lines;
  ft_ts_header header;
  ft_series series;
  ft_spread targets; /* that are numbers */
  size_t length;     /* of the first series; 0: there is none yet */
  ts_files *files;
} ts_reader;

/* ---- one sample ---- */

static filtra_status read_values(ts_reader *r, const char *text, const char *end, size_t first,
                                 size_t *length) {
  *length = 0;
  for (bool more = true; more; ++*length) {
    const char *comma = memchr(text, ',', (size_t)(end - text));
    const char *stop = comma ? comma : end;
    double value;
    FT_TRY(ft_series_value(text, (size_t)(stop - text), &value));
    FT_TRY(ft_series_put(&r->series, first + *length, value));
    more = comma != NULL;
    text = stop + 1;
  }
  return FILTRA_OK;
}

/* Reads the values between `text` and `end` into the series at `first`. */
static filtra_status read_dimension(ts_reader *r, const char *text, const char *end, size_t number,
                                    size_t first, size_t *length) {
  filtra_status status =
      r->header.stamps ? ft_ts_stamps_read(&r->files->stamps, &r->series, text, end, first, length)
                       : read_values(r, text, end, first, length);
  if (status) return ft_fail_context(status, "value %zu of dimension %zu", *length + 1, number);
  for (size_t i = 0; i < *length && r->header.no_missing; i++)
    if (isnan(r->series.values[first + i]))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "value %zu of dimension %zu: missing, though the header says @missing false",
                     i + 1, number);
  return FILTRA_OK;
}

/* The next ':' from `text` on, except those in time stamps; NULL if there is none. */
static const char *find_colon(const char *text) {
  for (int depth = 0; *text; text++) {
    depth += (*text == '(') - (*text == ')');
    if (*text == ':' && depth <= 0) return text;
  }
  return NULL;
}

/* Finds where the series ends and the target begins; the end of the line if there is no target. */
static filtra_status find_target(const ts_reader *r, const char *line, const char **target) {
  *target = line + strlen(line);
  if (r->header.unlabelled && !r->header.values) return FILTRA_OK;
  const char *last = strrchr(line, ':'), *close = strrchr(line, ')');
  if (last && r->header.stamps && close && last < close) last = NULL;
  if (last) *target = last;
  if (last) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "no ':' where one separates the series from the %s",
                 r->header.values ? "target" : "class");
}

static filtra_status check_header(ts_reader *r, size_t dimensions, size_t length) {
  const ft_ts_header *h = &r->header;
  if (h->dimensions && dimensions != h->dimensions)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu dimension%s where the header says %llu", dimensions,
                   dimensions == 1 ? "" : "s", (unsigned long long)h->dimensions);
  if (!r->length) r->length = length;
  if (h->equal_length && !h->series_length && length != r->length)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "series of %zu values where the first has %zu, though the header says "
                   "@equalLength true",
                   length, r->length);
  if (!h->series_length || length == h->series_length) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "series of %zu values where the header says @seriesLength %llu", length,
                 (unsigned long long)h->series_length);
}

/* Whether targets are numbers: by the file's header, or as in the training file if the file has no
 * targets. */
static bool has_values(const ts_reader *r) {
  return r->header.unlabelled && !r->header.values
             ? r->files->ds->info.target == FILTRA_TARGET_VALUE
             : r->header.values;
}

/* `text` begins with ':', or is empty if there is no target. */
static filtra_status read_target(ts_reader *r, const char *text, ft_sample_row *row) {
  bool given = *text == ':';
  size_t length = strlen(text += given);
  ft_trim(&text, &length);
  bool unknown = !given || (length == 1 && *text == '?') ||
                 (has_values(r) && ft_series_is_missing(text, length));
  if (unknown && !r->files->options->unlabelled)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "the %s is \"%.*s\", unknown; such series can be predicted, not trained or "
                   "evaluated with",
                   has_values(r) ? "target" : "class", (int)length, text);
  if (unknown && has_values(r))
    row->value = NAN;
  else if (unknown)
    row->label = -1;
  if (unknown) return FILTRA_OK;
  if (!r->header.values) return ft_labels_find(&r->files->labels, text, length, &row->label);
  double value;
  filtra_status status = ft_read_double(text, length, &value);
  if (status) return ft_fail_context(status, "the target");
  row->value = (float)value;
  ft_spread_add(&r->targets, value);
  return FILTRA_OK;
}

static filtra_status read_sample(ts_reader *r) {
  const char *text = r->lines.line, *target, *end;
  ft_sample_row row = {0};
  size_t dimensions = 0, length = 0;
  FT_TRY(find_target(r, text, &target));
  for (bool more = true; more; text = end + 1, dimensions++) {
    size_t count;
    end = find_colon(text);
    if (!end || end > target) end = target;
    more = end < target;
    FT_TRY(read_dimension(r, text, end, dimensions + 1, dimensions * length, &count));
    if (dimensions == 0) length = count;
    if (count != length)
      return ft_fail(FILTRA_ERROR_INPUT, "%zu values in dimension %zu where dimension 1 has %zu",
                     count, dimensions + 1, length);
  }
  FT_TRY(check_header(r, dimensions, length));
  FT_TRY(read_target(r, target, &row));
  return ft_series_add(&r->series, dimensions, length, row);
}

/* ---- one file ---- */

static filtra_status read_line(ts_reader *r) {
  const char *line = r->lines.line;
  if (*line == '#' || *line == '%' || !line[strspn(line, " \t")]) return FILTRA_OK;
  if (!r->header.complete)
    return ft_ts_header_line(&r->header, line, r->files->options->unlabelled, &r->files->labels);
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
  if (r->series.samples->count > 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", r->lines.path);
}

/* Checks the kind of targets. Closes the classes after the first file, the training file if there
 * is one. */
static filtra_status finish_file(const ts_reader *r) {
  ts_files *f = r->files;
  filtra_target target = has_values(r) ? FILTRA_TARGET_VALUE : FILTRA_TARGET_CLASS;
  bool first = !f->begun;
  f->begun = true;
  if (!first && target != f->ds->info.target)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: targets are %s, those of the training file are not",
                   r->lines.path, r->header.values ? "numbers" : "classes");
  f->ds->info.target = target;
  if (!first || target == FILTRA_TARGET_VALUE || !f->labels.count) return FILTRA_OK;
  return ft_labels_close(&f->labels, false, r->series.samples);
}

static filtra_status read_file(void *user, const char *path, filtra_split split) {
  ts_reader r = {.files = user};
  ft_series_begin(&r.series, r.files->options, r.files->ds, split);
  FT_TRY(ft_lines_open(path, &r.lines));
  filtra_status status = read_lines(&r);
  if (!status) status = ft_series_check(&r.series, path, "dimension");
  if (!status && r.series.first) status = ft_spread_check_targets(&r.targets, r.files->ds, path);
  if (!status) status = finish_file(&r);
  ft_lines_close(&r.lines);
  ft_series_end(&r.series);
  return status;
}

/* ---- the format ---- */

static const ft_series_ends ENDS[] = {{"_TRAIN.ts", "_TEST.ts"}, {"_TRAIN.ts.gz", "_TEST.ts.gz"}};

static filtra_status open_ts(const char *path, const filtra_dataset_options *options,
                             filtra_dataset *ds) {
  ts_files files = {.options = options, .ds = ds};
  const ft_series_kind kind = {ENDS, FT_COUNT(ENDS), read_file, &files};
  filtra_status status = ft_series_open(path, options, ds, &kind);
  if (!status && ds->info.target == FILTRA_TARGET_CLASS) {
    ds->untargeted = files.labels.count == 0;
    ft_labels_give(&files.labels, ds);
  }
  ft_labels_free(&files.labels);
  ft_ts_stamps_end(&files.stamps);
  return status;
}

static bool probe_ts(const ft_dataset_probe *p) {
  const ft_series_kind kind = {ENDS, FT_COUNT(ENDS), NULL, NULL};
  const ft_series_ends *ends;
  for (size_t i = 0; i < p->count; i++)
    if (ft_series_is_train(&kind, p->names[i], &ends)) return true;
  return !p->directory &&
         (ft_ends_with(p->path, ".ts") || !ft_strncasecmp(p->head, "@problemName", 12));
}

const ft_dataset_format ft_format_ts = {
    "ts", "UEA and UCR time series: NAME_TRAIN.ts and NAME_TEST.ts in a folder, or one file",
    probe_ts, open_ts};
