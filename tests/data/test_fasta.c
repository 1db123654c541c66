#include "base/file.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"

/* A record's class by name, and its sequence; in the file's order, held out or not. */
static void assert_record(const filtra_dataset *ds, filtra_split split, size_t row,
                          const char *label, const char *sequence) {
  const int32_t found = ds->samples[split].rows[row].label;
  test_text_row(ds, split, row, found, sequence);
  assert_string_equal(filtra_dataset_class_name(ds, (uint32_t)found), label);
}

TEST(test_class_per_file) {
  const char *folder = test_folder();
  test_write_text(folder, "zebra_train.fasta", ">1 any words\nACGT\n>2\nAC\n\nGT\nn\n");
  test_write_text(folder, "ant-x.fa", "\xef\xbb\xbf>1\r\nacgu\r\n");
  test_write_text(folder, "ant_dev.fasta", ">1\nA");
  test_write_text(folder, "ant_train.fasta", ">1\nC");
  test_write_text(folder, "ant-x_test.fna", ">1|zebra\nTTT  \n");
  test_write_text(folder, "README", "not this");
  owned_dataset *ds = test_open_dataset(folder, "fasta", NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "dna");
  assert_int_equal(info->classes, 3);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "ant");
  assert_string_equal(filtra_dataset_class_name(ds, 1), "ant-x");
  assert_int_equal(info->count[FILTRA_SPLIT_TRAIN], 4);
  assert_record(ds, FILTRA_SPLIT_TRAIN, 0, "ant-x", "ACGT");
  assert_record(ds, FILTRA_SPLIT_TRAIN, 1, "ant", "C");
  assert_record(ds, FILTRA_SPLIT_TRAIN, 2, "zebra", "ACGT");
  assert_record(ds, FILTRA_SPLIT_TRAIN, 3, "zebra", "ACGTN");
  assert_record(ds, FILTRA_SPLIT_VAL, 0, "ant", "A");
  assert_record(ds, FILTRA_SPLIT_TEST, 0, "ant-x", "TTT");
  test_write_text(folder, "new_test.fa", ">1\nA");
  test_refuse_dataset(folder, NULL, "new_test.fa: \"new\" is none of the 3 classes");
  test_write_text(folder, "test.fa", ">1 ant\nA");
  test_refuse_dataset(folder, NULL, "the names of 6 of 7 FASTA files give a class");
}

TEST(test_class_per_header) {
  const char *folder = test_folder();
  test_write_text(folder, "train.fasta", ">s1|chr2|10\nA\n>s 2|b|9 \nC\n>s3 x y 10\nG\n");
  test_write_text(folder, "test.fasta", ">s1 9\nACG\n");
  owned_dataset *ds = test_open_dataset(folder, "fasta", NULL);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 2);
  assert_record(ds, FILTRA_SPLIT_TRAIN, 0, "10", "A");
  assert_record(ds, FILTRA_SPLIT_TRAIN, 1, "9", "C");
  assert_record(ds, FILTRA_SPLIT_TRAIN, 2, "10", "G");
  assert_record(ds, FILTRA_SPLIT_TEST, 0, "9", "ACG");
  assert_int_equal(ds->samples[FILTRA_SPLIT_TEST].rows[0].label, 0); /* numbers in their order */
  test_write_text(folder, "test.fasta", ">s1 9\nACG\n>s2 8\nA\n");
  test_refuse_dataset(folder, NULL, "test.fasta:3: \"8\" is none of the 2 classes");
}

/* What ends UniProt's headers is no class. */
TEST(test_headers_without_classes) {
  char text[4096] = "";
  for (int i = 0; i < 24; i++)
    sprintf(text + strlen(text), ">sp|P%d|NAME_%d Some protein\nACGT\n", i, i);
  const char *path = test_write_text(test_folder(), "a.fa", text);
  test_refuse_dataset(path, NULL,
                      "a.fa has 24 classes in 24 samples, nearly each sample one of its own; the "
                      "class is the text after the last |");
  assert_ok(test_try_dataset(path, &(filtra_dataset_options){.targets = FILTRA_TARGETS_CLASSES}));
}

TEST(test_other_alphabets) {
  const char *path = test_write_text(test_folder(), "x.fa", ">a 1\nMKVL\nE*\n>b 0\nAA\n");
  test_refuse_dataset(path, NULL, "x.fa:2: 'L' at column 4 is no nucleotide");
}

/* Peptides in letters that are codes of nucleotides too became N and T. */
TEST(test_peptides) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {">a 1\nACGHKMRSTV\n>b 0\nKRMMSTVHAC\n",
       "x.fa:2: 13 of 20 letters are H, K, M, R, S, V, which stand for several nucleotides"},
      {">a 1\nACGT\n\n>b 0\nTASKMKTV\n", "x.fa:5: 5 of 12 letters are K, M, S, V"},
      {"; a comment\n>a 1\nACGT\nmkta\n>b 0\nGATTACA\n", "x.fa:4: 2 of 15 letters are K, M"},
      {">a 1\nACGTACGTACGTACGTACG\n>b 0\nR\n", "Set tokenizer to characters for proteins"},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *path = test_write_text(folder, "x.fa", cases[i].text);
    test_refuse_dataset(path, NULL, cases[i].part);
    assert_ok(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "dna"}));
    assert_ok(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "characters"}));
    test_refuse_dataset(path, &(filtra_dataset_options){.fitted = filtra_tokenizer_find("dna")},
                        cases[i].part);
  }
  /* fewer than one in twenty */
  const char *rare = test_write_text(folder, "x.fa", ">a 1\nACGTACGTACGTACGTACGT\n>b 0\nR\n");
  owned_dataset *ds = test_open_dataset(rare, NULL, NULL);
  assert_record(ds, FILTRA_SPLIT_TRAIN, 1, "0", "N");
  /* a name that says what the file holds */
  owned_dataset *named = test_open_dataset(
      test_write_text(folder, "x.faa", ">a 1\nACGT\n>b 0\nGATTACA\n"), NULL, NULL);
  assert_string_equal(filtra_tokenizer_name(named->info.tokenizer), "characters");
}

/* Comments, a blank first line, both cases, and what headers call the records. */
TEST(test_forms) {
  static const char *const texts[] = {
      "\n>s1 first a\nACGT\nacgt\n>s2\tb\nGG\n",
      "; by hand\n# on a machine\n\n>s1 a\nAC\n; half\nGTAC\nGT\n#\n> s2 b\nGG\n",
      ">s1 a\r\nACGT\r\nACGT\r\n\r\n>s2 b\r\nGg\r\n",
      "\xef\xbb\xbf\r\n\r\n;x\r\n>s1 x y a\r\nACGTACGT\r\n>s2 b\r\nGG",
  };
  for (size_t i = 0; i < FT_COUNT(texts); i++) {
    const char *path = test_write_text(test_folder(), i % 2 ? "x.fa" : "x", texts[i]);
    owned_dataset *ds =
        test_open_dataset(path, NULL, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
    assert_record(ds, FILTRA_SPLIT_TEST, 0, "a", "ACGTACGT");
    assert_record(ds, FILTRA_SPLIT_TEST, 1, "b", "GG");
    assert_string_equal(test_sample(ds, FILTRA_SPLIT_TEST, 0).name, "s1");
    assert_string_equal(test_sample(ds, FILTRA_SPLIT_TEST, 1).name, "s2");
  }
}

/* Records without a class can be predicted: one word in the header, or words of which none is a
 * class of the training data. */
TEST(test_unlabelled) {
  static const char *const names[] = {"no", "yes"};
  static const ft_data_fit fit = {.classes = names, .class_count = 2};
  static const struct {
    const char *text;
    int labels[2];
  } cases[] = {
      {">s1\nACGT\n>s2\nGG\n", {-1, -1}},
      {">s1 yes\nACGT\n>s2\nGG\n", {1, -1}},
      {">s1 human kinase\nACGT\n>s2 a mouse\nGG\n", {-1, -1}},
      {">sp|P1|KIN_HUMAN Kinase\nACGT\n>s2\nGG\n", {-1, -1}},
      {">s1 yes\nACGT\n>s2 no\nGG\n", {1, 0}},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *path = test_write_text(test_folder(), "x.fa", cases[i].text);
    filtra_dataset_options options = {.file_split = FILTRA_SPLIT_TEST, .unlabelled = true};
    filtra_dataset *ds;
    assert_ok(ft_dataset_open_fitted(path, &options, &fit, &ds));
    for (int k = 0; k < 2; k++)
      assert_int_equal(test_sample(ds, FILTRA_SPLIT_TEST, (uint64_t)k).label, cases[i].labels[k]);
    assert_int_equal(filtra_dataset_get_info(ds)->classes, 2);
    assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST],
                     (cases[i].labels[0] < 0) + (cases[i].labels[1] < 0));
    filtra_dataset_close(&ds);
    assert_ok(ft_dataset_open_fitted(path, &options, &(ft_data_fit){.values = true}, &ds));
    assert_true(isnan(test_sample(ds, FILTRA_SPLIT_TEST, 0).value));
    filtra_dataset_close(&ds);
  }
  const char *path = test_write_text(test_folder(), "x.fa", ">s1 yes\nACGT\n>s2 maybe\nGG\n");
  filtra_dataset *ds;
  assert_fails(
      ft_dataset_open_fitted(path, &(filtra_dataset_options){.unlabelled = true}, &fit, &ds),
      FILTRA_ERROR_INPUT, "class \"maybe\" is none of the training data's");
}

TEST(test_proteins) {
  const char *path = test_write_text(test_folder(), "x.fa", ">a 1\nMKVL\nE*\n>b 0\nAA\n");
  owned_dataset *ds = test_open_dataset(
      path, "fasta",
      &(filtra_dataset_options){.tokenizer = "characters", .file_split = FILTRA_SPLIT_TEST});
  assert_int_equal(filtra_tokenizer_size(ds->info.tokenizer), 8);
  assert_record(ds, FILTRA_SPLIT_TEST, 0, "1", "MKVLE*");
  assert_record(ds, FILTRA_SPLIT_TEST, 1, "0", "AA");
}

TEST(test_lengths) {
  const char *path = test_write_text(test_folder(), "x.fa", ">a 1\nA\n>b 2\nACG\nTT\n");
  filtra_dataset_options options = {.max_length = 4, .file_split = FILTRA_SPLIT_TEST};
  test_refuse_dataset(path, &options, "x.fa:3: a sequence of more than 4 tokens");
  options.truncate = true;
  owned_dataset *ds = test_open_dataset(path, "fasta", &options);
  assert_record(ds, FILTRA_SPLIT_TEST, 1, "2", "ACGT");
}

TEST(test_what_is_wrong) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"ACGT\n>a 1\nA\n", "x.fa:1: a sequence without a header"},
      {">a 1\nA\n>b\nC\n", "x.fa:3: the header gives no class"},
      {">a 1\nA\n>\nC\n", "x.fa:3: the header gives no class"},
      {">a 1\nA\n>b|\nC\n", "x.fa:3: the class is empty"},
      {">a 1\nA\n>b 1\n>c 1\nA\n", "x.fa:3: the text is empty"},
      {">a 1\nA\n>b 1", "x.fa:3: the text is empty"},
      {">a 1\n\n\n", "x.fa:1: the text is empty"},
      {">a 1\nAC-GT\n", "x.fa:2: '-' at column 3"},
      {">a 1\nAC GT\n", "x.fa:2: '\\x20' at column 3"},
      {">a 1\nACGT5\n", "x.fa:2: '5' at column 5"},
      {"\n\n", "x.fa has no records"},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    test_refuse_dataset(test_write_text(folder, "x.fa", cases[i].text),
                        &(filtra_dataset_options){.format = "fasta"}, cases[i].part);
  test_refuse_dataset(test_write_bytes(folder, "x.fa", ">a 1\nA\0C\n", 9), NULL,
                      "x.fa:2: a NUL byte");
  test_refuse_dataset(test_write_text(folder, "x.fa", ""), NULL, "x.fa is empty");
  test_refuse_dataset(test_folder(), &(filtra_dataset_options){.format = "fasta"},
                      "holds no FASTA files");
}

TEST(test_cut_anywhere) {
  static const char text[] = "\xef\xbb\xbf>a|1\r\nAC\r\nGT\r\n>b|2\r\nNN\r\n";
  static const char *const names[] = {"dna", "characters", "words"};
  for (size_t i = 0; i < FT_COUNT(names); i++)
    test_dataset_cuts("cut.fa", text, strlen(text),
                      &(filtra_dataset_options){.format = "fasta", .tokenizer = names[i]});
}

TEST(test_memory_failures) {
  const char *folder = test_folder();
  test_write_text(folder, "a.fa", ">1\nACGT\n");
  test_write_text(folder, "b.fa", ">1\nACGT\n");
  test_dataset_memory(folder,
                      &(filtra_dataset_options){.format = "fasta", .tokenizer = "characters"});
}

TEST(test_enhancers) {
  owned_dataset *ds = test_open_dataset(test_shared_data("dna/enhancers"), "fasta", NULL);
  assert_int_equal(ds->samples[FILTRA_SPLIT_TRAIN].count, 2 * 1484);
  assert_int_equal(ds->samples[FILTRA_SPLIT_TEST].count, 2 * 200);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "original_enhancer");
  assert_string_equal(filtra_dataset_class_name(ds, 1), "original_non_enhancer");
  assert_int_equal(filtra_dataset_get_info(ds)->longest, 200);
}

TEST_MAIN(NULL, test_teardown)
