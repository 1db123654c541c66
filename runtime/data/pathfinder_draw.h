/* Drawing one image of the Pathfinder task. */
#ifndef FT_DATA_PATHFINDER_DRAW_H
#define FT_DATA_PATHFINDER_DRAW_H

#include "base/rng.h"
#include "base/status.h"

enum { FT_PATHFINDER_SIDE = 32, FT_PATHFINDER_PIXELS = FT_PATHFINDER_SIDE * FT_PATHFINDER_SIDE };

/** The settings, and images of a paddle (short stroke) in every direction. */
typedef struct ft_pathfinder_style ft_pathfinder_style;

typedef struct ft_pathfinder_shape {
  uint32_t contour_length;    /* paddles of each of the two long contours */
  uint32_t distractor_length; /* paddles of the short ones */
  uint32_t distractors;       /* number of short ones to try */
} ft_pathfinder_shape;

/** NULL when out of memory. Read-only afterwards, so any number of threads may use it. */
ft_pathfinder_style *ft_pathfinder_style_make(const ft_pathfinder_shape *shape);
void ft_pathfinder_style_free(ft_pathfinder_style *style);

/** Draws an image that depends only on style and `rng`. *label is 1 if both markers are on one
 * contour. False: there was no room for contours of that length. */
bool ft_pathfinder_draw(const ft_pathfinder_style *style, ft_rng rng,
                        uint8_t pixels[FT_PATHFINDER_PIXELS], int *label);

#endif
