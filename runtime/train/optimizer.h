/* Internals of <filtra/optimizer.h>, for the trainer, its files (optimizer_file.c) and several
 * ranks (shards.c). */
#ifndef FT_TRAIN_OPTIMIZER_H
#define FT_TRAIN_OPTIMIZER_H

#include "base/keys.h"
#include "graph/parameters_file.h"
#include "ops/optimizer.h"
#include "train/ranks.h"

/* Two steps in flight: the host prepares step t+1 while the device runs step t. */
enum { FT_IN_FLIGHT = 2 };

/** A submitted update. */
typedef struct ft_pending_update {
  uint64_t ticket, step;
  float learning_rate;
  filtra_graph *graph;
  filtra_tensor *metrics, *score; /* score: only of updates by sums of gradients, else NULL */
} ft_pending_update;

/** Neighbouring parameters of the flat buffers that have the same settings, in words. */
typedef struct ft_parameter_range {
  uint64_t begin, end, decayed; /* the first `decayed` words have weight decay */
  size_t group;                 /* 0: the optimizer's settings; otherwise groups[group - 1] */
  bool frozen;
} ft_parameter_range;

/** The graph of the update by gradients, or by their sums over executions. */
typedef struct ft_update {
  filtra_graph *graph;              /* created on first use */
  filtra_tensor **inputs, *metrics; /* inputs by group */
  filtra_tensor *score;             /* only of the update by sums */
} ft_update;

/** Floats begin to end of the flat buffers; in the shard they begin at `at`. */
typedef struct ft_shard_range {
  uint64_t begin, end, at;
} ft_shard_range;

struct filtra_optimizer {
  filtra_parameters *params;
  unsigned users;                   /* graphs */
  filtra_optimizer_options options; /* defaults filled in */
  filtra_parameter_group *groups;   /* names are copies */
  size_t group_count;
  ft_parameter_range *ranges;
  size_t range_count;
  ft_buffer first, second;      /* moments, in the layout of the gradients; of a rank, its shard */
  ft_buffer state;              /* halt state, loss of the last execution, sum of losses */
  ft_buffer scaling;            /* ft_loss_scale; size 0: no loss scaling */
  ft_loss_scale scale;          /* host copy of `scaling`; used with several ranks only */
  ft_buffer sums;               /* of gradients; created on first use */
  struct ft_shards *shards;     /* several ranks; NULL: one process */
  ft_shard_range *shard_ranges; /* what this rank's shard holds; NULL: one process */
  size_t shard_range_count;
  ft_update by_gradients, by_sums;
  filtra_graph *copying; /* casts all parameters to their 16-bit copies; created on first use */
  struct ft_summing {
    filtra_graph *graph;
    filtra_tensor *scale;
  } first_summing, more_summing;
  uint64_t summed;                         /* executions summed for the next step */
  ft_pending_update pending[FT_IN_FLIGHT]; /* oldest first */
  uint32_t pending_count;
  uint64_t steps;
  filtra_optimizer_metrics last;
  float last_score; /* of the same step if gradients were summed */
};

/** The keys of filtra_optimizer_options (train/options.c). */
extern const ft_keys ft_optimizer_keys;
/** Checks an application's options and fills in defaults. */
filtra_status ft_optimizer_options_complete(filtra_optimizer_options *options);

/** filtra_optimizer_create for several ranks; `ranks` NULL: one process. */
filtra_status ft_optimizer_create(filtra_parameters *params,
                                  const filtra_optimizer_options *options, const ft_ranks *ranks,
                                  filtra_optimizer **out);
/** Where the state buffer holds loss and score of the last execution, then their sums over
 * executions. */
enum { FT_OPTIMIZER_SUMS_OFFSET = 4 * FT_OPTIMIZER_STATE_WORDS, FT_OPTIMIZER_SUMS_BYTES = 4 * 4 };
/** Reads from these bytes loss and score of the last execution or, if `summed`, their sums. */
void ft_optimizer_sums(const void *bytes, bool summed, float sums[2]);
/** Submits the update of this rank's shard by the gradients or, if `summed`, by their sums; submits
 * nothing if the step is skipped. Counts the step in both cases. */
filtra_status ft_optimizer_update_shard(filtra_optimizer *o, bool summed,
                                        const ft_step_metrics *metrics);
/** Submits casts of the parameters that other ranks updated to their 16-bit copies; does nothing in
 * fp32. */
filtra_status ft_optimizer_copy_weights(filtra_optimizer *o);
/** Sets the loss scale on the host and on the device, if there is one. */
filtra_status ft_optimizer_set_scale(filtra_optimizer *o, const ft_loss_scale *scale);

/* ---- several ranks (train/shards.c); all ranks make these calls in the same order ---- */

/** A step of all ranks. */
typedef struct ft_shared_step {
  /* A watched graph whose newest execution computed the gradients. NULL: they were summed. */
  filtra_graph *graph;
  const ft_buffer
      *sums;      /* the gradients or sums; read here unless the graph copies them out itself */
  uint64_t batch; /* hash of the batch, which must be the same on all ranks */
  bool stop;      /* this rank wants to stop the run */
} ft_shared_step;

filtra_status ft_shards_create(const filtra_optimizer *o, const ft_ranks *ranks,
                               struct ft_shards **out);
void ft_shards_destroy(struct ft_shards **shards);
/** The number of ranges in this rank's shard. */
size_t ft_shards_range_count(const struct ft_shards *s);
ft_shard_range ft_shards_range(const struct ft_shards *s, size_t index);
uint64_t ft_shards_words(const struct ft_shards *s);
/** Records the copies that each step submits; the update reads gradients from `sums`. */
filtra_status ft_shards_prepare(filtra_optimizer *o, const ft_buffer *sums);
/** Lets executions of the graph copy gradients, loss and score to the host as soon as each is
 * computed. */
filtra_status ft_shards_watch(filtra_optimizer *o, filtra_graph *g);
/** Takes a whole step by the gradients summed over all ranks. Later submissions wait for its
 * unfinished work on the device. *stopped: a rank wants to stop. Fails with NONFINITE on all ranks;
 * then nothing has changed. */
filtra_status ft_shards_step(filtra_optimizer *o, const ft_shared_step *step, bool *stopped);
/** Seconds that this rank spent exchanging messages in the last step, including waiting for others;
 * of these, the seconds during which its device was still computing the backward pass. */
void ft_shards_times(const struct ft_shards *s, double *busy, double *hidden);
/** For tests: messages start only after the backward pass. */
void ft_shards_wait_for_backward(struct ft_shards *s);
/** Fails with RANK if a rank's weights differ from rank 0's in any bit. */
filtra_status ft_shards_compare(filtra_optimizer *o);
/** Sends all shards of a moment to rank 0, which gets them as a buffer in host memory. */
filtra_status ft_shards_collect(filtra_optimizer *o, const ft_buffer *shard, ft_buffer *whole);
/** Copies this rank's shard out of a whole moment buffer. */
filtra_status ft_shards_take(filtra_optimizer *o, const ft_buffer *whole, const ft_buffer *shard);
/** Whether this process writes files: the only one, or rank 0. */
bool ft_shards_writes(const filtra_optimizer *o);

/** Waits for the oldest step. *halt: 0, or what was not finite (FT_HALT_*): the device has then
 * held the step back, it stays pending, and ft_optimizer_recover must follow. */
filtra_status ft_optimizer_finish_oldest(filtra_optimizer *o, uint32_t *halt);
/** After a halt: waits for the device, discards pending steps, and resets the step count to that
 * before the first of them. */
filtra_status ft_optimizer_recover(filtra_optimizer *o);
/** "the loss" or "the gradient norm". */
const char *ft_halt_name(uint32_t halt);
/** Builds the update by gradients, or by sums, unless it exists. */
filtra_status ft_optimizer_prepare_update(filtra_optimizer *o, bool sums);
/** As filtra_optimizer_watch_loss, for a score [1], which is summed as the losses are. */
filtra_status ft_optimizer_watch_score(filtra_optimizer *o, filtra_graph *g, filtra_tensor *score);

/** filtra_optimizer_save with additional metadata. */
filtra_status ft_optimizer_write(filtra_optimizer *o, const char *within, const char *path,
                                 const ft_safetensors_meta_pair *meta, size_t count);
/** filtra_optimizer_restore from an open file. Checks everything before it changes anything. */
filtra_status ft_optimizer_read(filtra_optimizer *o, const ft_safetensors *file, const char *path);

#endif
