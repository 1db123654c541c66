/* The safetensors format: 8 bytes of header length, a JSON header, raw little-endian data.
 *
 * Reading is strict: a file that is truncated, whose tensors overlap or leave gaps, or whose shapes
 * and sizes disagree fails with INPUT and a sentence that names file and tensor. Element types are
 * those of filtra_dtype; others are refused by name.
 *
 * Files written here have a CRC-32 of the whole file in their metadata, "filtra.crc32": eight
 * hexadecimal digits, which count as zeros in the sum. Reading checks it if it is there; other
 * readers see one more metadata string.
 */
#ifndef FT_BASE_SAFETENSORS_H
#define FT_BASE_SAFETENSORS_H

#include "base/element.h"
#include "base/status.h"

enum { FT_SAFETENSORS_MAX_DIMS = 8 };

typedef struct ft_safetensor {
  const char *name;
  filtra_dtype dtype;
  int ndim; /* 0: a scalar */
  int64_t shape[FT_SAFETENSORS_MAX_DIMS];
  const void *data; /* aligned to the element size */
  uint64_t bytes;
  /* For writing, when data is NULL: writes the tensor's bytes to `to`. */
  filtra_status (*fill)(void *user, const struct ft_safetensor *tensor, void *to);
  void *user;
} ft_safetensor;

/** A string of the header's "__metadata__". */
typedef struct ft_safetensors_meta_pair {
  const char *key, *value;
} ft_safetensors_meta_pair;

typedef struct ft_safetensors ft_safetensors;

/** Reads and checks a whole file. Tensors stay valid until it is closed. */
filtra_status ft_safetensors_open(const char *path, ft_safetensors **out);
/** As ft_safetensors_open, from a file's content in memory, which is copied; errors call it
 * `name`. */
filtra_status ft_safetensors_copy(const char *name, const void *data, size_t size,
                                  ft_safetensors **out);
/** Sets *file to NULL. */
void ft_safetensors_close(ft_safetensors **file);

/** Tensors, in the order of their data. */
size_t ft_safetensors_count(const ft_safetensors *file);
const ft_safetensor *ft_safetensors_at(const ft_safetensors *file, size_t index);
/** NULL when there is no tensor of that name. */
const ft_safetensor *ft_safetensors_find(const ft_safetensors *file, const char *name);
/** NULL when there is no such key. */
const char *ft_safetensors_meta(const ft_safetensors *file, const char *key);

/** Writes a file atomically, wider elements first, so that all data are aligned. `bytes` of the
 * tensors need not be set. */
filtra_status ft_safetensors_write(const char *path, const ft_safetensor *tensors, size_t count,
                                   const ft_safetensors_meta_pair *meta, size_t meta_count);
/** As ft_safetensors_write. Follows no link below `within` (ft_atomic_open_in); `within` NULL: a
 * path that a person gave. */
filtra_status ft_safetensors_write_in(const char *within, const char *path,
                                      const ft_safetensor *tensors, size_t count,
                                      const ft_safetensors_meta_pair *meta, size_t meta_count);
/** As ft_safetensors_write, to memory that the caller frees. */
filtra_status ft_safetensors_write_memory(const ft_safetensor *tensors, size_t count,
                                          const ft_safetensors_meta_pair *meta, size_t meta_count,
                                          void **bytes, size_t *size);

#endif
