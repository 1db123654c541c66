/* Image files for tests. */
#ifndef TEST_SUPPORT_IMAGES_H
#define TEST_SUPPORT_IMAGES_H

#include "data/image.h"

/** Whether PNG files can be written and read; prints a note where not. */
bool test_has_png(void);
/** Writes FOLDER/NAME, whose folders are made. */
void test_write_png(const char *folder, const char *name, const ft_image *image);
/** A picture that tells of its number: pixel (x, y) has (37 x + 11 y + 5 x y + 101 number + 59 c)
 * mod 256 as channel c. Caller frees the pixels. */
ft_image test_picture(uint32_t height, uint32_t width, uint32_t channels, uint32_t number);

#endif
