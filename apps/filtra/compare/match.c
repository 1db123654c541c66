/* Matches files of `filtra bench`: cases into rows, losses by step; and warns of differences that
 * make numbers incomparable. Called by compare.c. */
#include "compare.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of machines ---- */

/* Whether another machine with the same device has the same result of `of`. */
static bool shared(const comparison *c, size_t k, const char *(*of)(const compare_machine *m)) {
  for (size_t i = 0; i < c->machine_count; i++)
    if (i != k && !strcmp(c->machines[i].device, c->machines[k].device) &&
        !strcmp(of(&c->machines[i]), of(&c->machines[k])))
      return true;
  return false;
}

static const char *device_of(const compare_machine *m) {
  return m->device;
}

static const char *driver_of(const compare_machine *m) {
  return m->driver;
}

static const char *file_of(const compare_machine *m) {
  return ft_path_name(m->path);
}

/* Names a machine by its letter and device; if others have the same device, also by driver, file
 * name or path, the first of these that is unique. */
static filtra_status name_machine(comparison *c, size_t k) {
  compare_machine *m = &c->machines[k];
  const char *more = !shared(c, k, device_of)   ? NULL
                     : !shared(c, k, driver_of) ? m->driver
                     : !shared(c, k, file_of)   ? file_of(m)
                                                : m->path;
  char letter[4] = "";
  if (c->machine_count > 1) snprintf(letter, sizeof letter, "%c: ", (char)('A' + k));
  m->label =
      more ? ft_format("%s%s, %s", letter, m->device, more) : ft_format("%s%s", letter, m->device);
  return m->label ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* ---- cases ---- */

static bool is_same_case(const compare_entry *a, const compare_entry *b) {
  return a->hash == b->hash;
}

size_t compare_op_end(const comparison *c, size_t first) {
  size_t end = first;
  while (end < c->row_count && !strcmp(c->rows[end].any->op, c->rows[first].any->op))
    end++;
  return end;
}

size_t compare_op_first(const comparison *c, const char *op) {
  size_t first = 0;
  while (first < c->row_count && strcmp(c->rows[first].any->op, op))
    first++;
  return first;
}

static bool is_same_family(const compare_entry *a, const compare_entry *b) {
  return !strcmp(a->op, b->op) && !strcmp(a->mixer, b->mixer) && !strcmp(a->variant, b->variant) &&
         !strcmp(a->precision, b->precision) && !strcmp(a->pass, b->pass);
}

/* Index for a new case: within its family, by length if known; else after the rows of its op, or at
 * the end. */
static size_t place_of(const comparison *c, const compare_entry *e) {
  size_t place = c->row_count;
  bool in_family = false;
  for (size_t i = 0; i < c->row_count; i++) {
    const compare_entry *other = c->rows[i].any;
    bool family = is_same_family(other, e);
    if (family && e->length < other->length) return i;
    if (family || (!in_family && !strcmp(other->op, e->op))) place = i + 1;
    in_family = in_family || family;
  }
  return place;
}

static filtra_status add_cell(comparison *c, size_t machine, const compare_entry *e) {
  size_t i = 0;
  while (i < c->row_count && !is_same_case(c->rows[i].any, e))
    i++;
  if (i == c->row_count) {
    FT_TRY(FT_GROW(c->rows, c->row_count, c->row_capacity));
    i = place_of(c, e);
    memmove(&c->rows[i + 1], &c->rows[i], (c->row_count - i) * sizeof *c->rows);
    c->rows[i] = (compare_row){.any = e};
    c->row_count++;
  }
  c->rows[i].cells[machine] = e;
  return FILTRA_OK;
}

static bool same_but_for_shape(const compare_entry *a, const compare_entry *b) {
  return is_same_family(a, b) && !strcmp(a->name, b->name);
}

/* Names a row. A layer's row has no batch, which differs between machines. The shape is added if
 * nothing else distinguishes two cases. */
static filtra_status name_row(const comparison *c, compare_row *row) {
  const compare_entry *e = row->any;
  const char *mixer = strstr(e->name, e->mixer) ? "" : e->mixer; /* strstr finds "" in every name */
  bool alone = true;
  for (size_t i = 0; i < c->row_count; i++)
    alone = alone && (&c->rows[i] == row || !same_but_for_shape(c->rows[i].any, e));
  if (!strcmp(e->op, "mixer_layer") && !isnan(e->length))
    row->name = ft_format("%s, %.0f tokens", e->mixer, e->length);
  else
    row->name = ft_format("%s%s%s%s%s%s", mixer, *mixer ? ", " : "", e->name, alone ? "" : " (",
                          alone ? "" : e->shape, alone ? "" : ")");
  return row->name ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status match_cases(comparison *c) {
  for (size_t k = 0; k < c->machine_count; k++)
    for (size_t i = 0; i < c->machines[k].entry_count; i++)
      FT_TRY(add_cell(c, k, &c->machines[k].entries[i]));
  for (size_t i = 0; i < c->row_count; i++)
    FT_TRY(name_row(c, &c->rows[i]));
  return FILTRA_OK;
}

bool compare_measured(const compare_entry *e) {
  return e && !*e->error && !*e->skipped;
}

double compare_speed(const compare_row *row, size_t machine) {
  const compare_entry *a = row->cells[0], *b = row->cells[machine];
  if (!compare_measured(a) || !compare_measured(b)) return NAN;
  double speed = a->median / a->sequences / (b->median / b->sequences);
  return isfinite(speed) && speed > 0.0 ? speed : NAN; /* coarse clocks may report 0 */
}

double compare_mean_speed(const comparison *c, size_t first, size_t end, size_t machine,
                          size_t *cases) {
  double sum = 0.0;
  *cases = 0;
  for (size_t i = first; i < end; i++) {
    double speed = compare_speed(&c->rows[i], machine);
    if (isnan(speed)) continue;
    sum += log(speed);
    ++*cases;
  }
  return *cases ? exp(sum / (double)*cases) : NAN;
}

/* ---- differences of configurations ---- */

/* A value for messages, shortened if long. */
static const char *value_text(const json_t *value, char out[64]) {
  char *text = value ? ft_json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
                                                JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII)
                     : NULL;
  snprintf(out, 64, "%.60s", text ? text : "absent");
  free(text);
  return out;
}

/* A key for messages; non-ASCII characters are replaced, so that shortening cuts none. */
static void put_key(const char *key, char out[64]) {
  size_t i = 0;
  for (; key[i] && i < 60; i++) {
    bool plain = key[i] >= ' ' && key[i] < 127;
    out[i] = '?';
    if (plain) out[i] = key[i];
  }
  out[i] = '\0';
}

/* Finds the first key that differs, including a mixer's options. */
static bool differs(const json_t *a, const json_t *b, const char *path, char out[400]) {
  const char *key;
  json_t *value;
  char inner[160], x[64], y[64], shown[64];
  for (int turn = 0; turn < 2; turn++)
    json_object_foreach((json_t *)(turn ? b : a), key, value) {
      const json_t *va = json_object_get(a, key), *vb = json_object_get(b, key);
      if (va && vb && json_equal(va, vb)) continue;
      put_key(key, shown);
      snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", shown);
      if (json_is_object(va) && json_is_object(vb) && strlen(path) < 80)
        return differs(va, vb, inner, out);
      snprintf(out, 400, "the configurations differ: %s is %s here, %s there", inner,
               value_text(vb, y), value_text(va, x));
      return true;
    }
  return false;
}

/* ---- differences that make numbers incomparable ---- */

static filtra_status warn(comparison *c, char *text) {
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  if (FT_GROW(c->warnings, c->warning_count, c->warning_capacity)) {
    free(text);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  c->warnings[c->warning_count++] = text;
  return FILTRA_OK;
}

/* Whether a commit does not identify the program that was measured. */
static bool is_vague(const char *commit) {
  size_t length = strlen(commit);
  return !length || !strcmp(commit, "unknown") ||
         (length > 6 && !strcmp(commit + length - 6, "-dirty"));
}

static filtra_status warn_of_programs(comparison *c, const compare_machine *a,
                                      const compare_machine *b) {
  if (strcmp(a->version, b->version) || strcmp(a->commit, b->commit))
    return warn(c, ft_format("%s was measured with filtra %s (%s), %s with filtra %s (%s): "
                             "differences may be the program's.",
                             b->label, b->version, *b->commit ? b->commit : "unknown", a->label,
                             a->version, *a->commit ? a->commit : "unknown"));
  if (!is_vague(a->commit)) return FILTRA_OK;
  return warn(c, ft_format("%s and %s were measured with commit %s, which may stand for different "
                           "programs.",
                           a->label, b->label, *a->commit ? a->commit : "unknown"));
}

static filtra_status warn_of_models(comparison *c, const compare_machine *a,
                                    const compare_machine *b) {
  char how[400];
  if (!a->model || !b->model || !differs(a->model, b->model, "", how)) return FILTRA_OK;
  return warn(
      c, ft_format("%s timed the answers of another model than %s: %s.", b->label, a->label, how));
}

static const char *threads_text(double threads, char out[64]) {
  if (threads > 0.0)
    snprintf(out, 64, "%.0f thread%s of the driver", threads, threads > 1.0 ? "s" : "");
  else
    snprintf(out, 64, "a thread of the driver for each core");
  return out;
}

/* Warns of what the user chose for one machine and not for the other. A file that does not say it
 * has NaN, of which no comparison holds. */
static filtra_status warn_of_choices(comparison *c, const compare_machine *a,
                                     const compare_machine *b) {
  char x[64], y[64];
  if ((a->tuned > 0.0 && b->tuned <= 0.0) || (a->tuned <= 0.0 && b->tuned > 0.0))
    FT_TRY(warn(c, ft_format("%s was measured with what filtra tune chose, %s without: differences "
                             "may be these choices'.",
                             a->tuned > 0.0 ? a->label : b->label,
                             a->tuned > 0.0 ? b->label : a->label)));
  if (!(a->driver_threads < b->driver_threads) && !(a->driver_threads > b->driver_threads))
    return FILTRA_OK;
  return warn(c, ft_format("%s was measured with %s, %s with %s.", b->label,
                           threads_text(b->driver_threads, y), a->label,
                           threads_text(a->driver_threads, x)));
}

static filtra_status warn_of(comparison *c, const compare_machine *a, const compare_machine *b) {
  FT_TRY(warn_of_programs(c, a, b));
  FT_TRY(warn_of_models(c, a, b));
  FT_TRY(warn_of_choices(c, a, b));
  if (a->quick != b->quick)
    FT_TRY(warn(c, ft_format("%s was measured with --quick, %s without: sizes and repeats differ.",
                             a->quick ? a->label : b->label, a->quick ? b->label : a->label)));
  if (!strcmp(a->caps, b->caps)) return FILTRA_OK;
  const char *none = "without";
  return warn(c, ft_format("%s was measured %s%s, %s %s%s: what a device can do was masked.",
                           b->label, *b->caps ? "under --caps " : none, b->caps, a->label,
                           *a->caps ? "under --caps " : none, a->caps));
}

static filtra_status warn_of_results(comparison *c, const compare_machine *m) {
  if (!(m->golden_passed < m->golden_cases)) return FILTRA_OK;
  return warn(c,
              ft_format("on %s %.0f of %.0f golden cases fail: its times may be of wrong results.",
                        m->label, m->golden_cases - m->golden_passed, m->golden_cases));
}

/* ---- losses ---- */

static const compare_losses *losses_of(const compare_machine *m, const char *mixer) {
  for (size_t i = 0; i < m->loss_count; i++)
    if (!strcmp(m->losses[i].mixer, mixer)) return &m->losses[i];
  return NULL;
}

static void deviate(const compare_losses *a, const compare_losses *b, compare_deviation *d) {
  d->steps = a->count < b->count ? a->count : b->count;
  d->equal = true;
  for (size_t i = 0; i < d->steps; i++) {
    double x = a->values[i], y = b->values[i], difference = fabs(y - x);
    double magnitude = fmax(fabs(x), fabs(y)), relative = difference / magnitude;
    d->equal = d->equal && x == y;
    if (difference > d->absolute) {
      d->absolute = difference;
      d->absolute_step = i + 1;
    }
    if (magnitude > 0.0 && relative > d->relative) {
      d->relative = relative;
      d->relative_step = i + 1;
    }
  }
}

static void compare_runs(const compare_losses *a, const compare_losses *b, compare_deviation *d) {
  d->losses = b;
  if (!b) return;
  if (*b->error)
    snprintf(d->refused, sizeof d->refused, "failed");
  else if (a->seed != b->seed && !(isnan(a->seed) && isnan(b->seed)))
    snprintf(d->refused, sizeof d->refused, "the seeds differ: %.0f here, %.0f there", b->seed,
             a->seed);
  else if (!differs(a->config, b->config, "", d->refused))
    deviate(a, b, d);
}

static filtra_status add_agreement(comparison *c, const char *mixer) {
  compare_agreement a = {.mixer = mixer};
  const compare_losses *all[COMPARE_MOST_FILES];
  for (size_t k = 0; k < c->agreement_count; k++)
    if (!strcmp(c->agreements[k].mixer, mixer)) return FILTRA_OK;
  for (size_t k = c->machine_count; k-- > 0;) {
    all[k] = losses_of(&c->machines[k], mixer);
    if (all[k] && !*all[k]->error) a.base = k;
  }
  for (size_t k = 0; k < c->machine_count; k++) {
    const compare_losses *base = all[a.base];
    bool usable = base && !*base->error;
    compare_runs(usable ? base : all[k], all[k], &a.of[k]);
  }
  FT_TRY(FT_GROW(c->agreements, c->agreement_count, c->agreement_capacity));
  c->agreements[c->agreement_count++] = a;
  return FILTRA_OK;
}

bool compare_has_losses(const compare_agreement *a, size_t machine) {
  return a->of[machine].losses && !*a->of[machine].refused;
}

/* ---- all of it ---- */

filtra_status compare_match(comparison *c) {
  for (size_t k = 0; k < c->machine_count; k++)
    FT_TRY(name_machine(c, k));
  for (size_t k = 0; k < c->machine_count; k++)
    FT_TRY(warn_of_results(c, &c->machines[k]));
  for (size_t k = 1; k < c->machine_count; k++)
    FT_TRY(warn_of(c, &c->machines[0], &c->machines[k]));
  FT_TRY(match_cases(c));
  for (size_t k = 0; k < c->machine_count; k++)
    for (size_t i = 0; i < c->machines[k].loss_count; i++)
      FT_TRY(add_agreement(c, c->machines[k].losses[i].mixer));
  return FILTRA_OK;
}

void compare_free(comparison *c) {
  for (size_t i = 0; i < c->row_count; i++)
    free(c->rows[i].name);
  for (size_t i = 0; i < c->warning_count; i++)
    free(c->warnings[i]);
  free(c->rows);
  free(c->agreements);
  free(c->warnings);
  for (size_t k = 0; k < c->machine_count; k++)
    compare_free_machine(&c->machines[k]);
}
