/* Warnings about texts of which the tokenizer does not know most words. */
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

static const char UNKNOWN[] = "unknown to the vocabulary";

/* Opens a file of this text; `part` must be said once, NULL: nothing. */
static void check(const char *name, const char *text, const filtra_dataset_options *options,
                  const char *part) {
  test_open_warns(test_write_text(test_folder(), name, text), options, UNKNOWN, part);
}

/* Pieces of a word count as one word; special tokens and punctuation count as none. */
TEST(words_of_a_pretrained_tokenizer) {
  const char *folder = test_folder();
  test_write_text(folder, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##c\n.\n");
  const filtra_dataset_options options = {.tokenizer = folder, .file_split = FILTRA_SPLIT_TEST};
  check("t.csv", "text,label\nacc. x,p\nno way,q\n", &options,
        "t.csv: 3 of 4 words are unknown to the vocabulary of the tokenizer \"wordpiece\", which "
        "reads them all as [UNK]");
  check("t.csv", "text,label\nacc. x,p\nb way,q\n", &options, NULL);
  check("w.txt", "a none of them", &options, "w.txt: 3 of 4 words are unknown");
}

/* The first symbol can be that of unknown words, too. */
TEST(unknown_words_with_id_0) {
  const char *folder = test_folder();
  test_write_text(folder, "vocab.txt", "[UNK]\n[PAD]\n[CLS]\n[SEP]\n[MASK]\na\n");
  const filtra_dataset_options options = {.tokenizer = folder, .file_split = FILTRA_SPLIT_TEST};
  check("w.txt", "b c a", &options, "2 of 3 words are unknown");
}

/* A line's end is no word. Those of other data are read as the training data were. */
TEST(words_of_other_data) {
  const char *folder = test_folder();
  filtra_tokenizer *t;
  test_write_text(folder, "t.json",
                  "{\"tokenizer\": \"words\", \"symbols\": [\"<unk>\", \"<eos>\", \"one\"]}");
  assert_ok(filtra_tokenizer_load(test_path(folder, "t.json"), &t));
  const filtra_dataset_options options = {.fitted = t, .file_split = FILTRA_SPLIT_TEST};
  check("w.txt", "one\ntwo\nthree\n", &options, "w.txt: 2 of 3 words are unknown");
  check("w.txt", "one\none\nthree\n\n\n", &options, NULL);
  filtra_tokenizer_destroy(&t);
}

/* A split of other words is said although it is small, and a vocabulary that is cut too short. */
TEST(words_of_the_data) {
  const char *folder = test_folder();
  test_write_text(folder, "train.csv", "text,label\none two,p\ntwo one,q\none one one,p\n");
  test_write_text(folder, "test.csv", "text,label\nzwei drei,p\n");
  const filtra_dataset_options options = {.tokenizer = "words"};
  test_open_warns(folder, &options, UNKNOWN, ": 2 of 2 words are unknown");
  check("w.txt", "one two three four five one", &options, NULL);
  check("w.txt", "one two three four five one",
        &(filtra_dataset_options){.tokenizer = "words", .max_vocabulary = 4},
        "4 of 6 words are unknown");
}

TEST_MAIN(NULL, test_teardown)
