/* Choosing a token from logits: frequencies, limits, reproducible draws, refusals. */
#include "support/harness.h"

#include <filtra/generate.h>

enum { V = 6 };

/* Probabilities of tokens 1 to 5: 0.5, 0.1, 0.25, 0.1, 0.05; padding would win. */
static void make_logits(float logits[V]) {
  const double p[V] = {8, 0.5, 0.1, 0.25, 0.1, 0.05};
  for (int i = 0; i < V; i++)
    logits[i] = (float)log(p[i]) + 3.0f;
}

/* Shares of the tokens over many draws. */
static void shares(const filtra_sampling *o, double share[V]) {
  enum { DRAWS = 20000 };
  float logits[V];
  make_logits(logits);
  memset(share, 0, V * sizeof *share);
  for (uint64_t i = 0; i < DRAWS; i++) {
    int32_t token = -1;
    assert_ok(filtra_sample_token(logits, V, o, i, &token));
    assert_between(token, 1, V - 1);
    share[token] += 1.0 / DRAWS;
  }
}

/* Within five standard deviations. */
static void assert_shares(const filtra_sampling *o, const double expected[V]) {
  double share[V];
  shares(o, share);
  for (int i = 0; i < V; i++)
    if (fabs(share[i] - expected[i]) > 0.0177)
      fail_msg("token %d has the share %.4f, expected is %.4f", i, share[i], expected[i]);
}

TEST(draws_follow_the_probabilities) {
  assert_shares(&(filtra_sampling){.temperature = 1, .seed = 1},
                (double[V]){0, 0.5, 0.1, 0.25, 0.1, 0.05});
  /* squares of the probabilities, over their sum 0.335 */
  assert_shares(
      &(filtra_sampling){.temperature = 0.5f, .seed = 2},
      (double[V]){0, 0.25 / 0.335, 0.01 / 0.335, 0.0625 / 0.335, 0.01 / 0.335, 0.0025 / 0.335});
  assert_shares(&(filtra_sampling){.temperature = 1e6f, .seed = 3},
                (double[V]){0, 0.2, 0.2, 0.2, 0.2, 0.2});
  assert_shares(&(filtra_sampling){.temperature = 1e-6f}, (double[V]){0, 1});
}

/* In other programs' vocabularies token 0 is text. */
TEST(zero_can_be_a_token) {
  float logits[V];
  make_logits(logits);
  int32_t token = -1;
  assert_ok(filtra_sample_token(logits, V, &(filtra_sampling){.zero = true}, 0, &token));
  assert_int_equal(token, 0);
  size_t zeros = 0;
  for (uint64_t i = 0; i < 900; i++) {
    const filtra_sampling o = {.temperature = 1, .seed = 7, .zero = true};
    assert_ok(filtra_sample_token(logits, V, &o, i, &token));
    zeros += token == 0;
  }
  assert_between(zeros, 770, 830); /* 8 of 9 */
}

TEST(limits_leave_the_most_probable) {
  assert_shares(&(filtra_sampling){.temperature = 1, .top_k = 1}, (double[V]){0, 1});
  assert_shares(&(filtra_sampling){.temperature = 1, .top_k = 2},
                (double[V]){0, 2.0 / 3, 0, 1.0 / 3});
  /* equals go by their id */
  assert_shares(&(filtra_sampling){.temperature = 1, .top_k = 3},
                (double[V]){0, 0.5 / 0.85, 0.1 / 0.85, 0.25 / 0.85});
  assert_shares(&(filtra_sampling){.temperature = 1, .top_k = 100},
                (double[V]){0, 0.5, 0.1, 0.25, 0.1, 0.05});
  assert_shares(&(filtra_sampling){.temperature = 1, .top_p = 1e-6f}, (double[V]){0, 1});
  assert_shares(&(filtra_sampling){.temperature = 1, .top_p = 0.49f}, (double[V]){0, 1});
  assert_shares(&(filtra_sampling){.temperature = 1, .top_p = 0.7f},
                (double[V]){0, 2.0 / 3, 0, 1.0 / 3});
  assert_shares(&(filtra_sampling){.temperature = 1, .top_p = 1},
                (double[V]){0, 0.5, 0.1, 0.25, 0.1, 0.05});
  /* of the three that top_k leaves, two have 0.75 / 0.85 */
  assert_shares(&(filtra_sampling){.temperature = 1, .top_k = 3, .top_p = 0.8f},
                (double[V]){0, 2.0 / 3, 0, 1.0 / 3});
}

TEST(draws_are_a_function_of_seed_and_number) {
  float logits[V];
  make_logits(logits);
  int differ[2] = {0};
  for (uint64_t i = 0; i < 200; i++) {
    int32_t token[4];
    const filtra_sampling a = {.temperature = 1, .seed = 7}, b = {.temperature = 1, .seed = 8};
    assert_ok(filtra_sample_token(logits, V, &a, i, &token[0]));
    assert_ok(filtra_sample_token(logits, V, &a, i, &token[1]));
    assert_ok(filtra_sample_token(logits, V, &b, i, &token[2]));
    assert_ok(filtra_sample_token(logits, V, &a, i + 1, &token[3]));
    assert_int_equal(token[0], token[1]);
    differ[0] += token[0] != token[2];
    differ[1] += token[0] != token[3];
  }
  assert_true(differ[0] > 50 && differ[1] > 50);
}

TEST(without_temperature_the_first_largest_wins) {
  int32_t token = 0;
  assert_ok(filtra_sample_token((float[]){9, 1, 3, -1, 3}, 5, NULL, 0, &token));
  assert_int_equal(token, 2);
  assert_ok(filtra_sample_token((float[]){9, -INFINITY, -3}, 3, NULL, 0, &token));
  assert_int_equal(token, 2);
  assert_ok(filtra_sample_token((float[]){9, -4}, 2, &(filtra_sampling){.top_k = 5}, 0, &token));
  assert_int_equal(token, 1);
}

TEST(mistakes_are_told) {
  const float logits[] = {0, 1, 2}, broken[] = {0, 1, NAN}, first[] = {NAN, 1, 2},
              endless[] = {0, 1, INFINITY}, none[] = {0, -INFINITY, -INFINITY};
  int32_t token;
#define REFUSE(logits, count, status, part, ...)                                                   \
  assert_fails(filtra_sample_token(logits, count, &(filtra_sampling){__VA_ARGS__}, 0, &token),     \
               status, part)
  REFUSE(logits, 3, FILTRA_ERROR_ARGUMENT, "temperature is -1", .temperature = -1);
  REFUSE(logits, 3, FILTRA_ERROR_ARGUMENT, "temperature is nan", .temperature = NAN);
  REFUSE(logits, 3, FILTRA_ERROR_ARGUMENT, "top_k is -2", .top_k = -2);
  REFUSE(logits, 3, FILTRA_ERROR_ARGUMENT, "top_p is 1.5", .top_p = 1.5f);
  REFUSE(logits, 3, FILTRA_ERROR_ARGUMENT, "top_p is nan", .top_p = NAN);
  REFUSE(logits, 1, FILTRA_ERROR_ARGUMENT, "1 tokens", .top_p = 1);
  REFUSE(broken, 3, FILTRA_ERROR_NONFINITE, "token 2", .temperature = 1);
  REFUSE(first, 3, FILTRA_ERROR_NONFINITE, "token 0", .temperature = 0);
  REFUSE(endless, 3, FILTRA_ERROR_NONFINITE, "token 2", .temperature = 1);
  REFUSE(none, 3, FILTRA_ERROR_NONFINITE, "not finite", .temperature = 1);
#undef REFUSE
}

TEST_MAIN(NULL, NULL)
