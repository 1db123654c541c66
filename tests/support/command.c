#include "support/command.h"

#include "support/harness.h"

#include <sys/wait.h>

char test_output[TEST_OUTPUT_BYTES];

int test_run_command(const char *before, const char *arguments) {
  char line[9216];
  snprintf(line, sizeof line, "%s '%s/../filtra' %s", before, TEST_BINARY_DIR, arguments);
  FILE *pipe = popen(line, "r");
  assert_non_null(pipe);
  size_t size = fread(test_output, 1, TEST_OUTPUT_BYTES - 1, pipe);
  test_output[size] = '\0';
  int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int test_filtra(const char *format, ...) {
  char arguments[8192];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(arguments, sizeof arguments, format, list);
  va_end(list);
  assert_between(length, 0, sizeof arguments - 1);
  return test_run_command("", arguments);
}

void test_assert_code(int code, int expected, const char *file, int line) {
  if (code == expected) return;
  print_error("exit code %d instead of %d, output:\n%s\n", code, expected, test_output);
  _fail(file, line);
}

void test_assert_printed(const char *part, const char *file, int line) {
  if (strstr(test_output, part)) return;
  print_error("\"%s\" is not in:\n%s\n", part, test_output);
  _fail(file, line);
}

json_t *test_output_json(void) {
  json_error_t error;
  json_t *root = json_loads(test_output, 0, &error);
  if (!root) fail_msg("not JSON: %s:\n%s", error.text, test_output);
  return root;
}
