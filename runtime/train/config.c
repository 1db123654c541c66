/* A run's configuration: its own keys, reading and writing all keys, and what the data decide.
 * Called by train/run.c and train/plan.c; filtra_config_complete is for programs. */
#include "train/config.h"

#include "base/memory.h"
#include "data/options.h"
#include "train/class_weights.h"
#include "train/shares.h"
#include "train/start.h"
#include "train/trainer.h"

#include <filtra/run.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN(kind, member, ...) FT_##kind##_KEY(ft_run_config, member, #member, __VA_ARGS__)
#define DATA                   .usual = "from the data"

static const ft_key RUN_KEYS[] = {
    RUN(INT, epochs, 0, 0, 1e9,
        "Passes over the training data; 0: by `steps`. Give one of the two.", .usual = "10"),
    RUN(FLOAT, warmup_epochs, 0.0, 0.0, 1e9,
        "`warmup_steps` in passes over the training data, parts of one too; no longer than the "
        "run."),
    RUN(INT, batch_size, 32, 1, 65535, /* the most workgroups that every device supports */
        "Sequences of a step. A batch holds sequences of similar length."),
    RUN(INT, eval_every, 0, 0, 1e12,
        "Steps between evaluations on the validation split; there is one at the end, too. 0: an "
        "epoch."),
    RUN(INT, patience, 0, 0, 1e9,
        "Evaluations without a better one by `patience_by` after which the run ends. 0: it does "
        "not.",
        .paper = "Prechelt 1998"),
    RUN(ENUM, patience_by, FT_MEASURE_AUTO, ft_measure_names,
        "What `patience` waits for, as in `select_by`. auto: a lower loss on the validation split, "
        "or mae where `regression_loss` is that."),
    RUN(ENUM, select_by, FT_MEASURE_AUTO, ft_measure_names,
        "What the best model on the validation split is chosen by; where it is equal, by the loss. "
        "accuracy, f1 (of the second of two classes; of more macro_f1; of several labels micro "
        "F1), "
        "macro_f1: not of numbers and language models. matthews: of classification alone. mae, r2, "
        "pearson, spearman: of regression alone. loss: and so "
        "perplexity or mean square error. auto: accuracy in classification, f1 in "
        "multi_label, else as `patience_by`."),
    RUN(INT, checkpoint_every, 0, 0, 1e12, "Steps between checkpoints. 0: as `eval_every`."),
    RUN(INT, log_every, 10, 1, 1e9, "Steps between lines of metrics.jsonl."),
    FT_INT_KEY(ft_run_config, train.seed, "seed", 1, 0, 9e15,
               "Seed of initial values, order of the data and dropout."),
    RUN(INT, split_seed, 1, 0, 9e15,
        "Seed by which validation samples are drawn from the training data, where these have none "
        "of their own. Runs with other seeds have the same ones."),
    RUN(LIST, freeze,
        "Parameters that stay as they are, as in embeddings,first 6 layers or all but the head: "
        "names (docs/weights.md), patterns with *, or the words embeddings, head, backbone, "
        "layers, "
        "first 6 layers, last layer, biases and norms, with commas between or as a list. ! before "
        "one takes it out again. Their gradients are not computed."),
    RUN(LIST, learning_rates,
        "Factors on the learning rate of parameters, which are named as in `freeze`: "
        "head=10,embeddings=0.1. The last that names a parameter counts."),
    RUN(LIST, weight_decays,
        "Weight decay of parameters in place of `weight_decay`, as in embeddings=0.01,layers.0=0."),
    RUN(STRING, class_weights,
        "Weights of classes in the training loss, whose scores are then weighted, too: balanced, "
        "samples / (classes * samples of the class), or a number for each class in their order, "
        "as in 1:5. In multi_label they weight a label where it applies (pos_weight): balanced is "
        "samples without it / samples with it. Evaluations are not weighted. Empty: 1 each."),
    RUN(STRING, shares,
        "Of several ranks (docs/scaling.md): what each takes of a batch beside the others, as in "
        "3:1. auto: by speed, which is measured when the run begins and kept here. Empty: equal "
        "shares."),
    RUN(STRING, init_from,
        "A model to begin with: a folder as Hugging Face's transformers write it "
        "(docs/pretrained.md), a run or a model file. Its keys go below the others, its tokenizer "
        "is the run's. Features of the same columns are standardised as those of its data. What it "
        "has no values for, or a head of another size, begins with initial values, which is said. "
        "Empty: initial values."),
    RUN(STRING, preset,
        "A recipe of the papers (docs/presets.md), over which the other keys go. Empty: none."),
};

static const ft_key DATA_KEYS[] = {
    RUN(STRING, data,
        "Path of a folder or file; `filtra data inspect` tells what it holds. Without validation "
        "data `validation_share` of the training samples is held out.",
        .usual = "required"),
    RUN(STRING, format,
        "Format of the data, where the content does not tell, such as plain text (text-lm); "
        "`filtra data inspect --help` lists them.",
        DATA),
    RUN(STRING, tokenizer,
        "How text becomes tokens: listops, listops-original; bytes; printable (the 95 of ASCII); "
        "dna; smiles, which reads molecules as graphs; words, made from the training data, or "
        "characters, made from all splits, both kept with the run; or the path of a pretrained "
        "one: a folder of Hugging Face, or a tokenizer.json, whose special tokens then go around "
        "each text that is classified. The run keeps it, as bpe or wordpiece.",
        DATA),
    RUN(LIST, text_column,
        "Column of a table that is read, by name or number from 1. A column called smiles, "
        "sequence, seq, text, sentence, review or document is found. Two, as in "
        "sentence1,sentence2: both texts become one sequence, [CLS] A [SEP] B [SEP] with BERT's "
        "tokenizer.",
        DATA, .numbered = true),
    RUN(LIST, target_column,
        "Column of a table to predict. One called label, class, target, category, sentiment, "
        "value, y, or \"measured ...\" is found. Several, as in toxic,insult: each is 0 or 1 and a "
        "label of its own, of which a row has any number (task multi_label). Empty fields are "
        "unknown labels: they count in no loss and no score.",
        DATA, .numbered = true),
    RUN(STRING, label_separator,
        "What separates the labels in a target such as cats;sun: one character, space or tab; an "
        "empty target has no label. Implies task multi_label, which finds ; | or , by itself.",
        DATA),
    RUN(STRING, feature_columns,
        "Columns of a table that are read as numbers, by name or number, with commas between: one "
        "number a step. Text of few different values becomes one number for each value. Without a "
        "column of text all but the target and the id.",
        DATA, .numbered = true),
    RUN(STRING, group_column,
        "Column of a table that says which rows are one series, a row a step. Empty: each row is a "
        "sample.",
        .numbered = true),
    RUN(STRING, time_column,
        "Column that orders the rows of a series, by number or date. Empty: the order of the "
        "file.",
        .numbered = true),
    RUN(STRING, id_column, "Column that names the samples. One called id or index is found.", DATA,
        .numbered = true),
    RUN(BOOL, drop_last, false, "Leave out training batches that the last samples do not fill."),
};

static const ft_keys RUN_TABLE = FT_KEYS(RUN_KEYS), DATA_TABLE = FT_KEYS(DATA_KEYS);

#define AT(member) offsetof(ft_run_config, member)
const ft_key_table ft_run_key_tables[] = {
    {"model", &ft_model_keys, AT(model.config)},
    {"training", &ft_optimizer_keys, AT(train.optimizer)},
    {"training", &ft_train_keys, AT(train)},
    {"training", &RUN_TABLE, 0},
    {"data", &DATA_TABLE, 0},
    {"data", &ft_dataset_keys, AT(dataset)},
    {"images", &ft_augmentation_keys, AT(augmentation)},
};

ft_keys ft_run_config_keys(ft_key list[FT_RUN_MOST_KEYS]) {
  ft_keys all = {list, 0};
  for (size_t t = 0; t < FT_COUNT(ft_run_key_tables); t++)
    for (size_t i = 0; i < ft_run_key_tables[t].keys->count && all.count < FT_RUN_MOST_KEYS; i++) {
      list[all.count] = ft_run_key_tables[t].keys->list[i];
      list[all.count++].offset += ft_run_key_tables[t].offset;
    }
  return all;
}

/* A key that other keys make ineffective must have its default: files that list all keys contain
 * it. */
static filtra_status refuse_idle(const char *context, const ft_run_config *c, const ft_keys *keys) {
  const filtra_augmentation *a = &c->augmentation;
  const bool cycle = c->train.optimizer.schedule == FILTRA_SCHEDULE_ONE_CYCLE;
  const bool mixes = a->mixup > 0.0f || a->cutmix > 0.0f;
  const struct {
    const char *key, *reason;
    bool idle;
  } rules[] = {
      {"beta1", "with \"schedule\" one_cycle, which moves it", cycle},
      {"crop_pct", "without image_size", !c->dataset.image_size},
      {"crop_ratio", "without crop_scale below 1", a->crop_scale >= 1.0f},
      {"rand_augment_magnitude", "without rand_augment", !a->rand_augment},
      {"rand_augment_std", "without rand_augment", !a->rand_augment},
      {"time_column", "without group_column", !*c->group_column},
      {"mixup_prob", "without mixup or cutmix", !mixes},
  };
  for (size_t r = 0; r < FT_COUNT(rules); r++)
    for (size_t i = 0; i < keys->count && rules[r].idle; i++)
      if (!strcmp(keys->list[i].name, rules[r].key) && !ft_key_is_default(&keys->list[i], c))
        return ft_fail(FILTRA_ERROR_INPUT,
                       "%s: \"%s\" has no effect %s; leave it out, or at its default", context,
                       rules[r].key, rules[r].reason);
  return FILTRA_OK;
}

filtra_augmentation ft_run_augmentation(const ft_run_config *c) {
  filtra_augmentation a = c->augmentation;
  if (a.mixup_prob == 0.0f) a.mixup = a.cutmix = 0.0f; /* there 0 means the default */
  return a;
}

filtra_status ft_run_config_read(const json_t *object, const char *context, ft_run_config *out) {
  ft_key list[FT_RUN_MOST_KEYS];
  const ft_keys keys = ft_run_config_keys(list);
  memset(out, 0, sizeof *out);
  FT_TRY(ft_keys_read(object, &keys, out, context));
  FT_TRY(ft_mixers_read(json_object_get(object, "mixer"), context, &out->model.mixers));
  FT_TRY(refuse_idle(context, out, &keys));
  if (out->train.optimizer.steps && out->epochs)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: give \"steps\" or \"epochs\", not both", context);
  if (out->train.optimizer.warmup_steps && out->warmup_epochs > 0.0f)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: give \"warmup_steps\" or \"warmup_epochs\", not both",
                   context);
  if (!out->train.optimizer.steps && !out->epochs) {
    if (json_object_get(object, "steps") || json_object_get(object, "epochs"))
      return ft_fail(
          FILTRA_ERROR_INPUT,
          "%s: \"steps\" or \"epochs\" is 0, and the other does not say how long the run "
          "is: it has at least one step, 10 epochs where both are left out",
          context);
    out->epochs = 10;
  }
  FT_TRY(ft_class_weights_check(out->class_weights, context));
  int ranks;
  float share;
  if (*out->shares && strcmp(out->shares, FT_SHARES_AUTO) &&
      !ft_shares_read(out->shares, 0, &ranks, &share))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"shares\" is \"%s\", accepted are \"" FT_SHARES_AUTO
                   "\" and a number of each rank, as in \"3:1\"",
                   context, out->shares);
  if (out->data[0]) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"data\" is missing, the path of a file or folder (--data)", context);
}

filtra_status ft_run_config_read_own(const json_t *object, const char *path, ft_run_config *out) {
  FT_TRY(ft_run_config_read(object, path, out));
  /* Before there was split_seed, the seed drew the validation samples. */
  if (!json_object_get(object, "split_seed")) out->split_seed = (int64_t)out->train.seed;
  return FILTRA_OK;
}

/* Sets the key `data` for data of the options; the configuration must not name other data. */
static filtra_status name_memory(json_t *object, const char *context) {
  const char *data = json_string_value(json_object_get(object, "data"));
  if (data && *data && strcmp(data, FT_DATA_IN_MEMORY) != 0)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "%s: \"data\" is \"%s\", but the options give data in memory: leave one out",
                   context, data);
  if (!json_object_set_new(object, "data", json_string(FT_DATA_IN_MEMORY))) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

filtra_status ft_run_config_of(const filtra_run_options *o, const char *context, const char *path,
                               ft_run_config *out) {
  json_t *object = NULL, *expanded = NULL;
  filtra_status status = o->config ? ft_json_parse(o->config, strlen(o->config), context, &object)
                                   : ft_json_load(path, &object);
  if (!status && o->data && json_is_object(object)) status = name_memory(object, context);
  /* A run's own configuration is complete already; its preset may have changed since. */
  if (!status && o->config) status = ft_run_expand(object, &expanded);
  if (!status && o->config) status = ft_run_config_read(expanded, context, out);
  if (!status && !o->config) status = ft_run_config_read_own(object, context, out);
  json_decref(expanded);
  json_decref(object);
  return status;
}

/* Regression has no accuracy, and language models are compared by perplexity, which is
 * exp(loss). */
static filtra_status fit_measure(ft_measure *measure, ft_measure automatic, const char *key,
                                 const char *context, filtra_task task) {
  char list[FT_KEY_TEXT];
  if (*measure == FT_MEASURE_AUTO) *measure = automatic;
  if (ft_measure_fits(*measure, task)) return FILTRA_OK;
  ft_measure_list(task, list);
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is %s; in task \"%s\" accepted are %s", context,
                 key, ft_measure_names[*measure], ft_task_name(task), list);
}

static filtra_status fit_selection(ft_run_config *config, const char *context) {
  const filtra_task task = config->model.config.task;
  const ft_measure loss = task == FILTRA_TASK_REGRESSION && config->train.regression_loss
                              ? FT_MEASURE_MAE
                              : FT_MEASURE_LOSS;
  FT_TRY(fit_measure(&config->patience_by, loss, "patience_by", context, task));
  const ft_measure best = task < FILTRA_TASK_REGRESSION     ? FT_MEASURE_ACCURACY
                          : task == FILTRA_TASK_MULTI_LABEL ? FT_MEASURE_F1
                                                            : loss;
  return fit_measure(&config->select_by, best, "select_by", context, task);
}

filtra_status ft_run_config_fit(ft_run_config *config, const char *context,
                                const filtra_dataset *data) {
  if (!filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TRAIN])
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: has no training samples; of a folder without training data, give one "
                   "file's path to train on that",
                   config->data);
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  const bool one_class = info->target == FILTRA_TARGET_CLASS && info->classes == 1;
  FT_TRY(ft_model_fit(&config->model.config, one_class ? config->data : context, data));
  FT_TRY(fit_selection(config, context));
  FT_TRY(ft_model_fit_target(&config->model.config, context, data));
  const char *tokenizer = filtra_tokenizer_name(filtra_dataset_get_info(data)->tokenizer);
  snprintf(config->tokenizer, sizeof config->tokenizer, "%s", tokenizer ? tokenizer : "");
  return ft_model_options_finish(context, &config->model);
}

filtra_status ft_run_config_check(const ft_run_config *config, const char *context,
                                  const filtra_dataset *data) {
  filtra_model_config copy = config->model.config;
  if (copy.task == FILTRA_TASK_AUTO) copy.task = FILTRA_TASK_CLASSIFICATION;
  return ft_model_fit(&copy, context, data);
}

json_t *ft_run_config_write(const ft_run_config *config) {
  ft_key list[FT_RUN_MOST_KEYS];
  const ft_keys keys = ft_run_config_keys(list);
  json_t *mixer = json_pack("{so}", "mixer", ft_mixers_write(&config->model.mixers));
  json_t *object = ft_json_join(ft_keys_write(&keys, config), mixer);
  if (!object) ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return object;
}

/* Checks the model's keys before the data are read. Sizes that the data decide are set to values
 * that pass; without a task only width and heads are checked. */
static filtra_status check_before_data(const char *context, const ft_run_config *config) {
  ft_run_config copy = *config;
  filtra_model_config *o = &copy.model.config;
  if (!o->task) return ft_model_check_heads(context, o);
  FT_TRY(fit_selection(&copy, context));
  if (o->patch && !o->image_height) o->max_length = 0;
  if (!o->classes) o->classes = 2;
  if (o->patch && !o->features && !o->vocabulary) o->features = 1;
  if (!o->features && !o->vocabulary) o->vocabulary = 2;
  if (!o->image_height) o->image_height = o->patch;
  if (!o->image_width) o->image_width = o->patch;
  return ft_model_options_finish(context, &copy.model);
}

static filtra_status complete(const json_t *object, const char *context, char **out) {
  json_t *expanded = NULL;
  ft_run_config *config = ft_calloc(1, sizeof *config);
  filtra_status status = config ? ft_run_expand(object, &expanded) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = ft_run_config_read(expanded, context, config);
  if (!status) status = check_before_data(context, config);
  if (!status) *out = ft_json_text(ft_run_config_write(config), JSON_INDENT(2) | JSON_SORT_KEYS);
  if (!status && !*out) status = FILTRA_ERROR_HOST_MEMORY;
  json_decref(expanded);
  free(config);
  return status;
}

filtra_status filtra_config_complete(const char *config, const char *name, char **out) {
  FT_NEED(config, out);
  json_t *object;
  const char *context = name ? name : "configuration";
  *out = NULL;
  FT_TRY(ft_json_parse(config, strlen(config), context, &object));
  filtra_status status = complete(object, context, out);
  json_decref(object);
  return status;
}

/* The warmup in steps; if given in epochs, at most the run's length. */
static uint64_t warmup_steps(const ft_run_config *c, uint64_t steps, uint64_t batches) {
  double warmup = (double)c->warmup_epochs * (double)batches;
  if (c->warmup_epochs == 0.0f) return c->train.optimizer.warmup_steps;
  return warmup < (double)steps ? (uint64_t)(warmup + 0.5) : steps;
}

filtra_train_options ft_run_train_options(const ft_run_config *c, uint64_t steps,
                                          uint64_t batches) {
  const filtra_augmentation a = ft_run_augmentation(c);
  filtra_train_options options = c->train;
  options.freeze = c->freeze;
  options.learning_rates = c->learning_rates;
  options.weight_decays = c->weight_decays;
  options.mixed_labels = a.mixup > 0.0f || a.cutmix > 0.0f;
  options.optimizer.steps = steps;
  options.optimizer.warmup_steps = warmup_steps(c, steps, batches);
  return options;
}
