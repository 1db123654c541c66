/* Readers of image files that hold many images: CIFAR-10's binary version and IDX. */
#include "base/file.h"
#include "base/memory.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>

enum { RECORD = 3073, PLANE = 1024 };

/* ---- helpers ---- */

/* A byte of channel c, pixel i, of image n: any two images differ. */
static uint8_t byte_of(int n, int c, int i) {
  return (uint8_t)(n * 37 + c * 11 + i * 5 + i / 32);
}

static void write_cifar(const char *path, int first, int count) {
  owned uint8_t *data = ft_calloc((size_t)count, RECORD);
  for (int n = 0; n < count; n++) {
    uint8_t *record = data + (size_t)n * RECORD;
    record[0] = (uint8_t)((first + n) % 10);
    for (int c = 0; c < 3; c++)
      for (int i = 0; i < PLANE; i++)
        record[1 + c * PLANE + i] = byte_of(first + n, c, i);
  }
  test_write(path, data, (size_t)count * RECORD);
}

static void put(uint8_t *to, uint32_t number) {
  for (int i = 0; i < 4; i++)
    to[i] = (uint8_t)(number >> (24 - 8 * i));
}

static void write_idx_images(const char *path, uint32_t count, uint32_t rows, uint32_t columns) {
  size_t pixels = (size_t)rows * columns, size = 16 + count * pixels;
  owned uint8_t *data = ft_calloc(size, 1);
  put(data, 0x803);
  put(data + 4, count);
  put(data + 8, rows);
  put(data + 12, columns);
  for (size_t i = 0; i < count * pixels; i++)
    data[16 + i] = byte_of((int)(i / pixels), 0, (int)(i % pixels));
  test_write(path, data, size);
}

static void write_idx_labels(const char *path, uint32_t count, uint32_t classes) {
  owned uint8_t *data = ft_calloc(8 + count, 1);
  put(data, 0x801);
  put(data + 4, count);
  for (uint32_t i = 0; i < count; i++)
    data[8 + i] = (uint8_t)(i % classes);
  test_write(path, data, 8 + count);
}

/* ---- CIFAR-10 ---- */

TEST(test_cifar_folder) {
  const char *folder = test_folder();
  write_cifar(test_path(folder, "data_batch_1.bin"), 0, 17);
  write_cifar(test_path(folder, "data_batch_2.bin"), 17, 13);
  write_cifar(test_path(folder, "test_batch.bin"), 100, 5);
  owned_dataset *ds = test_open_dataset(folder, NULL, NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(info->format, "cifar10");
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "pixels");
  assert_int_equal(filtra_tokenizer_size(info->tokenizer), 256);
  test_counts(ds, 27, 3, 5);
  assert_true(info->validation_held_out);
  assert_int_equal(info->longest, PLANE);
  assert_int_equal(info->height, 32);
  assert_int_equal(info->width, 32);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "airplane");
  assert_string_equal(filtra_dataset_class_name(ds, 9), "truck");
  for (int split = 0; split < FILTRA_SPLIT_COUNT; split++)
    for (uint64_t k = 0; k < info->count[split]; k++) {
      filtra_sample s;
      int n = (split == FILTRA_SPLIT_TEST ? 100 : split == FILTRA_SPLIT_VAL ? 27 : 0) + (int)k;
      assert_ok(filtra_dataset_sample(ds, (filtra_split)split, k, &s));
      assert_int_equal(s.label, n % 10);
      assert_int_equal(s.length, PLANE);
      for (int i = 0; i < PLANE; i++) {
        double grey =
            0.2989 * byte_of(n, 0, i) + 0.5870 * byte_of(n, 1, i) + 0.1140 * byte_of(n, 2, i);
        assert_int_equal(s.tokens[i], (int)floor(255.5 * grey / 255.0));
      }
    }
}

/* Mean and deviation of a channel over a split as the dataset gives them. */
static void moments(const filtra_dataset *ds, filtra_split split, int channel, double *mean,
                    double *deviation) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  double sum = 0.0, squares = 0.0, count = 0.0;
  float *x = ft_calloc((size_t)info->longest * info->features, sizeof *x);
  for (uint64_t k = 0; k < info->count[split]; k++) {
    assert_ok(filtra_dataset_sample_features(ds, split, k, x));
    for (uint32_t i = 0; i < info->longest; i++, count++) {
      double v = x[i * info->features + (uint32_t)channel];
      sum += v;
      squares += v * v;
    }
  }
  free(x);
  *mean = sum / count;
  *deviation = sqrt(squares / count - *mean * *mean);
}

TEST(test_features) {
  const char *folder = test_folder();
  write_cifar(test_path(folder, "data_batch_1.bin"), 0, 40);
  write_cifar(test_path(folder, "test_batch.bin"), 100, 5);
  static const filtra_pixels kinds[] = {FILTRA_PIXELS_RGB, FILTRA_PIXELS_GREY_FEATURES};
  for (size_t k = 0; k < FT_COUNT(kinds); k++) {
    owned_dataset *ds =
        test_open_dataset(folder, NULL, &(filtra_dataset_options){.pixels = kinds[k]});
    const filtra_dataset_info *info = filtra_dataset_get_info(ds);
    assert_int_equal(info->input, FILTRA_INPUT_FEATURES);
    assert_int_equal(info->features, k == 0 ? 3 : 1);
    assert_null(info->tokenizer);
    for (uint32_t c = 0; c < info->features; c++) {
      double mean, deviation;
      moments(ds, FILTRA_SPLIT_TRAIN, (int)c, &mean, &deviation);
      assert_true(fabs(mean) < 1e-5 && fabs(deviation - 1.0) < 1e-3);
    }
  }
  /* one scale and one offset for all pixels of a channel, in order */
  owned_dataset *ds =
      test_open_dataset(folder, NULL, &(filtra_dataset_options){.pixels = FILTRA_PIXELS_RGB});
  float first[3 * PLANE], last[3 * PLANE];
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, 0, first));
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_VAL, 0, last));
  double scale = ((double)first[3] - first[0]) / (byte_of(0, 0, 1) - byte_of(0, 0, 0));
  assert_true(fabs(((double)last[0] - first[0]) - scale * (byte_of(36, 0, 0) - byte_of(0, 0, 0))) <
              1e-4);
}

/* What a test file has is the same with and without its folder: training images standardise it. */
TEST(test_test_file_alone) {
  const char *folder = test_folder();
  write_cifar(test_path(folder, "data_batch_1.bin"), 0, 12);
  write_cifar(test_path(folder, "test_batch.bin"), 50, 3);
  const char *idx = test_folder();
  write_idx_images(test_path(idx, "train-images-idx3-ubyte"), 20, 5, 7);
  write_idx_labels(test_path(idx, "train-labels-idx1-ubyte"), 20, 4);
  write_idx_images(test_path(idx, "t10k-images-idx3-ubyte"), 3, 5, 7);
  write_idx_labels(test_path(idx, "t10k-labels-idx1-ubyte"), 3, 4);
  const char *paths[][2] = {{folder, test_path(folder, "test_batch.bin")},
                            {idx, test_path(idx, "t10k-images-idx3-ubyte")}};
  for (int i = 0; i < 2; i++) {
    const filtra_dataset_options options = {.pixels = FILTRA_PIXELS_GREY_FEATURES,
                                            .file_split = FILTRA_SPLIT_TEST};
    filtra_dataset *all = test_open_dataset(paths[i][0], NULL, &options),
                   *one = test_open_dataset(paths[i][1], NULL, &options);
    float a[PLANE], b[PLANE];
    assert_int_equal(filtra_dataset_get_info(one)->count[FILTRA_SPLIT_TEST], 3);
    for (uint64_t k = 0; k < 3; k++) {
      assert_ok(filtra_dataset_sample_features(all, FILTRA_SPLIT_TEST, k, a));
      assert_ok(filtra_dataset_sample_features(one, FILTRA_SPLIT_TEST, k, b));
      assert_memory_equal(a, b, filtra_dataset_get_info(one)->longest * sizeof *a);
    }
    filtra_dataset_close(&all);
    filtra_dataset_close(&one);
  }
}

TEST(test_cifar_one_file) {
  const char *path = test_path(test_folder(), "test_batch.bin");
  write_cifar(path, 0, 7);
  filtra_dataset *ds =
      test_open_dataset(path, NULL, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 7);
  filtra_dataset_close(&ds);
  ds = test_open_dataset(path, NULL, NULL);
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TRAIN], 6);
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_VAL], 1);
  filtra_dataset_close(&ds);
  test_refuse_dataset(path, &(filtra_dataset_options){.max_length = 1023},
                      "1024 pixels where at most 1023");
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "listops"}),
               FILTRA_ERROR_ARGUMENT, "reads no images");
  assert_ok(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "pixels"}));
  assert_fails(test_try_dataset(path, &(filtra_dataset_options){.pixels = (filtra_pixels)3}),
               FILTRA_ERROR_ARGUMENT, "pixels");
}

TEST(test_cifar_damaged) {
  const char *path = test_path(test_folder(), "data_batch_3.bin");
  write_cifar(path, 0, 3);
  size_t size;
  owned char *data = test_read(path, &size);
  static const size_t cuts[] = {1, 2, 3072, 3074, 6145, 3 * RECORD - 1};
  for (size_t i = 0; i < FT_COUNT(cuts); i++) {
    test_write(path, data, cuts[i]);
    test_refuse_dataset(path, NULL, "data_batch_3.bin has");
  }
  test_write(path, data, RECORD);
  assert_ok(test_try_dataset(path, NULL));
  test_write(path, data, 0);
  test_refuse_dataset(path, NULL, "data_batch_3.bin is empty");
  data[2 * RECORD] = 10;
  test_write(path, data, size);
  test_refuse_dataset(path, NULL, "data_batch_3.bin, record 2 (byte 6146): label 10 where 0 to 9");
}

/* ---- IDX ---- */

TEST(test_idx_folder) {
  const char *folder = test_folder();
  write_idx_images(test_path(folder, "train-images-idx3-ubyte"), 50, 5, 7);
  write_idx_labels(test_path(folder, "train-labels-idx1-ubyte"), 50, 6);
  write_idx_images(test_path(folder, "t10k-images-idx3-ubyte"), 12, 5, 7);
  write_idx_labels(test_path(folder, "t10k-labels-idx1-ubyte"), 12, 6);
  owned_dataset *ds = test_open_dataset(folder, NULL, NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(info->format, "idx");
  assert_int_equal(info->classes, 6);
  test_counts(ds, 45, 5, 12);
  assert_int_equal(info->height, 5);
  assert_int_equal(info->width, 7);
  assert_string_equal(filtra_dataset_class_name(ds, 5), "5");
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 11);
  assert_int_equal(s.label, 5);
  assert_int_equal(s.length, 35);
  for (int i = 0; i < 35; i++)
    assert_int_equal(s.tokens[i], byte_of(11, 0, i));
  write_idx_labels(test_path(folder, "t10k-labels-idx1-ubyte"), 12, 7);
  test_refuse_dataset(folder, NULL, "label 6 at entry 6; training has 0 to 5");
  write_idx_images(test_path(folder, "t10k-images-idx3-ubyte"), 12, 7, 5);
  write_idx_labels(test_path(folder, "t10k-labels-idx1-ubyte"), 12, 6);
  test_refuse_dataset(folder, NULL, "t10k-images-idx3-ubyte, image 0");
  write_idx_images(test_path(folder, "test-images-idx3-ubyte"), 12, 5, 7);
  test_refuse_dataset(folder, NULL, "more than one file of images");
}

/* Folders that are called like the files, as archives unpack, count for nothing. */
TEST(test_idx_labels_with_gaps) {
  const char *folder = test_folder(), *labels = test_path(folder, "train-labels-idx1-ubyte");
  write_idx_images(test_path(folder, "train-images-idx3-ubyte"), 4, 5, 7);
  write_idx_labels(labels, 4, 4);
  test_open_warns(folder, NULL, "have no sample", NULL);
  test_write(labels, "\0\0\x08\x01\0\0\0\4\0\5\x0a\0", 12);
  test_open_warns(folder, NULL, "train-labels-idx1-ubyte",
                  "8 of the classes 0 to 10, such as 1, have no sample");
}

TEST(test_idx_beside_folders) {
  const char *folder = test_folder();
  test_write_text(folder, "train-images-idx3-ubyte/train-images-idx3-ubyte", "no images");
  test_write_text(folder, "train-labels-idx1-ubyte/train-labels-idx1-ubyte", "no labels");
  write_idx_images(test_path(folder, "train-images.idx3-ubyte"), 20, 5, 7);
  write_idx_labels(test_path(folder, "train-labels.idx1-ubyte"), 20, 2);
  owned_dataset *ds = test_open_dataset(folder, NULL, NULL);
  assert_string_equal(filtra_dataset_get_info(ds)->format, "idx");
  test_counts(ds, 18, 2, 0);
  const char *cifar = test_folder();
  test_write_text(cifar, "data_batch_1.bin/data_batch_1.bin", "no images");
  write_cifar(test_path(cifar, "data_batch_2.bin"), 0, 10);
  owned_dataset *other = test_open_dataset(cifar, NULL, NULL);
  test_counts(other, 9, 1, 0);
}

/* Images without their labels can be predicted. */
TEST(test_idx_unlabelled) {
  const filtra_dataset_options options = {.unlabelled = true};
  const char *folder = test_folder(), *images = test_path(folder, "t10k-images-idx3-ubyte");
  const char *train = test_path(folder, "train-images-idx3-ubyte");
  write_idx_images(images, 12, 5, 7);
  test_refuse_dataset(images, NULL, "the labels of");
  owned_dataset *alone = test_open_dataset(images, NULL, &options);
  const filtra_dataset_info *info = filtra_dataset_get_info(alone);
  assert_int_equal(info->unlabelled[FILTRA_SPLIT_TRAIN] + info->unlabelled[FILTRA_SPLIT_VAL], 12);
  assert_int_equal(test_sample(alone, FILTRA_SPLIT_TRAIN, 0).label, -1);
  write_idx_images(train, 50, 5, 7);
  write_idx_labels(test_path(folder, "train-labels-idx1-ubyte"), 50, 6);
  owned_dataset *ds = test_open_dataset(folder, NULL, &options);
  info = filtra_dataset_get_info(ds);
  test_counts(ds, 45, 5, 12);
  assert_int_equal(info->classes, 6);
  assert_int_equal(info->unlabelled[FILTRA_SPLIT_TRAIN], 0);
  assert_int_equal(info->unlabelled[FILTRA_SPLIT_TEST], 12);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 11);
  assert_int_equal(s.label, -1);
  assert_int_equal(s.tokens[1], byte_of(11, 0, 1));
  test_refuse_dataset(folder, NULL, "the labels of");
}

TEST(test_idx_wrong) {
  const char *folder = test_folder();
  const char *images = test_path(folder, "train-images-idx3-ubyte");
  const char *labels = test_path(folder, "train-labels-idx1-ubyte");
  write_idx_images(images, 3, 4, 4);
  test_refuse_dataset(images, NULL, "the labels of");
  write_idx_labels(labels, 4, 2);
  test_refuse_dataset(images, NULL, "has 3 images but");
  test_refuse_dataset(labels, NULL, "the labels of");
  write_idx_labels(labels, 3, 2);
  assert_ok(test_try_dataset(images, NULL));
  static const struct {
    size_t at;
    uint32_t number;
    const char *part;
  } cases[] = {
      {0, 0x804, "begins with 0x00000804"},
      {0, 0xD03, "begins with 0x00000d03"},
      {4, 0, "has no images"},
      {8, 0, "1 to 1048576 pixels"},
      {12, 0, "1 to 1048576 pixels"},
      {8, UINT32_MAX, "an image of 4 x 4294967295 pixels"},
      {12, 1 << 20, "1 to 1048576 pixels"},
      {12, 5, "ends within image 2"},
      {12, 3, "goes on behind the 3 entries"},
  };
  size_t size;
  owned char *data = test_read(images, &size);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    owned char *changed = ft_calloc(size, 1);
    memcpy(changed, data, size);
    put((uint8_t *)changed + cases[i].at, cases[i].number);
    test_write(images, changed, size);
    test_refuse_dataset(images, NULL, cases[i].part);
  }
}

/* Whatever is cut off or changed: an error that names the file, or a set that can be read. */
TEST(test_idx_damaged_at_every_byte) {
  const char *folder = test_folder();
  const char *paths[] = {test_path(folder, "train-images-idx3-ubyte"),
                         test_path(folder, "train-labels-idx1-ubyte")};
  write_idx_images(paths[0], 3, 2, 3);
  write_idx_labels(paths[1], 3, 2);
  for (int f = 0; f < 2; f++) {
    size_t size;
    owned char *data = test_read(paths[f], &size);
    for (size_t i = 0; i < size; i++) {
      test_write(paths[f], data, i);
      test_refuse_dataset(paths[0], NULL, "train-");
      test_refuse_dataset(folder, NULL, "train-");
    }
    for (size_t i = 0; i < 4 + 12u * (f == 0); i++)
      for (int bit = 0; bit < 8; bit++) {
        data[i] ^= (char)(1 << bit);
        test_write(paths[f], data, size);
        assert_int_equal(test_try_dataset(folder, NULL), FILTRA_ERROR_INPUT);
        data[i] ^= (char)(1 << bit);
      }
    test_write(paths[f], data, size);
  }
  assert_ok(test_try_dataset(folder, NULL));
}

TEST(test_every_allocation_may_fail) {
  const char *folder = test_folder();
  write_cifar(test_path(folder, "data_batch_1.bin"), 0, 12);
  for (int kind = FILTRA_PIXELS_GREY; kind <= FILTRA_PIXELS_RGB; kind++)
    test_dataset_memory(folder, &(filtra_dataset_options){.pixels = (filtra_pixels)kind});
}

TEST(test_pixels_tokenizer) {
  const filtra_tokenizer *t = filtra_tokenizer_find("pixels");
  assert_non_null(t);
  int32_t ids[4];
  size_t count;
  static const char text[] = "0, 17\t255\n9";
  assert_ok(filtra_tokenizer_encode(t, text, strlen(text), ids, 4, &count));
  assert_int_equal(count, 4);
  assert_true(ids[0] == 0 && ids[1] == 17 && ids[2] == 255 && ids[3] == 9);
  for (uint32_t i = 0; i < 256; i++)
    assert_int_equal(atoi(filtra_tokenizer_symbol(t, i)), i);
  char back[16];
  assert_ok(filtra_tokenizer_decode(t, ids, 4, back, sizeof back, &count));
  assert_string_equal(back, "0 17 255 9");
  static const char *const wrong[] = {"", " ", "256", "1 -2", "3.5", "x", "00001", "12a"};
  for (size_t i = 0; i < FT_COUNT(wrong); i++)
    assert_int_equal(filtra_tokenizer_encode(t, wrong[i], strlen(wrong[i]), ids, 4, &count),
                     FILTRA_ERROR_INPUT);
}

TEST(test_shared_mnist) {
  const char *path = test_shared_data("mnist");
  static const uint64_t expected[10] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
  uint64_t seen[10] = {0};
  owned_dataset *ds = test_open_dataset(path, NULL, NULL);
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST], 10000);
  for (uint64_t i = 0; i < 10000; i++) {
    filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, i);
    assert_int_equal(s.length, 784);
    seen[s.label]++;
  }
  assert_memory_equal(seen, expected, sizeof seen);
}

TEST_MAIN(NULL, test_teardown)
