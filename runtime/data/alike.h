/* Names that look alike. */
#ifndef FT_DATA_ALIKE_H
#define FT_DATA_ALIKE_H

#include <filtra/status.h>
#include <stddef.h>

/** Writes text with \xNN for bytes that are not printable ASCII, and stops when `to` is full. */
void ft_show_name(const char *text, size_t length, char *to, size_t size);
/** Warns of two names that differ only in case, spaces, invisible characters or how a number is
 * written. `what` is said before them: "the classes". */
filtra_status ft_warn_of_alike_names(const char *path, const char *what, const char *const *names,
                                     size_t count);

#endif
