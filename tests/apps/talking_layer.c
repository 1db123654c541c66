/* Preloaded into the command: prints to standard output while a device is opened, as layers of
 * Vulkan drivers may. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) void *dlopen(const char *name, int flags);

void *dlopen(const char *name, int flags) {
  void *(*real)(const char *, int);
  void *symbol = dlsym(RTLD_NEXT, "dlopen");
  memcpy(&real, &symbol, sizeof real);
  printf("a layer prints\n");
  fflush(stdout);
  if (write(STDOUT_FILENO, "a layer writes\n", 15) < 0) return NULL;
  return real(name, flags);
}
