/* Jansson without memory. */
#ifndef TEST_SUPPORT_STARVING_H
#define TEST_SUPPORT_STARVING_H

#include <stdbool.h>

/** Jansson's n-th allocation from now on fails, from 1, and where `lasting` all behind it. */
void test_starve(long n, bool lasting);
/** Allocations succeed again. Whether one had failed. */
bool test_feed(void);

#endif
