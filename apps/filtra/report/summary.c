/* Groups runs that differ only by their seed into methods, and computes means, ranks and tests.
 * Called by report.c. */
#include "base/json.h"
#include "base/memory.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- methods: a mixer, and the settings in which its runs on the same data differ ---- */

/* Keys that do not distinguish methods: they concern a single run, or follow from the data. */
static bool is_incidental(const char *key) {
  static const char *const KEYS[] = {"data",        "seed",         "mixer",  "vocabulary",
                                     "target_mean", "target_scale", "shares", "preset"};
  for (size_t i = 0; i < FT_COUNT(KEYS); i++)
    if (!strcmp(key, KEYS[i])) return true;
  return false;
}

static const json_t *mixer_options(const report_run *run) {
  const json_t *mixer = json_object_get(run->config, "mixer");
  return json_is_object(mixer) ? mixer : NULL;
}

/* Adds the keys whose values differ. */
static filtra_status add_differences(const json_t *a, const json_t *b, bool options, json_t *set) {
  const char *key;
  const json_t *value;
  json_object_foreach((json_t *)a, key, value) {
    const json_t *other = json_object_get(b, key);
    if ((!options && is_incidental(key)) || !other || json_equal(value, other)) continue;
    if (json_object_set_new(set, key, json_boolean(options)))
      return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  return FILTRA_OK;
}

/* Finds the keys in which runs of a mixer differ on the same data: {mixer: {key: whether it is a
 * mixer's option}}. */
static filtra_status find_differences(const report_set *set, json_t *all) {
  for (size_t i = 0; i < set->count; i++) {
    const report_run *r = &set->runs[i];
    json_t *keys = json_object_get(all, r->mixer);
    if (!keys && json_object_set_new(all, r->mixer, keys = json_object()))
      return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    for (size_t k = 0; k < i; k++) {
      const report_run *first = &set->runs[k];
      if (strcmp(first->mixer, r->mixer) || !report_comparable(first, r)) continue;
      FT_TRY(add_differences(r->config, first->config, false, keys));
      FT_TRY(add_differences(mixer_options(r), mixer_options(first), true, keys));
      break;
    }
  }
  return FILTRA_OK;
}

/* Makes a name such as "gfsa K=3 learning_rate=0.001"; caller frees. */
static char *name_method(const report_run *r, const json_t *keys) {
  char *name = ft_strdup(r->mixer);
  const char *key;
  const json_t *is_option;
  json_object_foreach((json_t *)keys, key, is_option) {
    const json_t *value =
        json_object_get(json_is_true(is_option) ? mixer_options(r) : r->config, key);
    char *text = value ? ft_json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;
    char *longer = name && text ? ft_format("%s %s=%s", name, key, text) : NULL;
    free(text);
    if (!value) continue;
    free(name);
    name = longer;
  }
  return name;
}

static filtra_status add_method(report_summary *s, report_run *run, char *name) {
  if (!name) return FILTRA_ERROR_HOST_MEMORY;
  for (run->method = 0; run->method < s->method_count; run->method++)
    if (!strcmp(s->methods[run->method], name)) {
      free(name);
      return FILTRA_OK;
    }
  s->methods[s->method_count++] = name;
  return FILTRA_OK;
}

static filtra_status find_methods(const report_set *set, report_summary *s) {
  json_t *keys = json_object();
  s->methods = ft_calloc(set->count, sizeof *s->methods);
  filtra_status status = s->methods ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!keys) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (!status) status = find_differences(set, keys);
  for (size_t i = 0; i < set->count && !status; i++) {
    report_run *r = &set->runs[i];
    status = add_method(s, r, name_method(r, json_object_get(keys, r->mixer)));
  }
  json_decref(keys);
  return status;
}

/* ---- data sets ---- */

/* Whether two runs have the same data: the same name, and the same path or, since paths differ
 * between machines, the same way of generation in their sweeps. */
static bool same_data(const report_run *a, const report_run *b) {
  const json_t *of_a = report_entry(a), *of_b = report_entry(b);
  if (strcmp(a->data, b->data)) return false;
  if (!strcmp(a->data_path, b->data_path)) return true;
  json_t *made_a = json_object_get(of_a, "generate"), *made_b = json_object_get(of_b, "generate");
  return of_a && of_b && (made_a ? json_equal(made_a, made_b) : !made_b);
}

bool report_comparable(const report_run *a, const report_run *b) {
  return a->score == b->score && same_data(a, b);
}

static filtra_status find_groups(const report_set *set, report_summary *s) {
  s->groups = ft_calloc(set->count, sizeof *s->groups);
  if (!s->groups) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < set->count; i++) {
    report_run *r = &set->runs[i];
    for (r->group = 0; r->group < s->group_count; r->group++)
      if (report_comparable(s->groups[r->group].first, r)) break;
    if (r->group == s->group_count) s->groups[s->group_count++] = (report_group){r, true};
    if (isnan(r->test)) s->groups[r->group].test = false;
  }
  return FILTRA_OK;
}

/* ---- means and ranks ---- */

const char *report_score_name(report_score score) {
  static const char *const NAMES[] = {"accuracy", "perplexity", "mean absolute error"};
  return NAMES[score];
}

const report_mean *report_mean_of(const report_summary *s, size_t group, size_t method) {
  return &s->means[group * s->method_count + method];
}

static double score_of(const report_summary *s, const report_run *r) {
  return s->groups[r->group].test ? r->test : r->best;
}

/* Collects one number of a method's runs on a data set, without NaN. */
static size_t gather(const report_set *set, size_t group, size_t method, size_t offset,
                     double *values) {
  size_t count = 0;
  for (size_t i = 0; i < set->count; i++) {
    const report_run *r = &set->runs[i];
    double value = *(const double *)((const char *)r + offset);
    if (r->group == group && r->method == method && !isnan(value)) values[count++] = value;
  }
  return count;
}

static void fill_mean(const report_set *set, const report_summary *s, size_t group, size_t method,
                      double *values) {
  report_mean *m = &s->means[group * s->method_count + method];
  size_t score = s->groups[group].test ? offsetof(report_run, test) : offsetof(report_run, best);
  m->runs = gather(set, group, method, score, values);
  m->mean = statistics_mean(values, m->runs);
  m->deviation = statistics_deviation(values, m->runs);
  size_t count = gather(set, group, method, offsetof(report_run, best), values);
  m->validation = statistics_mean(values, count);
  m->validation_deviation = statistics_deviation(values, count);
#define MEAN(member)                                                                               \
  m->member =                                                                                      \
      statistics_mean(values, gather(set, group, method, offsetof(report_run, member), values))
  MEAN(milliseconds);
  MEAN(seconds);
  MEAN(parameters);
#undef MEAN
}

/* Of means or scores; NaN counts for nothing. */
static double tolerance_of(const double *values, size_t count) {
  double largest = 0.0;
  for (size_t i = 0; i < count; i++)
    largest = fmax(largest, fabs(values[i]));
  return statistics_tolerance(largest);
}

/* Ranks methods; 1 is the highest accuracy, or the lowest perplexity or error. */
static void fill_ranks(const report_summary *s, size_t group, double *values, double *ranks) {
  double sign = s->groups[group].first->score == REPORT_ACCURACY ? -1.0 : 1.0;
  for (size_t m = 0; m < s->method_count; m++)
    values[m] = sign * report_mean_of(s, group, m)->mean;
  statistics_ranks(values, s->method_count, tolerance_of(values, s->method_count), ranks);
  for (size_t m = 0; m < s->method_count; m++)
    s->means[group * s->method_count + m].rank = ranks[m];
}

/* Averages ranks over data sets on which every method has a score: with fewer methods, ranks would
 * be lower. */
static void fill_mean_ranks(report_summary *s) {
  for (size_t g = 0; g < s->group_count; g++) {
    bool complete = true;
    for (size_t m = 0; m < s->method_count; m++)
      complete &= report_mean_of(s, g, m)->runs > 0;
    s->ranked += complete;
    for (size_t m = 0; m < s->method_count && complete; m++)
      s->mean_ranks[m] += report_mean_of(s, g, m)->rank;
  }
  for (size_t m = 0; m < s->method_count; m++)
    s->mean_ranks[m] /= (double)s->ranked; /* NaN without such data sets */
}

static filtra_status fill_means(const report_set *set, report_summary *s) {
  size_t room = set->count > s->method_count ? set->count : s->method_count;
  double *values = ft_calloc(room + 1, sizeof *values), *ranks = ft_calloc(room + 1, sizeof *ranks);
  s->means = ft_calloc(s->group_count * s->method_count + 1, sizeof *s->means);
  s->mean_ranks = ft_calloc(s->method_count + 1, sizeof *s->mean_ranks);
  bool starved = !values || !ranks || !s->means || !s->mean_ranks;
  for (size_t g = 0; g < s->group_count && !starved; g++) {
    for (size_t m = 0; m < s->method_count; m++)
      fill_mean(set, s, g, m, values);
    fill_ranks(s, g, values, ranks);
  }
  if (!starved) fill_mean_ranks(s);
  free(values);
  free(ranks);
  return starved ? FILTRA_ERROR_HOST_MEMORY : FILTRA_OK;
}

/* A run before run i with a score, of the same method and seed; NULL: none. */
static const report_run *find_same(const report_set *set, const report_summary *s, size_t i) {
  const report_run *r = &set->runs[i];
  for (size_t k = 0; k < i && !isnan(score_of(s, r)); k++) {
    const report_run *before = &set->runs[k];
    if (before->group == r->group && before->method == r->method && before->seed == r->seed &&
        !isnan(score_of(s, before)))
      return before;
  }
  return NULL;
}

/* Warns of runs of one method that have one seed. They can be of two devices, but are no repeats:
 * the deviation is then not that over seeds. */
static void warn_of_same_seeds(const report_set *set, const report_summary *s) {
  const report_run *first = NULL, *again = NULL;
  size_t count = 0;
  for (size_t i = set->count; i-- > 0;) {
    const report_run *before = find_same(set, s, i);
    if (!before) continue;
    first = before;
    again = &set->runs[i];
    count++;
  }
  char others[64] = "";
  if (count > 1) snprintf(others, sizeof others, ", and %zu more runs likewise", count - 1);
  if (count)
    ft_log(FILTRA_LOG_WARNING,
           "%s and %s are runs of %s with the same seed, %.0f%s: mean and deviation count both; "
           "leave one out for those over seeds",
           first->path, again->path, s->methods[again->method], again->seed, others);
}

/* ---- tests ---- */

/* Chooses pairs for the tests. Only differences of one measure can be ranked together: the measure
 * of most data sets, accuracy first. For a single data set, pairs are seeds. */
static void choose_pairs(report_summary *s) {
  size_t count[3] = {0};
  for (size_t g = 0; g < s->group_count; g++)
    count[s->groups[g].first->score]++;
  for (int score = REPORT_ACCURACY; score <= REPORT_ERROR; score++)
    if (count[score] > count[s->score]) s->score = (report_score)score;
  s->by_seed = count[s->score] == 1;
}

static size_t differences_by_data(const report_summary *s, size_t a, size_t b, double *out) {
  size_t count = 0;
  for (size_t g = 0; g < s->group_count && count <= STATISTICS_MOST_PAIRS; g++)
    if (s->groups[g].first->score == s->score && report_mean_of(s, g, a)->runs &&
        report_mean_of(s, g, b)->runs)
      out[count++] = report_mean_of(s, g, a)->mean - report_mean_of(s, g, b)->mean;
  return count;
}

/* The first run with that seed. */
static const report_run *find_seed(const report_set *set, size_t group, size_t method,
                                   double seed) {
  for (size_t i = 0; i < set->count; i++)
    if (set->runs[i].group == group && set->runs[i].method == method && set->runs[i].seed == seed)
      return &set->runs[i];
  return NULL;
}

static size_t differences_by_seed(const report_set *set, const report_summary *s, size_t a,
                                  size_t b, double *out) {
  size_t count = 0;
  for (size_t i = 0; i < set->count && count <= STATISTICS_MOST_PAIRS; i++) {
    const report_run *x = &set->runs[i];
    if (x->method != a || x->score != s->score || isnan(score_of(s, x)) ||
        find_seed(set, x->group, a, x->seed) != x)
      continue;
    const report_run *y = find_seed(set, x->group, b, x->seed);
    if (y && !isnan(score_of(s, y))) out[count++] = score_of(s, x) - score_of(s, y);
  }
  return count;
}

static filtra_status run_tests(const report_set *set, report_summary *s) {
  double differences[STATISTICS_MOST_PAIRS + 1], largest = 0.0;
  s->tests = ft_calloc(s->method_count * s->method_count / 2 + 1, sizeof *s->tests);
  if (!s->tests) return FILTRA_ERROR_HOST_MEMORY;
  choose_pairs(s);
  for (size_t i = 0; i < set->count; i++)
    if (set->runs[i].score == s->score) largest = fmax(largest, fabs(score_of(s, &set->runs[i])));
  for (size_t a = 0; a < s->method_count; a++)
    for (size_t b = a + 1; b < s->method_count; b++) {
      size_t count = s->by_seed ? differences_by_seed(set, s, a, b, differences)
                                : differences_by_data(s, a, b, differences);
      if (!count) continue;
      s->tests[s->test_count++] =
          (report_test){a, b, statistics_test(differences, count, statistics_tolerance(largest))};
    }
  return FILTRA_OK;
}

filtra_status report_summarize(const report_set *set, report_summary *s) {
  *s = (report_summary){0};
  FT_TRY(find_groups(set, s));
  FT_TRY(find_methods(set, s));
  FT_TRY(fill_means(set, s));
  warn_of_same_seeds(set, s);
  return run_tests(set, s);
}

bool report_has_repeats(const report_summary *s) {
  for (size_t i = 0; i < s->group_count * s->method_count; i++)
    if (s->means[i].runs > 1) return true;
  return false;
}

void report_free_summary(report_summary *s) {
  for (size_t i = 0; i < s->method_count; i++)
    free(s->methods[i]);
  free(s->methods);
  free(s->groups);
  free(s->means);
  free(s->mean_ranks);
  free(s->tests);
}
