/* The reader of tables: labelled texts, and numbers to predict. */
#include "base/file.h"
#include "base/memory.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>

static const char classes_csv[] = "id,text,label\r\n1,\"a, \"\"b\"\"\nc\",yes\r\n\r\n2, abc ,no\r\n"
                                  "3,cab,yes\r\n";
static const char values_csv[] =
    "name,measured thing in mol,smiles\nx,-1.5,CCO\ny,2,C=O\nz,3e-1,N\n";
static const char classes_json[] =
    "{\"id\":1,\"text\":\"a, \\\"b\\\"\\nc\",\"label\":\"yes\"}\n\n"
    "{\"label\":\"no\",\"text\":\" abc "
    "\",\"id\":2}\r\n{\"id\":3,\"text\":\"cab\",\"label\":\"yes\"}\n";
static const char plain_tsv[] = "ACGT\t10\nCCA\t9\nGTA\t10\n";

static filtra_dataset *open_ok(const char *path, filtra_dataset_options options) {
  filtra_dataset *ds = test_open_dataset(path, NULL, &options);
  assert_string_equal(filtra_dataset_get_info(ds)->format, "table");
  return ds;
}

static const char *class_of(const filtra_dataset *ds, uint64_t index) {
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, index);
  return filtra_dataset_class_name(ds, (uint32_t)s.label);
}

/* ---- what is right ---- */

TEST(test_quoted_fields) {
  owned_dataset *ds = open_ok(test_write_text(test_folder(), "a.csv", classes_csv),
                              (filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_int_equal(info->count[FILTRA_SPLIT_TEST], 3);
  assert_int_equal(info->classes, 2);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "characters");
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), "a, \"b\"\nc");
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 1), "abc");
  assert_string_equal(class_of(ds, 0), "yes");
  assert_string_equal(class_of(ds, 1), "no");
}

/* JSON Lines are the same table, whichever way their keys are ordered; so are they beside it. */
TEST(test_json_lines) {
  static const char *const texts[] = {"a, \"b\"\nc", "abc", "cab"}, *const names[] = {"1", "2",
                                                                                      "3"};
  const char *folder = test_folder();
  test_write_text(folder, "a/train.csv", classes_csv);
  test_write_text(folder, "a/val.csv", classes_csv);
  test_write_text(folder, "a/test.jsonl", classes_json);
  test_write_text(folder, "b/train.ndjson", classes_json);
  test_write_text(folder, "b/val.jsonl", classes_json);
  test_write_text(folder, "b/test.csv", classes_csv);
  for (int k = 0; k < 2; k++) {
    owned_dataset *ds = open_ok(test_path(folder, k ? "b" : "a"), (filtra_dataset_options){0});
    for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++) {
      assert_int_equal(filtra_dataset_get_info(ds)->count[split], 3);
      for (uint64_t i = 0; i < 3; i++) {
        filtra_sample s = test_sample(ds, split, i);
        assert_string_equal(test_row_text(ds, split, i), texts[i]);
        assert_string_equal(s.name, names[i]);
        assert_string_equal(filtra_dataset_class_name(ds, (uint32_t)s.label),
                            i == 1 ? "no" : "yes");
      }
    }
  }
}

/* Numbers of JSON are read back to the last bit, and keys are names also above texts. */
TEST(test_numbers_in_json_lines) {
  static const float expected[] = {0.1f, -1.125f, 2e30f, 7.0f, 1.0f / 3.0f};
  owned_dataset *ds =
      open_ok(test_write_text(test_folder(), "a.jsonl",
                              "{\"smiles\":\"C\",\"kind\":\"a\",\"y\":0.1}\n"
                              "{\"smiles\":\"N\",\"kind\":\"b\",\"y\":-1.125}\n"
                              "{\"smiles\":\"O\",\"kind\":\"a\",\"y\":2e30}\n"
                              "{\"smiles\":\"F\",\"kind\":\"b\",\"y\":7}\n"
                              "{\"smiles\":\"S\",\"kind\":\"b\",\"y\":0.333333333333333333}\n"),
              (filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_VALUE);
  for (uint64_t i = 0; i < FT_COUNT(expected); i++)
    assert_true(test_sample(ds, FILTRA_SPLIT_TEST, i).value == expected[i]);
}

/* A file without header knows columns by their places, which objects have, too. */
TEST(test_json_lines_beside_a_table_without_header) {
  const char *folder = test_folder();
  test_write_text(folder, "train.tsv", plain_tsv);
  test_write_text(folder, "test.jsonl", "{\"x\":\"CCA\",\"y\":9}\n{\"x\":\"GTA\",\"y\":10}\n");
  owned_dataset *ds = open_ok(folder, (filtra_dataset_options){0});
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 2);
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), "CCA");
  assert_string_equal(class_of(ds, 1), "10");
}

TEST(test_values) {
  static const float expected[] = {-1.5f, 2.0f, 0.3f};
  owned_dataset *ds = open_ok(test_write_text(test_folder(), "a.csv", values_csv),
                              (filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_VALUE);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 0);
  for (uint64_t i = 0; i < 3; i++) {
    filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, i);
    assert_true(s.value == expected[i]);
  }
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 1), "C=O");
}

/* Whole numbers are classes, in their order as numbers. */
TEST(test_without_a_header) {
  const char *path = test_write_text(test_folder(), "a.tsv", plain_tsv);
  owned_dataset *ds = open_ok(path, (filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 3);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "9");
  assert_string_equal(filtra_dataset_class_name(ds, 1), "10");
  assert_string_equal(class_of(ds, 1), "9");
  filtra_dataset_close(&ds);
  ds = open_ok(path, (filtra_dataset_options){.tokenizer = "dna", .file_split = FILTRA_SPLIT_TEST});
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), "ACGT");
}

TEST(test_which_columns) {
  static const struct {
    const char *name, *text;
    filtra_dataset_options options;
    uint64_t samples;
    const char *first;
  } cases[] = {
      {"a.csv", "class,sequence\nx,ACA\ny,CC\n", {0}, 2, "ACA"},
      {"a.txt", "sequence\tclass\nACA\tx\nCC\ty\n", {0}, 2, "ACA"},
      {"a.csv", "family,SEQ\nlong name,ACA\ny,CC\n", {0}, 2, "ACA"},
      {"a.csv", "x;some words\nlong label;b\n", {0}, 2, "some words"},
      {"a.csv", "text,label,b\nL,M,ACA\n", {.text_column = "b"}, 1, "ACA"},
      {"a.csv", "text,label,b\nL,M,ACA\n", {.text_column = "B", .target_column = "1"}, 1, "ACA"},
      {"a.csv", "1,M,ACA\n2,M,CC\n", {.text_column = "3", .target_column = "2"}, 2, "ACA"},
      {"a.csv", "1,M,ACA\n2,M,CC\n", {.text_column = "3", .target_column = "1"}, 2, "ACA"},
      {"a.csv", "u,v\nAB,C\n", {.target_column = "v"}, 1, "AB"},
      {"a.dat", "0,sequence\n1,ACA\n", {.format = "table"}, 1, "ACA"},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_dataset_options options = cases[i].options;
    options.file_split = FILTRA_SPLIT_TEST;
    owned_dataset *ds = open_ok(test_write_text(folder, cases[i].name, cases[i].text), options);
    assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], cases[i].samples);
    assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), cases[i].first);
  }
}

TEST(test_folders) {
  const char *folder = test_folder();
  test_write_text(folder, "train.csv", "text,label\nab,x\nb,y\nab,x\n");
  test_write_text(folder, "valid.csv", "label,text\ny,bb\n");
  test_write_text(folder, "my_test.csv", "text,label\nc,y\nb,x\n");
  owned_dataset *ds = open_ok(folder, (filtra_dataset_options){0});
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  test_counts(ds, 3, 1, 2);
  assert_false(info->validation_held_out);
  assert_string_equal(class_of(ds, 0), "y");
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), "c");
  test_write_text(folder, "my_test.csv", "text,label\nc,z\n");
  test_refuse_dataset(folder, NULL, "my_test.csv:2: \"z\" is none of the 2 classes");
  test_write_text(folder, "test.csv", "text,label\nc,x\n");
  test_refuse_dataset(folder, NULL, "more than one file of the test split");
  test_refuse_dataset(test_folder(), &(filtra_dataset_options){.format = "table"},
                      "holds none of the files of table: ");
}

TEST(test_max_length) {
  const char *path = test_write_text(test_folder(), "a.tsv", plain_tsv);
  test_refuse_dataset(path, &(filtra_dataset_options){.max_length = 3},
                      "a.tsv:1: a sequence of more than 3 tokens");
  owned_dataset *ds = open_ok(
      path,
      (filtra_dataset_options){.max_length = 3, .truncate = true, .file_split = FILTRA_SPLIT_TEST});
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), "ACG");
}

/* Said once, of all splits; texts that fit are not counted. */
TEST(test_cut_texts_are_said) {
  filtra_dataset_options o = {.max_length = 3, .truncate = true};
  const char *folder = test_folder();
  test_write_text(folder, "train.csv", "text,label\nabc,x\nb,y\nabcd,x\n");
  test_write_text(folder, "test.csv", "text,label\nabcdef,x\nb,y\n");
  test_open_warns(folder, &o, "are cut",
                  ": 2 of 5 texts are cut to max_length, 3 tokens: what "
                  "comes later is left out");
  o.max_length = 6;
  test_open_warns(folder, &o, "are cut", NULL);
}

/* The shared files have the counts that their README states. */
TEST(test_shared_files) {
  static const uint64_t families[] = {234, 185, 144, 228, 261, 109, 521};
  owned_dataset *ds = open_ok(test_shared_data("dna/gene_family/chimp_data.txt"),
                              (filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  uint64_t seen[7] = {0};
  assert_int_equal(info->count[FILTRA_SPLIT_TEST], 1682);
  assert_int_equal(info->classes, 7);
  assert_int_equal(info->longest, 18921);
  assert_int_equal(filtra_tokenizer_size(info->tokenizer), 6);
  for (uint64_t i = 0; i < 1682; i++)
    seen[*class_of(ds, i) - '0']++;
  assert_memory_equal(seen, families, sizeof seen);
  filtra_dataset_close(&ds);
  ds = open_ok(test_shared_data("molecules/delaney-processed.csv"),
               (filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  info = filtra_dataset_get_info(ds);
  assert_int_equal(info->target, FILTRA_TARGET_VALUE);
  assert_int_equal(info->count[FILTRA_SPLIT_TEST], 1128);
  double sum = 0.0, low = 0.0, high = -99.0;
  for (uint64_t i = 0; i < 1128; i++) {
    filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, i);
    sum += s.value;
    low = fmin(low, s.value);
    high = fmax(high, s.value);
  }
  assert_float_equal(low, -11.6, 1e-6);
  assert_float_equal(high, 1.58, 1e-6);
  assert_float_equal(sum / 1128.0, -3.05, 5e-3);
}

/* ---- what is wrong ---- */

TEST(test_errors_name_file_and_line) {
  static const struct {
    const char *text, *part;
    filtra_dataset_options options;
  } cases[] = {
      {"", "is empty", {0}},
      {"\n\n", "bad.csv has no samples", {0}},
      {"text,label\n", "bad.csv has no samples", {0}},
      {"text\na\n", "bad.csv:1: one column where two are needed", {0}},
      {"text,label\na,x\nb\n", "bad.csv:3: 1 field where the first row has 2", {0}},
      {"text,label\na,x\nb,y,z\n", "bad.csv:3: 3 fields where the first row has 2", {0}},
      {"text,label\na,\n", "bad.csv:2: the class is empty", {0}},
      {"text,label\na,NaN\n", "bad.csv:2: the class is missing", {0}},
      {"text,label\n  ,x\n", "bad.csv:2: the text is empty", {0}},
      {"text,label\na,x\n text,label\nb,y\n", "line 3 names the columns again", {0}},
      {"a,b,label\n1,2,x\n-INF,3,y\n3,4,x\n", "\"a\", holds numbers and \"-INF\"", {0}},
      {"text,label\n\"a,x\n", "bad.csv:2: a quote that is not closed", {0}},
      {"text,label\n\"a\"b,x\n", "bad.csv:2: 'b' behind the closing quote of field 1", {0}},
      {"text,value\na,1.5\nb,x\n", "bad.csv:3: the target \"x\" is no number", {0}},
      {"text,value\na,1.5\nb,nan\n", "bad.csv:3: the target \"nan\" is no number", {0}},
      {"text,value\na,1.5\nb,1e999\n", "bad.csv:3: the target \"1e999\" is no number", {0}},
      {"text,value\na,1.5\nb,\n", "bad.csv:3: the target \"\" is no number", {0}},
      {"a,b,c\n1,2,3\n", "bad.csv:1: set target_column to one of the 3 columns", {0}},
      {"text,b,c\n1,2,3\n", "bad.csv:1: set target_column to one of the 3 columns", {0}},
      {"a,label\n1,2\n",
       "bad.csv:1: text_column is \"b\"; the 2 columns are",
       {.text_column = "b"}},
      {"a,label\n1,2\n", "bad.csv:1: target_column is \"3\"", {.target_column = "3"}},
      {"a,label\n1,2\n", "the same column", {.text_column = "1", .target_column = "a"}},
      {"text,label\n\xff,2\n", "bad.csv:2: ", {0}},
      {"text,label\na,x\n", "reads no free text", {.tokenizer = "listops"}},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_status wanted =
        strstr(cases[i].part, "free text") ? FILTRA_ERROR_ARGUMENT : FILTRA_ERROR_INPUT;
    assert_fails(
        test_try_dataset(test_write_text(folder, "bad.csv", cases[i].text), &cases[i].options),
        wanted, cases[i].part);
  }
  test_refuse_dataset(test_write_bytes(folder, "bad.csv", "text,label\na,\0x\n", 16), NULL,
                      "bad.csv:2: a NUL byte");
}

/* Thousands of classes are a column that holds none. */
TEST(test_too_many_classes) {
  enum { ROWS = 10001 };
  char *text = ft_calloc(ROWS + 1, 16), *to = text;
  to += sprintf(to, "text,label\n");
  for (int i = 0; i < ROWS; i++)
    to += sprintf(to, "a,c%d\n", i);
  test_refuse_dataset(test_write_text(test_folder(), "a.csv", text), NULL,
                      "a.csv:10002: \"c10000\" is class number 10001");
  free(text);
}

TEST(test_cut_and_damaged_at_every_byte) {
  static const char *const texts[] = {classes_csv, values_csv, plain_tsv};
  static const char signs[] = {'\0', '\xff', ' ', ',', '"', '\n', '{', '}', '[', ':', '\\', '1'};
  static const char bytes[] = {'\0', '\xff', ' ', ',', '"', '\n', '\r', '\t', '9', '-', 'e', '.'};
  for (int t = 0; t < 3; t++) {
    test_dataset_cuts("cut.csv", texts[t], strlen(texts[t]), NULL);
    test_dataset_damage("damaged.csv", texts[t], bytes, sizeof bytes);
  }
  test_dataset_cuts("cut.jsonl", classes_json, strlen(classes_json), NULL);
  test_dataset_damage("damaged.jsonl", classes_json, signs, sizeof signs);
}

TEST(test_every_allocation_may_fail) {
  const char *folder = test_folder();
  test_write_text(folder, "train.csv", classes_csv);
  test_write_text(folder, "test.csv", classes_csv);
  test_dataset_memory(folder, &(filtra_dataset_options){.format = "table"});
  test_dataset_memory(test_write_text(folder, "a.jsonl", classes_json),
                      &(filtra_dataset_options){.format = "table"});
}

TEST_MAIN(NULL, test_teardown)
