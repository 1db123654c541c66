#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"

static filtra_dataset *open_ok(const char *path, const filtra_dataset_options *options) {
  filtra_dataset *ds = test_open_dataset(path, "text-lm", options);
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_NEXT);
  return ds;
}

/* Joins the windows of a split to the tokens of its whole text; returns how many. */
static size_t whole(const filtra_dataset *ds, filtra_split split, int32_t *tokens) {
  size_t count = 0;
  for (uint64_t i = 0; i < filtra_dataset_get_info(ds)->count[split]; i++) {
    filtra_sample s = test_sample(ds, split, i);
    /* The token behind a window is the first of the next one. */
    if (count > 0) assert_int_equal(tokens[count - 1], s.tokens[0]);
    for (uint32_t k = count > 0; k <= s.length; k++)
      tokens[count++] = s.tokens[k];
  }
  return count;
}

static void assert_text(const filtra_dataset *ds, filtra_split split, const char *expected) {
  int32_t tokens[256];
  char text[512];
  size_t count = whole(ds, split, tokens), length;
  assert_ok(filtra_tokenizer_decode(filtra_dataset_get_info(ds)->tokenizer, tokens, count, text,
                                    sizeof text, &length));
  assert_string_equal(text, expected);
}

/* ---- tables by another name ---- */

static const char MRPC[] = "\xef\xbb\xbfQuality\t#1 ID\t#1 String\t#2 String\r\n1\t7\tso \"it\t"
                           "is\r\n0\t8\tno\t\"it is\" not\r\n1\t9\tlast\tone\n";

/* As GLUE has it: a table in a .txt file, which is text only where that is said. */
TEST(test_tables_are_not_text) {
  const char *folder = test_folder(), *path = test_write_text(folder, "train.txt", MRPC);
  filtra_dataset_options o = {0};
  test_refuse_dataset(path, &o,
                      "train.txt: each line has 3 tabs, as in a table: set text_column and "
                      "target_column to read it so, or format to text-lm");
  test_refuse_dataset(folder, &o, "train.txt: each line has 3 tabs");
  o.format = "text-lm";
  assert_ok(test_try_dataset(path, &o));
  o = (filtra_dataset_options){.text_column = "#1 String", .target_column = "Quality"};
  for (int i = 0; i < 2; i++) {
    owned_dataset *ds = test_open_dataset(i ? folder : path, "table", &o);
    test_counts(ds, 2, 1, 0);
    assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TRAIN, 0), "so \"it");
    test_write_text(folder, "readme.txt", "no split");
  }
  static const char *const texts[] = {"a\tb\nc\td\ne\n", "a\tb\nc\td\n", "a b\nc d\ne f\n"};
  for (size_t i = 0; i < FT_COUNT(texts); i++)
    assert_ok(test_try_dataset(test_write_text(test_folder(), "a.txt", texts[i]), NULL));
}

/* ---- what is right ---- */

TEST(test_one_file) {
  const char *path = test_write_text(test_folder(), "input.txt", "abcdefghijklmnopqrstuvwxyz");
  owned_dataset *ds = open_ok(path, &(filtra_dataset_options){.max_length = 10});
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "characters");
  assert_int_equal(filtra_tokenizer_size(info->tokenizer), 27);
  test_counts(ds, 3, 1, 0);
  assert_int_equal(info->longest, 10);
  assert_true(info->validation_held_out);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TRAIN, 2);
  assert_int_equal(s.length, 3); /* 24 tokens: windows of 10, 10 and 3, and the last successor */
  assert_text(ds, FILTRA_SPLIT_TRAIN, "abcdefghijklmnopqrstuvwx");
  assert_text(ds, FILTRA_SPLIT_VAL, "yz");
  filtra_dataset_close(&ds);
  ds = open_ok(path,
               &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST, .tokenizer = "bytes"});
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TRAIN], 0);
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 1);
  assert_text(ds, FILTRA_SPLIT_TEST, "abcdefghijklmnopqrstuvwxyz");
}

/* Successors come from the next window, and one bucket serves all windows. */
TEST(test_batches) {
  const char *path =
      test_write_text(test_folder(), "input.txt", "abcdefghijklmnopqrstuvwxyzabcdefghij");
  owned_dataset *ds =
      open_ok(path, &(filtra_dataset_options){.max_length = 20, .file_split = FILTRA_SPLIT_TEST});
  filtra_batch batch;
  size_t buckets;
  owned_loader *loader =
      test_loader(ds, &(filtra_loader_options){.split = FILTRA_SPLIT_TEST, .batch_size = 2});
  assert_int_equal(filtra_loader_buckets(loader, &buckets)[0], 20);
  assert_int_equal(buckets, 1);
  assert_ok(filtra_loader_next(loader, &batch));
  assert_int_equal(batch.count, 2);
  assert_int_equal(batch.lengths[0], 20);
  assert_int_equal(batch.lengths[1], 15);
  assert_int_equal(batch.labels[19], batch.tokens[20]);
  assert_int_equal(batch.labels[20 + 14], batch.tokens[9]); /* j */
  assert_int_equal(batch.labels[20 + 15], -1);
}

TEST(test_folder_of_words) {
  const char *folder = test_folder();
  test_write_text(folder, "wiki.train.tokens", " = A = \n\n b <unk> b c\n");
  test_write_text(folder, "wiki.valid.tokens", " b d\n \n");
  test_write_text(folder, "wiki.test.tokens", "c c\r\nb");
  test_write_text(folder, "README.md", "not this");
  filtra_dataset *ds = open_ok(folder, NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "words");
  assert_int_equal(filtra_tokenizer_size(info->tokenizer), 7);
  assert_text(ds, FILTRA_SPLIT_TRAIN, "= A =\n\nb <unk> b c\n");
  assert_text(ds, FILTRA_SPLIT_VAL, "b <unk>\n\n");
  assert_text(ds, FILTRA_SPLIT_TEST, "c c\nb\n"); /* every line ends */
  assert_false(info->validation_held_out);
  filtra_dataset_close(&ds);
  ds = open_ok(folder, &(filtra_dataset_options){.tokenizer = "characters"});
  assert_text(ds, FILTRA_SPLIT_TEST, "c c\nb");
  filtra_dataset_close(&ds);
  test_write_text(folder, "train.txt", "a b");
  test_refuse_dataset(folder, NULL, "train.txt and wiki.train.tokens");
}

static char warnings[4096];

static void note(void *user, filtra_log_level level, const char *text) {
  (void)user, (void)level;
  snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n", text);
}

static void open_noted(const char *folder) {
  warnings[0] = '\0';
  filtra_log_set(note, NULL);
  owned_dataset *ds = open_ok(folder, NULL);
  filtra_log_set(NULL, NULL);
  assert_text(ds, FILTRA_SPLIT_TEST, "cab");
}

/* Texts beside those of splits are read by nothing, which is said; so is that nothing can be held
 * out of one window. */
TEST(test_texts_beside_splits) {
  const char *folder = test_folder();
  test_write_text(folder, "train.txt", "abc abc abc");
  test_write_text(folder, "test.txt", "cab");
  test_write_text(folder, "notes.md", "no text");
  open_noted(folder);
  assert_string_equal(warnings, "of one training sample none is held out for validation\n");
  test_write_text(folder, "chapter1.txt", "abc");
  test_write_text(folder, "train2.txt.gz", "abc");
  open_noted(folder);
  assert_non_null(strstr(warnings, "/chapter1.txt is left out: its name ends with no split's"));
  assert_non_null(strstr(warnings, "/train2.txt.gz is left out: "));
  assert_null(strstr(warnings, "notes.md"));
  assert_null(strstr(warnings, "more such"));
  for (char name[] = "a0.txt"; name[1] <= '7'; name[1]++)
    test_write_text(folder, name, "abc");
  open_noted(folder);
  assert_non_null(strstr(warnings, "/a7.txt is left out: "));
  assert_null(strstr(warnings, "chapter1"));
  assert_non_null(strstr(warnings, ": 2 more such files are left out"));
}

/* A vocabulary that was made before reads other text as it did the first. */
TEST(test_fitted) {
  const char *folder = test_folder();
  owned_dataset *first = open_ok(test_write_text(folder, "a.txt", "abc abc\nabc"), NULL);
  const filtra_dataset_options options = {.fitted = filtra_dataset_get_info(first)->tokenizer,
                                          .file_split = FILTRA_SPLIT_TEST,
                                          .tokenizer = "words"};
  owned_dataset *second = open_ok(test_write_text(folder, "b.txt", "cb"), &options);
  assert_ptr_equal(filtra_dataset_get_info(second)->tokenizer, options.fitted);
  assert_text(second, FILTRA_SPLIT_TEST, "cb");
  test_refuse_dataset(test_write_text(folder, "b.txt", "abc\nbad\n"), &options,
                      "b.txt:2: the character 'd' U+0064 at column 3 is not in the vocabulary");
}

/* Longer than any passage, whatever it is cut at: the same tokens as in one go. */
TEST(test_long_texts) {
  enum { COUNT = 700001 };
  static const char *const units[] = {"abc\r\n", "abc ", "\xe2\x82\xac", "\xf0\x9f\x98\x80x",
                                      "\r\n"};
  static const char *const joined[] = {"abc\n", "abc ", "\xe2\x82\xac", "\xf0\x9f\x98\x80x", "\n"};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(units); i++) {
    size_t unit = strlen(units[i]), plain = strlen(joined[i]), units_in = COUNT / unit;
    owned char *text = ft_calloc(COUNT + 2, 1);
    text[0] = 'b'; /* so that units do not lie evenly in passages */
    for (size_t k = 0; k < units_in; k++)
      memcpy(text + 1 + k * unit, units[i], unit);
    const char *path = test_write_bytes(folder, "long.txt", text, 1 + units_in * unit);
    owned_dataset *ds = open_ok(
        path, &(filtra_dataset_options){.tokenizer = "bytes", .file_split = FILTRA_SPLIT_TEST});
    const ft_tokens *tokens = &ds->samples[FILTRA_SPLIT_TEST].tokens;
    assert_int_equal(tokens->count, 1 + units_in * plain);
    for (size_t k = 1; k < tokens->count; k++)
      if (tokens->ids[k] != (unsigned char)joined[i][(k - 1) % plain] + 1) fail();
    filtra_dataset_close(&ds);
    ds = open_ok(path, &(filtra_dataset_options){.tokenizer = "characters"});
  }
}

TEST(test_packed_file) {
  const char *path = test_write_gzip(test_folder(), "train.txt.gz", "hello hello", 11, 1);
  owned_dataset *ds = open_ok(path, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_VAL});
  assert_text(ds, FILTRA_SPLIT_VAL, "hello hello");
}

/* ---- what is wrong ---- */

TEST(test_damaged_texts) {
  static const struct {
    const char *text;
    size_t size;
    const char *tokenizer, *part;
  } cases[] = {
      {"", 0, "bytes", "data.txt is empty"},
      {"\xef\xbb\xbf", 3, "bytes", "data.txt has 0 tokens"},
      {"\xef\xbb\xbf", 3, "characters", "0 symbols"},
      {"a", 1, "bytes", "data.txt has 1 tokens; a text needs 2"},
      {" ", 1, "words", "data.txt has 0 tokens"},
      {"ab\nc\0d", 6, "bytes", "data.txt:2: a NUL byte"},
      {"ab\nc\0d", 6, "words", "data.txt:2: a NUL byte"},
      {"ab\n\nc\xff", 6, "characters", "data.txt:3: byte 0xff at column 2"},
      {"ab\n\nc \xc3", 7, "words", "data.txt:3: byte 0xc3 at column 3"},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    test_refuse_dataset(test_write_bytes(folder, "data.txt", cases[i].text, cases[i].size),
                        &(filtra_dataset_options){.tokenizer = cases[i].tokenizer}, cases[i].part);
  test_refuse_dataset(folder, &(filtra_dataset_options){.format = "text-lm"},
                      "holds none of the files of text-lm: ");
  const char *path = test_write_text(folder, "data.txt", "some text");
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "bites"}),
               FILTRA_ERROR_ARGUMENT, "no tokenizer \"bites\"");
}

/* Any two bytes or more of UTF-8 are a text; every allocation that fails is reported. */
TEST(test_cut_anywhere) {
  const char *text = "\xef\xbb\xbf"
                     "a \xc3\xa9\r\n<unk> \xe2\x82\xac\n";
  static const char *const names[] = {"bytes", "characters", "words"};
  for (size_t i = 0; i < FT_COUNT(names); i++)
    test_dataset_cuts("cut.txt", text, strlen(text),
                      &(filtra_dataset_options){.tokenizer = names[i]});
}

TEST(test_memory_failures) {
  static const char *const names[] = {"bytes", "characters", "words"};
  const char *path =
      test_write_text(test_folder(), "data.txt", "some text of some words\nand lines");
  for (size_t i = 0; i < FT_COUNT(names); i++)
    test_dataset_memory(path, &(filtra_dataset_options){.tokenizer = names[i]});
}

/* ---- the real ones ---- */

TEST(test_tinyshakespeare) {
  owned_dataset *ds = open_ok(test_shared_data("lm/tinyshakespeare/input.txt"), NULL);
  assert_int_equal(filtra_tokenizer_size(filtra_dataset_get_info(ds)->tokenizer), 66);
  assert_int_equal(ds->samples[FILTRA_SPLIT_TRAIN].tokens.count, 1003855);
  assert_int_equal(ds->samples[FILTRA_SPLIT_VAL].tokens.count, 111539); /* 1,115,394 in all */
}

TEST(test_wikitext) {
  owned_dataset *ds = open_ok(test_shared_data("lm/wikitext-2"), NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "words");
  assert_int_equal(info->count[FILTRA_SPLIT_TRAIN], 0);
  const ft_tokens *val = &ds->samples[FILTRA_SPLIT_VAL].tokens;
  assert_int_equal(val->count, 217646);
  assert_int_equal(ds->samples[FILTRA_SPLIT_TEST].tokens.count, 245569);
  assert_int_equal(filtra_tokenizer_size(info->tokenizer), 13778);
  size_t lines = 0;
  for (size_t i = 0; i < val->count; i++)
    lines += val->ids[i] == FT_WORD_END_OF_LINE;
  assert_int_equal(lines, 3760);
}

TEST_MAIN(NULL, test_teardown)
