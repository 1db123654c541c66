/* A run in its folder. */
#ifndef FT_TRAIN_RUN_H
#define FT_TRAIN_RUN_H

#include "train/config.h"

#define FT_RUN_CONFIG     "config.json"
#define FT_RUN_METRICS    "metrics.jsonl"
#define FT_RUN_ABOUT      "about.json"
#define FT_RUN_TOKENIZER  "tokenizer.json"
#define FT_RUN_MODEL      "model.safetensors"
#define FT_RUN_CHECKPOINT "checkpoint/state.safetensors"

/** Reads a run folder's configuration; the error says so when `folder` is no run. `folder` must
 * outlive it. */
filtra_status ft_run_load_config(const char *folder, ft_run_config *config);
/** What turns a run's text into tokens. Where it was made from the training data, it comes from the
 * run folder and *owned, too, which the caller destroys; else *owned is NULL. */
filtra_status ft_run_load_tokenizer(const ft_run_config *config, const filtra_tokenizer **tokenizer,
                                    filtra_tokenizer **owned);
/** Opens the configuration's data set, or that at `path` where it is not NULL; a single file counts
 * as `file_split`. */
filtra_status ft_run_open_data(const ft_run_config *config, const char *path,
                               filtra_split file_split, filtra_dataset **out);
/** Path of the file that holds what the best model came to on a split, where `filtra eval` has left
 * it; caller frees. Training removes it when a better model takes that one's place. */
char *ft_run_evaluation_path(const char *folder, filtra_split split);
/** The split of that name: train, val or test. */
filtra_status ft_run_find_split(const char *name, filtra_split *split);

#endif
