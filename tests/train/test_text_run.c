/* Runs whose tokenizer is made from the data: the run folder stores it, and other text is read with
 * it. */
#include "base/file.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>

static void write_text(const char *path, const char *text) {
  test_write(path, text, strlen(text));
}

static const char *config_text(const char *data, const char *tokenizer) {
  return test_text("{\"data\": \"%s\", \"tokenizer\": \"%s\", \"width\": 8, \"layers\": 1, "
                   "\"heads\": 1, \"batch_size\": 2, \"max_length\": 16, \"steps\": 6}",
                   data, tokenizer);
}

static const char corpus[] = "to be or not to be that is the question whether tis nobler in the "
                             "mind to suffer the slings and arrows of outrageous fortune\n";

TEST(test_tokenizer_is_kept) {
  static const char *const names[] = {"characters", "words"};
  for (size_t i = 0; i < FT_COUNT(names); i++) {
    const char *data = test_path(test_folder(), "text.txt"), *folder = test_new_run();
    filtra_evaluation result;
    write_text(data, corpus);
    assert_ok(test_train(config_text(data, names[i]), folder, 100));
    test_no_leftovers(folder);
    const char *other = test_path(test_folder(), "other.txt");
    write_text(other, "be not question that");
    assert_ok(filtra_run_evaluate(test_device(), folder, "test", other, NULL, NULL, &result, NULL));
    write_text(other, "be not \xc3\xa9");
    filtra_status status =
        filtra_run_evaluate(test_device(), folder, "test", other, NULL, NULL, &result, NULL);
    if (i == 0) assert_fails(status, FILTRA_ERROR_INPUT, "other.txt:1: the character '\xc3\xa9'");
    if (i == 1) assert_ok(status); /* it is <unk> */
    const char *kept = test_path(folder, "tokenizer.json");
    assert_int_equal(remove(kept), 0);
    assert_fails(filtra_run_evaluate(test_device(), folder, "val", NULL, NULL, NULL, &result, NULL),
                 FILTRA_ERROR_PATH, "tokenizer.json");
    write_text(kept, "{\"tokenizer\": \"words\"}");
    assert_fails(filtra_run_evaluate(test_device(), folder, "val", NULL, NULL, NULL, &result, NULL),
                 FILTRA_ERROR_INPUT, "tokenizer.json: ");
  }
}

/* A resumed run reads the text by the tokenizer that it began with. */
TEST(test_resumed) {
  const char *data = test_path(test_folder(), "text.txt");
  const char *whole = test_new_run(), *stopped = test_new_run();
  write_text(data, corpus);
  assert_ok(test_train(config_text(data, "characters"), whole, 100));
  assert_int_equal(test_train(config_text(data, "characters"), stopped, 2), FILTRA_ERROR_CANCELLED);
  assert_ok(test_train(NULL, stopped, 100));
  test_same_run(whole, stopped);
  const char *changed = test_new_run();
  assert_int_equal(test_train(config_text(data, "characters"), changed, 2), FILTRA_ERROR_CANCELLED);
  write_text(data, "TO BE OR NOT TO BE\n");
  assert_fails(test_train(NULL, changed, 100), FILTRA_ERROR_INPUT, "text.txt:1: the character 'T'");
}

/* Constant tokenizers need no file. */
TEST(test_constant_tokenizer) {
  const char *data = test_path(test_folder(), "text.txt"), *folder = test_new_run();
  write_text(data, corpus);
  assert_ok(test_train(config_text(data, "bytes"), folder, 100));
  assert_false(ft_file_exists(test_path(folder, "tokenizer.json")));
  assert_fails(test_train(config_text(data, "bites"), test_new_run(), 100), FILTRA_ERROR_ARGUMENT,
               "no tokenizer \"bites\"");
}

TEST_MAIN(NULL, test_teardown)
