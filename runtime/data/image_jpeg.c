/* Decodes JPEG files with libjpeg, or fails if the build has none. Called by image_file.c. */
#include "base/status.h"
#include "data/image_file.h"

#ifdef FT_WITH_JPEG

#include "base/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h> /* needs stdio.h before it */

#include <jerror.h>

enum { SCAN_LIMIT = 200 }; /* limit, as a small progressive file can ask for millions */

/* State that must survive a longjmp out of libjpeg; local variables may not. */
typedef struct decoder {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf failed;
  filtra_status status; /* set before the jump */
  ft_image image;
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

/* Level -1 warns of damaged data, which libjpeg would fill with grey: fail instead. */
static void judge(j_common_ptr jpeg, int level) {
  if (level < 0) fail_jpeg(jpeg);
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
  if (d->jpeg.num_components != 1 && d->jpeg.num_components != 3)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "a JPEG of %d colour components; 1 (grey) and 3 (colour) are read",
                   d->jpeg.num_components);
  d->image.height = d->jpeg.image_height;
  d->image.width = d->jpeg.image_width;
  d->image.channels = (uint32_t)d->jpeg.num_components;
  d->jpeg.out_color_space = d->image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  return FILTRA_OK;
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
  jpeg_start_decompress(&d->jpeg);
  while (d->jpeg.output_scanline < d->image.height) {
    JSAMPROW line = d->image.pixels + d->jpeg.output_scanline * row;
    jpeg_read_scanlines(&d->jpeg, &line, 1);
  }
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
