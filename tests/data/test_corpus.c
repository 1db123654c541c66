/* Text read by a pretrained tokenizer: special tokens around texts with a target, none in text for
 * language models, and whole texts encoded at once. */
#include "base/memory.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

static const char LIST[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##c\n";

static const char *tokenizer(void) {
  const char *folder = test_folder();
  test_write_text(folder, "vocab.txt", LIST);
  return folder;
}

static const char *table(void) {
  return test_write_text(test_folder(), "t.csv",
                         "text,label\nab a,x\nA b a b,y\nac,x\nb,y\nb a,x\na a,y\n");
}

static void check_row(const filtra_dataset *ds, size_t row, const int32_t *want, size_t count) {
  const ft_sample_row *r = &ds->samples[FILTRA_SPLIT_TEST].rows[row];
  assert_int_equal(r->length, count);
  assert_memory_equal(ds->samples[FILTRA_SPLIT_TEST].tokens.ids + r->first, want,
                      count * sizeof *want);
}
#define check(ds, row, ...)                                                                        \
  check_row(ds, row, (const int32_t[]){__VA_ARGS__},                                               \
            sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

TEST(texts_with_targets_are_framed) {
  const filtra_dataset_options options = {.tokenizer = tokenizer(),
                                          .file_split = FILTRA_SPLIT_TEST};
  owned_dataset *ds = test_open_dataset(table(), "table", &options);
  assert_string_equal(filtra_tokenizer_name(filtra_dataset_get_info(ds)->tokenizer), "wordpiece");
  check(ds, 0, 2, 1, 5, 3); /* "ab" has no ##b */
  check(ds, 1, 2, 5, 6, 5, 6, 3);
  check(ds, 2, 2, 5, 7, 3);
  check(ds, 3, 2, 6, 3);
}

TEST(frames_are_whole_where_texts_are_cut) {
  filtra_dataset_options options = {
      .tokenizer = tokenizer(), .file_split = FILTRA_SPLIT_TEST, .max_length = 4, .truncate = true};
  owned_dataset *ds = test_open_dataset(table(), "table", &options);
  check(ds, 1, 2, 5, 6, 3);
  options.truncate = false;
  test_refuse_dataset(table(), &options, "more than 4 tokens, 2 special ones included");
  options =
      (filtra_dataset_options){.tokenizer = options.tokenizer, .max_length = 2, .truncate = true};
  test_refuse_dataset(table(), &options, "max_length 2 leaves no room for text beside 2");
}

TEST(a_tokenizer_in_memory_is_framed_too) {
  filtra_tokenizer *t;
  assert_ok(filtra_tokenizer_load(tokenizer(), &t));
  {
    owned_dataset *ds = test_open_dataset(
        table(), "table", &(filtra_dataset_options){.fitted = t, .file_split = FILTRA_SPLIT_TEST});
    check(ds, 3, 2, 6, 3);
  }
  filtra_tokenizer_destroy(&t);
}

TEST(names_and_paths_of_tokenizers) {
  filtra_dataset *ds;
  assert_fails(
      filtra_dataset_open(table(), &(filtra_dataset_options){.tokenizer = "/nothing/here"}, &ds),
      FILTRA_ERROR_ARGUMENT, "and folders of pretrained tokenizers");
  test_refuse_dataset(table(), &(filtra_dataset_options){.tokenizer = test_folder()},
                      "has no tokenizer.json");
  test_refuse_dataset(test_write_text(test_folder(), "t.csv", "text,label\na,x\n\xff,y\n"),
                      &(filtra_dataset_options){.tokenizer = tokenizer()}, "t.csv:3");
}

/* A word that two passages of a file share stays one, and language models get no frame. */
TEST(whole_files_are_encoded) {
  enum { WORDS = 200000 };
  owned char *text = ft_calloc(WORDS, 3);
  for (size_t i = 0; i < WORDS; i++)
    memcpy(text + 3 * i, i % 1000 == 999 ? "a\n\n" : "ac ", 3);
  const filtra_dataset_options options = {
      .tokenizer = tokenizer(), .file_split = FILTRA_SPLIT_TEST, .max_length = 64};
  owned_dataset *ds = test_open_dataset(
      test_write_bytes(test_folder(), "w.txt", text, (size_t)WORDS * 3), "text-lm", &options);
  const ft_tokens *tokens = &ds->samples[FILTRA_SPLIT_TEST].tokens;
  size_t count;
  owned int32_t *ids = ft_calloc(2 * (size_t)WORDS, sizeof *ids);
  assert_ok(filtra_tokenizer_encode(filtra_dataset_get_info(ds)->tokenizer, text, (size_t)WORDS * 3,
                                    ids, 2 * (size_t)WORDS, &count));
  assert_int_equal(tokens->count, count);
  assert_int_equal(count, 2 * WORDS - WORDS / 1000);
  assert_memory_equal(tokens->ids, ids, count * sizeof *ids);
}

TEST(memory_runs_out) {
  test_dataset_memory(table(), &(filtra_dataset_options){.tokenizer = tokenizer()});
}

TEST_MAIN(NULL, test_teardown)
