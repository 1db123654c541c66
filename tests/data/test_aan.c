#include "base/memory.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"

static const char small_pairs[] = "1.0\tP01\tP02\tab \"c\tde\n0.0\tP03\tP04\tf\tghi\n";

static filtra_dataset *open_ok(const char *path, const filtra_dataset_options *options) {
  filtra_dataset *ds = test_open_dataset(path, "aan-pairs", options);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_int_equal(info->sequences, 2);
  assert_int_equal(info->classes, 2);
  return ds;
}

static void assert_tokens(const int32_t *tokens, uint32_t length, const char *text) {
  assert_int_equal(length, strlen(text));
  for (uint32_t i = 0; i < length; i++)
    assert_int_equal(tokens[i], (unsigned char)text[i] + 1);
}

TEST(test_folder_of_pairs) {
  const char *folder = test_folder();
  test_write_text(folder, "new_aan_pairs.train.tsv", small_pairs);
  test_write_text(folder, "new_aan_pairs.eval.tsv",
                  "\xef\xbb\xbf"
                  "1\ta\tb\tc\td\r\n");
  test_write_text(folder, "new_aan_pairs.test.tsv", "0.0\ta\tb\tc\td");
  test_write_text(folder, "other.train.tsv", "not this");
  owned_dataset *ds = open_ok(folder, NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  test_counts(ds, 2, 1, 1);
  assert_false(info->validation_held_out);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TRAIN, 0);
  assert_int_equal(s.label, 1);
  assert_tokens(s.tokens, s.length, "ab \"c");
  assert_tokens(s.second, s.second_length, "de");
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TRAIN, 1, &s));
  assert_int_equal(s.label, 0);
  assert_tokens(s.tokens, s.length, "f");
  assert_tokens(s.second, s.second_length, "ghi");
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_VAL, 0, &s));
  assert_int_equal(s.label, 1);
  assert_tokens(s.second, s.second_length, "d");
}

TEST(test_lengths) {
  owned char *text = ft_calloc(20000, 1);
  strcpy(text, "1.0\ta\tb\t");
  memset(text + strlen(text), 'x', 5000);
  strcat(text, "\ty\n");
  const char *path = test_write_text(test_folder(), "pairs.tsv", text);
  filtra_sample s;
  owned_dataset *ds = open_ok(path, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TEST, 0, &s));
  assert_int_equal(s.length, 4000); /* as the task defines it */
  assert_tokens(s.second, s.second_length, "y");
  filtra_dataset_close(&ds);
  filtra_dataset_options options = {.file_split = FILTRA_SPLIT_TEST, .max_length = 4500};
  test_refuse_dataset(path, &options, "pairs.tsv:1: a sequence of more than 4500 tokens");
  options.truncate = true;
  ds = open_ok(path, &options);
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TEST, 0, &s));
  assert_int_equal(s.length, 4500);
}

TEST(test_what_is_wrong) {
  static const struct {
    const char *line;
    size_t size;
    const char *part;
  } cases[] = {
      {"1.0\ta\tb\tc", 9, ":3: 4 fields where 5"},
      {"1.0\ta\tb\tc\td\te", 13, ":3: 6 fields where 5"},
      {"", 0, ":3: 1 field where 5"},
      {"2.0\ta\tb\tc\td", 11, ":3: the label is neither"},
      {"1.5\ta\tb\tc\td", 11, ":3: the label is neither"},
      {"1.00\ta\tb\tc\td", 12, ":3: the label is neither"},
      {"nan\ta\tb\tc\td", 11, ":3: the label is neither"},
      {"\ta\tb\tc\td", 8, ":3: the label is neither"},
      {"1.0\ta\tb\t\td", 10, ":3: the text is empty"},
      {"1.0\ta\tb\tc\t", 10, ":3: the text is empty"},
      {"1.0\ta\tb\tc\0\td", 12, ":3: a NUL byte"},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    char text[128];
    size_t size = sizeof small_pairs - 1;
    memcpy(text, small_pairs, size);
    memcpy(text + size, cases[i].line, cases[i].size);
    text[size + cases[i].size] = '\n';
    test_refuse_dataset(test_write_bytes(folder, "pairs.tsv", text, size + cases[i].size + 1), NULL,
                        cases[i].part);
  }
  test_refuse_dataset(folder, &(filtra_dataset_options){.format = "aan-pairs"},
                      "none of the files");
  test_write_text(folder, "new_aan_pairs.val.tsv", small_pairs);
  test_write_text(folder, "new_aan_pairs.eval.tsv", small_pairs);
  test_refuse_dataset(folder, NULL, "more than one file of the val split");
  const char *path = test_write_text(folder, "pairs.tsv", small_pairs);
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "listops"}),
               FILTRA_ERROR_ARGUMENT, "reads no free text");
}

/* Cut at any byte: a shorter set or an error with the line. */
TEST(test_cut_anywhere) {
  test_dataset_cuts("cut.tsv", small_pairs, strlen(small_pairs),
                    &(filtra_dataset_options){.format = "aan-pairs", .tokenizer = "words"});
}

TEST_MAIN(NULL, test_teardown)
