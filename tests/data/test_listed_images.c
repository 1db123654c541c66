/* Images that stay in their files until needed, and images that are resized. */
#include "base/file.h"
#include "base/memory.h"
#include "data/image_file.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/images.h"
#include "support/run.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 6, IMAGES = 24, CLASSES = 2 };

/* A folder a and a folder b with half of the images each. */
static const char *write_folder(uint32_t channels) {
  const char *root = test_folder();
  for (uint32_t i = 0; i < IMAGES; i++) {
    ft_image image = test_picture(SIDE, SIDE, channels, i);
    test_write_png(root, test_text("%c/%02u.png", "ab"[i / (IMAGES / 2)], i), &image);
    free(image.pixels);
  }
  return root;
}

/* The same images and labels in IDX files, which are kept in memory. */
static const char *write_idx(void) {
  const char *root = test_folder();
  uint8_t images[16 + IMAGES * SIDE * SIDE] = {0, 0, 8, 3,    0, 0, 0, IMAGES,
                                               0, 0, 0, SIDE, 0, 0, 0, SIDE};
  uint8_t labels[8 + IMAGES] = {0, 0, 8, 1, 0, 0, 0, IMAGES};
  for (uint32_t i = 0; i < IMAGES; i++) {
    ft_image image = test_picture(SIDE, SIDE, 1, i);
    memcpy(images + 16 + i * SIDE * SIDE, image.pixels, SIDE * SIDE);
    labels[8 + i] = (uint8_t)(i / (IMAGES / 2));
    free(image.pixels);
  }
  test_write_bytes(root, "train-images-idx3-ubyte", images, sizeof images);
  test_write_bytes(root, "train-labels-idx1-ubyte", labels, sizeof labels);
  return root;
}

static filtra_loader *make_loader(const filtra_dataset *ds, filtra_split split) {
  filtra_loader *l = test_loader(
      ds, &(filtra_loader_options){.split = split, .batch_size = 5, .shuffle = true, .seed = 3});
  return l;
}

/* Read from files or kept in memory: the same numbers, batch for batch. */
TEST(test_same_bits_as_in_memory) {
  const filtra_dataset_options grey = {.pixels = FILTRA_PIXELS_GREY_FEATURES};
  owned_dataset *kept = test_open_dataset(write_idx(), "idx", &grey);
  owned_dataset *listed = test_open_dataset(write_folder(1), "image-folder", &grey);
  assert_non_null(kept->samples[FILTRA_SPLIT_TRAIN].bytes);
  assert_null(listed->samples[FILTRA_SPLIT_TRAIN].bytes);
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_VAL; split++) {
    owned_loader *a = make_loader(kept, split), *b = make_loader(listed, split);
    for (uint64_t i = 0; i < 2 * filtra_loader_batch_count(a); i++) {
      filtra_batch x, y;
      assert_ok(filtra_loader_next(a, &x));
      assert_ok(filtra_loader_next(b, &y));
      assert_int_equal(x.length, y.length);
      assert_memory_equal(x.features, y.features, x.size * x.length * sizeof *x.features);
      assert_memory_equal(x.labels, y.labels, x.size * sizeof *x.labels);
    }
  }
}

/* A file that goes away after the start fails the batch that needs it, by its name; the position
 * can be taken up again when it is back. */
TEST(test_a_file_that_goes_away) {
  const char *root = write_folder(3), *path = test_path(root, "b/17.png");
  owned_dataset *ds = test_open_dataset(root, "image-folder",
                                        &(filtra_dataset_options){.pixels = FILTRA_PIXELS_RGB});
  size_t size;
  owned char *data = test_read(path, &size);
  test_write(path, data, size / 2); /* the header is whole */
  owned_loader *l = make_loader(ds, FILTRA_SPLIT_TRAIN);
  filtra_status status = FILTRA_OK;
  filtra_batch batch;
  uint64_t good = 0;
  while (!status && good < filtra_loader_batch_count(l)) {
    status = filtra_loader_next(l, &batch);
    good += !status;
  }
  assert_fails(status, FILTRA_ERROR_INPUT, "b/17.png: damaged PNG");
  assert_fails(filtra_loader_next(l, &batch), FILTRA_ERROR_INPUT, "b/17.png");
  assert_int_equal(filtra_loader_get_position(l).batch, good);
  remove(path);
  assert_ok(filtra_loader_set_position(l, (filtra_loader_position){.batch = good}));
  assert_fails(filtra_loader_next(l, &batch), FILTRA_ERROR_PATH, "b/17.png");
  ft_image other = test_picture(SIDE + 1, SIDE, 3, 17);
  test_write_png(root, "b/17.png", &other);
  free(other.pixels);
  assert_ok(filtra_loader_set_position(l, (filtra_loader_position){.batch = good}));
  assert_fails(filtra_loader_next(l, &batch), FILTRA_ERROR_INPUT,
               "b/17.png: an image of 6 x 7 pixels; it had 6 x 6 when the data were opened");
  test_write(path, data, size);
  assert_ok(filtra_loader_set_position(l, (filtra_loader_position){.batch = good}));
  assert_ok(filtra_loader_next(l, &batch));
}

/* All headers are read at the start, and nothing else. */
TEST(test_headers_at_the_start) {
  const filtra_dataset_options rgb = {.pixels = FILTRA_PIXELS_RGB,
                                      .normalize = FILTRA_NORMALIZE_IMAGENET};
  const char *root = write_folder(3), *path = test_path(root, "b/17.png");
  size_t size;
  owned char *data = test_read(path, &size);
  test_write(path, data, 20);
  test_refuse_dataset(root, &rgb, "b/17.png: damaged PNG: it ends before its pixels");
  test_write(path, data, size - 1);
  test_refuse_dataset(root, &rgb, "b/17.png: damaged PNG: it ends too early");
  data[60] ^= 1; /* a pixel's */
  test_write(path, data, size);
  data[60] ^= 1;
  filtra_dataset_options verify = rgb; /* as `filtra data inspect` does */
  verify.verify_labels = true;
  test_refuse_dataset(root, &verify, "b/17.png: damaged PNG");
  filtra_dataset *ds = test_open_dataset(root, "image-folder", &rgb);
  uint64_t before = ft_dataset_fingerprint(ds);
  filtra_dataset_close(&ds);
  test_write(path, data, size);
  ds = test_open_dataset(root, "image-folder", &rgb);
  assert_true(ft_dataset_fingerprint(ds) != before);
  float features[SIDE * SIDE * 3];
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, 0, features));
  ft_image first = test_picture(SIDE, SIDE, 3, 0);
  assert_true(fabs((double)features[1] - (first.pixels[1] / 255.0 - 0.456) / 0.224) < 1e-5);
  free(first.pixels);
  filtra_dataset_close(&ds);
  ft_image other = test_picture(SIDE, SIDE + 1, 3, 1);
  test_write_png(root, "b/17.png", &other);
  free(other.pixels);
  test_refuse_dataset(root, &rgb, "b/17.png: an image of 7 x 6 pixels; those before have 6 x 6");
}

/* ---- resizing ---- */

static void check_row(const uint8_t *from, uint32_t width, const uint8_t *want, uint32_t wanted) {
  ft_image row = {1, width, 1, (uint8_t *)from}, to = {.height = 1, .width = wanted};
  assert_ok(ft_image_resample(&row, (ft_box){0.0, 0.0, (double)width, 1.0}, &to));
  assert_memory_equal(to.pixels, want, wanted);
  free(to.pixels);
}

/* By hand, from Keys' w(0.25) = 0.8671875, w(0.75) = 0.2265625 and w(1.25) = -0.0703125: what lies
 * outside of 0 to 255 is cut. */
TEST(test_cubic_weights) {
  check_row((uint8_t[]){0, 100}, 2, (uint8_t[]){0, 21, 79, 109}, 4);
  check_row((uint8_t[]){0, 0, 100, 100}, 4, (uint8_t[]){8, 92}, 2);
  check_row((uint8_t[]){7, 7, 7, 7, 7}, 5, (uint8_t[]){7, 7}, 2);
  check_row((uint8_t[]){9, 200, 3}, 3, (uint8_t[]){9, 200, 3}, 3);
}

/* Whole pixels of a box come out as they are, in both directions and each channel. */
TEST(test_boxes) {
  ft_image image = test_picture(7, 9, 3, 2), to = {.height = 4, .width = 3};
  assert_ok(ft_image_resample(&image, (ft_box){5.0, 2.0, 3.0, 4.0}, &to));
  for (uint32_t y = 0; y < 4; y++)
    assert_memory_equal(to.pixels + 9 * y, image.pixels + ((y + 2) * 9 + 5) * 3, 9);
  free(to.pixels);
  free(image.pixels);
  ft_box middle = ft_image_middle(&(ft_image){.height = 100, .width = 200}, 0.5);
  assert_true(middle.x == 75.0 && middle.y == 25.0 && middle.width == 50.0 &&
              middle.height == 50.0);
}

/* Images of any size become squares, as tokens and as features. */
TEST(test_image_size) {
  const char *root = test_folder();
  for (uint32_t i = 0; i < 4; i++) {
    ft_image image = test_picture(8 + 3 * i, 10 + i % 2, 1, i);
    test_write_png(root, test_text("%c/%u.png", "ab"[i / 2], i), &image);
    free(image.pixels);
  }
  filtra_dataset_options o = {.image_size = 5, .crop_pct = 0.5f, .file_split = FILTRA_SPLIT_TEST};
  owned_dataset *tokens = test_open_dataset(root, "image-folder", &o);
  o.pixels = FILTRA_PIXELS_GREY_FEATURES;
  owned_dataset *numbers = test_open_dataset(root, "image-folder", &o);
  for (uint32_t i = 0; i < 4; i++) {
    filtra_sample s;
    float x[25];
    assert_ok(filtra_dataset_sample(tokens, FILTRA_SPLIT_TEST, i, &s));
    assert_ok(filtra_dataset_sample_features(numbers, FILTRA_SPLIT_TEST, i, x));
    assert_int_equal(s.length, 25);
    for (int k = 0; k < 25; k++)
      assert_true(x[k] == ft_standard_byte(numbers->feature_mean[0], numbers->feature_factor[0],
                                           (uint8_t)s.tokens[k]));
  }
  o.image_size = 0;
  o.crop_pct = 0.0f;
  test_refuse_dataset(root, &o, "unless image_size says what they become");
}

TEST(test_options_out_of_range) {
  static const struct {
    filtra_dataset_options options;
    const char *part;
  } cases[] = {
      {{.image_size = 1025}, "\"image_size\" is 1025, accepted are 0 to 1024"},
      {{.image_size = 5, .crop_pct = 1.5f}, "\"crop_pct\" is 1.5, accepted are 0.05 to 1"},
      {{.normalize = FILTRA_NORMALIZE_IMAGENET},
       "normalize imagenet or half is for images with pixels rgb"},
  };
  const char *root = write_folder(1);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_dataset *ds;
    assert_fails(filtra_dataset_open(root, &cases[i].options, &ds), FILTRA_ERROR_ARGUMENT,
                 cases[i].part);
  }
  filtra_dataset *ds;
  assert_fails(filtra_dataset_open(test_listops(), &(filtra_dataset_options){.image_size = 8}, &ds),
               FILTRA_ERROR_ARGUMENT, "image_size and crop_pct are for images");
}

/* ---- memory ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMITS_MEMORY = 0 }; /* sanitizers take more than the data */
#else
enum { LIMITS_MEMORY = 1 };
#endif

enum { LARGE = 512, LARGE_COUNT = 128 }; /* 96 MiB of pixels */

static filtra_status walk(const char *root) {
  owned_dataset *ds = NULL;
  owned_loader *l = NULL;
  filtra_batch batch;
  filtra_status status = filtra_dataset_open(
      root, &(filtra_dataset_options){.pixels = FILTRA_PIXELS_RGB, .image_size = 32}, &ds);
  if (!status) status = filtra_loader_create(ds, &(filtra_loader_options){.batch_size = 16}, &l);
  for (uint64_t i = 0; !status && i < filtra_loader_batch_count(l); i++)
    status = filtra_loader_next(l, &batch);
  return status;
}

/* 48 MiB for all that is allocated: half of the pixels. Threads get small stacks, which count. */
static int walk_within_limit(const char *root) {
  pthread_attr_t attributes;
  struct rlimit limit = {(rlim_t)48 << 20, (rlim_t)48 << 20};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_setattr_default_np(&attributes);
  if (setrlimit(RLIMIT_DATA, &limit)) return 3;
  if (malloc((size_t)LARGE * LARGE * 3 * LARGE_COUNT)) return 2; /* the limit does nothing */
  return walk(root) ? 1 : 0;
}

TEST(test_more_pixels_than_memory) {
  const char *root = test_folder();
  ft_image image = test_picture(LARGE, LARGE, 3, 1);
  for (uint32_t i = 0; i < LARGE_COUNT; i++) {
    memset(image.pixels, (int)i, (size_t)LARGE * LARGE * 3);
    test_write_png(root, test_text("%c/%u.png", "ab"[i % 2], i), &image);
  }
  free(image.pixels);
  assert_ok(walk(root));
  if (!LIMITS_MEMORY) return;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(walk_within_limit(root));
  int ended;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_true(WIFEXITED(ended));
  assert_int_equal(WEXITSTATUS(ended), 0);
}

/* Reading a batch where memory runs out fails, and goes on from there. */
TEST(test_every_allocation_may_fail) {
  const filtra_dataset_options o = {
      .format = "image-folder", .pixels = FILTRA_PIXELS_RGB, .image_size = 4};
  const char *root = write_folder(1);
  test_dataset_memory(root, &o);
  owned_dataset *ds = test_open_dataset(root, "image-folder", &o);
  float features[4 * 4 * 3];
  filtra_status status;
  long n = 0;
  do {
    ft_memory_fail_after(++n);
    status = filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, 0, features);
    ft_memory_fail_after(0);
    assert_true(status == FILTRA_OK || status == FILTRA_ERROR_HOST_MEMORY);
  } while (status);
  assert_true(n > 5);
}

TEST_PROGRAM {
  return test_has_png() ? TEST_RUN("tests", NULL, test_teardown) : 0;
}
