/* Image files: PNG and JPEG. */
#ifndef FT_DATA_IMAGE_FILE_H
#define FT_DATA_IMAGE_FILE_H

#include "data/image.h"

/** Whether a file's name ends with .png, .jpg or .jpeg. */
bool ft_image_named(const char *name);

/** Decodes a file; its content decides the format. Grey stays grey; palettes become colours; 16
 * bits per channel become 8; transparency is blended with black. Fails with INPUT, naming the file,
 * also if it is truncated. Caller frees image->pixels. */
filtra_status ft_image_load(const char *path, ft_image *image);

/** Reads a file's header: *image gets height and width, no pixels. Fails as ft_image_load does for
 * a file that is no image, or too large. *mark is a hash of the file's size and first 4 KiB; it
 * does not change if a file of equal size differs only after these. */
filtra_status ft_image_look(const char *path, ft_image *image, uint64_t *mark);

/* Decode a file in memory, for ft_image_load. On failure nothing is left to free. */
filtra_status ft_image_decode_png(const uint8_t *data, size_t size, ft_image *image);
filtra_status ft_image_decode_jpeg(const uint8_t *data, size_t size, ft_image *image);

#endif
