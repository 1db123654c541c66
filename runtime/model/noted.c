/* Short lists of parameter names. Called by start.c. */
#include "model/noted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ft_note(ft_noted *list, const char *name) {
  static const char LAYERS[] = "layers.";
  char *rest = (char *)name;
  long layer = -1;
  if (!strncmp(name, LAYERS, strlen(LAYERS))) layer = strtol(name + strlen(LAYERS), &rest, 10);
  for (size_t i = 0; i < list->count; i++) {
    struct ft_noted_name *own = &list->names[i];
    if (strcmp(own->rest, rest) != 0 || (layer != own->last && layer != own->last + 1)) continue;
    own->last = layer;
    return;
  }
  if (list->count == sizeof list->names / sizeof *list->names)
    list->dropped++;
  else
    list->names[list->count++] = (struct ft_noted_name){rest, layer, layer};
}

static void write_name(const struct ft_noted_name *n, char *text, size_t size) {
  if (n->first < 0)
    snprintf(text, size, "%s", n->rest);
  else if (n->last == n->first)
    snprintf(text, size, "layers.%ld%s", n->first, n->rest);
  else
    snprintf(text, size, "layers.%ld-%ld%s", n->first, n->last, n->rest);
}

const char *ft_noted_text(ft_noted *list) {
  enum { REST = 32 }; /* room for the number of names left out */
  size_t used = 0, i = 0;
  for (char one[256]; i < list->count; i++) {
    write_name(&list->names[i], one, sizeof one);
    if (used + strlen(one) + REST >= sizeof list->text) break;
    used +=
        (size_t)snprintf(list->text + used, sizeof list->text - used, "%s%s", i ? ", " : "", one);
  }
  const size_t more = list->count - i + list->dropped;
  if (more) snprintf(list->text + used, sizeof list->text - used, " and %zu more", more);
  return list->text;
}
