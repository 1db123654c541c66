/* Lets leak checking tolerate a validation layer that leaks a little for every device and pipeline.
 * Leaks are suppressed by their module, whose name is known at exit only while it is loaded: an
 * instance that lives as long as the process keeps the layer loaded. */
#include "gpu/internal.h"

#ifdef __SANITIZE_ADDRESS__
FILTRA_API const char *__lsan_default_suppressions(void); /* found by name, so it must be visible */
const char *__lsan_default_suppressions(void) {
  return "leak:libVkLayer_khronos_validation\n";
}

static ft_instance *pinned;

__attribute__((constructor)) static void pin(void) {
  ft_instance_create(true, &pinned);
}
#endif
