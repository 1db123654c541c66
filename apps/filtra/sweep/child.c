/* Reads the logs of a sweep's processes. Called by run.c. */
#include "base/file.h"
#include "base/memory.h"
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

static const char BEGINNING[] = "process "; /* beginning of a log's line that names its writer */

void sweep_log_begin(FILE *log, const sweep_child *child, const char *subcommand) {
  fprintf(log, "%s%ld: filtra %s\n", BEGINNING, child->process, subcommand);
}

long sweep_writer(const char *log) {
  char *text;
  size_t size;
  long process = 0;
  if (ft_file_read(log, 64 << 20, &text, &size)) return 0;
  for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
    if (!strncmp(line, BEGINNING, sizeof BEGINNING - 1))
      process = strtol(line + sizeof BEGINNING - 1, NULL, 10);
  free(text);
  return process;
}

/* The last line that begins as the command's messages do; lines after it are advice. */
static const char *last_message(const char *text) {
  const char *found = NULL;
  for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
    if (!strncmp(line, "filtra", 6)) found = line;
  return found;
}

char *sweep_last_words(const sweep_child *child, int code) {
  char *text = NULL, name[SWEEP_END_NAME];
  size_t size = 0;
  if (code < 0)
    return ft_format("its process was ended by %s; %s has what it said", sweep_end_name(code, name),
                     child->log);
  filtra_status status = ft_file_read(child->log, 64 << 20, &text, &size);
  const char *message = !status && size > child->begin ? last_message(text + child->begin) : NULL;
  char *words = message ? ft_format("%.*s", (int)strcspn(message, "\n"), message)
                        : ft_format("exit code %d; %s has what it said", code, child->log);
  free(text);
  return words;
}
