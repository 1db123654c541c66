/* Fills tables and writes them as Markdown, HTML or LaTeX. Called by write.c, summary_write.c and
 * results.c. */
#include "table.h"

#include "base/memory.h"
#include "base/number.h"
#include "common/page.h"

#include <stdlib.h>
#include <string.h>

/* ---- filling ---- */

void table_column(table *t, const char *css_class, const char *format, ...) {
  size_t room = t->column_room;
  va_list arguments;
  va_start(arguments, format);
  char *title = ft_format_list(format, arguments);
  va_end(arguments);
  if (!title || FT_GROW(t->titles, t->columns, room) ||
      FT_GROW(t->classes, t->columns, t->column_room)) {
    free(title);
    t->starved = true;
    return;
  }
  t->titles[t->columns] = title;
  t->classes[t->columns++] = css_class;
}

void table_cell_add(table *t, bool bold, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = ft_format_list(format, arguments);
  va_end(arguments);
  if (!text || FT_GROW(t->cells, t->count, t->room)) {
    free(text);
    t->starved = true;
    return;
  }
  t->cells[t->count++] = (table_cell){text, bold};
}

void table_free(table *t) {
  for (size_t i = 0; i < t->columns; i++)
    free(t->titles[i]);
  for (size_t i = 0; i < t->count; i++)
    free(t->cells[i].text);
  free(t->titles);
  free((void *)t->classes);
  free(t->cells);
}

static bool begins_row(const table *t, size_t i) {
  return t->columns && i % t->columns == 0;
}

static bool ends_row(const table *t, size_t i) {
  return t->columns && (i + 1) % t->columns == 0;
}

/* ---- Markdown ---- */

void table_write_markdown(FILE *to, const table *t) {
  for (size_t k = 0; k < t->columns; k++) {
    fputs("| ", to);
    markdown_text(to, t->titles[k]);
    fputc(' ', to);
  }
  fputs("|\n", to);
  for (size_t k = 0; k < t->columns; k++)
    fputs(t->classes[k] ? "|---" : "|---:", to);
  fputs("|\n", to);
  for (size_t i = 0; i < t->count; i++) {
    const table_cell *cell = &t->cells[i];
    fputs(cell->bold ? "| **" : "| ", to);
    markdown_text(to, cell->text);
    fputs(cell->bold ? "** " : " ", to);
    if (ends_row(t, i)) fputs("|\n", to);
  }
}

/* ---- the page ---- */

void table_write_page(FILE *to, const table *t) {
  fputs("<div class=\"wide\"><table><thead><tr>", to);
  for (size_t k = 0; k < t->columns; k++) {
    fprintf(to, "<th class=\"%s\">", t->classes[k] ? t->classes[k] : "");
    page_text(to, t->titles[k]);
    fputs("</th>", to);
  }
  fputs("</tr></thead>\n<tbody>\n", to);
  size_t column = 0;
  for (size_t i = 0; i < t->count; i++) {
    const table_cell *cell = &t->cells[i];
    if (begins_row(t, i)) {
      fputs("<tr>", to);
      column = 0;
    }
    const char *css_class = t->classes[column++];
    fprintf(to, "<td class=\"%s\">%s", css_class ? css_class : "", cell->bold ? "<strong>" : "");
    page_text(to, cell->text);
    fputs(cell->bold ? "</strong></td>" : "</td>", to);
    if (ends_row(t, i)) fputs("</tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

/* ---- LaTeX ---- */

/* UTF-8 characters in our texts that old LaTeX engines reject. */
static const char *const SIGNS[][2] = {{"±", "$\\pm$"}, {"–", "--"}, {"−", "$-$"}};

void latex_text(FILE *to, const char *text) {
  while (*text) {
    size_t taken = 0;
    for (size_t i = 0; i < FT_COUNT(SIGNS) && !taken; i++)
      if (!strncmp(text, SIGNS[i][0], strlen(SIGNS[i][0]))) {
        fputs(SIGNS[i][1], to);
        taken = strlen(SIGNS[i][0]);
      }
    if (!taken && strchr("&%$#_{}", *text))
      fprintf(to, "\\%c", *text);
    else if (!taken && *text == '\\')
      fputs("\\textbackslash{}", to);
    else if (!taken && (*text == '~' || *text == '^'))
      fprintf(to, "\\%c{}", *text);
    else if (!taken)
      fputc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, to);
    text += taken ? taken : 1;
  }
}

void table_write_latex(FILE *to, const table *t) {
  fputs("\\begin{tabular}{", to);
  for (size_t k = 0; k < t->columns; k++)
    fputc(t->classes[k] ? 'l' : 'r', to);
  fputs("}\n\\hline\n", to);
  for (size_t k = 0; k < t->columns; k++) {
    latex_text(to, t->titles[k]);
    fputs(k + 1 < t->columns ? " & " : " \\\\\n\\hline\n", to);
  }
  for (size_t i = 0; i < t->count; i++) {
    fputs(t->cells[i].bold ? "\\textbf{" : "", to);
    latex_text(to, t->cells[i].text);
    fputs(t->cells[i].bold ? "}" : "", to);
    fputs(ends_row(t, i) ? " \\\\\n" : " & ", to);
  }
  fputs("\\hline\n\\end{tabular}\n", to);
}
