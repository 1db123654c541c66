/* The step engine behind filtra_trainer, for runs and checkpoints. */
#ifndef FT_TRAIN_TRAINER_H
#define FT_TRAIN_TRAINER_H

#include "model/model.h"

#include <filtra/train.h>

/* Two steps in flight: the host prepares step t+1 while the device runs step t. */
enum { FT_IN_FLIGHT = 2 };

/** The graph of one batch shape: forward, backward, norm, update. */
typedef struct ft_train_graph {
  ft_batch_graph batch;
  filtra_tensor *optimizer, *metrics;
} ft_train_graph;

typedef struct ft_pending_step {
  ft_train_graph *graph;
  uint64_t ticket, step;
  float learning_rate;
} ft_pending_step;

struct filtra_trainer {
  filtra_model *model;
  filtra_train_options options; /* complete */
  ft_buffer first, second;      /* Adam's moments, parallel to the parameters */
  ft_buffer state;              /* the halt flag */
  ft_train_graph **graphs;      /* each on its own: pending steps point at them */
  size_t graph_count, graph_capacity;
  ft_pending_step pending[FT_IN_FLIGHT]; /* oldest first */
  uint32_t pending_count;
  uint64_t steps;
  filtra_step_metrics last; /* of the newest finished step */
  struct ft_tuning *tuning; /* what the device had when training began; NULL: none */
  /* Called for every finished step, in order; may be NULL. */
  filtra_status (*finished)(void *user, const filtra_step_metrics *metrics);
  void *user;
};

/** Builds a step's graph and lets go of it: what ops ask while one is built is all that counts. */
filtra_status ft_trainer_build(filtra_trainer *trainer, int64_t size, int64_t length);

/** Lets go of all graphs; no step may be under way. */
void ft_trainer_forget_graphs(filtra_trainer *trainer);

/** As filtra_trainer_save, with a string of the caller's (NULL: none) in the metadata. */
filtra_status ft_trainer_save(filtra_trainer *trainer, const char *path, const char *key,
                              const char *value);

#endif
