/* Zip archives in memory, as NumPy writes them: few entries, stored or deflated, below 4 GiB. */
#ifndef FT_DATA_ZIP_H
#define FT_DATA_ZIP_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ft_zip {
  const uint8_t *bytes;
  size_t size, at; /* size of the archive; place of the next entry's directory record */
  uint32_t left;   /* entries left */
} ft_zip;

typedef struct ft_zip_entry {
  char name[256];
  const uint8_t *packed;
  uint32_t packed_size, size, crc;
  uint16_t method; /* 0: stored; 8: deflated */
} ft_zip_entry;

/** Finds the directory; `bytes` must outlive the archive. Fails with INPUT. */
filtra_status ft_zip_open(const uint8_t *bytes, size_t size, ft_zip *zip);
/** The next entry, while zip->left is not 0. Fails with INPUT for a damaged, encrypted or larger
 * one. */
filtra_status ft_zip_next(ft_zip *zip, ft_zip_entry *entry);
/** Unpacks an entry; caller frees. Fails with INPUT for damaged data and, before allocating memory,
 * for an entry over FILTRA_UNPACKED_TIMES times its packed size plus 64 MiB, see base/source.h. */
filtra_status ft_zip_unpack(const ft_zip_entry *entry, uint8_t **data);

#endif
