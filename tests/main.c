/* All tests in one program: `filtra_tests AREA/NAME` runs the test that ctest has by that name. */
#include "support/case.h"

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

int main(int count, char **arguments) {
  const char *name = count == 2 ? arguments[1] : "";
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    if (!strcmp(tests[i].name, name)) {
      test_name = tests[i].name;
      return tests[i].run();
    }
  fprintf(stderr, "usage: %s TEST, one of\n", arguments[0]);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    fprintf(stderr, "  %s\n", tests[i].name);
  return 2;
}
