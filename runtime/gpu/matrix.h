/* The verdict of the self-test on a device's matrix units (apps/filtra/devices/matrices.c): whether
 * they are used, and their shapes. Stored in the cache folder beside the tuning, so that opening a
 * device need not ask the driver for shapes. */
#ifndef FT_GPU_MATRIX_H
#define FT_GPU_MATRIX_H

#include "gpu/gpu.h"

#include <jansson.h>

enum { FT_MATRIX_TEXT = 16, FT_MATRIX_REASON = 240 };

typedef struct ft_matrix_verdict {
  bool tested, passed;
  ft_matrix_shape f16, bf16;  /* shapes that passed, by type of operands; 0: none */
  char why[FT_MATRIX_REASON]; /* why not: "the self-test crashed" */
} ft_matrix_verdict;

/** The verdict in the cache folder when the device was opened. */
const ft_matrix_verdict *ft_matrix_verdict_of(const filtra_device *dev);
/** Warns, once for each open device, if 16 bits are computed without its matrix units only because
 * nobody has tested them. */
void ft_matrix_say_untested(filtra_device *dev);
/** Path of its file; NULL: no cache. */
const char *ft_matrix_path_of(const filtra_device *dev);

/** "16x16x16" or "none". */
const char *ft_matrix_shape_text(ft_matrix_shape shape, char text[FT_MATRIX_TEXT]);
/** Reads a shape; false if kernels cannot divide tiles into it. */
bool ft_matrix_shape_read(const char *text, ft_matrix_shape *shape);

/** The verdict as JSON for its file; NULL when out of memory. */
json_t *ft_matrix_document(const filtra_device *dev, const ft_matrix_verdict *verdict);
/** Reads and checks such a file. Fails with INPUT, also for another device, driver or library
 * version. */
filtra_status ft_matrix_parse(const filtra_device *dev, const char *text, size_t size,
                              const char *context, ft_matrix_verdict *out);

#endif
