/* Image files: PNG and JPEG. */
#ifndef FT_DATA_IMAGE_FILE_H
#define FT_DATA_IMAGE_FILE_H

#include "data/image.h"

/** Whether a file's name ends with .png, .jpg or .jpeg, and does not begin with a dot. */
bool ft_image_named(const char *name);

/** Decodes a file; its content decides the format. Grey stays grey; palettes become colours; 16
 * bits per channel become 8; transparency is blended with black; CMYK becomes RGB as image_jpeg.c
 * says. The image is turned upright by its EXIF or XMP data. Fails with INPUT, naming the file,
 * also if it is truncated. Caller frees image->pixels. */
filtra_status ft_image_load(const char *path, ft_image *image);

/** Reads a file's header: *image gets height and width of the upright image, no pixels. Fails as
 * ft_image_load does for a file that is not an image, is of an unsupported kind, or too large; a
 * file without its format's end marker is decoded as a test. *mark is a hash of the file's size and
 * first 4 KiB; later changes that keep the size do not change it. */
filtra_status ft_image_look(const char *path, ft_image *image, uint64_t *mark);

/** What the beginning of an image file contains (image_header.c). */
typedef struct ft_image_header {
  uint32_t height, width; /* as stored; 0: the bytes end before it */
  uint32_t orientation;   /* see orientation.h */
  uint32_t xmp;           /* orientation of the XMP data; 0: none */
  bool complete;          /* the bytes reach up to the pixels */
  bool deep;              /* 16 bits per channel */
  bool alpha;             /* an alpha channel */
} ft_image_header;

/** Reads the header of a PNG or JPEG file from its first bytes, or from all of them. Fails with
 * INPUT for other files and unsupported kinds; with UNSUPPORTED if the build lacks the decoder. */
filtra_status ft_image_read_header(const uint8_t *data, size_t size, ft_image_header *header);

/* Decodes a file in memory, for ft_image_load. After a failure there is nothing to free. */
filtra_status ft_image_decode_png(const uint8_t *data, size_t size, ft_image *image);
filtra_status ft_image_decode_jpeg(const uint8_t *data, size_t size, ft_image *image);

#endif
