/* Ops on each token or along an axis, the loss, and the optimizer's pass over all parameters.
 * Listed for ops.c. */
#include "ops.h"

#include "ops/chord.h"
#include "ops/optimizer.h"
#include "ops/pseudoinverse.h"

static filtra_tensor *features(bench_graph *g, const bench_shape *s, const char *name) {
  return bench_numbers(g, name, 0.0f, 3, (int64_t[]){s->batch, s->length, s->width});
}

static filtra_tensor *build_linear(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  const int64_t w[] = {s->out, s->width}, residual[] = {s->batch, s->length, s->out};
  return filtra_linear(
      g->graph, features(g, s, "x"), bench_numbers(g, "w", 0.0f, 2, w),
      bench_numbers(g, "b", 0.0f, 1, w),
      &(filtra_linear_options){.activation = FILTRA_ACTIVATION_GELU,
                               .dropout = 0.1f,
                               .residual = bench_numbers(g, "residual", 0.0f, 3, residual)});
}

static filtra_tensor *build_layer_norm(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  return filtra_layer_norm(g->graph, features(g, s, "x"),
                           bench_numbers(g, "gain", 1.0f, 1, &s->width),
                           bench_numbers(g, "bias", 0.0f, 1, &s->width), 0.0f);
}

static filtra_tensor *build_scale_norm(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  return filtra_scale_norm(g->graph, features(g, s, "x"),
                           bench_numbers(g, "gain", 1.0f, 1, &s->width), 0.0f, FILTRA_REAL);
}

/* A sum and an activation, each a pass over memory. */
static filtra_tensor *build_elementwise(bench_graph *g, const void *what) {
  filtra_tensor *sum = filtra_add(g->graph, features(g, what, "a"), features(g, what, "b"));
  return filtra_activate(g->graph, sum, FILTRA_ACTIVATION_GELU);
}

/* A scale and a shift shared by all tokens, with their gradients. */
static filtra_tensor *build_broadcast(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  filtra_tensor *x =
      filtra_multiply(g->graph, features(g, s, "x"), bench_numbers(g, "scale", 1.0f, 1, &s->width));
  return filtra_add(g->graph, x, bench_numbers(g, "shift", 0.0f, 1, &s->width));
}

/* Softmax along the features, then along the tokens. */
static filtra_tensor *build_softmax(bench_graph *g, const void *what) {
  return filtra_softmax(g->graph, filtra_softmax(g->graph, features(g, what, "x"), 2), 1);
}

static filtra_tensor *build_reduce(bench_graph *g, const void *what) {
  filtra_tensor *x = features(g, what, "x");
  filtra_tensor *rows = filtra_max(g->graph, x, 2, FILTRA_KEEP_AXIS);
  return filtra_add(g->graph, rows, filtra_mean(g->graph, x, 1, FILTRA_KEEP_AXIS));
}

static filtra_tensor *build_cumulative_sum(bench_graph *g, const void *what) {
  return filtra_cumulative_sum(g->graph, features(g, what, "x"), 1, FILTRA_FORWARD);
}

/* A factor of Paramixer with links of up to half of 4,096 tokens. */
static filtra_tensor *build_chord(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  filtra_tensor *w = bench_numbers(g, "w", 0.0f, 3, (int64_t[]){s->batch, s->length, 13});
  return ft_chord(g->graph, w, features(g, s, "x"), NULL);
}

/* Six iterations with Nystromformer's matrices of landmarks by landmarks, for each head. */
static filtra_tensor *build_pseudoinverse(bench_graph *g, const void *what) {
  return ft_pseudoinverse(g->graph, filtra_softmax(g->graph, features(g, what, "x"), 2), 6);
}

static filtra_tensor *build_fourier(bench_graph *g, const void *what) {
  return filtra_fourier(g->graph, features(g, what, "cosine"), features(g, what, "sine"), NULL);
}

static filtra_tensor *build_permute(bench_graph *g, const void *what) {
  return filtra_transpose(g->graph, features(g, what, "x"), 1, 2);
}

/* Gathers as many tokens as the input has, drawn from all of them. */
static filtra_tensor *build_gather(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  return filtra_gather(g->graph, features(g, s, "x"), 1,
                       bench_integers(g, "indices", s->length, 1, &s->length));
}

/* Sorts tokens by a score. */
static filtra_tensor *build_argsort(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  const int64_t tokens[] = {s->batch, s->length}, rows[] = {s->batch * s->length, s->width};
  filtra_tensor *order =
      filtra_argsort(g->graph, bench_numbers(g, "score", 0.0f, 2, tokens), NULL, FILTRA_SORT);
  return filtra_gather(g->graph, bench_numbers(g, "x", 0.0f, 2, rows), 0, order);
}

static filtra_tensor *build_dropout(bench_graph *g, const void *what) {
  return filtra_dropout(g->graph, features(g, what, "x"), 0.1f);
}

static filtra_tensor *build_pool(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  filtra_tensor *mask = bench_numbers(g, "mask", 1.0f, 2, (int64_t[]){s->batch, s->length});
  return filtra_pool_mean(g->graph, features(g, s, "x"), mask, FILTRA_OVER_MASK);
}

static filtra_tensor *build_embedding(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  const int64_t table[] = {s->out, s->width}, tokens[] = {s->batch, s->length};
  return filtra_embedding(g->graph, bench_numbers(g, "table", 0.0f, 2, table),
                          bench_integers(g, "tokens", s->out, 2, tokens));
}

static filtra_tensor *build_cross_entropy(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  const int64_t logits[] = {s->batch * s->length, s->out};
  filtra_tensor *losses =
      filtra_cross_entropy(g->graph, bench_numbers(g, "logits", 0.0f, 2, logits),
                           bench_integers(g, "labels", s->out, 1, logits), 0.0f);
  return filtra_weighted_mean(g->graph, losses, NULL);
}

/* `out` parameters, all with weight decay. */
static filtra_tensor *build_optimizer(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  const int64_t one = 1, settings = sizeof(ft_optimizer_inputs) / sizeof(float);
  const int64_t words = FT_OPTIMIZER_STATE_WORDS;
  const int32_t state[FT_OPTIMIZER_STATE_WORDS] = {0};
  ft_optimizer_inputs inputs;
  ft_optimizer_prepare(&(ft_optimizer_settings){.kind = FILTRA_OPTIMIZER_ADAMW,
                                                .learning_rate = 1e-4,
                                                .beta1 = 0.9,
                                                .beta2 = 0.999,
                                                .epsilon = 1e-8,
                                                .weight_decay = 0.01,
                                                .clip_norm = 1.0},
                       1, &inputs);
  ft_adam_tensors adam = {bench_numbers(g, "parameters", 0.0f, 1, &s->out),
                          bench_numbers(g, "gradients", 0.0f, 1, &s->out),
                          bench_numbers(g, "first moments", 0.0f, 1, &s->out),
                          bench_numbers(g, "second moments", 1.0f, 1, &s->out)};
  filtra_tensor *step = bench_operand(g, "settings", FILTRA_F32, 1, &settings, &inputs);
  filtra_tensor *metrics =
      ft_emit_gradient_norm(g->graph, 1, &adam.gradients, bench_numbers(g, "loss", 1.0f, 1, &one),
                            step, bench_operand(g, "state", FILTRA_I32, 1, &words, state), NULL);
  return metrics;
}

/* ---- shapes ---- */

#define QUICK .quick = true

/* `out` is the layer's width. */
static const bench_shape LAYERS[] = {
    {"LRA listops", 32, 2048, 64, .out = 128},
    {"UEA Heartbeat", 16, 405, 512, .out = 2048},
    {"ImageNet DeiT-S", 32, 197, 384, .out = 1536},
    {"WikiText GPT-2", 4, 1024, 768, .out = 3072},
    {"LRA", 4, 1024, 64, .out = 128, QUICK},
    {"ImageNet DeiT-S", 2, 197, 384, .out = 1536, QUICK},
};
static const bench_shape FEATURES[] = {
    {"LRA text", 32, 4096, 64},
    {"WikiText GPT-2", 16, 1024, 768},
    {"LRA text", 16, 4096, 64, QUICK},
    {"WikiText GPT-2", 4, 1024, 768, QUICK},
};
static const bench_shape MIXED[] = {
    {"LRA text", 4, 4096, 64},
    {"LRA image", 4, 1024, 64, QUICK},
};
/* The batch counts heads of all sequences; length and width are the number of landmarks. */
static const bench_shape LANDMARKS[] = {
    {"LRA text", 64, 64, 64},
    {"LRA text", 8, 64, 64, QUICK},
};
/* `out` is the vocabulary. */
static const bench_shape VOCABULARIES[] = {
    {"LRA text", 32, 4096, 64, .out = 257},
    {"WikiText GPT-2", 4, 1024, 768, .out = 50257},
    {"LRA text", 16, 4096, 64, .out = 257, QUICK},
    {"WikiText GPT-2", 1, 1024, 768, .out = 8192, QUICK},
};
/* `out` is the number of classes. */
static const bench_shape CLASSES[] = {
    {"WikiText GPT-2", 4, 1024, .out = 50257},
    {"WikiText GPT-2", 1, 128, .out = 50257, QUICK},
};
/* `out` is the number of parameters. */
static const bench_shape PARAMETERS[] = {
    {"LRA", .out = 90000},
    {"ImageNet DeiT-S", .out = 22000000},
    {"WikiText GPT-2", .out = 124000000},
    {"ImageNet DeiT-Ti", .out = 5700000, QUICK},
};

const bench_family bench_tokens[] = {
    {"linear", build_linear, LAYERS, FT_COUNT(LAYERS), .out = "out", .out_text = " to"},
    {"layer_norm", build_layer_norm, FEATURES, FT_COUNT(FEATURES)},
    {"scale_norm", build_scale_norm, FEATURES, FT_COUNT(FEATURES)},
    {"elementwise", build_elementwise, FEATURES, FT_COUNT(FEATURES)},
    {"broadcast", build_broadcast, FEATURES, FT_COUNT(FEATURES)},
    {"softmax", build_softmax, FEATURES, FT_COUNT(FEATURES)},
    {"reduce", build_reduce, FEATURES, FT_COUNT(FEATURES)},
    {"cumulative_sum", build_cumulative_sum, FEATURES, FT_COUNT(FEATURES)},
    {"fourier", build_fourier, MIXED, FT_COUNT(MIXED)},
    {"chord", build_chord, MIXED, FT_COUNT(MIXED)},
    {"pseudoinverse", build_pseudoinverse, LANDMARKS, FT_COUNT(LANDMARKS)},
    {"permute", build_permute, FEATURES, FT_COUNT(FEATURES)},
    {"gather", build_gather, FEATURES, FT_COUNT(FEATURES)},
    {"argsort", build_argsort, FEATURES, FT_COUNT(FEATURES)},
    {"dropout", build_dropout, FEATURES, FT_COUNT(FEATURES)},
    {"pool", build_pool, FEATURES, FT_COUNT(FEATURES)},
    {"embedding", build_embedding, VOCABULARIES, FT_COUNT(VOCABULARIES), .out = "vocabulary",
     .out_text = " of"},
    {"cross_entropy", build_cross_entropy, CLASSES, FT_COUNT(CLASSES), .out = "classes",
     .out_text = " to"},
    {"optimizer", build_optimizer, PARAMETERS, FT_COUNT(PARAMETERS), .forward_only = true,
     .out = "parameters", .out_text = ", parameters"},
};
const size_t bench_tokens_count = FT_COUNT(bench_tokens);
