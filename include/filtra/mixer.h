/* Token mixers: layers that take the place of attention in a Transformer. Filtra has some by name;
 * an application can register its own, which models, configurations and runs then know as well.
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
 * A build function creates parameters through the scope and calls ops (ops.h, kernel.h). It is
 * called once for each graph of a model and must create the same parameters each time. Errors are
 * sticky as in graph.h.
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

/** Input of a build function. */
typedef struct filtra_mixer_input {
  filtra_tensor *x; /**< [B,N,C], dense */
  /** [B,N], 1 for real tokens, 0 for padding, which follows a sequence's end. In a DECODE pass
   * [B,M], for the rows that filtra_scope_keep returns. */
  filtra_tensor *mask;
  filtra_tensor *residual; /**< [B,N,C] added to the output, or NULL */
  int64_t heads;           /**< divides C */
  float dropout;           /**< on the output, before the residual */
  bool causal;             /**< no token may depend on later ones */
  int64_t max_length;      /**< longest sequence of this model, in tokens; N is at most that */
  void *context;           /**< filtra_mixer.context */
  /** Added to the scaled scores: [B,H,N,N] or [H,N,N], of models of graphs, windows and relative
   * positions, which take mixers with `takes_bias` only; else NULL. */
  filtra_tensor *bias;
  uint64_t reserved[5]; /**< 0 */
} filtra_mixer_input;

typedef enum filtra_option_type {
  FILTRA_OPTION_INT = 1, /**< int64_t */
  FILTRA_OPTION_FLOAT,   /**< float */
  FILTRA_OPTION_BOOL,    /**< bool */
  FILTRA_OPTION_ENUM     /**< int, the index of one of `names` */
} filtra_option_type;

/** A key of a mixer's JSON object, and the field of the option struct that it sets. */
typedef struct filtra_mixer_option {
  const char *name; /**< as a mixer's, other than "name" */
  filtra_option_type type;
  size_t offset;            /**< of the field in the mixer's option struct */
  double fallback;          /**< the default */
  double low, high;         /**< INT, FLOAT: accepted range, ends included */
  const char *const *names; /**< ENUM: accepted values, distinct words, NULL-terminated */
  const char *help;         /**< what it does, for `filtra train --help`; NULL: no text */
  uint64_t reserved[3];     /**< 0 */
} filtra_mixer_option;

/** A kind of mixer. */
typedef struct filtra_mixer {
  /** Lower-case letters, digits and underscores, a letter first, at most 31; not in use yet. */
  const char *name;
  const char *description; /**< one line for lists; NULL: none */
  size_t options_size;     /**< bytes of the option struct that build gets; at most 3328 */
  const filtra_mixer_option *options;
  size_t option_count; /**< at most 23 */
  /** Why the mixer cannot be causal, or cannot decode token by token, as a clause for the error
   * message ("it sorts all tokens"); NULL: it can. */
  const char *not_causal, *not_decoded;
  /** Returns [B,N,C] with dropout and residual applied, as filtra_mixer_output does. *auxiliary,
   * which is NULL, may receive a weighted loss per sample [B]; training adds its mean over layers
   * to the model's loss. */
  filtra_tensor *(*build)(const filtra_scope *scope, const void *options,
                          const filtra_mixer_input *in, filtra_tensor **auxiliary);
  void *context;        /**< passed to build in its input */
  bool takes_bias;      /**< adds the input's bias to its scores */
  uint64_t reserved[7]; /**< 0 */
} filtra_mixer;

/** Number of known mixers, Filtra's own first. Thread-safe. */
FILTRA_API size_t filtra_mixer_count(void);
/** Name and description of mixer i; NULL beyond the last. Thread-safe. */
FILTRA_API const char *filtra_mixer_name(size_t i);
FILTRA_API const char *filtra_mixer_description(size_t i);

/** Registers a mixer for the rest of the process. The struct and its options are copied; the texts
 * that they point to must stay valid, as literals do. Fails with ARGUMENT, naming the field that is
 * not accepted, and beyond 64 mixers in all. Thread-safe. */
FILTRA_API filtra_status filtra_mixer_register(const filtra_mixer *mixer);

/* ---- for build functions: one thread, during the call -------------------------------------- */

/** What the graph is recorded for. */
typedef enum filtra_pass {
  FILTRA_PASS_WHOLE = 0, /**< whole sequences: training, evaluation, prediction */
  FILTRA_PASS_PREFILL,   /**< the prompts of sequences that DECODE passes continue */
  FILTRA_PASS_DECODE     /**< one more token of each sequence: N is 1 */
} filtra_pass;

FILTRA_API filtra_graph *filtra_scope_graph(const filtra_scope *scope);
FILTRA_API filtra_pass filtra_scope_pass(const filtra_scope *scope);

/** The parameter named prefix + name, as filtra_graph_parameter. */
FILTRA_API filtra_tensor *filtra_scope_parameter(const filtra_scope *scope, const char *name,
                                                 int ndim, const int64_t *shape,
                                                 const filtra_parameter_options *options);
/** filtra_linear with the parameters "NAME.weight" [out, in] and "NAME.bias" [out]; `in` is the
 * length of x's last axis. Both start as U(-1/sqrt(in), 1/sqrt(in)), or as the model's init_std
 * says. */
FILTRA_API filtra_tensor *filtra_scope_linear(const filtra_scope *scope, const char *name,
                                              filtra_tensor *x, int64_t out,
                                              const filtra_linear_options *options);

/** Keeps x [B,H,N,D], such as keys or values, for later tokens; a pass keeps a name once. Returns x
 * in a WHOLE pass and in PREFILL. In DECODE it returns the rows [B,H,M,D] kept under that name, the
 * new token's last; in->mask says which of them are real. */
FILTRA_API filtra_tensor *filtra_scope_keep(const filtra_scope *scope, const char *name,
                                            filtra_tensor *x);
/** In DECODE: the F32 state of that name that the previous pass has set, zeros before a sequence's
 * first token. For mixers that summarise all earlier tokens in a tensor of fixed size. shape[0] is
 * B. Call it before filtra_scope_set_state. */
FILTRA_API filtra_tensor *filtra_scope_state(const filtra_scope *scope, const char *name, int ndim,
                                             const int64_t *shape);
/** In PREFILL and DECODE: sets the dense state [B,..] that the next pass reads, which summarises
 * all real tokens so far. No gradient flows through it. Does nothing in a WHOLE pass. */
FILTRA_API void filtra_scope_set_state(const filtra_scope *scope, const char *name,
                                       filtra_tensor *state);

#if defined(_WIN32)
#define FILTRA_PLUGIN_API __declspec(dllexport)
#elif defined(__GNUC__)
#define FILTRA_PLUGIN_API __attribute__((visibility("default")))
#else
#define FILTRA_PLUGIN_API
#endif
/** What a module for `filtra --plugin FILE` defines: it registers the module's mixers, and a status
 * other than OK ends the command. Compile it as a shared object against these headers, without
 * linking libfiltra: the command has the functions. In C++ inside extern "C". */
FILTRA_PLUGIN_API filtra_status filtra_plugin(void);

/** Queries, keys and values from one linear layer, "qkv": three views [B,H,N,D]. */
FILTRA_API void filtra_mixer_qkv(const filtra_scope *scope, const filtra_mixer_input *in,
                                 filtra_tensor *qkv[3]);
/** The last step of a mixer: the linear layer "out", dropout and residual, applied to y, which is
 * [B,H,N,D] stored token by token or [B,N,C]. */
FILTRA_API filtra_tensor *filtra_mixer_output(const filtra_scope *scope,
                                              const filtra_mixer_input *in, filtra_tensor *y);

#ifdef __cplusplus
}
#endif
#endif
