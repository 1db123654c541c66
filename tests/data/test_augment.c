/* Random changes of images: each step against numbers computed by hand, and whole batches, which
 * must not depend on threads, on what was read before, or on where reading began. */
#include "base/memory.h"
#include "data/augment.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/images.h"
#include "support/run.h"

#include <sched.h>

/* ---- single steps ---- */

TEST(test_crops) {
  enum { HEIGHT = 40, WIDTH = 70, DRAWS = 4000 };
  ft_rng rng = ft_rng_make(1, 2);
  double area = 0.0, log_ratio = 0.0;
  for (int i = 0; i < DRAWS; i++) {
    ft_box b = ft_draw_crop(&rng, HEIGHT, WIDTH, 0.2, 4.0 / 3.0);
    double share = b.width * b.height / (HEIGHT * WIDTH);
    assert_true(b.x >= 0 && b.y >= 0 && b.x + b.width <= WIDTH && b.y + b.height <= HEIGHT);
    assert_true(b.x == floor(b.x) && b.width == floor(b.width));
    assert_true(share > 0.17 && share < 1.0 && b.width / b.height < 1.5 &&
                b.height / b.width < 1.5);
    area += share / DRAWS;
    log_ratio += log(b.width / b.height) / DRAWS;
  }
  /* Boxes of the largest shares do not fit beside so long a side. */
  assert_true(area > 0.35 && area < 0.5 && fabs(log_ratio) < 0.05);
  /* Nothing fits: the middle, cut to the widest ratio. */
  ft_box middle = ft_draw_crop(&rng, 10, 100, 1.0, 2.0);
  assert_true(middle.x == 40 && middle.y == 0 && middle.width == 20 && middle.height == 10);
}

TEST(test_flip) {
  uint8_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  const uint8_t want[] = {7, 8, 9, 4, 5, 6, 1, 2, 3, 16, 17, 18, 13, 14, 15, 10, 11, 12};
  ft_image_flip(&(ft_image){2, 3, 3, pixels});
  assert_memory_equal(pixels, want, sizeof want);
}

/* One box of normal numbers, of the area and ratio that are allowed. */
TEST(test_erase) {
  enum { SIDE = 32, CHANNELS = 2, DRAWS = 300 };
  float x[SIDE * SIDE * CHANNELS];
  ft_rng rng = ft_rng_make(3, 4);
  double sum = 0.0, squares = 0.0, count = 0.0;
  for (int i = 0; i < DRAWS; i++) {
    for (size_t k = 0; k < FT_COUNT(x); k++)
      x[k] = 100.0f;
    ft_erase(&rng, x, SIDE, SIDE, CHANNELS);
    int top = SIDE, bottom = -1, left = SIDE, right = -1, changed = 0;
    for (int k = 0; k < (int)FT_COUNT(x); k++) {
      if (x[k] == 100.0f) continue;
      int row = k / CHANNELS / SIDE, column = k / CHANNELS % SIDE;
      top = row < top ? row : top;
      bottom = row > bottom ? row : bottom;
      left = column < left ? column : left;
      right = column > right ? column : right;
      changed++;
      sum += (double)x[k];
      squares += (double)x[k] * (double)x[k];
    }
    int height = bottom - top + 1, width = right - left + 1;
    assert_int_equal(changed, height * width * CHANNELS);
    assert_between(height * width, (int)(0.014 * SIDE * SIDE), (int)(0.36 * SIDE * SIDE));
    assert_true(height < 5 * width && width < 5 * height);
    count += changed;
  }
  assert_true(fabs(sum / count) < 0.02 && fabs(squares / count - 1.0) < 0.03);
}

/* ---- operations ---- */

static void check_operation(ft_image_operation operation, double level, uint32_t height,
                            uint32_t width, const uint8_t *from, const uint8_t *want) {
  uint8_t pixels[64];
  ft_image image = {height, width, 1, pixels};
  memcpy(pixels, from, (size_t)height * width);
  assert_ok(ft_image_operate(&image, operation, level, &(uint8_t){77}));
  for (uint32_t i = 0; i < height * width; i++)
    if (pixels[i] != want[i])
      fail_msg("operation %d, level %g: pixel %u is %u, not %u", (int)operation, level, i,
               pixels[i], want[i]);
}
#define CHECK(operation, level, height, width, from, ...)                                          \
  check_operation(operation, level, height, width, from, (const uint8_t[]){__VA_ARGS__})

TEST(test_tables) {
  const uint8_t x[] = {0, 10, 100, 127, 128, 255}, low[] = {50, 60, 75, 100, 50, 100};
  CHECK(FT_IMAGE_INVERT, 0.3, 1, 6, x, 255, 245, 155, 128, 127, 0);
  CHECK(FT_IMAGE_POSTERIZE, 0.5, 1, 6, x, 0, 0, 64, 64, 128, 192); /* two bits */
  CHECK(FT_IMAGE_POSTERIZE, 1.0, 1, 6, x, 0, 0, 0, 0, 0, 0);
  CHECK(FT_IMAGE_SOLARIZE, 0.5, 1, 6, x, 0, 10, 100, 127, 127, 0);
  CHECK(FT_IMAGE_SOLARIZE, 0.0, 1, 6, x, 0, 10, 100, 127, 128, 255);
  CHECK(FT_IMAGE_SOLARIZE_ADD, 1.0, 1, 6, x, 110, 120, 210, 237, 128, 255);
  CHECK(FT_IMAGE_AUTO_CONTRAST, 0.9, 1, 6, low, 0, 51, 128, 255, 0, 255);
  /* 255 x 4 + 4 pixels: a step of 4, half a step first */
  owned uint8_t *many = ft_calloc(1024, 1);
  for (int i = 0; i < 1024; i++)
    many[i] = (uint8_t)(i < 512 ? 9 : i < 1020 ? 200 : 201);
  ft_image image = {32, 32, 1, many};
  assert_ok(ft_image_operate(&image, FT_IMAGE_EQUALIZE, 0.5, &(uint8_t){0}));
  assert_int_equal(many[0], 0);
  assert_int_equal(many[512], 128); /* (2 + 512) / 4 */
  assert_int_equal(many[1023], 255);
}

/* By hand: mean 100, and 3 x 3 pixels around the middle one. */
TEST(test_departures) {
  const uint8_t x[] = {50, 100, 150}, block[] = {13, 13, 13, 13, 130, 13, 13, 13, 13};
  CHECK(FT_IMAGE_CONTRAST, 0.5, 1, 3, x, 28, 100, 173); /* 100 + 1.45 (x - 100) */
  CHECK(FT_IMAGE_CONTRAST, -1.0, 1, 3, x, 95, 100, 105);
  CHECK(FT_IMAGE_BRIGHTNESS, 1.0, 1, 3, x, 95, 190, 255);
  CHECK(FT_IMAGE_BRIGHTNESS, -1.0, 1, 3, x, 5, 10, 15);
  CHECK(FT_IMAGE_COLOR, 0.7, 1, 3, x, 50, 100, 150); /* grey has none */
  /* blurred: (8 x 13 + 5 x 130) / 13 = 58; 58 + 0.1 (130 - 58) */
  CHECK(FT_IMAGE_SHARPNESS, -1.0, 3, 3, block, 13, 13, 13, 13, 65, 13, 13, 13, 13);
  uint8_t red[] = {200, 0, 0}; /* luminance 60 */
  assert_ok(ft_image_operate(&(ft_image){1, 1, 3, red}, FT_IMAGE_COLOR, -1.0, red));
  assert_memory_equal(red, ((uint8_t[]){74, 54, 54}), 3);
}

/* Level 0 moves nothing; others against what the coordinates say. */
TEST(test_geometry) {
  static const ft_image_operation all[] = {FT_IMAGE_ROTATE, FT_IMAGE_SHEAR_X, FT_IMAGE_SHEAR_Y,
                                           FT_IMAGE_TRANSLATE_X, FT_IMAGE_TRANSLATE_Y};
  const uint8_t x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (size_t i = 0; i < FT_COUNT(all); i++)
    check_operation(all[i], 0.0, 3, 3, x, x);
  const double pixel = 1.0 / (0.45 * 3.0); /* a level that moves by one */
  CHECK(FT_IMAGE_TRANSLATE_X, pixel, 3, 3, x, 2, 3, 77, 5, 6, 77, 8, 9, 77);
  CHECK(FT_IMAGE_TRANSLATE_X, -pixel, 3, 3, x, 77, 1, 2, 77, 4, 5, 77, 7, 8);
  CHECK(FT_IMAGE_TRANSLATE_Y, pixel, 3, 3, x, 4, 5, 6, 7, 8, 9, 77, 77, 77);
  const uint8_t square[] = {1, 3, 5, 7}; /* by half a pixel: means of rows, the last with 77 */
  CHECK(FT_IMAGE_TRANSLATE_Y, 0.5 / (0.45 * 2.0), 2, 2, square, 3, 5, 41, 42);
  /* Rows at 0.5, 1.5 and 2.5 of 0.3 x level move by 0.15, 0.45 and 0.75 at the full level. */
  const uint8_t ramp[] = {0, 100, 200, 0, 100, 200, 0, 100, 200};
  CHECK(FT_IMAGE_SHEAR_X, 1.0, 3, 3, ramp, 15, 115, 182, 45, 145, 145, 75, 175, 108);
  CHECK(FT_IMAGE_SHEAR_Y, 1.0, 1, 1, (uint8_t[]){50}, 54); /* by 0.15: 0.85 x 50 + 0.15 x 77 */
  /* A dot right of the middle goes round it by 30 degrees, and the middle stays. */
  const uint8_t dot[] = {0, 0, 0, 0, 100, 0, 0, 0, 0};
  uint8_t turned[9];
  memcpy(turned, dot, sizeof dot);
  assert_ok(ft_image_operate(&(ft_image){3, 3, 1, turned}, FT_IMAGE_ROTATE, 1.0, &(uint8_t){0}));
  assert_int_equal(turned[4], 100);
  assert_int_equal(turned[1], turned[7]);
  assert_int_equal(turned[3], turned[5]);
}

/* Which operations come, and how often. */
TEST(test_rand_augment) {
  const filtra_augmentation a = {.rand_augment = 2, .rand_augment_magnitude = 9.0f};
  int untouched = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    ft_rng rng = ft_rng_make(5, i);
    ft_image image = test_picture(6, 6, 3, 3), same = test_picture(6, 6, 3, 3);
    assert_ok(ft_rand_augment(&rng, &a, (uint8_t[]){1, 2, 3}, &image));
    untouched += !memcmp(image.pixels, same.pixels, 6 * 6 * 3);
    free(image.pixels);
    free(same.pixels);
  }
  /* Neither of two is applied to a quarter; stretching what is full already changes nothing. */
  assert_between(untouched, 220, 420);
}

/* ---- mixing ---- */

enum { MIX_SIZE = 6, MIX_COUNT = 5, MIX_SIDE = 4 };

typedef struct mixed_batch {
  ft_mixture m;
  float x[MIX_SIZE * MIX_SIDE * MIX_SIDE], shares[MIX_SIZE];
  int32_t labels[MIX_SIZE], others[MIX_SIZE];
} mixed_batch;

/* Row i is i everywhere, and so is its label. */
static void mix(mixed_batch *b, const filtra_augmentation *a, uint64_t batch) {
  *b = (mixed_batch){{.height = MIX_SIDE,
                      .width = MIX_SIDE,
                      .channels = 1,
                      .size = MIX_SIZE,
                      .count = MIX_COUNT,
                      .stride = MIX_SIDE * MIX_SIDE,
                      .features = b->x,
                      .labels = b->labels,
                      .other_labels = b->others,
                      .label_fractions = b->shares}};
  for (int i = 0; i < MIX_SIZE * MIX_SIDE * MIX_SIDE; i++)
    b->x[i] = (float)(i / (MIX_SIDE * MIX_SIDE));
  for (int i = 0; i < MIX_SIZE; i++)
    b->labels[i] = i;
  ft_mix_batch(&b->m, a, 1, 2, batch);
}

/* The mean of a row is the mixture of its labels by its shares, whichever way it was mixed. */
static void check_mixed(const mixed_batch *b, bool boxes) {
  for (int i = 0; i < MIX_COUNT; i++) {
    const float *x = b->x + i * MIX_SIDE * MIX_SIDE;
    double sum = 0.0, share = (double)b->shares[i];
    assert_true(share >= 0.5 && share <= 1.0 && b->shares[i] == b->shares[0]);
    assert_int_equal(b->labels[i] + b->others[i], MIX_COUNT - 1);
    assert_true(b->labels[i] == i || b->others[i] == i);
    for (int k = 0; k < MIX_SIDE * MIX_SIDE; k++) {
      sum += (double)x[k];
      if (boxes) assert_true(x[k] == (float)i || x[k] == (float)(MIX_COUNT - 1 - i));
      if (!boxes) assert_float_equal(x[k], x[0], 0);
    }
    assert_float_equal(sum / (MIX_SIDE * MIX_SIDE),
                       share * b->labels[i] + (1 - share) * b->others[i], 1e-5);
  }
  for (int k = 0; k < MIX_SIDE * MIX_SIDE; k++) /* a filler is nobody's partner */
    assert_float_equal(b->x[MIX_COUNT * MIX_SIDE * MIX_SIDE + k], MIX_COUNT, 0);
}

TEST(test_mixing) {
  mixed_batch b;
  int swapped = 0, whole = 0, blended = 0;
  for (uint64_t i = 0; i < 300; i++) {
    mix(&b, &(filtra_augmentation){.mixup = 0.8f}, i);
    check_mixed(&b, false);
    swapped += b.labels[0] != 0;
    mix(&b, &(filtra_augmentation){.cutmix = 1.0f}, i);
    check_mixed(&b, true);
    mix(&b, &(filtra_augmentation){.mixup = 0.8f, .mixup_prob = 0.25f}, i);
    whole += b.shares[0] == 1.0f && b.x[0] == 0.0f;
    mix(&b, &(filtra_augmentation){.mixup = 1.0f, .cutmix = 1.0f}, i);
    blended += b.x[0] != floorf(b.x[0]);
  }
  assert_between(swapped, 110, 190);
  assert_between(whole, 200, 250);
  assert_between(blended, 110, 190);
}

/* Mean 1/2 and variance 1 / (4 (2 a + 1)). */
TEST(test_beta) {
  static const double shapes[] = {0.1, 0.8, 1.0, 4.0};
  for (size_t i = 0; i < FT_COUNT(shapes); i++) {
    enum { DRAWS = 20000 };
    ft_rng rng = ft_rng_make(9, i);
    double mean = 0.0, square = 0.0;
    for (int k = 0; k < DRAWS; k++) {
      double x = ft_rng_beta(&rng, shapes[i]);
      assert_true(x >= 0.0 && x <= 1.0);
      mean += x / DRAWS;
      square += x * x / DRAWS;
    }
    assert_float_equal(mean, 0.5, 0.01);
    assert_float_equal(square - mean * mean, 1.0 / (4.0 * (2.0 * shapes[i] + 1.0)), 0.005);
  }
}

/* ---- batches ---- */

enum { IMAGES = 21, SIDE = 12 };

static const filtra_augmentation everything = {.crop_scale = 0.3f,
                                               .hflip = 0.5f,
                                               .rand_augment = 2,
                                               .rand_augment_magnitude = 9.0f,
                                               .rand_augment_std = 0.5f,
                                               .random_erasing = 0.5f,
                                               .mixup = 0.8f,
                                               .cutmix = 1.0f};

static const char *write_images(void) {
  const char *root = test_folder();
  for (uint32_t i = 0; i < IMAGES; i++) {
    ft_image image = test_picture(SIDE + i % 5, SIDE + i % 3, 3, i);
    test_write_png(root, test_text("train/%c/%02u.png", "ab"[i % 2], i), &image);
    test_write_png(root, test_text("val/%c/%02u.png", "ab"[i % 2], i), &image);
    free(image.pixels);
  }
  return root;
}

static filtra_loader *make_loader(const filtra_dataset *ds, const filtra_augmentation *a) {
  filtra_loader *l = test_loader(
      ds, &(filtra_loader_options){.batch_size = 4, .shuffle = true, .seed = 8, .augmentation = a});
  return l;
}

/* Features, labels and shares of a batch, one behind the other. */
typedef struct seen_batch {
  float features[4 * SIDE * SIDE * 3], shares[4];
  int32_t labels[4], others[4];
} seen_batch;

static void see(filtra_loader *l, uint64_t epoch, uint64_t batch, seen_batch *s) {
  filtra_batch b;
  assert_ok(filtra_loader_set_position(l, (filtra_loader_position){epoch, batch}));
  assert_ok(filtra_loader_next(l, &b));
  assert_int_equal(b.length, SIDE * SIDE);
  memcpy(s->features, b.features, sizeof s->features);
  memcpy(s->labels, b.labels, sizeof s->labels);
  memset(s->others, 0, sizeof s->others);
  memset(s->shares, 0, sizeof s->shares);
  if (b.other_labels) memcpy(s->others, b.other_labels, sizeof s->others);
  if (b.label_fractions) memcpy(s->shares, b.label_fractions, sizeof s->shares);
}

TEST(test_batches) {
  if (!test_has_png()) skip();
  owned_dataset *ds =
      test_open_dataset(write_images(), "image-folder",
                        &(filtra_dataset_options){.pixels = FILTRA_PIXELS_RGB, .image_size = SIDE});
  static seen_batch first[6], again, other;
  filtra_loader *l = make_loader(ds, &everything);
  assert_int_equal(filtra_loader_batch_count(l), 6);
  for (uint64_t i = 0; i < 6; i++)
    see(l, 1, i, &first[i]);
  /* in another order, by one thread alone */
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  owned_loader *alone = make_loader(ds, &everything);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  for (uint64_t i = 6; i-- > 0;) {
    see(alone, 1, i, &again);
    assert_memory_equal(&again, &first[i], sizeof again);
  }
  see(alone, 2, 0, &other);
  assert_memory_not_equal(&other, &first[0], sizeof other);
  filtra_loader_destroy(&l);
  /* Each step by itself does something; none of them nothing. */
  static const filtra_augmentation single[] = {{.crop_scale = 0.3f},
                                               {.hflip = 1.0f},
                                               {.rand_augment = 5, .rand_augment_magnitude = 9.0f},
                                               {.random_erasing = 1.0f},
                                               {.mixup = 1.0f},
                                               {.cutmix = 1.0f},
                                               {.crop_scale = 1.0f}};
  l = make_loader(ds, NULL);
  see(l, 1, 0, &first[0]);
  filtra_loader_destroy(&l);
  for (size_t i = 0; i < FT_COUNT(single); i++) {
    l = make_loader(ds, &single[i]);
    see(l, 1, 0, &again);
    if (single[i].crop_scale == 1.0f)
      assert_memory_equal(again.features, first[0].features, sizeof again.features);
    else
      assert_memory_not_equal(again.features, first[0].features, sizeof again.features);
    filtra_loader_destroy(&l);
  }
}

/* Three rows of an image, each another one, and in each epoch other images; as many rows as there
 * are images. */
TEST(test_repeats) {
  if (!test_has_png()) skip();
  owned_dataset *ds =
      test_open_dataset(write_images(), "image-folder",
                        &(filtra_dataset_options){.pixels = FILTRA_PIXELS_RGB, .image_size = SIDE});
  static seen_batch once, again;
  const filtra_augmentation three = {.crop_scale = 0.3f, .repeats = 3}, one = {.crop_scale = 0.3f};
  owned_loader *l = make_loader(ds, &three), *plain = make_loader(ds, &one);
  const size_t pixels = SIDE * SIDE * 3;
  int seen[2][IMAGES] = {{0}};
  assert_int_equal(filtra_loader_batch_count(l), 6);
  for (uint64_t epoch = 0; epoch < 2; epoch++)
    for (uint64_t i = 0; i < 6; i++) {
      filtra_batch b;
      assert_ok(filtra_loader_next(l, &b));
      assert_int_equal(b.count, i < 5 ? 4 : 1);
      for (uint32_t row = 0; row < b.count; row++)
        seen[epoch][b.indices[row]]++;
      for (uint32_t row = 1; row < b.count; row++)
        assert_memory_not_equal(b.features + row * pixels, b.features + (row - 1) * pixels,
                                pixels * sizeof *b.features);
    }
  for (int k = 0; k < IMAGES; k++)
    assert_true((seen[0][k] == 0 || seen[0][k] == 3) && (seen[1][k] == 0 || seen[1][k] == 3));
  assert_memory_not_equal(seen[0], seen[1], sizeof seen[0]);
  see(l, 1, 3, &once);
  see(l, 1, 0, &again);
  see(l, 1, 3, &again);
  assert_memory_equal(&once, &again, sizeof once);
  see(plain, 1, 0, &once); /* an image's first row is as without repeats */
  see(l, 1, 0, &again);
  assert_memory_equal(once.features, again.features, pixels * sizeof *once.features);
  filtra_loader *none;
  assert_fails(filtra_loader_create(
                   ds, &(filtra_loader_options){.batch_size = 4, .augmentation = &three}, &none),
               FILTRA_ERROR_ARGUMENT, "repeats is 3 without shuffle");
}

TEST(test_refused) {
  static const struct {
    filtra_augmentation a;
    const char *part;
  } cases[] = {
      {{.crop_scale = 1.5f}, "\"crop_scale\" is 1.5"},
      {{.crop_ratio = 0.5f}, "\"crop_ratio\" is 0.5"},
      {{.hflip = -0.1f}, "\"hflip\" is -0.1, accepted are 0 to 1"},
      {{.rand_augment = 16}, "\"rand_augment\" is 16, accepted are 0 to 15"},
      {{.random_erasing = 2.0f}, "\"random_erasing\" is 2"},
      {{.mixup = 0.001f}, "mixup is 0.001 and cutmix 0, accepted are 0 and 0.01 to 100"},
      {{.cutmix = NAN}, "\"cutmix\" is nan"},
      {{.reserved = {1}}, "reserved"},
      {{.repeats = 17}, "\"repeats\" is 17"},
      {{.hflip = 0.5f}, "are for images whose pixels are numbers"},
  };
  owned_dataset *ds = test_open_dataset(test_listops(), NULL, NULL);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_loader *l;
    assert_fails(
        filtra_loader_create(
            ds, &(filtra_loader_options){.batch_size = 4, .augmentation = &cases[i].a}, &l),
        FILTRA_ERROR_ARGUMENT, cases[i].part);
  }
  filtra_loader *same;
  assert_fails(filtra_loader_create(
                   ds,
                   &(filtra_loader_options){.batch_size = 4,
                                            .shuffle = true,
                                            .augmentation = &(filtra_augmentation){.repeats = 2}},
                   &same),
               FILTRA_ERROR_ARGUMENT, "nothing else is augmented");
  owned_loader *l = make_loader(ds, &(filtra_augmentation){.crop_scale = 1.0f});
}

TEST_MAIN(NULL, test_teardown)
