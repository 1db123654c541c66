/* Keeps the commands from replacing files that they did not write, such as a model whose name was
 * given to --out by mistake. Called by the subcommands before they begin their work. */
#include "base/file.h"
#include "common/command.h"

#include <string.h>

enum { HEAD_BYTES = 64 };

static bool begins_as(const char *head, size_t size, const char *const *heads, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (size >= strlen(heads[i]) && !memcmp(head, heads[i], strlen(heads[i]))) return true;
  return false;
}

filtra_status command_check_replaced(const char *option, const char *path, const char *const *heads,
                                     size_t count) {
  char head[HEAD_BYTES];
  size_t size;
  FILE *stream;
  /* Of folders, devices and pipes, which have no size, those say more that open them to write. */
  if (!path || !ft_file_size(path) || ft_is_directory(path)) return FILTRA_OK;
  FT_TRY(ft_file_open(path, &stream));
  filtra_status status = ft_stream_read(stream, path, head, sizeof head, &size);
  fclose(stream);
  if (status || begins_as(head, size, heads, count)) return status;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%s %s would replace a file that this command did not write: name another", option,
                 path);
}
