/* Pages opened in a browser: Chromium without a window, where it is installed. */
#ifndef TEST_SUPPORT_BROWSER_H
#define TEST_SUPPORT_BROWSER_H

#include <stddef.h>

/** Remembers a page that test_in_browser is to open. */
void test_page_made(const char *path);
/** The last of a program's tests: opens all these, 1280 and 400 pixels wide, light and dark, and
 * fails where a document is wider than that, labels of a chart overlap or lie outside it, text can
 * hardly be read on its ground, something is loaded, or the browser has an error to tell. Skipped
 * where there is no Chromium. */
void test_in_browser(void **state);

/** What is wrong with the remembered pages, a line each, and forgets them; caller frees. NULL:
 * there is no Chromium. */
char *test_browse(void);

#endif
