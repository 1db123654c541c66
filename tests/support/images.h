/* Image files for tests. */
#ifndef TEST_SUPPORT_IMAGES_H
#define TEST_SUPPORT_IMAGES_H

#include "data/image.h"

/** Whether PNG files can be written and read; prints a note if not. */
bool test_has_png(void);
/** Writes FOLDER/NAME and makes its folders. */
void test_write_png(const char *folder, const char *name, const ft_image *image);
/** A picture that identifies its number: channel c of pixel (x, y) is (37 x + 11 y + 5 x y + 101
 * number + 59 c) mod 256. Caller frees the pixels. */
ft_image test_picture(uint32_t height, uint32_t width, uint32_t channels, uint32_t number);

#endif
