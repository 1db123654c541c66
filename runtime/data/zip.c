/* Reads zip archives: the directory at the end, then entries. The input is not trusted. Called by
 * numpy.c. */
#include "data/zip.h"

#include "base/memory.h"
#include "base/source.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint32_t number_at(const uint8_t *bytes, int count) {
  uint32_t x = 0;
  for (int i = count - 1; i >= 0; i--)
    x = x << 8 | bytes[i];
  return x;
}

static filtra_status fail_damaged(void) {
  return ft_fail(FILTRA_ERROR_INPUT, "a damaged zip archive");
}

/* The last record tells where the directory is; a comment may follow it. */
filtra_status ft_zip_open(const uint8_t *bytes, size_t size, ft_zip *zip) {
  enum { END = 22, COMMENT = 65535 };
  *zip = (ft_zip){.bytes = bytes, .size = size};
  for (size_t back = END; back <= size && back <= END + COMMENT; back++) {
    const uint8_t *end = bytes + size - back;
    if (memcmp(end, "PK\5\6", 4) != 0) continue;
    zip->left = number_at(end + 10, 2);
    zip->at = number_at(end + 16, 4);
    if (zip->left == UINT16_MAX || zip->at == UINT32_MAX)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "a zip archive of 4 GiB or more; save the arrays as .npy files");
    return zip->at <= size ? FILTRA_OK : fail_damaged();
  }
  return ft_fail(FILTRA_ERROR_INPUT, "a zip archive without its end");
}

/* Finds an entry's data after its local header, whose name and extra field may differ in length
 * from the directory's. */
static filtra_status find_data(const ft_zip *zip, size_t header, ft_zip_entry *e) {
  enum { HEADER = 30 };
  if (header > zip->size || zip->size - header < HEADER) return fail_damaged();
  const uint8_t *h = zip->bytes + header;
  size_t around = HEADER + number_at(h + 26, 2) + number_at(h + 28, 2);
  if (memcmp(h, "PK\3\4", 4) != 0 || zip->size - header < around ||
      zip->size - header - around < e->packed_size)
    return fail_damaged();
  e->packed = h + around;
  return FILTRA_OK;
}

filtra_status ft_zip_next(ft_zip *zip, ft_zip_entry *e) {
  enum { RECORD = 46 };
  if (zip->size - zip->at < RECORD) return fail_damaged();
  const uint8_t *r = zip->bytes + zip->at;
  size_t name = number_at(r + 28, 2),
         all = RECORD + name + number_at(r + 30, 2) + number_at(r + 32, 2);
  if (memcmp(r, "PK\1\2", 4) != 0 || zip->size - zip->at < all) return fail_damaged();
  if (name >= sizeof e->name) return ft_fail(FILTRA_ERROR_INPUT, "a name of %zu bytes", name);
  *e = (ft_zip_entry){.method = (uint16_t)number_at(r + 10, 2),
                      .crc = number_at(r + 16, 4),
                      .packed_size = number_at(r + 20, 4),
                      .size = number_at(r + 24, 4)};
  memcpy(e->name, r + RECORD, name);
  if (number_at(r + 8, 2) & 1) return ft_fail(FILTRA_ERROR_INPUT, "\"%s\" is encrypted", e->name);
  if (e->size == UINT32_MAX || e->packed_size == UINT32_MAX)
    return ft_fail(FILTRA_ERROR_INPUT, "\"%s\" has 4 GiB or more; save it as a .npy file", e->name);
  zip->at += all;
  zip->left--;
  return find_data(zip, number_at(r + 42, 4), e);
}

static bool inflate_all(const ft_zip_entry *e, uint8_t *to) {
  z_stream z = {.next_in = (Bytef *)e->packed, .avail_in = e->packed_size, .avail_out = e->size};
  z.next_out = to;
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return false;
  int result = inflate(&z, Z_FINISH);
  inflateEnd(&z);
  return result == Z_STREAM_END && z.avail_out == 0;
}

static filtra_status fail_entry(const ft_zip_entry *e) {
  return ft_fail(FILTRA_ERROR_INPUT, "\"%s\" is damaged", e->name);
}

filtra_status ft_zip_unpack(const ft_zip_entry *e, uint8_t **data) {
  enum { DEFLATED = 8, MOST = 1032 /* largest expansion by deflate */ };
  *data = NULL;
  if (e->method != 0 && e->method != DEFLATED)
    return ft_fail(FILTRA_ERROR_INPUT, "\"%s\" is packed by method %d; 0 and 8 are read", e->name,
                   e->method);
  FT_TRY(ft_check_unpacked(e->name, e->packed_size, e->size));
  if (e->size / (e->method ? MOST : 1) > e->packed_size) return fail_entry(e);
  uint8_t *to = ft_calloc((size_t)e->size + 1, 1);
  if (!to) return FILTRA_ERROR_HOST_MEMORY;
  bool whole = e->method ? inflate_all(e, to) : e->size == e->packed_size;
  if (whole && !e->method) memcpy(to, e->packed, e->size);
  if (whole && crc32(0, to, e->size) == e->crc) {
    *data = to;
    return FILTRA_OK;
  }
  free(to);
  return fail_entry(e);
}
