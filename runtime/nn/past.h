/* Incremental decoding: what mixers keep of the tokens that went before, so that a graph of one new
 * token at a time gives what the graph of the whole sequence would.
 *
 * A mixer passes what it needs of every token, keys and values, through filtra_scope_keep, and what
 * it can sum up of all of them through filtra_scope_state (filtra/mixer.h). In a graph of one new
 * token filtra_mixer_input.mask is over the rows kept (ft_cache_mask). */
#ifndef FT_NN_PAST_H
#define FT_NN_PAST_H

#include "nn/layers.h"

typedef struct ft_past_tensor ft_past_tensor;

/** Rows of `size` sequences of up to `capacity` tokens, and states, on the device, by scope and
 * name. */
typedef struct ft_past {
  filtra_device *device;
  int64_t size, capacity;
  ft_past_tensor **tensors; /* each on its own: graphs keep pointers to their buffers */
  size_t count, room;
} ft_past;

/** How one graph uses it; a scope points to one, or to none in graphs without a past. */
struct ft_past_use {
  ft_past *past;
  /** I32 [B], where the graph's one token stands. NULL: the graph has the first tokens of all
   * sequences, and reads nothing of the past. */
  filtra_tensor *position;
  int64_t length; /* rows that a graph of one token reads, at most the capacity */
};

/** Frees the tensors; graphs that used them must be gone. */
void ft_past_close(ft_past *past);

#endif
