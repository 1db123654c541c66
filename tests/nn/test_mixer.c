/* Mixers of an application: registered, configured, built into models, trained, saved, loaded. */
#include "support/harness.h"
#include "support/run.h"
#include "support/starving.h"

#include "base/memory.h"
#include "nn/mixer.h"

#include <filtra/filtra.h>
#include <pthread.h>

enum { BATCH = 4, LENGTH = 9, VOCABULARY = 7, CLASSES = 3, MAX_LENGTH = 12 };

struct options {
  float alpha;
  int64_t power;
  bool shifted;
  int kind;
};

static const char *const KINDS[] = {"plain", "squared", NULL};
static const filtra_mixer_option OPTIONS[] = {
    {.name = "alpha",
     .type = FILTRA_OPTION_FLOAT,
     .offset = offsetof(struct options, alpha),
     .fallback = 0.5,
     .low = -1,
     .high = 4},
    {.name = "power",
     .type = FILTRA_OPTION_INT,
     .offset = offsetof(struct options, power),
     .fallback = 1,
     .low = 1,
     .high = 8},
    {.name = "shifted", .type = FILTRA_OPTION_BOOL, .offset = offsetof(struct options, shifted)},
    {.name = "kind",
     .type = FILTRA_OPTION_ENUM,
     .offset = offsetof(struct options, kind),
     .fallback = 1,
     .names = KINDS}};

static struct {
  struct options options;
  int64_t max_length;
  const void *context;
} seen;

/* Values times a row of a table that grows with the model's length, which files keep, and the mean
 * over tokens. */
static filtra_tensor *build(const filtra_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  seen.options = *(const struct options *)options;
  seen.max_length = in->max_length;
  seen.context = in->context;
  filtra_graph *g = filtra_scope_graph(scope);
  int64_t shape[FILTRA_MAX_DIMS];
  if (!in->x) return NULL;
  filtra_tensor_shape(in->x, shape);
  filtra_tensor *table = filtra_scope_parameter(
      scope, "table", 2, (int64_t[]){in->max_length, shape[2]},
      &(filtra_parameter_options){.init = FILTRA_INIT_UNIFORM, .value = 1, .buffer = true});
  filtra_tensor *v = filtra_scope_linear(scope, "value", in->x, shape[2], NULL);
  v = filtra_multiply(g, v, filtra_slice(g, table, (int64_t[]){0, 0}, shape + 1));
  v = filtra_add(g, v,
                 filtra_affine(g, filtra_mean(g, v, 1, FILTRA_KEEP_AXIS), seen.options.alpha, 0));
  return filtra_mixer_output(scope, in, v);
}

static filtra_mixer mine(const char *name) {
  return (filtra_mixer){.name = name,
                        .description = "a test's",
                        .options_size = sizeof(struct options),
                        .options = OPTIONS,
                        .option_count = FT_COUNT(OPTIONS),
                        .not_causal = "it looks ahead",
                        .build = build,
                        .context = &seen};
}

/* ---- registration ---- */

TEST(registered_mixers_are_listed) {
  size_t count = filtra_mixer_count();
  assert_string_equal(filtra_mixer_name(0), "softmax");
  for (size_t i = 0; i < count; i++)
    assert_true(*filtra_mixer_name(i) && *filtra_mixer_description(i));
  assert_null(filtra_mixer_name(count));
  assert_null(filtra_mixer_description(count));
  filtra_mixer mixer = mine("mine");
  assert_ok(filtra_mixer_register(&mixer));
  assert_int_equal(filtra_mixer_count(), count + 1);
  assert_string_equal(filtra_mixer_name(count), "mine");
  assert_string_equal(filtra_mixer_description(count), "a test's");
  assert_fails(filtra_mixer_register(&mixer), FILTRA_ERROR_ARGUMENT, "a mixer \"mine\" already");
  mixer.name = "agf";
  assert_fails(filtra_mixer_register(&mixer), FILTRA_ERROR_ARGUMENT, "a mixer \"agf\" already");
}

static void refuse(filtra_mixer mixer, const char *part) {
  size_t count = filtra_mixer_count();
  assert_fails(filtra_mixer_register(&mixer), FILTRA_ERROR_ARGUMENT, part);
  assert_int_equal(filtra_mixer_count(), count);
}

static void refuse_option(filtra_mixer_option option, const char *part) {
  filtra_mixer mixer = mine("other");
  filtra_mixer_option options[] = {OPTIONS[0], option};
  mixer.options = options;
  mixer.option_count = 2;
  refuse(mixer, part);
}

TEST(what_is_refused) {
  static const char *const NAMES[] = {"", "Mine", "1mine", "my mixer",
                                      "a_name_that_is_longer_than_allowed"};
  assert_fails(filtra_mixer_register(NULL), FILTRA_ERROR_ARGUMENT, "NULL");
  refuse(mine(NULL), "mixer->name is NULL");
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    refuse(mine(NAMES[i]), "a name is 1 to 31");
  filtra_mixer mixer = mine("other");
  mixer.build = NULL;
  refuse(mixer, "build is NULL");
  mixer = mine("other");
  mixer.options_size = 5000;
  refuse(mixer, "accepted are at most 3328");
  mixer = mine("other");
  mixer.options = NULL;
  refuse(mixer, "options is NULL, option_count 4");
  mixer = mine("other");
  mixer.description = "one\ntwo";
  refuse(mixer, "description has more than one line");
  mixer = mine("other");
  mixer.option_count = 24;
  refuse(mixer, "24 options, accepted are 0 to 23");
  mixer = mine("other");
  mixer.reserved[6] = 1;
  refuse(mixer, "filtra_mixer: reserved[6]");
  filtra_mixer_option o = OPTIONS[1];
  o.name = "alpha";
  refuse_option(o, "two options are called \"alpha\"");
  o.name = "name";
  refuse_option(o, "option 1 needs a name");
  o.name = "A b";
  refuse_option(o, "option 1 needs a name of 1 to 31 lower-case letters");
  o = OPTIONS[1];
  o.offset = sizeof(struct options);
  refuse_option(o, "must be INT, FLOAT, BOOL or ENUM and lie");
  o.offset = 4;
  refuse_option(o, "aligned");
  o = OPTIONS[1];
  o.type = (filtra_option_type)9;
  refuse_option(o, "must be INT");
  o = OPTIONS[1];
  o.fallback = 9;
  refuse_option(o, "the fallback 9 of option \"power\"");
  o.fallback = 1.5;
  refuse_option(o, "the fallback 1.5 of option \"power\"");
  o = OPTIONS[2];
  o.fallback = 7;
  refuse_option(o, "the fallback 7 of option \"shifted\"");
  o = OPTIONS[0];
  o.name = "beta";
  o.high = 1e300;
  refuse_option(o, "accepts -1 to 1e+300, more than a float holds");
  o = OPTIONS[3];
  o.fallback = 2;
  refuse_option(o, "the fallback 2 of option \"kind\"");
  static const char *const TWICE[] = {"plain", "squared", "plain", NULL}, *const OTHER[] = {"1",
                                                                                            NULL};
  o.names = TWICE;
  refuse_option(o, "option \"kind\": names has \"plain\" twice");
  o.names = OTHER;
  refuse_option(o, "option \"kind\": names[0] is \"1\", which is no word");
  o.names = OTHER + 1;
  refuse_option(o, "option \"kind\": names has no value");
  o = OPTIONS[1];
  o.high = 1e300;
  refuse_option(o, "accepts 1 to 1e+300, more than an int64_t holds");
  o.high = -1;
  refuse_option(o, "option \"power\": low is 1, high -1");
  o = OPTIONS[0];
  o.name = "beta";
  refuse_option(o, "options \"alpha\" and \"beta\" share a field, at offset 0");
  o = OPTIONS[1];
  o.reserved[0] = 1;
  refuse_option(o, "filtra_mixer_option: reserved[0]");
}

/* Of threads that register the same names, one succeeds with each, and all see what is there. */
enum { NAMES = 4, THREADS = 4 };
static const char *const RIVALS[NAMES] = {"rival_a", "rival_b", "rival_c", "rival_d"};

static void *rival(void *argument) {
  int *registered = argument;
  for (int i = 0; i < NAMES; i++) {
    filtra_mixer mixer = mine(RIVALS[i]);
    registered[i] = !filtra_mixer_register(&mixer);
    if (!ft_mixer_find(RIVALS[i])) registered[i] = -THREADS;
  }
  return NULL;
}

TEST(threads_register) {
  int registered[THREADS][NAMES];
  pthread_t threads[THREADS];
  size_t count = filtra_mixer_count();
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, rival, registered[i]), 0);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(filtra_mixer_count(), count + NAMES);
  for (int n = 0; n < NAMES; n++) {
    int sum = 0;
    for (int i = 0; i < THREADS; i++)
      sum += registered[i][n];
    assert_int_equal(sum, 1);
  }
}

TEST(registering_without_memory) {
  filtra_mixer mixer = mine("no_memory");
  ft_memory_fail_after(1);
  assert_int_equal(filtra_mixer_register(&mixer), FILTRA_ERROR_HOST_MEMORY);
  ft_memory_fail_after(0);
  assert_null(ft_mixer_find("no_memory"));
}

/* ---- configuration ---- */

static filtra_model *make_model(const char *mixer) {
  const filtra_model_config config = {.mixer = mixer,
                                      .vocabulary = VOCABULARY,
                                      .classes = CLASSES,
                                      .max_length = MAX_LENGTH,
                                      .layers = 2,
                                      .heads = 2,
                                      .width = 16,
                                      .seed = 5};
  filtra_model *model = test_model(test_device(), &config);
  return model;
}

TEST(options_come_from_json) {
  filtra_model *model = make_model("mine");
  assert_true(seen.options.alpha == 0.5f && seen.options.power == 1 && !seen.options.shifted &&
              seen.options.kind == 1);
  assert_int_equal(seen.max_length, MAX_LENGTH);
  assert_ptr_equal(seen.context, &seen);
  filtra_model_destroy(&model);
  model = make_model(
      "{\"name\": \"mine\", \"alpha\": 2, \"power\": 3, \"shifted\": true, \"kind\": \"plain\"}");
  assert_true(seen.options.alpha == 2 && seen.options.power == 3 && seen.options.shifted &&
              seen.options.kind == 0);
  filtra_model_destroy(&model);
  static const struct {
    const char *mixer, *part;
  } CASES[] = {{"{\"name\": \"mine\", \"alpha\": 5}", "\"alpha\" is 5, accepted are -1 to 4"},
               {"{\"name\": \"mine\", \"powr\": 5}", "did you mean \"power\""},
               {"{\"name\": \"mine\", \"kind\": \"cubed\"}", "one of plain, squared"},
               {"other", "known are softmax, gfsa"},
               {"other", ", mine"}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    assert_fails(filtra_model_create(test_device(),
                                     &(filtra_model_config){.mixer = CASES[i].mixer,
                                                            .vocabulary = VOCABULARY,
                                                            .classes = CLASSES},
                                     &model),
                 FILTRA_ERROR_INPUT, CASES[i].part);
  assert_fails(filtra_model_create(test_device(),
                                   &(filtra_model_config){.mixer = "mine",
                                                          .task = FILTRA_TASK_LANGUAGE_MODEL,
                                                          .vocabulary = VOCABULARY},
                                   &model),
               FILTRA_ERROR_INPUT, "it looks ahead");
}

/* ---- life of a model ---- */

static filtra_batch make_batch(int32_t tokens[BATCH * LENGTH], int32_t lengths[BATCH],
                               int32_t labels[BATCH], float weights[BATCH]) {
  for (int i = 0; i < BATCH * LENGTH; i++)
    tokens[i] = 1 + i * 5 % (VOCABULARY - 1);
  for (int b = 0; b < BATCH; b++) {
    lengths[b] = LENGTH;
    labels[b] = b % CLASSES;
    weights[b] = 1;
  }
  return (filtra_batch){.size = BATCH,
                        .length = LENGTH,
                        .tokens = tokens,
                        .lengths = lengths,
                        .labels = labels,
                        .weights = weights,
                        .count = BATCH};
}

/* Training changes what is learned and leaves the buffer alone; a file keeps both. */
TEST(trained_and_kept) {
  enum { TABLE = MAX_LENGTH * 16 };
  const char *path = test_path(test_folder(), "model.safetensors");
  int32_t tokens[BATCH * LENGTH], lengths[BATCH], labels[BATCH];
  float weights[BATCH], first[TABLE], last[TABLE], before[BATCH * CLASSES], after[BATCH * CLASSES],
      loaded[BATCH * CLASSES];
  filtra_batch batch = make_batch(tokens, lengths, labels, weights);
  owned_model *model = make_model("{\"name\": \"mine\", \"alpha\": 2}");
  filtra_parameters *params = filtra_model_parameters(model);
  assert_ok(filtra_parameters_get(params, "layers.1.mixer.table", first, TABLE));
  assert_ok(filtra_model_predict_batch(model, &batch, before));
  filtra_trainer_metrics metrics;
  filtra_trainer *trainer = test_trainer(
      model, &(filtra_train_options){.optimizer = {.learning_rate = 0.01f, .weight_decay = 0.1f}});
  for (int i = 0; i < 5; i++)
    assert_ok(filtra_trainer_step(trainer, &batch, &metrics));
  assert_ok(filtra_trainer_finish(trainer, &metrics));
  filtra_trainer_destroy(&trainer);
  assert_ok(filtra_model_predict_batch(model, &batch, after));
  assert_true(memcmp(before, after, sizeof after) != 0);
  assert_ok(filtra_parameters_get(params, "layers.1.mixer.table", last, TABLE));
  assert_memory_equal(first, last, sizeof first);
  assert_ok(filtra_model_save(model, path));
  filtra_model_destroy(&model);
  assert_ok(filtra_model_load(test_device(), path, &model));
  assert_true(seen.options.alpha == 2);
  assert_ok(filtra_model_predict_batch(model, &batch, loaded));
  assert_memory_equal(after, loaded, sizeof after);
}

/* One that can be causal but not go on token by token is for training and prediction only. */
TEST(not_decoded) {
  filtra_mixer mixer = mine("hindsight");
  mixer.not_causal = NULL;
  mixer.not_decoded = "it needs the whole text";
  assert_ok(filtra_mixer_register(&mixer));
  filtra_generator *generator = NULL;
  owned_model *model =
      test_model(test_device(), &(filtra_model_config){.mixer = "hindsight",
                                                       .task = FILTRA_TASK_LANGUAGE_MODEL,
                                                       .vocabulary = VOCABULARY,
                                                       .max_length = MAX_LENGTH});
  assert_fails(filtra_generator_create(model, NULL, &generator), FILTRA_ERROR_UNSUPPORTED,
               "\"hindsight\" cannot go on with a text token by token: it needs the whole text");
}

/* What sums would broadcast is refused, and what would fail later. The context says what this mixer
 * does. */
static filtra_tensor *build_wrong(const filtra_scope *scope, const void *options,
                                  const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)options;
  const char *how = in->context;
  filtra_graph *g = filtra_scope_graph(scope);
  if (!strcmp(how, "none")) return NULL;
  if (!strcmp(how, "nothing")) return filtra_add(g, in->x, NULL);
  if (!strcmp(how, "asks"))
    return filtra_add(g, in->x, filtra_graph_input(g, "mine", FILTRA_F32, 1, (int64_t[]){16}));
  if (!strcmp(how, "narrow")) return filtra_mean(g, in->x, 2, FILTRA_KEEP_AXIS);
  if (!strcmp(how, "pooled")) return filtra_mean(g, in->x, 1, 0);
  *auxiliary = filtra_mean(g, in->x, 2, 0);
  return filtra_mixer_output(scope, in, in->x);
}

TEST(build_functions_that_fail) {
  static char *const CASES[][2] = {
      {"none", "mixer \"none\" returns NULL"},
      {"narrow", "\"narrow\" returns [1, 1, 1]; expected is its input's shape, [1, 1, 16]"},
      {"pooled", "\"pooled\" returns"},
      {"nothing", "mixer \"nothing\", layers.0.mixer: an op was given no tensor"},
      {"asks", "mixer \"asks\" adds an input to the graph"},
      {"loss", "the auxiliary loss of mixer \"loss\" is"}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    filtra_mixer mixer = mine(CASES[i][0]);
    mixer.build = build_wrong;
    mixer.context = CASES[i][0];
    filtra_model *model = NULL;
    assert_ok(filtra_mixer_register(&mixer));
    assert_fails(filtra_model_create(test_device(),
                                     &(filtra_model_config){.mixer = CASES[i][0],
                                                            .vocabulary = VOCABULARY,
                                                            .classes = CLASSES,
                                                            .width = 16},
                                     &model),
                 FILTRA_ERROR_ARGUMENT, CASES[i][1]);
  }
}

/* ---- names ---- */

/* A prefix that does not fit is an error, not the same name twice. */
TEST(long_names) {
  owned_graph *g = test_graph(test_device(), NULL);
  ft_scope scope = {.graph = g};
  for (int i = 0; i < 12; i++)
    scope = ft_scope_enter(&scope, "a_rather_long_name.%d", i);
  assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT, "at most 190 characters");
}

/* Every list of options that Filtra brings along fits where it is read. */
TEST(own_options_fit) {
  for (size_t i = 0; i < filtra_mixer_count(); i++)
    assert_true(ft_mixer_at(i)->keys.count < FT_MIXER_KEYS &&
                ft_mixer_at(i)->options_size <= FT_MIXER_OPTIONS);
}

/* The table of registered mixers ends. */
TEST(no_room) {
  static char names[64][24];
  filtra_status status = FILTRA_OK;
  for (int i = 0; i < 64 && !status; i++) {
    snprintf(names[i], sizeof names[i], "filler_%d", i);
    filtra_mixer mixer = mine(names[i]);
    status = filtra_mixer_register(&mixer);
  }
  assert_int_equal(filtra_mixer_count(), 64);
  assert_fails(status, FILTRA_ERROR_ARGUMENT, "there are 64 already");
  filtra_model *model;
  assert_fails(
      filtra_model_create(
          test_device(),
          &(filtra_model_config){.mixer = "unknown", .vocabulary = VOCABULARY, .classes = CLASSES},
          &model),
      FILTRA_ERROR_INPUT, names[40]);
}

/* What files keep of a mixer is whole, or there is none: a checkpoint lacked its mixer's name. */
TEST(written_without_memory) {
  ft_mixer mixer;
  json_auto_t *given = json_pack("{ss}", "name", "agf");
  assert_ok(ft_mixer_read(given, "here", &mixer));
  json_auto_t *whole = ft_mixer_write(&mixer);
  assert_string_equal(json_string_value(json_object_get(whole, "name")), "agf");
  bool starved = true;
  for (long n = 1; starved; n++) {
    test_starve(n, false);
    json_auto_t *written = ft_mixer_write(&mixer);
    starved = test_feed();
    assert_true(written ? json_equal(written, whole) : starved);
    assert_true(n > 1 || !written);
  }
}

TEST_MAIN(NULL, test_teardown)
