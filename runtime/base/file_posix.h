/* What file_posix.c and write_posix.c share. */
#ifndef FT_BASE_FILE_POSIX_H
#define FT_BASE_FILE_POSIX_H

#include "base/status.h"

/** Fails with errno's reason: "cannot WHAT PATH: REASON". PATH where the path is wrong, else IO. */
filtra_status ft_fail_errno(const char *what, const char *path);

#endif
