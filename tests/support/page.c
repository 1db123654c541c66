#include "support/page.h"

#include "base/file.h"
#include "base/memory.h"
#include "support/harness.h"
#include "support/run.h"

/* Checks that all tags are closed in order. */
static void check_tags(const char *page) {
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
}

void test_well_formed(const char *page) {
  check_tags(page);
  assert_null(strstr(page, "http"));
  assert_null(strstr(page, "<script"));
}

void test_chart_files(const char *folder, size_t least, const char *const *texts) {
  static const char start[] = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
  static const char *const FOREIGN[] = {"http", "<script", "href", "url(", "var(", "nan"};
  char **names;
  size_t count, seen[8] = {0};
  assert_ok(ft_list_directory(folder, &names, &count));
  assert_true(count >= least);
  for (size_t i = 0; i < count; i++) {
    assert_true(ft_ends_with(names[i], ".svg"));
    owned char *path = ft_path_join(folder, names[i]);
    owned char *text = test_read(path, NULL);
    assert_memory_equal(text, start, strlen(start));
    check_tags(text);
    assert_non_null(strstr(text, "class=\"title\""));
    for (size_t k = 0; k < FT_COUNT(FOREIGN); k++)
      if (strstr(text + strlen(start), FOREIGN[k])) fail_msg("%s has %s", names[i], FOREIGN[k]);
    for (size_t k = 0; texts[k]; k++)
      seen[k] += strstr(text, texts[k]) != NULL;
  }
  for (size_t k = 0; texts[k]; k++)
    if (!seen[k]) fail_msg("no chart has %s", texts[k]);
  ft_free_names(names, count);
}
