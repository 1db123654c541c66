/* The step engine behind filtra_trainer, for runs and checkpoints. */
#ifndef FT_TRAIN_TRAINER_H
#define FT_TRAIN_TRAINER_H

#include "model/model.h"
#include "train/optimizer.h"

#include <filtra/train.h>

/* As many samples as a batch may have. */
enum { FT_MOST_PARTS = 65535, FT_MOST_CHUNKS = 4096 };

/** A step under way: the run of its graph, behind which the optimizer's update runs. */
typedef struct ft_pending_step {
  ft_batch_graph *graph;
  uint64_t ticket;
} ft_pending_step;

/** The keys over filtra_train_options (train/options.c); its optimizer has its own. */
extern const ft_keys ft_train_keys;
/** Of filtra_recompute, by number; ends with NULL. */
extern const char *const ft_recompute_names[];
/** Checks what a program filled in for this model, and fills in defaults. */
filtra_status ft_train_options_complete(filtra_train_options *options,
                                        const filtra_model_config *model);

struct filtra_trainer {
  filtra_model *model;
  filtra_train_options options; /* complete; `optimizer` is 0: it has its own */
  int64_t accumulate;           /* its parts of a batch, one run each */
  ft_ranks ranks;               /* transport NULL: alone */
  double *shares;               /* [size + 1]: where each rank's share of a batch begins, 0 to 1 */
  bool measures;                /* shares are equal till the first graph is wanted */
  bool wants_stop, stopped;     /* this rank, for the next step; any rank, at the last one */
  filtra_optimizer *optimizer;
  ft_batch_graph *
      *graphs; /* forward, loss, backward; each on its own: pending steps point at them */
  size_t graph_count, graph_capacity;
  ft_pending_step pending[FT_IN_FLIGHT]; /* the optimizer's pending updates' */
  filtra_trainer_metrics last;           /* of the newest finished step */
  struct ft_tuning *tuning;              /* what the device had when training began; NULL: none */
  /* Called for every finished step, in order; may be NULL. */
  filtra_status (*finished)(void *user, const filtra_trainer_metrics *metrics);
  void *user;
};

/** Builds, but does not compile, the graph for parts of a batch; the caller closes it, also on
 * failure. */
filtra_status ft_trainer_build_part(filtra_trainer *t, int64_t size, int64_t length,
                                    ft_batch_graph *b);
/** Builds a step's graph and lets go of it: what ops ask while one is built is all that counts. */
filtra_status ft_trainer_build(filtra_trainer *trainer, int64_t size, int64_t length);

/** Lets go of all graphs; no step may be under way. */
void ft_trainer_forget_graphs(filtra_trainer *trainer);

/** As filtra_trainer_save, with a string of the caller's (NULL: none) in the metadata. */
filtra_status ft_trainer_save(filtra_trainer *trainer, const char *path, const char *key,
                              const char *value);

#endif
