/* Arrays as NumPy saves them: .npy files, and .npz archives of them. */
#include "base/memory.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <zlib.h>

enum { ROOM = 1 << 16 };

/* ---- writing ---- */

typedef struct written {
  uint8_t bytes[ROOM];
  size_t size;
} written;

/* An array of NumPy's version 1: its type, shape and order as Python writes them, then its data. */
static void make_npy(written *w, const char *type, const char *shape, bool fortran,
                     const void *data, size_t size) {
  char header[256];
  int used = snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': %s, 'shape': %s, }",
                      type, fortran ? "True" : "False", shape);
  int padded = (10 + used + 1 + 63) / 64 * 64 - 10;
  memset(header + used, ' ', (size_t)(padded - used));
  header[padded - 1] = '\n';
  memcpy(w->bytes, "\x93NUMPY\1\0", 8);
  w->bytes[8] = (uint8_t)padded;
  w->bytes[9] = (uint8_t)(padded >> 8);
  memcpy(w->bytes + 10, header, (size_t)padded);
  if (size) memcpy(w->bytes + 10 + padded, data, size);
  w->size = 10 + (size_t)padded + size;
}

static const char *write_npy(const char *folder, const char *name, const char *type,
                             const char *shape, const void *data, size_t size) {
  static written w;
  make_npy(&w, type, shape, false, data, size);
  return test_write_bytes(folder, name, w.bytes, w.size);
}

static void put(uint8_t *to, uint32_t number, int count) {
  for (int i = 0; i < count; i++)
    to[i] = (uint8_t)(number >> 8 * i);
}

typedef struct zip_writer {
  written all, directory;
  int count;
} zip_writer;

/* Appends an entry, stored or deflated, and its record. */
static void add_entry(zip_writer *z, const char *name, const written *entry, bool deflated) {
  static uint8_t packed[ROOM];
  z_stream s = {.next_in = (Bytef *)entry->bytes,
                .avail_in = (uInt)entry->size,
                .next_out = packed,
                .avail_out = sizeof packed};
  deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
  size_t size = deflated ? s.total_out : entry->size, length = strlen(name);
  deflateEnd(&s);
  uint8_t common[26] = {20, [4] = deflated ? 8 : 0};
  put(common + 10, (uint32_t)crc32(0, entry->bytes, (uInt)entry->size), 4);
  put(common + 14, (uint32_t)size, 4);
  put(common + 18, (uint32_t)entry->size, 4);
  put(common + 22, (uint32_t)length, 2);
  uint8_t *to = z->all.bytes + z->all.size, *record = z->directory.bytes + z->directory.size;
  memcpy(to, "PK\3\4", 4);
  memcpy(to + 4, common, 26);
  memcpy(to + 30, name, length);
  memcpy(to + 30 + length, deflated ? packed : entry->bytes, size);
  memcpy(record, "PK\1\2\24\0", 6);
  memcpy(record + 6, common, 26);
  put(record + 42, (uint32_t)z->all.size, 4);
  memcpy(record + 46, name, length);
  z->all.size += 30 + length + size;
  z->directory.size += 46 + length;
  z->count++;
}

static const char *write_zip(zip_writer *z, const char *folder, const char *name) {
  uint8_t *end = z->all.bytes + z->all.size;
  memcpy(end, z->directory.bytes, z->directory.size);
  end += z->directory.size;
  memcpy(end, "PK\5\6", 4);
  put(end + 8, (uint32_t)z->count, 2);
  put(end + 10, (uint32_t)z->count, 2);
  put(end + 12, (uint32_t)z->directory.size, 4);
  put(end + 16, (uint32_t)z->all.size, 4);
  return test_write_bytes(folder, name, z->all.bytes, z->all.size + z->directory.size + 22);
}

/* ---- numbers ---- */

/* A sample's values [length, features] before they were standardised. */
static void assert_values(const filtra_dataset *ds, filtra_split split, uint64_t index,
                          uint32_t length, const double *values) {
  float x[64];
  assert_int_equal(test_sample(ds, split, index).length, length);
  assert_ok(filtra_dataset_sample_features(ds, split, index, x));
  for (uint32_t i = 0; i < length * ds->info.features; i++) {
    uint32_t k = i % ds->info.features;
    assert_true(fabs(x[i] / ds->feature_factor[k] + ds->feature_mean[k] - values[i]) < 1e-3);
  }
}

static const filtra_dataset_options as_test = {.file_split = FILTRA_SPLIT_TEST};

/* The same 2 x 3 numbers in every type, in both byte orders and both orders of indices. */
TEST(test_types) {
  static const int numbers[] = {1, 2, 3, 40, 50, 60}, columns[] = {1, 40, 2, 50, 3, 60};
  static const double rows[2][3] = {{1, 2, 3}, {40, 50, 60}};
  static const char *const types[] = {"'<f4'", "'<f8'",   "'>f4'", "'>f8'", "'|i1'",
                                      "'<i2'", "'>i4'",   "'<i8'", "'|u1'", "'>u2'",
                                      "'<u4'", "\"<u8\"", "'<f2'", "'>f2'"};
  static const uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x5100, 0x5240, 0x5380};
  static const uint16_t half_columns[] = {0x3c00, 0x5100, 0x4000, 0x5240, 0x4200, 0x5380};
  for (size_t i = 0; i < 2 * FT_COUNT(types); i++) {
    const char *type = types[i / 2];
    int size = type[3] - '0';
    uint8_t data[6 * 8];
    for (int k = 0; k < 6; k++) {
      int whole = (i % 2 ? columns : numbers)[k];
      float single = (float)whole;
      double real = whole;
      uint64_t bits = (uint64_t)whole;
      uint8_t bytes[8];
      if (type[2] == 'f' && size == 2) bits = (i % 2 ? half_columns : halves)[k];
      if (type[2] == 'f' && size == 4) memcpy(&bits, &single, 4);
      if (type[2] == 'f' && size == 8) memcpy(&bits, &real, 8);
      memcpy(bytes, &bits, 8);
      for (int b = 0; b < size; b++)
        data[k * size + b] = bytes[type[1] == '>' ? size - 1 - b : b];
    }
    const char *folder = test_folder();
    static written w;
    make_npy(&w, type, "(2, 3)", i % 2, data, (size_t)(6 * size));
    test_write_bytes(folder, "X.npy", w.bytes, w.size);
    write_npy(folder, "y.npy", "'<i4'", "(2,)", (int32_t[]){7, -3}, 8);
    owned_dataset *ds = test_open_dataset(folder, NULL, &as_test);
    assert_string_equal(ds->info.format, "numpy");
    for (int k = 0; k < 2; k++)
      assert_values(ds, FILTRA_SPLIT_TEST, (uint64_t)k, 3, rows[k]);
    assert_string_equal(filtra_dataset_class_name(ds, 0), "-3");
    assert_int_equal(test_sample(ds, FILTRA_SPLIT_TEST, 0).label, 1);
  }
}

/* [samples, steps, features]; NaN within is interpolated, steps of NaN at the end are none. */
TEST(test_series) {
  const float n = NAN, x[2][3][2] = {{{1, 10}, {n, 20}, {3, 30}}, {{5, 6}, {7, 8}, {n, n}}};
  const char *folder = test_folder();
  write_npy(folder, "features.npy", "'<f4'", "(2, 3, 2)", x, sizeof x);
  write_npy(folder, "targets.npy", "'<f8'", "(2, 1)", (double[]){0.5, -2.0}, 16);
  owned_dataset *ds = test_open_dataset(folder, NULL, &as_test);
  assert_int_equal(ds->info.target, FILTRA_TARGET_VALUE);
  assert_int_equal(ds->info.features, 2);
  assert_values(ds, FILTRA_SPLIT_TEST, 0, 3, (double[]){1, 10, 2, 20, 3, 30});
  assert_values(ds, FILTRA_SPLIT_TEST, 1, 2, (double[]){5, 6, 7, 8});
  assert_true(test_sample(ds, FILTRA_SPLIT_TEST, 1).value == -2.0f);
}

/* Large offsets take the digits that tell numbers apart; what floats hold as it is stays. */
TEST(test_numbers_that_floats_do_not_tell_apart) {
  static const double far[] = {1.7e9 + 0.5, 1.7e9 + 1, 1.7e9 + 2, 1.7e9 + 3};
  static const double alike[] = {1.7e9 + 0.5, 1.7e9 + 0.5, 1.7e9 + 0.5, 1.7e9 + 0.5};
  static const double wide[] = {0.1, 1.7e9 + 1, 1.7e9 + 2, 1.7e9 + 3};
  static const double second[] = {1, 1e9 + 1, 2, 1e9 + 2};
  static const double holes[] = {NAN, 1e9 + 1, 1e9 + 3, NAN};
  static const int64_t whole[] = {1 << 25, (1 << 25) + 1, (1 << 25) + 2, (1 << 25) + 3};
  static const int64_t exact[] = {1 << 23, (1 << 23) + 1, (1 << 23) + 2, (1 << 23) + 3};
  static const float single[] = {16777216.0f, 16777218.0f, 16777220.0f, 16777222.0f};
  static const struct {
    const char *type, *shape;
    const void *data;
    size_t size;
    const char *refused; /* NULL: it is read */
  } cases[] = {{"'<f8'", "(2, 2)", far, 32,
                "X.npy: feature 1 holds numbers from 1700000000.5 to 1700000003, which 32-bit "
                "numbers hardly tell apart; subtract a constant"},
               {"'<f8'", "(2, 1, 2)", second, 32, "X.npy: feature 2 holds numbers from 1000000001"},
               {"'<f8'", "(2, 2)", holes, 32, "X.npy: feature 1 holds numbers from 1000000001 to"},
               {"'<i8'", "(2, 2)", whole, 32, "X.npy: feature 1 holds numbers from 33554432 to"},
               {"'<f8'", "(2, 2)", alike, 32, NULL},
               {"'<f8'", "(2, 2)", wide, 32, NULL},
               {"'<i8'", "(2, 2)", exact, 32, NULL},
               {"'<f4'", "(2, 2)", single, 16, NULL}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_folder();
    write_npy(folder, "X.npy", cases[i].type, cases[i].shape, cases[i].data, cases[i].size);
    write_npy(folder, "y.npy", "'<i4'", "(2,)", (int32_t[]){1, 2}, 8);
    if (cases[i].refused)
      test_refuse_dataset(folder, NULL, cases[i].refused);
    else
      assert_ok(test_try_dataset(folder, NULL));
  }
}

TEST(test_targets_that_floats_do_not_tell_apart) {
  static const double far[] = {1e9 + 0.1, 1e9 + 0.2}, alike[] = {1e9 + 0.1, 1e9 + 0.1};
  static const double wide[] = {1e9 + 0.1, -1};
  static const int64_t whole[] = {(1 << 25) + 1, (1 << 25) + 2};
  static const uint8_t images[2 * 4 * 4];
  static const struct {
    const char *type;
    const void *data;
    const char *refused; /* NULL: it is read */
  } cases[] = {{"'<f8'", far,
                "y.npy: the target holds numbers from 1000000000.1 to 1000000000.2, which 32-bit "
                "numbers hardly tell apart; subtract a constant"},
               {"'<i8'", whole, "y.npy: the target holds numbers from 33554433 to 33554434"},
               {"'<f8'", alike, NULL},
               {"'<f8'", wide, NULL}};
  for (size_t i = 0; i < 2 * FT_COUNT(cases); i++) {
    const filtra_dataset_options values = {.targets = FILTRA_TARGETS_VALUES};
    const char *folder = test_folder(), *refused = cases[i / 2].refused;
    if (i % 2)
      write_npy(folder, "X.npy", "'|u1'", "(2, 4, 4)", images, sizeof images);
    else
      write_npy(folder, "X.npy", "'<f4'", "(2, 2)", (float[]){1, 2, 3, 4}, 16);
    write_npy(folder, "y.npy", cases[i / 2].type, "(2,)", cases[i / 2].data, 16);
    if (refused)
      test_refuse_dataset(folder, &values, refused);
    else
      assert_ok(test_try_dataset(folder, &values));
  }
}

/* New samples may be few and alike; the training data say how they are standardised. */
TEST(test_new_samples_may_be_alike) {
  static const double x[] = {1.7e9, 1.7e9 + 1, 1.7e9 + 2, 1.7e9 + 3};
  static const double mean[] = {0.0}, factor[] = {1e-9};
  const ft_data_fit fit = {.values = true, .mean = mean, .factor = factor, .features = 1};
  const char *path = write_npy(test_folder(), "new.npy", "'<f8'", "(2, 2)", x, sizeof x);
  filtra_dataset *ds;
  assert_ok(ft_dataset_open_fitted(
      path, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST, .unlabelled = true}, &fit,
      &ds));
  filtra_dataset_close(&ds);
}

static char warning[256];

static void note(void *user, filtra_log_level level, const char *text) {
  (void)user, (void)level;
  snprintf(warning, sizeof warning, "%s", text);
}

/* Few steps of many features may be features of steps. */
TEST(test_many_features) {
  const char *folder = test_folder();
  write_npy(folder, "X.npy", "'<f4'", "(2, 1, 2)", (float[]){1, 2, 3, 4}, 16);
  write_npy(folder, "y.npy", "'<i4'", "(2,)", (int32_t[]){1, 2}, 8);
  filtra_log_set(note, NULL);
  filtra_dataset *ds = test_open_dataset(folder, NULL, &as_test);
  filtra_log_set(NULL, NULL);
  filtra_dataset_close(&ds);
  assert_non_null(strstr(warning, "float32 (2, 1, 2) is read as (n, steps, features)"));
}

/* Text and truth values as classes; characters of four bytes in either order. */
TEST(test_classes) {
  static const uint32_t two[] = {'b', 0xe9, 'a', 0};
  static const uint8_t swapped[] = {0, 0, 0, 'b', 0, 0, 0, 0xe9, 0, 0, 0, 'a', 0, 0, 0, 0};
  static const struct {
    const char *type;
    const void *data;
    size_t size;
    const char *names[2];
  } cases[] = {{"'<U2'", two, 16, {"a", "b\xc3\xa9"}},  {"'>U2'", swapped, 16, {"a", "b\xc3\xa9"}},
               {"'|S3'", "dogcat", 6, {"cat", "dog"}},  {"'|S3'", "d\0\0c\0\0", 6, {"c", "d"}},
               {"'|b1'", "\1\0", 2, {"False", "True"}}, {"'|u1'", "\12\11", 2, {"9", "10"}}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_folder();
    write_npy(folder, "X.npy", "'<f4'", "(2, 2)", (float[]){1, 2, 3, 4}, 16);
    write_npy(folder, "y.npy", cases[i].type, "(2,)", cases[i].data, cases[i].size);
    owned_dataset *ds = test_open_dataset(folder, NULL, &as_test);
    assert_int_equal(ds->info.classes, 2);
    for (uint32_t k = 0; k < 2; k++)
      assert_string_equal(filtra_dataset_class_name(ds, k), cases[i].names[k]);
    assert_int_equal(test_sample(ds, FILTRA_SPLIT_TEST, 0).label, 1);
  }
}

/* Images: grey, with one channel, and in colour; their targets may be numbers. */
TEST(test_images) {
  static const uint8_t pixels[2 * 2 * 3 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  static const char *const shapes[] = {"(2, 2, 3)", "(2, 2, 3, 1)", "(2, 2, 3, 3)"};
  for (size_t i = 0; i < FT_COUNT(shapes); i++) {
    const char *folder = test_folder();
    write_npy(folder, "train_images.npy", "'|u1'", shapes[i], pixels, i == 2 ? 36 : 12);
    write_npy(folder, "train_labels.npy", "'<f4'", "(2,)", (float[]){1.5f, 2.5f}, 8);
    owned_dataset *ds =
        test_open_dataset(folder, NULL, &(filtra_dataset_options){.pixels = FILTRA_PIXELS_RGB});
    assert_int_equal(ds->info.height, 2);
    assert_int_equal(ds->info.width, 3);
    assert_int_equal(ds->info.features, 3);
    assert_int_equal(ds->info.target, FILTRA_TARGET_VALUE);
    assert_true(ds->samples[FILTRA_SPLIT_TRAIN].rows[1].value == 2.5f);
    owned_dataset *tokens = test_open_dataset(folder, NULL, NULL);
    assert_int_equal(tokens->samples[FILTRA_SPLIT_TRAIN].tokens.ids[1], i == 2 ? 4 : 2);
  }
}

/* ---- files ---- */

/* Names of any case and order; stored and deflated; other arrays are said. */
TEST(test_archives) {
  static const char *const names[][4] = {
      {"x_train", "y_train", "x_test", "y_test"},
      {"X_train", "Y_train", "X_test", "Y_test"},
      {"train_images", "train_labels", "test_images", "test_labels"},
      {"X", "y", "testing_data", "testing_targets"}};
  static written x, y;
  make_npy(&x, "'<f4'", "(2, 2)", false, (float[]){1, 2, 3, 4}, 16);
  make_npy(&y, "'<i8'", "(2,)", false, (int64_t[]){0, 1}, 16);
  for (size_t i = 0; i < FT_COUNT(names); i++) {
    owned zip_writer *z = ft_calloc(1, sizeof *z);
    for (int k = 0; k < 4; k++)
      add_entry(z, test_text("%s.npy", names[i][k]), k % 2 ? &y : &x, (i + (size_t)k) % 3 == 0);
    add_entry(z, "groups.npy", &y, true);
    const char *path = write_zip(z, test_folder(), "a.npz");
    owned_dataset *ds = test_open_dataset(path, NULL, NULL);
    test_counts(ds, 1, 1, 2);
    assert_values(ds, FILTRA_SPLIT_TEST, 1, 2, (double[]){3, 4});
  }
}

TEST(test_folders_and_files) {
  const char *folder = test_folder();
  write_npy(folder, "X_train.npy", "'<f4'", "(2, 2)", (float[]){1, 2, 3, 4}, 16);
  write_npy(folder, "y_train.npy", "'<i4'", "(2,)", (int32_t[]){5, 6}, 8);
  write_npy(folder, "X_val.npy", "'<f4'", "(1, 2)", (float[]){7, 8}, 8);
  write_npy(folder, "y_val.npy", "'<i4'", "(1,)", (int32_t[]){6}, 4);
  const char *test = test_path(folder, "X_test.npy");
  write_npy(folder, "X_test.npy", "'<f4'", "(1, 2)", (float[]){9, 9}, 8);
  test_refuse_dataset(folder, NULL, "X_test.npy has no targets beside it");
  write_npy(folder, "y_test.npy", "'<i4'", "(1,)", (int32_t[]){6}, 4);
  test_write_text(folder, "._X_test.npy", "left by a Mac");
  owned_dataset *ds = test_open_dataset(folder, NULL, NULL);
  test_counts(ds, 2, 1, 1);
  owned_dataset *one = test_open_dataset(test, NULL, &as_test);
  test_counts(one, 0, 0, 1);
  assert_string_equal(filtra_dataset_class_name(one, 0), "6");
  write_npy(folder, "y_test.npy", "'<i4'", "(1,)", (int32_t[]){7}, 4);
  test_refuse_dataset(folder, NULL, "X_test.npy: sample 0: \"7\" is none of the 2 classes");
  write_npy(folder, "y_test.npy", "'<f4'", "(1,)", (float[]){7}, 4);
  test_refuse_dataset(folder, NULL, "targets are numbers, those of the training data are not");
}

/* Whole numbers are classes, unless nearly all differ, or values are asked for. */
TEST(test_whole_numbers) {
  enum { COUNT = 24 };
  float x[COUNT] = {0};
  int16_t y[COUNT];
  for (int i = 0; i < COUNT; i++)
    y[i] = (int16_t)(100 - i);
  const char *folder = test_folder();
  write_npy(folder, "X.npy", "'<f4'", "(24, 1)", x, sizeof x);
  write_npy(folder, "y.npy", "'<i2'", "(24,)", y, sizeof y);
  test_refuse_dataset(folder, NULL,
                      "y.npy has 24 classes in 24 samples, nearly each sample one of its own; if "
                      "they are numbers to predict, set task to regression");
  owned_dataset *values = test_open_dataset(
      folder, "numpy",
      &(filtra_dataset_options){.targets = FILTRA_TARGETS_VALUES, .file_split = FILTRA_SPLIT_TEST});
  assert_int_equal(values->info.target, FILTRA_TARGET_VALUE);
  assert_true(values->samples[FILTRA_SPLIT_TEST].rows[3].value == 97.0f);
  assert_ok(test_try_dataset(folder, &(filtra_dataset_options){.targets = FILTRA_TARGETS_CLASSES}));
  for (int i = 0; i < COUNT; i++)
    y[i] = (int16_t)(i % 12);
  write_npy(folder, "y.npy", "'<i2'", "(24,)", y, sizeof y);
  owned_dataset *classes = test_open_dataset(folder, "numpy", NULL);
  assert_int_equal(classes->info.classes, 12);
}

/* Inputs alone can be predicted. */
TEST(test_unlabelled) {
  static const char *const names[] = {"a", "b"};
  static const ft_data_fit fits[] = {{.classes = names, .class_count = 2}, {.values = true}};
  const char *path =
      write_npy(test_folder(), "new.npy", "'<f4'", "(2, 2)", (float[]){1, 2, 3, 4}, 16);
  test_refuse_dataset(path, NULL, "new.npy has no targets beside it, an array y");
  for (int i = 0; i < 2; i++) {
    filtra_dataset *ds;
    assert_ok(ft_dataset_open_fitted(
        path, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST, .unlabelled = true},
        &fits[i], &ds));
    assert_int_equal(ds->info.unlabelled[FILTRA_SPLIT_TEST], 2);
    assert_int_equal(ds->info.classes, i ? 0 : 2);
    filtra_dataset_close(&ds);
  }
}

/* ---- what is wrong ---- */

TEST(test_arrays_that_are_not_read) {
  static const float x[12] = {0};
  static const struct {
    const char *type, *shape;
    size_t size;
    const char *part;
  } cases[] = {
      {"'|O'", "(2,)", 16, "X.npy: an array of Python objects (dtype object), which are pickled"},
      {"'<c8'", "(2, 2)", 32, "an array of type '<c8'; bool, int8"},
      {"'<M8[ns]'", "(2, 2)", 32, "an array of type '<M8[ns]'"},
      {"[('a', '<f4')]", "(2,)", 8, "an array of type [('a'"},
      {"'<f16'", "(2,)", 32, "an array of type '<f16'"},
      {"'<f3'", "(2,)", 6, "an array of type '<f3'"},
      {"'<f4'", "(2,)", 8, "float32 (2,): inputs are numbers (n, steps)"},
      {"'<f4'", "(1, 2, 1, 2)", 16, "float32 (1, 2, 1, 2): inputs are numbers"},
      {"'<f4'", "(1, 1, 1, 1, 1)", 4, "an array of more than 4 dimensions"},
      {"'<f4'", "()", 4, "a single number"},
      {"'<f4'", "(0, 3)", 0, "an array with a side of 0"},
      {"'<f4'", "(2, 3)", 20, "20 bytes of data are too few for an array of float32 (2, 3)"},
      {"'<f4'", "(2, 3)", 28, "28 bytes of data are too many for"},
      {"'<f4'", "(4000000000, 4000000000, 4000000000)", 16, "too few for an array of"},
      {"'<f4'", "(2, x)", 16, "a damaged shape"},
      {"'|u1'", "(1, 3, 2, 2)", 12, "save X.transpose(0, 2, 3, 1)"},
      {"'|u1'", "(1, 2, 2, 4)", 16, "images are uint8 (n, height, width, 3)"},
      {"'<U2'", "(2, 2)", 32, "text (2, 2): inputs are numbers"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_folder();
    write_npy(folder, "X.npy", cases[i].type, cases[i].shape, x, cases[i].size);
    write_npy(folder, "y.npy", "'<i4'", "(1,)", (int32_t[]){1}, 4);
    test_refuse_dataset(folder, NULL, cases[i].part);
  }
}

TEST(test_values_that_are_not_read) {
  const char *folder = test_folder();
  const float n = NAN;
  write_npy(folder, "X.npy", "'<f4'", "(2, 2)", (float[]){1, INFINITY, 3, 4}, 16);
  write_npy(folder, "y.npy", "'<f4'", "(2,)", (float[]){1, 2}, 8);
  test_refuse_dataset(folder, NULL, "X.npy: sample 0: step 1: inf; numbers up to 3.4e38");
  write_npy(folder, "X.npy", "'<f8'", "(2, 2)", (double[]){1, 2, 3, 1e39}, 32);
  test_refuse_dataset(folder, NULL, "X.npy: sample 1: step 1: 1e+39");
  write_npy(folder, "X.npy", "'<f4'", "(2, 2)", (float[]){1, 2, n, n}, 16);
  test_refuse_dataset(folder, NULL, "X.npy: sample 1: all values are missing");
  write_npy(folder, "X.npy", "'<f4'", "(2, 2)", (float[]){1, 2, 3, 4}, 16);
  write_npy(folder, "y.npy", "'<f4'", "(2,)", (float[]){1, n}, 8);
  test_refuse_dataset(folder, NULL, "X.npy: sample 1: target nan");
  write_npy(folder, "y.npy", "'<i2'", "(3,)", (int16_t[]){1, 2, 3}, 6);
  test_refuse_dataset(folder, NULL, "y.npy: int16 (3,): 3 targets for 2 samples");
  write_npy(folder, "y.npy", "'<i2'", "(2,)", (int16_t[]){1, 0}, 4);
  test_refuse_dataset(folder, &(filtra_dataset_options){.max_length = 1},
                      "X.npy: sample 0: series of 2 values where at most 1");
  assert_fails(test_try_dataset(folder, &(filtra_dataset_options){.tokenizer = "words"}),
               FILTRA_ERROR_ARGUMENT, "tokenizer is \"words\", but X.npy holds numbers");
  write_npy(folder, "labels.npy", "'<i2'", "(2,)", (int16_t[]){1, 0}, 4);
  test_refuse_dataset(folder, NULL, "labels.npy and y.npy are both targets of the train split");
}

/* Columns of y are labels: in each row those that apply, and after a ? those that are unknown. */
static void expect_labels(const filtra_dataset *ds, const char *expected) {
  char got[128] = "";
  for (uint64_t i = 0; i < filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST]; i++) {
    const filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, i);
    for (uint32_t k = 0; k < s.label_count + s.unknown_count; k++)
      snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", k == s.label_count ? "?" : "",
               filtra_dataset_class_name(ds, (uint32_t)s.labels[k]));
    snprintf(got + strlen(got), sizeof got - strlen(got), ",");
  }
  assert_string_equal(got, expected);
}

TEST(test_labels) {
  const filtra_dataset_options file = {.file_split = FILTRA_SPLIT_TEST};
  const char *folder = test_folder();
  const float n = NAN;
  write_npy(folder, "X.npy", "'<f4'", "(3, 2)", (float[]){1, 2, 3, 4, 5, 6}, 24);
  write_npy(folder, "y.npy", "'<f4'", "(3, 3)", (float[]){1, 0, n, 1, 1, 0, 0, 0, 0}, 36);
  owned_dataset *ds = test_open_dataset(folder, "numpy", &file);
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_LABELS);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 3);
  expect_labels(ds, "0?2,01,,");
  filtra_dataset_close(&ds);
  written w; /* by columns */
  make_npy(&w, "'|b1'", "(3, 3)", true, "\1\1\0\0\1\0\0\0\1", 9);
  test_write_bytes(folder, "y.npy", w.bytes, w.size);
  ds = test_open_dataset(folder, "numpy", &file);
  expect_labels(ds, "0,01,2,");
  filtra_dataset_close(&ds);
  write_npy(folder, "X.npy", "'|u1'", "(3, 2, 2)", "\0\1\2\3\4\5\6\7\0\1\2\3", 12);
  ds = test_open_dataset(folder, "numpy", &file);
  expect_labels(ds, "0,01,2,");
}

TEST(test_columns_of_a_table) {
  const char *folder = test_folder();
  write_npy(folder, "y.npy", "'|i1'", "(3,)", "\0\1\0", 3);
  write_npy(folder, "X.npy", "'<f4'", "(3, 3)", (float[]){1, 2, 900, 2, 1, 90, 3, 3, 500}, 36);
  test_open_warns(folder, NULL, "X.npy", "a column varies 405 times as much as most");
  write_npy(folder, "X.npy", "'<f4'", "(3, 3)", (float[]){1, 2, 9, 2, 1, 0, 3, 3, 5}, 36);
  test_open_warns(folder, NULL, "as much as most", NULL);
}

TEST(test_labels_that_are_refused) {
  static const struct {
    const char *type, *shape, *data, *part;
    filtra_targets targets;
  } cases[] = {
      {"'|i1'", "(2, 2)", "\1\0\0\2", "int8 (2, 2): sample 1, column 1: targets are one a sample",
       FILTRA_TARGETS_AUTO},
      {"'|S1'", "(2, 2)", "1001", "text (2, 2): sample 0, column 0: targets are one a sample",
       FILTRA_TARGETS_LABELS},
      {"'|i1'", "(2, 2)", "\1\0\0\1", "each sample has a single 1: if the columns are classes",
       FILTRA_TARGETS_AUTO},
      {"'|i1'", "(2, 2)", "\1\1\0\1", "targets are one a sample, (n,) or (n, 1): whole",
       FILTRA_TARGETS_CLASSES},
      {"'|i1'", "(1, 4)", "\1\1\0\1", "int8 (1, 4): 1 targets for 2 samples",
       FILTRA_TARGETS_LABELS},
      {"'<f2'", "(2, 1, 2)", "\0\0\0\0\0\0\0\0", "float16 (2, 1, 2): targets are one a sample",
       FILTRA_TARGETS_AUTO},
      {"'<f2'", "(2, 2)", "\0\x7e\0\x7e\0\x7e\0\x7e", "no label of any sample is known",
       FILTRA_TARGETS_LABELS},
  };
  const char *folder = test_folder();
  write_npy(folder, "X.npy", "'<f4'", "(2, 2)", (float[]){1, 2, 3, 4}, 16);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const size_t size = strstr(cases[i].type, "f2") ? 8 : 4;
    write_npy(folder, "y.npy", cases[i].type, cases[i].shape, cases[i].data, size);
    test_refuse_dataset(folder, &(filtra_dataset_options){.targets = cases[i].targets},
                        cases[i].part);
  }
  write_npy(folder, "y.npy", "'|i1'", "(2, 2)", "\1\0\0\1", 4);
  const filtra_dataset_options labels = {.targets = FILTRA_TARGETS_LABELS};
  test_refuse_dataset(folder, &labels, NULL);
  write_npy(folder, "X_test.npy", "'<f4'", "(1, 2)", (float[]){1, 2}, 8);
  write_npy(folder, "y_test.npy", "'|i1'", "(1, 3)", "\1\0\1", 3);
  test_refuse_dataset(folder, &labels,
                      "y_test.npy: int8 (1, 3): 3 labels, the training data have 2");
  write_npy(folder, "y_test.npy", "'|i1'", "(1,)", "\1", 1);
  test_refuse_dataset(folder, &labels, "targets are classes, those of the training data are not");
}

/* Every cut and every changed byte of an archive and of an array: read, or refused by its name. */
TEST(test_damaged_at_every_byte) {
  static written x, y;
  owned zip_writer *z = ft_calloc(1, sizeof *z);
  make_npy(&x, "'<f4'", "(2, 2)", false, (float[]){1, 2, 3, 4}, 16);
  make_npy(&y, "'<U2'", "(2,)", false, (uint32_t[]){'a', 0, 'b', 0}, 16);
  add_entry(z, "X.npy", &x, true);
  add_entry(z, "y.npy", &y, false);
  const char *folder = test_folder();
  write_zip(z, folder, "a.npz");
  test_write_bytes(folder, "X.npy", x.bytes, x.size);
  test_write_bytes(folder, "y.npy", y.bytes, y.size);
  for (int f = 0; f < 2; f++) {
    char path[512];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, f ? "X.npy" : "a.npz");
    owned char *data = test_read(path, &size);
    for (size_t i = 0; i < size; i++) {
      test_write(path, data, i);
      test_refuse_dataset(path, NULL, f ? "X.npy" : "a.npz");
    }
    for (size_t i = 0; i < size; i++)
      for (int change = 1; change < 256; change = 5 * change + 1) {
        data[i] ^= (char)change;
        test_write(path, data, size);
        filtra_status status = test_try_dataset(path, NULL);
        assert_true(status == FILTRA_OK || status == FILTRA_ERROR_INPUT);
        data[i] ^= (char)change;
      }
  }
}

/* An archive that promises more than it may become is refused before memory is taken. */
TEST(test_bomb) {
  static written x;
  owned zip_writer *z = ft_calloc(1, sizeof *z);
  make_npy(&x, "'<f4'", "(2, 2)", false, (float[]){1, 2, 3, 4}, 16);
  add_entry(z, "X.npy", &x, true);
  put(z->directory.bytes + 24, 0xfffffff0, 4);
  test_refuse_dataset(write_zip(z, test_folder(), "a.npz"), NULL,
                      "a.npz: X.npy: what is packed becomes more than 20 times as long");
}

TEST(test_every_allocation_may_fail) {
  static written x, y;
  owned zip_writer *z = ft_calloc(1, sizeof *z);
  make_npy(&x, "'<f4'", "(2, 2)", false, (float[]){1, 2, 3, 4}, 16);
  make_npy(&y, "'<i4'", "(2,)", false, (int32_t[]){1, 2}, 8);
  add_entry(z, "X.npy", &x, true);
  add_entry(z, "y.npy", &y, false);
  test_dataset_memory(write_zip(z, test_folder(), "a.npz"), NULL);
  const char *folder = test_folder();
  write_npy(folder, "X.npy", "'|u1'", "(2, 2, 2)", "\0\1\2\3\4\5\6\7", 8);
  write_npy(folder, "y.npy", "'|i1'", "(2,)", "\1\2", 2);
  test_dataset_memory(folder, NULL);
  test_dataset_memory(test_path(folder, "X.npy"), NULL);
  write_npy(folder, "y.npy", "'|i1'", "(2, 2)", "\1\1\0\1", 4);
  test_dataset_memory(folder, NULL);
}

TEST_MAIN(NULL, test_teardown)
