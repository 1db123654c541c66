/* Test cases. A file of tests defines each by TEST(name) { ... } and ends with TEST_MAIN, which runs
 * them in the order of the file under cmocka. */
#ifndef TEST_SUPPORT_CASE_H
#define TEST_SUPPORT_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four headers above */
#include <cmocka.h>
/* most tests need these */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_MAX_CASES = 64 };
static struct CMUnitTest test_cases[TEST_MAX_CASES] __attribute__((unused));
static size_t test_case_count __attribute__((unused));

/** Adds a case that another file defines. */
#define TEST_ALSO(name)                                                                            \
  __attribute__((constructor)) static void name##_registered(void) {                               \
    test_cases[test_case_count++] = (struct CMUnitTest)cmocka_unit_test(name);                     \
  }

/** Adds a case of FUNCTION with a text as its *state, which is part of its name. */
#define TEST_OF(function, text)            TEST_OF_AT(function, text, __COUNTER__)
#define TEST_OF_AT(function, text, number) TEST_OF_NUMBER(function, text, number)
#define TEST_OF_NUMBER(function, text, number)                                                     \
  __attribute__((constructor)) static void function##_##number(void) {                             \
    test_cases[test_case_count++] =                                                                \
        (struct CMUnitTest){#function " " text, function, NULL, NULL, (void *)(uintptr_t)(text)};  \
  }

/** Defines a test case; `state` is cmocka's. */
#define TEST(name)                                                                                 \
  static void name(void **state);                                                                  \
  TEST_ALSO(name)                                                                                  \
  static void name(void **state __attribute__((unused)))

/** A case that is `check` with a device: the shared one where `caps` is NULL, else one of its own. */
#define TEST_WITH(name, caps, check)                                                               \
  TEST(name) {                                                                                     \
    test_with_device(caps, check);                                                                 \
  }

/** Runs all cases between `setup` and `teardown` (NULL: none); gives the number of failures. */
#define TEST_RUN(name, setup, teardown)                                                            \
  _cmocka_run_group_tests(name, test_cases, test_case_count, setup, teardown)
#define TEST_MAIN(setup, teardown)                                                                 \
  int main(void) {                                                                                 \
    return TEST_RUN("tests", setup, teardown);                                                     \
  }

/** Runs all cases with `caps`, where that is a device, and once more without. */
#define TEST_MAIN_TWICE(caps)                                                                      \
  int main(void) {                                                                                 \
    int failed = test_use_variant(caps) ? TEST_RUN(caps, NULL, test_teardown) : 0;                 \
    return failed + TEST_RUN("tests", NULL, test_teardown);                                        \
  }

#endif
