/* Checks how many pixels an image has, and converts pixels to grey values and features. */
#include "data/image.h"

#include <string.h>

filtra_status ft_image_check_size(uint64_t height, uint64_t width) {
  if (height && width && height <= FT_IMAGE_PIXELS && width <= FT_IMAGE_PIXELS / height)
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "an image of %llu x %llu pixels; 1 to %d pixels are accepted",
                 (unsigned long long)width, (unsigned long long)height, FT_IMAGE_PIXELS);
}

filtra_status ft_image_check_file(uint64_t height, uint64_t width, size_t file_bytes) {
  const uint64_t most = ((uint64_t)6 << 20) + 2 * (uint64_t)file_bytes;
  if (height && width && height <= most && width <= most / height) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "an image of %llu x %llu pixels in a file of %zu bytes; 1 to %llu pixels are "
                 "accepted: 6 Mi, and 2 for each byte",
                 (unsigned long long)width, (unsigned long long)height, file_bytes,
                 (unsigned long long)most);
}

/* ---- what a pixel becomes ---- */

/* floor(255.5 (0.2989 r + 0.5870 g + 0.1140 b) / 255), as in Long Range Arena, computed in
 * integers. */
uint8_t ft_grey_of(const uint8_t *pixel, uint32_t channels) {
  if (channels == 1) return *pixel;
  uint32_t sum = 2989u * pixel[0] + 5870u * pixel[1] + 1140u * pixel[2];
  return (uint8_t)(511u * sum / 5100000u);
}

void ft_pixel_features(const uint8_t *pixel, uint32_t channels, uint32_t features, uint8_t *to) {
  if (features == 1)
    *to = ft_grey_of(pixel, channels);
  else if (channels == 1)
    memset(to, *pixel, features);
  else
    memcpy(to, pixel, features);
}
