/* An application's own transport, pipes between threads: three ranks end with the same weights and
 * with the losses of one process, also if no gradient is sent before the backward pass has ended; a
 * rank that never answers, one at another step and a NaN end all ranks. */
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include "train/shares.h"
#include "train/trainer.h"

#include <filtra/filtra.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

enum { RANKS = 3, SIZE = 7, LENGTH = 8, VOCABULARY = 11, CLASSES = 3, STEPS = 6 };

static int pipes[RANKS][RANKS][2]; /* from, to */

typedef struct node {
  filtra_transport transport;
  filtra_device *device;
  filtra_status status;
  char message[512];
  float losses[STEPS], *weights;
  size_t count;
  int missing; /* steps that this rank leaves out */
  bool other, poisoned;
  bool waits; /* for the end of the backward pass */
  const char *caps, *freeze;
  float share;
  int64_t samples; /* that it took of a batch */
  uint64_t parts;  /* accumulate */
  filtra_precision precision;
  float loss_scale;            /* at first */
  filtra_trainer_metrics last; /* of its last step */
  size_t buckets;              /* that its gradients left in */
  float hidden;                /* seconds, of all steps */
  bool early;                  /* the first of them was copied in a submission before the last */
} node;

static int move(int fd, char *data, size_t bytes, double seconds, bool out) {
  while (bytes) {
    struct pollfd ready = {.fd = fd, .events = out ? POLLOUT : POLLIN};
    if (poll(&ready, 1, (int)(seconds * 1e3)) <= 0) return FILTRA_TRANSPORT_LATE;
    ssize_t done = out ? write(fd, data, bytes < 4096 ? bytes : 4096) : read(fd, data, bytes);
    if (done <= 0) return FILTRA_TRANSPORT_BROKEN;
    data += done;
    bytes -= (size_t)done;
  }
  return FILTRA_TRANSPORT_DONE;
}

static int send_to(void *user, int to, const void *data, size_t bytes, double seconds) {
  const node *n = user;
  return move(pipes[n->transport.rank][to][1], (char *)data, bytes, seconds, true);
}

static int receive(void *user, int from, void *data, size_t bytes, double seconds) {
  const node *n = user;
  return move(pipes[from][n->transport.rank][0], data, bytes, seconds, false);
}

static int barrier(void *user, double seconds) {
  (void)user;
  (void)seconds;
  return FILTRA_TRANSPORT_DONE;
}

static void end_all(void *user, int code) {
  (void)user;
  _exit(code);
}

static filtra_status take_step(filtra_trainer *trainer, int step, filtra_trainer_metrics *m) {
  int32_t tokens[SIZE * LENGTH], lengths[SIZE], labels[SIZE];
  float weights[SIZE];
  for (int i = 0; i < SIZE; i++) {
    lengths[i] = 3 + (i + step) % (LENGTH - 3);
    labels[i] = (i + step) % CLASSES;
    weights[i] = i == SIZE - 1 ? 0.0f : 1.0f;
    for (int k = 0; k < LENGTH; k++)
      tokens[i * LENGTH + k] = k < lengths[i] ? (i * 5 + k * 3 + step) % VOCABULARY : 0;
  }
  const filtra_batch batch = {.size = SIZE,
                              .length = LENGTH,
                              .count = SIZE,
                              .tokens = tokens,
                              .lengths = lengths,
                              .labels = labels,
                              .weights = weights};
  FT_TRY(filtra_trainer_step(trainer, &batch, NULL));
  return filtra_trainer_finish(trainer, m);
}

static filtra_status train(node *n, filtra_model *model, filtra_trainer *trainer) {
  filtra_trainer_metrics m;
  for (int i = 0; i < STEPS - n->missing; i++) {
    FT_TRY(take_step(trainer, n->other ? i + 1 : i, &m));
    n->losses[i] = m.loss;
    n->hidden += m.hidden_seconds;
  }
  n->last = m;
  n->buckets = trainer->optimizer->shards ? ft_shards_range_count(trainer->optimizer->shards) : 0;
  n->samples = trainer->graphs[0]->size;
  n->early = ft_graph_readout_ticket(trainer->graphs[0]->graph, 0) <
             ft_graph_readout_ticket(trainer->graphs[0]->graph, n->buckets);
  filtra_parameters *p = filtra_model_parameters(model);
  const char *name = filtra_parameters_name(p, 0);
  int64_t shape[FILTRA_MAX_DIMS];
  n->count = 1;
  for (int k = filtra_parameters_shape(p, 0, shape); k-- > 0;)
    n->count *= (size_t)shape[k];
  n->weights = calloc(n->count, sizeof *n->weights);
  return filtra_parameters_get(p, name, n->weights, n->count);
}

static filtra_status run(node *n, filtra_model **model, filtra_trainer **trainer) {
  const filtra_model_config config = {.mixer = "agf",
                                      .vocabulary = VOCABULARY,
                                      .classes = CLASSES,
                                      .max_length = LENGTH,
                                      .width = 64,
                                      .layers = 2,
                                      .dropout = 0.1f,
                                      .precision = n->precision,
                                      .seed = 3};
  const filtra_train_options options = {.optimizer = {.learning_rate = 1e-2f,
                                                      .weight_decay = 0.01f,
                                                      .clip_norm = 0.5f,
                                                      .loss_scale = n->loss_scale},
                                        .seed = 9,
                                        .accumulate = n->parts,
                                        .transport = &n->transport,
                                        .share = n->share,
                                        .freeze = n->freeze,
                                        .deadline = 20.0f};
  const float bad[CLASSES] = {NAN, 0, 0};
  FT_TRY(filtra_model_create(n->device, &config, model));
  if (n->poisoned)
    FT_TRY(filtra_parameters_set(filtra_model_parameters(*model), "head.2.bias", bad, CLASSES));
  FT_TRY(filtra_trainer_create(*model, &options, trainer));
  if (n->waits) ft_shards_wait_for_backward((*trainer)->optimizer->shards);
  return train(n, *model, *trainer);
}

static void *run_thread(void *user) {
  node *n = user;
  owned_model *model = NULL;
  owned_trainer *trainer = NULL;
  n->status = run(n, &model, &trainer);
  strncpy(n->message, n->status ? filtra_error_message() : "", sizeof n->message - 1);
  return NULL;
}

static void start(node nodes[], int size) {
  memset(nodes, 0, (size_t)size * sizeof *nodes);
  for (int i = 0; i < RANKS; i++)
    for (int k = 0; k < RANKS; k++)
      assert_int_equal(pipe(pipes[i][k]), 0);
  for (int i = 0; i < size; i++)
    nodes[i] = (node){.share = (float)(1 + i),
                      .transport = {.rank = i,
                                    .size = size,
                                    .user = &nodes[i],
                                    .send = send_to,
                                    .receive = receive,
                                    .barrier = barrier,
                                    .abort = end_all}};
}

static void run_all(node nodes[], int size) {
  pthread_t threads[RANKS];
  for (int i = 0; i < size; i++) {
    owned char *caps = nodes[i].caps ? test_caps(nodes[i].caps) : NULL;
    assert_ok(filtra_device_open(
        &(filtra_device_options){
            .select = test_chosen_device(), .cache_dir = "", .tuning = "", .caps = caps},
        &nodes[i].device));
  }
  for (int i = 0; i < size; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_thread, &nodes[i]), 0);
  for (int i = 0; i < size; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < size; i++)
    filtra_device_close(&nodes[i].device);
  for (int i = 0; i < RANKS; i++)
    for (int k = 0; k < RANKS; k++) {
      close(pipes[i][k][0]);
      close(pipes[i][k][1]);
    }
}

static void free_all(node nodes[], int size) {
  for (int i = 0; i < size; i++)
    free(nodes[i].weights);
}

TEST(ranks_end_with_the_same_weights) {
  node alone[1], nodes[RANKS];
  start(alone, 1);
  run_all(alone, 1);
  for (int size = 2; size <= RANKS; size++) {
    start(nodes, size);
    run_all(nodes, size);
    for (int i = 0; i < size; i++) {
      if (nodes[i].status) fail_msg("rank %d: %s", i, nodes[i].message);
      assert_memory_equal(nodes[i].weights, nodes[0].weights,
                          nodes[0].count * sizeof *nodes[0].weights);
      assert_memory_equal(nodes[i].losses, nodes[0].losses, sizeof nodes[0].losses);
    }
    for (int i = 0; i < STEPS; i++)
      assert_true(fabsf(nodes[0].losses[i] - alone[0].losses[i]) <=
                  1e-6f * fabsf(alone[0].losses[i]));
    free_all(nodes, size);
  }
  free_all(alone, 1);
}

static void same(const node *a, const node *b) {
  if (a->status || b->status) fail_msg("%s%s", a->message, b->message);
  assert_memory_equal(a->losses, b->losses, sizeof a->losses);
  assert_memory_equal(a->weights, b->weights, a->count * sizeof *a->weights);
}

/* The same bits whether gradients leave bucket by bucket during the backward pass, all of them
 * behind it, or from a device that has short submissions; and, but for rounding, in parts. */
TEST(early_buckets_change_no_bit) {
  node early[2], late[2], brief[2], parts[2];
  start(early, 2);
  run_all(early, 2);
  start(late, 2);
  late[0].waits = late[1].waits = true;
  run_all(late, 2);
  same(&early[0], &late[0]);
  assert_true(early[0].buckets > 3 && early[0].early);
  assert_true(late[0].hidden == 0.0f);
  start(brief, 2);
  brief[0].caps = "submission_ms=1";
  run_all(brief, 2);
  same(&early[0], &brief[0]);
  same(&early[1], &brief[1]);
  start(parts, 2);
  parts[0].parts = parts[1].parts = 2;
  run_all(parts, 2);
  same(&parts[0], &parts[1]);
  for (int i = 0; i < STEPS; i++)
    assert_true(fabsf(parts[0].losses[i] - early[0].losses[i]) <= 1e-6f * early[0].losses[i]);
  free_all(early, 2);
  free_all(late, 2);
  free_all(brief, 2);
  free_all(parts, 2);
}

/* Ranks agree about what is frozen, in one part and in two, and it stays as it was. */
TEST(ranks_freeze_the_same) {
  node alone[1], nodes[2];
  start(alone, 1);
  alone[0].freeze = "embeddings,first layer";
  run_all(alone, 1);
  for (uint64_t parts = 1; parts <= 2; parts++) {
    start(nodes, 2);
    for (int i = 0; i < 2; i++) {
      nodes[i].freeze = "embeddings,first layer";
      nodes[i].parts = parts;
    }
    run_all(nodes, 2);
    same(&nodes[0], &nodes[1]);
    assert_memory_equal(nodes[0].weights, alone[0].weights,
                        alone[0].count * sizeof *alone[0].weights); /* of the embedding */
    for (int i = 0; i < STEPS; i++)
      assert_true(fabsf(nodes[0].losses[i] - alone[0].losses[i]) <=
                  1e-6f * fabsf(alone[0].losses[i]));
    free_all(nodes, 2);
  }
  free_all(alone, 1);
}

static void run_in(filtra_precision precision, node nodes[], int size) {
  start(nodes, size);
  for (int i = 0; i < size; i++) {
    nodes[i].precision = precision;
    nodes[i].loss_scale = precision == FILTRA_PRECISION_FP16 ? 0x1p20f : 0.0f; /* overflows */
  }
  run_all(nodes, size);
}

/* Before the first update, ranks have the losses of one that is alone. In the step after it, copies
 * of old weights would change the loss by 0.1. A weight that is rounded to its neighbour in 16 bits
 * changes it by 1e-5: sums of gradients differ by roundings. Later ranks part further. Overflows
 * are those of the sum, and all skip the same steps. */
TEST(ranks_train_in_16_bits) {
  static const filtra_precision precisions[] = {FILTRA_PRECISION_BF16, FILTRA_PRECISION_FP16};
  if (!test_stores(test_device(), FILTRA_F16)) skip();
  for (size_t p = 0; p < FT_COUNT(precisions); p++) {
    const double ulp = precisions[p] == FILTRA_PRECISION_FP16 ? 0x1p-11 : 0x1p-8;
    node alone[1], nodes[2];
    run_in(precisions[p], alone, 1);
    run_in(precisions[p], nodes, 2);
    same(&nodes[0], &nodes[1]);
    const filtra_trainer_metrics *a = &alone[0].last, *b = &nodes[0].last, *c = &nodes[1].last;
    assert_true(b->gradient_norm == c->gradient_norm && b->loss_scale == c->loss_scale);
    assert_true(b->skipped == c->skipped && b->skipped_step == c->skipped_step);
    assert_true(a->loss_scale == b->loss_scale && a->skipped == b->skipped);
    if (precisions[p] == FILTRA_PRECISION_FP16)
      assert_true(b->skipped > 0 && b->skipped < STEPS && b->skipped_step == b->skipped);
    assert_true(nodes[0].losses[STEPS - 1] != nodes[0].losses[0]);
    for (uint64_t i = 0; i < STEPS; i++) {
      const double most = i <= a->skipped ? 1e-6 : i == a->skipped + 1 ? 1e-4 : 2 * ulp;
      assert_float_equal(nodes[0].losses[i], alone[0].losses[i], most);
    }
    assert_float_equal(b->gradient_norm, a->gradient_norm, 8 * ulp * (double)a->gradient_norm);
    free_all(alone, 1);
    free_all(nodes, 2);
  }
}

/* A device without subgroups and with the plainest products takes longer. Other work on the machine
 * may say otherwise once, hardly three times. */
TEST(slow_ranks_take_less) {
  node alone[1], nodes[2];
  bool less = false;
  start(alone, 1);
  run_all(alone, 1);
  for (int tries = 0; tries < 3 && !less; tries++) {
    start(nodes, 2);
    nodes[0].caps = "gemm=naive,attention=tiled,subgroup=0";
    nodes[0].share = 0.0f;
    nodes[1].share = FILTRA_SHARE_AUTO;
    run_all(nodes, 2);
    same(&nodes[0], &nodes[1]);
    assert_int_equal(nodes[0].samples + nodes[1].samples, SIZE);
    less = nodes[0].samples < nodes[1].samples;
    for (int i = 0; i < STEPS; i++)
      assert_true(fabsf(nodes[0].losses[i] - alone[0].losses[i]) <= 1e-6f * alone[0].losses[i]);
    free_all(nodes, 2);
  }
  assert_true(less);
  free_all(alone, 1);
}

static void expect(const node *n, filtra_status status, const char *part) {
  if (n->status != status || !strstr(n->message, part))
    fail_msg("status %d, wanted \"%s\" in: %s", n->status, part, n->message);
}

TEST(faults_end_all) {
  node nodes[2];
  start(nodes, 2);
  nodes[1].other = true;
  run_all(nodes, 2);
  expect(&nodes[0], FILTRA_ERROR_RANK, "and rank 0 at step 1, with different batches");
  expect(&nodes[1], FILTRA_ERROR_RANK, "do not train the same run");
  free_all(nodes, 2);
  start(nodes, 2);
  nodes[0].poisoned = nodes[1].poisoned = true;
  run_all(nodes, 2);
  for (int i = 0; i < 2; i++)
    expect(&nodes[i], FILTRA_ERROR_NONFINITE, "step 1: the loss");
  free_all(nodes, 2);
}

/* It has stopped a step before; nobody answers the other one. */
TEST(deadlines_end_waiting) {
  node nodes[2];
  start(nodes, 2);
  const ft_ranks ranks = {&nodes[0].transport, 0.05};
  char all[2] = "a";
  assert_fails(ft_ranks_gather(&ranks, all, 1), FILTRA_ERROR_RANK,
               "rank 0 waited 0.05 seconds for rank 1");
  close(pipes[1][0][1]);
  assert_fails(ft_ranks_gather(&ranks, all, 1), FILTRA_ERROR_RANK, "cannot reach rank 1");
}

/* What is said before the transport is called. */
TEST(incomplete_transports_are_refused) {
  static const filtra_transport WHOLE = {
      .size = 2, .send = send_to, .receive = receive, .barrier = barrier, .abort = end_all};
  filtra_transport lacks[] = {WHOLE, WHOLE, WHOLE, WHOLE};
  lacks[0].send = NULL;
  lacks[1].receive = NULL;
  lacks[2].barrier = NULL;
  lacks[3].abort = NULL;
  const int ranks[][2] = {{2, 2}, {-1, 2}, {1, 1}, {1, 0}, {0, -5}, {1 << 28, 2}}; /* rank, size */
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  filtra_trainer *trainer;
  for (size_t i = 0; i < FT_COUNT(lacks); i++)
    assert_fails(
        filtra_trainer_create(model, &(filtra_train_options){.transport = &lacks[i]}, &trainer),
        FILTRA_ERROR_ARGUMENT, "of 2 ranks needs send, receive, barrier and abort");
  for (size_t i = 0; i < FT_COUNT(ranks); i++) {
    filtra_transport t = WHOLE;
    t.rank = ranks[i][0];
    t.size = ranks[i][1];
    assert_fails(filtra_trainer_create(model, &(filtra_train_options){.transport = &t}, &trainer),
                 FILTRA_ERROR_ARGUMENT,
                 test_text("rank %d of %d; ranks count from 0", t.rank, t.size));
    assert_fails(filtra_run_train(test_device(),
                                  &(filtra_run_options){.folder = test_new_run(), .transport = &t}),
                 FILTRA_ERROR_ARGUMENT, "ranks count from 0");
  }
}

/* Measured shares go into the configuration, whose text has an end. */
TEST(shares_are_kept_as_text) {
  double begins[] = {0, 0.5, 0.75, 1};
  const filtra_transport transport = {.size = RANKS};
  const filtra_trainer trainer = {.ranks.transport = &transport, .shares = begins};
  char text[9];
  int size;
  float share;
  assert_ok(ft_shares_write(&trainer, 40, text, sizeof text));
  assert_string_equal(text, "20:10:10");
  assert_true(ft_shares_read(text, 1, &size, &share) && size == RANKS && share == 10.0f);
  assert_fails(ft_shares_write(&trainer, 400, text, sizeof text), FILTRA_ERROR_UNSUPPORTED,
               "shares of 3 ranks do not fit");
}

TEST_MAIN(NULL, test_teardown)
