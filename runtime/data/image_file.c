#include "data/image_file.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_LIMIT = 64 << 20 };

bool ft_image_named(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && dot > name &&
         (!strcasecmp(dot, ".png") || !strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg"));
}

static filtra_status decode(const uint8_t *data, size_t size, ft_image *image) {
  if (size >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8))
    return ft_image_decode_png(data, size, image);
  if (size >= 3 && !memcmp(data, "\xff\xd8\xff", 3)) return ft_image_decode_jpeg(data, size, image);
  return ft_fail(FILTRA_ERROR_INPUT, "%s", size ? "neither PNG nor JPEG" : "the file is empty");
}

filtra_status ft_image_load(const char *path, ft_image *image) {
  char *data;
  size_t size;
  *image = (ft_image){0};
  FT_TRY(ft_file_read(path, FILE_LIMIT, &data, &size));
  filtra_status status = decode((const uint8_t *)data, size, image);
  free(data);
  return status ? ft_fail_context(status, "%s", path) : FILTRA_OK;
}
