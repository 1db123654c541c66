/* Opens image files: decodes them, or reads only the size from the header. Called by image.c;
 * image_png.c and image_jpeg.c decode. */
#include "data/image_file.h"

#include "base/file.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_LIMIT = 64 << 20, MARKED = 4096 };

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

/* ---- headers ---- */

static uint32_t big_endian(const uint8_t *bytes, int count) {
  uint32_t x = 0;
  for (int i = 0; i < count; i++)
    x = x << 8 | bytes[i];
  return x;
}

/* Finds height and width in a JPEG's frame header; 0 if the bytes end before it. A segment is 0xff,
 * its kind, and its length in two bytes, which includes these two. */
static void find_frame(const uint8_t *data, size_t size, ft_image *image) {
  for (size_t at = 2; at + 9 <= size && data[at] == 0xff;) {
    uint8_t kind = data[at + 1];
    bool tables = kind == 0xc4 || kind == 0xc8 || kind == 0xcc;
    if (kind == 0xff) { /* a fill byte */
      at++;
      continue;
    }
    if (kind >= 0xc0 && kind <= 0xcf && !tables) {
      image->height = big_endian(data + at + 5, 2);
      image->width = big_endian(data + at + 7, 2);
      return;
    }
    at += 2 + big_endian(data + at + 2, 2);
  }
}

static filtra_status find_size(const uint8_t *data, size_t size, ft_image *image) {
  *image = (ft_image){0};
  if (size >= 24 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8)) {
    image->width = big_endian(data + 16, 4);
    image->height = big_endian(data + 20, 4);
  } else if (size >= 3 && !memcmp(data, "\xff\xd8\xff", 3)) {
    find_frame(data, size, image);
  } else {
    return ft_fail(FILTRA_ERROR_INPUT, "%s", size ? "neither PNG nor JPEG" : "the file is empty");
  }
  return FILTRA_OK;
}

static filtra_status read_start(const char *path, uint8_t *bytes, size_t *size) {
  FILE *stream;
  size_t got = 1;
  *size = 0;
  FT_TRY(ft_file_open(path, &stream));
  filtra_status status = FILTRA_OK;
  while (got && *size < MARKED && !status) {
    status = ft_stream_read(stream, path, bytes + *size, MARKED - *size, &got);
    if (!status) *size += got;
  }
  fclose(stream);
  return status;
}

/* Reads the whole file if the frame header is not in its start: cameras write kilobytes of metadata
 * before it. */
static filtra_status look_further(const char *path, ft_image *image) {
  char *data;
  size_t size;
  FT_TRY(ft_file_read(path, FILE_LIMIT, &data, &size));
  find_frame((const uint8_t *)data, size, image);
  free(data);
  if (image->height) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: damaged JPEG: it ends before its size", path);
}

filtra_status ft_image_look(const char *path, ft_image *image, uint64_t *mark) {
  uint8_t bytes[MARKED];
  size_t size;
  FT_TRY(read_start(path, bytes, &size));
  filtra_status status = find_size(bytes, size, image);
  if (status) return ft_fail_context(status, "%s", path);
  uint64_t whole = ft_file_size(path);
  if (!image->height && bytes[0] == 0xff) FT_TRY(look_further(path, image));
  *mark = ft_hash_bytes(ft_hash_bytes(ft_hash_text("image"), &whole, sizeof whole), bytes, size);
  status = ft_image_check_file(image->height, image->width, (size_t)whole);
  return status ? ft_fail_context(status, "%s", path) : FILTRA_OK;
}
