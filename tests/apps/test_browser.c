/* The checks of pages in a browser find the faults that they are for: a page with each of these. */
#include "support/browser.h"
#include "support/harness.h"
#include "support/run.h"

static const char *write_page(const char *body) {
  static const char HEAD[] =
      "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><style>"
      ":root{color-scheme:light dark;--ink:#222;--paper:#fff}"
      "@media(prefers-color-scheme:dark){:root{--ink:#eee;--paper:#111}}"
      "body{color:var(--ink);background:var(--paper)}svg text{fill:var(--ink)}"
      "</style></head><body><h1>x</h1>";
  const char *path = test_path(test_folder(), "page.html");
  owned char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  fprintf(to, "%s%s</body></html>", HEAD, body);
  fclose(to);
  test_write(path, text, size);
  return path;
}

/* How many lines are about a page and say something. */
static int count(const char *findings, const char *page, const char *part) {
  int found = 0;
  for (const char *at = findings; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    found += strstr(line, page) && strstr(line, part);
  }
  return found;
}

#define CHART(texts) "<svg viewBox=\"0 0 300 100\" width=\"300\">" texts "</svg>"

static const struct {
  const char *body, *finding;
  int times; /* of two widths, light and dark */
} CASES[] = {
    {"<p>Text</p>" CHART("<text x=\"20\" y=\"20\">a</text><text x=\"20\" y=\"60\">b</text>"
                         "<text transform=\"translate(100 60) rotate(-90)\">side</text>"),
     "", 0},
    {"<div style=\"width:900px\">wide</div>", "908 pixels wide: DIV wide", 2},
    {CHART("<text x=\"20\" y=\"20\">one</text><text x=\"30\" y=\"25\">two</text>"),
     "labels overlap: one | two", 4},
    {CHART("<text x=\"290\" y=\"20\">beyond</text>"), "label outside its chart: beyond", 4},
    {"<p style=\"color:#333\">dim</p>", "dark: contrast 1.49: dim", 2},
    {CHART("<text x=\"20\" y=\"20\" style=\"fill:#bbb\">pale</text>"), "light: contrast 1.92: pale",
     2},
    {"<script>matchNothing()</script>", "matchNothing is not defined", 4},
    {"<img alt=\"\" src=\"none.png\">", "loads file://", 4},
};

TEST(test_faults) {
  char pages[FT_COUNT(CASES)][512];
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    snprintf(pages[i], sizeof pages[i], "%s", write_page(CASES[i].body));
    test_page_made(pages[i]);
  }
  owned char *findings = test_browse();
  if (!findings) {
    print_message("SKIPPED: there is no Chromium to open pages in (Debian: chromium)\n");
    skip();
  }
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    int found = count(findings, pages[i], CASES[i].finding);
    if (found != CASES[i].times || found != count(findings, pages[i], ""))
      fail_msg("\"%s\" is not all that is found of %s, %d times, but:\n%s", CASES[i].finding,
               pages[i], CASES[i].times, findings);
  }
}

TEST_MAIN(NULL, test_teardown)
