#include "base/file.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

/* A small aclImdb, with the extra files of the original beside the reviews. */
static const char *small_imdb(void) {
  const char *folder = test_folder();
  test_write_text(folder, "README", "read me");
  test_write_text(folder, "imdb.vocab", "the");
  test_write_text(folder, "train/urls_pos.txt", "http");
  test_write_text(folder, "train/unsup/0_0.txt", "no class");
  test_write_text(folder, "train/pos/0_9.txt", "good<br />");
  test_write_text(folder, "train/pos/1_7.txt", "fine");
  test_write_text(folder, "train/neg/0_2.txt",
                  "b\xc3\xa4"
                  "d");
  test_write_text(folder, "train/neg/.hidden", "");
  test_write_text(folder, "test/neg/0_1.txt", "so so");
  test_write_text(folder, "test/pos/0_10.txt", "o");
  return folder;
}

TEST(test_imdb) {
  owned_dataset *ds = test_open_dataset(small_imdb(), "text-folders", NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "bytes");
  assert_int_equal(info->classes, 2);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "neg");
  assert_string_equal(filtra_dataset_class_name(ds, 1), "pos");
  assert_int_equal(info->count[FILTRA_SPLIT_TRAIN] + info->count[FILTRA_SPLIT_VAL], 3);
  assert_true(info->validation_held_out);
  assert_int_equal(info->count[FILTRA_SPLIT_TEST], 2);
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 0, 0,
                "b\xc3\xa4"
                "d");
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 1, 1, "good<br />");
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 2, 1, "fine");
  test_text_row(ds, FILTRA_SPLIT_TEST, 0, 0, "so so");
}

TEST(test_one_level) {
  const char *folder = test_folder();
  test_write_text(folder, "sport/a.txt", "\xef\xbb\xbfone\r\ntwo");
  test_write_text(folder, "news/a.txt", "x");
  test_write_gzip(folder, "news/b.txt.gz", "packed", 6, 1);
  owned_dataset *ds = test_open_dataset(folder, "text-folders",
                                        &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 3);
  test_text_row(ds, FILTRA_SPLIT_TEST, 0, 0, "x");
  test_text_row(ds, FILTRA_SPLIT_TEST, 1, 0, "packed");
  test_text_row(ds, FILTRA_SPLIT_TEST, 2, 1, "one\ntwo");
}

TEST(test_tokenizers) {
  owned_dataset *ds = test_open_dataset(small_imdb(), "text-folders",
                                        &(filtra_dataset_options){.tokenizer = "characters"});
  test_text_row(ds, FILTRA_SPLIT_TEST, 0, 0, "so so"); /* s is in test only */
  filtra_dataset_close(&ds);
  ds = test_open_dataset(small_imdb(), "text-folders",
                         &(filtra_dataset_options){.tokenizer = "words"});
  assert_int_equal(filtra_tokenizer_size(ds->info.tokenizer), 7); /* words of the training data */
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 1, 1, "good<br />");
}

TEST(test_lengths) {
  const char *folder = small_imdb();
  test_refuse_dataset(folder, &(filtra_dataset_options){.max_length = 9},
                      "train/pos/0_9.txt: a sequence of more than 9 tokens");
  owned_dataset *ds = test_open_dataset(
      folder, "text-folders", &(filtra_dataset_options){.max_length = 4, .truncate = true});
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 0, 0,
                "b\xc3\xa4"
                "d");
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 1, 1, "good");
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 2, 1, "fine");
}

/* What is packed to a thousandth of its size takes no more room than is kept of it. */
TEST(test_bomb) {
  const char *folder = test_folder();
  test_write_text(folder, "a/a.txt", "x");
  char zeros[4096];
  memset(zeros, 'z', sizeof zeros);
  test_write_gzip(folder, "a/b.txt.gz", zeros, sizeof zeros, 25000);
  owned_dataset *ds = test_open_dataset(
      folder, "text-folders", &(filtra_dataset_options){.max_length = 1000, .truncate = true});
  assert_true(ds->samples[FILTRA_SPLIT_TRAIN].tokens.capacity < 1 << 20);
  test_refuse_dataset(folder, &(filtra_dataset_options){.max_length = 1000},
                      "b.txt.gz: a sequence of more");
}

TEST(test_what_is_wrong) {
  const char *folder = small_imdb();
  test_write_text(folder, "test/odd/0_1.txt", "x");
  test_refuse_dataset(folder, NULL, "test/odd: a class that the splits before do not have");
  folder = small_imdb();
  test_write_text(folder, "train/neg/1_1.doc", "x");
  test_refuse_dataset(folder, NULL, "train/neg/1_1.doc: its name does not end in .txt or .txt.gz");
  folder = small_imdb();
  test_write_text(folder, "train/neg/1_1.txt", "");
  test_refuse_dataset(folder, NULL, "train/neg/1_1.txt: the text is empty");
  test_write_bytes(folder, "train/neg/1_1.txt", "a\nb\0", 4);
  test_refuse_dataset(folder, NULL, "train/neg/1_1.txt:2: a NUL byte");
  test_write_text(folder, "train/neg/1_1.txt", "a\n\xff");
  test_refuse_dataset(folder, &(filtra_dataset_options){.tokenizer = "words"},
                      "train/neg/1_1.txt:2: byte 0xff at column 1");
  test_write_text(folder, "train/neg/1_1.txt", "\x1f\x8b\x08");
  test_refuse_dataset(folder, NULL, "train/neg/1_1.txt: the gzip data stops");
  folder = small_imdb();
  test_write_text(folder, "train/neg/T_graph_indicator.txt", "1");
  test_refuse_dataset(folder, NULL, "T_graph_indicator.txt is of a data set of graphs");
  folder = small_imdb();
  assert_ok(ft_make_directories(test_path(folder, "train/empty")));
  test_refuse_dataset(folder, NULL, "train/empty holds no files");
  test_refuse_dataset(test_folder(), &(filtra_dataset_options){.format = "text-folders"},
                      "holds no folders");
}

TEST(test_archives) {
  static const char zip[] = "PK\3\4and more";
  char tar[512] = "aclImdb/";
  strcpy(tar + 257, "ustar");
  const char *folder = test_folder();
  test_refuse_dataset(test_write_bytes(folder, "data.tar", tar, sizeof tar), NULL,
                      "data.tar is a tar archive");
  test_refuse_dataset(test_write_bytes(folder, "data.zip", zip, sizeof zip), NULL,
                      "data.zip is a zip archive");
  test_refuse_dataset(test_write_gzip(folder, "data.tar.gz", tar, sizeof tar, 1), NULL,
                      "data.tar.gz is a tar archive; unpack it");
}

TEST(test_memory_failures) {
  const char *folder = small_imdb();
  test_dataset_memory(folder,
                      &(filtra_dataset_options){.format = "text-folders", .tokenizer = "words"});
}

/* Texts without classes are there to be predicted; names are paths. */
TEST(test_loose_texts) {
  const char *root = test_folder();
  test_write_text(root, "a.txt", "one");
  test_write_text(root, "b.txt", "two");
  test_write_text(root, ".DS_Store", "x");
  test_refuse_dataset(root, NULL, "texts of which nothing says the class; they can be predicted");
  for (int i = 0; i < 2; i++) {
    owned_dataset *ds = test_open_dataset(
        root, NULL,
        &(filtra_dataset_options){.unlabelled = true, .tokenizer = i ? "characters" : NULL});
    test_counts(ds, 0, 0, 2);
    test_text_row(ds, FILTRA_SPLIT_TEST, 1, -1, "two");
    assert_string_equal(test_sample(ds, FILTRA_SPLIT_TEST, 1).name, test_path(root, "b.txt"));
  }
}

/* A file is read as far as it is kept; that more is there is said. */
TEST(test_cut_files_are_said) {
  filtra_dataset_options o = {.max_length = 4, .truncate = true};
  const char *folder = test_folder();
  static char longer[200001];
  memset(longer, 'a', sizeof longer - 1);
  test_write_text(folder, "a/1.txt", "abcd");
  test_write_text(folder, "a/2.txt", longer);
  test_write_text(folder, "b/1.txt", "abcde");
  test_write_text(folder, "b/2.txt", "b");
  test_open_warns(folder, &o, "are cut", ": 2 of 4 texts are cut to max_length, 4 tokens");
}

TEST_MAIN(NULL, test_teardown)
