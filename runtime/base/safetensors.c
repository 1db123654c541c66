/* Reads and writes safetensors files, with a CRC-32 in the metadata. Called by
 * graph/parameters_file.c, model/weights.c, model/convert.c and train/ for models, checkpoints and
 * optimizer state. */
#include "base/safetensors.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/overflow.h"
#include "base/stream.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor data is used as it lies on disk");

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100000000 }; /* limit of the reference implementation */
enum { FREE_HEADER_BYTES = 4 << 20 };

static const char metadata_key[] = "__metadata__", sum_key[] = "filtra.crc32";
/* The text before the checksum's digits in the header, and the digits that stand in for them when
 * the checksum is computed. */
static const char sum_text[] = "\"filtra.crc32\":\"", sum_zeros[] = "00000000";
enum { SUM_DIGITS = sizeof sum_zeros - 1 };

typedef struct entry {
  ft_safetensor tensor;
  uint64_t begin, end; /* byte offsets into the data */
  void *copy;          /* aligned copy if the data is unaligned in the file; else NULL */
} entry;

struct ft_safetensors {
  char *content;
  json_t *header; /* owns names and metadata */
  size_t count;
  entry *entries;
};

/* Size in bytes, by shape and type; false if it overflows. */
static bool tensor_bytes(const ft_safetensor *t, uint64_t *bytes) {
  *bytes = filtra_dtype_bytes(t->dtype);
  for (int i = 0; i < t->ndim; i++)
    if (ft_multiply_overflows(*bytes, (uint64_t)t->shape[i], bytes)) return false;
  return true;
}

/* ---- reading ---- */

static filtra_status read_dtype(const json_t *value, filtra_dtype *dtype) {
  const char *name = json_string_value(value);
  if (!name) return ft_fail(FILTRA_ERROR_INPUT, "dtype is missing or not a string");
  if (ft_dtype_find(name, dtype)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "element type %.20s is not supported, accepted are %s", name,
                 ft_dtype_names());
}

static filtra_status read_shape(const json_t *value, ft_safetensor *t) {
  if (!json_is_array(value)) return ft_fail(FILTRA_ERROR_INPUT, "shape is missing or not an array");
  size_t ndim = json_array_size(value);
  if (ndim > FT_SAFETENSORS_MAX_DIMS)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu dimensions, at most %d are accepted", ndim,
                   FT_SAFETENSORS_MAX_DIMS);
  t->ndim = (int)ndim;
  for (int i = 0; i < t->ndim; i++) {
    const json_t *extent = json_array_get(value, (size_t)i);
    if (!json_is_integer(extent) || json_integer_value(extent) < 0)
      return ft_fail(FILTRA_ERROR_INPUT, "dimension %d of shape is not a whole number", i);
    t->shape[i] = json_integer_value(extent);
  }
  return FILTRA_OK;
}

static filtra_status read_offsets(const json_t *value, uint64_t data_size, entry *e) {
  const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
  if (json_array_size(value) != 2 || !json_is_integer(begin) || !json_is_integer(end))
    return ft_fail(FILTRA_ERROR_INPUT, "data_offsets is missing or not a pair of whole numbers");
  int64_t from = json_integer_value(begin), to = json_integer_value(end);
  if (from < 0 || to < from || (uint64_t)to > data_size)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "data_offsets [%lld, %lld] do not lie in the %llu data bytes", (long long)from,
                   (long long)to, (unsigned long long)data_size);
  e->begin = (uint64_t)from;
  e->end = (uint64_t)to;
  return FILTRA_OK;
}

static filtra_status read_entry(const json_t *value, uint64_t data_size, entry *e) {
  ft_safetensor *t = &e->tensor;
  if (!json_is_object(value)) return ft_fail(FILTRA_ERROR_INPUT, "its entry is not an object");
  FT_TRY(read_dtype(json_object_get(value, "dtype"), &t->dtype));
  FT_TRY(read_shape(json_object_get(value, "shape"), t));
  FT_TRY(read_offsets(json_object_get(value, "data_offsets"), data_size, e));
  if (!tensor_bytes(t, &t->bytes))
    return ft_fail(FILTRA_ERROR_INPUT, "its shape has more elements than can be counted");
  if (t->bytes != e->end - e->begin)
    return ft_fail(FILTRA_ERROR_INPUT, "shape and %s need %llu bytes, data_offsets span %llu",
                   filtra_dtype_name(t->dtype), (unsigned long long)t->bytes,
                   (unsigned long long)(e->end - e->begin));
  return FILTRA_OK;
}

static filtra_status check_metadata(const json_t *meta) {
  const char *key;
  json_t *value;
  if (meta && !json_is_object(meta))
    return ft_fail(FILTRA_ERROR_INPUT, "%s is not an object", metadata_key);
  json_object_foreach((json_t *)meta, key, value) {
    if (!json_is_string(value))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: %.100s is not a string", metadata_key, key);
  }
  return FILTRA_OK;
}

static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

/* The tensors must cover the data without overlap or gap. */
static filtra_status check_cover(const ft_safetensors *file, uint64_t data_size) {
  uint64_t end = 0;
  for (size_t i = 0; i < file->count; i++) {
    const entry *e = &file->entries[i];
    if (e->begin != end)
      return ft_fail(FILTRA_ERROR_INPUT, "tensor %.100s begins at data byte %llu, %s at %llu",
                     e->tensor.name, (unsigned long long)e->begin,
                     e->begin < end ? "inside the one before, which ends"
                                    : "leaving a gap after the one before, which ends",
                     (unsigned long long)end);
    end = e->end;
  }
  if (end != data_size)
    return ft_fail(FILTRA_ERROR_INPUT, "the tensors end at data byte %llu, the file has %llu",
                   (unsigned long long)end, (unsigned long long)data_size);
  return FILTRA_OK;
}

static filtra_status point_at_data(ft_safetensors *file, const char *data) {
  for (size_t i = 0; i < file->count; i++) {
    entry *e = &file->entries[i];
    ft_safetensor *t = &e->tensor;
    t->data = data + e->begin;
    if ((uintptr_t)t->data % filtra_dtype_bytes(t->dtype) == 0) continue;
    e->copy = ft_calloc(t->bytes, 1);
    if (!e->copy) return FILTRA_ERROR_HOST_MEMORY;
    t->data = memcpy(e->copy, t->data, t->bytes);
  }
  return FILTRA_OK;
}

static filtra_status read_entries(ft_safetensors *file, uint64_t data_size) {
  const char *name;
  json_t *value;
  file->entries = ft_calloc(json_object_size(file->header), sizeof *file->entries);
  if (!file->entries) return FILTRA_ERROR_HOST_MEMORY;
  json_object_foreach(file->header, name, value) {
    if (!strcmp(name, metadata_key)) continue;
    entry *e = &file->entries[file->count++];
    e->tensor.name = name;
    filtra_status status = read_entry(value, data_size, e);
    if (status) return ft_fail_context(status, "tensor %.100s", name);
  }
  qsort(file->entries, file->count, sizeof *file->entries, compare_entries);
  return check_cover(file, data_size);
}

/* crc32_z takes a size_t; zlib's crc32 takes 32 bits. */
static uint32_t add_to_sum(uint32_t sum, const void *data, size_t size) {
  return (uint32_t)crc32_z(sum, data, size);
}

/* Compares the file with its checksum; files of other programs have none. */
static filtra_status check_sum(const ft_safetensors *file, size_t size) {
  const char *wanted = ft_safetensors_meta(file, sum_key);
  if (!wanted) return FILTRA_OK;
  const char *digits = strstr(file->content + LENGTH_BYTES, sum_text);
  char got[16] = "";
  if (digits) {
    digits += strlen(sum_text);
    size_t before = (size_t)(digits - file->content);
    uint32_t sum = add_to_sum(0, file->content, before);
    sum = add_to_sum(sum, sum_zeros, SUM_DIGITS);
    if (before + SUM_DIGITS <= size)
      sum = add_to_sum(sum, digits + SUM_DIGITS, size - before - SUM_DIGITS);
    snprintf(got, sizeof got, "%08x", sum);
  }
  if (!strcmp(got, wanted)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "damaged: its contents do not have the checksum \"%s\" that was written with them "
                 "(where another program changed them on purpose, let it leave that metadata out)",
                 sum_key);
}

/* Parsing a header takes twenty times its size in memory. One longer than its data is rare, or made
 * to fill memory. */
static uint64_t header_limit(uint64_t data_size) {
  uint64_t limit = ft_limit("FILTRA_HEADER_BYTES", FREE_HEADER_BYTES + data_size);
  return limit < MAX_HEADER_BYTES ? limit : MAX_HEADER_BYTES;
}

static filtra_status check_header(uint64_t header_size, uint64_t data_size) {
  if (header_size <= header_limit(data_size)) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "a header of %llu bytes for %llu bytes of data; at most %llu are accepted; where it "
      "is right, FILTRA_HEADER_BYTES=N in the environment accepts N (at most %d)",
      (unsigned long long)header_size, (unsigned long long)data_size,
      (unsigned long long)header_limit(data_size), MAX_HEADER_BYTES);
}

static filtra_status read_content(ft_safetensors *file, size_t size) {
  static const char POINTER[] = "version https://git-lfs.";
  if (size >= sizeof POINTER && !memcmp(file->content, POINTER, sizeof POINTER - 1))
    return ft_fail(FILTRA_ERROR_INPUT, "a pointer of Git LFS, which only names the file: fetch it "
                                       "with git lfs pull, or download it by itself");
  if (size < LENGTH_BYTES)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu bytes are too few for a safetensors file", size);
  uint64_t header_size;
  memcpy(&header_size, file->content, sizeof header_size);
  if (header_size > size - LENGTH_BYTES || header_size > MAX_HEADER_BYTES)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "not a safetensors file, or truncated: a header of %llu bytes in a file of %zu "
                   "(accepted are at most %d)",
                   (unsigned long long)header_size, size, MAX_HEADER_BYTES);
  const char *header = file->content + LENGTH_BYTES;
  if (header_size == 0 || header[0] != '{')
    return ft_fail(FILTRA_ERROR_INPUT, "not a safetensors file: its header does not begin with {");
  uint64_t data_size = size - LENGTH_BYTES - header_size;
  FT_TRY(check_header(header_size, data_size));
  FT_TRY(ft_json_parse(header, header_size, "header", &file->header));
  FT_TRY(check_metadata(json_object_get(file->header, metadata_key)));
  FT_TRY(read_entries(file, data_size));
  FT_TRY(check_sum(file, size));
  return point_at_data(file, header + header_size);
}

/* Takes ownership of `content`. */
static filtra_status read_file(const char *name, char *content, size_t size, ft_safetensors **out) {
  ft_safetensors *file = *out = ft_calloc(1, sizeof *file);
  if (!file) {
    free(content);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  file->content = content;
  filtra_status status = read_content(file, size);
  if (!status) return FILTRA_OK;
  ft_safetensors_close(out);
  return ft_fail_context(status, "%s", name);
}

filtra_status ft_safetensors_open(const char *path, ft_safetensors **out) {
  char *content;
  size_t size;
  *out = NULL;
  FT_TRY(ft_file_read(path, UINT64_MAX, &content, &size));
  return read_file(path, content, size, out);
}

filtra_status ft_safetensors_copy(const char *name, const void *data, size_t size,
                                  ft_safetensors **out) {
  char *content = ft_calloc(size + 1, 1);
  *out = NULL;
  if (!content) return FILTRA_ERROR_HOST_MEMORY;
  memcpy(content, data, size);
  return read_file(name, content, size, out);
}

void ft_safetensors_close(ft_safetensors **file) {
  ft_safetensors *f = *file;
  if (!f) return;
  for (size_t i = 0; i < f->count; i++)
    free(f->entries[i].copy);
  free(f->entries);
  json_decref(f->header);
  free(f->content);
  free(f);
  *file = NULL;
}

size_t ft_safetensors_count(const ft_safetensors *file) {
  return file->count;
}

const ft_safetensor *ft_safetensors_at(const ft_safetensors *file, size_t index) {
  return index < file->count ? &file->entries[index].tensor : NULL;
}

const ft_safetensor *ft_safetensors_find(const ft_safetensors *file, const char *name) {
  for (size_t i = 0; i < file->count; i++)
    if (!strcmp(file->entries[i].tensor.name, name)) return &file->entries[i].tensor;
  return NULL;
}

const char *ft_safetensors_meta(const ft_safetensors *file, const char *key) {
  return json_string_value(json_object_get(json_object_get(file->header, metadata_key), key));
}

/* ---- writing ---- */

typedef struct writer {
  const ft_safetensor *tensors;
  size_t count;
  json_t *header;
  uint64_t data_size, largest; /* bytes; `largest` of the tensors that a callback fills */
  void *buffer;
  ft_atomic_file file;
  uint32_t sum; /* of all bytes written, with the checksum's own digits as zeros */
} writer;

static void put(writer *w, const void *data, size_t size) {
  w->sum = add_to_sum(w->sum, data, size);
  fwrite(data, 1, size, w->file.stream); /* ft_atomic_commit reports a failure */
}

static filtra_status add_to_header(writer *w, const ft_safetensor *t) {
  uint64_t bytes, begin = w->data_size;
  if (t->ndim < 0 || t->ndim > FT_SAFETENSORS_MAX_DIMS)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "%d dimensions, accepted are 0 to %d", t->ndim,
                   FT_SAFETENSORS_MAX_DIMS);
  for (int i = 0; i < t->ndim; i++)
    if (t->shape[i] < 0)
      return ft_fail(FILTRA_ERROR_ARGUMENT, "dimension %d is %lld", i, (long long)t->shape[i]);
  json_t *shape = json_array();
  bool built = shape;
  for (int i = 0; i < t->ndim; i++)
    built = !json_array_append_new(shape, json_integer(t->shape[i])) && built;
  if (!tensor_bytes(t, &bytes) || ft_add_overflows(begin, bytes, &w->data_size) ||
      w->data_size > INT64_MAX) {
    json_decref(shape);
    return ft_fail(FILTRA_ERROR_ARGUMENT, "its shape has more elements than can be counted");
  }
  if (!t->data && bytes > w->largest) w->largest = bytes;
  json_t *value = json_pack("{s:s, s:o, s:[I,I]}", "dtype", filtra_dtype_name(t->dtype), "shape",
                            shape, "data_offsets", (json_int_t)begin, (json_int_t)w->data_size);
  bool taken = !strcmp(t->name, metadata_key) || json_object_get(w->header, t->name);
  bool valid = ft_utf8_valid(t->name, strlen(t->name));
  bool kept = built && value && valid && !taken && !json_object_set(w->header, t->name, value);
  json_decref(value);
  if (kept) return FILTRA_OK;
  if (valid && !taken) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return ft_fail(FILTRA_ERROR_ARGUMENT, "its name is %s",
                 taken ? "used twice or reserved" : "not UTF-8 text");
}

static filtra_status add_metadata(writer *w, const ft_safetensors_meta_pair *meta, size_t count) {
  json_t *object = json_object();
  if (!object || json_object_set_new(w->header, metadata_key, object) ||
      json_object_set_new(object, sum_key, json_string(sum_zeros)))
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (size_t i = 0; i < count; i++) {
    const char *key = meta[i].key, *value = meta[i].value;
    if (!ft_utf8_valid(key, strlen(key)) || !ft_utf8_valid(value, strlen(value)))
      return ft_fail(FILTRA_ERROR_ARGUMENT, "metadata %.100s is not UTF-8 text", key);
    if (json_object_set_new(object, key, json_string(value)))
      return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  return FILTRA_OK;
}

static filtra_status write_header(writer *w, const char *text) {
  uint64_t padded = (strlen(text) + 7) / 8 * 8;
  if (check_header(padded, w->data_size)) return FILTRA_ERROR_ARGUMENT;
  put(w, &padded, sizeof padded);
  put(w, text, strlen(text));
  put(w, "       ", padded - strlen(text));
  return FILTRA_OK;
}

/* Overwrites the zeros with the digits, then seeks to the end: a memory stream ends where its
 * position is. */
static filtra_status write_sum(writer *w, const char *header) {
  char digits[16];
  long end = ftell(w->file.stream);
  long at = LENGTH_BYTES + (long)(strstr(header, sum_text) + strlen(sum_text) - header);
  snprintf(digits, sizeof digits, "%08x", w->sum);
  if (fseek(w->file.stream, at, SEEK_SET)) /* flushes buffered writes first */
    return ft_fail(FILTRA_ERROR_IO, "cannot write it: %s", strerror(errno));
  fwrite(digits, 1, SUM_DIGITS, w->file.stream);
  if (fseek(w->file.stream, end, SEEK_SET))
    return ft_fail(FILTRA_ERROR_IO, "cannot write it: %s", strerror(errno));
  return FILTRA_OK;
}

static filtra_status write_tensor(writer *w, const ft_safetensor *t) {
  uint64_t bytes;
  tensor_bytes(t, &bytes);
  const void *data = t->data;
  if (!bytes) return FILTRA_OK;
  if (!data) {
    if (!t->fill) return ft_fail(FILTRA_ERROR_ARGUMENT, "it has neither data nor fill");
    FT_TRY(t->fill(t->user, t, w->buffer));
    data = w->buffer;
  }
  put(w, data, bytes);
  return FILTRA_OK;
}

/* Calls `step` on each tensor in the order of their data: widest elements first. */
static filtra_status each_tensor(writer *w,
                                 filtra_status (*step)(writer *, const ft_safetensor *)) {
  for (size_t size = 8; size >= 1; size /= 2) {
    for (size_t i = 0; i < w->count; i++) {
      const ft_safetensor *t = &w->tensors[i];
      if (filtra_dtype_bytes(t->dtype) != size) continue;
      filtra_status status = step(w, t);
      if (status) return ft_fail_context(status, "tensor %.100s", t->name);
    }
  }
  return FILTRA_OK;
}

/* Writes to the open stream if `path` is NULL. */
static filtra_status write_file(writer *w, const char *within, const char *path,
                                const ft_safetensors_meta_pair *meta, size_t meta_count) {
  w->header = json_object();
  if (!w->header) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  FT_TRY(add_metadata(w, meta, meta_count));
  FT_TRY(each_tensor(w, add_to_header));
  w->buffer = ft_calloc(w->largest, 1);
  if (!w->buffer) return FILTRA_ERROR_HOST_MEMORY;
  char *text = ft_json_dumps(w->header, JSON_COMPACT);
  if (!text) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  filtra_status status = path ? ft_atomic_open_in(within, path, &w->file) : FILTRA_OK;
  if (!status) status = write_header(w, text);
  if (!status) status = each_tensor(w, write_tensor);
  if (!status) status = write_sum(w, text);
  free(text);
  return status;
}

filtra_status ft_safetensors_write_in(const char *within, const char *path,
                                      const ft_safetensor *tensors, size_t count,
                                      const ft_safetensors_meta_pair *meta, size_t meta_count) {
  writer w = {.tensors = tensors, .count = count};
  filtra_status status = write_file(&w, within, path, meta, meta_count);
  if (status) {
    ft_fail_context(status, "writing %s", path);
    ft_atomic_abort(&w.file);
  } else {
    status = ft_atomic_commit(&w.file);
  }
  json_decref(w.header);
  free(w.buffer);
  return status;
}

filtra_status ft_safetensors_write(const char *path, const ft_safetensor *tensors, size_t count,
                                   const ft_safetensors_meta_pair *meta, size_t meta_count) {
  return ft_safetensors_write_in(NULL, path, tensors, count, meta, meta_count);
}

filtra_status ft_safetensors_write_memory(const ft_safetensor *tensors, size_t count,
                                          const ft_safetensors_meta_pair *meta, size_t meta_count,
                                          void **bytes, size_t *size) {
  writer w = {.tensors = tensors, .count = count};
  char *text = NULL;
  *bytes = NULL;
  w.file.stream = ft_open_memstream(&text, size);
  if (!w.file.stream) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  filtra_status status = write_file(&w, NULL, NULL, meta, meta_count);
  bool whole = !ferror(w.file.stream);
  whole = !fclose(w.file.stream) && whole;
  if (!status && !whole) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  json_decref(w.header);
  free(w.buffer);
  if (status)
    free(text);
  else
    *bytes = text;
  return status;
}
