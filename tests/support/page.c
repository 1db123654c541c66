#include "support/page.h"

#include "support/harness.h"

void test_well_formed(const char *page) {
  static const char *const EMPTY[] = {"meta", "path", "!DOCTYPE", "rect"};
  char open[64][16];
  int depth = 0;
  for (const char *at = page; (at = strchr(at, '<')); at++) {
    char name[16] = "";
    bool closing = at[1] == '/', alone = false;
    sscanf(at + 1 + closing, "%15[a-zA-Z0-9!]", name);
    const char *end = strchr(at, '>');
    assert_non_null(end);
    for (size_t i = 0; i < FT_COUNT(EMPTY); i++)
      alone = alone || (!strcmp(name, EMPTY[i]) && (end[-1] == '/' || i == 0 || i == 2));
    if (alone) continue;
    if (closing) {
      assert_true(depth > 0);
      assert_string_equal(open[--depth], name);
    } else {
      assert_true(depth < 64);
      memcpy(open[depth++], name, sizeof name);
    }
  }
  assert_int_equal(depth, 0);
  assert_null(strstr(page, "http"));
  assert_null(strstr(page, "<script"));
}
