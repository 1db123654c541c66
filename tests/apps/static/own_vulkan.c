/* An application that calls Vulkan itself, by a volk of its own or (OWN_LOADER) through libvulkan,
 * beside the static library; neither may take the other's functions. Built by static.cmake. */
#ifdef OWN_LOADER
#include <vulkan/vulkan.h>
static int load(void) {
  return 0;
}
#else
#define VOLK_IMPLEMENTATION
#include <volk.h>
static int load(void) {
  return (int)volkInitialize();
}
#endif
#include <filtra/filtra.h>
#include <stdio.h>

int main(void) {
  VkInstance own = NULL;
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  uint32_t before = 0, after = 0;
  filtra_device *device = NULL;
  if (load() || vkCreateInstance(&info, NULL, &own)) return 1;
#ifndef OWN_LOADER
  volkLoadInstance(own);
#endif
  if (vkEnumeratePhysicalDevices(own, &before, NULL)) return 2;
  if (filtra_device_open(NULL, &device)) {
    fprintf(stderr, "%s\n", filtra_error_message());
    return 3;
  }
  if (filtra_device_close(&device)) return 4;
  if (vkEnumeratePhysicalDevices(own, &after, NULL) || !after || after != before) return 5;
  vkDestroyInstance(own, NULL);
  return 0;
}
