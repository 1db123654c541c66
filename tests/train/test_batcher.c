/* Requests of several threads in one batch: which are gathered, and that none fails for another. */
#include "train/batcher.h" /* first: the harness defines `owned` */

#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include <filtra/filtra.h>
#include <pthread.h>
#include <sched.h>

static const char DATA[] = "text,label\nsome good words,yes\nbad ones,no\ngood again,yes\nbad,no\n";

enum { MOST = 20, WIDTH = 8, BROKEN = 'q' + 1, VOCABULARY = 257 };

/* A token whose vector overflows in a mean. */
static void break_token(filtra_model *model) {
  static float values[VOCABULARY * WIDTH];
  filtra_parameters *p = filtra_model_parameters(model);
  assert_ok(filtra_parameters_get(p, "embedding.weight", values, FT_COUNT(values)));
  for (size_t i = 0; i < WIDTH; i++)
    values[BROKEN * WIDTH + i] = 3e38f;
  assert_ok(filtra_parameters_set(p, "embedding.weight", values, FT_COUNT(values)));
}

/* A predictor of bytes with graphs for batches of up to four. */
static filtra_predictor *open_predictor(filtra_device *dev, bool prepare_all) {
  const char *file = test_path(test_folder(), "a.csv"), *folder = test_new_run();
  filtra_predictor *p;
  filtra_model *model;
  void *bytes;
  size_t size;
  test_write(file, DATA, strlen(DATA));
  assert_ok(test_train(test_text("{\"data\": \"%s\", \"width\": %d, \"layers\": 1, \"heads\": 1, "
                                 "\"tokenizer\": \"bytes\", \"max_length\": %d, "
                                 "\"steps\": 2, \"batch_size\": 2}",
                                 file, WIDTH, MOST),
                       folder, 100));
  assert_ok(filtra_model_load(dev, test_path(folder, "model.safetensors"), &model));
  break_token(model);
  assert_ok(filtra_model_save_to_memory(model, &bytes, &size));
  filtra_model_destroy(&model);
  assert_ok(filtra_predictor_create_from_memory(
      dev, bytes, size, &(filtra_predictor_options){.batch_size = 4, .prepare_all = prepare_all},
      &p));
  filtra_free(bytes);
  return p;
}

/* A thread with one request. */
typedef struct client {
  filtra_predictor *predictor;
  int32_t tokens[MOST];
  uint32_t length;
  pthread_t thread;
  filtra_status status;
  float probability;
} client;

static client client_of(filtra_predictor *p, uint32_t length, int32_t first) {
  client c = {.predictor = p, .length = length, .tokens = {first}};
  for (uint32_t i = 1; i < length; i++)
    c.tokens[i] = 'a' + (int32_t)i % 3;
  return c;
}

static void *ask(void *user) {
  client *c = user;
  filtra_prediction answer = {0};
  const filtra_request request = {.tokens = c->tokens, .length = c->length};
  c->status = filtra_predictor_predict(c->predictor, 1, &request, &answer);
  c->probability = answer.probability;
  return NULL;
}

/* Has `waiting` of the threads, those whose requests are not refused at once, wait for the
 * device, and then lets them go on. Returns how many batches their requests took. */
static uint64_t ask_together(filtra_device *dev, client *clients, size_t count, size_t waiting) {
  ft_batcher *b = ft_predictor_batcher(clients[0].predictor);
  ft_device_lock(dev);
  const uint64_t before = b->batches;
  for (size_t i = 0; i < count; i++)
    assert_int_equal(pthread_create(&clients[i].thread, NULL, ask, &clients[i]), 0);
  while (ft_batcher_waiting(b) < waiting)
    sched_yield();
  ft_device_unlock(dev);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
  return b->batches - before;
}

/* Of one padded length, up to batch_size; and each gets its own answer. */
static void check_gathered(filtra_device *dev) {
  owned_predictor *p = open_predictor(dev, true);
  client clients[7], alone[7];
  for (size_t i = 0; i < 7; i++) { /* six of 16 tokens, one of 20 */
    alone[i] = clients[i] = client_of(p, i == 2 ? 20 : 3 + (uint32_t)i, 'a' + (int32_t)i);
    ask(&alone[i]);
  }
  assert_int_equal(ask_together(dev, clients, 7, 7), 3); /* 4 and 2 of 16 tokens, 1 of 20 */
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(clients[i].status, FILTRA_OK);
    assert_float_equal(clients[i].probability, alone[i].probability, 1e-6f);
  }
  assert_true(fabsf(alone[0].probability - alone[6].probability) > 1e-6f);
}

/* Tokens that the model does not know, which are refused before they wait, and results that are not
 * finite fail their own requests. */
static void check_failures(filtra_device *dev) {
  static const struct {
    int32_t token;
    filtra_status status;
    size_t waiting;
  } cases[] = {{BROKEN, FILTRA_ERROR_NONFINITE, 4}, {VOCABULARY, FILTRA_ERROR_INPUT, 3}};
  owned_predictor *p = open_predictor(dev, true);
  client clients[4], alone = client_of(p, 5, 'd');
  ask(&alone);
  for (size_t k = 0; k < FT_COUNT(cases); k++) {
    for (size_t i = 0; i < 4; i++)
      clients[i] = client_of(p, 5, i == 1 ? cases[k].token : 'd');
    ask_together(dev, clients, 4, cases[k].waiting);
    for (size_t i = 0; i < 4; i++) {
      assert_int_equal(clients[i].status, i == 1 ? cases[k].status : FILTRA_OK);
      if (i != 1) assert_float_equal(clients[i].probability, alone.probability, 1e-6f);
    }
  }
}

TEST_WITH(test_gathered, "class=discrete", check_gathered)
TEST_WITH(test_failures_are_apart, "class=discrete", check_failures)

/* The model takes one text: it is the second one that is too many. */
TEST(test_a_second_text_is_refused) {
  owned_predictor *p = open_predictor(test_device(), false);
  filtra_prediction answer;
  filtra_request request = {.text = "ab", .text_length = 2, .second = "b", .second_length = 1};
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_ARGUMENT,
               "second must be NULL: the model takes one text");
  request.second = NULL;
  assert_ok(filtra_predictor_predict(p, 1, &request, &answer));
  request.text = NULL;
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_ARGUMENT,
               "needs exactly one of text, tokens, series and pixels");
}

static void check_not_gathered(bool prepare_all) {
  owned_predictor *p = open_predictor(test_device(), prepare_all);
  client clients[3];
  for (size_t i = 0; i < 3; i++) {
    clients[i] = client_of(p, 3, 'a' + (int32_t)i);
    assert_int_equal(pthread_create(&clients[i].thread, NULL, ask, &clients[i]), 0);
  }
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
    assert_int_equal(clients[i].status, FILTRA_OK);
  }
  assert_int_equal(ft_predictor_batcher(p)->batches, 3);
}

/* Not on a CPU, and not without prepared graphs, of which a larger batch might need another. */
TEST(test_not_gathered) {
  check_not_gathered(false);
  if (filtra_device_get_info(test_device())->device_class == FILTRA_DEVICE_CPU)
    check_not_gathered(true);
}

TEST_MAIN(NULL, test_teardown)
