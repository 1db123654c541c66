/* Whole runs: the loop over steps, evaluation, metrics, checkpoints, the best model, and resuming.
 * Called by programs and `filtra train` through filtra_run_train. */
#include "train/run.h"

#include "base/file.h"
#include "base/memory.h"
#include "data/image.h"
#include "ops/tuning.h"
#include "train/class_weights.h"
#include "train/groups.h"
#include "train/identity.h"
#include "train/input.h"
#include "train/metrics.h"
#include "train/preset.h"
#include "train/shares.h"
#include "train/start.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
  filtra_device *device;
  const filtra_run_options *options;
  ft_run_config config;
  const char *context; /* name of the configuration in errors */
  char *config_path, *model_path, *checkpoint_path;
  bool begins;        /* at step 0: a new run, or one stopped before its first checkpoint */
  json_t *checkpoint; /* the last checkpoint's metadata; NULL: no checkpoint yet */
  ft_run_identity identity;
  const filtra_dataset *data;
  filtra_dataset *opened; /* the same if this run opened it; NULL: the caller's */
  filtra_loader *loader;
  filtra_model *model;
  filtra_trainer *trainer;
  ft_metrics *metrics;
  bool pinned;       /* the device uses the run's tuning */
  ft_tuning *tuning; /* the device's own tuning, to be restored */
  uint64_t total, eval_every, checkpoint_every;
  filtra_run_progress progress; /* best_loss < 0: no evaluation yet */
  ft_recent recent;
  filtra_evaluation validation, best; /* the last and the best */
  double lowest;                      /* lowest ft_measure_lack by `patience_by`; < 0: none yet */
  char frozen[FT_FROZEN_TEXT];        /* names of frozen parameters */
  uint64_t waited;                    /* evaluations since `lowest` */
  bool saved;                         /* the folder holds a best model of this run */
  bool due;                           /* the last step's evaluation was stopped */
  bool wants_stop, stop;              /* the caller wants to stop; all ranks agreed to stop */
  bool writes;                        /* this process writes files: the only one, or rank 0 */
} run;

static filtra_status name_files(run *r) {
  r->config_path = ft_path_join(r->options->folder, FILTRA_RUN_CONFIG);
  r->model_path = ft_path_join(r->options->folder, FILTRA_RUN_MODEL);
  r->checkpoint_path = ft_path_join(r->options->folder, FILTRA_RUN_CHECKPOINT);
  return r->config_path && r->model_path && r->checkpoint_path ? FILTRA_OK
                                                               : FILTRA_ERROR_HOST_MEMORY;
}

/* NULL: one process. */
static const ft_ranks *ranks_of(const run *r) {
  return r->trainer->ranks.transport ? &r->trainer->ranks : NULL;
}

/* Whether a run is resumed with a new length. */
static bool extends(const run *r) {
  return r->options->steps || r->options->epochs;
}

/* ---- evaluation ---- */

/* Whether an evaluation is better than the best so far. The loss decides between equal measures,
 * which are frequent on small validation splits. */
static bool is_better(const run *r, const filtra_evaluation *e) {
  const double lack = ft_measure_lack(r->config.select_by, e);
  const double least = ft_measure_lack(r->config.select_by, &r->best);
  if (r->progress.best_loss < 0.0) return true;
  return lack != least ? lack < least : e->loss < r->best.loss;
}

static void note_best(run *r) {
  filtra_run_progress *p = &r->progress;
  p->best = &r->best;
  p->best_loss = r->best.loss;
  p->best_accuracy = r->best.accuracy;
  p->best_absolute_error = r->best.absolute_error;
}

static void note_validation(run *r) {
  filtra_run_progress *p = &r->progress;
  p->validation = &r->validation;
  p->validation_loss = r->validation.loss;
  p->validation_accuracy = r->validation.accuracy;
  p->validation_absolute_error = r->validation.absolute_error;
  p->validation_top5_accuracy = r->validation.top5_accuracy;
}

static filtra_status forget_evaluations(const run *r) {
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++) {
    char *path =
        ft_format("%s/" FILTRA_RUN_EVALUATION, r->options->folder, filtra_split_name(split));
    if (!path) return FILTRA_ERROR_HOST_MEMORY;
    remove(path); /* it may not exist */
    free(path);
  }
  return FILTRA_OK;
}

static void count_patience(run *r) {
  const double lack = ft_measure_lack(r->config.patience_by, &r->validation);
  bool lower = r->lowest < 0.0 || lack < r->lowest;
  if (lower) r->lowest = lack;
  r->waited = lower ? 0 : r->waited + 1;
}

static bool is_out_of_patience(const run *r) {
  return r->config.patience > 0 && r->waited >= (uint64_t)r->config.patience;
}

static filtra_status save_model(run *r) {
  const int64_t classes = r->config.model.config.classes;
  if (!r->model->input) FT_TRY(ft_dataset_describe(r->data, classes, &r->model->input));
  char *text = ft_json_text(ft_run_identity_write(&r->identity), JSON_COMPACT);
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_model_save(r->model, r->options->folder, r->model_path, FT_RUN_KEY, text);
  if (!status) r->saved = true;
  free(text);
  return status;
}

/* Evaluates, and saves the model if it is the best on the validation split. Without a validation
 * split the last model is saved. */
static filtra_status evaluate(run *r) {
  filtra_run_progress *p = &r->progress;
  bool better = true;
  r->due = false;
  FT_TRY(filtra_trainer_finish(r->trainer, NULL));
  if (filtra_dataset_get_info(r->data)->count[FILTRA_SPLIT_VAL]) {
    const ft_evaluation_way way = {ranks_of(r), r->options->stop, r->options->user, NULL};
    filtra_status status = ft_evaluate_shared(r->model, r->data, FILTRA_SPLIT_VAL,
                                              (uint32_t)r->config.batch_size, &way, &r->validation);
    r->due = status == FILTRA_ERROR_CANCELLED;
    FT_TRY(status);
    note_validation(r);
    p->evaluated = true;
    better = is_better(r, &r->validation);
    count_patience(r);
    if (better) {
      r->best = r->validation;
      p->best_step = filtra_trainer_step_count(r->trainer);
      note_best(r);
    }
    FT_TRY(ft_metrics_validation(r->metrics, p));
  }
  if (!r->writes) r->saved = r->saved || better;
  if (!better || !r->writes) return FILTRA_OK;
  FT_TRY(forget_evaluations(r));
  return save_model(r);
}

/* ---- checkpoints ---- */

/* The checkpoint's metadata; NULL when out of memory. */
static json_t *write_position(const run *r) {
  filtra_loader_position at = filtra_loader_get_position(r->loader);
  const filtra_run_progress *p = &r->progress;
  json_t *more = json_pack(
      "{sO sb sb sI sI sf sI sI sf sf sf sf sf sf sf so so}", "settings", r->identity.settings,
      "model", r->saved, "due", r->due, "epoch", (json_int_t)at.epoch, "batch",
      (json_int_t)at.batch, "lowest_loss", r->lowest, "waited", (json_int_t)r->waited, "best_step",
      (json_int_t)p->best_step, "best_accuracy", p->best_accuracy, "best_loss", p->best_loss,
      "best_mae", p->best_absolute_error, "validation_loss", p->validation_loss,
      "validation_accuracy", p->validation_accuracy, "validation_mae", p->validation_absolute_error,
      "validation_top5_accuracy", p->validation_top5_accuracy, "best",
      ft_evaluation_write(&r->best), "validation", ft_evaluation_write(&r->validation));
  return ft_json_join(ft_run_identity_write(&r->identity), more);
}

static filtra_status save_checkpoint(run *r) {
  FT_TRY(filtra_trainer_finish(r->trainer, NULL));
  FT_TRY(ft_metrics_sync(r->metrics)); /* a resumed run does not write these lines again */
  char *text = ft_json_text(write_position(r), JSON_COMPACT);
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_trainer_save(r->trainer, r->options->folder, r->checkpoint_path, FT_RUN_KEY, text);
  free(text);
  return status;
}

/* Takes the evaluations of a checkpoint; earlier versions stored only some of their numbers. */
static void take_evaluations(run *r) {
  filtra_run_progress *p = &r->progress;
  r->best = (filtra_evaluation){.task = filtra_model_task(r->model),
                                .loss = p->best_loss,
                                .accuracy = p->best_accuracy,
                                .absolute_error = p->best_absolute_error};
  r->validation = (filtra_evaluation){.task = filtra_model_task(r->model),
                                      .loss = p->validation_loss,
                                      .accuracy = p->validation_accuracy,
                                      .absolute_error = p->validation_absolute_error,
                                      .top5_accuracy = p->validation_top5_accuracy};
  ft_evaluation_read(json_object_get(r->checkpoint, "best"), &r->best);
  ft_evaluation_read(json_object_get(r->checkpoint, "validation"), &r->validation);
  if (p->best_loss >= 0.0) note_best(r);
  if (p->validation_loss >= 0.0) note_validation(r);
}

static filtra_status take_position(run *r) {
  const char *path = r->checkpoint_path;
  filtra_run_progress *p = &r->progress;
  json_int_t epoch, batch, waited, best = 0;
  int saved, due = 0;
  filtra_status status = ft_json_unpack(
      r->checkpoint, path, "{sb s?b sI sI sF sI s?I sF sF s?F sF sF s?F s?F}", "model", &saved,
      "due", &due, "epoch", &epoch, "batch", &batch, "lowest_loss", &r->lowest, "waited", &waited,
      "best_step", &best, "best_accuracy", &p->best_accuracy, "best_loss", &p->best_loss,
      "best_mae", &p->best_absolute_error, "validation_loss", &p->validation_loss,
      "validation_accuracy", &p->validation_accuracy, "validation_mae",
      &p->validation_absolute_error, "validation_top5_accuracy", &p->validation_top5_accuracy);
  if (status == FILTRA_ERROR_HOST_MEMORY) return status;
  if (status || epoch < 0 || batch < 0 || waited < 0 || best < 0)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: metadata \"" FT_RUN_KEY "\" is damaged", path);
  take_evaluations(r);
  r->saved = saved;
  r->due = due;
  r->waited = extends(r) ? 0 : (uint64_t)waited;
  p->best_step = (uint64_t)best;
  p->step = filtra_trainer_step_count(r->trainer);
  p->epoch = (double)p->step / (double)filtra_loader_batch_count(r->loader);
  if (p->step > r->total)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: is of step %llu; the run has %llu steps, and can go on to %llu or more",
                   path, (unsigned long long)p->step, (unsigned long long)r->total,
                   (unsigned long long)p->step);
  filtra_loader_position at = {.epoch = (uint64_t)epoch, .batch = (uint64_t)batch};
  /* With other data an epoch may have fewer batches: this epoch is then over. */
  if (r->options->allow_changes && at.batch >= filtra_loader_batch_count(r->loader))
    at = (filtra_loader_position){.epoch = at.epoch + 1};
  status = filtra_loader_set_position(r->loader, at);
  return status ? ft_fail_context(FILTRA_ERROR_INPUT, "%s", path) : FILTRA_OK;
}

/* Fails unless the saved best model belongs to this run. */
static filtra_status check_model(run *r) {
  const char *path = r->model_path;
  json_t *model = NULL;
  if (!r->saved) return FILTRA_OK;
  filtra_status status = ft_file_exists(path) ? ft_run_identity_read(path, &model) : FILTRA_OK;
  const char *id = json_string_value(json_object_get(model, "id"));
  if (!status && id && strcmp(id, r->identity.id) != 0)
    status = ft_fail(FILTRA_ERROR_INPUT, "%s: is of another run (%s) than the checkpoint (%s)",
                     path, id, r->identity.id);
  else if (!status && !id && !r->options->allow_changes)
    status = ft_fail(FILTRA_ERROR_INPUT,
                     "%s: is missing, the best model so far; bring it back, or resume with "
                     "allow_changes (--allow-changes) to save the next one",
                     path);
  else if (!status && !id) {
    r->saved = false;
    r->progress.best_accuracy = r->progress.best_loss = -1.0;
  }
  json_decref(model);
  return status;
}

static filtra_status restore_checkpoint(run *r) {
  FT_TRY(filtra_trainer_restore(r->trainer, r->checkpoint_path));
  FT_TRY(take_position(r));
  if (!r->options->allow_changes)
    FT_TRY(ft_metrics_check(r->metrics, &r->progress, (uint64_t)r->config.log_every));
  return check_model(r);
}

/* A run that was stopped before its first checkpoint starts over. */
static filtra_status read_checkpoint(run *r) {
  r->begins = !ft_file_exists(r->checkpoint_path);
  if (!r->begins) return ft_run_identity_read(r->checkpoint_path, &r->checkpoint);
  ft_log(FILTRA_LOG_WARNING, "%s has no checkpoint: the run begins again", r->options->folder);
  return FILTRA_OK;
}

/* Computes the identity, and compares it with the checkpoint's. */
static filtra_status identify(run *r) {
  FT_TRY(ft_run_identify(&r->config, r->data, &r->identity));
  if (r->begins) return FILTRA_OK;
  if (extends(r)) {
    json_t *before = json_object_get(r->checkpoint, "settings");
    json_object_del(before, "steps");
    json_object_del(before, "epochs");
  }
  return ft_run_identity_resume(&r->identity, r->checkpoint, r->checkpoint_path,
                                r->options->allow_changes);
}

/* ---- setting up ---- */

static filtra_status read_config(run *r) {
  const filtra_run_options *o = r->options;
  r->context = !o->config ? r->config_path : o->config_name ? o->config_name : "configuration";
  FT_TRY(ft_run_config_of(o, r->context, r->config_path, &r->config));
  if (extends(r)) {
    r->config.train.optimizer.steps = o->steps;
    r->config.epochs = (int64_t)o->epochs;
  }
  r->config.folder = r->begins ? NULL : o->folder;
  return FILTRA_OK;
}

/* Decodes the training images, unless computing their mean did, and the validation images. Each
 * rank checks some of them. */
static filtra_status check_images(const run *r) {
  const filtra_transport *t = r->options->transport;
  const size_t first = t ? (size_t)t->rank : 0, step = t && t->size ? (size_t)t->size : 1;
  if (r->config.dataset.normalize != FILTRA_NORMALIZE_DATA)
    FT_TRY(ft_images_check(r->data, FILTRA_SPLIT_TRAIN, first, step));
  return ft_images_check(r->data, FILTRA_SPLIT_VAL, first, step);
}

static filtra_status open_data(run *r) {
  r->data = r->options->data;
  if (r->data) return FILTRA_OK;
  filtra_status status = ft_run_open_training(&r->config, &r->opened);
  r->data = r->opened;
  return !status && r->begins ? check_images(r) : status;
}

/* Compiles graphs for all lengths of the data, the longest first, so that the others share its
 * memory. */
static filtra_status prepare_graphs(run *r) {
  size_t count;
  const uint32_t *lengths = filtra_loader_buckets(r->loader, &count);
  while (count-- > 0) {
    filtra_status status = filtra_trainer_prepare(r->trainer, r->config.batch_size, lengths[count]);
    if (status == FILTRA_ERROR_DEVICE_MEMORY)
      ft_fail_context(status,
                      "training with \"batch_size\" %lld and sequences of %u tokens (filtra train "
                      "--plan says what would make it fit)",
                      (long long)r->config.batch_size, lengths[count]);
    FT_TRY(status);
  }
  return FILTRA_OK;
}

static filtra_status step_finished(void *user, const filtra_trainer_metrics *metrics) {
  run *r = user;
  r->progress.last = *metrics;
  r->progress.step = metrics->step;
  r->progress.device_memory_bytes = filtra_device_memory_used(r->device);
  r->progress.epoch = (double)metrics->step / (double)filtra_loader_batch_count(r->loader);
  ft_recent_add(&r->recent, &r->progress);
  return ft_metrics_step(r->metrics, &r->progress, (uint64_t)r->config.log_every);
}

static filtra_status make_loader(run *r) {
  const ft_run_config *c = &r->config;
  const filtra_augmentation augmentation = ft_run_augmentation(c);
  float *class_weights;
  filtra_status status =
      ft_class_weights_make(c->class_weights, r->context, r->data, &class_weights);
  const filtra_loader_options options = {.split = FILTRA_SPLIT_TRAIN,
                                         .batch_size = (uint32_t)c->batch_size,
                                         .shuffle = true,
                                         .drop_last = c->drop_last,
                                         .seed = c->train.seed,
                                         .augmentation = &augmentation,
                                         .class_weights = class_weights,
                                         .sample_weights = true};
  if (!status) status = filtra_loader_create(r->data, &options, &r->loader);
  free(class_weights);
  if (status == FILTRA_ERROR_ARGUMENT) ft_fail_context(status, "%s", r->context);
  FT_TRY(status);
  uint64_t batches = filtra_loader_batch_count(r->loader);
  r->total = c->train.optimizer.steps ? c->train.optimizer.steps : (uint64_t)c->epochs * batches;
  r->eval_every = c->eval_every ? (uint64_t)c->eval_every : batches;
  r->checkpoint_every = c->checkpoint_every ? (uint64_t)c->checkpoint_every : r->eval_every;
  return FILTRA_OK;
}

/* This rank's share: from the options or, if they have none, from the configuration. */
static float share_of(const run *r) {
  const filtra_transport *t = r->options->transport;
  const char *shares = r->config.shares;
  float share = r->options->share;
  int size;
  if (share != 0.0f || !t || t->size < 2 || !*shares) return share;
  if (!strcmp(shares, FT_SHARES_AUTO)) return FILTRA_SHARE_AUTO;
  if (ft_shares_read(shares, t->rank, &size, &share) && size == t->size) return share;
  if (t->rank == 0)
    ft_log(FILTRA_LOG_WARNING, "\"shares\" is \"%s\", for %d ranks: these %d share equally", shares,
           size, t->size);
  return 0.0f;
}

static filtra_status make_trainer(run *r) {
  filtra_train_options options =
      ft_run_train_options(&r->config, r->total, filtra_loader_batch_count(r->loader));
  options.transport = r->options->transport;
  options.share = share_of(r);
  options.deadline = r->options->deadline;
  FT_TRY(ft_model_new(r->device, &r->config.model, r->config.train.seed, &r->model));
  if (r->begins && *r->config.init_from) FT_TRY(ft_run_take_start(&r->config, r->data, r->model));
  FT_TRY(filtra_trainer_create(r->model, &options, &r->trainer));
  r->trainer->finished = step_finished;
  r->trainer->user = r;
  r->progress.parameters = r->trainer->trainable;
  r->progress.trained_parameters = r->trainer->trained;
  ft_groups_list_frozen(r->model->params, r->frozen);
  r->progress.frozen = r->frozen;
  bool measures = r->trainer->measures;
  FT_TRY(prepare_graphs(r));
  if (measures)
    FT_TRY(ft_shares_write(r->trainer, r->config.batch_size, r->config.shares,
                           sizeof r->config.shares));
  if (measures || options.share != r->options->share) r->progress.shares = r->config.shares;
  return FILTRA_OK;
}

/* Makes a resumed run use the tuning that it began with, even if the device has been tuned
 * since. */
static filtra_status pin_tuning(run *r) {
  ft_tuning *tuning;
  bool has;
  FT_TRY(ft_run_has(r->options->folder, FILTRA_RUN_TUNING, &has));
  if (r->begins && !has) return FILTRA_OK; /* the process was killed before it wrote the tuning */
  FT_TRY(ft_run_load_tuning(r->options->folder, r->device, &tuning));
  r->pinned = true;
  r->tuning = ft_tuning_use(r->device, tuning);
  return FILTRA_OK;
}

static void unpin_tuning(run *r) {
  if (!r->pinned) return;
  ft_tuning *tuning = ft_tuning_use(r->device, r->tuning);
  ft_tuning_release(&tuning);
}

static filtra_status begin(run *r) {
  const char *folder = r->options->folder;
  bool made = false, is_new = r->options->config != NULL;
  if (is_new) FT_TRY(ft_run_claim_folder(folder, &r->metrics, &made));
  filtra_status status = ft_run_fill_folder(folder, r->device, &r->config, r->data);
  if (!status) return ft_metrics_rewind(r->metrics, 0);
  if (is_new) ft_run_abandon_folder(folder, made);
  return status;
}

/* Locks the folder before anything in it is read: another process might be writing it. */
static filtra_status reopen_folder(run *r) {
  FT_TRY(ft_run_check_folder(r->options->folder));
  if (r->writes) FT_TRY(ft_metrics_open(r->options->folder, &r->metrics));
  return read_checkpoint(r);
}

/* Fails unless all ranks train the same run. */
static filtra_status join_ranks(run *r) {
  const bool starts = r->begins && *r->config.init_from;
  ft_run_meeting own = {.step = filtra_trainer_step_count(r->trainer)};
  snprintf(own.init_from, sizeof own.init_from, "%s", starts ? r->config.init_from : "");
  if (starts) FT_TRY(ft_run_hash_start(r->model, &own.start));
  return ft_run_identity_meet(&r->identity, ranks_of(r), &own);
}

/* Writes a checkpoint at once: resuming refuses one whose length is not the configuration's. */
static filtra_status write_extension(run *r) {
  FT_TRY(ft_run_write_config(r->options->folder, &r->config));
  return save_checkpoint(r);
}

static filtra_status open_run(run *r) {
  const filtra_run_options *o = r->options;
  r->begins = o->config != NULL;
  FT_TRY(name_files(r));
  if (!o->config)
    FT_TRY(reopen_folder(r));
  else if (r->writes)
    FT_TRY(ft_run_check_vacant(o->folder));
  FT_TRY(read_config(r));
  FT_TRY(open_data(r));
  FT_TRY(ft_run_config_fit(&r->config, r->context, r->data));
  FT_TRY(make_loader(r));
  FT_TRY(identify(r));
  if (!o->config) FT_TRY(pin_tuning(r));
  filtra_status status = make_trainer(r);
  if (status == FILTRA_ERROR_ARGUMENT) ft_fail_context(status, "%s", r->context);
  FT_TRY(status);
  if (!r->begins) FT_TRY(restore_checkpoint(r));
  /* Before anything is written, after the checkpoint was read. */
  if (ranks_of(r)) FT_TRY(join_ranks(r));
  if (r->writes && r->begins) FT_TRY(begin(r));
  if (ranks_of(r)) FT_TRY(ft_ranks_barrier(ranks_of(r))); /* rank 0 has created the folder */
  if (!r->writes) return FILTRA_OK;
  ft_run_clean_folder(o->folder);
  if (!r->begins) FT_TRY(ft_metrics_rewind(r->metrics, r->progress.step));
  if (extends(r) && !r->begins) FT_TRY(write_extension(r));
  return ft_run_write_about(o->folder, r->model, r->identity.data);
}

/* ---- the loop ---- */

static void report(run *r) {
  filtra_run_progress *p = &r->progress;
  ft_metrics_speed(r->metrics, p);
  if (r->options->progress && !r->options->progress(r->options->user, p)) r->wants_stop = true;
  r->stop = ranks_of(r) ? r->trainer->stopped : r->wants_stop;
  p->evaluated = false;
}

/* Fails if a complete run has no model file. */
static filtra_status has_model(const run *r) {
  if (r->saved) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s has no " FILTRA_RUN_MODEL
                 ": after its last step there is none to be saved any "
                 "more; train more steps, or begin the run again",
                 r->options->folder);
}

/* What follows a step, or comes first in a run that was stopped in its evaluation. */
static filtra_status end_step(run *r) {
  uint64_t step = filtra_trainer_step_count(r->trainer);
  if (r->due || step == r->total || step % r->eval_every == 0) FT_TRY(evaluate(r));
  bool last = step == r->total || is_out_of_patience(r);
  if (last && step < r->total) r->progress.ended_of = r->total;
  if (last || step % r->checkpoint_every == 0) FT_TRY(save_checkpoint(r));
  if (last) r->progress.steps = step;
  report(r);
  return FILTRA_OK;
}

static filtra_status train(run *r) {
  r->progress.steps = is_out_of_patience(r) ? filtra_trainer_step_count(r->trainer) : r->total;
  if (r->progress.steps < r->total) r->progress.ended_of = r->total;
  r->progress.task = filtra_model_task(r->model);
  r->progress.patience_by = ft_measure_names[r->config.patience_by];
  report(r);
  filtra_status status = r->due && !r->stop ? end_step(r) : FILTRA_OK;
  while (filtra_trainer_step_count(r->trainer) < r->progress.steps && !r->stop && !status) {
    filtra_batch batch;
    FT_TRY(filtra_loader_next(r->loader, &batch));
    r->trainer->wants_stop = r->wants_stop;
    FT_TRY(filtra_trainer_step(r->trainer, &batch, NULL));
    ft_metrics_count(r->metrics, &batch, r->model->options.config.patch);
    status = end_step(r);
  }
  if (status && !r->due) return status;
  const bool ended = !r->stop || filtra_trainer_step_count(r->trainer) == r->progress.steps;
  if (ended && !r->due) return has_model(r);
  FT_TRY(save_checkpoint(r));
  return ft_fail(FILTRA_ERROR_CANCELLED, "stopped after step %llu of %llu; %s holds the checkpoint",
                 (unsigned long long)filtra_trainer_step_count(r->trainer),
                 (unsigned long long)r->total, r->options->folder);
}

static filtra_status check_extension(const filtra_run_options *o) {
  static const uint64_t most_steps = 1000000000000, most_epochs = 1000000000; /* as for keys */
  if (!o->steps && !o->epochs) return FILTRA_OK;
  if (o->config || (o->steps && o->epochs))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "run: steps or epochs, not both, with a run that is resumed; a new run has them "
                   "in its configuration");
  if (o->steps <= most_steps && o->epochs <= most_epochs) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "run: %s is %llu, accepted are 1 to %llu",
                 o->steps ? "steps" : "epochs",
                 (unsigned long long)(o->steps ? o->steps : o->epochs),
                 (unsigned long long)(o->steps ? most_steps : most_epochs));
}

filtra_status filtra_run_train(filtra_device *device, const filtra_run_options *options) {
  FT_NEED(device, options);
  FT_TRY(FT_CHECK_RESERVED(filtra_run_options, options));
  if (!options->folder || !*options->folder)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "run: needs a folder (--out)");
  FT_TRY(check_extension(options));
  FT_TRY(ft_check_transport(options->transport));
  run *r = ft_calloc(1, sizeof *r);
  if (!r) return FILTRA_ERROR_HOST_MEMORY;
  r->device = device;
  r->options = options;
  r->writes = !options->transport || options->transport->rank == 0;
  r->lowest = r->progress.best_accuracy = r->progress.best_loss = -1.0;
  r->progress.validation_loss = r->progress.validation_accuracy =
      r->progress.validation_top5_accuracy = r->progress.seconds_left = -1.0;
  filtra_status status = open_run(r);
  if (!status) status = train(r);
  filtra_trainer_destroy(&r->trainer);
  filtra_loader_destroy(&r->loader);
  filtra_model_destroy(&r->model);
  filtra_dataset_close(&r->opened);
  ft_metrics_close(&r->metrics);
  unpin_tuning(r);
  ft_run_identity_free(&r->identity);
  json_decref(r->checkpoint);
  free(r->config_path);
  free(r->model_path);
  free(r->checkpoint_path);
  free(r);
  return status;
}
