/* PNG files of 16 bits per channel: what is kept, and what is said where that is nearly nothing. */
#include "data/image_file.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#ifdef FT_WITH_PNG

#include <png.h>

enum { SIDE = 4 };

static const char DEEP[] = "16 bits per channel";

/* Writes a grey file whose pixels have the values 0, 1 and so on, times `factor`. */
static void write_deep(const char *folder, const char *name, unsigned factor) {
  png_uint_16 pixels[SIDE * SIDE];
  png_image png = {
      .version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE, .format = PNG_FORMAT_LINEAR_Y};
  unsigned char data[1024];
  png_alloc_size_t size = sizeof data;
  for (unsigned i = 0; i < SIDE * SIDE; i++)
    pixels[i] = (png_uint_16)(i * factor);
  assert_true(png_image_write_to_memory(&png, data, &size, 0, pixels, 0, NULL));
  test_write_bytes(folder, name, data, size);
}

/* Opens a folder as tokens and as numbers; `part` must be said once each time, NULL: nothing. */
static void check(const char *folder, const char *part) {
  for (int pixels = FILTRA_PIXELS_GREY; pixels <= FILTRA_PIXELS_RGB; pixels++)
    test_open_warns(folder, &(filtra_dataset_options){.pixels = (filtra_pixels)pixels}, DEEP, part);
}

/* A value becomes a 257th of it, rounded. */
TEST(the_upper_bits_are_kept) {
  const char *folder = test_folder();
  ft_image image, look;
  uint64_t mark;
  write_deep(folder, "a.png", 4369);
  assert_ok(ft_image_load(test_path(folder, "a.png"), &image));
  assert_ok(ft_image_look(test_path(folder, "a.png"), &look, &mark));
  assert_true(image.deep && look.deep);
  for (int i = 0; i < SIDE * SIDE; i++)
    assert_int_equal(image.pixels[i], (i * 4369 * 2 + 257) / 514);
  free(image.pixels);
}

/* Values up to 255, as of 8 bits in files of 16, and up to 4095, as of cameras with 12. */
TEST(nearly_black_ones_are_said) {
  const char *folder = test_folder();
  write_deep(folder, "train/a/0.png", 17);
  write_deep(folder, "train/b/0.png", 16);
  check(folder, "no value of 2 such images is then above 1 of 255");
  write_deep(folder, "train/b/1.png", 273);
  check(folder, "no value of 3 such images is then above 16 of 255");
  write_deep(folder, "train/b/2.png", 4369);
  check(folder, NULL);
}

/* Drawings whose colour is black everywhere: only their transparency shows them. */
TEST(black_on_transparent_is_said) {
  const char *folder = test_folder();
  png_image png = {
      .version = PNG_IMAGE_VERSION, .width = SIDE, .height = SIDE, .format = PNG_FORMAT_GA};
  unsigned char pixels[2 * SIDE * SIDE] = {0}, data[1024];
  for (int white = 0; white < 2; white++)
    for (int i = 0; i < 2; i++) {
      png_alloc_size_t size = sizeof data;
      for (int k = 0; k < SIDE * SIDE; k++)
        pixels[2 * k + 1] = k % 3 ? 255 : 0;
      pixels[2] = white ? 255 : 0;
      assert_true(png_image_write_to_memory(&png, data, &size, 0, pixels, 0, NULL));
      test_write_bytes(folder, test_text("%d/%c/%d.png", white, 'a' + i, i), data, size);
    }
  for (int pixels_of = FILTRA_PIXELS_GREY; pixels_of <= FILTRA_PIXELS_RGB; pixels_of++) {
    const filtra_dataset_options o = {.pixels = (filtra_pixels)pixels_of};
    test_open_warns(test_path(folder, "0"), &o, "transparent",
                    "2 of 2 images with transparent pixels are black all over");
    test_open_warns(test_path(folder, "1"), &o, "transparent", NULL);
  }
}

/* Those of many that stay in files are not all decoded. */
TEST(not_all_are_looked_at) {
  const char *folder = test_folder();
  for (int i = 0; i < 70; i++)
    write_deep(folder, test_text("train/%c/%d.png", i % 2 ? 'a' : 'b', i), 1);
  test_open_warns(folder, &(filtra_dataset_options){.pixels = FILTRA_PIXELS_GREY_FEATURES}, DEEP,
                  "no value of 64 such images");
}

TEST_MAIN(NULL, test_teardown)

#else

TEST_PROGRAM {
  print_message("SKIPPED: built without libpng\n");
  return 0;
}

#endif
