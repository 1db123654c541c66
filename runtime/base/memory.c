#include "base/memory.h"

#include "base/number.h"
#include "base/overflow.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long countdown; /* allocations until one fails, for tests; 0 or less: none fails */

void ft_memory_fail_after(long n) {
  atomic_store(&countdown, n);
}

static bool injected_failure(void) {
  return atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

/* All allocations go through here. Never asks for zero bytes, so NULL always means failure. */
static void *allocate(void *old, size_t count, size_t size) {
  uint64_t bytes;
  if (ft_multiply_overflows(count, size, &bytes) || bytes > PTRDIFF_MAX) {
    ft_fail(FILTRA_ERROR_HOST_MEMORY, "%zu elements of %zu bytes are more than can be addressed",
            count, size);
    return NULL;
  }
  if (bytes == 0) bytes = 1;
  void *block = NULL;
  if (!injected_failure()) block = old ? realloc(old, (size_t)bytes) : calloc(1, (size_t)bytes);
  if (!block)
    ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory allocating %zu bytes", (size_t)bytes);
  return block;
}

void *ft_calloc(size_t count, size_t size) {
  return allocate(NULL, count, size);
}

void *ft_realloc(void *pointer, size_t count, size_t size) {
  return allocate(pointer, count, size);
}

char *ft_strdup(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = ft_calloc(bytes, 1);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

char *ft_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = ft_print_list(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) {
    ft_fail(FILTRA_ERROR_ARGUMENT, "text cannot be formatted with \"%s\"", format);
    return NULL;
  }
  char *text = ft_calloc((size_t)length + 1, 1);
  if (!text) return NULL;
  va_start(arguments, format);
  ft_print_list(text, (size_t)length + 1, format, arguments);
  va_end(arguments);
  return text;
}

filtra_status ft_grow(void *data, size_t count, size_t *capacity, size_t element_size) {
  if (count < *capacity) return FILTRA_OK;
  size_t wanted = *capacity < 8 ? 8 : *capacity + *capacity / 2;
  if (wanted <= count) wanted = count + 1;
  void *block;
  memcpy(&block, data, sizeof block); /* memcpy, since the pointer is not a void * */
  block = ft_realloc(block, wanted, element_size);
  if (!block) return FILTRA_ERROR_HOST_MEMORY;
  memcpy(data, &block, sizeof block);
  *capacity = wanted;
  return FILTRA_OK;
}

uint64_t ft_limit(const char *variable, uint64_t usual) {
  const char *text = getenv(variable);
  char *end = NULL;
  uint64_t limit = text ? strtoull(text, &end, 10) : 0;
  return limit && !*end ? limit : usual;
}

void ft_free_names(char **names, size_t count) {
  for (size_t i = 0; i < count; i++)
    free(names[i]);
  free(names);
}
