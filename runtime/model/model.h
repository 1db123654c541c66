/* Internals of <filtra/model.h>, for training, prediction and the command. */
#ifndef FT_MODEL_MODEL_H
#define FT_MODEL_MODEL_H

#include "base/lengths.h"
#include "base/safetensors.h"
#include "model/edges.h"
#include "nn/encoder.h"

#include <filtra/model.h>

/** All options that decide a model's parameters and function. */
typedef struct ft_model_options {
  /* Defaults filled in; `seed` is 0. `mixer` is NULL; in a filtra_model it is the mixer's JSON
   * text. */
  filtra_model_config config;
  ft_mixers mixers;
} ft_model_options;

/** Largest number of tokens of a sequence inside the model, without a class token: patches, or
 * max_length. */
int64_t ft_model_tokens(const filtra_model_config *config);
/** Number of tokens in front of the sequence in every layer: class token and distillation token. */
int64_t ft_model_front(const filtra_model_config *config);
/** Number of stages, 1 without "stages", and the layers of each; 0: "stages" is not a list of 1 to
 * FT_MOST_STAGES numbers. */
enum { FT_MOST_STAGES = 8 };
int ft_model_stages(const filtra_model_config *config, int64_t layers[FT_MOST_STAGES]);
/** The stage of a layer, from 0; width and heads double with each stage. */
int ft_model_stage_of(const filtra_model_config *config, int64_t layer);
/** Rows and columns of tokens in a stage, for a model with `patch`. */
void ft_model_grid(const filtra_model_config *config, int stage, int64_t grid[2]);
/** ft_model_tokens and width after the last stage. */
int64_t ft_model_last_tokens(const filtra_model_config *config);
int64_t ft_model_last_width(const filtra_model_config *config);
/** Numbers per prediction. */
int64_t ft_model_outputs(const filtra_model_config *config);
/** Sequences per sample: 2 for pairs. */
int64_t ft_model_sequences(const filtra_model_config *config);
/** Whether the model has a top-5 accuracy, which needs more than five classes. */
bool ft_model_ranks(const filtra_model_config *config);
/** The element type of a filtra_precision. */
filtra_dtype ft_precision_dtype(filtra_precision precision);
/** "classification" and so on. */
const char *ft_task_name(filtra_task task);
/** Names by value, NULL-terminated: "classification", "mean" and so on. */
extern const char *const ft_task_names[], *const ft_pooling_names[], *const ft_precision_names[];

/** The keys of filtra_model_config (model/options.c); `mixer` is an FT_KEY_OTHER. */
extern const ft_keys ft_model_keys;

/** Reads the model keys of an object, checks them and fills in defaults. `context` precedes field
 * names in errors. */
filtra_status ft_model_options_read(const json_t *object, const char *context,
                                    ft_model_options *options);
/** The part of ft_model_options_read that follows the reading of fields and mixer: defaults that
 * depend on other fields, and checks across fields. */
filtra_status ft_model_options_finish(const char *context, ft_model_options *options);
/** Checks that the heads divide the width into parts that kernels can keep (check.c). */
filtra_status ft_model_check_heads(const char *context, const filtra_model_config *o);
/** The checks across fields (check.c). `usual` has the defaults of head_width and
 * head_activation. */
filtra_status ft_model_options_check(const char *context, const ft_model_options *options,
                                     const filtra_model_config *usual);
/** As ft_model_options_read, from an application's struct. */
filtra_status ft_model_options_take(const filtra_model_config *config, ft_model_options *options);
/** The model keys as JSON, with all defaults. NULL when out of memory. */
json_t *ft_model_options_write(const ft_model_options *options);

/* ---- fit.c ---- */

/** Fills in the sizes and the task that the data decide, and checks the others. */
filtra_status ft_model_fit(filtra_model_config *model, const char *context,
                           const filtra_dataset *data);
/** Sets mean and standard deviation from the training values, unless the configuration has them: a
 * regression predicts standardised values. */
filtra_status ft_model_fit_target(filtra_model_config *model, const char *context,
                                  const filtra_dataset *data);

/* ---- network.c ---- */

/** The scope in which the layers of a model are built. */
ft_scope ft_network_scope(filtra_graph *graph, filtra_parameters *params,
                          const filtra_model_config *config);

typedef struct ft_network_input {
  /* I32 [S B, N] for S sequences per sample, the first sequences of all samples first; or NULL */
  filtra_tensor *tokens;
  filtra_tensor *features; /* [B,N,F], or NULL */
  filtra_tensor *types;    /* I32 [B,N], rows of the table of token types; or NULL */
  ft_edge_tensors edges;   /* graphs only */
  /* [S B, N], 1 real token, 0 padding; with a past, over the rows of the past */
  filtra_tensor *mask;
  /* Language models: I32 [R,1], which of the B N tokens get logits; NULL: all. */
  filtra_tensor *rows;
  bool headless;        /* language models: the caller calls ft_network_predict */
  filtra_vector vector; /* the result is this vector, [B, ft_model_numbers] */
} ft_network_input;

/** Builds the network. Returns the input of the task's loss: logits [B,classes], standardised
 * values [B,1], or logits [B N, vocabulary]. *auxiliary receives the sum of the layers' weighted
 * auxiliary losses divided by the number of layers, [B], or NULL. */
filtra_tensor *ft_network_build(const ft_scope *scope, const ft_model_options *options,
                                const ft_network_input *in, filtra_tensor **auxiliary);

/** The head of a language model: rows [R, width] of a headless network -> logits [R, vocabulary].
 */
filtra_tensor *ft_network_predict(const ft_scope *scope, const filtra_model_config *config,
                                  filtra_tensor *x);

/** The loss that training minimizes: loss + auxiliary, both of one shape. If auxiliary losses take
 * a share of the total, (1 - a) loss + auxiliary, where a is the mean share over the layers that
 * have one. `auxiliary` may be NULL. */
filtra_tensor *ft_total_loss(filtra_graph *g, const ft_model_options *options, filtra_tensor *loss,
                             filtra_tensor *auxiliary);

/* ---- batch.c ---- */

/** A compiled graph for batches of one shape, with its inputs and outputs. */
typedef struct ft_batch_graph {
  filtra_graph *graph;
  int64_t size, length; /* samples; tokens per sequence */
  int64_t rows;         /* number of predictions: one per sample, or per token */
  bool judged;          /* outputs are loss and score, not logits */
  /* For a part of a batch: loss and score are its contribution to the whole batch's. */
  bool part;
  filtra_tensor *tokens, *features, *lengths; /* tokens or features */
  filtra_tensor *types;                       /* only with token_types */
  ft_edge_tensors edges;                      /* only with edge_types */
  const filtra_model_config *config;          /* the model's */
  bool typed;                                 /* there is more than one token type */
  bool absolute;                              /* the regression's loss is the absolute error */
  bool mixed; /* samples are mixtures of two (filtra_batch.other_labels) */
  filtra_tensor *labels, *values, *weights; /* [rows] each; labels or values */
  /* [rows, classes] for several labels: 1 if the label applies, else 0; in training also their
   * weights */
  filtra_tensor *targets, *label_weights;
  filtra_tensor *other_labels, *label_fractions; /* [rows] each, if mixed */
  filtra_tensor *sample_weights;                 /* [size] */
  /* [1], for a part: 1 / sum of the whole batch's weights */
  filtra_tensor *scale, *sample_scale;
  filtra_tensor *logits, *loss, *score; /* score: accuracy or absolute error */
  filtra_tensor *top5;   /* top-5 accuracy; NULL in training, and with at most five classes */
  filtra_tensor *hidden; /* input of the head, if logits are computed in chunks */
  int64_t chunks;
  ft_observer *observer; /* is shown the layers' tensors while the graph is built; or NULL */
  void *host;            /* room for any one input, padded to this shape, before it is uploaded */
} ft_batch_graph;

/** Metadata key for how the model reads samples: JSON of ft_dataset_describe. */
#define FT_INPUT_KEY "filtra.input"
/** Metadata key for the run that wrote the checkpoint or model: JSON (train/identity.h). */
#define FT_RUN_KEY "filtra.run"
/** Metadata key for the model's options: JSON. */
#define FT_MODEL_CONFIG_KEY "filtra.config"

struct filtra_model {
  filtra_device *device;
  ft_model_options options;
  filtra_parameters *params;
  filtra_arena *arena;    /* shared by all graphs of the model: one executes at a time */
  ft_batch_graph *graphs; /* inference, by shape */
  size_t graph_count, graph_capacity;
  int64_t loss_chunks;  /* chunks of a language model's logits; 0: as few as buffers allow */
  char *mixer;          /* JSON text, for filtra_model_get_config */
  char *input;          /* value of FT_INPUT_KEY; NULL: unknown */
  unsigned users;       /* trainers and generators */
  filtra_vector vector; /* which vectors inference returns */
};

/** A model with declared parameters; commit them to use it. `narrow`: parameters that products and
 * lookups read exist only in the 16-bit type of the precision. */
filtra_status ft_model_declare(filtra_device *device, const ft_model_options *options, bool narrow,
                               filtra_model **out);
/** A model with committed parameters and initial values drawn by `seed`. */
filtra_status ft_model_new(filtra_device *device, const ft_model_options *options, uint64_t seed,
                           filtra_model **out);
/** Computes the memory of b's graph, whose shape, `judged` and `part` are set; caller closes it.
 * Allocates nothing on the device; the model need not be committed. */
filtra_status ft_model_measure(filtra_model *model, ft_batch_graph *b, bool training,
                               ft_recompute how, filtra_memory_use *memory);
/** Builds an inference graph whose layers `observer` sees; caller closes it. Closes it on failure.
 */
filtra_status ft_model_observe(filtra_model *model, int64_t size, int64_t length,
                               ft_observer *observer, ft_batch_graph *out);
/** A batch submitted to an inference graph. Two batches of a graph may be in flight. */
typedef struct ft_pending_batch {
  size_t graph; /* index in model->graphs */
  uint64_t ticket;
} ft_pending_batch;
filtra_status ft_model_submit(filtra_model *model, const filtra_batch *batch, bool labelled,
                              ft_pending_batch *pending);
/** filtra_model_check_data for predictions, whose data may have other classes. */
filtra_status ft_check_reading(const filtra_model *model, const filtra_dataset *data);
/** Whether the data's features were standardised as `input`, the object of FT_INPUT_KEY, says; true
 * if it does not say. */
bool ft_same_numbers(const json_t *input, const filtra_dataset *data);
/** Numbers per result of inference: outputs, or a vector's size. */
int64_t ft_model_numbers(const filtra_model *model);
/** Makes inference return vectors; call it before any graph is made. Fails with ARGUMENT if the
 * model has no such vector. */
filtra_status ft_model_embed(filtra_model *model, filtra_vector vector);
/** Compiles the inference graph for `size` sequences of that length. */
filtra_status ft_model_prepare(filtra_model *model, int64_t size, int64_t length);
/** Waits for a batch of `count` samples, which for a language model was submitted without labels.
 * Results [count, outputs] are the head's outputs, in units of the values; for language models, the
 * only ones that read `lengths`, those at each sample's last token. */
filtra_status ft_model_rows(filtra_model *model, const ft_pending_batch *pending,
                            const int32_t *lengths, size_t count, float *results);
/** Waits for a batch, submitted with labels. Loss and score are those of
 * filtra_model_evaluate_batch. *top5 (may be NULL): top-5 accuracy; < 0 if the model has none
 * (ft_model_ranks). */
filtra_status ft_model_collect(filtra_model *model, const ft_pending_batch *pending, double *loss,
                               double *score, double *top5);

/** Declares inputs and builds the network up to its logits, for batches of this shape. */
void ft_batch_graph_open(filtra_model *model, ft_batch_graph *b, filtra_tensor **auxiliary);
/** Declares labels and weights, and adds loss [1] and score [1]; the score is an output.
 * `auxiliary` may be NULL. */
void ft_batch_graph_judge(const filtra_model *model, ft_batch_graph *b, float smoothing,
                          filtra_tensor *auxiliary);
/** Sets the inputs from a batch of b's shape or smaller: missing rows get weight 0, missing columns
 * are padding. Without `labelled` all weights are 0. Allocates nothing. */
filtra_status ft_batch_graph_set(ft_batch_graph *b, const filtra_batch *batch, bool labelled);
/** Sets the inputs of a graph with `part` from samples [first, first + count) of a batch. `weight`
 * is ft_batch_weight of the whole batch. */
filtra_status ft_batch_graph_set_part(ft_batch_graph *b, const filtra_batch *batch, int64_t first,
                                      int64_t count, double weight);
/** Sum of the weights over which the batch's loss is a mean. */
double ft_batch_weight(const filtra_model *model, const filtra_batch *batch);
void ft_batch_graph_close(ft_batch_graph *b);
/** Checks tokens, lengths and labels against the model's limits. */
filtra_status ft_model_check_batch(const filtra_model *model, const filtra_batch *batch,
                                   bool labelled);

/* ---- weights on disk (model/weights.c) ---- */

/** Reads the options in a model file's metadata; `path` is for errors. */
filtra_status ft_model_file_options(const ft_safetensors *file, const char *path,
                                    ft_model_options *options);

/** filtra_model_save with one more metadata string (`key` NULL: none). Follows no link below
 * `within` (ft_atomic_open_in); `within` NULL: a path that a person gave. */
filtra_status ft_model_save(filtra_model *model, const char *within, const char *path,
                            const char *key, const char *value);

#endif
