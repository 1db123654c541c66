/* Whether matrix units are to be trusted: what their self-test came to on a device and driver
 * (apps/filtra/devices/matrices.c). It is kept in the cache folder beside the tuning, and says
 * which shapes the units have, so that nobody else has to ask the driver. */
#ifndef FT_GPU_MATRIX_H
#define FT_GPU_MATRIX_H

#include "gpu/gpu.h"

#include <jansson.h>

enum { FT_MATRIX_TEXT = 16, FT_MATRIX_REASON = 240 };

typedef struct ft_matrix_verdict {
  bool tested, passed;
  ft_matrix_shape f16, bf16;  /* that passed, of operands of these types; 0: there are none */
  char why[FT_MATRIX_REASON]; /* they did not pass: "the self-test crashed" */
} ft_matrix_verdict;

/** What the cache folder said of the device when it was opened. */
const ft_matrix_verdict *ft_matrix_verdict_of(const filtra_device *dev);
/** Where that is kept; NULL: nowhere. */
const char *ft_matrix_path_of(const filtra_device *dev);

/** "16x16x16"; "none" */
const char *ft_matrix_shape_text(ft_matrix_shape shape, char text[FT_MATRIX_TEXT]);
/** False: it is no shape that kernels can cut tiles into. */
bool ft_matrix_shape_read(const char *text, ft_matrix_shape *shape);

/** The verdict as its file has it; NULL when out of memory. */
json_t *ft_matrix_document(const filtra_device *dev, const ft_matrix_verdict *verdict);
/** Reads such a file, of which everything is checked. Fails with INPUT, also where it is another
 * device's, driver's or library version's. */
filtra_status ft_matrix_parse(const filtra_device *dev, const char *text, size_t size,
                              const char *context, ft_matrix_verdict *out);

#endif
