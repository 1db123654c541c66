/* What files' names say of the split that they hold. */
#ifndef FT_DATA_NAMES_H
#define FT_DATA_NAMES_H

#include <filtra/data.h>

/** What a split may be called, NULL-terminated: train; val, valid, validation, dev, eval; test, ind
 * (independent test sets). */
enum { FT_SPLIT_WORDS = 6 };
extern const char *const ft_split_words[FILTRA_SPLITS][FT_SPLIT_WORDS];

/** Length of a file's name (no folders) without .gz and without one of these endings, a
 * NULL-terminated list; 0 when it has none of them. */
size_t ft_stem_length(const char *name, const char *const *endings);
/** Whether a stem is the name of a split or ends with one behind '.', '_' or '-', as wiki.valid
 * does. *rest is the length of what goes before: "wiki". */
bool ft_stem_split(const char *stem, size_t length, filtra_split *split, size_t *rest);

#endif
