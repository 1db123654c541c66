/* Reading JSON where memory may run out. Jansson 2.14 does not look at whether its buffer for a
 * string could grow: a byte is missing then, so that a name or a number is another one, or the
 * closing quotation mark is, and it writes behind the end. So while a text is read, allocations
 * that fail are made from a reserve, the text ends there, and what was read is thrown away. */
#include "base/json.h"
#include "base/thread.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* One thread's reading. */
typedef struct reading {
  const char *text, *end;
  char *reserve; /* NULL: nothing is being read */
  char *free, *reserve_end;
  bool starved;
} reading;

static _Thread_local reading now;

/* What allocated before, the application's own functions if it has set some. */
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

/* Again where somebody has set others since. */
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

/* Byte by byte, so that none follows one that there was no memory for. */
static size_t next_byte(void *to, size_t room, void *user) {
  reading *r = user;
  if (!room || r->starved || r->text == r->end) return 0;
  *(char *)to = *r->text++;
  return 1;
}

json_t *ft_json_decode(const char *text, size_t size, size_t flags, json_error_t *error,
                       bool *starved) {
  /* Of the token at hand, the last one: its buffer twice as large, its value and its entry. */
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
