/* Reads JSON safely when memory runs out. Jansson 2.14 does not check whether its string buffer
 * could grow: it loses a byte, which changes a name or a number, or loses the closing quotation
 * mark and then writes past the end. So while a text is read, failed allocations are served from a
 * reserve, the text ends at that point, and the result is discarded. */
#include "base/json.h"
#include "base/thread.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* State of the read in progress, per thread. */
typedef struct reading {
  const char *text, *end;
  char *reserve; /* NULL: no read in progress */
  char *free, *reserve_end;
  bool starved;
} reading;

static _Thread_local reading now;

/* The previous allocator: malloc, or what the application set. */
static json_malloc_t allocate_below = malloc;
static json_free_t free_below = free;
static ft_mutex hooking = FT_MUTEX_INIT;

static void *allocate(size_t size) {
  enum { ALIGN = 16 };
  void *p = allocate_below(size);
  if (p || !now.reserve) return p;
  now.starved = true;
  size = (size + ALIGN - 1) / ALIGN * ALIGN;
  if (size > (size_t)(now.reserve_end - now.free)) return NULL;
  p = now.free;
  now.free += size;
  return p;
}

static void release(void *p) {
  const char *at = p;
  if (now.reserve && at >= now.reserve && at < now.reserve_end) return;
  free_below(p);
}

/* Installs our allocator, again if the application has set another one since. */
static void hook(void) {
  json_malloc_t allocates;
  json_free_t frees;
  ft_lock(&hooking);
  json_get_alloc_funcs(&allocates, &frees);
  if (allocates != allocate) {
    allocate_below = allocates;
    free_below = frees;
    json_set_alloc_funcs(allocate, release);
  }
  ft_unlock(&hooking);
}

/* Supplies one byte at a time, so that no byte follows one for which memory was lacking. */
static size_t next_byte(void *to, size_t room, void *user) {
  reading *r = user;
  if (!room || r->starved || r->text == r->end) return 0;
  *(char *)to = *r->text++;
  return 1;
}

json_t *ft_json_decode(const char *text, size_t size, size_t flags, json_error_t *error,
                       bool *starved) {
  /* Enough for the last token: its doubled buffer, its value and its entry in the object. */
  const size_t bytes = 6 * size + 4096;
  char *reserve = malloc(bytes);
  *starved = !reserve;
  if (!reserve) return NULL;
  hook();
  now = (reading){.text = text,
                  .end = text + size,
                  .reserve = reserve,
                  .free = reserve,
                  .reserve_end = reserve + bytes};
  json_t *root = json_load_callback(next_byte, &now, flags, error);
  *starved = now.starved || (!root && json_error_code(error) == json_error_out_of_memory);
  if (*starved) {
    json_decref(root);
    root = NULL;
  }
  now = (reading){0};
  free(reserve);
  return root;
}

filtra_status ft_json_unpack(json_t *value, const char *context, const char *format, ...) {
  json_error_t error;
  va_list arguments;
  va_start(arguments, format);
  int failed = json_vunpack_ex(value, &error, 0, format, arguments);
  va_end(arguments);
  if (!failed) return FILTRA_OK;
  if (json_error_code(&error) != json_error_out_of_memory) return FILTRA_ERROR_INPUT;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory: reading %s", context);
}
