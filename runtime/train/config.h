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

typedef struct ft_run_config {
  ft_model_options model;
  int optimizer, schedule, recompute, select_by; /* select_by: an ft_select */
  float learning_rate, weight_decay, beta1, beta2, epsilon, clip_norm, label_smoothing, loss_scale,
      warmup_epochs;
  int64_t batch_size, accumulate, loss_chunks, loss_scale_window, steps, epochs, warmup_steps,
      eval_every, patience, checkpoint_every, log_every, seed, max_vocabulary;
  char shares[4096]; /* of several ranks, "3:1"; FT_SHARES_AUTO: by speed; "": equal */
  char preset[64];   /* the recipe that the other keys came from; "": none */
  char data[1024];   /* path */
  char text_column[128], target_column[128]; /* of a table; as it calls them where empty */
  char format[32];    /* of the data; found out from its content where empty */
  char tokenizer[64]; /* how text becomes tokens; from the data */
  bool truncate;      /* cut sequences longer than max_length instead of refusing them */
  int pixels;         /* filtra_pixels */
  bool drop_last;     /* leave out partial batches in training */
  int64_t image_size; /* side that images are resized to; 0: they stay */
  float crop_pct;     /* the middle part of images that is resized */
  int normalize;      /* filtra_normalization */
  filtra_augmentation augmentation; /* but for rand_augment, and complete */
  int64_t rand_augment;
  float validation_share; /* of training data where there is none for validation */
  bool decay_all;         /* weight decay on every parameter */
  const char *folder;     /* the run folder that this was read from; NULL: a new run. Borrowed */
} ft_run_config;

/** Of filtra_recompute, by number; ends with NULL. */
extern const char *const ft_recompute_names[];

enum { FT_RUN_MAX_FIELDS = 128 };
/** The table of all keys over ft_run_config; returns how many there are. */
size_t ft_run_config_fields(ft_json_field fields[FT_RUN_MAX_FIELDS]);

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
/** The trainer's part; `steps` is the run's total, an epoch is so many batches. */
filtra_train_options ft_run_train_options(const ft_run_config *config, uint64_t steps,
                                          uint64_t batches);

#endif
