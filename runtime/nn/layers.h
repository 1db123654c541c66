/* Layers: ops plus their named parameters. Names are built from a scope's prefix, so that
 * "layers.0." + "ffn.1" + ".weight" is how the parameter is called in files. */
#ifndef FT_NN_LAYERS_H
#define FT_NN_LAYERS_H

#include "graph/graph.h"

#include <filtra/mixer.h>

enum { FT_NAME_TEXT = 192 };

/** What a graph shows of itself beside its results, for `filtra analyze`. */
typedef struct ft_observation {
  char name[FT_NAME_TEXT]; /* "layers.0.mixer.value" */
  filtra_tensor *tensor;   /* an output of the graph */
} ft_observation;
typedef struct ft_observer {
  ft_observation *list; /* freed by the owner */
  size_t count, capacity;
} ft_observer;

/* Tokens of earlier runs, see nn/past.h. */
typedef struct ft_past_use ft_past_use;

/** Where a layer is being built; mixers of applications see it as the public header does. */
struct filtra_scope {
  filtra_graph *graph;
  filtra_parameters *params;
  ft_observer *observer;   /* NULL: nobody looks */
  const ft_past_use *past; /* NULL: sequences are whole */
  filtra_dtype precision;  /* of products' operands; F32, or 16 bits */
  float init_std;          /* of linear layers' weights at first; 0: U(+-1/sqrt(in)), biases too */
  float norm_epsilon;      /* of LayerNorm and ScaleNorm; 0: the ops' own, 1e-5 */
  char prefix[FT_NAME_TEXT]; /* ends with a dot, or empty */
};
typedef struct filtra_scope ft_scope;

/** The scope below: prefix + name + ".", which has to fit, or else is the graph's error. */
ft_scope ft_scope_enter(const ft_scope *scope, const char *format, ...) FT_PRINTF(2, 3);

/** False without a scope or where its graph has an error; for public functions. */
bool ft_scope_usable(const ft_scope *scope);
/** Writes prefix + kind + name; false when it does not fit, the graph's error then, or when the
 * graph has one already. */
bool ft_scope_name(const ft_scope *scope, const char *kind, const char *name,
                   char full[FT_NAME_TEXT]);

/** Shows any view t to the observer as prefix + name; without one, does nothing. Observed are
 * "query", "key" and "value" [B,N,C], what a mixer mixes by and what it mixes, "mixed" [B,N,C],
 * what that comes to before the output projection, and "x" [B,N,C], the features that a block
 * hands on. */
void ft_observe(const ft_scope *scope, const char *name, filtra_tensor *t);

/** A matrix that products multiply by, in the scope's precision: the parameter of that name, or its
 * 16-bit copy. */
filtra_tensor *ft_scope_weight(const ft_scope *scope, const char *name, const int64_t shape[2],
                               const filtra_parameter_options *options);
/** How a matrix starts that has so many inputs, with weight decay: by the scope's init_std, and
 * without one U(-1/sqrt(in), 1/sqrt(in)). */
filtra_parameter_options ft_scope_matrix(const ft_scope *scope, int64_t in);
/** filtra_scope_linear with weights for `in` inputs, of which x has the first. */
filtra_tensor *ft_linear_prefix(const ft_scope *scope, const char *name, filtra_tensor *x,
                                int64_t in, int64_t out, const filtra_linear_options *options);

/** "NAME.weight" [C] (ones) and "NAME.bias" [C] (zeros); a result of that type. */
filtra_tensor *ft_norm_layer(const ft_scope *scope, const char *name, filtra_tensor *x,
                             filtra_dtype dtype);

#endif
