/* Token mixers: what stands where a Transformer has attention. Those that Filtra brings along, by
 * name, and an application's own, which every model, configuration and run knows once registered.
 *
 *   struct my_options { float alpha; };
 *   static filtra_tensor *build(const filtra_scope *scope, const void *options,
 *                               const filtra_mixer_input *in, filtra_tensor **auxiliary);
 *   static const filtra_mixer_option OPTIONS[] = {
 *       {.name = "alpha", .type = FILTRA_OPTION_FLOAT,
 *        .offset = offsetof(struct my_options, alpha), .fallback = 1, .low = 0, .high = 10}};
 *   filtra_mixer_register(&(filtra_mixer){.name = "mine", .description = "tokens weighed by alpha",
 *       .options_size = sizeof(struct my_options), .options = OPTIONS, .option_count = 1,
 *       .build = build});
 *   filtra_model_create(dev, &(filtra_model_config){.mixer = "{\"name\": \"mine\", \"alpha\": 2}",
 *       ...}, &model);
 *
 * A build function makes its parameters through the scope and calls ops (ops.h, kernel.h). It is
 * called for every graph that a model compiles, first for one that only declares parameters, and
 * must make the same ones each time. Errors are sticky as everywhere on a graph.
 */
#ifndef FILTRA_MIXER_H
#define FILTRA_MIXER_H

#include <filtra/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where a mixer is being built: a graph, a parameter set and a prefix for names, such as
 * "layers.0.mixer.". Valid during the call of build. */
typedef struct filtra_scope filtra_scope;

/** What a mixer is given to build itself on. */
typedef struct filtra_mixer_input {
  filtra_tensor *x; /**< [B,N,C], dense */
  /** [B,N], 1 real token, 0 padding, which lies behind a sequence's end; in a DECODE pass [B,M],
   * over the rows that filtra_scope_keep returns. */
  filtra_tensor *mask;
  filtra_tensor *residual; /**< [B,N,C] added to the output, or NULL */
  int64_t heads;           /**< divides C */
  float dropout;           /**< on the output, before the residual */
  bool causal;             /**< a token must see none that come after it */
  int64_t max_length;   /**< the most tokens that a sequence of this model has; N is at most that */
  void *context;        /**< filtra_mixer.context */
  uint64_t reserved[6]; /**< zero; later versions' fields */
} filtra_mixer_input;

typedef enum filtra_option_type {
  FILTRA_OPTION_INT = 1, /**< int64_t */
  FILTRA_OPTION_FLOAT,   /**< float */
  FILTRA_OPTION_BOOL,    /**< bool */
  FILTRA_OPTION_ENUM     /**< int, the index of one of `names` */
} filtra_option_type;

/** A key of a mixer's JSON object and the field that it fills. */
typedef struct filtra_mixer_option {
  const char *name;
  filtra_option_type type;
  size_t offset;            /**< of the field in the mixer's option struct, which it lies within */
  double fallback;          /**< value where the key is absent */
  double low, high;         /**< numbers: accepted range, the ends included */
  const char *const *names; /**< ENUM: what is accepted, ends with NULL */
  const char *help;         /**< what it does, for `filtra train --help`; NULL: nothing is said */
  uint64_t reserved[3];     /**< zero; later versions' fields */
} filtra_mixer_option;

/** A kind of mixer. */
typedef struct filtra_mixer {
  /** Lower-case letters, digits and underscores, a letter first, at most 31; not in use yet. */
  const char *name;
  const char *description; /**< one line for lists; NULL: none */
  size_t options_size;     /**< of the struct that build is given, filled in; at most 1088 bytes */
  const filtra_mixer_option *options;
  size_t option_count; /**< at most 23 */
  /** Why it cannot be causal, or cannot go on token by token, as a clause ("it sorts all tokens"),
   * for the error that refuses it; NULL: it can. */
  const char *not_causal, *not_decoded;
  /** Returns [B,N,C] with dropout and residual on it: filtra_mixer_output ends so. *auxiliary, NULL
   * at first, may receive a loss per sample [B], already weighted, that training adds, averaged
   * over layers. */
  filtra_tensor *(*build)(const filtra_scope *scope, const void *options,
                          const filtra_mixer_input *in, filtra_tensor **auxiliary);
  void *context;        /**< handed to build in its input */
  uint64_t reserved[8]; /**< zero; later versions' fields */
} filtra_mixer;

/** How many mixers there are, and the name and the line of the i-th: Filtra's own first. NULL
 * beyond the last. Thread-safe. */
FILTRA_API size_t filtra_mixer_count(void);
FILTRA_API const char *filtra_mixer_name(size_t i);
FILTRA_API const char *filtra_mixer_description(size_t i);

/** Makes a mixer known to the process, for good. The struct and its options are copied; the texts
 * that they point to must stay, as literals do. ARGUMENT names what is not accepted; at most 64
 * mixers in all. Thread-safe. */
FILTRA_API filtra_status filtra_mixer_register(const filtra_mixer *mixer);

/* ---- for build functions: one thread, during the call -------------------------------------- */

/** What the graph is for. */
typedef enum filtra_pass {
  FILTRA_PASS_WHOLE = 0, /**< whole sequences, nothing is kept: training, evaluation, prediction */
  FILTRA_PASS_PREFILL,   /**< the first tokens of sequences that later runs go on with */
  FILTRA_PASS_DECODE     /**< one more token of each sequence: N is 1 */
} filtra_pass;

FILTRA_API filtra_graph *filtra_scope_graph(const filtra_scope *scope);
FILTRA_API filtra_pass filtra_scope_pass(const filtra_scope *scope);

/** The parameter PREFIX + name, as filtra_graph_parameter: learned, or a buffer that files keep and
 * nothing trains. */
FILTRA_API filtra_tensor *filtra_scope_parameter(const filtra_scope *scope, const char *name,
                                                 int ndim, const int64_t *shape,
                                                 const filtra_parameter_options *options);
/** filtra_linear with the parameters "NAME.weight" [out, in] and "NAME.bias" [out], both
 * U(-1/sqrt(in), 1/sqrt(in)) at first, or as the model's init_std says; `in` is x's last axis. */
FILTRA_API filtra_tensor *filtra_scope_linear(const filtra_scope *scope, const char *name,
                                              filtra_tensor *x, int64_t out,
                                              const filtra_linear_options *options);

/** For what a mixer needs of every earlier token, keys and values say: x [B,H,N,D] itself in a
 * WHOLE pass and in PREFILL, which keeps it besides. In DECODE the rows [B,H,M,D] kept under that
 * name, the new token's last; in->mask says which of them count. */
FILTRA_API filtra_tensor *filtra_scope_keep(const filtra_scope *scope, const char *name,
                                            filtra_tensor *x);
/** For what a mixer can sum up of all earlier tokens, in DECODE: the F32 state of that name as the
 * run before left it, zeros before a sequence's first token. shape[0] is B. Read it before setting
 * the next. */
FILTRA_API filtra_tensor *filtra_scope_state(const filtra_scope *scope, const char *name, int ndim,
                                             const int64_t *shape);
/** Leaves a dense state [B,..] to later runs, in PREFILL and DECODE: what they need of all real
 * tokens so far. No gradient leads through it. In a WHOLE pass it does nothing. */
FILTRA_API void filtra_scope_set_state(const filtra_scope *scope, const char *name,
                                       filtra_tensor *state);

/** Queries, keys and values of attention from one layer, "qkv": three views [B,H,N,D]. */
FILTRA_API void filtra_mixer_qkv(const filtra_scope *scope, const filtra_mixer_input *in,
                                 filtra_tensor *qkv[3]);
/** What a mixer ends with: y, heads [B,H,N,D] stored token by token or side by side [B,N,C], then
 * the layer "out", dropout and residual. */
FILTRA_API filtra_tensor *filtra_mixer_output(const filtra_scope *scope,
                                              const filtra_mixer_input *in, filtra_tensor *y);

#ifdef __cplusplus
}
#endif
#endif
