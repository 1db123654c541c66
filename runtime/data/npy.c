/* Reads arrays as NumPy writes them: a magic word, a version, and a header that is a Python
 * dictionary of type ('descr'), order ('fortran_order') and 'shape'. The input is not trusted.
 * Called by numpy.c. */
#include "data/npy.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the header ---- */

/* The text after a key of the dictionary; NULL if it is missing. */
static const char *value_of(const char *header, const char *key) {
  const char *at = strstr(header, key);
  if (at) at = strchr(at, ':');
  return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static filtra_status fail_type(const char *type) {
  int length = (int)strcspn(type, ",}");
  if (length > 40) length = 40;
  if (strchr(type, 'O') && strchr(type, 'O') < type + length)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "an array of Python objects (dtype object), which are pickled and could run "
                   "code; save numbers or text, by X.astype(float) or y.astype(str)");
  return ft_fail(FILTRA_ERROR_INPUT,
                 "an array of type %.*s; bool, int8 to int64, uint8 to uint64, float16 to float64, "
                 "and text (U, S) are read",
                 length, type);
}

/* Reads a type such as '<f4': byte order, kind and size (characters for U). */
static filtra_status read_type(const char *type, ft_npy *npy) {
  static const char SIZES[][8] = {"b1", "i1248", "u1248", "f248"};
  enum { LONGEST_TEXT = 1 << 16 };
  char *end;
  if (!type || (*type != '\'' && *type != '"') || !strchr("<>|=", type[1]) || !type[2])
    return fail_type(type ? type : "");
  npy->swapped = type[1] == '>';
  npy->kind = type[2];
  unsigned long size = strtoul(type + 3, &end, 10);
  if (*end != *type) return fail_type(type);
  bool text = npy->kind == 'U' || npy->kind == 'S', known = text && size >= 1;
  for (size_t i = 0; i < FT_COUNT(SIZES); i++)
    known = known || (*SIZES[i] == npy->kind && size < 10 && strchr(SIZES[i] + 1, '0' + (int)size));
  if (!known || size > LONGEST_TEXT) return fail_type(type);
  npy->size = (uint32_t)size * (npy->kind == 'U' ? 4 : 1);
  return FILTRA_OK;
}

/* Reads a shape such as (60000, 28, 28) or (5,). */
static filtra_status read_shape(const char *text, ft_npy *npy) {
  if (!text || *text != '(') return ft_fail(FILTRA_ERROR_INPUT, "its header has no shape");
  for (text++; *text != ')'; npy->dimensions++) {
    char *end;
    text += strspn(text, " ");
    if (*text < '0' || *text > '9')
      return ft_fail(FILTRA_ERROR_INPUT, "its header has a damaged shape");
    if (npy->dimensions == FT_NPY_DIMENSIONS)
      return ft_fail(FILTRA_ERROR_INPUT, "an array of more than %d dimensions", FT_NPY_DIMENSIONS);
    npy->shape[npy->dimensions] = strtoull(text, &end, 10);
    if (!npy->shape[npy->dimensions] || npy->shape[npy->dimensions] > UINT32_MAX)
      return ft_fail(FILTRA_ERROR_INPUT, "an array with a side of %.*s", (int)(end - text), text);
    text = end + strspn(end, ", ");
  }
  if (npy->dimensions > 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "a single number; an array is expected");
}

static filtra_status read_header(const char *header, ft_npy *npy) {
  const char *order = value_of(header, "fortran_order");
  if (!order || (strncmp(order, "True", 4) != 0 && strncmp(order, "False", 5) != 0))
    return ft_fail(FILTRA_ERROR_INPUT, "its header has no fortran_order");
  npy->fortran = *order == 'T';
  FT_TRY(read_type(value_of(header, "descr"), npy));
  return read_shape(value_of(header, "shape"), npy);
}

/* Whether the data have exactly as many bytes as shape and type require. */
static filtra_status check_size(const ft_npy *npy, size_t left) {
  uint64_t bytes = npy->size;
  for (uint32_t k = 0; k < npy->dimensions && bytes <= left; k++)
    bytes = npy->shape[k] > left / bytes ? (uint64_t)left + 1 : bytes * npy->shape[k];
  if (bytes == left) return FILTRA_OK;
  char shown[96];
  ft_npy_describe(npy, shown);
  return ft_fail(FILTRA_ERROR_INPUT, "%zu bytes of data %s an array of %s", left,
                 bytes > left ? "are too few for" : "are too many for", shown);
}

filtra_status ft_npy_read(const uint8_t *bytes, size_t size, ft_npy *npy) {
  enum { MAGIC = 6, LONGEST = 4096 };
  char header[LONGEST + 1] = "";
  *npy = (ft_npy){.shape = {1, 1, 1, 1}};
  if (size < MAGIC + 4 || memcmp(bytes, "\x93NUMPY", MAGIC) != 0)
    return ft_fail(FILTRA_ERROR_INPUT, "no NumPy array (.npy)");
  if (bytes[MAGIC] < 1 || bytes[MAGIC] > 3)
    return ft_fail(FILTRA_ERROR_INPUT, "a NumPy array of version %d; 1 to 3 are read",
                   bytes[MAGIC]);
  size_t word = bytes[MAGIC] == 1 ? 2 : 4, length = 0, start = MAGIC + 2 + word;
  for (size_t i = 0; i < word && MAGIC + 2 + i < size; i++)
    length |= (size_t)bytes[MAGIC + 2 + i] << 8 * i;
  if (start > size || length > size - start || length > LONGEST)
    return ft_fail(FILTRA_ERROR_INPUT, "a header of %zu bytes, in a NumPy array of %zu", length,
                   size);
  memcpy(header, bytes + start, length);
  FT_TRY(read_header(header, npy));
  npy->data = bytes + start + length;
  return check_size(npy, size - start - length);
}

void ft_npy_describe(const ft_npy *npy, char text[96]) {
  const char *kind = npy->kind == 'b'   ? "bool"
                     : npy->kind == 'i' ? "int"
                     : npy->kind == 'u' ? "uint"
                     : npy->kind == 'f' ? "float"
                                        : "text";
  bool number = npy->kind == 'i' || npy->kind == 'u' || npy->kind == 'f';
  int used = number ? sprintf(text, "%s%u (", kind, 8 * npy->size) : sprintf(text, "%s (", kind);
  for (uint32_t k = 0; k < npy->dimensions; k++)
    used += sprintf(text + used, "%s%llu", k ? ", " : "", (unsigned long long)npy->shape[k]);
  sprintf(text + used, npy->dimensions == 1 ? ",)" : ")");
}

/* ---- elements ---- */

uint64_t ft_npy_at(const ft_npy *npy, const uint64_t index[FT_NPY_DIMENSIONS]) {
  uint64_t at = 0;
  for (int i = 0; i < FT_NPY_DIMENSIONS; i++) {
    int k = npy->fortran ? FT_NPY_DIMENSIONS - 1 - i : i;
    at = at * npy->shape[k] + index[k];
  }
  return at;
}

/* The bits of a number, in this machine's order. */
static uint64_t bits_at(const ft_npy *npy, uint64_t at) {
  const uint8_t *from = npy->data + at * npy->size;
  uint64_t bits = 0;
  for (uint32_t i = 0; i < npy->size; i++)
    bits |= (uint64_t)from[i] << 8 * (npy->swapped ? npy->size - 1 - i : i);
  return bits;
}

static double half(uint64_t bits) {
  const int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
  double x = exponent == 31
                 ? (mantissa ? NAN : INFINITY)
                 : ldexp(mantissa + (exponent ? 1024 : 0), (exponent ? exponent : 1) - 25);
  return bits >> 15 ? -x : x;
}

static int64_t whole(const ft_npy *npy, uint64_t at) {
  uint32_t unused = (64 - 8 * npy->size) % 64; /* unused bits; the shifts extend the sign */
  return (int64_t)(bits_at(npy, at) << unused) >> unused;
}

double ft_npy_number(const ft_npy *npy, uint64_t at) {
  uint64_t bits = bits_at(npy, at);
  uint32_t low = (uint32_t)bits;
  float single;
  double number;
  if (npy->kind == 'i') return (double)whole(npy, at);
  if (npy->kind != 'f') return (double)bits;
  memcpy(&single, &low, sizeof single);
  memcpy(&number, &bits, sizeof number);
  return npy->size == 2 ? half(bits) : npy->size == 4 ? (double)single : number;
}

/* A text ends at the first NUL, with which elements are padded. */
static filtra_status read_text(const ft_npy *npy, uint64_t at, char text[FT_NPY_TEXT]) {
  const ft_npy characters = {.kind = 'u',
                             .size = npy->kind == 'U' ? 4 : 1,
                             .swapped = npy->swapped,
                             .data = npy->data + at * npy->size};
  size_t used = 0;
  for (uint32_t i = 0; i < npy->size / characters.size; i++) {
    uint32_t c = (uint32_t)bits_at(&characters, i);
    if (!c) break;
    if (used + 5 > FT_NPY_TEXT) return ft_fail(FILTRA_ERROR_INPUT, "a text of over 1000 bytes");
    if (npy->kind == 'U' && c <= 0x10ffff)
      used += ft_utf8_write(c, text + used);
    else
      text[used++] = (char)c;
  }
  text[used] = '\0';
  return FILTRA_OK;
}

filtra_status ft_npy_text(const ft_npy *npy, uint64_t at, char text[FT_NPY_TEXT]) {
  if (npy->kind == 'U' || npy->kind == 'S') return read_text(npy, at, text);
  if (npy->kind == 'b')
    strcpy(text, bits_at(npy, at) ? "True" : "False");
  else if (npy->kind == 'i')
    sprintf(text, "%lld", (long long)whole(npy, at));
  else
    sprintf(text, "%llu", (unsigned long long)bits_at(npy, at));
  return FILTRA_OK;
}
