/* Names that look alike: of classes, and of the categories of a feature. Called by class_names.c
 * and table_learn.c. */
#include "data/alike.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "data/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ft_show_name(const char *text, size_t length, char *to, size_t size) {
  for (size_t used = 0, i = 0; i < length && used + 5 <= size; i++) {
    unsigned char c = (unsigned char)text[i];
    bool shown = c >= ' ' && c <= '~' && c != '\\';
    used += (size_t)snprintf(to + used, size - used, shown ? "%c" : "\\x%02x", c);
  }
}

typedef struct folded {
  char *text; /* without case, spaces and invisible characters; numbers in one form */
  size_t label;
} folded;

static int compare_folded(const void *a, const void *b) {
  const folded *x = a, *y = b;
  int order = strcmp(x->text, y->text);
  return order ? order : (x->label > y->label) - (x->label < y->label);
}

/* Writes true and false as 1 and 0, and other numbers in one way: 1.0, 01 and 1 as 1. */
static void fold_number(char *text) {
  enum { LONGEST = 15 }; /* digits that a double has */
  char *end;
  if (!strcmp(text, "true") || !strcmp(text, "false"))
    snprintf(text, 2, "%d", text[0] == 't');
  else if (*text && strlen(text) <= LONGEST && strspn(text, "+-.0123456789") == strlen(text)) {
    const double number = ft_strtod(text, &end);
    if (!*end) sprintf(text, "%.15g", number);
  }
}

/* Folds a name for comparison. The caller frees; NULL when out of memory. */
static char *fold(const char *name) {
  const size_t length = strlen(name);
  char *text = ft_calloc(length * FT_UNICODE_MOST_PARTS * 4 * 2 + 32, 1), *to = text;
  for (size_t at = 0; text && at < length;) {
    uint32_t c, parts[FT_UNICODE_MOST_PARTS], lower[2];
    at += ft_utf8_next(name + at, length - at, &c);
    const size_t count = ft_unicode_decompose(c, parts);
    for (size_t i = 0; i < count; i++) {
      const size_t letters = ft_unicode_to_lower(parts[i], lower);
      if (ft_unicode(parts[i]) & (FT_UNICODE_SPACE | FT_UNICODE_DROPPED)) continue;
      for (size_t k = 0; k < letters; k++)
        to += ft_utf8_write(lower[k], to);
    }
  }
  if (text) fold_number(text);
  return text;
}

static void say_alike(const char *path, const char *what, const char *const *names,
                      const folded *all, size_t count) {
  char first[256] = "", second[256] = "";
  size_t alike = 0, example = 0;
  for (size_t i = 1; i < count; i++)
    if (!strcmp(all[i].text, all[i - 1].text) && alike++ == 0) example = i;
  if (!alike) return;
  const char *a = names[all[example - 1].label], *b = names[all[example].label];
  ft_show_name(a, strlen(a), first, sizeof first);
  ft_show_name(b, strlen(b), second, sizeof second);
  ft_log(FILTRA_LOG_WARNING,
         "%s: %s \"%s\" and \"%s\"%s are called the same except for case, spaces, what is not "
         "seen, or how a number is written; write them alike if they are one",
         path, what, first, second, alike > 1 ? ", and others," : "");
}

filtra_status ft_warn_of_alike_names(const char *path, const char *what, const char *const *names,
                                     size_t count) {
  folded *all = ft_calloc(count + 1, sizeof *all);
  bool done = all;
  for (size_t i = 0; i < count && done; i++) {
    all[i] = (folded){fold(names[i]), i};
    done = all[i].text;
  }
  if (done) {
    qsort(all, count, sizeof *all, compare_folded);
    say_alike(path, what, names, all, count);
  }
  for (size_t i = 0; i < count && all; i++)
    free(all[i].text);
  free(all);
  return done ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}
