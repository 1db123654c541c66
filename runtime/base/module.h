/* Modules: shared libraries that are loaded on demand. */
#ifndef FT_BASE_MODULE_H
#define FT_BASE_MODULE_H

#include "base/status.h"

/** Loads a module from beside libfiltra, beside the program, or from the installation, and returns
 * its function `symbol`. Fails with UNSUPPORTED and names what is missing. */
filtra_status ft_module_load(const char *name, const char *symbol, void **function);
/** Loads the module at a path and returns its function `symbol`. Fails with PATH and gives the
 * reason. */
filtra_status ft_module_open(const char *path, const char *symbol, void **function);

#endif
