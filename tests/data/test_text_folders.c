#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "support/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Writes FOLDER/NAME, whose folders are made, and gives its path until the next call. */
static const char *write_bytes(const char *folder, const char *name, const void *data,
                               size_t size) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  char *last = strrchr(path, '/');
  *last = '\0';
  assert_ok(ft_make_directories(path));
  *last = '/';
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(data, 1, size, stream), size);
  assert_int_equal(fclose(stream), 0);
  return path;
}

static void write_text(const char *folder, const char *name, const char *text) {
  write_bytes(folder, name, text, strlen(text));
}

/* aclImdb in small, with what the original has beside the reviews. */
static const char *small_imdb(void) {
  const char *folder = test_folder();
  write_text(folder, "README", "read me");
  write_text(folder, "imdb.vocab", "the");
  write_text(folder, "train/urls_pos.txt", "http");
  write_text(folder, "train/unsup/0_0.txt", "no class");
  write_text(folder, "train/pos/0_9.txt", "good<br />");
  write_text(folder, "train/pos/1_7.txt", "fine");
  write_text(folder, "train/neg/0_2.txt",
             "b\xc3\xa4"
             "d");
  write_text(folder, "train/neg/.hidden", "");
  write_text(folder, "test/neg/0_1.txt", "so so");
  write_text(folder, "test/pos/0_10.txt", "o");
  return folder;
}

static filtra_dataset *open_ok(const char *path, const filtra_dataset_options *options) {
  filtra_dataset *ds;
  assert_ok(filtra_dataset_open(path, options, &ds));
  assert_string_equal(filtra_dataset_get_info(ds)->format, "text-folders");
  return ds;
}

static void refuse(const char *path, const filtra_dataset_options *options, const char *part) {
  filtra_dataset *ds;
  assert_fails(filtra_dataset_open(path, options, &ds), FILTRA_ERROR_INPUT, part);
  assert_null(ds);
}

static void assert_sample(const filtra_dataset *ds, filtra_split split, size_t row, int label,
                          const char *expected) {
  const ft_samples *samples = &ds->samples[split];
  const ft_sample_row *r = &samples->rows[row];
  int32_t tokens[64];
  char text[128];
  size_t length;
  for (uint32_t i = 0; i < r->length; i++)
    tokens[i] = samples->tokens.ids[r->first + i];
  assert_ok(
      filtra_tokenizer_decode(ds->info.tokenizer, tokens, r->length, text, sizeof text, &length));
  assert_string_equal(text, expected);
  assert_int_equal(r->label, label);
}

static void test_imdb(void **state) {
  (void)state;
  filtra_dataset *ds = open_ok(small_imdb(), NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "bytes");
  assert_int_equal(info->classes, 2);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "neg");
  assert_string_equal(filtra_dataset_class_name(ds, 1), "pos");
  assert_int_equal(info->count[FILTRA_TRAIN] + info->count[FILTRA_VAL], 3);
  assert_true(info->validation_held_out);
  assert_int_equal(info->count[FILTRA_TEST], 2);
  assert_sample(ds, FILTRA_TRAIN, 0, 0,
                "b\xc3\xa4"
                "d");
  assert_sample(ds, FILTRA_TRAIN, 1, 1, "good<br />");
  assert_sample(ds, FILTRA_TRAIN, 2, 1, "fine");
  assert_sample(ds, FILTRA_TEST, 0, 0, "so so");
  filtra_dataset_close(&ds);
}

static void test_one_level(void **state) {
  (void)state;
  const char *folder = test_folder();
  write_text(folder, "sport/a.txt", "\xef\xbb\xbfone\r\ntwo");
  write_text(folder, "news/a.txt", "x");
  char path[512];
  snprintf(path, sizeof path, "%s/news/b.txt.gz", folder);
  gzFile stream = gzopen(path, "wb");
  gzwrite(stream, "packed", 6);
  gzclose(stream);
  filtra_dataset *ds = open_ok(folder, &(filtra_dataset_options){.file_split = FILTRA_TEST});
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_TEST], 3);
  assert_sample(ds, FILTRA_TEST, 0, 0, "x");
  assert_sample(ds, FILTRA_TEST, 1, 0, "packed");
  assert_sample(ds, FILTRA_TEST, 2, 1, "one\ntwo");
  filtra_dataset_close(&ds);
}

static void test_tokenizers(void **state) {
  (void)state;
  filtra_dataset *ds = open_ok(small_imdb(), &(filtra_dataset_options){.tokenizer = "characters"});
  assert_sample(ds, FILTRA_TEST, 0, 0, "so so"); /* s is in test only */
  filtra_dataset_close(&ds);
  ds = open_ok(small_imdb(), &(filtra_dataset_options){.tokenizer = "words"});
  assert_int_equal(filtra_tokenizer_size(ds->info.tokenizer), 7); /* words of the training data */
  assert_sample(ds, FILTRA_TRAIN, 1, 1, "good<br />");
  filtra_dataset_close(&ds);
}

static void test_lengths(void **state) {
  (void)state;
  const char *folder = small_imdb();
  refuse(folder, &(filtra_dataset_options){.max_length = 9},
         "train/pos/0_9.txt: a sequence of more than 9 tokens");
  filtra_dataset *ds =
      open_ok(folder, &(filtra_dataset_options){.max_length = 4, .truncate = true});
  assert_sample(ds, FILTRA_TRAIN, 0, 0,
                "b\xc3\xa4"
                "d");
  assert_sample(ds, FILTRA_TRAIN, 1, 1, "good");
  assert_sample(ds, FILTRA_TRAIN, 2, 1, "fine");
  filtra_dataset_close(&ds);
}

/* What is packed to a thousandth of its size takes no more room than is kept of it. */
static void test_bomb(void **state) {
  (void)state;
  const char *folder = test_folder();
  write_text(folder, "a/a.txt", "x");
  char path[512], zeros[4096];
  memset(zeros, 'z', sizeof zeros);
  snprintf(path, sizeof path, "%s/a/b.txt.gz", folder);
  gzFile stream = gzopen(path, "wb");
  for (int i = 0; i < 25000; i++)
    assert_int_equal(gzwrite(stream, zeros, sizeof zeros), sizeof zeros);
  gzclose(stream);
  filtra_dataset *ds =
      open_ok(folder, &(filtra_dataset_options){.max_length = 1000, .truncate = true});
  assert_true(ds->samples[FILTRA_TRAIN].tokens.capacity < 1 << 20);
  filtra_dataset_close(&ds);
  refuse(folder, &(filtra_dataset_options){.max_length = 1000}, "b.txt.gz: a sequence of more");
}

static void test_what_is_wrong(void **state) {
  (void)state;
  const char *folder = small_imdb();
  write_text(folder, "test/odd/0_1.txt", "x");
  refuse(folder, NULL, "test/odd: a class that the splits before do not have");
  folder = small_imdb();
  write_text(folder, "train/neg/1_1.doc", "x");
  refuse(folder, NULL, "train/neg/1_1.doc: its name does not end in .txt or .txt.gz");
  folder = small_imdb();
  write_text(folder, "train/neg/1_1.txt", "");
  refuse(folder, NULL, "train/neg/1_1.txt: the text is empty");
  write_bytes(folder, "train/neg/1_1.txt", "a\nb\0", 4);
  refuse(folder, NULL, "train/neg/1_1.txt:2: a NUL byte");
  write_text(folder, "train/neg/1_1.txt", "a\n\xff");
  refuse(folder, &(filtra_dataset_options){.tokenizer = "words"},
         "train/neg/1_1.txt:2: byte 0xff at column 1");
  write_text(folder, "train/neg/1_1.txt", "\x1f\x8b\x08");
  refuse(folder, NULL, "train/neg/1_1.txt: the gzip data stops");
  folder = small_imdb();
  char path[512];
  snprintf(path, sizeof path, "%s/train/empty", folder);
  assert_ok(ft_make_directories(path));
  refuse(folder, NULL, "train/empty holds no files");
  refuse(test_folder(), &(filtra_dataset_options){.format = "text-folders"}, "holds no folders");
}

static void test_archives(void **state) {
  (void)state;
  static const char zip[] = "PK\3\4and more";
  char tar[512] = "aclImdb/";
  strcpy(tar + 257, "ustar");
  const char *folder = test_folder();
  refuse(write_bytes(folder, "data.tar", tar, sizeof tar), NULL, "data.tar is a tar archive");
  refuse(write_bytes(folder, "data.zip", zip, sizeof zip), NULL, "data.zip is a zip archive");
  char path[512];
  snprintf(path, sizeof path, "%s/data.tar.gz", folder);
  gzFile stream = gzopen(path, "wb");
  gzwrite(stream, tar, sizeof tar);
  gzclose(stream);
  refuse(path, NULL, "data.tar.gz is a tar archive; unpack it");
}

static void test_memory_failures(void **state) {
  (void)state;
  const char *folder = small_imdb();
  for (long n = 1;; n++) {
    filtra_dataset *ds;
    ft_memory_fail_after(n);
    filtra_status status = filtra_dataset_open(
        folder, &(filtra_dataset_options){.format = "text-folders", .tokenizer = "words"}, &ds);
    ft_memory_fail_after(0);
    filtra_dataset_close(&ds);
    if (!status) break;
    assert_int_not_equal(status, FILTRA_OK);
    assert_true(n < 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_imdb),       cmocka_unit_test(test_one_level),
      cmocka_unit_test(test_tokenizers), cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_bomb),       cmocka_unit_test(test_what_is_wrong),
      cmocka_unit_test(test_archives),   cmocka_unit_test(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, test_teardown);
}
