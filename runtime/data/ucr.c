/* The format "ucr", listed in dataset.c: time series as the UCR archive distributes them (Dau et
 * al. 2019), NAME_TRAIN.tsv and NAME_TEST.tsv. A line is a sample: its class, a whole number, then
 * its values, separated by tabs, commas or spaces. NaN at the end pads shorter series. */
#include "base/file.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/labels.h"
#include "data/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const ft_series_ends ENDS[] = {{"_TRAIN.tsv", "_TEST.tsv"},
                                      {"_TRAIN.txt", "_TEST.txt"},
                                      {"_TRAIN.csv", "_TEST.csv"},
                                      {"_TRAIN.tsv.gz", "_TEST.tsv.gz"},
                                      {"_TRAIN.txt.gz", "_TEST.txt.gz"},
                                      {"_TRAIN.csv.gz", "_TEST.csv.gz"},
                                      {"_TRAIN", "_TEST"}};

/* The files of a data set. */
typedef struct ucr_files {
  const filtra_dataset_options *options;
  filtra_dataset *ds;
  ft_labels labels;
  bool begun; /* a file was read */
} ucr_files;

typedef struct ucr_reader {
  ft_lines lines;
  char delimiter; /* of the first line; ' ' stands for any run of spaces */
  ft_series series;
  ucr_files *files;
} ucr_reader;

/* ---- lines ---- */

static char delimiter_of(const char *line) {
  if (strchr(line, ',')) return ',';
  if (strchr(line, '\t')) return '\t';
  return ' ';
}

/* The next field; *at is NULL after the last. */
static const char *next_field(const char **at, char delimiter, size_t *length) {
  const char *field = *at;
  if (delimiter == ' ') field += strspn(field, " ");
  const char *end = strchr(field, delimiter);
  *length = end ? (size_t)(end - field) : strlen(field);
  if (end && delimiter == ' ') end += strspn(end, " ") - 1; /* to the last of the run */
  *at = end && end[1] ? end + 1 : NULL;
  if (end && !end[1] && delimiter != ' ') *at = end + 1; /* an empty last field */
  return field;
}

/* Reads a class as a whole number, which archives may write as 1.0000000e+00. */
static bool read_whole(const char *text, size_t length, long long *whole) {
  char copy[32] = "", *end;
  ft_trim(&text, &length);
  if (length == 0 || length >= sizeof copy || strspn(text, "0123456789+-.eE") < length)
    return false;
  memcpy(copy, text, length);
  double number = ft_strtod(copy, &end);
  if (*end || number != floor(number) || fabs(number) > 1e15) return false;
  *whole = (long long)number;
  return true;
}

static filtra_status read_class(ucr_reader *r, const char *text, size_t length, int32_t *label) {
  char name[32];
  long long whole;
  ft_trim(&text, &length);
  bool unknown = ft_series_is_missing(text, length);
  *label = -1;
  if (unknown && r->files->options->unlabelled) return FILTRA_OK;
  if (unknown)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "the class is \"%.*s\", unknown; such series can be predicted, not trained or "
                   "evaluated with",
                   (int)length, text);
  if (!read_whole(text, length, &whole))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "\"%.*s\" is no class, a whole number, which comes first in each line",
                   (int)(length < 40 ? length : 40), text);
  snprintf(name, sizeof name, "%lld", whole);
  return ft_labels_find(&r->files->labels, name, strlen(name), label);
}

static filtra_status read_sample(ucr_reader *r) {
  const char *at = r->lines.line + strspn(r->lines.line, " ");
  size_t length, count = 0;
  ft_sample_row row = {0};
  const char *field = next_field(&at, r->delimiter, &length);
  FT_TRY(read_class(r, field, length, &row.label));
  for (; at; count++) {
    double value;
    field = next_field(&at, r->delimiter, &length);
    filtra_status status = ft_series_value(field, length, &value);
    if (status) return ft_fail_context(status, "value %zu", count + 1);
    FT_TRY(ft_series_put(&r->series, count, value));
  }
  while (count > 0 && isnan(r->series.values[count - 1]))
    count--;
  if (count == 0) return ft_fail(FILTRA_ERROR_INPUT, "the series has no values");
  return ft_series_add(&r->series, 1, count, row);
}

/* ---- one file ---- */

static filtra_status read_lines(ucr_reader *r) {
  for (;;) {
    bool more;
    FT_TRY(ft_lines_next(&r->lines, &more));
    if (!more) break;
    if (!r->lines.line[strspn(r->lines.line, " \t")]) continue;
    if (!r->delimiter) r->delimiter = delimiter_of(r->lines.line);
    filtra_status status = read_sample(r);
    if (status)
      return ft_fail_context(status, "%s:%llu", r->lines.path, (unsigned long long)r->lines.number);
  }
  if (r->series.samples->count > 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", r->lines.path);
}

/* The first file, the training file if there is one, has all classes. */
static filtra_status read_file(void *user, const char *path, filtra_split split) {
  ucr_files *files = user;
  ucr_reader r = {.files = files};
  ft_series_begin(&r.series, files->options, files->ds, split);
  FT_TRY(ft_lines_open(path, &r.lines));
  filtra_status status = read_lines(&r);
  if (!status) status = ft_series_check(&r.series, path, "dimension");
  if (!status && !files->begun && files->labels.count)
    status = ft_labels_close(&files->labels, true, r.series.samples);
  files->begun = true;
  ft_lines_close(&r.lines);
  ft_series_end(&r.series);
  return status;
}

/* ---- the format ---- */

static filtra_status open_ucr(const char *path, const filtra_dataset_options *options,
                              filtra_dataset *ds) {
  ucr_files files = {.options = options, .ds = ds};
  const ft_series_kind kind = {ENDS, FT_COUNT(ENDS), read_file, &files};
  filtra_status status = ft_series_open(path, options, ds, &kind);
  if (!status) {
    ds->untargeted = files.labels.count == 0;
    ft_labels_give(&files.labels, ds);
  }
  ft_labels_free(&files.labels);
  return status;
}

/* Whether a line, or its start, is a class and values; tables begin with names. */
static bool is_series(const char *line) {
  char delimiter = delimiter_of(line);
  const char *at = line + strspn(line, " ");
  size_t length, end = strcspn(line, "\r\n");
  long long whole;
  if (strspn(line, "0123456789+-.eE,\t nNaA?") < end) return false;
  const char *first = next_field(&at, delimiter, &length);
  if (!read_whole(first, length, &whole) && !ft_series_is_missing(first, length)) return false;
  next_field(at ? &at : &(const char *){""}, delimiter, &length);
  return at && length > 0; /* two values or more */
}

/* Whether a folder's file begins with series; false for one that cannot be read. */
static filtra_status begins_with_series(const char *folder, const char *name, bool *found) {
  ft_lines lines;
  bool more = false;
  char *path = ft_path_join(folder, name);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_lines_open(path, &lines);
  if (!status) {
    status = ft_lines_next(&lines, &more);
    *found = !status && more && is_series(lines.line);
    ft_lines_close(&lines);
  }
  free(path);
  return status == FILTRA_ERROR_HOST_MEMORY ? status : FILTRA_OK;
}

static bool probe_ucr(const ft_dataset_probe *p) {
  const ft_series_kind kind = {ENDS, FT_COUNT(ENDS), NULL, NULL};
  const ft_series_ends *ends;
  bool found = false;
  for (size_t i = 0; i < p->count && !found && !*p->failed; i++)
    if (ft_series_is_train(&kind, p->names[i], &ends))
      *p->failed = begins_with_series(p->path, p->names[i], &found);
  if (found || p->directory) return found;
  if (!is_series(p->head)) return false;
  for (size_t i = 0; i < FT_COUNT(ENDS); i++)
    if (ft_ends_with(p->path, ENDS[i].train) || ft_ends_with(p->path, ENDS[i].test)) return true;
  return false;
}

const ft_dataset_format ft_format_ucr = {
    "ucr", "UCR time series: NAME_TRAIN.tsv and NAME_TEST.tsv (.txt, .csv), class first", probe_ucr,
    open_ucr};
