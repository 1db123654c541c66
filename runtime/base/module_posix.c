/* Loads the parts of Filtra that are installed beside it as modules. */
#define _GNU_SOURCE
#include "base/module.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder from which libfiltra's code was loaded; the caller frees it. */
static char *own_folder(void) {
  static const char here = 0;
  Dl_info info;
  if (!dladdr(&here, &info) || !info.dli_fname) return NULL;
  char *path = realpath(info.dli_fname, NULL);
  char *slash = path ? strrchr(path, '/') : NULL;
  if (slash) *slash = '\0';
  return path;
}

filtra_status ft_module_open(const char *path, const char *symbol, void **function) {
  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  *function = module ? dlsym(module, symbol) : NULL;
  if (*function) return FILTRA_OK;
  const char *reason = dlerror();
  return ft_fail(FILTRA_ERROR_PATH, "%s cannot be loaded as a module with %s(): %s", path, symbol,
                 reason ? reason : "it is NULL");
}

filtra_status ft_module_load(const char *name, const char *symbol, void **function) {
  static const char *const PLACES[] = {"", "filtra/", "../" FILTRA_LIBDIR "/filtra/"};
  char *folder = own_folder();
  *function = NULL;
  for (size_t i = 0; folder && i < FT_COUNT(PLACES); i++) {
    char *path = ft_format("%s/%s%s", folder, PLACES[i], name);
    void *module = path && !access(path, R_OK) ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    bool there = path && !access(path, R_OK);
    free(path);
    if (module) *function = dlsym(module, symbol);
    if (!there) continue;
    free(folder);
    if (*function) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s cannot be loaded: %s", name, dlerror());
  }
  free(folder);
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s is not there", name);
}
