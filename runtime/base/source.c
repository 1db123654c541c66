/* Reads files that may be gzip-compressed (RFC 1952), with a limit on how much they expand. Called
 * by base/lines.c and the readers of data/. */
#include "base/source.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNK_BYTES = 1 << 16 };

/* Accepted expansion: this many times the packed size, plus this many bytes. Text compresses 3 to
 * 10 times; only data made to fill memory compress 1000 times. */
enum { UNPACKED_TIMES = 20, UNPACKED_MORE = 64 << 20 };

struct ft_source {
  FILE *stream;
  const char *path;
  unsigned char *chunk; /* read from the file, not yet returned */
  size_t at, end;
  bool looked;           /* the first two bytes were checked */
  bool packed, inside;   /* the file is gzip; within a gzip member */
  uint64_t taken, given; /* bytes in, packed; bytes out, unpacked */
  z_stream zlib;
};

filtra_status ft_source_open(const char *path, ft_source **source) {
  FILE *stream;
  *source = NULL;
  FT_TRY(ft_file_open(path, &stream));
  return ft_source_open_stream(stream, path, source);
}

filtra_status ft_source_open_stream(FILE *stream, const char *path, ft_source **source) {
  ft_source *s = *source = ft_calloc(1, sizeof *s);
  if (!s) {
    fclose(stream);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  *s = (ft_source){.stream = stream, .path = path, .chunk = ft_realloc(NULL, CHUNK_BYTES, 1)};
  if (s->chunk) return FILTRA_OK;
  ft_source_close(source);
  return FILTRA_ERROR_HOST_MEMORY;
}

void ft_source_close(ft_source **source) {
  ft_source *s = *source;
  if (!s) return;
  if (s->packed) inflateEnd(&s->zlib);
  fclose(s->stream);
  free(s->chunk);
  free(s);
  *source = NULL;
}

/* Appends the next bytes of the file; none at its end. */
static filtra_status refill(ft_source *s, size_t *got) {
  if (s->at == s->end) s->at = s->end = 0;
  FT_TRY(ft_stream_read(s->stream, s->path, s->chunk + s->end, CHUNK_BYTES - s->end, got));
  s->end += *got;
  return FILTRA_OK;
}

/* Checks the first two bytes for gzip's magic (RFC 1952). */
static filtra_status look(ft_source *s) {
  for (size_t got = 1; s->end < 2 && got > 0;)
    FT_TRY(refill(s, &got));
  s->looked = true;
  if (s->end < 2 || s->chunk[0] != 0x1f || s->chunk[1] != 0x8b) return FILTRA_OK;
  if (inflateInit2(&s->zlib, 15 + 16) != Z_OK)
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory: unpacking %s", s->path);
  s->packed = s->inside = true;
  return FILTRA_OK;
}

static filtra_status fail_unpacking(const ft_source *s) {
  return ft_fail(FILTRA_ERROR_INPUT, "%s: the gzip data is damaged: %s", s->path,
                 s->zlib.msg ? s->zlib.msg : "unknown reason");
}

filtra_status ft_check_unpacked(const char *name, uint64_t packed, uint64_t unpacked) {
  const uint64_t times = ft_limit("FILTRA_UNPACKED_TIMES", UNPACKED_TIMES);
  if (unpacked / times <= packed + UNPACKED_MORE / times) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: what is packed becomes more than %llu times as long; where that is right, "
                 "FILTRA_UNPACKED_TIMES=N in the environment accepts N times",
                 name, (unsigned long long)times);
}

/* Unpacks some bytes; *got may be 0 before the end. */
static filtra_status unpack(ft_source *s, void *data, size_t size, size_t *got) {
  s->zlib.next_in = s->chunk + s->at;
  s->zlib.avail_in = (uInt)(s->end - s->at);
  s->zlib.next_out = data;
  s->zlib.avail_out = size < CHUNK_BYTES ? (uInt)size : CHUNK_BYTES;
  uInt room = s->zlib.avail_out;
  int result = inflate(&s->zlib, Z_NO_FLUSH);
  s->taken += s->end - s->zlib.avail_in - s->at;
  s->at = s->end - s->zlib.avail_in;
  *got = room - s->zlib.avail_out;
  s->given += *got;
  FT_TRY(ft_check_unpacked(s->path, s->taken, s->given));
  if (result == Z_STREAM_END) s->inside = false;
  if (result == Z_MEM_ERROR)
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory: unpacking %s", s->path);
  return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? FILTRA_OK
                                                                           : fail_unpacking(s);
}

/* Starts the next gzip member, if more bytes follow the last one. */
static filtra_status next_member(ft_source *s) {
  if (s->at == s->end || s->inside) return FILTRA_OK;
  s->inside = true;
  return inflateReset(&s->zlib) == Z_OK ? FILTRA_OK : fail_unpacking(s);
}

static filtra_status read_packed(ft_source *s, void *data, size_t size, size_t *got) {
  for (*got = 0; *got == 0;) {
    size_t more = 1;
    if (s->at == s->end) FT_TRY(refill(s, &more));
    if (more == 0 && s->inside)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: the gzip data stops before its end", s->path);
    if (more == 0) return FILTRA_OK;
    FT_TRY(next_member(s));
    FT_TRY(unpack(s, data, size, got));
  }
  return FILTRA_OK;
}

filtra_status ft_source_read(ft_source *s, void *data, size_t size, size_t *got) {
  *got = 0;
  if (!s->looked) FT_TRY(look(s));
  if (s->packed) return read_packed(s, data, size, got);
  size_t more = 1;
  if (s->at == s->end) FT_TRY(refill(s, &more));
  *got = s->end - s->at < size ? s->end - s->at : size;
  memcpy(data, s->chunk + s->at, *got);
  s->at += *got;
  return FILTRA_OK;
}

filtra_status ft_source_fill(ft_source *s, void *data, size_t size, size_t *got) {
  *got = 0;
  for (size_t some = 1; *got < size && some > 0; *got += some)
    FT_TRY(ft_source_read(s, (char *)data + *got, size - *got, &some));
  return FILTRA_OK;
}
