/* The configuration of a run: model keys, training keys and data keys in one flat JSON object. */
#ifndef FT_TRAIN_CONFIG_H
#define FT_TRAIN_CONFIG_H

#include "model/model.h"

#include <filtra/data.h>
#include <filtra/train.h>

/** What says of two models which one is better on the validation split. */
typedef enum ft_select {
  FT_SELECT_AUTO = 0, /* accuracy in classification, else the loss */
  FT_SELECT_ACCURACY, /* and where that is equal the loss; classification only */
  FT_SELECT_LOSS
} ft_select;

/** A key's field is that of the public struct that has it; a run's own come last. */
typedef struct ft_run_config {
  ft_model_options model;
  filtra_train_options train;     /* `steps`, `warmup_steps`: as given */
  filtra_dataset_options dataset; /* but for its texts */
  filtra_augmentation augmentation;
  int64_t batch_size, epochs, eval_every, patience, checkpoint_every, log_every;
  float warmup_epochs;
  ft_select select_by;
  bool drop_last;     /* leave out partial batches in training */
  char shares[4096];  /* of several ranks, "3:1"; FT_SHARES_AUTO: by speed; "": equal */
  char preset[64];    /* the recipe that the other keys came from; "": none */
  char data[1024];    /* path */
  char format[32];    /* of the data; found out from its content where empty */
  char tokenizer[64]; /* how text becomes tokens; from the data */
  char text_column[128], target_column[128]; /* of a table; as it calls them where empty */
  const char *folder; /* the run folder that this was read from; NULL: a new run. Borrowed */
} ft_run_config;

/** The tables of a run's keys, in the order of docs/config.md. */
typedef struct ft_key_table {
  const char *name; /* "model", "training", "data", "images" */
  const ft_keys *keys;
  size_t offset; /* of their struct in ft_run_config */
} ft_key_table;
enum { FT_RUN_KEY_TABLES = 7 };
extern const ft_key_table ft_run_key_tables[FT_RUN_KEY_TABLES];

enum { FT_RUN_MOST_KEYS = 128 };
/** All of them as one table over ft_run_config, which is in `list`. */
ft_keys ft_run_config_keys(ft_key list[FT_RUN_MOST_KEYS]);

/** From a parsed object. Absent may be what comes from the data: task, tokenizer, vocabulary,
 * features, classes, max_length and so on. `context` goes before field names in errors. */
filtra_status ft_run_config_read(const json_t *object, const char *context, ft_run_config *out);
/** Takes that from the data, and checks that model and data fit. */
filtra_status ft_run_config_fit(ft_run_config *config, const char *context,
                                const filtra_dataset *data);
/** The same checks of a complete configuration and other data, which need no training samples. */
filtra_status ft_run_config_check(const ft_run_config *config, const char *context,
                                  const filtra_dataset *data);
/** Complete, all defaults resolved; NULL when out of memory. */
json_t *ft_run_config_write(const ft_run_config *config);
/** What a loader does to images; all 0 where nothing is asked for. */
filtra_augmentation ft_run_augmentation(const ft_run_config *config);
/** The trainer's options; `steps` is the run's total, an epoch is so many batches. */
filtra_train_options ft_run_train_options(const ft_run_config *config, uint64_t steps,
                                          uint64_t batches);

#endif
