#include "support/starving.h"

#include <jansson.h>
#include <stdlib.h>

static long left;
static bool lasts;

static void *starving_malloc(size_t size) {
  left--;
  return left == 0 || (lasts && left < 0) ? NULL : malloc(size);
}

void test_starve(long n, bool lasting) {
  left = n;
  lasts = lasting;
  json_set_alloc_funcs(starving_malloc, free);
}

bool test_feed(void) {
  json_set_alloc_funcs(malloc, free);
  return left <= 0;
}
