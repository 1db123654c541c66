/* Cached documents of one device, driver and library version (gpu/identity.c). */
#ifndef FT_GPU_IDENTITY_H
#define FT_GPU_IDENTITY_H

#include "gpu/gpu.h"

#include <jansson.h>

/** File of this device's document of a kind, below `folder`; caller frees; NULL on failure (message
 * set). */
char *ft_document_path(const filtra_device *dev, const char *folder, const char *kind);
/** A document with the identity of device, driver and library only; NULL when out of memory. */
json_t *ft_document_new(const filtra_device *dev, const char *format);
/** Fails with INPUT if `root` does not have that format, or belongs to another device, driver or
 * library version, which sets *foreign. `what` names the document in errors, which begin with
 * `context`. */
filtra_status ft_document_check(const filtra_device *dev, const json_t *root, const char *format,
                                const char *what, const char *context, bool *foreign);

#endif
