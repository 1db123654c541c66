/* filtra report: one table of runs, learning curves, and statistics over several seeds. */
#include "report.h"
#include "common/chart.h"
#include "common/options.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct report_arguments {
  const char *out, *format, *charts;
  bool json;
  char **paths; /* [path_count] paths of runs and of folders of runs */
  size_t path_count;
} report_arguments;

static void print_help(void) {
  command_print(
      "Usage: filtra report PATH... [OPTION]...\n"
      "Makes one table of run folders: accuracy, perplexity or error of the best model on the\n"
      "validation split, and on the test split where 'filtra eval' has been run; parameters,\n"
      "speed, memory, device and driver. A folder of runs, such as a sweep's, stands for all of\n"
      "them, and a file that 'filtra report --json' wrote for the runs that it has, so that what\n"
      "several machines ran becomes one report. Where runs differ by their seed alone: mean and\n"
      "standard deviation, ranks and mean rank of the mixers, and Wilcoxon's signed-rank test\n"
      "between them.\n\n"
      "  --format NAME      markdown (default), html (a self-contained page with learning\n"
      "                     curves), latex (means, ranks and tests), or results (Markdown for\n"
      "                     documentation: each data set by mixers, with times)\n"
      "  --out FILE         write to a file; .md, .html and .tex name the format, too\n"
      "  --charts FOLDER    also save the page's charts there, as SVG files\n"
      "  --json             print one JSON object\n");
}

static const struct {
  const char *name, *ending;
  report_format format;
} FORMATS[] = {{"markdown", ".md", REPORT_MARKDOWN},
               {"html", ".html", REPORT_PAGE},
               {"latex", ".tex", REPORT_LATEX},
               {"results", ".md", REPORT_RESULTS}};

/* Sets the format that the options request; returns -1, or the exit code for wrong usage. */
static int find_format(const char *name, const report_arguments *a, report_format *format) {
  bool named = !a->format, ended = !a->out;
  *format = REPORT_MARKDOWN;
  for (size_t i = FT_COUNT(FORMATS); i-- > 0;) {
    bool is_named = a->format && !strcmp(a->format, FORMATS[i].name);
    if (a->format ? is_named : a->out && ft_ends_with(a->out, FORMATS[i].ending)) {
      *format = FORMATS[i].format;
      named = true;
    }
    if (a->out && ft_ends_with(a->out, FORMATS[i].ending)) ended = true;
  }
  if (!named)
    return command_misused(name, "--format is %s, accepted are markdown, html, latex and results",
                           a->format);
  if (!ended && !a->format)
    return command_misused(name, "--out is \"%s\"; its name must end in .html, .md or .tex",
                           a->out);
  return -1;
}

/* The folder of runs that contains `path`; NULL: none. */
static const char *folder_of_runs(const report_arguments *a, const char *path) {
  for (size_t i = 0; i < a->path_count; i++)
    if (ft_lies_in(a->paths[i], path)) return a->paths[i];
  return NULL;
}

static filtra_status write_file(const report_arguments *a, const report_view *view,
                                report_format format) {
  /* A page; Markdown with a title or without; LaTeX. */
  static const char *const heads[] = {"<!DOCTYPE html>", "# ", "| Run", "% "};
  ft_atomic_file file;
  FT_TRY(command_check_replaced("--out", a->out, heads, FT_COUNT(heads)));
  FT_TRY(ft_atomic_open_in(folder_of_runs(a, a->out), a->out, &file));
  filtra_status status = report_write(file.stream, view, format);
  if (!status) return ft_atomic_commit(&file);
  ft_atomic_abort(&file);
  return status;
}

static filtra_status write_charts(FILE *to, const void *view) {
  return report_write(to, view, REPORT_PAGE);
}

static filtra_status save_charts(const report_arguments *a, const report_view *view) {
  size_t count;
  FT_TRY(chart_save_page(folder_of_runs(a, a->charts), a->charts, write_charts, view, &count));
  if (a->out) command_print("%s: %zu charts\n", a->charts, count);
  return FILTRA_OK;
}

static int show(const char *name, const report_arguments *a, const report_view *view,
                report_format format) {
  size_t count = view->set->count;
  filtra_status status = a->charts ? save_charts(a, view) : FILTRA_OK;
  if (status) return command_fail(name, status);
  if (a->json) return command_print_exact_json(name, report_json(view));
  status = a->out ? write_file(a, view, format) : report_write(command_results(), view, format);
  if (status) return command_fail(name, status);
  if (a->out) command_print("%s: a table of %zu run%s\n", a->out, count, count > 1 ? "s" : "");
  return COMMAND_DONE;
}

static int report(const char *name, const report_arguments *a, report_format format) {
  report_set set;
  report_summary summary = {0};
  filtra_status status = report_collect(a->paths, a->path_count, &set);
  if (!status) status = report_summarize(&set, &summary);
  int code =
      status ? command_fail(name, status) : show(name, a, &(report_view){&set, &summary}, format);
  report_free_summary(&summary);
  report_free_set(&set);
  return code;
}

static const command_option OPTIONS[] = {
    COMMAND_OUT(report_arguments, out),
    COMMAND_TEXT("format", report_arguments, format),
    COMMAND_TEXT("charts", report_arguments, charts),
    COMMAND_FLAG("json", report_arguments, json),
};

int run_report(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .words = true};
  report_arguments a = {0};
  report_format format;
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (optind == argc) return command_misused(argv[0], "run folders are missing");
  if (a.out && a.json)
    return command_misused(argv[0], "--json goes to standard output; leave out --out");
  code = find_format(argv[0], &a, &format);
  if (code >= 0) return code;
  a.paths = argv + optind;
  a.path_count = (size_t)(argc - optind);
  return report(argv[0], &a, format);
}
