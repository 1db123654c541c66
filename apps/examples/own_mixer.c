/* An application's token mixer, linear attention (Katharopoulos et al. 2020): registered with
 * Filtra and used by name in a language model that is trained, saved, loaded, and continues a text.
 *
 *   own_mixer [STEPS [FILE]]
 *
 * The texts are progressions such as 1 4 7 3 6 2 5 1 (each token is 3 more than the previous one,
 * modulo 7). STEPS (300) is the number of training steps with batches of 16, FILE
 * (own_mixer.safetensors) the file of the model. */
#include <filtra/filtra.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 16, LENGTH = 24, TOKENS = 7, VOCABULARY = TOKENS + 1, PROMPT = 4 };

/* An example may just exit; a program would destroy its handles and go on. */
static void check(filtra_status status) {
  if (!status) return;
  fprintf(stderr, "own_mixer: %s: %s\n", filtra_status_name(status), filtra_error_message());
  exit(EXIT_FAILURE);
}

/* ---- the mixer: y_t = q_t S_t / (q_t z_t), S_t the sum of k_s v_s^T, z_t of k_s, s <= t ---- */

struct linear_attention {
  float eps;
  int features; /* makes queries and keys positive */
};

static const char *const FEATURES[] = {"softplus", "exp", NULL};
static const filtra_mixer_option OPTIONS[] = {
    {.name = "eps",
     .type = FILTRA_OPTION_FLOAT,
     .offset = offsetof(struct linear_attention, eps),
     .fallback = 1e-6,
     .low = 0,
     .high = 1},
    {.name = "features",
     .type = FILTRA_OPTION_ENUM,
     .offset = offsetof(struct linear_attention, features),
     .names = FEATURES}};

/* Dense heads [B,H,N,D], positive. */
static filtra_tensor *features(filtra_graph *g, filtra_tensor *heads,
                               const struct linear_attention *o) {
  filtra_tensor *dense = filtra_permute(g, heads, (int[]){0, 1, 2, 3});
  return filtra_activate(g, dense,
                         o->features ? FILTRA_ACTIVATION_EXP : FILTRA_ACTIVATION_SOFTPLUS);
}

/* v [B,H,N,D] followed by a column of ones: the last column of sums of k v^T is then the sum of
 * k. */
static filtra_tensor *with_ones(filtra_graph *g, filtra_tensor *v, const int64_t size[4]) {
  const int64_t start[4] = {0}, column[] = {size[0], size[1], size[2], 1};
  filtra_tensor *ones = filtra_affine(g, filtra_slice(g, v, start, column), 0, 1);
  return filtra_concat(g, 3, 2, (filtra_tensor *[]){v, ones});
}

/* The sums over the tokens that each token sees, from each token's own products [B H, N, D, D+1]
 * and earlier ones. */
static filtra_tensor *sums(const filtra_scope *scope, const filtra_mixer_input *in,
                           filtra_tensor *products, const int64_t size[4]) {
  filtra_graph *g = filtra_scope_graph(scope);
  const int64_t each[] = {size[0] * size[1], 1, size[3], size[3] + 1};
  const int64_t state[] = {size[0], size[1], size[3], size[3] + 1};
  if (filtra_scope_pass(scope) == FILTRA_PASS_DECODE) {
    filtra_tensor *before = filtra_scope_state(scope, "sums", 4, state);
    filtra_tensor *now = filtra_add(g, products, filtra_reshape(g, before, 4, each));
    filtra_scope_set_state(scope, "sums", filtra_reshape(g, now, 4, state));
    return now;
  }
  if (filtra_scope_pass(scope) == FILTRA_PASS_PREFILL)
    filtra_scope_set_state(
        scope, "sums", filtra_reshape(g, filtra_sum(g, products, 1, FILTRA_KEEP_AXIS), 4, state));
  return in->causal ? filtra_cumulative_sum(g, products, 1, FILTRA_FORWARD)
                    : filtra_sum(g, products, 1, FILTRA_KEEP_AXIS);
}

static filtra_tensor *build(const filtra_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  const struct linear_attention *o = options;
  filtra_graph *g = filtra_scope_graph(scope);
  filtra_tensor *qkv[3];
  (void)auxiliary; /* no auxiliary loss */
  filtra_mixer_qkv(scope, in, qkv);
  filtra_tensor *q = features(g, qkv[0], o), *k = features(g, qkv[1], o);
  int64_t size[4]; /* B, H, N, D */
  if (!q || !k || filtra_tensor_shape(q, size) != 4) return NULL;
  if (filtra_scope_pass(scope) != FILTRA_PASS_DECODE) /* padding contributes nothing */
    k = filtra_multiply(g, k, filtra_reshape(g, in->mask, 4, (int64_t[]){size[0], 1, size[2], 1}));
  const int64_t heads = size[0] * size[1], n = size[2], d = size[3], start[3] = {0};
  const int64_t column[] = {heads, n, d, 1}, row[] = {heads, n, 1, d + 1};
  filtra_tensor *v = filtra_permute(g, qkv[2], (int[]){0, 1, 2, 3});
  filtra_tensor *products = filtra_multiply(g, filtra_reshape(g, k, 4, column),
                                            filtra_reshape(g, with_ones(g, v, size), 4, row));
  filtra_tensor *seen =
      filtra_multiply(g, filtra_reshape(g, q, 4, column), sums(scope, in, products, size));
  filtra_tensor *y = filtra_sum(g, seen, 2, FILTRA_DROP_AXIS); /* [B H, N, D+1] */
  filtra_tensor *above = filtra_slice(g, y, start, (int64_t[]){heads, n, d});
  filtra_tensor *below = filtra_slice(g, y, (int64_t[]){0, 0, d}, (int64_t[]){heads, n, 1});
  y = filtra_divide(g, above, filtra_affine(g, below, 1, o->eps));
  y = filtra_transpose(g, filtra_reshape(g, y, 4, size), 1, 2); /* [B,N,H,D] */
  return filtra_mixer_output(scope, in,
                             filtra_reshape(g, y, 3, (int64_t[]){size[0], n, size[1] * d}));
}

static void register_mixer(void) {
  check(filtra_mixer_register(
      &(filtra_mixer){.name = "linear_attention",
                      .description = "sums of k v^T, linear in the length (Katharopoulos 2020)",
                      .options_size = sizeof(struct linear_attention),
                      .options = OPTIONS,
                      .option_count = sizeof OPTIONS / sizeof *OPTIONS,
                      .build = build}));
}

/* ---- a model around it ---- */

typedef struct texts {
  int32_t tokens[BATCH * LENGTH], successors[BATCH * LENGTH], lengths[BATCH];
  float weights[BATCH];
  filtra_batch batch;
} texts;

/* Writes progressions that differ in start and step. */
static void write_texts(texts *t, uint64_t number) {
  t->batch = (filtra_batch){.size = BATCH,
                            .length = LENGTH,
                            .count = BATCH,
                            .tokens = t->tokens,
                            .lengths = t->lengths,
                            .labels = t->successors,
                            .weights = t->weights};
  for (uint64_t b = 0; b < BATCH; b++) {
    uint64_t kind = (number * BATCH + b) * 19 % (TOKENS * TOKENS);
    uint64_t first = kind % TOKENS, step = kind / TOKENS;
    for (uint64_t n = 0; n < LENGTH; n++) {
      uint64_t next = first + (n + 1) * step;
      t->tokens[b * LENGTH + n] = (int32_t)(1 + (first + n * step) % TOKENS);
      t->successors[b * LENGTH + n] = n + 1 < LENGTH ? (int32_t)(1 + next % TOKENS) : -1;
    }
    t->lengths[b] = LENGTH;
    t->weights[b] = 1;
  }
}

static filtra_model *make_model(filtra_device *device) {
  filtra_model *model;
  check(filtra_model_create(
      device,
      &(filtra_model_config){.mixer = "{\"name\": \"linear_attention\", \"features\": \"exp\"}",
                             .task = FILTRA_TASK_LANGUAGE_MODEL,
                             .vocabulary = VOCABULARY,
                             .max_length = LENGTH,
                             .layers = 2,
                             .heads = 2,
                             .width = 32,
                             .seed = 1},
      &model));
  return model;
}

static void train(filtra_model *model, uint64_t steps) {
  filtra_trainer *trainer;
  filtra_trainer_metrics metrics;
  texts t;
  check(filtra_trainer_create(
      model, &(filtra_train_options){.optimizer = {.learning_rate = 3e-3f, .clip_norm = 1}},
      &trainer));
  for (uint64_t i = 0; i < steps; i++) {
    write_texts(&t, i);
    check(filtra_trainer_step(trainer, &t.batch, &metrics));
    if (metrics.step && metrics.step % 50 == 0)
      printf("step %llu: loss %.3f\n", (unsigned long long)metrics.step, (double)metrics.loss);
  }
  check(filtra_trainer_finish(trainer, &metrics));
  printf("step %llu: loss %.3f\n", (unsigned long long)metrics.step, (double)metrics.loss);
  filtra_trainer_destroy(&trainer);
}

/* ---- what came of it ---- */

/* Saves and loads the model, and checks that its predictions have the same bits. */
static filtra_model *reload(filtra_device *device, filtra_model *model, const char *path,
                            float *logits) {
  static float again[BATCH * LENGTH * VOCABULARY];
  texts t;
  write_texts(&t, 0);
  check(filtra_model_predict_batch(model, &t.batch, logits));
  check(filtra_model_save(model, path));
  filtra_model_destroy(&model);
  check(filtra_model_load(device, path, &model));
  check(filtra_model_predict_batch(model, &t.batch, again));
  int same = 1;
  for (size_t i = 0; i < sizeof again / sizeof *again; i++)
    same = same && logits[i] == again[i];
  printf("saved, loaded: %s\n", same ? "the same bits" : "OTHER BITS");
  if (!same) exit(EXIT_FAILURE);
  return model;
}

/* Predicts token by token from a state instead of the text, and checks that the results agree. */
static void go_on(filtra_model *model, const float *logits) {
  filtra_generator *generator;
  float next[BATCH * VOCABULARY], largest = 0;
  int32_t prompt[BATCH * PROMPT], one[BATCH];
  texts t;
  write_texts(&t, 0);
  check(
      filtra_generator_create(model, &(filtra_generator_options){.sequences = BATCH}, &generator));
  for (int b = 0; b < BATCH; b++)
    memcpy(prompt + b * PROMPT, t.tokens + b * LENGTH, PROMPT * sizeof *prompt);
  check(filtra_generator_feed(generator, prompt, PROMPT, next));
  for (int n = PROMPT; n < LENGTH; n++) {
    for (int b = 0; b < BATCH; b++)
      one[b] = t.tokens[b * LENGTH + n];
    check(filtra_generator_feed(generator, one, 1, next));
    for (int i = 0; i < BATCH * VOCABULARY; i++) {
      int b = i / VOCABULARY, k = i % VOCABULARY;
      float gap = next[i] - logits[(b * LENGTH + n) * VOCABULARY + k];
      if (gap < 0) gap = -gap;
      if (!(gap <= largest)) largest = gap; /* catches NaN */
    }
  }
  filtra_generator_destroy(&generator);
  printf("token by token: logits differ by at most %.1e\n", (double)largest);
  if (!(largest < 1e-3f)) exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
  static float logits[BATCH * LENGTH * VOCABULARY];
  const char *path = argc > 2 ? argv[2] : "own_mixer.safetensors";
  filtra_device *device;
  register_mixer();
  check(filtra_device_open(NULL, &device));
  filtra_model *model = make_model(device);
  train(model, argc > 1 ? strtoull(argv[1], NULL, 10) : 300);
  model = reload(device, model, path, logits);
  go_on(model, logits);
  filtra_model_destroy(&model);
  filtra_device_close(&device);
  return EXIT_SUCCESS;
}
