/* filtra report: one table of runs, with learning curves. */
#include "report.h"
#include "common/options.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void print_help(void) {
  printf("Usage: filtra report RUN... [OPTION]...\n"
         "Makes one table of run folders: accuracy, perplexity or error of the best model on the\n"
         "validation split, and on the test split where 'filtra eval' has been run; parameters,\n"
         "speed, memory, device and driver. Prints Markdown unless told otherwise.\n\n"
         "  --out FILE.md      write Markdown to a file\n"
         "  --out FILE.html    write a self-contained page with learning curves\n"
         "  --json             print one JSON object\n");
}

typedef enum report_form { FORM_MARKDOWN, FORM_PAGE, FORM_JSON } report_form;

static filtra_status write_file(const char *path, report_form form, const report_run *runs,
                                size_t count) {
  ft_atomic_file file;
  FT_TRY(ft_atomic_open(path, &file));
  if (form == FORM_PAGE)
    report_write_page(file.stream, runs, count);
  else
    report_write_markdown(file.stream, runs, count);
  return ft_atomic_commit(&file);
}

static int report(const char *name, char **paths, size_t count, const char *out, report_form form) {
  report_run *runs = ft_calloc(count, sizeof *runs);
  if (!runs) return command_fail(name, FILTRA_ERROR_HOST_MEMORY);
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    for (size_t end = strlen(paths[i]); end > 1 && paths[i][end - 1] == '/'; end--)
      paths[i][end - 1] = '\0';
    status = report_read(paths[i], &runs[i]);
  }
  if (!status && out) status = write_file(out, form, runs, count);
  int code = status ? command_fail(name, status) : COMMAND_DONE;
  if (!status && form == FORM_JSON) code = command_print_json(name, report_json(runs, count));
  if (!status && form == FORM_MARKDOWN && !out) report_write_markdown(stdout, runs, count);
  if (!status && out) printf("%s: a table of %zu run%s\n", out, count, count > 1 ? "s" : "");
  for (size_t i = 0; i < count; i++)
    report_free(&runs[i]);
  free(runs);
  return code;
}

typedef struct report_arguments {
  const char *out;
  bool json;
} report_arguments;

static const command_option OPTIONS[] = {
    COMMAND_OUT(report_arguments, out),
    COMMAND_FLAG("json", report_arguments, json),
};

int run_report(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .words = true};
  report_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (optind == argc) return command_misused(argv[0], "run folders are missing");
  if (a.out && a.json)
    return command_misused(argv[0], "--json goes to standard output; leave out --out");
  report_form form = a.json ? FORM_JSON : FORM_MARKDOWN;
  if (a.out && ft_ends_with(a.out, ".html")) form = FORM_PAGE;
  if (a.out && form == FORM_MARKDOWN && !ft_ends_with(a.out, ".md"))
    return command_misused(argv[0], "--out is \"%s\"; its name must end in .html or .md", a.out);
  return report(argv[0], argv + optind, (size_t)(argc - optind), a.out, form);
}
