/* Opens image files: decodes them, or reads only the header. Called by image.c; image_header.c
 * reads headers, image_png.c and image_jpeg.c decode. */
#include "data/image_file.h"

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "data/orientation.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 64 << 20, MARKED = 4096, LAST = 12 };

bool ft_image_named(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && *name != '.' &&
         (!ft_strcasecmp(dot, ".png") || !ft_strcasecmp(dot, ".jpg") ||
          !ft_strcasecmp(dot, ".jpeg"));
}

static filtra_status decode(const uint8_t *data, size_t size, ft_image *image) {
  ft_image_header header;
  FT_TRY(ft_image_read_header(data, size, &header));
  FT_TRY(data[0] == 0xff ? ft_image_decode_jpeg(data, size, image)
                         : ft_image_decode_png(data, size, image));
  image->deep = header.deep;
  filtra_status status = ft_image_turn(image, header.orientation);
  if (status) {
    free(image->pixels);
    image->pixels = NULL;
  }
  return status;
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

/* A file's first and last bytes. */
typedef struct ends {
  uint64_t file_size;
  uint8_t first[MARKED], last[LAST];
  size_t count, last_count;
} ends;

static filtra_status fill(FILE *stream, const char *path, uint8_t *bytes, size_t size,
                          size_t *count) {
  size_t got = 1;
  filtra_status status = FILTRA_OK;
  for (*count = 0; got && *count < size && !status; *count += got)
    status = ft_stream_read(stream, path, bytes + *count, size - *count, &got);
  return status;
}

static filtra_status read_ends(const char *path, ends *e) {
  FILE *stream;
  FT_TRY(ft_file_open(path, &stream));
  e->file_size = ft_file_size(path);
  filtra_status status = fill(stream, path, e->first, MARKED, &e->count);
  if (!status) status = ft_stream_seek(stream, path, e->file_size < LAST ? 0 : e->file_size - LAST);
  if (!status) status = fill(stream, path, e->last, LAST, &e->last_count);
  fclose(stream);
  return status;
}

/* Whether the file has its format's end marker. */
static bool has_end(const ends *e) {
  static const char PNG_END[] = "\0\0\0\0IEND\xae\x42\x60\x82";
  if (e->last_count < LAST) return false;
  if (e->first[0] == 0xff) return !memcmp(e->last + LAST - 2, "\xff\xd9", 2);
  return !memcmp(e->last, PNG_END, LAST);
}

/* Reads the header from the whole file: cameras write kilobytes of metadata before the size. */
static filtra_status look_further(const char *path, ft_image_header *header) {
  char *data;
  size_t size;
  FT_TRY(ft_file_read(path, FILE_LIMIT, &data, &size));
  filtra_status status = ft_image_read_header((const uint8_t *)data, size, header);
  free(data);
  return status;
}

/* *late: a PNG has chunks after its first bytes that may hold the orientation. */
static filtra_status walk_chunks(FILE *stream, const char *path, const ends *e, bool *late) {
  enum { SIGNATURE = 8, AROUND = 12, HEAD = 8 };
  uint8_t head[HEAD];
  size_t got = HEAD;
  for (uint64_t at = SIGNATURE; at + AROUND <= e->file_size && !*late && got == HEAD;) {
    FT_TRY(ft_stream_seek(stream, path, at));
    FT_TRY(fill(stream, path, head, HEAD, &got));
    const uint64_t length =
        (uint64_t)head[0] << 24 | (uint64_t)head[1] << 16 | (uint64_t)head[2] << 8 | head[3];
    const bool tells = !memcmp(head + 4, "eXIf", 4) || !memcmp(head + 4, "iTXt", 4);
    at += AROUND + length;
    *late = tells && at > e->count;
  }
  return FILTRA_OK;
}

static filtra_status has_late_chunks(const char *path, const ends *e, bool *late) {
  FILE *stream;
  *late = false;
  if (e->first[0] == 0xff || e->file_size <= e->count) return FILTRA_OK;
  FT_TRY(ft_file_open(path, &stream));
  filtra_status status = walk_chunks(stream, path, e, late);
  fclose(stream);
  return status;
}

static filtra_status look(const char *path, const ends *e, ft_image *image) {
  ft_image_header h;
  bool late;
  FT_TRY(ft_image_read_header(e->first, e->count, &h));
  FT_TRY(has_late_chunks(path, e, &late));
  if (!h.complete || late) FT_TRY(look_further(path, &h));
  if (!h.complete)
    return ft_fail(FILTRA_ERROR_INPUT, "damaged %s: it ends before its pixels",
                   e->first[0] == 0xff ? "JPEG" : "PNG");
  bool swaps = ft_orientation_swaps(h.orientation);
  *image = (ft_image){.height = swaps ? h.width : h.height,
                      .width = swaps ? h.height : h.width,
                      .deep = h.deep,
                      .alpha = h.alpha};
  return ft_image_check_file(h.height, h.width, (size_t)e->file_size);
}

filtra_status ft_image_look(const char *path, ft_image *image, uint64_t *mark) {
  ends e = {0};
  FT_TRY(read_ends(path, &e));
  filtra_status status = look(path, &e, image);
  if (status) return ft_fail_context(status, "%s", path);
  *mark = ft_hash_bytes(ft_hash_bytes(ft_hash_text("image"), &e.file_size, sizeof e.file_size),
                        e.first, e.count);
  if (has_end(&e)) return FILTRA_OK;
  FT_TRY(ft_image_load(path, image));
  free(image->pixels);
  image->pixels = NULL;
  return FILTRA_OK;
}
