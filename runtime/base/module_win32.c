/* module.h for Windows: loads the parts of Filtra that are installed beside it as modules. */
#include "base/module.h"

#include "base/file.h"
#include "base/file_win32.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static void *function_of(HMODULE module, const char *symbol) {
  void *function = NULL;
  const FARPROC found = GetProcAddress(module, symbol);
  memcpy(&function, &found, sizeof function); /* C has no cast from functions to data */
  return function;
}

filtra_status ft_module_open(const char *path, const char *symbol, void **function) {
  wchar_t *name = ft_wide(path);
  HMODULE module = name ? LoadLibraryW(name) : NULL;
  const DWORD reason = GetLastError();
  free(name);
  *function = module ? function_of(module, symbol) : NULL;
  if (*function) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_PATH, "%s cannot be loaded as a module with %s(): %s (%lu)", path,
                 symbol, module ? "it has none" : "Windows refuses it", module ? 0 : reason);
}

/* The folder from which libfiltra's code was loaded; the caller frees it. */
static char *own_folder(void) {
  static const char here = 0;
  wchar_t path[4096];
  HMODULE own;
  const DWORD flags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExW(flags, (LPCWSTR)(const void *)&here, &own)) return NULL;
  const DWORD length = GetModuleFileNameW(own, path, FT_COUNT(path));
  if (!length || length == FT_COUNT(path)) return NULL;
  *wcsrchr(path, L'\\') = L'\0';
  return ft_narrow(path);
}

filtra_status ft_module_load(const char *name, const char *symbol, void **function) {
  char *folder = own_folder(), *path = folder ? ft_path_join(folder, name) : NULL;
  *function = NULL;
  filtra_status status = !path ? FILTRA_ERROR_HOST_MEMORY
                         : !ft_file_exists(path)
                             ? ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s is not there", name)
                         : ft_module_open(path, symbol, function)
                             ? ft_fail_context(FILTRA_ERROR_UNSUPPORTED, "%s", name)
                             : FILTRA_OK;
  free(folder);
  free(path);
  return status;
}
