/* The sizes of public structs, which programs and bindings compare with their own. */
#include "base/status.h"

#include <filtra/vulkan.h>
#include <string.h>

size_t filtra_struct_size(const char *name) {
#define SIZE(type) {#type, sizeof(type)},
  static const struct {
    const char *name;
    size_t bytes;
  } structs[] = {FILTRA_STRUCTS(SIZE) FILTRA_VULKAN_STRUCTS(SIZE)};
#undef SIZE
  for (size_t i = 0; name && i < FT_COUNT(structs); i++)
    if (!strcmp(structs[i].name, name)) return structs[i].bytes;
  return 0;
}

filtra_status filtra_compare_structs(int major, int minor, size_t count, const char *const *names,
                                     const size_t *sizes) {
  FT_NEED(names, sizes);
  if (major != FILTRA_VERSION_MAJOR || minor != FILTRA_VERSION_MINOR)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "this program was made for Filtra %d.%d and runs with its library %s: compile "
                   "it with that library's headers",
                   major, minor, filtra_version());
  for (size_t i = 0; i < count; i++) {
    size_t bytes = filtra_struct_size(names[i]);
    if (bytes != sizes[i])
      return ft_fail(
          FILTRA_ERROR_UNSUPPORTED,
          "this program was made for a %s of %zu bytes; that of the library it runs with, "
          "Filtra %s, has %zu: compile it with that library's headers",
          names[i], sizes[i], filtra_version(), bytes);
  }
  return FILTRA_OK;
}
