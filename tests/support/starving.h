/* Makes Jansson's allocations fail. */
#ifndef TEST_SUPPORT_STARVING_H
#define TEST_SUPPORT_STARVING_H

#include <stdbool.h>

/** Makes Jansson's n-th allocation from now on fail, counted from 1, and with `lasting` all later
 * ones. */
void test_starve(long n, bool lasting);
/** Lets allocations succeed again. Returns whether one had failed. */
bool test_feed(void);

#endif
