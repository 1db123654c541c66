/* Incremental decoding: what mixers keep of the tokens that went before, so that a graph of one new
 * token at a time gives what the graph of the whole sequence would.
 *
 * A mixer passes what it needs of every token, keys and values, through ft_past_keep:
 *
 *   k = ft_past_keep(scope, "k", k);
 *
 * In a graph over whole sequences that is k itself, stored besides when later graphs shall go on
 * from there. In a graph of one new token it is the rows of tokens so far, the new one's last;
 * ft_mixer_input.mask then is over those (ft_cache_mask). The scope says which it is. */
#ifndef FT_NN_PAST_H
#define FT_NN_PAST_H

#include "nn/layers.h"

typedef struct ft_past_tensor ft_past_tensor;

/** Rows of `size` sequences of up to `capacity` tokens, on the device, by scope and name. */
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

/** x [B,H,N,D] in a graph without a past, and in one of first tokens, which are kept as well; else
 * the rows [B,H,length,D] kept under that name, x the last of them. */
filtra_tensor *ft_past_keep(const ft_scope *scope, const char *name, filtra_tensor *x);

/** Frees the tensors; graphs that used them must be gone. */
void ft_past_close(ft_past *past);

#endif
