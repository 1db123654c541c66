#include "support/command.h"

#include "support/harness.h"

#include <sys/wait.h>

int test_run_command(const char *before, const char *arguments, char output[TEST_OUTPUT_BYTES]) {
  char line[2048];
  snprintf(line, sizeof line, "%s '%s/../filtra' %s", before, TEST_BINARY_DIR, arguments);
  FILE *pipe = popen(line, "r");
  assert_non_null(pipe);
  size_t size = fread(output, 1, TEST_OUTPUT_BYTES - 1, pipe);
  output[size] = '\0';
  int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
