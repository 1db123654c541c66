/* Loads modules that register mixers, before a subcommand runs. Called by main.c. */
#include "common/plugins.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/stream.h"
#include "base/text.h"
#include "common/command.h"

#include <filtra/mixer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char OPTION[] = "--plugin", VARIABLE[] = "FILTRA_PLUGINS";

/* Appends a file's full path to the variable's list: children may start in another folder. */
static filtra_status add_file(const char *path) {
  const char *before = getenv(VARIABLE);
  char *full = ft_full_path(path);
  if (!full) return ft_fail(FILTRA_ERROR_PATH, "%s %s: there is no such file", OPTION, path);
  char *list =
      before && *before ? ft_format("%s%c%s", before, ft_list_separator(), full) : ft_strdup(full);
  const bool done = list && !ft_setenv(VARIABLE, list, 1);
  free(list);
  free(full);
  return done ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* Moves the values of --plugin FILE and --plugin=FILE from the arguments to the variable. */
static filtra_status take_options(int *argc, char **argv) {
  const size_t length = strlen(OPTION);
  int kept = 1;
  for (int i = 1; i < *argc; i++) {
    const bool joined = !strncmp(argv[i], OPTION, length) && argv[i][length] == '=';
    if (!joined && strcmp(argv[i], OPTION) != 0) {
      argv[kept++] = argv[i];
      continue;
    }
    const char *path = joined ? argv[i] + length + 1 : i + 1 < *argc ? argv[++i] : NULL;
    if (!path) return ft_fail(FILTRA_ERROR_ARGUMENT, "%s needs the path of a module", OPTION);
    FT_TRY(add_file(path));
  }
  argv[kept] = NULL;
  *argc = kept;
  return FILTRA_OK;
}

static filtra_status load(const char *path) {
  void *found;
  filtra_status (*plugin)(void);
  FT_TRY(ft_module_open(path, "filtra_plugin", &found));
  memcpy(&plugin, &found, sizeof plugin); /* C has no cast from data to functions */
  filtra_status status = plugin();
  if (status && !*filtra_error_message())
    return ft_fail(status, "%s: filtra_plugin() returns %s", path, filtra_status_name(status));
  return status ? ft_fail_context(status, "%s", path) : FILTRA_OK;
}

int command_load_plugins(int *argc, char **argv) {
  filtra_status status = take_options(argc, argv);
  const char *given = getenv(VARIABLE);
  const char separator[] = {ft_list_separator(), '\0'};
  char *list = given && !status ? ft_strdup(given) : NULL, *rest = list;
  for (char *path; !status && (path = ft_strsep(&rest, separator));)
    if (*path) status = load(path);
  free(list);
  return status ? command_fail("filtra", status) : COMMAND_DONE;
}
