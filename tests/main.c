/* All tests in one program: `filtra_tests AREA/NAME...` runs these tests in turn. They share the
 * device and with it the kernels that its driver has compiled. */
#include "support/harness.h"

#define ROW(name, function) int function(void);
#include "tests.inc"
#undef ROW

static const struct {
  const char *name;
  int (*run)(void);
} tests[] = {
#define ROW(name, function) {name, function},
#include "tests.inc"
};

static int usage(const char *program) {
  fprintf(stderr, "usage: %s TEST..., of\n", program);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    fprintf(stderr, "  %s\n", tests[i].name);
  return 2;
}

/* The number of tests if none has that name. */
static size_t find(const char *name) {
  size_t i = 0;
  while (i < sizeof tests / sizeof *tests && strcmp(tests[i].name, name))
    i++;
  return i;
}

int main(int count, char **arguments) {
  if (count < 2) return usage(arguments[0]);
  for (int i = 1; i < count; i++)
    if (find(arguments[i]) == sizeof tests / sizeof *tests) return usage(arguments[0]);
  bool failed = false;
  test_continues = count > 2;
  for (int i = 1; i < count; i++) {
    const size_t at = find(arguments[i]);
    test_name = tests[at].name;
    if (count > 2) print_message("%s\n", test_name);
    failed |= tests[at].run() != 0;
  }
  if (!test_continues) return failed;
  test_continues = false;
  return test_teardown(NULL) || failed;
}
