/* The reader of .ts time series. */
#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>
#include <locale.h>

#define HEADER                                                                                     \
  "# comment\n@problemName Small\n@timeStamps false\n@missing true\n@univariate false\n"           \
  "@dimensions 2\n@equalLength false\n@classLabel true b a 10 9\n@data\n"

static const char small[] = HEADER "1,2,3:4,5,6:a\n"
                                   "-1,0.5:1e1,2:b\n"
                                   "2,?,6,NaN:nan,1,?,7:10\n"
                                   "7:8:9\n";

/* ---- helpers ---- */

static filtra_dataset *open_ok(const char *path, filtra_split file_split) {
  filtra_dataset *ds =
      test_open_dataset(path, NULL, &(filtra_dataset_options){.file_split = file_split});
  return ds;
}

/* ---- what is right ---- */

/* As a test file, all samples are there in file order, standardised by themselves. */
TEST(test_values) {
  /* [step][dimension], missing ones interpolated, by hand */
  static const double rows[4][4][2] = {
      {{1, 4}, {2, 5}, {3, 6}}, {{-1, 10}, {0.5, 2}}, {{2, 1}, {4, 1}, {6, 4}, {6, 7}}, {{7, 8}}};
  static const uint32_t lengths[] = {3, 2, 4, 1};
  static const char *const classes[] = {"a", "b", "10", "9"};
  owned_dataset *ds = open_ok(test_write_text(test_folder(), "a.ts", small), FILTRA_SPLIT_TEST);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(info->format, "ts");
  assert_int_equal(info->features, 2);
  assert_int_equal(info->classes, 4);
  assert_int_equal(info->longest, 4);
  assert_null(info->tokenizer);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "10"); /* sorted as text */
  assert_string_equal(filtra_dataset_class_name(ds, 3), "b");
  double mean[2] = {0}, deviation[2] = {0};
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 4; i++)
      for (uint32_t t = 0; t < lengths[i]; t++)
        mean[k] += rows[i][t][k] / 10.0;
    for (int i = 0; i < 4; i++)
      for (uint32_t t = 0; t < lengths[i]; t++)
        deviation[k] += pow(rows[i][t][k] - mean[k], 2.0) / 9.0;
  }
  for (int i = 0; i < 4; i++) {
    filtra_sample s;
    float x[8];
    assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TEST, (uint64_t)i, &s));
    assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, (uint64_t)i, x));
    assert_int_equal(s.length, lengths[i]);
    assert_null(s.tokens);
    assert_string_equal(filtra_dataset_class_name(ds, (uint32_t)s.label), classes[i]);
    for (uint32_t t = 0; t < s.length; t++)
      for (int k = 0; k < 2; k++)
        assert_float_equal(x[2 * t + (uint32_t)k], (rows[i][t][k] - mean[k]) / sqrt(deviation[k]),
                           1e-6);
  }
}

/* Large offsets take the digits that tell values apart; dimensions with few values stay. */
TEST(test_values_that_floats_do_not_tell_apart) {
  const char *path = test_write_text(test_folder(), "a.ts",
                                     "@classLabel true a b\n@data\n"
                                     "1,2:1000000001,1000000002:a\n"
                                     "3,4:1000000003,?:b\n");
  test_refuse_dataset(path, NULL,
                      "a.ts: dimension 2 holds numbers from 1000000001 to 1000000003, which 32-bit "
                      "numbers hardly tell apart; subtract a constant");
  path = test_write_text(test_folder(), "a.ts",
                         "@classLabel true a b\n@data\n"
                         "1,2:1000000001,1000000001:a\n"
                         "3,4:1000000001,?:b\n");
  assert_ok(test_try_dataset(path, NULL));
}

/* A model that is trained already takes any targets to be evaluated with. */
TEST(test_targets_that_floats_do_not_tell_apart) {
  static const ft_data_fit fit = {.values = true};
  filtra_dataset *ds = NULL;
  const char *path = test_write_text(test_folder(), "a.ts",
                                     "@targetLabel true\n@data\n1,2:1000000000.1\n3,4:1e9\n");
  test_refuse_dataset(
      path, NULL,
      "a.ts: the target holds numbers from 1000000000 to 1000000000.1, which 32-bit "
      "numbers hardly tell apart; subtract a constant");
  assert_ok(ft_dataset_open_fitted(path, &(filtra_dataset_options){0}, &fit, &ds));
  filtra_dataset_close(&ds);
  path = test_write_text(test_folder(), "a.ts",
                         "@targetLabel true\n@data\n1,2:1000000000\n3,4:1.1e9\n5:1.2e9\n");
  assert_ok(test_try_dataset(path, NULL));
}

/* Samples (i, 2i) with i below `count`, each twice as long as needed to tell. */
static const char *write_ramp(const char *folder, const char *name, int first, int count,
                              int length) {
  char *text = ft_calloc((size_t)count * (size_t)length * 16 + 256, 1), *to = text;
  to += sprintf(to, "@classLabel true x y\n@data\n");
  for (int i = first; i < first + count; i++) {
    for (int k = 0; k < length; k++)
      to += sprintf(to, "%s%d", k ? "," : "", i);
    for (int k = 0; k < length; k++)
      to += sprintf(to, "%c5.%d", k ? ',' : ':', k % 2);
    to += sprintf(to, ":%c\n", i % 2 ? 'x' : 'y');
  }
  const char *path = test_write_text(folder, name, text);
  free(text);
  return path;
}

/* Mean and deviation are those of the training split, validation samples not among them. */
TEST(test_standardised_by_the_training_split) {
  const char *folder = test_folder();
  write_ramp(folder, "R_TRAIN.ts", 0, 50, 4);
  write_ramp(folder, "R_TEST.ts", 1000, 3, 4);
  owned_dataset *ds = open_ok(folder, FILTRA_SPLIT_TRAIN);
  test_counts(ds, 45, 5, 3);
  double sum[2] = {0}, squares[2] = {0};
  float x[8];
  for (uint64_t i = 0; i < 45; i++) {
    assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, i, x));
    for (int k = 0; k < 8; k++) {
      sum[k % 2] += x[k];
      squares[k % 2] += (double)x[k] * x[k];
    }
  }
  for (int k = 0; k < 2; k++) {
    assert_float_equal(sum[k] / 180.0, 0.0, 1e-6);
    assert_float_equal(squares[k] / 179.0, 1.0, 1e-5);
  }
  float first[8], second[8]; /* by the same numbers: one step of i is as wide as in train */
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 0, first));
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 1, second));
  assert_true(first[0] > 60.0f && first[0] < 80.0f);
  assert_float_equal(second[0] - first[0], 1.0 / 14.5, 5e-3);
}

static char said[256];
static void keep_warning(void *user, filtra_log_level level, const char *message) {
  (void)user;
  if (level == FILTRA_LOG_WARNING) snprintf(said, sizeof said, "%s", message);
}

TEST(test_test_files_bring_their_training_file) {
  filtra_log_set(keep_warning, NULL);
  const char *folder = test_folder();
  write_ramp(folder, "R_TRAIN.ts", 0, 20, 3);
  const char *path = write_ramp(folder, "R_TEST.ts", 0, 4, 6);
  filtra_dataset *whole = open_ok(folder, FILTRA_SPLIT_TRAIN),
                 *test = open_ok(path, FILTRA_SPLIT_TEST);
  assert_int_equal(filtra_dataset_get_info(test)->count[FILTRA_SPLIT_TEST], 4);
  assert_int_equal(filtra_dataset_get_info(test)->longest, 3); /* cut like training series */
  assert_non_null(strstr(said, "4 of 4 series are longer than 3 steps"));
  filtra_log_set(NULL, NULL);
  for (uint64_t i = 0; i < 4; i++) {
    float a[6], b[6];
    assert_ok(filtra_dataset_sample_features(whole, FILTRA_SPLIT_TEST, i, a));
    assert_ok(filtra_dataset_sample_features(test, FILTRA_SPLIT_TEST, i, b));
    assert_memory_equal(a, b, sizeof a);
  }
  filtra_dataset_close(&whole);
  filtra_dataset_close(&test);
  test = open_ok(path, FILTRA_SPLIT_TRAIN); /* to train on: alone */
  assert_int_equal(filtra_dataset_get_info(test)->count[FILTRA_SPLIT_TRAIN], 3);
  assert_int_equal(filtra_dataset_get_info(test)->longest, 6);
  filtra_dataset_close(&test);
}

TEST(test_folders_of_several_sets) {
  const char *folder = test_folder();
  const char *named = test_path(folder, "Two");
  for (int i = 0; i < 2; i++) {
    const char *in = i ? named : folder;
    write_ramp(in, "Two_TRAIN.ts", 0, 5, 2);
    write_ramp(in, "Two_eq_TRAIN.ts", 0, 7, 2);
    write_ramp(in, "A_TRAIN.ts", 0, 9, 2);
  }
  test_refuse_dataset(folder, NULL, "more than one data set");
  for (int slashes = 0; slashes < 3; slashes++) {
    owned_dataset *ds = open_ok(test_text("%s%.*s", named, slashes, "//"), FILTRA_SPLIT_TRAIN);
    assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TRAIN], 4);
  }
  test_refuse_dataset(test_folder(), &(filtra_dataset_options){.format = "ts"},
                      "holds no NAME_TRAIN.ts");
}

TEST(test_headers) {
  static const char *const good[] = {
      "@classLabel true 1 2\n@data\n1,2:1\n3:2\n",
      "% comment\n@data\n1,2:yes\n3:no\n", /* classes from the samples */
      "@classlabel TRUE\n@DATA\n1,2:yes\n3:no",
      "@problemName a b c\n@whatever\n@univariate true\n@seriesLength 9\n@classLabel true x\n"
      "@data\n\n# comment\n% another\n1,2: x \n",
      "\xef\xbb\xbf@problemName x\r\n@classLabel true x y\r\n@data\r\n 1, 2:x\r\n1:y\r\n",
      "@equalLength true\n@seriesLength 2\n@univariate false\n@classLabel true "
      "x\n@data\n1,2:3,4:x\n",
      "@classLabel false\n@targetLabel true\n@data\n1,2:0.5\n3:-1e3\n",
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(good); i++)
    assert_ok(test_try_dataset(test_write_text(folder, "a.ts", good[i]), NULL));
}

TEST(test_number_targets) {
  owned_dataset *ds =
      open_ok(test_write_text(test_folder(), "a.ts", "@targetLabel true\n@data\n1,2:0.5\n3:-1e3\n"),
              FILTRA_SPLIT_TEST);
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_VALUE);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 0);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 1);
  assert_true(s.value == -1000.0f);
}

/* A folder that is called like a file is none. */
TEST(test_beside_folders) {
  const char *folder = test_folder();
  test_write_text(folder, "N_TEST.ts/N_TEST.ts", "no series");
  test_write_text(folder, "M_TRAIN.ts/M_TRAIN.ts", "no series");
  test_write_text(folder, "N_TRAIN.ts", "@data\n1,2:a\n3,4:b\n");
  assert_ok(test_try_dataset(folder, NULL));
}

/* Time stamps at equal steps, as numbers and dates, rounded or not: the values are the same. */
TEST(test_time_stamps) {
  static const char plain[] = "@data\n1,2,3:5,5,7:a\n4,4,?:8,9,9:b\n";
  static const char *const texts[] = {
      "@timeStamps true\n@data\n(0,1),(1,2),(2,3):(0,5),(1,5),(2,7):a\n"
      "(5,4),(6,4),(7,?):(5,8),(6,9),(7,9):b\n",
      "@timestamps true\n@data\n(0.033, 1), (0.067, 2), (0.1, 3):(0.033,5),(0.067,5),(0.1,7):a\n"
      "(0,4),(0.033,4),(0.067,NaN):(0,8),(0.033,9),(0.067,9):b\n",
      "@timeStamps true\n@data\n"
      "(2004-10-01 12:00:00,1),(2004-10-01 12:30:00,2),(2004-10-01 13:00:00,3):"
      "(2004-10-01 12:00:00,5),(2004-10-01 12:30:00,5),(2004-10-01 13:00:00,7):a\n"
      "(1999-12-31T23-00-00,4),(1999-12-31T23-30-00,4),(2000-01-01T00-00-00,?):"
      "(1999-12-31T23-00-00,8),(1999-12-31T23-30-00,9),(2000-01-01T00-00-00,9):b\n",
      "@timeStamps true\n@data\n(2024-02-28,1),(2024-02-29,2),(2024-03-01,3):"
      "(2024-02-28,5),(2024-02-29,5),(2024-03-01,7):a\n"
      "(2023-02-28,4),(2023-03-01,4),(2023-03-02,?):(2023-02-28,8),(2023-03-01,9),(2023-03-02,9):b"
      "\n",
  };
  owned_dataset *want = open_ok(test_write_text(test_folder(), "a.ts", plain), FILTRA_SPLIT_TEST);
  for (size_t i = 0; i < FT_COUNT(texts); i++) {
    owned_dataset *ds =
        open_ok(test_write_text(test_folder(), "a.ts", texts[i]), FILTRA_SPLIT_TEST);
    assert_true(ft_dataset_fingerprint(ds) == ft_dataset_fingerprint(want));
    assert_memory_equal(ds->samples[FILTRA_SPLIT_TEST].values,
                        want->samples[FILTRA_SPLIT_TEST].values, 12 * sizeof(float));
    assert_string_equal(filtra_dataset_class_name(ds, 1), "b");
  }
}

/* Series without a target can be predicted: without one in the file, or with "?" for it. */
TEST(test_unlabelled) {
  static const struct {
    const char *text;
    uint64_t unlabelled;
    bool values; /* also as data of a regression */
  } cases[] = {
      {"@classLabel false\n@data\n1,2:3,4\n5,6:7,8\n", 2, true},
      {"@classLabel true a b\n@data\n1,2:3,4:?\n5,6:7,8:?\n", 2, false},
      {"@data\n1,2:3,4:?\n5,6:7,8:?\n", 2, true},
      {"@data\n1,2:3,4:b\n5,6:7,8:?\n", 1, false},
      {"@timeStamps true\n@classLabel false\n@data\n(0,1),(1,2):(0,3),(1,4)\n"
       "(2000-01-01 00:00:00,5),(2000-01-01 00:00:01,6):"
       "(2000-01-01 00:00:00,7),(2000-01-01 00:00:01,8)\n",
       2, true},
  };
  static const char *const names[] = {"a", "b"};
  static const ft_data_fit fits[] = {{.classes = names, .class_count = 2}, {.values = true}};
  const filtra_dataset_options options = {.file_split = FILTRA_SPLIT_TEST, .unlabelled = true};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *path = test_write_text(test_folder(), "a.ts", cases[i].text);
    for (int k = 0; k <= cases[i].values; k++) {
      filtra_dataset *ds;
      assert_ok(ft_dataset_open_fitted(path, &options, &fits[k], &ds));
      const filtra_dataset_info *info = filtra_dataset_get_info(ds);
      assert_int_equal(info->target, k ? FILTRA_TARGET_VALUE : FILTRA_TARGET_CLASS);
      assert_int_equal(info->classes, k ? 0 : 2);
      assert_int_equal(info->features, 2);
      assert_int_equal(info->unlabelled[FILTRA_SPLIT_TEST], cases[i].unlabelled);
      filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 1);
      assert_true(k ? isnan(s.value) : s.label == -1);
      filtra_dataset_close(&ds);
    }
    test_refuse_dataset(path, NULL, "series can be predicted");
  }
  /* beside its training file, which knows the targets */
  for (int values = 0; values < 2; values++) {
    const char *folder = test_folder();
    test_write_text(folder, "N_TRAIN.ts",
                    values ? "@targetLabel true\n@data\n1,2:1\n3,4:2\n" : "@data\n1,2:a\n3,4:b\n");
    const char *path = test_write_text(folder, "N_TEST.ts", "@classLabel false\n@data\n1,2\n");
    owned_dataset *ds = test_open_dataset(path, NULL, &options);
    filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 0);
    assert_true(values ? isnan(s.value) : s.label == -1);
  }
}

TEST(test_missing_throughout_and_constant) {
  owned_dataset *ds =
      open_ok(test_write_text(test_folder(), "a.ts",
                              "@data\n?,?:1e6,1e6:0.1,0.1:x\n1,3:1e6,1e6:0.1,0.1:y\n"),
              FILTRA_SPLIT_TEST);
  float x[6];
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 0, x));
  for (int i = 0; i < 6; i++)
    assert_true(x[i] == 0.0f);
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 1, x));
  assert_float_equal(x[0], -sqrt(0.5), 1e-6);
  assert_true(x[1] == 0.0f && x[2] == 0.0f);
}

TEST(test_max_length) {
  const char *path = test_write_text(test_folder(), "a.ts", small);
  test_refuse_dataset(path, &(filtra_dataset_options){.max_length = 3},
                      "a.ts:12: series of 4 values where at most 3 are accepted");
  assert_ok(test_try_dataset(path, &(filtra_dataset_options){.max_length = 4}));
  owned_dataset *ds =
      test_open_dataset(path, NULL, &(filtra_dataset_options){.max_length = 2, .truncate = true});
  assert_int_equal(filtra_dataset_get_info(ds)->longest, 2);
  filtra_dataset_close(&ds);
  assert_ok(filtra_dataset_open(
      path, &(filtra_dataset_options){.max_length = 3, .file_split = FILTRA_SPLIT_TEST}, &ds));
  assert_int_equal(filtra_dataset_get_info(ds)->longest, 3); /* test series are cut */
}

TEST(test_batches_of_features) {
  owned_dataset *ds = open_ok(test_write_text(test_folder(), "a.ts", small), FILTRA_SPLIT_TEST);
  filtra_batch batch;
  owned_loader *loader =
      test_loader(ds, &(filtra_loader_options){.split = FILTRA_SPLIT_TEST, .batch_size = 4});
  assert_ok(filtra_loader_next(loader, &batch));
  assert_null(batch.tokens);
  assert_int_equal(batch.length, 4);
  assert_int_equal(batch.lengths[3], 1);
  for (int k = 2; k < 8; k++)
    assert_true(batch.features[3 * 8 + k] == 0.0f);
}

/* A program that has set a decimal comma reads the same numbers. */
TEST(test_locale) {
  const char *path = test_write_text(test_folder(), "a.ts", "@data\n0.5,1.5:x\n2.5,3.5:y\n");
  const char *set = setlocale(LC_NUMERIC, "de_DE.UTF-8");
  assert_ok(test_try_dataset(path, NULL));
  setlocale(LC_NUMERIC, "C");
  if (!set) print_message("the locale de_DE.UTF-8 is not there; read in the C locale only\n");
}

/* The shared files have the counts that their README states. */
TEST(test_shared_files) {
  static const struct {
    const char *path;
    uint64_t train, test;
    uint32_t features, classes, longest;
  } sets[] = {
      {"JapaneseVowels", 270, 370, 12, 9, 26},
      {"JapaneseVowels/JapaneseVowels_eq_TRAIN.ts", 270, 370, 12, 9, 25},
      {"BasicMotions", 40, 40, 6, 4, 100},
      {"PickupGestureWiimoteZ", 50, 50, 1, 10, 361},
      {"GunPoint", 50, 150, 1, 2, 150},
  };
  for (size_t i = 0; i < FT_COUNT(sets); i++) {
    const char *path = test_shared_data(test_text("uea/%s", sets[i].path));
    assert_ok(test_try_dataset(path, NULL));
    owned_dataset *ds = open_ok(path, FILTRA_SPLIT_TRAIN);
    const filtra_dataset_info *info = filtra_dataset_get_info(ds);
    assert_int_equal(info->count[FILTRA_SPLIT_TRAIN] + info->count[FILTRA_SPLIT_VAL],
                     sets[i].train);
    assert_int_equal(info->count[FILTRA_SPLIT_TEST], sets[i].test);
    assert_int_equal(info->features, sets[i].features);
    assert_int_equal(info->classes, sets[i].classes);
    assert_int_equal(info->longest, sets[i].longest);
  }
}

/* ---- what is wrong ---- */

TEST(test_errors_name_file_and_line) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"", "is empty"},
      {"\n", "bad.ts:1: the file ends before @data"},
      {"@problemName x\n", "bad.ts:1: the file ends before @data"},
      {"@data\n", "bad.ts has no samples"},
      {"1,2:a\n", "bad.ts:1: a line of data, or of something else, before @data"},
      {"@timeStamps true\n@data\n", "bad.ts has no samples"},
      {"@timeStamps true\n@data\n1,2:a\n", "bad.ts:3: value 1 of dimension 1: not (time,value)"},
      {"@timeStamps true\n@data\n(0,1),(1,2:a\n", "value 2 of dimension 1: not (time,value)"},
      {"@timeStamps true\n@data\n(0,1)(1,2):a\n", "no ',' after (time,value)"},
      {"@timeStamps true\n@data\n(x,1),(1,2):a\n", "\"x\" is no time stamp"},
      {"@timeStamps true\n@data\n(2001-13-01,1):a\n", "\"2001-13-01\" is no time stamp"},
      {"@timeStamps true\n@data\n(0,1),(1,2),(3,4):a\n",
       "bad.ts:3: value 3 of dimension 1: time stamps at unequal steps"},
      {"@timeStamps true\n@data\n(0,1),(1,2):a\n(0,1),(2,2):a\n",
       "time stamps at steps of 2 where the series before have "
       "1"},
      {"@timeStamps true\n@data\n(2,1),(1,2),(0,3):a\n",
       "bad.ts:3: value 2 of dimension 1: time stamps fall, from 2 to 1"},
      {"@timeStamps true\n@data\n(1,1),(1,2):a\n", "time stamps at unequal steps"},
      {"@timeStamps true\n@data\n(0,1),(1,2):(5,1),(6,2):a\n",
       "dimension 2: time stamps from 5 on, where dimension 1 begins at 0"},
      {"@data\n1,2:a\n1,2:?\n",
       "bad.ts:3: the class is \"?\", unknown; such series can be predicted"},
      {"@targetLabel true\n@data\n1,2:?\n", "bad.ts:3: the target is \"?\", unknown"},
      {"@timeStamps yes\n@data\n", "bad.ts:1: @timeStamps is \"yes\""},
      {"@dimensions 0\n", "bad.ts:1: @dimensions is \"0\""},
      {"@dimensions 99999999999\n", "bad.ts:1: @dimensions is \"99999999999\""},
      {"@dimensions\n", "bad.ts:1: @dimensions is \"\""},
      {"@univariate true\n@dimensions 2\n", "bad.ts:2: @dimensions says 2 dimensions"},
      {"@classLabel true a a\n", "bad.ts:1: @classLabel lists \"a\" twice"},
      {"@classLabel false\n@data\n1:2\n", "bad.ts:2: the header says that there are no classes"},
      {HEADER "1,2,3\n", "bad.ts:10: no ':'"},
      {HEADER "1,2:3,4:c\n", "bad.ts:10: \"c\" is none of the 4 classes"},
      {HEADER "1,2:3,4:\n", "bad.ts:10: the class is empty"},
      {HEADER "1,2:a\n", "bad.ts:10: 1 dimension where the header says 2"},
      {HEADER "1,2:3,4:5,6:a\n", "bad.ts:10: 3 dimensions where the header says 2"},
      {HEADER "1,2:3,4,5:a\n", "bad.ts:10: 3 values in dimension 2 where dimension 1 has 2"},
      {HEADER "1,2:3,x:a\n", "bad.ts:10: value 2 of dimension 2: \"x\" is not a number"},
      {HEADER "1,:3,4:a\n", "bad.ts:10: value 2 of dimension 1: nothing"},
      {HEADER "::a\n", "bad.ts:10: value 1 of dimension 1: nothing"},
      {HEADER "1,1e999:3,4:a\n", "bad.ts:10: value 2 of dimension 1: 1e999 is too large"},
      {HEADER "1,inf:3,4:a\n", "\"inf\" is not a number"},
      {HEADER "1,0x1p3:3,4:a\n", "\"0x1p3\" is not a number"},
      {HEADER "1,1-2:3,4:a\n", "\"1-2\" is not a number"},
      {HEADER "(0,1),(1,2):3,4:a\n", "\"(0\" is not a number"},
      {"@missing false\n@data\n1,2:a\n?,1:a\n",
       "bad.ts:4: value 1 of dimension 1: missing, though"},
      {"@equalLength true\n@seriesLength 3\n@data\n1,2:a\n", "bad.ts:4: series of 2 values where"},
      {"@equalLength true\n@data\n1,2,3:a\n1,2:b\n",
       "bad.ts:4: series of 2 values where the first has 3, though the header says @equalLength "
       "true"},
      {"@data\n1,2:a\n1,2:1,2:b\n", "bad.ts:3: 2 dimensions where the samples before have 1"},
      {"@targetLabel true\n@data\n1,2:a\n", "bad.ts:3: the target: \"a\" is not a number"},
      {"@targetLabel true\n@data\n1,2:nan\n", "bad.ts:3: the target is \"nan\", unknown"},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    test_refuse_dataset(test_write_text(folder, "bad.ts", cases[i].text), NULL, cases[i].part);
  test_refuse_dataset(test_write_bytes(folder, "bad.ts", "@data\n1\0:a\n", 11), NULL,
                      "bad.ts:2: a NUL byte");
  assert_fails(test_try_dataset(test_write_text(folder, "bad.ts", small),
                                &(filtra_dataset_options){.tokenizer = "listops"}),
               FILTRA_ERROR_ARGUMENT, "holds series of numbers");
}

TEST(test_test_files_must_fit) {
  const char *folder = test_folder();
  test_write_text(folder, "N_TRAIN.ts", "@data\n1,2:a\n3:b\n");
  test_write_text(folder, "N_TEST.ts", "@data\n1,2:c\n");
  test_refuse_dataset(folder, NULL, "N_TEST.ts:2: \"c\" is none of the 2 classes");
  test_write_text(folder, "N_TEST.ts", "@data\n1,2:1,2:a\n");
  test_refuse_dataset(folder, NULL, "N_TEST.ts:2: 2 dimensions where");
  test_write_text(folder, "N_TEST.ts", "@targetLabel true\n@data\n1,2:1\n");
  test_refuse_dataset(folder, NULL, "N_TEST.ts: targets are numbers");
}

/* Every shorter file is either refused or has whole lines only. */
TEST(test_cut_at_every_byte) {
  /* with and without the last line's end */
  assert_int_equal(test_dataset_cuts("cut.ts", small, strlen(small), NULL), 8);
}

TEST(test_damaged_at_every_byte) {
  static const char bytes[] = {'\0', '\xff', ' ', ',', ':', '\n', '\r', '@', '?', '9', '-', 'e'};
  test_dataset_damage("damaged.ts", small, bytes, sizeof bytes);
}

TEST(test_every_allocation_may_fail) {
  const char *folder = test_folder();
  test_write_text(folder, "N_TRAIN.ts", small);
  test_write_text(folder, "N_TEST.ts", small);
  test_dataset_memory(folder, &(filtra_dataset_options){.format = "ts"});
}

/* A folder's files may be packed. */
TEST(test_packed_files) {
  static const char TEXT[] = "@problemName X\n@univariate true\n@classLabel true a b\n@data\n"
                             "1,2,3:a\n4,5,6:b\n2,3,4:a\n";
  const char *folder = test_folder();
  test_write_gzip(folder, "X_TRAIN.ts.gz", TEXT, strlen(TEXT), 1);
  test_write_gzip(folder, "X_TEST.ts.gz", TEXT, strlen(TEXT), 1);
  owned_dataset *ds = test_open_dataset(folder, NULL, NULL);
  assert_string_equal(filtra_dataset_get_info(ds)->format, "ts");
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 3);
}

TEST_MAIN(NULL, test_teardown)
