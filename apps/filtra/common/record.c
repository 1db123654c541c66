/* Reads the record that a sweep keeps in its folder. Called by filtra sweep and filtra report. */
#include "record.h"

#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"

#include <stdlib.h>
#include <string.h>

static filtra_status each_line(const char *path, filtra_status (*take)(void *user, json_t *line),
                               void *user) {
  ft_lines lines;
  bool more = true;
  FT_TRY(ft_lines_open(path, &lines));
  filtra_status status = FILTRA_OK;
  while (!status && more) {
    json_t *line = NULL;
    status = ft_lines_next(&lines, &more);
    if (!status && more) status = ft_json_parse(lines.line, lines.length, path, &line);
    if (status == FILTRA_ERROR_INPUT) status = FILTRA_OK;
    if (!status && line) status = take(user, line);
    json_decref(line);
  }
  ft_lines_close(&lines);
  return status;
}

filtra_status record_each(const char *folder, filtra_status (*take)(void *user, json_t *line),
                          void *user) {
  char *path = ft_path_join(folder, "sweep.jsonl");
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_file_exists(path) ? each_line(path, take, user) : FILTRA_OK;
  free(path);
  return status;
}
