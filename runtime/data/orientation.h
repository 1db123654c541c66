/* The orientation that a camera or an editor notes in an image file (EXIF, tag 0x0112; XMP,
 * tiff:Orientation): 1 to 8, 1 is upright. */
#ifndef FT_DATA_ORIENTATION_H
#define FT_DATA_ORIENTATION_H

#include "data/image.h"

/** Reads it from a TIFF block, the content of JPEG's "Exif" segment or of PNG's eXIf chunk. 0 where
 * there is none, and where the block is damaged; 1 for values beyond. */
uint32_t ft_exif_orientation(const uint8_t *bytes, size_t size);
/** Reads it from an XMP packet, which counts where there is no EXIF one, as it does to Pillow. 0
 * where there is none. */
uint32_t ft_xmp_orientation(const uint8_t *bytes, size_t size);
/** Whether upright images with that orientation have the stored height as their width. */
bool ft_orientation_swaps(uint32_t orientation);
/** Turns an image upright, as Pillow's exif_transpose does. On failure it stays as it is. */
filtra_status ft_image_turn(ft_image *image, uint32_t orientation);

#endif
