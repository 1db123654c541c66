/* Decodes PNG files with libpng, or fails if the build has none. Called by image_file.c. */
#include "base/status.h"
#include "data/image_file.h"

#ifdef FT_WITH_PNG

#include "base/memory.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Limits: unpacked bytes of a text or profile chunk; packed bytes in excess of what pixels need,
 * each of which could unpack to a thousand. */
enum { CHUNK_LIMIT = 1 << 20, SURPLUS_LIMIT = 4096 };

/* Chunks that pixels do not need, each of which could unpack to CHUNK_LIMIT; each name ends with a
 * NUL. */
enum { UNUSED_COUNT = 3 };
static const png_byte UNUSED[] = "iCCP\0iTXt\0zTXt";

/* State that must survive a longjmp out of libpng, as local variables may not. */
typedef struct decoder {
  const uint8_t *data;
  size_t size, at;
  size_t pixels_end; /* where the last chunk of pixels ends */
  int passes;        /* over the rows: 7 if the image is interlaced, else 1 */
  png_structp png;
  png_infop info;
  uint32_t channels; /* of libpng's output, including an alpha channel */
  png_bytep *rows;
  bool starved;
  ft_image image;
} decoder;

/* Records that memory ran out: libpng's message does not distinguish it from damage. */
static png_voidp allocate(png_structp png, png_alloc_size_t size) {
  decoder *d = png_get_mem_ptr(png);
  png_voidp block = malloc(size);
  if (!block) d->starved = true;
  return block;
}

static void release(png_structp png, png_voidp block) {
  (void)png;
  free(block);
}

static void fail_png(png_structp png, png_const_charp message) {
  const decoder *d = png_get_error_ptr(png);
  if (d->starved)
    ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  else
    ft_fail(FILTRA_ERROR_INPUT, "damaged PNG: %s", message);
  png_longjmp(png, 1);
}

/* Ignores warnings: the image is decoded all the same. */
static void ignore(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static void read_bytes(png_structp png, png_bytep to, size_t count) {
  decoder *d = png_get_io_ptr(png);
  if (count > d->size - d->at) png_error(png, "it ends too early");
  memcpy(to, d->data + d->at, count);
  d->at += count;
}

/* Asks libpng for 8 bits per channel, without a palette. */
static void set_output(decoder *d) {
  png_byte type = png_get_color_type(d->png, d->info), bits = png_get_bit_depth(d->png, d->info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(d->png);
  if (type == PNG_COLOR_TYPE_GRAY && bits < 8) png_set_expand_gray_1_2_4_to_8(d->png);
  if (png_get_valid(d->png, d->info, PNG_INFO_tRNS)) png_set_tRNS_to_alpha(d->png);
  if (bits == 16) png_set_scale_16(d->png);
  d->passes = png_set_interlace_handling(d->png);
  png_read_update_info(d->png, d->info);
  d->channels = png_get_channels(d->png, d->info);
}

static filtra_status make_rows(decoder *d) {
  size_t row = png_get_rowbytes(d->png, d->info);
  if (row != (size_t)d->image.width * d->channels)
    return ft_fail(FILTRA_ERROR_INPUT, "PNG: %zu bytes a row where %zu are expected", row,
                   (size_t)d->image.width * d->channels);
  d->image.pixels = ft_calloc(d->image.height, row);
  d->rows = ft_calloc(d->image.height, sizeof *d->rows);
  if (!d->image.pixels || !d->rows) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t y = 0; y < d->image.height; y++)
    d->rows[y] = d->image.pixels + y * row;
  return FILTRA_OK;
}

static uint32_t number_at(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Checks that every chunk is complete, since libpng allocates by the length field alone. A chunk is
 * its length, its kind, that many bytes and a checksum. The first one begins with width and
 * height. */
static filtra_status check_chunks(decoder *d) {
  enum { SIGNATURE = 8, AROUND = 12, WIDTH = 16, HEIGHT = 20, SIZES_END = 24 };
  if (d->size >= SIZES_END)
    FT_TRY(ft_image_check_file(number_at(d->data + HEIGHT), number_at(d->data + WIDTH), d->size));
  for (size_t at = SIGNATURE; at < d->size && d->size - at >= AROUND;) {
    const uint8_t *c = d->data + at;
    uint32_t length = number_at(c);
    if (length > d->size - at - AROUND)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "damaged PNG: it ends too early: the chunk at byte %zu says that it has %u "
                     "bytes, the file has %zu left",
                     at, length, d->size - at - AROUND);
    if (!memcmp(c + 4, "IEND", 4)) return FILTRA_OK;
    at += AROUND + length;
    if (!memcmp(c + 4, "IDAT", 4)) d->pixels_end = at;
  }
  return ft_fail(FILTRA_ERROR_INPUT, "damaged PNG: it ends too early");
}

/* Fails if too much data follows the pixels': libpng unpacks all of it with the last row, which
 * could be hundreds of megabytes. Packed data may be a little larger than the `rows` that they
 * hold, or have 16 bits. */
static filtra_status check_surplus(const decoder *d, uint32_t rows) {
  size_t most = 4 * png_get_rowbytes(d->png, d->info) * rows + SURPLUS_LIMIT;
  if (d->at >= d->pixels_end || d->pixels_end - d->at <= most) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "damaged PNG: %zu bytes of packed data for %u row%s; at most %zu are read",
                 d->pixels_end - d->at, rows, rows == 1 ? "" : "s", most);
}

static filtra_status read_rows(decoder *d) {
  FT_TRY(check_surplus(d, d->image.height));
  for (int pass = 1; pass <= d->passes; pass++)
    for (uint32_t y = 0; y < d->image.height; y++) {
      if (pass == d->passes && y == d->image.height - 1) FT_TRY(check_surplus(d, 1));
      png_read_row(d->png, d->rows[y], NULL);
    }
  return FILTRA_OK;
}

static filtra_status read_image(decoder *d) {
  if (setjmp(png_jmpbuf(d->png))) return d->starved ? FILTRA_ERROR_HOST_MEMORY : FILTRA_ERROR_INPUT;
  png_set_keep_unknown_chunks(d->png, PNG_HANDLE_CHUNK_NEVER, UNUSED, UNUSED_COUNT);
  png_read_info(d->png, d->info);
  d->image.height = png_get_image_height(d->png, d->info);
  d->image.width = png_get_image_width(d->png, d->info);
  set_output(d);
  FT_TRY(make_rows(d));
  FT_TRY(read_rows(d));
  png_read_end(d->png, NULL);
  return FILTRA_OK;
}

/* Blends transparent pixels with black, in place. */
static void flatten(decoder *d) {
  size_t count = (size_t)d->image.height * d->image.width;
  uint32_t colours = d->channels <= 2 ? 1 : 3;
  bool clear = false, drawn = false, seen = false;
  for (size_t i = 0; i < count && colours < d->channels; i++) {
    const uint8_t *from = d->image.pixels + i * d->channels;
    uint32_t alpha = from[colours];
    clear = clear || alpha == 0;
    drawn = drawn || alpha > 0;
    for (uint32_t c = 0; c < colours; c++) {
      const uint8_t value = (uint8_t)((from[c] * alpha + 127) / 255);
      d->image.pixels[i * colours + c] = value;
      seen = seen || value;
    }
  }
  d->image.alpha = colours < d->channels;
  d->image.ink = clear && drawn && !seen;
  d->image.channels = colours;
}

filtra_status ft_image_decode_png(const uint8_t *data, size_t size, ft_image *image) {
  decoder d = {.data = data, .size = size};
  FT_TRY(check_chunks(&d));
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  d.png =
      png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &d, fail_png, ignore, &d, allocate, release);
  d.info = d.png ? png_create_info_struct(d.png) : NULL;
  if (!d.info) {
    ft_fail(status, "out of host memory");
  } else {
    png_set_read_fn(d.png, &d, read_bytes);
    png_set_user_limits(d.png, 0x7fffffff, 0x7fffffff); /* check_chunks limits sizes */
    png_set_chunk_malloc_max(d.png, CHUNK_LIMIT);
    status = read_image(&d);
  }
  png_destroy_read_struct(&d.png, &d.info, NULL);
  free(d.rows);
  if (status) {
    free(d.image.pixels);
    return status;
  }
  flatten(&d);
  *image = d.image;
  return FILTRA_OK;
}

#else

filtra_status ft_image_decode_png(const uint8_t *data, size_t size, ft_image *image) {
  (void)data, (void)size, (void)image;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "a PNG file, and Filtra was built without libpng");
}

#endif
