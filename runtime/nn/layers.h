/* Layers: ops with named parameters. Names begin with the scope's prefix: "layers.0." + "ffn.1" +
 * ".weight" is the parameter's name in files. */
#ifndef FT_NN_LAYERS_H
#define FT_NN_LAYERS_H

#include "graph/graph.h"

#include <filtra/mixer.h>

enum { FT_NAME_TEXT = 192 };

/** An intermediate tensor that a graph outputs for `filtra analyze`. */
typedef struct ft_observation {
  char name[FT_NAME_TEXT]; /* "layers.0.mixer.value" */
  filtra_tensor *tensor;   /* an output of the graph */
} ft_observation;
typedef struct ft_observer {
  ft_observation *list; /* freed by the owner */
  size_t count, capacity;
} ft_observer;

/* Tokens of earlier executions, see nn/past.h. */
typedef struct ft_past_use ft_past_use;

/** Where a layer is being built: the public filtra_scope. */
struct filtra_scope {
  filtra_graph *graph;
  filtra_parameters *params;
  ft_observer *observer;   /* NULL: none */
  const ft_past_use *past; /* NULL: sequences are whole */
  /* *carried: what a mixer passes to the mixer of the next layer beside the tokens, initially NULL.
   * `carried` NULL: nothing can be passed. */
  filtra_tensor **carried;
  filtra_dtype precision; /* of products' operands: F32, F16 or BF16 */
  float init_std;         /* initial deviation of linear weights; 0: U(+-1/sqrt(in)), biases too */
  float norm_epsilon;     /* of LayerNorm and ScaleNorm; 0: the ops' default, 1e-5 */
  char prefix[FT_NAME_TEXT]; /* ends with a dot, or empty */
};
typedef struct filtra_scope ft_scope;

/** The inner scope with prefix + name + "."; a prefix that is too long is a graph error. */
ft_scope ft_scope_enter(const ft_scope *scope, const char *format, ...) FT_PRINTF(2, 3);

/** False without a scope, and if its graph has an error. Public functions call it first. */
bool ft_scope_usable(const ft_scope *scope);
/** Writes prefix + kind + name. False if the graph has an error; a name that is too long sets one.
 */
bool ft_scope_name(const ft_scope *scope, const char *kind, const char *name,
                   char full[FT_NAME_TEXT]);

/** Adds t, any view, to the observer's list as prefix + name; does nothing without an observer.
 * Names are "query", "key" and "value" [B,N,C] of a mixer, of AGF also "u", "v" and "sigma";
 * "mixed" [B,N,C], its result before the output projection; and "x" [B,N,C], the output of a block.
 */
void ft_observe(const ft_scope *scope, const char *name, filtra_tensor *t);

/** A weight matrix in the scope's precision: the parameter of that name, or its 16-bit copy. */
filtra_tensor *ft_scope_weight(const ft_scope *scope, const char *name, const int64_t shape[2],
                               const filtra_parameter_options *options);
/** Options of a matrix with `in` inputs and weight decay: initial values by the scope's init_std,
 * or without one U(-1/sqrt(in), 1/sqrt(in)). */
filtra_parameter_options ft_scope_matrix(const ft_scope *scope, int64_t in);
/** Options of its bias: zeros with an init_std, or the same uniform values; no weight decay. */
filtra_parameter_options ft_scope_bias(const ft_scope *scope, int64_t in);
/** filtra_scope_linear with weights for `in` inputs, of which x holds only the first ones. */
filtra_tensor *ft_linear_prefix(const ft_scope *scope, const char *name, filtra_tensor *x,
                                int64_t in, int64_t out, const filtra_linear_options *options);

/** One linear layer per group, such as a head: x dense [B,G,N,in], "NAME.weight" [G,out,in] and
 * "NAME.bias" [G out] -> [G B N, out], F32, group by group. Parameters start as those of
 * filtra_scope_linear. */
filtra_tensor *ft_group_linear(const ft_scope *scope, const char *name, filtra_tensor *x,
                               int64_t out);

/** LayerNorm with "NAME.weight" [C], initially ones, and "NAME.bias" [C], zeros; result of that
 * type. */
filtra_tensor *ft_norm_layer(const ft_scope *scope, const char *name, filtra_tensor *x,
                             filtra_dtype dtype);

#endif
