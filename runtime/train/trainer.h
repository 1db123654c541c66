/* Internals of filtra_trainer, for runs, shares and checkpoints. */
#ifndef FT_TRAIN_TRAINER_H
#define FT_TRAIN_TRAINER_H

#include "model/model.h"
#include "train/optimizer.h"

#include <filtra/train.h>

/* FT_MOST_PARTS: the largest batch_size. */
enum { FT_MOST_PARTS = 65535, FT_MOST_CHUNKS = 4096 };

/** A step in flight: the execution of its graph, after which the optimizer's update runs. */
typedef struct ft_pending_step {
  ft_batch_graph *graph;
  uint64_t ticket;
} ft_pending_step;

/** The keys of filtra_train_options, except those of its optimizer (train/options.c). */
extern const ft_keys ft_train_keys;
/** Names of filtra_recompute; ends with NULL. */
extern const char *const ft_recompute_names[];
/** Checks an application's options against this model, and fills in defaults. */
filtra_status ft_train_options_complete(filtra_train_options *options,
                                        const filtra_model_config *model);

struct filtra_trainer {
  filtra_model *model;
  /* Defaults filled in; `optimizer` is 0: the optimizer keeps its own. */
  filtra_train_options options;
  /* Numbers of values in parameters that have gradients, and in the unfrozen ones among these. */
  uint64_t trainable, trained;
  int64_t accumulate; /* parts of a batch, one execution each */
  ft_ranks ranks;     /* transport is NULL in one process */
  /* [size + 1]: where each rank's share of a batch begins, and the end of the last; 0 to 1 */
  double *shares;
  bool measures; /* shares are equal until the first graph is built, and then measured */
  /* This rank wants to stop after the next step; some rank wanted to stop in the last one. */
  bool wants_stop, stopped;
  filtra_optimizer *optimizer;
  /* Forward, loss and backward, by batch shape; allocated singly: pending steps point to them. */
  ft_batch_graph **graphs;
  size_t graph_count, graph_capacity;
  ft_pending_step pending[FT_IN_FLIGHT]; /* in the order of the optimizer's pending updates */
  filtra_trainer_metrics last;           /* of the last finished step */
  struct ft_tuning *tuning;              /* the device's when training began; NULL: none */
  /* Called for every finished step, in order; may be NULL. */
  filtra_status (*finished)(void *user, const filtra_trainer_metrics *metrics);
  void *user;
};

/** Whether a batch takes more than one execution on this rank, or several ranks share it. */
bool ft_trainer_in_parts(const filtra_trainer *t);
/** Builds, but does not compile, the graph of a part of a batch; caller closes it, also on failure.
 */
filtra_status ft_trainer_build_part(filtra_trainer *t, int64_t size, int64_t length,
                                    ft_batch_graph *b);
/** Builds a step's graph and frees it: tuning needs only the lookups that ops make while
 * recording. */
filtra_status ft_trainer_build(filtra_trainer *trainer, int64_t size, int64_t length);

/** Frees all graphs; no step may be in flight. */
void ft_trainer_forget_graphs(filtra_trainer *trainer);

/** filtra_trainer_save with one more metadata string (`key` NULL: none). Follows no link below
 * `within` (ft_atomic_open_in); `within` NULL: a path that a person gave. */
filtra_status ft_trainer_save(filtra_trainer *trainer, const char *within, const char *path,
                              const char *key, const char *value);

#endif
