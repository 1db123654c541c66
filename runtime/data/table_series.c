/* Groups rows of a table into series: a sample is all rows with the same name in the group column,
 * ordered by the time column; a step is a row. Called by table.c. */
#include "base/memory.h"
#include "data/date.h"
#include "data/number_form.h"
#include "data/series.h"
#include "data/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row before sorting. */
typedef struct step {
  char *group;
  double time; /* a number, or seconds of a date */
  bool date;
  uint64_t line;
  float *values; /* [width] */
  ft_sample_row target;
} step;

/* The steps of one sample. */
typedef struct series {
  size_t first, count;
  uint64_t line; /* line of the group's first row */
} series;

typedef struct series_reader {
  ft_table *table;
  ft_samples *samples;
  size_t width;
  const char *path;
  step *steps;
  size_t count, capacity;
  bool timed; /* a column has the times */
  size_t cut; /* series that `truncate` cut */
} series_reader;

static char *copy_field(const char *text) {
  size_t length = strlen(text);
  ft_trim(&text, &length);
  return ft_format("%.*s", (int)length, text);
}

/* ---- rows ---- */

/* Reads a time: a number, or a date such as 2023-02-01 12:00. */
static filtra_status read_time(const ft_table *t, const char *text, step *s) {
  char date[64] = "";
  size_t length = strlen(text);
  ft_trim(&text, &length);
  if (ft_read_plain(text, length, t->fit->decimal, &s->time)) return FILTRA_OK;
  snprintf(date, sizeof date, "%.*s", (int)length, text);
  s->date = length < sizeof date && ft_read_date(date, &s->time);
  if (s->date) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "time_column: \"%.*s\" is neither a number nor a date such as 2023-02-01",
                 (int)(length < 40 ? length : 40), text);
}

static filtra_status read_step(const ft_row_reader *rows, const ft_places *places, void *user) {
  series_reader *r = user;
  FT_TRY(FT_GROW(r->steps, r->count, r->capacity));
  step *s = &r->steps[r->count++];
  *s = (step){.line = rows->number, .group = copy_field(rows->fields[places->group])};
  s->values = ft_calloc(r->width, sizeof *s->values);
  if (!s->group || !s->values) return FILTRA_ERROR_HOST_MEMORY;
  if (!*s->group) return ft_fail(FILTRA_ERROR_INPUT, "the group is empty");
  FT_TRY(ft_table_numbers(r->table, rows, places, s->values));
  FT_TRY(ft_table_target(r->table, rows, places, r->samples, &s->target));
  s->time = (double)rows->number;
  r->timed = places->time != FT_NOWHERE;
  return places->time == FT_NOWHERE ? FILTRA_OK
                                    : read_time(r->table, rows->fields[places->time], s);
}

/* ---- order ---- */

static int compare_times(const step *a, const step *b) {
  return (a->time > b->time) - (a->time < b->time);
}

static int compare_steps(const void *a, const void *b) {
  const step *x = a, *y = b;
  int order = strcmp(x->group, y->group);
  if (!order) order = compare_times(x, y);
  return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int compare_series(const void *a, const void *b) {
  const series *x = a, *y = b;
  return (x->line > y->line) - (x->line < y->line);
}

/* Whether two sets of labels are equal; two unknown ones are. */
static bool same_labels(const ft_samples *samples, int32_t a, int32_t b) {
  uint32_t count[2], other[2];
  const int32_t *x = ft_samples_labels(samples, a, count);
  const int32_t *y = ft_samples_labels(samples, b, other);
  const size_t all = count[0] + count[1];
  return (a < 0) == (b < 0) && count[0] == other[0] && count[1] == other[1] &&
         (!all || !memcmp(x, y, all * sizeof *x));
}

static bool same_target(const series_reader *r, const step *a, const step *b) {
  const ft_table *t = r->table;
  if (t->several) return same_labels(r->samples, a->target.label, b->target.label);
  if (!t->values) return a->target.label == b->target.label;
  return a->target.value == b->target.value || (isnan(a->target.value) && isnan(b->target.value));
}

/* Checks that two consecutive steps of a group agree. */
static filtra_status check_steps(const series_reader *r, const step *a, const step *b) {
  const char *what = NULL;
  if (a->date != b->date) what = "one time is a number, the other a date";
  if (!what && !compare_times(a, b))
    what = "both have the same time, or times too close for 64-bit numbers to tell apart";
  if (!same_target(r, a, b)) what = "their targets differ, and a series has one";
  if (!what) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s:%llu: lines %llu and %llu are of group \"%.64s\": %s",
                 r->path, (unsigned long long)b->line, (unsigned long long)a->line,
                 (unsigned long long)b->line, a->group, what);
}

static filtra_status find_series(series_reader *r, series *all, size_t *count) {
  qsort(r->steps, r->count, sizeof *r->steps, compare_steps);
  for (size_t i = 0; i < r->count; i++) {
    const step *s = &r->steps[i];
    if (i == 0 || strcmp(s->group, s[-1].group) != 0)
      all[(*count)++] = (series){.first = i, .line = s->line};
    else
      FT_TRY(check_steps(r, s - 1, s));
    series *now = &all[*count - 1];
    now->count++;
    if (s->line < now->line) now->line = s->line;
  }
  qsort(all, *count, sizeof *all, compare_series);
  return FILTRA_OK;
}

/* ---- steps ---- */

/* Finds a series' shortest and longest step between times. Whether they differ by more than months
 * of 28 and of 31 days do. */
static bool is_unequal(const series_reader *r, const series *s, double *least, double *most) {
  const step *steps = r->steps + s->first;
  *least = INFINITY;
  *most = 0.0;
  for (size_t i = 1; i < s->count; i++) {
    const double apart = steps[i].time - steps[i - 1].time;
    *least = fmin(*least, apart);
    *most = fmax(*most, apart);
  }
  return s->count > 2 && *most > 1.2 * *least;
}

/* Models know the order of steps, not their times. */
static void warn_of_unequal_steps(const series_reader *r, const series *all, size_t count) {
  const series *first = NULL;
  size_t unequal = 0;
  double least, most;
  for (size_t i = 0; i < count && r->timed; i++) {
    if (!is_unequal(r, &all[i], &least, &most)) continue;
    if (!first) first = &all[i];
    unequal++;
  }
  if (!first) return;
  const step *example = r->steps + first->first;
  is_unequal(r, first, &least, &most);
  const bool days = example->date && least >= 86400.0;
  const double unit = days ? 86400.0 : 1.0;
  ft_log(FILTRA_LOG_WARNING,
         "%s: %zu of %zu series have times at unequal steps, such as group \"%.64s\", whose rows "
         "are %g to %g%s apart: time_column only orders rows, which are read as equally spaced; "
         "bring them to equal steps, or add the time since the row before as a column",
         r->path, unequal, count, example->group, least / unit, most / unit,
         days            ? " days"
         : example->date ? " seconds"
                         : "");
}

/* ---- samples ---- */

static filtra_status keep_length(series_reader *r, const series *from, size_t *kept) {
  const filtra_dataset_options *o = r->table->options;
  *kept = from->count;
  if (!o->max_length || *kept <= o->max_length) return FILTRA_OK;
  *kept = o->max_length;
  r->cut++;
  if (o->truncate) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: group \"%.64s\" has %zu rows where at most %u are accepted; %s", r->path,
                 r->steps[from->first].group, from->count, o->max_length,
                 ft_length_advice(r->table->ds));
}

static filtra_status add_series(series_reader *r, const series *from) {
  ft_samples *s = r->samples;
  const step *steps = r->steps + from->first;
  size_t kept;
  FT_TRY(keep_length(r, from, &kept));
  FT_TRY(ft_samples_add_name(s, steps->group, strlen(steps->group)));
  FT_TRY(FT_GROW(s->rows, s->count, s->capacity));
  ft_sample_row row = steps->target;
  row.first = s->value_count;
  row.length = (uint32_t)kept;
  float *to = s->values + s->value_count; /* there is room for all rows */
  for (size_t i = 0; i < from->count; i++)
    memcpy(to + i * r->width, steps[i].values, r->width * sizeof *to);
  ft_interpolate(to, from->count, r->width);
  s->value_count += kept * r->width;
  s->rows[s->count++] = row;
  return FILTRA_OK;
}

static filtra_status add_all(series_reader *r) {
  ft_samples *s = r->samples;
  size_t count = 0;
  series *all = ft_calloc(r->count, sizeof *all);
  s->values = ft_calloc(r->count * r->width, sizeof *s->values);
  filtra_status status = all && s->values ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status && r->count) status = find_series(r, all, &count);
  if (!status) warn_of_unequal_steps(r, all, count);
  for (size_t i = 0; i < count && !status; i++)
    status = add_series(r, &all[i]);
  free(all);
  return status;
}

/* Warns of series beyond the longest training series: a model never learnt these positions. */
static void warn_of_longer(const ft_table *t, filtra_split split) {
  const ft_samples *train = &t->ds->samples[FILTRA_SPLIT_TRAIN], *s = &t->ds->samples[split];
  uint32_t learnt = 0, longest = 0;
  size_t longer = 0;
  for (size_t i = 0; i < train->count; i++)
    if (train->rows[i].length > learnt) learnt = train->rows[i].length;
  for (size_t i = 0; i < s->count; i++) {
    longer += s->rows[i].length > learnt;
    if (s->rows[i].length > longest) longest = s->rows[i].length;
  }
  if (longer && learnt && t->learnt)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %zu of %zu series are longer than all training series, the longest has %u steps "
           "and these have %u: positions beyond %u are never trained; max_length=%u "
           "truncate=true cuts them",
           t->files.path[split], longer, s->count, longest, learnt, learnt, learnt);
}

filtra_status ft_table_read_series(ft_table *t, filtra_split split) {
  series_reader r = {.table = t,
                     .samples = &t->ds->samples[split],
                     .width = ft_table_width(t->fit),
                     .path = t->files.path[split]};
  filtra_status status = ft_table_walk(t, r.path, read_step, &r);
  if (!status) status = add_all(&r);
  if (!status) warn_of_longer(t, split);
  if (!status && r.cut)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %zu of %zu series are cut to max_length, %u steps: what comes later is left out",
           r.path, r.cut, r.samples->count, t->options->max_length);
  for (size_t i = 0; i < r.count; i++) {
    free(r.steps[i].group);
    free(r.steps[i].values);
  }
  free(r.steps);
  return status ? status : ft_table_end_file(t, split);
}
