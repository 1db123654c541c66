/* The orientation stored in an image file by a camera or an editor (EXIF, tag 0x0112; XMP,
 * tiff:Orientation): 1 to 8; 1 is upright. */
#ifndef FT_DATA_ORIENTATION_H
#define FT_DATA_ORIENTATION_H

#include "data/image.h"

/** Reads the orientation from a TIFF block, the content of JPEG's "Exif" segment or PNG's eXIf
 * chunk. 0 if there is none or the block is damaged; 1 for values out of range. */
uint32_t ft_exif_orientation(const uint8_t *bytes, size_t size);
/** Reads the orientation from an XMP packet, used if EXIF has none, as in Pillow. 0 if there is
 * none. */
uint32_t ft_xmp_orientation(const uint8_t *bytes, size_t size);
/** Whether turning an image upright swaps its height and width. */
bool ft_orientation_swaps(uint32_t orientation);
/** Turns an image upright, as Pillow's exif_transpose does. On failure the image stays as it is. */
filtra_status ft_image_turn(ft_image *image, uint32_t orientation);

#endif
