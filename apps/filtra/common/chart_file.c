/* Saves charts as standalone SVG files: title, legend and colours are embedded, nothing is loaded
 * from elsewhere. Called by chart.c and chart_rows.c for each chart of a page, and by the commands
 * that write pages. */
#include "base/file.h"
#include "base/memory.h"
#include "base/stream.h"
#include "common/chart.h"
#include "common/command.h"
#include "common/page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* LETTER: approximate width of a letter in the file's font. */
enum { MARGIN = 14, ROW = 18, LETTER = 7, MOST_NAMED = 60, NAME_BYTES = 64 };

/* The page being saved; a command writes one page at a time. */
static struct {
  const char *within, *folder; /* folder NULL: save nothing */
  size_t count;
  filtra_status status;
  ft_atomic_file file;
} saving;

/* What files begin with; the class tells them from those of other programs. */
static const char *const HEAD = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"filtra-chart\"";

/* The pages' style sheet in light colours, without CSS variables, which few programs except
 * browsers support. */
static const char STYLE[] =
    "text{font:13px sans-serif;fill:#5c6675}.label,.note,.name{fill:#1c2430}"
    ".title{fill:#1c2430;font-weight:600}.x{text-anchor:middle}.y{text-anchor:end}"
    ".note{font-size:12px}.paper{fill:#fff}.grid{stroke:#d9dee5}.tick{stroke:#5c6675;fill:none}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round}.band{opacity:.18}"
    ".spread{stroke:#1c2430;fill:none}.d1 .line{stroke-dasharray:7 3}"
    ".d2 .line{stroke-dasharray:2 3}.limit .line{stroke:#1c2430;stroke-dasharray:5 3}\n";
static const char *const COLORS[CHART_COLORS] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                 "#d55e00", "#56b4e9", "#8a7a00", "#7f7f7f"};

/* ---- the parts of a file ---- */

static void write_style(FILE *to) {
  fprintf(to, "<style>%s", STYLE);
  for (size_t i = 0; i < CHART_COLORS; i++)
    fprintf(to, ".c%zu .line{stroke:%s}.c%zu .mark,.c%zu rect,.c%zu .band{fill:%s}\n", i, COLORS[i],
            i, i, i, COLORS[i]);
  fputs("</style>\n", to);
}

/* Cuts a name, between characters. */
static void cut_name(const char *name, char out[MOST_NAMED + 4]) {
  size_t length = strlen(name);
  if (length <= MOST_NAMED) {
    memcpy(out, name, length + 1);
    return;
  }
  for (length = MOST_NAMED - 1; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;)
    length--;
  snprintf(out, MOST_NAMED + 4, "%.*s…", (int)length, name);
}

/* Writes the legend's entries in rows of `width`, from `top` on; returns where it ends. `to` NULL:
 * only measures. */
static double write_legend(FILE *to, const chart *c, int width, double top) {
  double left = 0.0, bottom = top;
  for (size_t i = 0; i < c->count && c->count > 1; i++) {
    char name[MOST_NAMED + 4];
    if (!c->series[i].count) continue;
    cut_name(c->series[i].name, name);
    const double room = 34.0 + LETTER * (double)strlen(name);
    if (left > 0.0 && left + room > width) left = 0.0;
    if (left == 0.0) bottom += ROW;
    if (to) {
      fprintf(to, "<g class=\"%s\">", chart_class(c, i));
      if (c->groups)
        fprintf(to, "<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"10\"/>", left, bottom - 10);
      else if (c->series[i].style == CHART_DOTS) {
        fputs("<path class=\"mark\" d=\"", to);
        chart_shape(to, i, left + 7.0, bottom - 5.0);
        fputs("\"/>", to);
      } else
        fprintf(to, "<path class=\"line\" d=\"M%.0f %.0fh20\"/>", left, bottom - 5);
      fprintf(to, "<text class=\"name\" x=\"%.0f\" y=\"%.0f\">", left + 25, bottom);
      page_text(to, name);
      fputs("</text></g>\n", to);
    }
    left += room;
  }
  return bottom;
}

static void write_head(FILE *to, const chart *c, int width, double height) {
  const double top = write_legend(NULL, c, width, ROW) + 8.0;
  const double whole = (double)width + 2.0 * MARGIN, high = top + height + 2.0 * MARGIN;
  char title[MOST_NAMED + 4];
  cut_name(c->title, title);
  fprintf(to, "%s width=\"%.0f\" height=\"%.0f\" viewBox=\"-%d -%d %.0f %.0f\">\n", HEAD, whole,
          high, MARGIN, MARGIN, whole, high);
  write_style(to);
  fprintf(to, "<rect class=\"paper\" x=\"-%d\" y=\"-%d\" width=\"%.0f\" height=\"%.0f\"/>\n",
          MARGIN, MARGIN, whole, high);
  fprintf(to, "<text class=\"title\" x=\"0\" y=\"%d\">", ROW - 6);
  page_text(to, title);
  fputs("</text>\n", to);
  write_legend(to, c, width, ROW);
  fprintf(to, "<g transform=\"translate(0 %.0f)\">\n", top);
}

/* "07-validation-loss" */
static void file_name(char name[NAME_BYTES], size_t number, const char *title) {
  size_t length = (size_t)snprintf(name, NAME_BYTES, "%02zu-", number);
  for (; *title && length < NAME_BYTES - 5; title++) {
    const bool plain = isalnum((unsigned char)*title) && (unsigned char)*title < 0x80;
    if (plain)
      name[length++] = (char)tolower((unsigned char)*title);
    else if (name[length - 1] != '-')
      name[length++] = '-';
  }
  while (length && name[length - 1] == '-')
    length--;
  name[length] = '\0';
}

/* ---- saving ---- */

filtra_status chart_save_page(const char *within, const char *folder,
                              filtra_status (*write)(FILE *to, const void *page), const void *page,
                              size_t *count) {
  char *text = NULL;
  size_t size;
  FT_TRY(within ? ft_make_folder_in(within, folder) : ft_make_directories(folder));
  FILE *to = ft_open_memstream(&text, &size);
  if (!to) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  saving.within = within;
  saving.folder = folder;
  saving.count = 0;
  saving.status = FILTRA_OK;
  filtra_status status = write(to, page);
  saving.folder = NULL;
  fclose(to);
  free(text);
  *count = saving.count;
  return status ? status : saving.status;
}

FILE *chart_file_open(const chart *c, int width, double height) {
  char name[NAME_BYTES];
  if (!saving.folder || saving.status) return NULL;
  file_name(name, ++saving.count, c->title);
  char *path = ft_format("%s/%s.svg", saving.folder, name);
  saving.status =
      path ? command_check_replaced("--charts", path, &HEAD, 1) : FILTRA_ERROR_HOST_MEMORY;
  if (!saving.status) saving.status = ft_atomic_open_in(saving.within, path, &saving.file);
  free(path);
  if (saving.status) return NULL;
  write_head(saving.file.stream, c, width, height);
  return saving.file.stream;
}

void chart_file_close(void) {
  fputs("</g></svg>\n", saving.file.stream);
  saving.status = ft_atomic_commit(&saving.file);
}
