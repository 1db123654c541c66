/* Checks the names of classes, whatever they come from. Called by dataset.c and arrays.c. */
#include "base/utf8.h"
#include "data/dataset.h"

#include <stdio.h>
#include <string.h>

/* Writes text with \xNN for what is not printable ASCII, cut where `to` is full. */
static void escape(const char *text, char *to, size_t size) {
  for (size_t used = 0; *text && used + 5 <= size; text++) {
    unsigned char c = (unsigned char)*text;
    bool shown = c >= ' ' && c <= '~' && c != '\\';
    used += (size_t)snprintf(to + used, size - used, shown ? "%c" : "\\x%02x", c);
  }
}

filtra_status ft_check_class_names(const filtra_dataset *ds, const char *path) {
  for (uint32_t i = 0; i < ds->info.classes; i++) {
    char shown[256] = "";
    if (ft_utf8_valid(ds->class_names[i], strlen(ds->class_names[i]))) continue;
    escape(ds->class_names[i], shown, sizeof shown);
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: the class \"%s\" is not named in UTF-8; rename it, or save its file as UTF-8", path,
        shown);
  }
  return FILTRA_OK;
}
