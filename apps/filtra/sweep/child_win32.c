/* Runs cells in child processes, so that one cell's crash, lost device or lack of memory does not
 * end the others. No shell is involved. For Windows; called by run.c. */
#include "base/file.h"
#include "base/file_win32.h"
#include "common/process_win32.h"
#include "sweep.h"

#include <io.h>
#include <stdlib.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { MOST_CHILDREN = 256 }; /* the limit of --jobs */

static process children[MOST_CHILDREN];

/* The child with that id; id 0: a free entry. */
static process *find(long id) {
  for (size_t i = 0; i < MOST_CHILDREN; i++)
    if (children[i].id == id) return &children[i];
  return NULL;
}

filtra_status sweep_start(const char *within, const char *const *arguments, const char *log,
                          sweep_child *child) {
  FILE *to;
  process *place = find(0);
  filtra_status status = FILTRA_OK;
  *child = (sweep_child){.log = log, .begin = ft_file_size(log)};
  FT_TRY(ft_append_open_in(within, log, &to)); /* the child keeps the lock until it ends */
  void *handle = (void *)_get_osfhandle(_fileno(to));
  wchar_t *line = process_line(arguments);
  if (!line || !place)
    status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  else if (!process_start(line, handle, handle, NULL, place))
    status = ft_fail_windows("start a process that writes", log);
  if (!status) child->process = place->id;
  if (!status) sweep_log_begin(to, child, arguments[1]);
  free(line);
  fclose(to);
  return status;
}

bool sweep_ended(sweep_child *child, int *code) {
  process *p = find(child->process);
  DWORD exit_code = COMMAND_FAILED;
  if (WaitForSingleObject(p->handle, 0) == WAIT_TIMEOUT) return false;
  GetExitCodeProcess(p->handle, &exit_code);
  *code = (int)exit_code; /* codes of exceptions are negative */
  process_close(p);
  child->process = 0;
  return true;
}

void sweep_stop(const sweep_child *child) {
  if (child->process) process_stop(find(child->process));
}

const char *sweep_end_name(int code, char name[SWEEP_END_NAME]) {
  snprintf(name, SWEEP_END_NAME, "exception 0x%08x", (unsigned)code);
  return name;
}
