/* filtra data: generates and inspects data sets. */
#include "base/json.h"
#include "common/command.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name, *title, *summary;
  int (*run)(int argc, char **argv);
} actions[] = {
    {"inspect", "filtra data inspect", "say what a data set holds, and check it", run_data_inspect},
    {"listops", "filtra data listops", "generate the ListOps task of Long Range Arena",
     run_data_listops},
    {"pathfinder", "filtra data pathfinder", "generate the Pathfinder task of Long Range Arena",
     run_data_pathfinder},
};

static void print_help(FILE *to) {
  fprintf(to, "Usage: filtra data ACTION [OPTION]...\n\n");
  for (size_t i = 0; i < FT_COUNT(actions); i++)
    fprintf(to, "  %-10s %s\n", actions[i].name, actions[i].summary);
  fprintf(to, "\n'filtra data ACTION --help' tells more.\n");
}

int run_data(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return COMMAND_USAGE;
  }
  if (!strcmp(argv[1], "--help")) {
    print_help(command_results());
    return COMMAND_DONE;
  }
  for (size_t i = 0; i < FT_COUNT(actions); i++) {
    if (strcmp(argv[1], actions[i].name)) continue;
    char title[32]; /* getopt_long's messages begin with this */
    snprintf(title, sizeof title, "%s", actions[i].title);
    argv[1] = title;
    return actions[i].run(argc - 1, argv + 1);
  }
  const char *near = ft_nearest_name(argv[1], actions, FT_COUNT(actions), sizeof *actions);
  return command_misused(argv[0], "there is no action \"%s\"%s%s%s", argv[1],
                         near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}
