/* An application with a VkDevice of its own, with validation if the layer is installed. It records
 * which of its functions Filtra calls. */
#ifndef TEST_SUPPORT_VULKAN_H
#define TEST_SUPPORT_VULKAN_H

#include "gpu/internal.h"
#include "support/harness.h"

#include <filtra/vulkan.h>

typedef struct test_application {
  PFN_vkGetInstanceProcAddr get; /* the loader's */
  ft_instance *instance;         /* functions, for the test itself */
  struct VolkDeviceTable vk;
  VkDebugUtilsMessengerEXT messenger;
  filtra_vulkan_needs *needs;
  filtra_vulkan_device said; /* everything enabled, with the functions and locks below */
  VkDeviceMemory memory[24];
  VkBuffer buffers[24];
  uint32_t buffer_count;
} test_application;

/** Calls by Filtra and messages of the validation layer since the application was opened. */
typedef struct test_calls {
  unsigned submits, waits_idle, destroyed, locked, unlocked, unguarded, messages;
  bool inside;             /* between lock and unlock */
  VkResult submit;         /* returned by vkQueueSubmit2 instead of calling it, unless 0 */
  void (*on_submit)(void); /* called once, at the next submission */
} test_calls;
extern test_calls test_called;

/** The application: opened on first use, closed by test_application_close, the group's teardown,
 * which fails if the validation layer reported anything. */
test_application *test_application_open(void);
int test_application_close(void **state);

/** A filtra_device on the application's device, as `said` describes it; closed by
 * test_close_device. */
filtra_device *test_adopt(const filtra_vulkan_device *said, const char *caps);

/** A host-visible buffer of the application, freed with it, filled with `byte`. */
filtra_vulkan_range test_application_buffer(VkDeviceSize size, int byte, void **mapped);
VkSemaphore test_timeline(void);
void test_timeline_destroy(VkSemaphore semaphore);
void test_timeline_set(VkSemaphore semaphore, uint64_t value);
uint64_t test_timeline_value(VkSemaphore semaphore);

#endif
