/* What this folder's files for Windows share. File names are UTF-16. */
#ifndef FT_BASE_FILE_WIN32_H
#define FT_BASE_FILE_WIN32_H

#include "base/status.h"

#include <wchar.h>

/** UTF-8 to UTF-16 and back; the caller frees. NULL: out of memory, or bytes that are not UTF-8. */
wchar_t *ft_wide(const char *text);
char *ft_narrow(const wchar_t *text);
/** As ft_wide, for a path: one that is long becomes absolute and gets "\\?\" or "\\?\UNC\". */
wchar_t *ft_wide_path(const char *path);

/** Fails with Windows' reason: "cannot WHAT PATH: REASON". PATH where the path is wrong, else IO.
 */
filtra_status ft_fail_windows(const char *what, const char *path);
/** The errno value for Windows' last error; 0 if there is none. */
int ft_windows_errno(void);

#endif
