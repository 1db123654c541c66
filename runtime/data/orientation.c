/* Reads the orientation of an image from EXIF and XMP data, and turns images upright. Called by
 * image_file.c. */
#include "data/orientation.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- EXIF ---- */

/* A TIFF block and its byte order. */
typedef struct tiff {
  const uint8_t *bytes;
  size_t size;
  bool little;
} tiff;

/* A number of `count` bytes at `at`; 0 past the end. */
static uint32_t number_at(const tiff *t, size_t at, size_t count) {
  uint32_t x = 0;
  if (at > t->size || count > t->size - at) return 0;
  for (size_t i = 0; i < count; i++)
    x |= (uint32_t)t->bytes[at + i] << 8 * (t->little ? i : count - 1 - i);
  return x;
}

/* The value if EXIF defines it, else upright. */
static uint32_t in_range(uint32_t orientation) {
  return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

/* An entry is its tag, type, count and value, in 2, 2, 4 and 4 bytes; a shorter value fills the
 * first of its 4 bytes. */
static uint32_t find_orientation(const tiff *t) {
  enum { ENTRY = 12, ORIENTATION = 0x0112, BYTE = 1, SHORT = 3, LONG = 4 };
  size_t at = number_at(t, 4, 4);
  uint32_t count = number_at(t, at, 2);
  for (at += 2; count > 0 && at < t->size && t->size - at >= ENTRY; count--, at += ENTRY) {
    uint32_t type = number_at(t, at + 2, 2);
    size_t bytes = type == SHORT ? 2 : type == LONG ? 4 : type == BYTE;
    if (number_at(t, at, 2) == ORIENTATION && number_at(t, at + 4, 4) == 1)
      return in_range(number_at(t, at + 8, bytes));
  }
  return 0;
}

uint32_t ft_exif_orientation(const uint8_t *bytes, size_t size) {
  tiff t = {bytes, size, size >= 2 && !memcmp(bytes, "II", 2)};
  bool big = size >= 2 && !memcmp(bytes, "MM", 2);
  if ((!t.little && !big) || number_at(&t, 2, 2) != 42) return 0;
  return find_orientation(&t);
}

/* ---- XMP ---- */

/* As an attribute, tiff:Orientation="6", or an element, <tiff:Orientation>6<. */
uint32_t ft_xmp_orientation(const uint8_t *bytes, size_t size) {
  static const char NAME[] = "tiff:Orientation";
  enum { LENGTH = sizeof NAME - 1 };
  for (size_t i = 0; i + LENGTH + 3 <= size; i++) {
    const uint8_t *after = bytes + i + LENGTH;
    if (bytes[i] != 't' || memcmp(bytes + i, NAME, LENGTH) != 0) continue;
    const uint8_t *digit = *after == '>' ? after + 1 : after + 2;
    if (*after != '>' && memcmp(after, "=\"", 2) != 0) continue;
    if (*digit >= '0' && *digit <= '9') return in_range(*digit - (uint32_t)'0');
  }
  return 0;
}

/* ---- turning ---- */

bool ft_orientation_swaps(uint32_t orientation) {
  return orientation >= 5;
}

filtra_status ft_image_turn(ft_image *image, uint32_t orientation) {
  if (orientation == 1) return FILTRA_OK;
  bool swaps = ft_orientation_swaps(orientation);
  bool up = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  bool back = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  size_t channels = image->channels;
  ft_image to = *image;
  to.height = swaps ? image->width : image->height;
  to.width = swaps ? image->height : image->width;
  to.pixels = ft_calloc((size_t)to.height * to.width, channels);
  if (!to.pixels) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t y = 0; y < to.height; y++)
    for (uint32_t x = 0; x < to.width; x++) {
      uint32_t row = swaps ? x : y, column = swaps ? y : x;
      if (up) row = image->height - 1 - row;
      if (back) column = image->width - 1 - column;
      memcpy(to.pixels + ((size_t)y * to.width + x) * channels,
             image->pixels + ((size_t)row * image->width + column) * channels, channels);
    }
  free(image->pixels);
  *image = to;
  return FILTRA_OK;
}
