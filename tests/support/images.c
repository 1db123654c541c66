#include "support/images.h"

#include "base/memory.h"
#include "support/files.h"
#include "support/harness.h"

ft_image test_picture(uint32_t height, uint32_t width, uint32_t channels, uint32_t number) {
  ft_image image = {height, width, channels, ft_calloc((size_t)height * width, channels)};
  assert_non_null(image.pixels);
  uint8_t *to = image.pixels;
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x < width; x++)
      for (uint32_t c = 0; c < channels; c++)
        *to++ = (uint8_t)(37 * x + 11 * y + 5 * x * y + 101 * number + 59 * c);
  return image;
}

#ifdef FT_WITH_PNG

#include <png.h>

bool test_has_png(void) {
  return true;
}

void test_write_png(const char *folder, const char *name, const ft_image *image) {
  png_image png = {.version = PNG_IMAGE_VERSION,
                   .width = image->width,
                   .height = image->height,
                   .format = image->channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
  png_alloc_size_t size = 0;
  assert_true(png_image_write_to_memory(&png, NULL, &size, 0, image->pixels, 0, NULL));
  void *data = ft_calloc(1, size);
  assert_true(png_image_write_to_memory(&png, data, &size, 0, image->pixels, 0, NULL));
  test_write_bytes(folder, name, data, size);
  free(data);
}

#else

bool test_has_png(void) {
  print_message("SKIPPED: built without libpng\n");
  return false;
}

void test_write_png(const char *folder, const char *name, const ft_image *image) {
  (void)folder, (void)name, (void)image;
}

#endif
