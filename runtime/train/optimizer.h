/* The optimizer behind <filtra/optimizer.h>, for the trainer and its files. */
#ifndef FT_TRAIN_OPTIMIZER_H
#define FT_TRAIN_OPTIMIZER_H

#include "base/keys.h"
#include "graph/parameters_file.h"
#include "ops/optimizer.h"
#include "train/ranks.h"

/* Two steps in flight: the host prepares step t+1 while the device runs step t. */
enum { FT_IN_FLIGHT = 2 };

/** An update that was submitted. */
typedef struct ft_pending_update {
  uint64_t ticket, step;
  float learning_rate;
  filtra_graph *graph;
  filtra_tensor *metrics, *score; /* score: of updates by sums; else NULL */
} ft_pending_update;

/** Parameters side by side in the flat buffers that are treated alike, in words. */
typedef struct ft_parameter_range {
  uint64_t begin, end, decayed; /* the first `decayed` words of it decay */
  size_t group;                 /* 0: the optimizer's own settings; else groups[group - 1] */
  bool frozen;
} ft_parameter_range;

/** The recorded update by one source of gradients. */
typedef struct ft_update {
  filtra_graph *graph;              /* made on first use */
  filtra_tensor **inputs, *metrics; /* inputs by group */
  filtra_tensor *score;             /* of an update by sums */
} ft_update;

struct filtra_optimizer {
  filtra_parameters *params;
  filtra_optimizer_options options; /* complete */
  filtra_parameter_group *groups;   /* their names are copies */
  size_t group_count;
  ft_parameter_range *ranges;
  size_t range_count;
  ft_buffer first, second;  /* moments, parallel to the gradients */
  ft_buffer state;          /* halt state, the last run's loss, the sum of losses */
  ft_buffer scaling;        /* ft_loss_scale; of size 0 without one */
  ft_loss_scale scale;      /* the same over several ranks, where the host keeps it */
  ft_buffer sums;           /* of gradients; made on first use */
  struct ft_shards *shards; /* over several ranks: moments are this one's shard; NULL: alone */
  ft_update by_gradients, by_sums;
  filtra_graph *copying; /* all parameters' working copies; made on first use */
  struct ft_summing {
    filtra_graph *graph;
    filtra_tensor *scale;
  } first_summing, more_summing;
  uint64_t summed;                         /* runs added up for the next step */
  ft_pending_update pending[FT_IN_FLIGHT]; /* oldest first */
  uint32_t pending_count;
  uint64_t steps;
  filtra_optimizer_metrics last;
  float last_score; /* of the same step, where gradients were summed */
};

/** The keys over filtra_optimizer_options (train/options.c). */
extern const ft_keys ft_optimizer_keys;
/** Checks what a program filled in, and fills in defaults. */
filtra_status ft_optimizer_options_complete(filtra_optimizer_options *options);

/** filtra_optimizer_create over several ranks; `ranks` NULL: alone. */
filtra_status ft_optimizer_create(filtra_parameters *params,
                                  const filtra_optimizer_options *options, const ft_ranks *ranks,
                                  filtra_optimizer **out);
/** Where the state has the losses and scores of the last run and their sums over runs. */
enum { FT_OPTIMIZER_SUMS_OFFSET = 4 * FT_OPTIMIZER_STATE_WORDS, FT_OPTIMIZER_SUMS_BYTES = 4 * 4 };
/** From these bytes: loss and score of the last run, or, `summed`, the sums. */
void ft_optimizer_sums(const void *bytes, bool summed, float sums[2]);
/** Submits the update of this rank's shard by the gradients, or, `summed`, by their sums, unless
 * the step is skipped. Counts it. */
filtra_status ft_optimizer_update_shard(filtra_optimizer *o, bool summed,
                                        const ft_step_metrics *metrics);
/** Submits the casts of parameters whose values came from other ranks; nothing in fp32. */
filtra_status ft_optimizer_copy_weights(filtra_optimizer *o);
/** Sets the loss scale of the host and of the device, where there is one. */
filtra_status ft_optimizer_set_scale(filtra_optimizer *o, const ft_loss_scale *scale);

/* ---- several ranks (train/shards.c); all collective ---- */

/** Floats begin to end of the flat buffers, which lie in the shard from `at` on. */
typedef struct ft_piece {
  uint64_t begin, end, at;
} ft_piece;

/** A step of all ranks. */
typedef struct ft_shared_step {
  filtra_graph *graph;   /* watched; its newest run has the gradients. NULL: they were summed up, */
  const ft_buffer *sums; /* and are here */
  uint64_t batch;        /* a number of the batch that must be the same everywhere */
  bool stop;             /* this rank wants to */
} ft_shared_step;

filtra_status ft_shards_create(const filtra_optimizer *o, const ft_ranks *ranks,
                               struct ft_shards **out);
void ft_shards_destroy(struct ft_shards **shards);
/** This rank's shard. */
size_t ft_shards_pieces(const struct ft_shards *s);
ft_piece ft_shards_piece(const struct ft_shards *s, size_t index);
uint64_t ft_shards_words(const struct ft_shards *s);
/** Records what each step copies; the update reads gradients from `sums`. */
filtra_status ft_shards_prepare(filtra_optimizer *o, const ft_buffer *sums);
/** Has the graph's runs copy gradients, loss and score to the host as they are finished. */
filtra_status ft_shards_watch(filtra_optimizer *o, filtra_graph *g);
/** A whole step by the sums of all ranks; what is left of it on the device comes before whatever is
 * submitted next. *stopped: some rank wants to. Fails with NONFINITE on all ranks; then nothing has
 * changed. */
filtra_status ft_shards_step(filtra_optimizer *o, const ft_shared_step *step, bool *stopped);
/** Seconds of the last step that this rank spent in messages, waiting for others included, and of
 * these while its device was still at the backward pass. */
void ft_shards_times(const struct ft_shards *s, double *busy, double *hidden);
/** For tests: no message leaves before the backward pass has ended. */
void ft_shards_wait_for_backward(struct ft_shards *s);
/** Fails with RANK where any rank's weights are not rank 0's, bit for bit. */
filtra_status ft_shards_compare(filtra_optimizer *o);
/** Rank 0 gets a buffer in host memory with all shards of a moment; the others send theirs. */
filtra_status ft_shards_collect(filtra_optimizer *o, const ft_buffer *shard, ft_buffer *whole);
/** This rank's shard from the whole. */
filtra_status ft_shards_take(filtra_optimizer *o, const ft_buffer *whole, const ft_buffer *shard);
/** Whether this rank writes files. */
bool ft_shards_writes(const filtra_optimizer *o);

/** Waits for the oldest step. Where the device held it back, *halt says what was not finite
 * (FT_HALT_*), and nothing else has happened: ft_optimizer_recover goes on. */
filtra_status ft_optimizer_finish_oldest(filtra_optimizer *o, uint32_t *halt);
/** Behind a halt: waits for what is in flight and forgets it; the step count is that of before. */
filtra_status ft_optimizer_recover(filtra_optimizer *o);
/** "the loss" or "the gradient norm". */
const char *ft_halt_name(uint32_t halt);
/** Builds the update by the last run's gradients, or by their sums, if it is not there yet. */
filtra_status ft_optimizer_prepare_update(filtra_optimizer *o, bool sums);
/** As filtra_optimizer_watch_loss, for the score [1] that is summed with the losses. */
filtra_status ft_optimizer_watch_score(filtra_optimizer *o, filtra_graph *g, filtra_tensor *score);

/** filtra_optimizer_save with metadata. */
filtra_status ft_optimizer_write(filtra_optimizer *o, const char *path,
                                 const ft_safetensors_meta_pair *meta, size_t count);
/** filtra_optimizer_restore from a file that is open. Everything is checked before anything is
 * taken over. */
filtra_status ft_optimizer_read(filtra_optimizer *o, const ft_safetensors *file, const char *path);

#endif
