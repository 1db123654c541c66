/* The tuner: checks and times the configurations of one question, and keeps a journal against
 * crashes. Called by `filtra tune` through ft_tune. */
#include "ops/tuner.h"

#include "ops/trial.h"

#include "base/file.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9, MOST_ROUNDS = 64 };
static const double TOLERANCE = 2e-4, MARGIN = 0.03;
/* A candidate slower than the fastest by this factor after two rounds is not timed again. One round
 * alone may be slow by accident. */
static const double HOPELESS = 1.5;
enum { FAIR_ROUNDS = 2 };

typedef struct results {
  float *of[FT_TRIAL_TENSORS];
} results;

typedef struct tuner {
  filtra_device *device;
  const ft_tuning_question *question;
  const ft_tuner_options *options;
  ft_tuning_entry *entry;
  filtra_arena *arena;  /* shared by all trials: one executes at a time */
  results reference[2]; /* of the problem, and of the odd one */
  ft_tuner_result *result;
  size_t capacity;                /* of result->candidates */
  ft_trial *trials;               /* of the problem, by candidate; compiled, or without a graph */
  double (*seconds)[MOST_ROUNDS]; /* by candidate */
} tuner;

/* ---- trials ---- */

static filtra_status fill_input(ft_trial *t, int i) {
  const filtra_dtype dtype = filtra_tensor_dtype(t->in[i]);
  size_t count = (size_t)filtra_tensor_elements(t->in[i]);
  ft_rng rng = ft_rng_make(1, (uint64_t)i);
  void *values = ft_calloc(count, filtra_dtype_bytes(dtype));
  if (!values) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t k = 0; k < count; k++)
    ft_element_set(dtype, values, k, 2.0f * ft_rng_float(&rng) - 1.0f);
  filtra_status status = filtra_graph_set(t->graph, t->in[i], values);
  free(values);
  return status;
}

/* Builds and compiles a trial; `tuning` answers the op's questions. */
static filtra_status build(tuner *u, ft_tuning *tuning, bool odd, ft_trial *t) {
  *t = (ft_trial){0};
  FT_TRY(filtra_graph_create(
      u->device, &(filtra_graph_options){.arena = u->arena, .slots = 1, .training = true},
      &t->graph));
  ft_tuning *before = ft_tuning_use(u->device, tuning);
  ft_trial_build(t, u->question, odd);
  ft_tuning_use(u->device, before);
  FT_TRY(filtra_graph_compile(t->graph));
  for (int i = 0; i < t->inputs; i++)
    FT_TRY(fill_input(t, i));
  return FILTRA_OK;
}

static filtra_status run(ft_trial *t, results *r) {
  FT_TRY(filtra_graph_execute(t->graph));
  for (int i = 0; i < t->outputs; i++) {
    r->of[i] = ft_calloc((size_t)filtra_tensor_elements(t->out[i]), sizeof(float));
    if (!r->of[i]) return FILTRA_ERROR_HOST_MEMORY;
    FT_TRY(filtra_graph_get(t->graph, t->out[i], r->of[i]));
  }
  return FILTRA_OK;
}

static void free_results(results *r) {
  for (int i = 0; i < FT_TRIAL_TENSORS; i++)
    free(r->of[i]);
}

static filtra_status make_reference(tuner *u, bool odd) {
  ft_tuning plain = {.reference = true};
  ft_trial t;
  filtra_status status = build(u, &plain, odd, &t);
  if (!status) status = run(&t, &u->reference[odd]);
  filtra_graph_destroy(&t.graph);
  return status ? ft_fail_context(status, "%s: reference", u->question->key) : FILTRA_OK;
}

/* ---- the check ---- */

/* Writes why results differ from the reference; "" if they do not. */
static void compare(const tuner *u, const ft_trial *t, const results *want, const results *got,
                    char why[FT_TUNING_REASON]) {
  const double given = u->options->tolerance;
  const double tolerance = fmax(given > 0.0 ? given : TOLERANCE, t->rounding);
  for (int i = 0; i < t->outputs; i++) {
    size_t count = (size_t)filtra_tensor_elements(t->out[i]);
    double scale = 1e-6, worst = 0.0;
    for (size_t k = 0; k < count; k++)
      scale = fmax(scale, fabs((double)want->of[i][k]));
    for (size_t k = 0; k < count; k++) {
      double error = fabs((double)got->of[i][k] - (double)want->of[i][k]) / scale;
      if (!(error <= worst)) worst = isfinite(error) ? error : INFINITY;
    }
    if (worst <= tolerance) continue;
    snprintf(why, FT_TUNING_REASON,
             "result %d differs from the reference by %.2g of its largest value; at most %.2g is "
             "accepted",
             i, worst, tolerance);
    return;
  }
}

/* A lost device ends the tuning; any other failure only refuses the candidate. */
static filtra_status refuse_failed(filtra_status status, ft_tuner_candidate *c) {
  if (!status || status == FILTRA_ERROR_DEVICE_LOST) return status;
  snprintf(c->why, sizeof c->why, "%s", filtra_error_message());
  return FILTRA_OK;
}

static filtra_status try_one(tuner *u, size_t index, bool odd, ft_trial *t) {
  ft_tuner_candidate *c = &u->result->candidates[index];
  ft_tuning forced = {.forced = true,
                      .known = u->options->known,
                      .forced_family = u->question->family,
                      .forced_configuration = c->configuration};
  results got = {0};
  filtra_status status = build(u, &forced, odd, t);
  if (!status) status = run(t, &got);
  if (!status) compare(u, t, &u->reference[odd], &got, c->why);
  free_results(&got);
  return refuse_failed(status, c);
}

/* Writes the journal: a tuning file that refuses the candidate; it remains if the process dies. */
static filtra_status write_journal(const tuner *u, const ft_configuration *c) {
  if (!u->options->journal) return FILTRA_OK;
  ft_tuning *t = ft_tuning_new();
  ft_tuning_entry *e = t ? ft_tuning_add(t, u->question->key, u->question->family) : NULL;
  filtra_status status =
      e ? ft_tuning_refuse(e, c, "the process ended while it was tried") : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = ft_tuning_save(u->device, t, u->options->journal);
  ft_tuning_release(&t);
  return status;
}

static filtra_status check_candidate(tuner *u, size_t index) {
  ft_tuner_candidate *c = &u->result->candidates[index];
  ft_trial small = {0};
  /* The op's own choice need not be a row of the table; training uses it in any case. */
  if (index) FT_TRY(write_journal(u, &c->configuration));
  filtra_status status = try_one(u, index, true, &small);
  filtra_graph_destroy(&small.graph);
  if (!status && !*c->why) status = try_one(u, index, false, &u->trials[index]);
  if (*c->why) filtra_graph_destroy(&u->trials[index].graph);
  if (!status && *c->why && ft_configuration_known(u->entry->family, &c->configuration))
    status = ft_tuning_refuse(u->entry, &c->configuration, c->why);
  if (!status && u->options->journal) remove(u->options->journal);
  return status;
}

/* ---- timing ---- */

static filtra_status time_once(ft_trial *t, double *seconds) {
  if (filtra_device_get_info(ft_graph_device(t->graph))->timestamps)
    return ft_graph_seconds(t->graph, seconds);
  double start = ft_seconds();
  FT_TRY(filtra_graph_execute(t->graph));
  *seconds = ft_seconds() - start;
  return FILTRA_OK;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static filtra_status time_candidate(tuner *u, size_t index) {
  ft_tuner_candidate *c = &u->result->candidates[index];
  double *list = u->seconds[index], sorted[MOST_ROUNDS];
  FT_TRY(time_once(&u->trials[index], &list[c->runs++]));
  memcpy(sorted, list, (size_t)c->runs * sizeof *sorted);
  qsort(sorted, (size_t)c->runs, sizeof *sorted, ascending);
  c->best = sorted[0];
  c->median = sorted[c->runs / 2];
  return FILTRA_OK;
}

static int rounds_of(const tuner *u) {
  int rounds = u->options->rounds > 0 ? u->options->rounds : ROUNDS;
  return rounds < MOST_ROUNDS / 2 ? rounds : MOST_ROUNDS / 2;
}

/* Times candidates in turns, so that other load on the machine slows all of them alike. */
static filtra_status time_all(tuner *u) {
  const ft_tuner_result *r = u->result;
  for (int round = 0; round < rounds_of(u); round++) {
    double fastest = INFINITY;
    for (size_t i = 0; i < r->count && round; i++)
      if (r->candidates[i].runs) fastest = fmin(fastest, r->candidates[i].best);
    for (size_t i = 0; i < r->count; i++) {
      const ft_tuner_candidate *c = &r->candidates[i];
      if (*c->why || (i && c->runs >= FAIR_ROUNDS && c->best > HOPELESS * fastest)) continue;
      FT_TRY(time_candidate(u, i));
    }
  }
  return FILTRA_OK;
}

static bool beats(const tuner *u, const ft_tuner_candidate *a, const ft_tuner_candidate *b) {
  const double margin = 1.0 - (u->options->margin > 0.0 ? u->options->margin : MARGIN);
  return a->median < margin * b->median && a->best < margin * b->best;
}

/* The fastest of many is partly lucky: it and the op's own choice are timed again. */
static filtra_status choose_winner(tuner *u) {
  ft_tuner_result *r = u->result;
  ft_tuner_candidate *own = &r->candidates[0];
  size_t fastest = 0;
  for (size_t i = 1; i < r->count; i++) {
    const ft_tuner_candidate *c = &r->candidates[i], *f = &r->candidates[fastest];
    if (!*c->why && c->runs && (*f->why || c->median < f->median)) fastest = i;
  }
  ft_tuner_candidate *c = &r->candidates[fastest];
  if (*c->why)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "%s: no configuration gives the reference's results; the op's own "
                   "says: %s",
                   u->question->key, own->why);
  r->winner = *own->why ? fastest : 0;
  if (*own->why || !fastest || !beats(u, c, own)) return FILTRA_OK;
  own->runs = c->runs = 0;
  for (int round = 0; round < rounds_of(u); round++) {
    FT_TRY(time_candidate(u, 0));
    FT_TRY(time_candidate(u, fastest));
  }
  if (beats(u, c, own)) r->winner = fastest;
  return FILTRA_OK;
}

/* ---- tuning ---- */

/* Whether the number of parts is near the op's own choice; others are not worth the time. */
static bool near(const ft_tuning_question *q, const ft_configuration *c) {
  const ft_configuration_table *t = ft_configurations(q->family);
  if (!t->most_parts) return true;
  uint32_t parts = c->value[t->field_count - 1], own = q->standard.value[t->field_count - 1];
  return parts == 1 || (parts * 4 >= own && parts <= 4 * own);
}

static filtra_status add_candidate(tuner *u, const ft_configuration *c) {
  ft_tuner_result *r = u->result;
  FT_TRY(FT_GROW(r->candidates, r->count, u->capacity));
  r->candidates[r->count++] = (ft_tuner_candidate){.configuration = *c};
  return FILTRA_OK;
}

static filtra_status list_candidates(tuner *u) {
  const ft_tuning_question *q = u->question;
  FT_TRY(add_candidate(u, &q->standard));
  for (size_t i = 0; i < ft_configuration_count(q->family); i++) {
    ft_configuration c = ft_configuration_at(q->family, i);
    if (ft_configuration_same(&c, &q->standard) || ft_tuning_refused(u->entry, &c) ||
        !near(q, &c) || !q->usable(u->device, q, &c))
      continue;
    FT_TRY(add_candidate(u, &c));
  }
  for (size_t i = 0; i < u->options->extra_count; i++)
    FT_TRY(add_candidate(u, &u->options->extra[i]));
  return FILTRA_OK;
}

static filtra_status tune(tuner *u) {
  ft_tuner_result *r = u->result;
  FT_TRY(list_candidates(u));
  u->trials = ft_calloc(r->count, sizeof *u->trials);
  u->seconds = ft_calloc(r->count, sizeof *u->seconds);
  if (!u->trials || !u->seconds) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(filtra_arena_create(u->device, &u->arena));
  FT_TRY(make_reference(u, false));
  FT_TRY(make_reference(u, true));
  for (size_t i = 0; i < r->count; i++)
    FT_TRY(check_candidate(u, i));
  FT_TRY(time_all(u));
  FT_TRY(choose_winner(u));
  const ft_tuner_candidate *winner = &r->candidates[r->winner];
  u->entry->chosen = r->winner > 0;
  u->entry->choice = winner->configuration;
  u->entry->standard_seconds = r->candidates[0].median;
  u->entry->seconds = winner->median;
  u->entry->runs = (uint32_t)winner->runs;
  return FILTRA_OK;
}

filtra_status ft_tune(filtra_device *dev, const ft_tuning_question *q, const ft_tuner_options *o,
                      ft_tuning_entry *entry, ft_tuner_result *result) {
  tuner u = {.device = dev, .question = q, .options = o, .entry = entry, .result = result};
  *result = (ft_tuner_result){0};
  filtra_status status = tune(&u);
  for (size_t i = 0; u.trials && i < result->count; i++)
    filtra_graph_destroy(&u.trials[i].graph);
  filtra_arena_destroy(&u.arena);
  free_results(&u.reference[0]);
  free_results(&u.reference[1]);
  free(u.trials);
  free(u.seconds);
  return status;
}

/* ---- journals ---- */

static const char TRYING[] = ".trying";

char *ft_tuner_journal(const char *path) {
  return ft_format("%s.%ld%s", path, ft_process(), TRYING);
}

static filtra_status recover_one(const filtra_device *dev, const char *journal, ft_tuning *tuning) {
  bool foreign;
  ft_tuning *left = NULL;
  filtra_status status = FILTRA_OK;
  if (ft_tuning_load(dev, journal, &foreign, &left))
    ft_log(FILTRA_LOG_WARNING, "a tuner's journal is ignored: %s", filtra_error_message());
  for (size_t i = 0; left && i < left->count && !status; i++) {
    const ft_tuning_entry *from = &left->entries[i];
    ft_tuning_entry *to = ft_tuning_add(tuning, from->key, from->family);
    status = to ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
    for (size_t k = 0; k < from->refused_count && !status; k++) {
      const ft_tuning_refusal *r = &from->refused[k];
      status = ft_tuning_refuse(to, &r->configuration, r->why);
      /* A refused configuration is no longer the choice. */
      if (to->chosen && ft_configuration_same(&to->choice, &r->configuration)) to->chosen = false;
    }
  }
  ft_tuning_release(&left);
  remove(journal);
  return status;
}

/* The process that owns a file "BASE.NUMBER.trying"; 0: it is not a journal. */
static long journal_owner(const char *name, const char *base) {
  size_t length = strlen(base);
  if (strncmp(name, base, length) || name[length] != '.') return 0;
  char *end;
  long process = strtol(name + length + 1, &end, 10);
  return strcmp(end, TRYING) ? 0 : process;
}

filtra_status ft_tuner_recover(const filtra_device *dev, const char *path, ft_tuning *tuning) {
  const char *base = ft_path_name(path);
  char **names = NULL, *folder = base > path ? ft_path_folder(path) : NULL;
  size_t count = 0;
  if (!folder) return base > path ? FILTRA_ERROR_HOST_MEMORY : FILTRA_OK;
  filtra_status status =
      ft_is_directory(folder) ? ft_list_directory(folder, &names, &count) : FILTRA_OK;
  for (size_t i = 0; i < count; i++) {
    const long owner = journal_owner(names[i], base);
    char *journal = owner && !ft_process_runs(owner) ? ft_path_join(folder, names[i]) : NULL;
    if (journal && !status) status = recover_one(dev, journal, tuning);
    free(journal);
    free(names[i]);
  }
  free(names);
  free(folder);
  return status;
}
