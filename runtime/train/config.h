/* The configuration of a run: model keys, training keys and data keys in one flat JSON object. */
#ifndef FT_TRAIN_CONFIG_H
#define FT_TRAIN_CONFIG_H

#include "model/model.h"
#include "train/measures.h"

#include <filtra/data.h>
#include <filtra/train.h>

/** All settings of a run. A key's value lies in the public struct that has such a field; keys of
 * runs alone come last. */
typedef struct ft_run_config {
  ft_model_options model;
  filtra_train_options train;     /* `steps`, `warmup_steps`: as in the file; 0: given in epochs */
  filtra_dataset_options dataset; /* its strings are below instead */
  filtra_augmentation augmentation;
  int64_t batch_size, epochs, eval_every, patience, checkpoint_every, log_every;
  int64_t split_seed; /* for drawing the validation samples */
  float warmup_epochs;
  ft_measure select_by, patience_by;
  bool drop_last; /* leave out partial batches in training */
  char freeze[1024], learning_rates[1024], weight_decays[1024]; /* values by parameter names */
  char class_weights[4096]; /* "balanced" or one weight per class, "1:5"; "": all 1 */
  char shares[4096];    /* each rank's share, "3:1"; FT_SHARES_AUTO: by speed; "": equal shares */
  char preset[64];      /* the recipe that was expanded; "": none */
  char init_from[1024]; /* path of the model to begin with; "": initial values */
  char data[1024];      /* path */
  char format[32];      /* of the data; "": detected from the content */
  char tokenizer[1024]; /* name or path of the tokenizer; "": the format's */
  char text_column[260], target_column[4096]; /* columns of a table; "": found by their names */
  char label_separator[16]; /* between the labels of a target; "": the task's default */
  char feature_columns[4096], group_column[128], time_column[128], id_column[128]; /* likewise */
  const char *folder; /* the folder of an existing run, borrowed; NULL: a new run */
} ft_run_config;

/** Tables of a run's keys, in the order of docs/config.md. */
typedef struct ft_key_table {
  const char *name; /* "model", "training", "data", "images" */
  const ft_keys *keys;
  size_t offset; /* of the table's struct in ft_run_config */
} ft_key_table;
enum { FT_RUN_KEY_TABLES = 7 };
extern const ft_key_table ft_run_key_tables[FT_RUN_KEY_TABLES];

enum { FT_RUN_MOST_KEYS = 128 };
/** All keys as one table over ft_run_config; the table points to `list`. */
ft_keys ft_run_config_keys(ft_key list[FT_RUN_MOST_KEYS]);

/** Reads a parsed object. Keys that the data decide may be absent: task, tokenizer, vocabulary,
 * features, classes, max_length and others. `context` precedes field names in errors. */
filtra_status ft_run_config_read(const json_t *object, const char *context, ft_run_config *out);
/** As ft_run_config_read, of a run's own config.json, which may be of an earlier version. */
filtra_status ft_run_config_read_own(const json_t *object, const char *path, ft_run_config *out);
/** The key `data` of runs whose data were in memory. */
#define FT_DATA_IN_MEMORY ":memory:"
/** The key `data` of imported models. */
#define FT_DATA_NONE ":none:"
/** Reads the configuration: o->config with its preset applied or, for an existing run, the file at
 * `path`. */
filtra_status ft_run_config_of(const filtra_run_options *o, const char *context, const char *path,
                               ft_run_config *out);
/** Fills in what the data decide, and checks that model and data fit. */
filtra_status ft_run_config_fit(ft_run_config *config, const char *context,
                                const filtra_dataset *data);
/** Checks that data fit a complete configuration; the data need no training samples. */
filtra_status ft_run_config_check(const ft_run_config *config, const char *context,
                                  const filtra_dataset *data);
/** All keys, defaults filled in; NULL when out of memory. */
json_t *ft_run_config_write(const ft_run_config *config);
/** What a loader does to images; all 0: nothing. */
filtra_augmentation ft_run_augmentation(const ft_run_config *config);
/** The trainer's options for a run of `steps` steps with `batches` batches per epoch. */
filtra_train_options ft_run_train_options(const ft_run_config *config, uint64_t steps,
                                          uint64_t batches);

#endif
