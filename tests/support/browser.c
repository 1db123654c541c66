#include "support/browser.h"

#include "base/memory.h"
#include "support/harness.h"
#include "support/run.h"

#include <limits.h>

enum { MOST_PAGES = 64 };

static char *pages[MOST_PAGES];
static size_t page_count;

void test_page_made(const char *path) {
  assert_true(page_count < MOST_PAGES);
  pages[page_count] = realpath(path, NULL);
  assert_non_null(pages[page_count]);
  page_count++;
}

static const char *find_browser(void) {
  static const char *const NAMES[] = {"chromium", "chromium-browser", "google-chrome"};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    if (!system(test_text("command -v %s >/dev/null", NAMES[i]))) return NAMES[i];
  return NULL;
}

/* A page that shows the others in frames and inspects them. Frames can be as narrow as a phone;
 * windows cannot. */
static void write_frames(const char *path) {
  static const int WIDTHS[] = {1280, 400};
  FILE *to = fopen(path, "w");
  assert_non_null(to);
  fputs("<!DOCTYPE html><meta charset=\"utf-8\"><script src=\"" TEST_SOURCE_DIR
        "/support/page_checks.js\"></script><body>\n",
        to);
  for (size_t i = 0; i < page_count; i++)
    for (size_t k = 0; k < FT_COUNT(WIDTHS); k++)
      fprintf(to,
              "<iframe title=\"%s, %d pixels\" src=\"%s\" width=\"%d\" height=\"2000\"></iframe>\n",
              pages[i], WIDTHS[k], pages[i], WIDTHS[k]);
  fclose(to);
}

/* Runs the browser once, and adds the page's output to `findings`. */
static void browse(const char *browser, const char *folder, bool dark, FILE *findings) {
  const char *out = test_path(folder, "out"), *err = test_path(folder, "err");
  int code = system(
      test_text("timeout 300 %s --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
                "--hide-scrollbars --allow-file-access-from-files --user-data-dir='%s/profile' "
                "--blink-settings=preferredColorScheme=%d --enable-logging=stderr --dump-dom "
                "'file://%s/frames.html#%s' >'%s' 2>'%s' </dev/null",
                browser, folder, dark ? 0 : 1, folder, dark ? "dark" : "light", out, err));
  char *text = test_read(out, NULL), *log = test_read(err, NULL), *save;
  if (code || !strstr(text, test_text("@@checked %zu\n", 2 * page_count)))
    fail_msg("%s: status %d, %s\n%.3000s", browser, code, text, log);
  for (char *at = strstr(text, "@@"); at && strncmp(at, "@@checked", 9);) {
    char *next = strstr(at + 2, "@@");
    fprintf(findings, "%.*s", (int)(next - at - 2), at + 2);
    at = next;
  }
  for (char *line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
    if (strstr(line, "CONSOLE")) fprintf(findings, "%s\n", line);
  free(text);
  free(log);
}

char *test_browse(void) {
  char *text, folder[PATH_MAX];
  size_t size;
  const char *browser = find_browser();
  if (browser) {
    snprintf(folder, sizeof folder, "%s", test_folder());
    write_frames(test_path(folder, "frames.html"));
    FILE *findings = open_memstream(&text, &size);
    browse(browser, folder, false, findings);
    browse(browser, folder, true, findings);
    fclose(findings);
  }
  while (page_count)
    free(pages[--page_count]);
  return browser ? text : NULL;
}

void test_in_browser(void **state) {
  (void)state;
  assert_true(page_count > 0);
  char *findings = test_browse();
  if (!findings) {
    print_message("SKIPPED: there is no Chromium to open pages in (Debian: chromium)\n");
    skip();
  }
  if (*findings) fail_msg("%.6000s", findings);
  free(findings);
}
