/* The reader of the UCR archive's tables of series. */
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

/* A sample's values as they were stored before they were standardised. */
static void assert_series(const filtra_dataset *ds, filtra_split split, uint64_t index,
                          const char *label, uint32_t length, const double *values) {
  filtra_sample s = test_sample(ds, split, index);
  float x[16];
  assert_int_equal(s.length, length);
  assert_string_equal(filtra_dataset_class_name(ds, (uint32_t)s.label), label);
  assert_ok(filtra_dataset_sample_features(ds, split, index, x));
  for (uint32_t i = 0; i < length; i++) {
    double stored = x[i] / ds->feature_factor[0] + ds->feature_mean[0];
    assert_true(fabs(stored - values[i]) < 1e-5);
  }
}

static const char *write_series(const char *folder, const char *name, const char *text) {
  const bool packed = strstr(name, ".gz") != NULL;
  return packed ? test_write_gzip(folder, name, text, strlen(text), 1)
                : test_write_text(folder, name, text);
}

/* Tabs, commas and runs of spaces; classes as 1 or 1.0000000e+00; with and without an ending. */
TEST(test_forms) {
  static const struct {
    const char *train, *test, *text, *test_text;
  } cases[] = {
      {"N_TRAIN.tsv", "N_TEST.tsv", "2\t0.5\t1\t-1\n-1\t4\t5\t6\n2\t0\t1\t2\n", "-1\t7\t8\t9\n"},
      {"N_TRAIN.csv", "N_TEST.csv", "2,0.5,1,-1\r\n-1,4,5,6\r\n2,0,1,2\r\n", "-1,7,8,9"},
      {"N_TRAIN.txt", "N_TEST.txt",
       "  2.0000000e+00  5.0000000e-01   1.0000000e+00  -1.0000000e+00\n"
       " -1.0000000e+00  4.0000000e+00   5.0000000e+00   6.0000000e+00  \n"
       "  2.0000000e+00  0  1  2\n",
       " -1.0000000e+00  7 8 9\n"},
      {"N_TRAIN", "N_TEST", "2,0.5, 1,-1\n\n-1,4,5,6\n2.0,0,1,2\n", "-1,7,8,9\n"},
      {"N_TRAIN.tsv.gz", "N_TEST.tsv.gz", "2\t0.5\t1\t-1\n-1\t4\t5\t6\n2\t0\t1\t2\n",
       "-1\t7\t8\t9\n"},
  };
  static const double values[][3] = {{0.5, 1, -1}, {4, 5, 6}, {0, 1, 2}, {7, 8, 9}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_folder();
    write_series(folder, cases[i].train, cases[i].text);
    const char *test = write_series(folder, cases[i].test, cases[i].test_text);
    owned_dataset *ds =
        test_open_dataset(folder, NULL, &(filtra_dataset_options){.validation_share = 0.34f});
    const filtra_dataset_info *info = filtra_dataset_get_info(ds);
    assert_string_equal(info->format, "ucr");
    assert_int_equal(info->classes, 2);
    assert_string_equal(filtra_dataset_class_name(ds, 0), "-1"); /* sorted as numbers */
    assert_int_equal(info->count[FILTRA_SPLIT_TRAIN] + info->count[FILTRA_SPLIT_VAL], 3);
    assert_series(ds, FILTRA_SPLIT_TEST, 0, "-1", 3, values[3]);
    owned_dataset *alone =
        test_open_dataset(test_path(folder, cases[i].train), NULL,
                          &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
    assert_series(alone, FILTRA_SPLIT_TEST, 0, "2", 3, values[0]);
    assert_series(alone, FILTRA_SPLIT_TEST, 1, "-1", 3, values[1]);
    owned_dataset *only =
        test_open_dataset(test, NULL, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
    assert_int_equal(filtra_dataset_get_info(only)->count[FILTRA_SPLIT_TEST], 1);
  }
}

/* NaN at the end makes a series shorter; within it, a value is interpolated. */
TEST(test_lengths_and_missing_values) {
  const char *path = test_write_text(test_folder(), "N_TRAIN.tsv",
                                     "1\t1\tNaN\t3\tNaN\tNaN\n2\t4\t5\t6\t7\t8\n1\t9\n");
  owned_dataset *ds =
      test_open_dataset(path, NULL, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  assert_series(ds, FILTRA_SPLIT_TEST, 0, "1", 3, (double[]){1, 2, 3});
  assert_series(ds, FILTRA_SPLIT_TEST, 1, "2", 5, (double[]){4, 5, 6, 7, 8});
  assert_series(ds, FILTRA_SPLIT_TEST, 2, "1", 1, (double[]){9});
}

TEST(test_unlabelled) {
  const filtra_dataset_options options = {.file_split = FILTRA_SPLIT_TEST, .unlabelled = true};
  const char *path = test_write_text(test_folder(), "N_TEST.tsv", "?\t1\t2\t3\nNaN\t4\t5\t6\n");
  owned_dataset *ds = test_open_dataset(path, NULL, &options);
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 2);
  test_refuse_dataset(path, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST},
                      "N_TEST.tsv:1: the class is \"?\", unknown; such series can be predicted");
}

TEST(test_what_is_wrong) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"", "N_TRAIN.tsv has no samples"},
      {"\n\n", "N_TRAIN.tsv has no samples"},
      {"1\t2\t3\nx\t2\t3\n", "N_TRAIN.tsv:2: \"x\" is no class, a whole number"},
      {"1\t2\t3\n1.5\t2\t3\n", "N_TRAIN.tsv:2: \"1.5\" is no class"},
      {"1\t2\t3\n1\t2\tx\n", "N_TRAIN.tsv:2: value 2: \"x\" is not a number"},
      {"1\t2\t3\n1\t2\t\n", "N_TRAIN.tsv:2: value 2: nothing"},
      {"1\t2\t3\n1\t\t3\n", "N_TRAIN.tsv:2: value 1: nothing"},
      {"1\t2\t3\n1\tNaN\tNaN\n", "N_TRAIN.tsv:2: the series has no values"},
      {"1\t2\t3\n1\n", "N_TRAIN.tsv:2: the series has no values"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    test_refuse_dataset(test_write_text(test_folder(), "N_TRAIN.tsv", cases[i].text),
                        &(filtra_dataset_options){.format = "ucr"}, cases[i].part);
  const char *folder = test_folder();
  test_write_text(folder, "N_TRAIN.tsv", "1\t2\t3\n2\t2\t3\n");
  test_write_text(folder, "N_TEST.tsv", "3\t2\t3\n");
  test_refuse_dataset(folder, NULL, "N_TEST.tsv:1: \"3\" is none of the 2 classes");
  /* a table with names in its first line is none of these */
  owned_dataset *table = test_open_dataset(
      test_write_text(test_folder(), "N_TRAIN.csv", "text,label\none,a\ntwo,b\n"), NULL, NULL);
  assert_string_equal(filtra_dataset_get_info(table)->format, "table");
}

TEST(test_cut_and_damaged) {
  static const char text[] = "1\t0.5\t-1e1\tNaN\n2\t3\t4\t5\n";
  const filtra_dataset_options options = {.format = "ucr"};
  test_dataset_cuts("N_TRAIN.tsv", text, strlen(text), &options);
  test_dataset_damage("N_TRAIN.tsv", text, "x\t,\n?", 5);
}

TEST(test_every_allocation_may_fail) {
  const char *folder = test_folder();
  test_write_text(folder, "N_TRAIN.tsv", "1\t2\t3\n2\t2\t3\n");
  test_write_text(folder, "N_TEST.tsv", "1\t2\t3\n");
  test_dataset_memory(folder, NULL);
}

TEST_MAIN(NULL, test_teardown)
