/* The parameter store's layout, for the optimizer and checkpoints. */
#ifndef FT_GRAPH_PARAMETERS_H
#define FT_GRAPH_PARAMETERS_H

#include "graph/graph.h"

typedef struct ft_parameter {
  char *name;
  int ndim;
  int64_t shape[FILTRA_MAX_DIMS];
  int64_t elements;
  filtra_parameter_options options;
  bool frozen;          /* frozen by the current trainer: no gradient is computed */
  uint64_t offset;      /* in bytes into the flat buffers, once committed */
  uint64_t copy_offset; /* in bytes into the copies */
} ft_parameter;

typedef struct ft_kept ft_kept;

struct filtra_parameters {
  filtra_device *device;
  ft_parameter *list;
  size_t count, capacity;
  bool committed, trainable;
  /* Of one layout: [0, decay_bytes) has weight decay, [0, trained_bytes) is trained, the rest are
   * buffers without gradients. */
  ft_buffer values, gradients;
  uint64_t decay_bytes, trained_bytes, bytes;
  ft_buffer copies; /* 16 bits per F32 value, if a parameter has a copy; else empty */
  uint64_t copies_bytes;
  unsigned users; /* graphs and optimizers */
  /* Committed without gradients, or measured for that: graphs keep what depends on a parameter
   * alone (graph/kept.h). */
  bool fixed;
  ft_kept *kept;
  filtra_status (*compute_kept)(filtra_parameters *params); /* those that are not current */
  bool narrow; /* set before commit: parameters with a copy have no F32 values; none is trained */
};

/** Whether the parameter has a 16-bit copy but no F32 master. */
bool ft_parameter_is_narrow(const filtra_parameters *params, const ft_parameter *p);

/** The parameter of that name; NULL: there is none. */
ft_parameter *ft_parameters_find(const filtra_parameters *params, const char *name);

/** Allocates gradients if the set was committed without; graphs recorded after this call can be
 * differentiated. Fails with UNSUPPORTED if parameters have no F32 masters. */
filtra_status ft_parameters_make_trainable(filtra_parameters *params);
/** As filtra_parameters_commit, without gradients and without drawing values: the caller uploads
 * all of them (ft_weights_upload). */
filtra_status ft_parameters_commit_unset(filtra_parameters *params);
/** Draws one parameter's initial values. */
filtra_status ft_parameter_draw(const ft_parameter *p, uint64_t seed, float *values);
/** Writes one parameter's values and its copy. */
filtra_status ft_parameter_upload(filtra_parameters *params, const ft_parameter *p,
                                  const float *values);
/** Reads one parameter's values; without a master, those of the copy. */
filtra_status ft_parameter_download(filtra_parameters *params, const ft_parameter *p,
                                    float *values);
/** Declares a parameter; it must be new. */
filtra_status ft_parameters_add(filtra_parameters *params, const char *name, int ndim,
                                const int64_t *shape, const filtra_parameter_options *options);
/** Bytes of values and copies on the device, once they are laid out. */
uint64_t ft_parameters_extent(const filtra_parameters *params);
/** Assigns places in the flat buffers, without allocating the buffers. */
void ft_parameters_lay_out(filtra_parameters *params);

#endif
