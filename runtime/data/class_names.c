/* Names of classes from any source, and their checks. Called by dataset.c, arrays.c and numpy.c. */
#include "base/memory.h"
#include "base/utf8.h"
#include "data/alike.h"
#include "data/dataset.h"

#include <string.h>

filtra_status ft_name_classes(filtra_dataset *ds, uint32_t count, const char *const *names) {
  ds->owned_class_names = ft_calloc(count + 1, sizeof(char *));
  if (!ds->owned_class_names) return FILTRA_ERROR_HOST_MEMORY;
  ds->class_names = (const char *const *)ds->owned_class_names;
  ds->info.classes = count;
  for (uint32_t i = 0; i < count; i++) {
    char *name = names ? ft_strdup(names[i]) : ft_format("%u", i);
    if (!name) return FILTRA_ERROR_HOST_MEMORY;
    ds->owned_class_names[i] = name;
  }
  return FILTRA_OK;
}

filtra_status ft_check_class_name(const char *name, size_t length) {
  char shown[256] = "";
  if (ft_utf8_valid(name, length)) return FILTRA_OK;
  ft_show_name(name, length, shown, sizeof shown);
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

filtra_status ft_warn_of_alike_classes(const filtra_dataset *ds, const char *path) {
  return ft_warn_of_alike_names(path, "the classes", ds->class_names, ds->info.classes);
}
