/* Parameters named in a message. */
#ifndef FT_MODEL_NOTED_H
#define FT_MODEL_NOTED_H

#include <stddef.h>

/** Names of parameters as a list, in which those of layers that follow one another are one:
 * layers.0-5.norm1.weight. All zero is an empty list. */
typedef struct ft_noted {
  char text[400];
  struct ft_noted_name {
    const char *rest; /* of a layer's parameter what follows the number; else the name */
    long first, last; /* layers; -1: none */
  } names[64];
  size_t count, dropped;
} ft_noted;

/** Adds a name, which must outlive the list; of layers in ascending order. */
void ft_note(ft_noted *list, const char *name);
/** The list as text, which lives as long; names that do not fit are counted. */
const char *ft_noted_text(ft_noted *list);

#endif
