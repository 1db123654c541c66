/* The model behind <filtra/model.h>, for the trainer and the command. */
#ifndef FT_MODEL_MODEL_H
#define FT_MODEL_MODEL_H

#include "base/lengths.h"
#include "base/safetensors.h"
#include "nn/encoder.h"

#include <filtra/model.h>

/** Everything that decides a model's parameters and function. */
typedef struct ft_model_options {
  /* Complete, but for `seed`, which is 0. `mixer`: NULL, or in a model the text of the other. */
  filtra_model_config config;
  ft_mixer mixer;
} ft_model_options;

/** Most tokens of a sequence inside the model, without a class token: patches, or max_length. */
int64_t ft_model_tokens(const filtra_model_config *config);
/** Numbers that a prediction consists of. */
int64_t ft_model_outputs(const filtra_model_config *config);
/** Sequences of a sample. */
int64_t ft_model_sequences(const filtra_model_config *config);
/** Whether its classes are so many, more than five, that top-5 accuracy says something. */
bool ft_model_ranks(const filtra_model_config *config);
/** The element type of a filtra_precision. */
filtra_dtype ft_precision_dtype(filtra_precision precision);
/** "classification" and so on. */
const char *ft_task_name(filtra_task task);

/** The keys over filtra_model_config (model/options.c); `mixer` is an FT_KEY_OTHER. */
extern const ft_keys ft_model_keys;

/** From an object of model keys, complete and checked. `context` goes before field names in
 * errors. */
filtra_status ft_model_options_read(const json_t *object, const char *context,
                                    ft_model_options *options);
/** The part of it after fields and mixer were read: defaults that follow from other fields, and
 * checks across fields. */
filtra_status ft_model_options_finish(const char *context, ft_model_options *options);
/** From a struct that a program filled in, by the same table. */
filtra_status ft_model_options_take(const filtra_model_config *config, ft_model_options *options);
/** The model keys of a configuration, complete. NULL when out of memory. */
json_t *ft_model_options_write(const ft_model_options *options);

/* ---- network.c ---- */

/** Where the layers of a model with these options are built. */
ft_scope ft_network_scope(filtra_graph *graph, filtra_parameters *params,
                          const filtra_model_config *config);

typedef struct ft_network_input {
  filtra_tensor *tokens;   /* I32 [S B, N], S sequences a sample, all first ones first; or NULL */
  filtra_tensor *features; /* [B,N,F], or NULL */
  filtra_tensor *mask;     /* [S B, N], 1 real token, 0 padding; with a past over its rows */
  /* I32 [R,1], of a language model: which of the B N tokens are wanted; NULL: all. */
  filtra_tensor *rows;
  bool headless; /* of a language model: ft_network_predict is left to the caller */
} ft_network_input;

/** -> what the task's loss takes: logits [B,classes], standardised values [B,1], logits
 * [B N, vocabulary]. *auxiliary receives the sum of the layers' weighted auxiliary losses divided
 * by the number of layers, [B], or NULL. */
filtra_tensor *ft_network_build(const ft_scope *scope, const ft_model_options *options,
                                const ft_network_input *in, filtra_tensor **auxiliary);

/** Rows [R, width] that a headless network gave -> logits [R, vocabulary]. */
filtra_tensor *ft_network_predict(const ft_scope *scope, const filtra_model_config *config,
                                  filtra_tensor *x);

/** What training minimizes, from losses of one shape: their sum, where a mixer does not say that
 * its own takes a share of the task's. `auxiliary` may be NULL. */
filtra_tensor *ft_total_loss(filtra_graph *g, const ft_model_options *options, filtra_tensor *loss,
                             filtra_tensor *auxiliary);

/* ---- batch.c ---- */

/** A compiled graph for batches of one shape, with the tensors that cross. */
typedef struct ft_batch_graph {
  filtra_graph *graph;
  int64_t size, length; /* samples; tokens of a sequence */
  int64_t rows;         /* predictions: samples, or all their tokens */
  bool judged;          /* gives loss and score, and no logits */
  bool part;            /* of a batch: loss and score are its part of the whole batch's */
  filtra_tensor *tokens, *features, *lengths; /* tokens or features */
  bool mixed; /* samples are mixtures of two, as a filtra_batch may have them */
  filtra_tensor *labels, *values, *weights;      /* [rows] each; labels or values */
  filtra_tensor *other_labels, *label_fractions; /* [rows] each where mixed */
  filtra_tensor *sample_weights;                 /* [size] */
  filtra_tensor *scale, *sample_scale;  /* [1] of a part: one over the whole batch's weights */
  filtra_tensor *logits, *loss, *score; /* score: accuracy or absolute error */
  filtra_tensor *top5;   /* top-5 accuracy; NULL in training and where 5 are all classes */
  filtra_tensor *hidden; /* where logits are made and judged in chunks: the head's input */
  int64_t chunks;
  ft_observer *observer; /* sees the layers while the graph is built; or NULL */
  void *host; /* room for any one input, padded to this shape, on its way to the device */
} ft_batch_graph;

/** Metadata that says how samples become what the model reads: JSON (train/input.h). */
#define FT_INPUT_KEY "filtra.input"
/** And the run that checkpoint or model came from: a JSON object (train/identity.h). */
#define FT_RUN_KEY "filtra.run"
/** And the model itself, its options as JSON. */
#define FT_MODEL_CONFIG_KEY "filtra.config"

struct filtra_model {
  filtra_device *device;
  ft_model_options options;
  filtra_parameters *params;
  filtra_arena *arena;    /* shared by all graphs of the model: one runs at a time */
  ft_batch_graph *graphs; /* inference, by shape */
  size_t graph_count, graph_capacity;
  int64_t loss_chunks; /* that a language model's rows are judged in; 0: as few as buffers need */
  char *mixer;         /* as JSON, for filtra_model_get_config */
  char *input;         /* as FT_INPUT_KEY has it; NULL: nothing is known */
};

/** The model of complete options with its parameters declared; commit them to use it. Narrow: those
 * that products and lookups read are to be there in the precision's 16 bits alone. */
filtra_status ft_model_declare(filtra_device *device, const ft_model_options *options, bool narrow,
                               filtra_model **out);
/** The same with initial values drawn by `seed`. */
filtra_status ft_model_new(filtra_device *device, const ft_model_options *options, uint64_t seed,
                           filtra_model **out);
/** What b's graph takes, which has its shape, `judged` and `part`; the caller closes it. Allocates
 * nothing on the device; the model need not be committed. */
filtra_status ft_model_measure(filtra_model *model, ft_batch_graph *b, bool training,
                               ft_recompute how, filtra_memory_use *memory);
/** An inference graph of the caller's own that shows its layers; the caller closes it. On failure
 * nothing is left. */
filtra_status ft_model_observe(filtra_model *model, int64_t size, int64_t length,
                               ft_observer *observer, ft_batch_graph *out);
/** A batch in an inference graph. Two of a graph may be under way. */
typedef struct ft_pending_batch {
  size_t graph; /* of model->graphs */
  uint64_t ticket;
} ft_pending_batch;
filtra_status ft_model_submit(filtra_model *model, const filtra_batch *batch, bool labelled,
                              ft_pending_batch *pending);
/** Compiles the inference graph for so many sequences of that length. */
filtra_status ft_model_prepare(filtra_model *model, int64_t size, int64_t length);
/** Waits for a batch of `count` samples that was submitted without labels. What the head gave for
 * each: [count, outputs]; of a language model at the sample's last token. */
filtra_status ft_model_rows(filtra_model *model, const ft_pending_batch *pending,
                            const int32_t *lengths, size_t count, float *results);
/** Waits for it; loss and score as filtra_model_evaluate_batch gives them. *top5 (may be NULL):
 * top-5 accuracy, < 0 where the model has none (ft_model_ranks). */
filtra_status ft_model_collect(filtra_model *model, const ft_pending_batch *pending, double *loss,
                               double *score, double *top5);

/** Declares inputs and logits of a graph for batches of this shape. */
void ft_batch_graph_open(filtra_model *model, ft_batch_graph *b, filtra_tensor **auxiliary);
/** Declares labels and weights, and adds loss [1] and score [1], which is an output. `auxiliary`
 * may be NULL. */
filtra_status ft_batch_graph_judge(const filtra_model *model, ft_batch_graph *b, float smoothing,
                                   filtra_tensor *auxiliary);
/** Sets the inputs from a batch that has b's shape or less: missing rows get weight 0, missing
 * columns padding. Not `labelled`: all weights are 0. Allocates nothing. */
filtra_status ft_batch_graph_set(ft_batch_graph *b, const filtra_batch *batch, bool labelled);
/** Samples [first, first + count) of a batch for a graph that has a `part`. `weight` is the whole
 * batch's, by ft_batch_weight. */
filtra_status ft_batch_graph_set_part(ft_batch_graph *b, const filtra_batch *batch, int64_t first,
                                      int64_t count, double weight);
/** Sum of the weights that the batch's loss is a mean over. */
double ft_batch_weight(const filtra_model *model, const filtra_batch *batch);
void ft_batch_graph_close(ft_batch_graph *b);
/** Checks tokens, lengths and labels against the model's limits. */
filtra_status ft_model_check_batch(const filtra_model *model, const filtra_batch *batch,
                                   bool labelled);

/* ---- weights on disk (model/weights.c) ---- */

/** The options in a model file's metadata; `path` is for errors. */
filtra_status ft_model_file_options(const ft_safetensors *file, const char *path,
                                    ft_model_options *options);

/** As filtra_model_save, with a string of the caller's (NULL: none) in the metadata. */
filtra_status ft_model_save(filtra_model *model, const char *path, const char *key,
                            const char *value);

#endif
