/* Image files: PNG and JPEG. */
#ifndef FT_DATA_IMAGE_FILE_H
#define FT_DATA_IMAGE_FILE_H

#include "data/image.h"

/** Whether a file's name ends as an image's does: .png, .jpg or .jpeg. */
bool ft_image_named(const char *name);

/** Reads a file by its content. Grey stays grey; palettes become colours, 16 bits 8, and what is
 * transparent is laid on black. Fails with INPUT, naming the file, also on what is truncated.
 * Caller frees image->pixels. */
filtra_status ft_image_load(const char *path, ft_image *image);

/** Reads a file's header: *image gets height and width, and no pixels. Fails as ft_image_load does
 * for what is no image or too large. *mark is a hash of the file's size and first 4 KiB: another
 * image has another one, but for what differs only behind these in a file of equal size. */
filtra_status ft_image_look(const char *path, ft_image *image, uint64_t *mark);

/* The decoders behind it, of a file in memory. On failure nothing is left to free. */
filtra_status ft_image_decode_png(const uint8_t *data, size_t size, ft_image *image);
filtra_status ft_image_decode_jpeg(const uint8_t *data, size_t size, ft_image *image);

#endif
