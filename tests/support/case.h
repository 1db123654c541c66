/* Test cases. A file of tests defines each by TEST(name) { ... } and ends with TEST_MAIN, which
 * runs them in the order of the file under cmocka. */
#ifndef TEST_SUPPORT_CASE_H
#define TEST_SUPPORT_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four headers above */
#include <cmocka.h>

enum { TEST_MAX_CASES = 64 };
static struct CMUnitTest test_cases[TEST_MAX_CASES] __attribute__((unused));
static size_t test_case_count __attribute__((unused));

/** Adds a case that another file defines. */
#define TEST_ALSO(name)                                                                            \
  __attribute__((constructor)) static void name##_registered(void) {                               \
    test_cases[test_case_count++] = (struct CMUnitTest)cmocka_unit_test(name);                     \
  }

/** Defines a test case; `state` is cmocka's. */
#define TEST(name)                                                                                 \
  static void name(void **state);                                                                  \
  TEST_ALSO(name)                                                                                  \
  static void name(void **state __attribute__((unused)))

/** Runs all cases between `setup` and `teardown` (NULL: none). */
#define TEST_MAIN(setup, teardown)                                                                 \
  int main(void) {                                                                                 \
    return _cmocka_run_group_tests("tests", test_cases, test_case_count, setup, teardown);         \
  }

#endif
