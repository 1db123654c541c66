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
/* most tests need these */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Variables that are freed at the end of their block: `owned char *text = ...;`. */
#define owned                  TEST_ENDED_BY(test_free_bytes)
#define owned_dataset          TEST_ENDED_BY(filtra_dataset_close) filtra_dataset
#define owned_device           TEST_ENDED_BY(test_close_device) filtra_device
#define owned_generator        TEST_ENDED_BY(filtra_generator_destroy) filtra_generator
#define owned_graph            TEST_ENDED_BY(filtra_graph_destroy) filtra_graph
#define owned_loader           TEST_ENDED_BY(filtra_loader_destroy) filtra_loader
#define owned_model            TEST_ENDED_BY(filtra_model_destroy) filtra_model
#define owned_parameters       TEST_ENDED_BY(filtra_parameters_destroy) filtra_parameters
#define owned_predictor        TEST_ENDED_BY(filtra_predictor_destroy) filtra_predictor
#define owned_run              TEST_ENDED_BY(filtra_run_close) filtra_run
#define owned_trainer          TEST_ENDED_BY(filtra_trainer_destroy) filtra_trainer
#define TEST_ENDED_BY(destroy) __attribute__((cleanup(destroy), unused))
static inline void test_free_bytes(void *pointer) {
  void *data;
  memcpy(&data, pointer, sizeof data);
  free(data);
}

/** As cmocka's assert_in_range, which newer versions call by other names. */
#define assert_between(value, low, high)                                                           \
  test_between((int64_t)(value), (int64_t)(low), (int64_t)(high), __FILE__, __LINE__)
static inline void test_between(int64_t value, int64_t low, int64_t high, const char *file,
                                int line) {
  if (value >= low && value <= high) return;
  print_error("%lld is not within %lld and %lld\n", (long long)value, (long long)low,
              (long long)high);
  _fail(file, line);
}

/** AREA/NAME of the test that runs, "" in a program of one test. */
extern const char *test_name;

enum { TEST_MAX_CASES = 64 };
static struct CMUnitTest test_cases[TEST_MAX_CASES] __attribute__((unused));
static size_t test_case_count __attribute__((unused));

/* Adds a case; cases run in the order of their lines, whatever the order of constructors. */
static int test_case_lines[TEST_MAX_CASES] __attribute__((unused));
static inline void test_add(struct CMUnitTest added, int line) {
  size_t at = test_case_count++;
  for (; at && test_case_lines[at - 1] > line; at--) {
    test_case_lines[at] = test_case_lines[at - 1];
    test_cases[at] = test_cases[at - 1];
  }
  test_case_lines[at] = line;
  test_cases[at] = added;
}

/** Adds a case that another file defines. */
#define TEST_ALSO(name)                                                                            \
  __attribute__((constructor)) static void name##_registered(void) {                               \
    test_add((struct CMUnitTest)cmocka_unit_test(name), __LINE__);                                 \
  }

/** Adds a case that calls FUNCTION with a text as its *state; the text is part of the case's
 * name. */
#define TEST_OF(function, text)            TEST_OF_AT(function, text, __COUNTER__)
#define TEST_OF_AT(function, text, number) TEST_OF_NUMBER(function, text, number)
#define TEST_OF_NUMBER(function, text, number)                                                     \
  __attribute__((constructor)) static void function##_##number(void) {                             \
    test_add(                                                                                      \
        (struct CMUnitTest){#function " " text, function, NULL, NULL, (void *)(uintptr_t)(text)},  \
        __LINE__);                                                                                 \
  }

/** Defines a test case; `state` is cmocka's. */
#define TEST(name)                                                                                 \
  static void name(void **state);                                                                  \
  TEST_ALSO(name)                                                                                  \
  static void name(void **state __attribute__((unused)))

/** A case that calls `check` with a device: the shared one if `caps` is NULL, else one with these
 * caps. */
#define TEST_WITH(name, caps, check)                                                               \
  TEST(name) {                                                                                     \
    test_with_device(caps, check);                                                                 \
  }

#ifndef TEST_GROUP /* tests/windows excludes some */
#define TEST_GROUP _cmocka_run_group_tests
#endif
/** Runs all cases between `setup` and `teardown` (NULL: none); returns the number of failures. */
#define TEST_RUN(name, setup, teardown)                                                            \
  TEST_GROUP(name, test_cases, test_case_count, setup, teardown)
/* The function that main.c knows the file by; the build says its name. */
#ifndef TEST_FUNCTION
#define TEST_FUNCTION main
#endif
#define TEST_PROGRAM                                                                               \
  int TEST_FUNCTION(void);                                                                         \
  int TEST_FUNCTION(void)
#define TEST_MAIN(setup, teardown)                                                                 \
  TEST_PROGRAM {                                                                                   \
    return TEST_RUN("tests", setup, teardown);                                                     \
  }

/** Runs all cases with `caps` if they give a device, and once more without. */
#define TEST_MAIN_TWICE(caps)                                                                      \
  TEST_PROGRAM {                                                                                   \
    int failed = test_use_variant(caps) ? TEST_RUN(caps, NULL, test_teardown) : 0;                 \
    return failed + TEST_RUN("tests", NULL, test_teardown);                                        \
  }

#endif
