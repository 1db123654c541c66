/* `filtra tokens` as a shell sees it: ids of lines, texts of ids, runs and folders. */
#include "support/command.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

static const char LIST[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\n##s\n,\n";

static const char *folder(void) {
  static const char *made;
  if (made) return made;
  made = test_folder();
  test_write_text(made, "vocab.txt", LIST);
  return made;
}

static int tokens(const char *input, const char *options) {
  return test_run_command(test_text("printf '%s' |", input),
                          test_text("tokens %s %s 2>&1", folder(), options));
}

TEST(lines_become_ids) {
  assert_code(tokens("Hello, worlds\\n\\nhello", ""), 0);
  assert_string_equal(test_output, "[5, 8, 6, 7]\n[]\n[5]\n");
  assert_code(tokens("Hello\\n", "--special"), 0);
  assert_string_equal(test_output, "[2, 5, 3]\n");
  assert_code(tokens("\"hello\\\\nworld\"\\n{\"id\": 1, \"text\": \"hello\"}\\n", "--jsonl"), 0);
  assert_string_equal(test_output, "[5, 6]\n[5]\n");
}

TEST(ids_become_lines) {
  assert_code(tokens("[5, 8, 6, 7]\\n[]\\n", "--decode"), 0);
  assert_string_equal(test_output, "hello, worlds\n\n");
  assert_code(tokens("[2, 5]\\n", "--decode --jsonl"), 0);
  assert_string_equal(test_output, "\"[CLS] hello\"\n");
}

/* Bytes that are no character of UTF-8 become U+FFFD in JSON, and JSON's own are escaped. */
TEST(texts_of_bytes_are_json) {
  const char *run = test_new_run(), *data = test_write_text(test_folder(), "a.txt", "ab\nab\nab\n");
  assert_code(test_filtra("train --device cpu --data %s --out %s --steps 1 --set layers=1 "
                          "--set width=8 --set batch_size=1 --set tokenizer=bytes "
                          "--set max_length=2 2>&1",
                          data, run),
              0);
  assert_code(test_run_command("echo '\"a\"' |", test_text("tokens %s --jsonl", run)), 0);
  assert_string_equal(test_output, "[98]\n");
  assert_code(test_run_command("echo '[98, 11, 35, 241, 160, 98]' |",
                               test_text("tokens %s --jsonl --decode", run)),
              0);
  assert_string_equal(test_output, "\"a\\u000a\\\"\xef\xbf\xbd"
                                   "a\"\n");
}

TEST(a_file_is_read) {
  const char *file = test_write_text(test_folder(), "lines.txt", "hello\nworld\n");
  assert_code(test_filtra("tokens %s/vocab.txt %s 2>&1", folder(), file), 2);
  assert_code(test_filtra("tokens %s %s", folder(), file), 0);
  assert_string_equal(test_output, "[5]\n[6]\n");
}

TEST(wrong_usage) {
  assert_prints(test_filtra("tokens 2>&1"), 2, "needs FOLDER, RUN or TOKENIZER.JSON");
  assert_prints(test_filtra("tokens %s a b 2>&1", folder()), 2, "at most one FILE");
  assert_prints(test_filtra("tokens /nothing/here 2>&1"), 2, "/nothing/here");
  assert_prints(test_filtra("tokens %s /nothing/here 2>&1", folder()), 2, "/nothing/here");
  assert_prints(test_filtra("tokens %s 2>&1", test_folder()), 2, "has no tokenizer.json");
  assert_prints(tokens("", "--decode --special"), 2, "--special is for encoding");
  assert_prints(tokens("hello\\n\\377\\n", ""), 2, "standard input:2: byte 0xff at column 1");
  assert_prints(tokens("[5]\\n", "--jsonl"), 2, "standard input:1: must be a string");
  assert_prints(tokens("{\\n", "--jsonl"), 2, "standard input:1: not valid JSON");
  assert_prints(tokens("5\\n", "--decode"), 2, "must be an array of ids");
  assert_prints(tokens("[5, 9]\\n", "--decode"), 2, "entry 1 must be an id, 0 to 8");
  assert_prints(tokens("[-1]\\n", "--decode"), 2, "entry 0 must be an id, 0 to 8");
  assert_prints(test_filtra("tokens --help"), 0, "Usage: filtra tokens FOLDER|RUN|TOKENIZER.JSON");
}

TEST_MAIN(NULL, test_teardown)
