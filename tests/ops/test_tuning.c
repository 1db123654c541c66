/* Every configuration of every table is correct, and the tuner never selects a wrong one. */
#include "base/file.h"
#include "base/memory.h"
#include "gpu/internal.h"
#include "ops/tuner.h"
#include "reference/attention.h"
#include "reference/dhhp.h"
#include "reference/matmul.h"
#include "support/attention.h"
#include "support/harness.h"
#include "support/run.h"

#include <complex.h>

/* ---- problems ---- */

typedef struct product {
  int64_t m, n, k;
  bool transpose_a, gradient;
  filtra_dtype type;
} product;

TEST_BUILD(build_product) {
  const product *p = op->settings;
  out[0] = filtra_matmul(g, in[0], in[1], &(filtra_matmul_options){.transpose_a = p->transpose_a});
}

TEST_REFERENCE(reference_product) {
  const product *p = op->settings;
  reference_matrix a = {in[0], p->transpose_a ? 1 : p->k, p->transpose_a ? p->m : 1, 0, 0};
  reference_matmul(a, (reference_matrix){in[1], p->n, 1, 0, 0},
                   (reference_matrix){out[0], p->n, 1, 0, 0}, 1, 1, p->m, p->n, p->k, 1);
}

static test_op make_product(const product *p) {
  return (test_op){.name = "matmul",
                   .in = {{"a",
                           p->type,
                           2,
                           {p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k},
                           .gradient = p->gradient},
                          {"b", p->type, 2, {p->k, p->n}, .gradient = p->gradient}},
                   .build = build_product,
                   .reference = reference_product,
                   .settings = p,
                   .out_elements = {p->m * p->n}};
}

/* Its gradients are a product whose kernel also sums the bias's. */
enum { ROWS = 70, INPUTS = 48, OUTPUTS = 64 };

TEST_BUILD(build_linear) {
  out[0] = filtra_linear(g, in[0], in[1], in[2], NULL);
}

TEST_REFERENCE(reference_layer) {
  reference_matmul((reference_matrix){in[0], INPUTS, 1, 0, 0},
                   (reference_matrix){in[1], 1, INPUTS, 0, 0},
                   (reference_matrix){out[0], OUTPUTS, 1, 0, 0}, 1, 1, ROWS, OUTPUTS, INPUTS, 1);
  for (int64_t i = 0; i < (int64_t)ROWS * OUTPUTS; i++)
    out[0][i] += in[2][i % OUTPUTS];
}

static const test_op linear = {
    .name = "linear",
    .in = {{"x", FILTRA_F32, 2, {ROWS, INPUTS}, .gradient = true},
           {"weight", FILTRA_F32, 2, {OUTPUTS, INPUTS}, .gradient = true},
           {"bias", FILTRA_F32, 1, {OUTPUTS}, .gradient = true}},
    .build = build_linear,
    .reference = reference_layer,
    .out_elements = {(int64_t)ROWS * OUTPUTS}};

enum { HEADS = 2, QUERIES = 37, KEYS = 75, COLUMNS = 5, VALUES = 3 };

TEST_BUILD(build_attention) {
  filtra_tensor *y = filtra_attention(g, in[0], in[1], in[2],
                                      &(filtra_attention_options){.causal = true, .dropout = 0.2f});
  out[0] = test_heads_as_floats(g, y);
}

TEST_REFERENCE(reference_tiles) {
  reference_attention_problem p = {1,
                                   HEADS,
                                   QUERIES,
                                   KEYS,
                                   COLUMNS,
                                   VALUES,
                                   .causal = true,
                                   .scale = 1 / sqrt((double)COLUMNS),
                                   .dropout = 0.2f,
                                   .seed = op->seed,
                                   .step = op->step};
  reference_attention(&p, in[0], in[1], in[2], out[0]);
}

static const test_op attention = {
    .name = "attention",
    .in = {{"q", FILTRA_F32, 4, {1, HEADS, QUERIES, COLUMNS}, .gradient = true},
           {"k", FILTRA_F32, 4, {1, HEADS, KEYS, COLUMNS}, .gradient = true},
           {"v", FILTRA_F32, 4, {1, HEADS, KEYS, VALUES}, .gradient = true}},
    .build = build_attention,
    .reference = reference_tiles,
    .out_elements = {HEADS * QUERIES * VALUES},
    .training = true,
    .seed = 5,
    .step = 7};

enum { BATCH = 2, TOKENS = 131, FEATURES = 37 };

TEST_BUILD(build_scan) {
  out[0] = filtra_affine_scan(g, in[0], in[1], FILTRA_BACKWARD);
}

TEST_REFERENCE(reference_scan) {
  for (int64_t b = 0; b < BATCH; b++) {
    const int64_t at = 2 * b * TOKENS * FEATURES;
    reference_affine_scan((const double complex *)(in[0] + 2 * b * TOKENS),
                          (const double complex *)(in[1] + at), (double complex *)(out[0] + at),
                          TOKENS, FEATURES, true);
  }
}

static const test_op scan = {
    .name = "affine_scan",
    .in = {{"c", FILTRA_F32, 3, {BATCH, TOKENS, 2}, -0.7, 0.7, true},
           {"d", FILTRA_F32, 4, {BATCH, TOKENS, FEATURES, 2}, .gradient = true}},
    .build = build_scan,
    .reference = reference_scan,
    .out_elements = {BATCH * TOKENS * FEATURES * 2}};

/* ---- every configuration against float64 ---- */

/* The questions that an op asks while it is checked in its own choice. */
static ft_tuning *ask(filtra_device *dev, const test_op *op) {
  ft_tuning *asked = ft_tuning_new();
  asked->collect = true;
  ft_tuning *before = ft_tuning_use(dev, asked);
  test_check_op(dev, op);
  ft_tuning_use(dev, before);
  assert_true(asked->question_count > 0);
  return asked;
}

static bool used(filtra_device *dev, const ft_tuning *asked, const ft_configuration *c) {
  for (size_t i = 0; i < asked->question_count; i++)
    if (asked->questions[i].usable(dev, &asked->questions[i], c)) return true;
  return false;
}

/* All that some part of the op can do with, of the cuts into parts those into `parts`. */
static void check_all(filtra_device *dev, const test_op *op, uint32_t parts) {
  ft_tuning *asked = ask(dev, op);
  const ft_tuning_family family = asked->questions[0].family;
  const ft_configuration_table *t = ft_configurations(family);
  size_t checked = 0;
  for (size_t i = 0; i < ft_configuration_count(family); i++) {
    ft_tuning forced = {.forced = true,
                        .forced_family = family,
                        .forced_configuration = ft_configuration_at(family, i)};
    const ft_configuration *c = &forced.forced_configuration;
    if ((t->most_parts && c->value[t->field_count - 1] != parts) || !used(dev, asked, c)) continue;
    ft_tuning *before = ft_tuning_use(dev, &forced);
    test_check_op(dev, op);
    ft_tuning_use(dev, before);
    checked++;
  }
  assert_true(checked > 0);
  ft_tuning_release(&asked);
}

/* CPU drivers take seconds for each pipeline that has barriers: there one product has to do. */
static void check_products(filtra_device *dev, bool quick) {
  static const product products[] = {
      {.m = 45, .n = 27, .k = 1030}, /* in parts */
      {.m = 32, .n = 24, .k = 64, .gradient = true},
      {.m = 33, .n = 9, .k = 70, .gradient = true},
      {.m = 256, .n = 256, .k = 70, .transpose_a = true}, /* packed */
      {.m = 33, .n = 9, .k = 70, .type = FILTRA_F16},
      {.m = 512, .n = 130, .k = 70, .transpose_a = true, .type = FILTRA_BF16},
  };
  for (size_t i = 0; dev && i < (quick ? 1 : FT_COUNT(products)); i++) {
    test_op op = make_product(&products[i]);
    if (products[i].type && !dev->caps.storage16) continue;
    check_all(dev, &op, i ? 1 : 8);
  }
  if (dev && !quick) check_all(dev, &linear, 1);
  if (dev) test_close_device(&dev);
}

TEST(test_products) {
  check_products(test_open_variant("gemm=tiled"), test_device()->caps.cpu);
  check_products(test_open_variant("gemm=s64"), false);
}

TEST(test_attention) {
  static const char *const variants[] = {"attention=tiled", "attention=lanes", "attention=uniform"};
  for (size_t i = 0; i < FT_COUNT(variants); i++) {
    owned_device *dev = test_open_variant(variants[i]);
    if (!dev) continue;
    check_all(dev, &attention, 0);
  }
}

TEST(test_chain) {
  check_all(test_device(), &scan, 1);
  check_all(test_device(), &scan, 4);
  owned_device *plain = test_open_variant("subgroup=0");
  if (!plain) return;
  check_all(plain, &scan, 2);
}

/* The plainest way, which others are compared with. */
TEST(test_reference) {
  static const product p = {.m = 33, .n = 9, .k = 70, .gradient = true};
  ft_tuning plain = {.reference = true};
  test_op op = make_product(&p);
  ft_tuning *before = ft_tuning_use(test_device(), &plain);
  test_check_op(test_device(), &op);
  test_check_op(test_device(), &attention);
  test_check_op(test_device(), &scan);
  ft_tuning_use(test_device(), before);
}

/* ---- the tuner ---- */

static ft_tuning_question question(filtra_device *dev, const test_op *op) {
  ft_tuning *asked = ask(dev, op);
  ft_tuning_question q = asked->questions[0];
  ft_tuning_release(&asked);
  return q;
}

static const product small = {.m = 45, .n = 28, .k = 515};
static const product small_halves = {.m = 45, .n = 28, .k = 515, .type = FILTRA_BF16};

/* Tunes with whatever options; the caller frees the result's candidates. */
static filtra_status run_tuner(filtra_device *dev, const ft_tuning_question *q,
                               const ft_tuner_options *o, ft_tuning *t, ft_tuner_result *r) {
  ft_tuning_entry *entry = ft_tuning_add(t, q->key, q->family);
  assert_non_null(entry);
  return ft_tune(dev, q, o, entry, r);
}

TEST(test_all_candidates_agree) {
  filtra_device *dev = test_device();
  test_op half_attention = attention;
  for (int i = 0; i < 3; i++) /* q, k, v */
    half_attention.in[i].dtype = FILTRA_BF16;
  const test_op floats = make_product(&small), halves = make_product(&small_halves);
  const test_op *const ops[] = {&floats, &scan, &halves, &half_attention};
  for (size_t i = 0; i < (dev->caps.storage16 ? 4 : 2); i++) {
    ft_tuning *t = ft_tuning_new();
    ft_tuning_question q = question(dev, ops[i]);
    ft_tuner_result r;
    assert_true((strstr(q.key, " bf16") != NULL) == (i >= 2));
    assert_ok(run_tuner(dev, &q, &(ft_tuner_options){.rounds = 2}, t, &r));
    assert_true(r.count > 2 && r.winner < r.count);
    for (size_t k = 0; k < r.count; k++) {
      assert_string_equal(r.candidates[k].why, "");
      assert_true(r.candidates[k].runs > 0 && r.candidates[k].best <= r.candidates[k].median);
    }
    const ft_tuning_entry *e = &t->entries[0];
    assert_int_equal(e->chosen, r.winner > 0);
    assert_true(e->runs > 0 && e->seconds > 0 && e->seconds <= e->standard_seconds);
    assert_int_equal(e->refused_count, 0);
    free(r.candidates);
    ft_tuning_release(&t);
  }
}

/* A step of 6 along k, where the shader loads 4 at a time, leaves out two of six products: fast,
 * and within bounds, but wrong. */
static const ft_configuration wrong = {{64, 4, 4, 6, 8, 1}};

/* An entry that leaves nothing of the table to try. */
static ft_tuning *refuse_table(const ft_tuning_question *q) {
  ft_tuning *t = ft_tuning_new();
  ft_tuning_entry *e = ft_tuning_add(t, q->key, q->family);
  for (size_t i = 0; i < ft_configuration_count(q->family); i++) {
    ft_configuration c = ft_configuration_at(q->family, i);
    assert_ok(ft_tuning_refuse(e, &c, "not now"));
  }
  return t;
}

TEST(test_wrong_ones_are_refused) {
  owned_device *dev = test_open_device("gemm=tiled");
  const ft_tuner_options options = {.rounds = 2, .extra = &wrong, .extra_count = 1};
  const test_op op = make_product(&small);
  ft_tuning_question q = question(dev, &op);
  ft_tuning *t = refuse_table(&q);
  ft_tuner_result r;
  assert_ok(run_tuner(dev, &q, &options, t, &r));
  assert_int_equal(r.count, 2);
  assert_string_equal(r.candidates[0].why, "");
  assert_non_null(strstr(r.candidates[1].why, "differs from the reference"));
  assert_int_equal(r.candidates[1].runs, 0);
  assert_int_equal(r.winner, 0);
  assert_false(t->entries[0].chosen);
  free(r.candidates);

  /* If the op's own choice were the wrong one, a right one would take its place whatever its time,
   * and without one there is no result. */
  const ft_configuration own = q.standard;
  ft_tuning_question turned = q;
  turned.standard = wrong;
  assert_ok(run_tuner(dev, &turned,
                      &(ft_tuner_options){.rounds = 1, .extra = &own, .extra_count = 1}, t, &r));
  assert_non_null(strstr(r.candidates[0].why, "differs from the reference"));
  assert_int_equal(r.winner, 1);
  assert_true(t->entries[0].chosen && ft_configuration_same(&t->entries[0].choice, &own));
  free(r.candidates);
  assert_fails(run_tuner(dev, &turned, &(ft_tuner_options){.rounds = 1}, t, &r),
               FILTRA_ERROR_UNSUPPORTED, "no configuration gives the reference's results");
  free(r.candidates);
  ft_tuning_release(&t);
}

TEST(test_what_does_not_win_by_enough) {
  const test_op op = make_product(&small);
  ft_tuning *t = ft_tuning_new();
  ft_tuning_question q = question(test_device(), &op);
  ft_tuner_result r;
  assert_ok(run_tuner(test_device(), &q, &(ft_tuner_options){.rounds = 1, .margin = 0.999}, t, &r));
  assert_int_equal(r.winner, 0);
  assert_false(t->entries[0].chosen);
  free(r.candidates);
  ft_tuning_release(&t);
}

TEST(test_a_dead_tuner_leaves_word) {
  filtra_device *dev = test_device();
  const char *folder = test_folder();
  owned char *path = ft_path_join(folder, "t.json"), *journal = ft_tuner_journal(path);
  owned char *dead =
      ft_format("%s.%d.trying", path, INT32_MAX); /* larger than any process's number */
  const test_op op = make_product(&small);
  ft_tuning_question q = question(dev, &op);
  ft_tuning *left = ft_tuning_new(), *t = ft_tuning_new();
  ft_tuner_result r;
  assert_ok(run_tuner(dev, &q, &(ft_tuner_options){.rounds = 1, .journal = journal}, t, &r));
  assert_false(ft_file_exists(journal));
  assert_true(r.count > 2);
  const ft_configuration second = r.candidates[1].configuration;
  const size_t before = r.count;
  free(r.candidates);
  t->entries[0].chosen = true;
  t->entries[0].choice = second;

  assert_ok(ft_tuning_refuse(ft_tuning_add(left, q.key, q.family), &second, "the process ended"));
  assert_ok(ft_tuning_save(dev, left, dead));
  assert_ok(ft_tuning_save(dev, left, journal)); /* of one that lives: left alone */
  ft_tuning_release(&left);
  assert_ok(ft_tuner_recover(dev, path, t));
  assert_true(!ft_file_exists(dead) && ft_file_exists(journal));
  assert_false(t->entries[0].chosen);
  assert_string_equal(ft_tuning_refused(&t->entries[0], &second), "the process ended");
  assert_ok(run_tuner(dev, &q, &(ft_tuner_options){.rounds = 1, .journal = journal}, t, &r));
  assert_int_equal(r.count, before - 1);
  free(r.candidates);
  assert_false(ft_file_exists(journal));
  assert_ok(ft_file_write(dead, "{", 1)); /* cut off: only said */
  assert_ok(ft_tuner_recover(dev, path, t));
  assert_false(ft_file_exists(dead));
  ft_tuning_release(&t);
}

/* Pipelines that are not made, memory that is not there: of one candidate, it is refused; of the
 * reference, all fails. Nothing is left either way. */
TEST(test_failing_calls) {
  const test_op op = make_product(&small);
  owned_device *dev = test_open_device("submission_ms=0");
  ft_tuning_question q = question(dev, &op);
  uint64_t used_before = filtra_device_memory_used(dev);
  size_t refused = 0, failed = 0;
  for (long n = 1; n < 400; n += 23) {
    ft_tuning *t = ft_tuning_new();
    ft_tuner_result r;
    ft_vk_fail_after(n, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    filtra_status status = run_tuner(dev, &q, &(ft_tuner_options){.rounds = 1}, t, &r);
    ft_vk_fail_after(0, VK_SUCCESS);
    failed += status != FILTRA_OK;
    for (size_t i = 0; i < r.count && !status; i++)
      refused += *r.candidates[i].why != '\0';
    free(r.candidates);
    ft_tuning_release(&t);
    assert_true(filtra_device_memory_used(dev) == used_before);
  }
  assert_true(refused > 0 && failed > 0);
}

TEST_MAIN(NULL, test_teardown)
