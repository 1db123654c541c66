/* Checks the names of classes, whatever they come from. Called by dataset.c and arrays.c. */
#include "base/utf8.h"
#include "data/dataset.h"

#include <stdio.h>
#include <string.h>

/* Writes text with \xNN for what is not printable ASCII, cut where `to` is full. */
static void escape(const char *text, size_t length, char *to, size_t size) {
  for (size_t used = 0, i = 0; i < length && used + 5 <= size; i++) {
    unsigned char c = (unsigned char)text[i];
    bool shown = c >= ' ' && c <= '~' && c != '\\';
    used += (size_t)snprintf(to + used, size - used, shown ? "%c" : "\\x%02x", c);
  }
}

filtra_status ft_check_class_name(const char *name, size_t length) {
  char shown[256] = "";
  if (ft_utf8_valid(name, length)) return FILTRA_OK;
  escape(name, length, shown, sizeof shown);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the class \"%s\" is not named in UTF-8; rename it, or save its file as UTF-8",
                 shown);
}

filtra_status ft_check_class_names(const filtra_dataset *ds, const char *path) {
  filtra_status status = FILTRA_OK;
  for (uint32_t i = 0; i < ds->info.classes && !status; i++)
    status = ft_check_class_name(ds->class_names[i], strlen(ds->class_names[i]));
  return status ? ft_fail_context(status, "%s", path) : FILTRA_OK;
}
