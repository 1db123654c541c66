/* Reads the headers of PNG and JPEG files: size, kind and orientation, from untrusted bytes. Called
 * by image_file.c. */
#include "data/image_file.h"
#include "data/orientation.h"

#include <string.h>

static uint32_t big_endian(const uint8_t *bytes, int count) {
  uint32_t x = 0;
  for (int i = 0; i < count; i++)
    x = x << 8 | bytes[i];
  return x;
}

/* ---- JPEG ---- */

/* A frame header is its precision, height and width, and the number of components, in 1, 2, 2 and 1
 * bytes. Baseline, extended and progressive frames are supported, with Huffman or arithmetic
 * coding. */
static filtra_status read_frame(uint8_t kind, const uint8_t *frame, ft_image_header *h) {
  enum { LOSSLESS = 3, ARITHMETIC = 8 };
  uint8_t components = frame[5];
  h->height = big_endian(frame + 1, 2);
  h->width = big_endian(frame + 3, 2);
  h->complete = true;
  if ((kind & (ARITHMETIC - 1)) >= LOSSLESS)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "a JPEG of frame type %d; 0 (baseline), 1 and 2 (progressive) are read, and 9 "
                   "and 10",
                   kind);
  if (frame[0] != 8)
    return ft_fail(FILTRA_ERROR_INPUT, "a JPEG of %d bits per colour component; 8 are read",
                   frame[0]);
  if (components == 1 || components == 3 || components == 4) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "a JPEG of %d colour components; 1 (grey), 3 (colour) and 4 (CMYK) are read",
                 components);
}

/* Reads up to the frame header; EXIF and XMP data precede it. A segment is 0xff, its kind, and its
 * length in two bytes, which counts these two. */
static filtra_status read_jpeg(const uint8_t *data, size_t size, ft_image_header *h) {
  static const char EXIF[] = "Exif\0"; /* includes the terminating NUL */
  static const char XMP[] = "http://ns.adobe.com/xap/1.0/";
  enum { APP1 = 0xe1, FRAME = 0xc0, HUFFMAN = 0xc4, RESERVED = 0xc8, CODES = 0xcc };
  for (size_t at = 2; at + 10 <= size && data[at] == 0xff;) {
    uint8_t kind = data[at + 1];
    const uint8_t *segment = data + at + 4;
    if (kind == 0xff) { /* a fill byte */
      at++;
      continue;
    }
    if ((kind & 0xf0) == FRAME && kind != HUFFMAN && kind != RESERVED && kind != CODES)
      return read_frame(kind & 0xf, segment, h);
    size_t length = big_endian(data + at + 2, 2), left = size - at - 2;
    if (length > left) length = left;
    if (kind == APP1 && length >= 2 + sizeof EXIF && !memcmp(segment, EXIF, sizeof EXIF))
      h->orientation = ft_exif_orientation(segment + sizeof EXIF, length - 2 - sizeof EXIF);
    if (kind == APP1 && length >= 2 + sizeof XMP && !memcmp(segment, XMP, sizeof XMP))
      h->xmp = ft_xmp_orientation(segment + sizeof XMP, length - 2 - sizeof XMP);
    at += 2 + big_endian(data + at + 2, 2);
  }
  return FILTRA_OK;
}

/* ---- PNG ---- */

/* Whether colour type and bit depth belong together (PNG specification, table 11.1). */
static bool is_kind(uint8_t type, uint8_t bits) {
  static const uint8_t depths[] = {1 | 2 | 4 | 8 | 16, 0, 8 | 16, 1 | 2 | 4 | 8, 8 | 16, 0, 8 | 16};
  return type < sizeof depths && bits && !(bits & (bits - 1)) && (depths[type] & bits);
}

/* The first chunk holds width, height, bit depth, colour type and three methods, in 4, 4, 1, 1 and
 * 3 bytes. An eXIf chunk may be anywhere before IEND, and so may an uncompressed iTXt chunk with
 * XMP data. */
static filtra_status read_png(const uint8_t *data, size_t size, ft_image_header *h) {
  enum { SIGNATURE = 8, AROUND = 12, KIND = 4, CONTENT = 8 };
  static const char XMP[] = "XML:com.adobe.xmp";
  const uint8_t *first = data + SIGNATURE + CONTENT;
  if (size < SIGNATURE + AROUND + 13) return FILTRA_OK;
  h->width = big_endian(first, 4);
  h->height = big_endian(first + 4, 4);
  h->deep = first[8] == 16;
  h->alpha = first[9] & 4;
  if (memcmp(first - KIND, "IHDR", 4) != 0 || !is_kind(first[9], first[8]) || first[12] > 1)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "damaged PNG: no PNG has colour type %d, %d bits and interlacing %d", first[9],
                   first[8], first[12]);
  for (size_t at = SIGNATURE; size - at >= AROUND;) {
    const uint8_t *chunk = data + at;
    size_t length = big_endian(chunk, 4), left = size - at - AROUND;
    h->complete = h->complete || !memcmp(chunk + KIND, "IDAT", 4);
    if (length > left) break;
    if (!memcmp(chunk + KIND, "eXIf", 4))
      h->orientation = ft_exif_orientation(chunk + CONTENT, length);
    if (!memcmp(chunk + KIND, "iTXt", 4) && length > sizeof XMP &&
        !memcmp(chunk + CONTENT, XMP, sizeof XMP) && chunk[CONTENT + sizeof XMP] == 0)
      h->xmp = ft_xmp_orientation(chunk + CONTENT, length);
    at += AROUND + length;
  }
  return FILTRA_OK;
}

/* ---- both ---- */

static filtra_status read_any(const uint8_t *data, size_t size, ft_image_header *header) {
  if (size >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8)) {
#ifndef FT_WITH_PNG
    return ft_image_decode_png(data, size, NULL);
#endif
    return read_png(data, size, header);
  }
  if (size >= 3 && !memcmp(data, "\xff\xd8\xff", 3)) {
#ifndef FT_WITH_JPEG
    return ft_image_decode_jpeg(data, size, NULL);
#endif
    return read_jpeg(data, size, header);
  }
  return ft_fail(FILTRA_ERROR_INPUT, "%s", size ? "neither PNG nor JPEG" : "the file is empty");
}

filtra_status ft_image_read_header(const uint8_t *data, size_t size, ft_image_header *header) {
  *header = (ft_image_header){0};
  filtra_status status = read_any(data, size, header);
  if (!header->orientation) header->orientation = header->xmp ? header->xmp : 1;
  return status;
}
