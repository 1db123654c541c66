/* Every public function with NULL for each of its pointers in turn, all other arguments valid:
 * those that return a status refuse it by name, the others do nothing. The calls are made from the
 * headers by null_calls.cmake, so that no function can be forgotten. */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>
#include <filtra/vulkan.h>

static filtra_device *device;
static filtra_arena *arena;
static filtra_parameters *parameters;
static filtra_model *model;
static filtra_trainer *trainer;
static filtra_generator *generator;
static filtra_optimizer *optimizer;
static filtra_predictor *predictor;
static filtra_run *run;
static filtra_dataset *dataset;
static filtra_loader *loader;
static filtra_graph *graph; /* a new one for each call: errors are sticky */

static const char *current = "none"; /* the call that crashed, where one does */

static int open_all(void **state) {
  (void)state;
  const filtra_model_config config = {
      .task = FILTRA_TASK_LANGUAGE_MODEL, .vocabulary = 8, .max_length = 8, .width = 4};
  device = test_device();
  assert_ok(filtra_arena_create(device, &arena));
  assert_ok(filtra_parameters_create(device, &parameters));
  assert_ok(filtra_model_create(device, &config, &model));
  assert_ok(filtra_trainer_create(model, NULL, &trainer));
  assert_ok(filtra_generator_create(model, NULL, &generator));
  assert_ok(filtra_optimizer_create(filtra_model_parameters(model), NULL, &optimizer));
  void *bytes;
  size_t size;
  assert_ok(filtra_model_save_to_memory(model, &bytes, &size));
  assert_ok(filtra_predictor_create_from_memory(device, bytes, size, NULL, &predictor));
  filtra_free(bytes);
  assert_ok(filtra_dataset_open(test_listops(), NULL, &dataset));
  const char *folder = test_new_run();
  assert_ok(filtra_run_train(
      device, &(filtra_run_options){.config = test_text("{\"data\": \"%s\", \"width\": 4, "
                                                        "\"steps\": 1, \"batch_size\": 2}",
                                                        test_listops()),
                                    .folder = folder}));
  assert_ok(filtra_run_open(folder, &run));
  assert_ok(filtra_loader_create(dataset, &(filtra_loader_options){.batch_size = 2}, &loader));
  return 0;
}

static int close_all(void **state) {
  print_message("last call: %s\n", current);
  filtra_graph_destroy(&graph);
  filtra_loader_destroy(&loader);
  filtra_dataset_close(&dataset);
  filtra_predictor_destroy(&predictor);
  filtra_run_close(&run);
  filtra_generator_destroy(&generator);
  filtra_optimizer_destroy(&optimizer);
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
  filtra_parameters_destroy(&parameters);
  filtra_arena_destroy(&arena);
  return test_teardown(state);
}

/* Zeros for whatever is no handle, a room of its own for each argument. */
enum { ROOM = 16384, ROOMS = 16 };
static _Alignas(64) unsigned char rooms[ROOMS][ROOM];
static size_t rooms_used;

static filtra_tensor *build_nothing(const filtra_scope *scope, const void *options,
                                    const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)scope, (void)options, (void)in, (void)auxiliary;
  return NULL;
}

static void begin(void) {
  memset(rooms, 0, sizeof rooms);
  rooms_used = 0;
  filtra_graph_destroy(&graph);
  assert_ok(filtra_graph_create(device, NULL, &graph));
}

static filtra_tensor *tensor(void) {
  return test_input(graph, "t", 1, 1, 4, 4);
}

/* Something for an argument of that type, "const filtra_model *" and the like. */
static void *valid(const char *type) {
  const struct {
    const char *type;
    void *value;
  } handles[] = {
      {"filtra_device *", device},
      {"filtra_arena *", arena},
      {"filtra_model *", model},
      {"filtra_parameters *", parameters},
      {"filtra_trainer *", trainer},
      {"filtra_generator *", generator},
      {"filtra_optimizer *", optimizer},
      {"filtra_dataset *", dataset},
      {"filtra_loader *", loader},
      {"filtra_graph *", graph},
      {"filtra_predictor *", predictor},
      {"filtra_run *", run},
      {"filtra_tokenizer *", (void *)filtra_tokenizer_find("bytes")},
      {"char *", (void *)"/none/such"},
  };
  void *room = rooms[rooms_used++ % ROOMS];
  bool constant = !strncmp(type, "const ", 6);
  if (constant) type += 6;
  if (!strcmp(type, "filtra_tensor *")) return tensor();
  if (!strcmp(type, "filtra_tensor *const *")) *(filtra_tensor **)room = tensor();
  for (size_t i = 0; i < FT_COUNT(handles); i++)
    if (!strcmp(type, handles[i].type) && (constant || strcmp(type, "char *")))
      return handles[i].value;
  return room;
}

static void refused(const char *call, filtra_status status) {
  if (status == FILTRA_ERROR_ARGUMENT && strstr(filtra_error_message(), "NULL")) return;
  fail_msg("%s NULL: %s (%s)", call, filtra_status_name(status), filtra_error_message());
}

#define REFUSES(function, argument, given)                                                         \
  current = #function " " #argument;                                                               \
  begin();                                                                                         \
  refused(current, function given);
#define SURVIVES(function, argument, given)                                                        \
  current = #function " " #argument;                                                               \
  begin();                                                                                         \
  (void)function given;

TEST(each_pointer_may_be_null) {
#include "api/null_calls.inc"
  assert_string_not_equal(current, "none");
}

/* ---- reserved fields ---- */

/* A struct of zeros except its last reserved word, for the call that follows. */
#define RESERVED(type, ...)                                                                        \
  {                                                                                                \
    type s;                                                                                        \
    memset(&s, 0, sizeof s);                                                                       \
    s.reserved[FT_COUNT(s.reserved) - 1] = 1;                                                      \
    begin();                                                                                       \
    assert_fails(__VA_ARGS__, FILTRA_ERROR_ARGUMENT,                                               \
                 test_text(#type ": reserved[%zu] is 1", FT_COUNT(s.reserved) - 1));               \
  }
#define RESERVED_OF_OP(type, ...) RESERVED(type, (__VA_ARGS__, filtra_graph_compile(graph)))

/* All structs that programs fill. */
TEST(reserved_fields_must_be_zero) {
  void *made, *room = rooms[0];
  filtra_device *other;
  filtra_tokenizer *bytes = (filtra_tokenizer *)filtra_tokenizer_find("bytes");
  int32_t token = 0;
  float logits[8] = {0};
  const float shown[] = {1};
  RESERVED(filtra_augmentation,
           filtra_loader_create(dataset,
                                &(filtra_loader_options){.batch_size = 1, .augmentation = &s},
                                (filtra_loader **)&made))
  RESERVED(filtra_batch, filtra_trainer_step(trainer, &s, NULL))
  RESERVED(filtra_batch, filtra_model_predict_batch(model, &s, logits))
  RESERVED(filtra_batch, filtra_model_evaluate_batch(model, &s, room, room, room))
  RESERVED(filtra_dataset_arrays, filtra_dataset_create(&s, (filtra_dataset **)&made))
  RESERVED(filtra_samples,
           filtra_dataset_create(
               &(filtra_dataset_arrays){.splits = {s}, .tokenizer = bytes, .classes = 2},
               (filtra_dataset **)&made))
  RESERVED(filtra_dataset_options, filtra_dataset_open("/none", &s, (filtra_dataset **)&made))
  RESERVED(filtra_device_options, filtra_device_open(&s, &other))
  RESERVED(filtra_generator_options, filtra_generator_create(model, &s, (filtra_generator **)&made))
  RESERVED(filtra_gibbs_options, filtra_gibbs_factors(FILTRA_GIBBS_JACKSON, 2, &s, logits))
  RESERVED(filtra_graph_options, filtra_graph_create(device, &s, (filtra_graph **)&made))
  RESERVED(filtra_kernel, filtra_kernel_record(graph, &s))
  RESERVED(filtra_listops_options, filtra_listops_generate("/none", &s))
  RESERVED(filtra_loader_options, filtra_loader_create(dataset, &s, (filtra_loader **)&made))
  RESERVED(filtra_loader_position, filtra_loader_set_position(loader, s))
  RESERVED(filtra_mixer, (s.name = "m", s.build = build_nothing, filtra_mixer_register(&s)))
  RESERVED(filtra_model_config, filtra_model_create(device, &s, (filtra_model **)&made))
  RESERVED(filtra_model_config, filtra_model_measure(device, &s, 1, 1, FILTRA_FOR_TRAINING, room))
  RESERVED(filtra_optimizer_options,
           filtra_optimizer_create(filtra_model_parameters(model), &s, (filtra_optimizer **)&made))
  RESERVED(filtra_parameter_group,
           filtra_optimizer_create(filtra_model_parameters(model),
                                   &(filtra_optimizer_options){.groups = &s, .group_count = 1},
                                   (filtra_optimizer **)&made))
  RESERVED(filtra_pathfinder_options, filtra_pathfinder_generate("/none", &s))
  RESERVED(filtra_predictor_options,
           filtra_predictor_create(device, "/none", &s, (filtra_predictor **)&made))
  RESERVED(filtra_request, filtra_predictor_predict(predictor, 1, &s, room))
  RESERVED(filtra_run_options, filtra_run_train(device, &s))
  RESERVED(filtra_run_options, filtra_run_measure(device, &s, room))
  RESERVED(filtra_sampling, filtra_sample_token(shown, 1, &s, 0, &token))
  RESERVED(filtra_train_options, filtra_trainer_create(model, &s, (filtra_trainer **)&made))
  RESERVED(filtra_transport, filtra_trainer_create(model, &(filtra_train_options){.transport = &s},
                                                   (filtra_trainer **)&made))
  filtra_tensor *t = NULL;
#define OF_TENSORS(...) (t = tensor(), __VA_ARGS__)
  RESERVED_OF_OP(filtra_parameter_options,
                 filtra_graph_parameter(graph, parameters, "p", 1, (int64_t[]){1}, &s))
  RESERVED_OF_OP(filtra_matmul_options, OF_TENSORS(filtra_matmul(graph, t, t, &s)))
  RESERVED_OF_OP(filtra_linear_options,
                 OF_TENSORS(filtra_linear(graph, t, test_input(graph, "w", 4, 4), NULL, &s)))
  RESERVED_OF_OP(filtra_attention_options, OF_TENSORS(filtra_attention(graph, t, t, t, &s)))
}

/* ---- values that no enum and no batch has ---- */

TEST(what_makes_no_sense_is_refused) {
  begin();
  filtra_graph_input(graph, "x", (filtra_dtype)7, 1, (int64_t[]){1});
  assert_fails(filtra_graph_compile(graph), FILTRA_ERROR_ARGUMENT, "7");
  int32_t tokens[8] = {1, 1, 1, 1, 1, 1, 1, 1}, lengths[4] = {2, 2, 2, 2};
  float results[64];
  filtra_batch batch = {.size = 4, .length = 2, .count = 99, .tokens = tokens, .lengths = lengths};
  assert_fails(filtra_model_predict_batch(model, &batch, results), FILTRA_ERROR_ARGUMENT,
               "count is 99");
}

/* ---- a run that is asked after ---- */

TEST(a_run_is_polled) {
  begin();
  filtra_tensor *x = tensor();
  filtra_graph_output(graph, filtra_matmul(graph, x, x, NULL));
  assert_ok(filtra_graph_compile(graph));
  const float zeros[16] = {0};
  uint64_t ticket;
  assert_ok(filtra_graph_set(graph, x, zeros));
  assert_ok(filtra_graph_submit(graph, &ticket));
  assert_false(filtra_graph_done(graph, ticket + 1));
  while (!filtra_graph_done(graph, ticket))
    ;
  assert_ok(filtra_graph_wait(graph, ticket));
}

TEST(versions_agree) {
  assert_string_equal(filtra_version(), test_text("%d.%d.%d", FILTRA_VERSION_MAJOR,
                                                  FILTRA_VERSION_MINOR, FILTRA_VERSION_PATCH));
}

TEST_MAIN(open_all, close_all)
