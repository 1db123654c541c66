/* Opens pages in a browser: headless Chromium, if it is installed. */
#ifndef TEST_SUPPORT_BROWSER_H
#define TEST_SUPPORT_BROWSER_H

#include <stddef.h>

/** Adds a page to those that test_in_browser opens. */
void test_page_made(const char *path);
/** The last of a program's tests: opens all added pages, 1280 and 400 pixels wide, light and dark.
 * Fails if a document is wider than that, labels of a chart overlap or lie outside it, text has too
 * little contrast, something is loaded from elsewhere, or the browser reports an error. Skipped
 * without Chromium. */
void test_in_browser(void **state);

/** Lists the faults of the added pages, one per line, and forgets the pages; caller frees. NULL:
 * there is no Chromium. */
char *test_browse(void);

#endif
