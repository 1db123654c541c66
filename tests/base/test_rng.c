/* Philox against the published known answers, and the distributions drawn from it. */
#include "support/harness.h"

#include "base/rng.h"

/* From kat_vectors of the authors' Random123 library, "philox4x32 10". */
static const struct {
  uint32_t counter[4], key[2], answer[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST(test_known_answers) {
  for (size_t i = 0; i < FT_COUNT(known); i++) {
    uint32_t out[4];
    ft_philox(known[i].counter, known[i].key, out);
    assert_memory_equal(out, known[i].answer, sizeof out);
  }
}

TEST(test_streams) {
  ft_rng a = ft_rng_make(1, 2), b = ft_rng_make(1, 2), c = ft_rng_make(1, 3), d = ft_rng_make(2, 2);
  int same_stream = 0, same_seed = 0;
  for (int i = 0; i < 1000; i++) {
    uint32_t word = ft_rng_u32(&a);
    assert_int_equal(word, ft_rng_u32(&b));
    same_stream += word == ft_rng_u32(&c);
    same_seed += word == ft_rng_u32(&d);
  }
  assert_true(same_stream < 2 && same_seed < 2);
  assert_int_equal(a.position, 1000);
  for (int i = 0; i < 3; i++)
    ft_rng_u32(&a);
  ft_rng copy = a; /* in the middle of a block of four */
  for (int i = 0; i < 10; i++)
    assert_int_equal(ft_rng_u32(&a), ft_rng_u32(&copy));
}

TEST(test_below_is_uniform) {
  ft_rng rng = ft_rng_make(5, 0);
  enum { DRAWS = 70000, BOUND = 7 };
  int counts[BOUND] = {0};
  for (int i = 0; i < DRAWS; i++)
    counts[ft_rng_below(&rng, BOUND)]++;
  for (int i = 0; i < BOUND; i++) /* 5 standard deviations of a binomial with p = 1/7 */
    assert_true(fabs(counts[i] - DRAWS / 7.0) < 5 * sqrt(DRAWS * 6.0 / 49));
  for (int i = 0; i < 100; i++) {
    assert_int_equal(ft_rng_below(&rng, 1), 0);
    assert_true(ft_rng_below(&rng, UINT64_MAX) < UINT64_MAX);
    assert_true(ft_rng_below(&rng, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
  }
}

TEST(test_reals) {
  ft_rng rng = ft_rng_make(6, 0);
  enum { DRAWS = 100000 };
  double sum = 0, sum_double = 0, moments[5] = {0};
  for (int i = 0; i < DRAWS; i++) {
    float u = ft_rng_float(&rng);
    double v = ft_rng_double(&rng), z = ft_rng_normal(&rng);
    assert_true(u >= 0 && u < 1 && v >= 0 && v < 1 && isfinite(z));
    sum += u;
    sum_double += v;
    for (int k = 1; k < 5; k++)
      moments[k] += pow(z, k) / DRAWS;
  }
  double deviation = 5 / sqrt(DRAWS); /* 5 standard deviations of a mean of unit variance */
  assert_true(fabs(sum / DRAWS - 0.5) < deviation / sqrt(12));
  assert_true(fabs(sum_double / DRAWS - 0.5) < deviation / sqrt(12));
  assert_true(fabs(moments[1]) < deviation);
  assert_true(fabs(moments[2] - 1) < deviation * sqrt(2));
  assert_true(fabs(moments[3]) < deviation * sqrt(15));
  assert_true(fabs(moments[4] - 3) < deviation * sqrt(96));
}

TEST(test_hash) {
  /* FNV-1a, 64 bits, from the reference's test vectors */
  assert_true(ft_hash_text("") == UINT64_C(0xcbf29ce484222325));
  assert_true(ft_hash_text("a") == UINT64_C(0xaf63dc4c8601ec8c));
  assert_true(ft_hash_text("foobar") == UINT64_C(0x85944171f73967e8));
}

TEST_MAIN(NULL, test_teardown)
