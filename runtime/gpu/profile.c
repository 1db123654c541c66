/* Reads device profiles: lines of "key = value", with comments after a #. */
#include "gpu/plan.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 * 1024 };

static const char *nearest(const char *name) {
  const char *found = NULL;
  size_t best = strlen(name) / 2 + 1;
  for (const ft_profile *p = ft_profiles; p->name; p++) {
    size_t distance = ft_name_distance(name, p->name);
    if (distance >= best) continue;
    best = distance;
    found = p->name;
  }
  return found;
}

/* Loads a profile's text; the caller may change and frees it. */
static filtra_status load(const char *name, char **text, size_t *size) {
  for (const ft_profile *p = ft_profiles; p->name; p++) {
    if (strcmp(p->name, name)) continue;
    *text = ft_strdup(p->text);
    *size = strlen(p->text);
    return *text ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  }
  if (*name && ft_file_exists(name)) return ft_file_read(name, MOST_BYTES, text, size);
  const char *near = nearest(name);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "capability profile @%.200s: neither a file nor a profile that comes with Filtra"
                 "%s%s%s; `filtra devices --list-profiles` lists those",
                 name, near ? " (did you mean @" : "", near ? near : "", near ? "?)" : "");
}

/* Removes blanks at both ends. */
static char *trim(char *text) {
  static const char blanks[] = " \t\r";
  text += strspn(text, blanks);
  size_t length = strlen(text);
  while (length && strchr(blanks, text[length - 1]))
    length--;
  text[length] = '\0';
  return text;
}

static filtra_status take_line(char *line, ft_profile_line take, void *to, int *taken) {
  line[strcspn(line, "#")] = '\0';
  line = trim(line);
  if (!*line) return FILTRA_OK;
  char *value = strchr(line, '=');
  if (!value)
    return ft_fail(FILTRA_ERROR_INPUT, "\"%.80s\" is no line of the form key = value", line);
  *value++ = '\0';
  ++*taken;
  return take(to, trim(line), trim(value));
}

static filtra_status take_lines(const char *name, char *text, size_t size, ft_profile_line take,
                                void *to) {
  if (!text || memchr(text, '\0', size))
    return ft_fail(FILTRA_ERROR_INPUT, "capability profile %.200s is no text file in UTF-8", name);
  static const char MARK[] = "\xef\xbb\xbf"; /* as Windows' editors put before UTF-8 */
  int taken = 0;
  char *rest = strncmp(text, MARK, 3) ? text : text + 3, *line;
  for (int number = 1; (line = ft_strsep(&rest, "\n")) != NULL; number++) {
    filtra_status status = take_line(line, take, to, &taken);
    if (status) return ft_fail_context(status, "%.200s:%d", name, number);
  }
  if (taken) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "capability profile %.200s says nothing; lines of key = value are expected", name);
}

filtra_status ft_profile_read(const char *name, ft_profile_line take, void *to) {
  char *text = NULL;
  size_t size = 0;
  FT_TRY(load(name, &text, &size));
  filtra_status status = take_lines(name, text, size, take, to);
  free(text);
  return status;
}
