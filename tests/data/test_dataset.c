#include "base/file.h"
#include "base/memory.h"
#include "reference/listops.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>
#include <sys/stat.h>

#define HEADER "Source\tTarget\n"
#define TREE   "( ( ( [MAX 2 ) 9 ) ] )"

static const char small_lra[] = HEADER TREE "\t9\n"
                                            "( ( ( ( [MED 1 ) ( ( ( [SM 8 ) 7 ) ] ) ) 4 ) ] )\t4\n";
static const char small_original[] = "9\t" TREE "\n3\t3\n8\t( ( ( [LAST 0 ) 8 ) ] )\n";

/* ---- helpers ---- */

/* A file of `count` original lines, [SM a b c ] with a, b, c the digits of the line's number. */
static const char *write_numbered(const char *folder, const char *name, int count) {
  char *text = ft_calloc((size_t)count * 48 + 1, 1), *to = text;
  for (int i = 0; i < count; i++) {
    int a = i / 100, b = i / 10 % 10, c = i % 10;
    to += sprintf(to, "%d\t( ( ( ( [SM %d ) %d ) %d ) ] )\n", (a + b + c) % 10, a, b, c);
  }
  const char *path = test_write_text(folder, name, text);
  free(text);
  return path;
}

static int number_of(const filtra_sample *s) {
  return (s->tokens[1] - 1) * 100 + (s->tokens[2] - 1) * 10 + s->tokens[3] - 1;
}

/* ---- what is right ---- */

TEST(test_lra_folder) {
  const char *folder = test_folder();
  test_write_text(folder, "basic_train.tsv", small_lra);
  test_write_text(folder, "basic_val.tsv", HEADER TREE "\t9\n");
  test_write_text(folder, "basic_test.tsv", HEADER TREE "\t9\r\n" TREE "\t9\r\n" TREE "\t9");
  owned_dataset *ds =
      test_open_dataset(folder, NULL, &(filtra_dataset_options){.verify_labels = true});
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(info->format, "lra-listops");
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "listops");
  assert_int_equal(info->classes, 10);
  test_counts(ds, 2, 1, 3);
  assert_int_equal(info->longest, 8);
  assert_false(info->validation_held_out);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TRAIN, 1);
  static const int32_t expected[] = {13, 2, 14, 9, 8, 15, 5, 15};
  assert_int_equal(s.length, FT_COUNT(expected));
  assert_memory_equal(s.tokens, expected, sizeof expected);
  assert_int_equal(s.label, 4);
  assert_string_equal(filtra_dataset_class_name(ds, 9), "9");
  assert_null(filtra_dataset_class_name(ds, 10));
  assert_fails(filtra_dataset_sample(ds, FILTRA_SPLIT_VAL, 1, &s), FILTRA_ERROR_ARGUMENT, "val");
}

TEST(test_original_file_and_folder) {
  const char *folder = test_folder();
  const char *path = test_write_text(folder, "test_x.tsv", small_original);
  filtra_dataset *ds = test_open_dataset(
      path, NULL,
      &(filtra_dataset_options){.verify_labels = true, .file_split = FILTRA_SPLIT_TEST});
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(info->format, "listops");
  assert_int_equal(filtra_tokenizer_size(info->tokenizer), 18);
  assert_int_equal(info->count[FILTRA_SPLIT_TEST], 3);
  assert_int_equal(info->count[FILTRA_SPLIT_TRAIN] + info->count[FILTRA_SPLIT_VAL], 0);
  filtra_dataset_close(&ds);
  write_numbered(folder, "train_x.tsv", 50);
  ds = test_open_dataset(folder, NULL, NULL);
  info = filtra_dataset_get_info(ds);
  test_counts(ds, 45, 5, 3);
  filtra_dataset_close(&ds);
  test_write_text(folder, "train_y.tsv", small_original);
  test_refuse_dataset(folder, NULL, "train_x.tsv and train_y.tsv");
}

TEST(test_bom_and_line_ends) {
  static const char *const texts[] = {
      "\xef\xbb\xbf" HEADER TREE "\t9\n",
      "\xef\xbb\xbfSource\tTarget\r\n" TREE "\t9\r\n",
      HEADER TREE "\t9",
      "\xef\xbb\xbf"
      "9\t" TREE "\r\n",
      "9\t[MAX 2 9 ]\n",
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(texts); i++)
    assert_ok(test_try_dataset(test_write_text(folder, "data.tsv", texts[i]), NULL));
}

/* Every line of the shared files through the reader, with labels verified, and through the
 * reference. */
TEST(test_shared_files) {
  static const struct {
    const char *name;
    uint32_t longest;
  } files[] = {{"test_d8.tsv", 93}, {"test_d14.tsv", 345}, {"test_d20s.tsv", 939}};
  for (size_t i = 0; i < FT_COUNT(files); i++) {
    const char *path = test_shared_data(test_text("listops/%s", files[i].name));
    owned_dataset *ds = test_open_dataset(
        path, NULL,
        &(filtra_dataset_options){.verify_labels = true, .file_split = FILTRA_SPLIT_TEST});
    assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 10000);
    assert_int_equal(filtra_dataset_get_info(ds)->longest, files[i].longest);
    owned char *text = NULL;
    size_t size;
    assert_ok(ft_file_read(path, 1 << 24, &text, &size));
    char *rest = text;
    for (uint64_t k = 0; k < 10000; k++) {
      char *line = strsep(&rest, "\n");
      filtra_sample s;
      reference_listops expected;
      assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TEST, k, &s));
      assert_true(reference_listops_read(line + 2, &expected));
      assert_int_equal(s.label, expected.value);
      assert_int_equal(s.label, *line - '0');
      assert_int_equal(s.length, expected.length);
    }
  }
}

TEST(test_deep_nesting) {
  enum { DEPTH = 300000 };
  char *text = ft_calloc(DEPTH, 8), *to = text;
  to += sprintf(to, "7\t");
  for (int i = 0; i < DEPTH; i++)
    to += sprintf(to, "[SM ");
  to += sprintf(to, "7");
  for (int i = 0; i < DEPTH; i++)
    to += sprintf(to, " ]");
  assert_ok(test_try_dataset(test_write_text(test_folder(), "deep.tsv", text),
                             &(filtra_dataset_options){.verify_labels = true}));
  free(text);
}

/* ---- held-out validation ---- */

static void collect_numbers(const filtra_dataset *ds, filtra_split split, int *seen) {
  int last = -1;
  for (uint64_t i = 0; i < filtra_dataset_get_info(ds)->count[split]; i++) {
    filtra_sample s = test_sample(ds, split, i);
    assert_true(number_of(&s) > last); /* file order */
    last = number_of(&s);
    seen[last]++;
  }
}

TEST(test_held_out_validation) {
  const char *path = write_numbered(test_folder(), "data.tsv", 205);
  int first[1000] = {0}, again[1000] = {0}, other[1000] = {0}, all[1000] = {0};
  const uint64_t seeds[] = {1, 1, 2};
  int *const seen[] = {first, again, other};
  for (int i = 0; i < 3; i++) {
    owned_dataset *ds = test_open_dataset(path, NULL, &(filtra_dataset_options){.seed = seeds[i]});
    const filtra_dataset_info *info = filtra_dataset_get_info(ds);
    assert_true(info->validation_held_out);
    assert_int_equal(info->count[FILTRA_SPLIT_VAL], 21);
    assert_int_equal(info->count[FILTRA_SPLIT_TRAIN], 184);
    assert_int_equal(info->count[FILTRA_SPLIT_TEST], 0);
    collect_numbers(ds, FILTRA_SPLIT_VAL, seen[i]);
    if (i == 0) {
      collect_numbers(ds, FILTRA_SPLIT_VAL, all);
      collect_numbers(ds, FILTRA_SPLIT_TRAIN, all);
    }
  }
  for (int i = 0; i < 1000; i++)
    assert_int_equal(all[i], i < 205);
  assert_memory_equal(first, again, sizeof first);
  assert_memory_not_equal(first, other, sizeof first);
}

/* Of 120 samples of eight equal classes a tenth is 1.5 each; of unequal ones, what they are. */
static void check_classes(const int *counts, int classes, float share, int wanted) {
  enum { MOST = 400 };
  int32_t labels[MOST], tokens[MOST];
  uint32_t lengths[MOST];
  int count = 0, held[8] = {0};
  for (int c = 0; c < classes; c++)
    for (int i = 0; i < counts[c]; i++)
      labels[count++] = c;
  for (int i = 0; i < count; i++) {
    tokens[i] = 1;
    lengths[i] = 1;
  }
  filtra_dataset_arrays arrays = {.target = FILTRA_TARGET_CLASS,
                                  .classes = (uint32_t)classes,
                                  .hold_out = true,
                                  .validation_share = share,
                                  .seed = 3};
  arrays.splits[FILTRA_SPLIT_TRAIN] = (filtra_samples){
      .count = (uint64_t)count, .lengths = lengths, .tokens = tokens, .labels = labels};
  owned_dataset *ds = test_dataset(&arrays);
  uint64_t val = filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_VAL];
  assert_int_equal(val, wanted);
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TRAIN], count - wanted);
  for (uint64_t i = 0; i < val; i++) {
    filtra_sample s = test_sample(ds, FILTRA_SPLIT_VAL, i);
    held[s.label]++;
  }
  for (int c = 0; c < classes; c++) {
    double exact = (double)wanted * counts[c] / count;
    assert_true(held[c] > exact - 1 && held[c] < exact + 1);
  }
}

TEST(test_held_out_by_class) {
  check_classes((const int[]){15, 15, 15, 15, 15, 15, 15, 15}, 8, 0, 12);
  check_classes((const int[]){15, 15, 15, 15, 15, 15, 15, 15}, 8, 0.25f, 30);
  check_classes((const int[]){300, 40, 7, 3}, 4, 0.2f, 70);
  check_classes((const int[]){1, 1, 98}, 3, 0.5f, 50);
  check_classes((const int[]){2, 1}, 2, 0.9f, 2); /* something stays to be learned from */
  owned_dataset *ds = NULL;
  const char *path = write_numbered(test_folder(), "data.tsv", 20);
  assert_fails(filtra_dataset_open(path, &(filtra_dataset_options){.validation_share = 1}, &ds),
               FILTRA_ERROR_ARGUMENT, "\"validation_share\" is 1, accepted are 1e-06 to 0.9");
  assert_ok(filtra_dataset_open(path, &(filtra_dataset_options){.validation_share = 0.3f}, &ds));
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_VAL], 6);
}

static char warned[256];

static void keep_warning(void *user, filtra_log_level level, const char *text) {
  (void)user, (void)level;
  snprintf(warned, sizeof warned, "%s", text);
}

/* A share has no effect beside validation data, which is said unless it is the default. */
TEST(test_share_beside_validation_data) {
  const char *folder = test_folder();
  write_numbered(folder, "train.tsv", 20);
  write_numbered(folder, "val.tsv", 3);
  static const struct {
    float share;
    const char *warning;
  } cases[] = {{0, ""},
               {0.1f, ""},
               {0.3f, "\"validation_share\" 0.3 is not used: the data have 3 validation samples"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    owned_dataset *ds = NULL;
    warned[0] = '\0';
    filtra_log_set(keep_warning, NULL);
    const filtra_dataset_options options = {.validation_share = cases[i].share};
    const filtra_status status = filtra_dataset_open(folder, &options, &ds);
    filtra_log_set(NULL, NULL);
    assert_ok(status);
    assert_string_equal(warned, cases[i].warning);
    assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TRAIN], 20);
  }
}

TEST(test_small_sets_keep_training_data) {
  const char *folder = test_folder();
  for (int count = 1; count <= 3; count++) {
    owned_dataset *ds = test_open_dataset(write_numbered(folder, "data.tsv", count), NULL, NULL);
    assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_VAL], count > 1);
    assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TRAIN], count - (count > 1));
  }
}

/* ---- what is wrong ---- */

TEST(test_errors_name_file_and_line) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"", "is empty"},
      {"\xef\xbb\xbf", "bad.tsv has no samples"},
      {"hello\n", "bad.tsv:1: one column where two are needed"},
      {"Source\tTarget", "bad.tsv has no samples"},
      {TREE "\t9\n", "bad.tsv:1: the header \"Source<TAB>Target\" is missing"},
      {"Source\tTargets\n", "bad.tsv:1: the header"},
      {HEADER TREE "\t9\n\n", "bad.tsv:3: 1 field where 2"},
      {HEADER TREE " 9\n", "bad.tsv:2: 1 field where 2"},
      {HEADER TREE "\t9\t9\n", "bad.tsv:2: 3 fields where 2"},
      {HEADER TREE "\t\n", "bad.tsv:2: the label is not one digit"},
      {HEADER TREE "\t10\n", "bad.tsv:2: the label is not one digit"},
      {HEADER TREE "\t-1\n", "bad.tsv:2: the label is not one digit"},
      {HEADER TREE "\t 9\n", "bad.tsv:2: the label is not one digit"},
      {HEADER "\t9\n", "bad.tsv:2: the expression is empty"},
      {HEADER "( [MAX 1 ]\t1\n", "bad.tsv:2: 1 '(' are not closed"},
      {HEADER "[FIRST 1 2 ]\t1\n", "bad.tsv:2: unknown symbol '[FIRST' at column 1"},
      {"1\t1\n2\t[MAX 2\n", "bad.tsv:2: '[MAX' at column 1 is not closed"},
      {"1\t1\nx\t2\n", "bad.tsv:2: the label is not one digit"},
      {"1\t1\n1\t2\n", "bad.tsv:2: the label is 1 but the expression's value is 2"},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    test_refuse_dataset(test_write_text(folder, "bad.tsv", cases[i].text),
                        &(filtra_dataset_options){.verify_labels = true}, cases[i].part);
  test_refuse_dataset(test_write_bytes(folder, "bad.tsv", HEADER "1\0\t1\n", 18), NULL,
                      "bad.tsv:2: a NUL byte");
}

TEST(test_overlong_line) {
  enum { SIZE = 17 << 20 };
  owned char *text = malloc(SIZE);
  memset(text, ' ', SIZE);
  memcpy(text, "1\t1\n1\t1", 7);
  test_refuse_dataset(test_write_bytes(test_folder(), "long.tsv", text, SIZE), NULL,
                      "long.tsv:2: a line of more than 16 MiB");
}

/* A folder of one file with a name that says nothing is that file. */
TEST(test_only_file) {
  const char *folder = test_folder();
  test_write_text(folder, "expressions", small_original);
  owned_dataset *ds = test_open_dataset(folder, NULL, NULL);
  assert_string_equal(filtra_dataset_get_info(ds)->format, "listops");
  test_write_text(folder, "more", small_original);
  test_refuse_dataset(folder, NULL, "holds no data set that is known");
}

TEST(test_paths) {
  const char *folder = test_folder();
  test_refuse_dataset(folder, NULL, "holds no data set that is known");
  test_refuse_dataset(folder, &(filtra_dataset_options){.format = "listops"},
                      "none of the files of listops");
  assert_fails(test_try_dataset(test_path(folder, "nothing.tsv"), NULL), FILTRA_ERROR_PATH,
               "nothing.tsv");
  const char *path = test_path(folder, "pipe");
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_fails(test_try_dataset(path, NULL), FILTRA_ERROR_PATH, "not a regular file");
  assert_int_equal(mkdir(test_path(folder, "basic_test.tsv"), 0700), 0);
  test_refuse_dataset(folder, NULL, "holds no data set that is known");
}

/* Files of other programs: the error says what to write instead. */
TEST(test_other_files) {
  static const char *const CASES[][3] = {
      {"b.json", "[{\"text\": \"a\"}]",
       "b.json: JSON files are not read; write their rows as .csv or .jsonl"},
      {"c", "PAR1\x15\x04", "c: Parquet files"},
      {"d.xlsx", "PK\3\4rows", "d.xlsx: spreadsheet files"},
      {"e.arff", "@relation a\n@data\n1,2\n", "e.arff: ARFF files"},
      {"f.bin", "\x89HDF\r\n", "f.bin: HDF5 files"},
      {"g.zip", "PK\3\4rows", "g.zip is a zip archive; unpack it"},
      {"h.bin", "\1\2\3", "h.bin is no data file"}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    test_refuse_dataset(test_write_text(test_folder(), CASES[i][0], CASES[i][1]), NULL,
                        CASES[i][2]);
}

/* Class names that are not UTF-8 ended training as "out of host memory". */
TEST(test_class_names) {
  const char *folder = test_folder();
  test_write_text(folder, "texts/caf\xe9/0.txt", "one");
  test_write_text(folder, "texts/th\xe9/0.txt", "two");
  test_refuse_dataset(test_path(folder, "texts"), NULL,
                      "texts: the class \"caf\\xe9\" is not named in UTF-8");
  const char *table = test_write_text(folder, "a.csv", "text,label\none,\xff\xfe\ntwo,x\n");
  test_refuse_dataset(table, NULL, "UTF-8");
  const char *series = test_write_text(
      folder, "a.ts", "@problemName a\n@classLabel true \xc0\xaf b\n@data\n1,2:b\n");
  test_refuse_dataset(series, NULL, "UTF-8");
  const char *fasta = test_write_text(folder, "a.fasta", ">1|\xed\xa0\x80\nACGT\n>2|b\nACGT\n");
  test_refuse_dataset(fasta, NULL, "UTF-8");
  assert_ok(test_try_dataset(
      test_write_text(folder, "b.csv", "text,label\none,caf\xc3\xa9\ntwo,x\n"), NULL));
}

TEST(test_options) {
  const char *path = test_write_text(test_folder(), "data.tsv", small_original);
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.format = "nothing"}),
               FILTRA_ERROR_ARGUMENT, "lra-listops, listops, ");
  test_refuse_dataset(path, &(filtra_dataset_options){.format = "lra-listops"},
                      "data.tsv:1: the header");
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.pixels = FILTRA_PIXELS_RGB}),
               FILTRA_ERROR_ARGUMENT, "pixels is for images");
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.target_column = "label"}),
               FILTRA_ERROR_ARGUMENT, "target_column is for tables; the format is");
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "bytes"}),
               FILTRA_ERROR_ARGUMENT, "\"bytes\" reads no expressions");
  test_refuse_dataset(path, &(filtra_dataset_options){.tokenizer = "listops"},
                      "data.tsv:3: unknown symbol '[LAST'");
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.file_split = (filtra_split)3}),
               FILTRA_ERROR_ARGUMENT, "file_split");
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.targets = (filtra_targets)9}),
               FILTRA_ERROR_ARGUMENT, "targets is 9, not a filtra_targets");
}

/* Tables that begin somewhat like ListOps or FASTA. */
TEST(test_tables_that_begin_alike) {
  static const struct {
    const char *name, *text;
  } cases[] = {{"a.tsv", "5\t3\ta\n6\t2\tb\n4\t4\ta\n"},  {"a.tsv", "0\t10 things\n1\tgood\n"},
               {"a.csv", "[CLS] good,x\nbad,y\n"},        {"a.csv", "[Na+].[Cl-],1.5\nCCO,2\n"},
               {"a.csv", "(so) good,x\nbad,y\n"},         {"a.csv", "> good,x\n> bad,y\n"},
               {"a.csv", "Source,text,label\nweb,a,x\n"}, {"a.tsv", "Source\ttext\ty\nw\ta\tx\n"}};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    owned_dataset *ds =
        test_open_dataset(test_write_text(folder, cases[i].name, cases[i].text), NULL,
                          &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
    assert_string_equal(filtra_dataset_get_info(ds)->format, "table");
  }
}

TEST(test_max_length) {
  const char *path = test_write_text(test_folder(), "data.tsv", small_lra);
  test_refuse_dataset(path, &(filtra_dataset_options){.max_length = 7},
                      "data.tsv:3: a sequence of 8 tokens where at most 7 are accepted");
  assert_ok(test_try_dataset(path, &(filtra_dataset_options){.max_length = 8}));
  owned_dataset *ds = test_open_dataset(
      path, NULL,
      &(filtra_dataset_options){.max_length = 5, .truncate = true, .file_split = FILTRA_SPLIT_VAL});
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_VAL, 1);
  static const int32_t expected[] = {13, 2, 14, 9, 8};
  assert_int_equal(s.length, 5);
  assert_memory_equal(s.tokens, expected, sizeof expected);
  assert_int_equal(s.label, 4); /* of the whole expression */
  assert_int_equal(filtra_dataset_get_info(ds)->longest, 5);
  filtra_dataset_options options = {.max_length = 5, .truncate = true};
  test_open_warns(path, &options, "are cut", " expressions are cut to max_length, 5 tokens");
  options.max_length = 8;
  test_open_warns(path, &options, "are cut", NULL);
}

/* Every shorter file is either refused or has whole lines only. */
TEST(test_cut_at_every_byte) {
  static const char *const texts[] = {small_lra, small_original};
  for (int t = 0; t < 2; t++)
    assert_int_equal(
        test_dataset_cuts("cut.tsv", texts[t], strlen(texts[t]),
                          &(filtra_dataset_options){.format = t == 0 ? "lra-listops" : "listops",
                                                    .verify_labels = true}),
        t == 0 ? 4 : 6); /* with and without the last line's end */
}

TEST(test_damaged_at_every_byte) {
  static const char *const texts[] = {small_lra, small_original};
  static const char bytes[] = {'\0', '\xff', ' ', '\t', '\n', '\r', '(', ']', '[', '5'};
  for (int t = 0; t < 2; t++)
    test_dataset_damage("damaged.tsv", texts[t], bytes, sizeof bytes);
}

TEST(test_every_allocation_may_fail) {
  const char *folder = test_folder();
  test_write_text(folder, "basic_train.tsv", small_lra);
  test_dataset_memory(folder, NULL);
}

TEST_MAIN(NULL, test_teardown)
