/* Checks of the pages that the command writes. */
#ifndef TEST_SUPPORT_PAGE_H
#define TEST_SUPPORT_PAGE_H

/** Fails unless every tag that is opened is closed, in order, and nothing is loaded from elsewhere.
 */
void test_well_formed(const char *page);

#endif
