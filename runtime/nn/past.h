/* Incremental decoding: mixers keep data of earlier tokens on the device, so that a graph for one
 * new token gives the same result as a graph for the whole sequence.
 *
 * A mixer passes per-token data, such as keys and values, through filtra_scope_keep, and summaries
 * of all earlier tokens through filtra_scope_state (filtra/mixer.h). In a graph for one new token
 * filtra_mixer_input.mask covers the kept rows (ft_cache_mask). */
#ifndef FT_NN_PAST_H
#define FT_NN_PAST_H

#include "nn/layers.h"

typedef struct ft_past_tensor ft_past_tensor;

/** Kept rows of `size` sequences with up to `capacity` tokens, and states, by scope and name. */
typedef struct ft_past {
  filtra_device *device;
  int64_t size, capacity;
  ft_past_tensor **tensors; /* each on its own: graphs keep pointers to their buffers */
  size_t count, room;
  uint64_t graphs; /* begun with ft_past_begin */
} ft_past;

/** How one graph uses the kept data. Scopes point to it. */
struct ft_past_use {
  ft_past *past;
  /** I32 [B], the position of the new token. NULL: the graph processes the first tokens of all
   * sequences and reads no kept data. */
  filtra_tensor *position;
  int64_t length; /* rows that a graph of one token reads, at most the capacity */
};

/** How a new graph uses the past; the arguments are the result's fields. */
ft_past_use ft_past_begin(ft_past *past, filtra_tensor *position, int64_t length);
/** Frees the tensors; graphs that used them must be gone. */
void ft_past_close(ft_past *past);

#endif
