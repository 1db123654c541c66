/* Decodes JPEG files with libjpeg, or fails if the build has none. Called by image_file.c. */
#include "base/status.h"
#include "data/image_file.h"

#ifdef FT_WITH_JPEG

#include "base/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h> /* needs stdio.h first */

#include <jerror.h>

enum { SCAN_LIMIT = 200 }; /* a small progressive file can ask for millions of scans */

/* State that must survive a longjmp out of libjpeg, as local variables may not. */
typedef struct decoder {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf failed;
  filtra_status status; /* set before the jump */
  ft_image image;
  uint32_t stored; /* channels of the file */
  uint8_t *line;   /* [width, 4] of CMYK; else NULL */
} decoder;

static void fail_jpeg(j_common_ptr jpeg) {
  decoder *d = jpeg->client_data;
  char message[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, message);
  d->status = jpeg->err->msg_code == JERR_OUT_OF_MEMORY
                  ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory")
                  : ft_fail(FILTRA_ERROR_INPUT, "damaged JPEG: %s", message);
  longjmp(d->failed, 1);
}

/* Level -1 warns of damaged data, which libjpeg would fill with grey: fail instead. Stray bytes
 * around the image data, and odd version and colour markers, do not affect pixels. */
static void judge(j_common_ptr jpeg, int level) {
  int code = jpeg->err->msg_code;
  bool harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM;
  if (level < 0 && !harmless) fail_jpeg(jpeg);
}

static void watch_scans(j_common_ptr jpeg) {
  decoder *d = jpeg->client_data;
  if (d->jpeg.input_scan_number <= SCAN_LIMIT) return;
  d->status = ft_fail(FILTRA_ERROR_INPUT, "JPEG: more than %d scans", SCAN_LIMIT);
  longjmp(d->failed, 1);
}

static filtra_status read_header(decoder *d, size_t size) {
  jpeg_read_header(&d->jpeg, TRUE);
  FT_TRY(ft_image_check_file(d->jpeg.image_height, d->jpeg.image_width, size));
  d->image.height = d->jpeg.image_height;
  d->image.width = d->jpeg.image_width;
  d->image.channels = d->jpeg.num_components == 1 ? 1 : 3;
  d->stored = d->jpeg.num_components == 4 ? 4 : d->image.channels;
  d->jpeg.out_color_space = d->stored == 1   ? JCS_GRAYSCALE
                            : d->stored == 3 ? JCS_RGB
                                             : JCS_CMYK; /* also from YCCK */
  return FILTRA_OK;
}

/* Converts a row of CMYK to RGB as Pillow does: it takes values as inverted, the way Adobe stores
 * them, with or without Adobe's marker. r = k - (255 - c) k / 255, rounded to nearest. */
static void convert_cmyk(const uint8_t *from, uint32_t width, uint8_t *to) {
  for (uint32_t x = 0; x < width; x++, from += 4)
    for (int i = 0; i < 3; i++)
      *to++ = (uint8_t)(from[3] - ((255u - from[i]) * from[3] + 127) / 255);
}

static void read_rows(decoder *d) {
  size_t row = (size_t)d->image.width * d->image.channels;
  while (d->jpeg.output_scanline < d->image.height) {
    JSAMPROW to = d->image.pixels + d->jpeg.output_scanline * row;
    JSAMPROW line = d->line ? d->line : to;
    jpeg_read_scanlines(&d->jpeg, &line, 1);
    if (d->line) convert_cmyk(d->line, d->image.width, to);
  }
}

static filtra_status read_image(decoder *d, const uint8_t *data, size_t size) {
  if (setjmp(d->failed)) return d->status;
  jpeg_create_decompress(&d->jpeg);
  d->jpeg.progress = &d->progress;
  jpeg_mem_src(&d->jpeg, data, (unsigned long)size);
  FT_TRY(read_header(d, size));
  size_t row = (size_t)d->image.width * d->image.channels;
  d->image.pixels = ft_calloc(d->image.height, row);
  if (!d->image.pixels) return FILTRA_ERROR_HOST_MEMORY;
  if (d->stored == 4 && !(d->line = ft_calloc(d->image.width, 4))) return FILTRA_ERROR_HOST_MEMORY;
  jpeg_start_decompress(&d->jpeg);
  read_rows(d);
  jpeg_finish_decompress(&d->jpeg);
  return FILTRA_OK;
}

filtra_status ft_image_decode_jpeg(const uint8_t *data, size_t size, ft_image *image) {
  decoder *d = ft_calloc(1, sizeof *d);
  if (!d) return FILTRA_ERROR_HOST_MEMORY;
  d->jpeg.err = jpeg_std_error(&d->errors);
  d->jpeg.client_data = d;
  d->errors.error_exit = fail_jpeg;
  d->errors.emit_message = judge;
  d->progress.progress_monitor = watch_scans;
  filtra_status status = read_image(d, data, size);
  jpeg_destroy_decompress(&d->jpeg);
  free(d->line);
  if (status)
    free(d->image.pixels);
  else
    *image = d->image;
  free(d);
  return status;
}

#else

filtra_status ft_image_decode_jpeg(const uint8_t *data, size_t size, ft_image *image) {
  (void)data, (void)size, (void)image;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "a JPEG file, and Filtra was built without libjpeg");
}

#endif
