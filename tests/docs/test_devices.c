/* docs/devices.md against the code: every key with its accepted values, every profile. */
#include "support/harness.h"

#include "base/file.h"
#include "base/memory.h"
#include "gpu/plan.h"

static char *read_page(void) {
  char *text;
  size_t size;
  assert_ok(ft_file_read(TEST_SOURCE_DIR "/../docs/devices.md", 1 << 20, &text, &size));
  return text;
}

TEST(test_keys) {
  owned char *page = read_page();
  for (size_t i = 0; i < ft_cap_key_count; i++) {
    char range[FT_CAP_TEXT];
    ft_cap_range(&ft_cap_keys[i], NULL, range);
    owned char *row = ft_format("| `%s` | %s | ", ft_cap_keys[i].name, range);
    if (!strstr(page, row)) fail_msg("no row that begins with: %s", row);
  }
}

TEST(test_profiles) {
  owned char *page = read_page();
  for (const ft_profile *p = ft_profiles; p->name; p++) {
    owned char *name = ft_format("`%s`", p->name);
    if (!strstr(page, name)) fail_msg("the page does not mention %s", name);
  }
}

TEST_MAIN(NULL, test_teardown)
