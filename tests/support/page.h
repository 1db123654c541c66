/* Checks of the pages that the command writes. */
#ifndef TEST_SUPPORT_PAGE_H
#define TEST_SUPPORT_PAGE_H

#include <stddef.h>

/** Fails unless all tags are closed in order and nothing is loaded from elsewhere. */
void test_well_formed(const char *page);
/** Fails unless a folder holds at least `least` charts and nothing else: standalone SVG files that
 * together contain all the texts (NULL-terminated). */
void test_chart_files(const char *folder, size_t least, const char *const *texts);

#endif
