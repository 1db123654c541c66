/* Lists of parameter names for messages. */
#ifndef FT_MODEL_NOTED_H
#define FT_MODEL_NOTED_H

#include <stddef.h>

/** Names of parameters as a list that joins consecutive layers: layers.0-5.norm1.weight. All zero
 * is an empty list. */
typedef struct ft_noted {
  char text[400];
  struct ft_noted_name {
    const char *rest; /* what follows the layer's number; without a layer, the name */
    long first, last; /* layers; -1: none */
  } names[64];
  size_t count, dropped;
} ft_noted;

/** Adds a name, which must outlive the list. Layers must come in ascending order. */
void ft_note(ft_noted *list, const char *name);
/** The list as text, valid as long as the list; names that do not fit are counted. */
const char *ft_noted_text(ft_noted *list);

#endif
