/* Runs the `filtra` command as a shell does. */
#ifndef TEST_SUPPORT_COMMAND_H
#define TEST_SUPPORT_COMMAND_H

#include "base/status.h"

#include <jansson.h>

enum { TEST_OUTPUT_BYTES = 65536 };

/** The start of what the last command wrote to its standard output. */
extern char test_output[TEST_OUTPUT_BYTES];

/** Runs `BEFORE filtra ARGUMENTS` through the shell; returns its exit code, -1 if it did not
 * exit. */
int test_run_command(const char *before, const char *arguments);

/** Runs `filtra FORMAT...`; the format is printf's. */
int test_filtra(const char *format, ...) FT_PRINTF(1, 2);

/** Unless the exit code is the expected one, fails and shows everything printed. */
#define assert_code(code, expected) test_assert_code(code, expected, __FILE__, __LINE__)
void test_assert_code(int code, int expected, const char *file, int line);
/** Fails unless `part` was printed. */
#define assert_printed(part) test_assert_printed(part, __FILE__, __LINE__)
void test_assert_printed(const char *part, const char *file, int line);
/** Checks both. */
#define assert_prints(code, expected, part)                                                        \
  do {                                                                                             \
    assert_code(code, expected);                                                                   \
    assert_printed(part);                                                                          \
  } while (0)
/** The printed output, which must be JSON and nothing else; the caller releases it. */
json_t *test_output_json(void);

#endif
