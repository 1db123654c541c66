/* Counts the allocated bytes of heap, whoever allocates them. */
#include "fuzz.h"

#include <malloc.h>
#include <stdatomic.h>

static atomic_long held, peak;

static void add(long bytes) {
  long now = atomic_fetch_add_explicit(&held, bytes, memory_order_relaxed) + bytes;
  long most = atomic_load_explicit(&peak, memory_order_relaxed);
  while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
  }
}

void fuzz_memory_begin(void) {
  atomic_store(&held, 0);
  atomic_store(&peak, 0);
}

size_t fuzz_memory_peak(void) {
  return (size_t)atomic_load(&peak);
}

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined SANITIZED

int __sanitizer_install_malloc_and_free_hooks(void (*made)(const volatile void *, size_t),
                                              void (*freed)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *block);

static void made(const volatile void *block, size_t size) {
  (void)block;
  add((long)size);
}

static void freed(const volatile void *block) {
  if (block) add(-(long)__sanitizer_get_allocated_size(block));
}

__attribute__((constructor)) static void install(void) {
  __sanitizer_install_malloc_and_free_hooks(made, freed);
}

#else /* glibc's own, counted on the way */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

#define PUBLIC __attribute__((visibility("default")))
PUBLIC void *malloc(size_t size);
PUBLIC void *calloc(size_t count, size_t size);
PUBLIC void *realloc(void *block, size_t size);
PUBLIC void free(void *block);

void *malloc(size_t size) {
  void *block = __libc_malloc(size);
  add((long)malloc_usable_size(block));
  return block;
}

void *calloc(size_t count, size_t size) {
  void *block = __libc_calloc(count, size);
  add((long)malloc_usable_size(block));
  return block;
}

void *realloc(void *block, size_t size) {
  long before = (long)malloc_usable_size(block);
  void *after = __libc_realloc(block, size);
  if (after || !size) add((long)malloc_usable_size(after) - before);
  return after;
}

void free(void *block) {
  add(-(long)malloc_usable_size(block));
  __libc_free(block);
}

#endif
