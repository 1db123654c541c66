/* Modules that are loaded when they are needed. */
#ifndef FT_BASE_MODULE_H
#define FT_BASE_MODULE_H

#include "base/status.h"

/** A function of a module that lies beside libfiltra or the program, or where both were installed.
 * Fails with UNSUPPORTED, saying what is missing. */
filtra_status ft_module_load(const char *name, const char *symbol, void **function);

#endif
