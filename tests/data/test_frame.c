/* Special tokens around one text and two, and how these texts are cut. */
#include "base/memory.h"
#include "data/tokenizer.h"
#include "support/harness.h"

static const ft_frame BERT = {.begin = 101, .middle = {102}, .middle_count = 1, .end = 102};
static const ft_frame ROBERTA = {.begin = 0, .middle = {2, 2}, .middle_count = 2, .end = 2};

static bool left; /* cuts texts at their beginning */

/* Frames the texts 1, 2, ... and 51, 52, ... of these lengths, after a 7 that is not theirs. */
static filtra_status frame(const ft_frame *f, size_t a, size_t b, size_t limit, bool truncate,
                           ft_tokens *tokens, size_t *second) {
  *tokens = (ft_tokens){0};
  assert_ok(ft_tokens_reserve(tokens, 1 + a + b));
  tokens->ids[tokens->count++] = 7;
  for (size_t i = 0; i < a; i++)
    tokens->ids[tokens->count++] = (int32_t)i + 1;
  for (size_t i = 0; i < b; i++)
    tokens->ids[tokens->count++] = (int32_t)i + 51;
  return ft_frame_tokens(f, left, tokens, 1, b ? 1 + a : SIZE_MAX, limit,
                         truncate ? NULL : "raise max_length or set truncate", second);
}

#define check(f, a, b, limit, second, ...)                                                         \
  do {                                                                                             \
    const int32_t want[] = {7, __VA_ARGS__};                                                       \
    ft_tokens tokens;                                                                              \
    size_t at = 99;                                                                                \
    assert_ok(frame(f, a, b, limit, true, &tokens, &at));                                          \
    assert_int_equal(tokens.count, FT_COUNT(want));                                                \
    assert_memory_equal(tokens.ids, want, sizeof want);                                            \
    assert_int_equal(at, second);                                                                  \
    free(tokens.ids);                                                                              \
  } while (0)

TEST(test_one_text) {
  check(&BERT, 3, 0, 9, 0, 101, 1, 2, 3, 102);
  check(&BERT, 3, 0, 5, 0, 101, 1, 2, 3, 102);
  check(&BERT, 3, 0, 4, 0, 101, 1, 2, 102);
  check(NULL, 3, 0, 2, 0, 1, 2);
  check(&((ft_frame){.begin = -1, .end = 9}), 3, 0, 3, 0, 1, 2, 9);
}

/* As `tokenizers` cuts, "longest first". */
TEST(test_two_texts) {
  check(&BERT, 2, 3, 9, 4, 101, 1, 2, 102, 51, 52, 53, 102);
  check(&ROBERTA, 2, 1, 9, 5, 0, 1, 2, 2, 2, 51, 2);
  check(&BERT, 5, 2, 7, 4, 101, 1, 2, 102, 51, 52, 102);
  check(&BERT, 2, 5, 8, 4, 101, 1, 2, 102, 51, 52, 53, 102);
  check(&BERT, 5, 6, 8, 4, 101, 1, 2, 102, 51, 52, 53, 102);
  check(&BERT, 6, 5, 8, 5, 101, 1, 2, 3, 102, 51, 52, 102);
  check(&BERT, 9, 1, 7, 5, 101, 1, 2, 3, 102, 51, 102);
  check(&BERT, 9, 9, 4, 2, 101, 102, 51, 102);
}

TEST(test_cut_on_the_left) {
  left = true;
  check(&BERT, 3, 0, 4, 0, 101, 2, 3, 102);
  check(&BERT, 5, 6, 8, 4, 101, 4, 5, 102, 54, 55, 56, 102);
  check(NULL, 3, 0, 2, 0, 2, 3);
  check(NULL, 3, 0, 3, 0, 1, 2, 3);
  left = false;
}

TEST(test_too_long) {
  ft_tokens tokens;
  assert_fails(frame(&BERT, 3, 0, 4, false, &tokens, NULL), FILTRA_ERROR_INPUT,
               "more than 4 tokens, 2 special ones included");
  free(tokens.ids);
  assert_fails(frame(NULL, 3, 0, 2, false, &tokens, NULL), FILTRA_ERROR_INPUT,
               "more than 2 tokens; raise max_length");
  free(tokens.ids);
  assert_fails(frame(&BERT, 3, 3, 3, true, &tokens, NULL), FILTRA_ERROR_INPUT,
               "max_length 3 leaves no room for text beside 3");
  free(tokens.ids);
}

TEST_MAIN(NULL, test_teardown)
