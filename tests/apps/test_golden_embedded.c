/* `filtra check` without files. Named as the other golden tests are, with which it runs. */
#include "support/command.h"
#include "support/harness.h"

/* The cases that come along, and one line for a report. */
TEST(test_check) {
  assert_code(test_run_command("", "check --quiet --device cpu --cache-dir ''"), 0);
  const char *parts[] = {"filtra 0.", "33 of 33 golden cases pass on ", "the largest error is "};
  for (size_t i = 0; i < FT_COUNT(parts); i++)
    assert_printed(parts[i]);
  assert_non_null(strchr(test_output, '\n'));
  assert_string_equal(strchr(test_output, '\n'), "\n");
}

TEST_MAIN(NULL, test_teardown)
