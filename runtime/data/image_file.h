/* Image files: PNG and JPEG. */
#ifndef FT_DATA_IMAGE_FILE_H
#define FT_DATA_IMAGE_FILE_H

#include "data/image.h"

/** Whether a file's name ends with .png, .jpg or .jpeg, and does not begin with a dot. */
bool ft_image_named(const char *name);

/** Decodes a file; its content decides the format. Grey stays grey; palettes become colours; 16
 * bits per channel become 8; transparency is blended with black; CMYK becomes RGB as image_jpeg.c
 * says. The image is turned upright where EXIF or XMP data say how. Fails with INPUT, naming the
 * file, also if it is truncated. Caller frees image->pixels. */
filtra_status ft_image_load(const char *path, ft_image *image);

/** Reads a file's header: *image gets height and width of the upright image, no pixels. Fails as
 * ft_image_load does for a file that is no image, of a kind that is not decoded, or too large; a
 * file without the end of its format is decoded to see whether it can be. *mark is a hash of the
 * file's size and first 4 KiB; it does not change if a file of equal size differs only after
 * these. */
filtra_status ft_image_look(const char *path, ft_image *image, uint64_t *mark);

/** What the start of an image file tells (image_header.c). */
typedef struct ft_image_header {
  uint32_t height, width; /* as stored; 0: the bytes end before them */
  uint32_t orientation;   /* see orientation.h */
  uint32_t xmp;           /* what XMP data say of it; 0: nothing */
  bool complete;          /* the bytes reach to the pixels */
} ft_image_header;

/** Reads the header of a PNG or JPEG file from its first bytes, or from all. Fails with INPUT for
 * other files, and for kinds of them that are not decoded; with UNSUPPORTED where the build lacks
 * the decoder. */
filtra_status ft_image_read_header(const uint8_t *data, size_t size, ft_image_header *header);

/* Decode a file in memory, for ft_image_load. On failure nothing is left to free. */
filtra_status ft_image_decode_png(const uint8_t *data, size_t size, ft_image *image);
filtra_status ft_image_decode_jpeg(const uint8_t *data, size_t size, ft_image *image);

#endif
