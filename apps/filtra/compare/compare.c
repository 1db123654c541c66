/* filtra compare: compares files of `filtra bench`, for speed and for agreement of losses. */
#include "compare.h"

#include "base/file.h"
#include "common/chart.h"
#include "common/options.h"

#include <string.h>

static void print_help(void) {
  command_print(
      "Usage: filtra compare FILE... [OPTION]...\n"
      "Lays files of 'filtra bench --out' and 'filtra check --report' side by side, 1 to %d of\n"
      "them: what each device is and\n"
      "reaches at most, every case's times with their ratio to the first file's, rooflines,\n"
      "growth with the length of a sequence, and how far the same training run's losses differ.\n"
      "Prints Markdown unless told otherwise.\n\n"
      "  -o, --out FILE.html    write a self-contained page with charts\n"
      "      --out FILE.md      write Markdown to a file\n"
      "  --charts FOLDER        also save the page's charts there, as SVG files\n"
      "  --json                 print one JSON object\n",
      COMPARE_MOST_FILES);
}

typedef struct compare_arguments {
  const char *out, *charts;
  bool json;
} compare_arguments;

static const command_option OPTIONS[] = {
    COMMAND_OUT(compare_arguments, out),
    COMMAND_TEXT("charts", compare_arguments, charts),
    COMMAND_FLAG("json", compare_arguments, json),
};

static filtra_status write_file(const char *path, const comparison *c) {
  static const char *const heads[] = {"<!DOCTYPE html>", "| Machine"};
  ft_atomic_file file;
  for (size_t k = 0; k < c->machine_count; k++)
    if (ft_same_file(path, c->machines[k].path))
      return ft_fail(FILTRA_ERROR_ARGUMENT, "--out is %s, a file that is compared: choose another",
                     path);
  FT_TRY(command_check_replaced("--out", path, heads, FT_COUNT(heads)));
  FT_TRY(ft_atomic_open(path, &file));
  filtra_status status = FILTRA_OK;
  if (ft_ends_with(path, ".html"))
    status = compare_write_page(file.stream, c);
  else
    compare_write_markdown(file.stream, c);
  if (!status) return ft_atomic_commit(&file);
  ft_atomic_abort(&file);
  return status;
}

static filtra_status write_charts(FILE *to, const void *c) {
  return compare_write_page(to, c);
}

static int compare(const char *name, char **paths, size_t count, const compare_arguments *a) {
  comparison c = {0};
  filtra_status status = FILTRA_OK;
  while (c.machine_count < count && !status) {
    status = compare_read(paths[c.machine_count], &c.machines[c.machine_count]);
    c.machine_count++;
  }
  if (!status) status = compare_match(&c);
  if (!status && a->out) status = write_file(a->out, &c);
  size_t charts;
  if (!status && a->charts) status = chart_save_page(NULL, a->charts, write_charts, &c, &charts);
  int code = status ? command_fail(name, status) : COMMAND_DONE;
  if (!status && a->json) code = command_print_json(name, compare_json(&c));
  if (!status && !a->json && !a->out) compare_write_markdown(command_results(), &c);
  compare_free(&c);
  return code;
}

int run_compare(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .words = true};
  compare_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  int count = argc - optind;
  if (count == 0) return command_misused(argv[0], "files of 'filtra bench --out' are missing");
  if (count > COMPARE_MOST_FILES)
    return command_misused(argv[0], "%d files are given, at most %d can be compared", count,
                           COMPARE_MOST_FILES);
  if (a.out && a.json)
    return command_misused(argv[0], "--json goes to standard output; leave out --out");
  if (a.out && !ft_ends_with(a.out, ".html") && !ft_ends_with(a.out, ".md"))
    return command_misused(argv[0], "--out is \"%s\"; its name must end in .html or .md", a.out);
  return compare(argv[0], argv + optind, (size_t)count, &a);
}
