/* Loads Vulkan, creates instances, and logs the validation layer's messages. Called by device.c. */
#define VOLK_IMPLEMENTATION
#include "gpu/internal.h"

#include "base/memory.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

static const char validation_layer[] = "VK_LAYER_KHRONOS_validation";

static const char install_hint[] =
    "install one: mesa-vulkan-drivers (Debian, Ubuntu, Fedora; includes the CPU driver lavapipe) "
    "or the GPU vendor's driver";

static ft_mutex load_lock = FT_MUTEX_INIT;

static filtra_status load_loader(void) {
  static bool loaded = false;
  ft_lock(&load_lock);
  if (!loaded) loaded = volkInitialize() == VK_SUCCESS;
  bool ok = loaded;
  ft_unlock(&load_lock);
  if (!ok) {
    return ft_fail(FILTRA_ERROR_NO_DEVICE,
                   "no Vulkan loader (libvulkan.so.1, on Windows vulkan-1.dll) on this machine; "
                   "install the GPU vendor's driver, or libvulkan1 or vulkan-loader with a driver "
                   "such as mesa-vulkan-drivers");
  }
  if (volkGetInstanceVersion() < VK_API_VERSION_1_3) {
    uint32_t version = volkGetInstanceVersion();
    return ft_fail(FILTRA_ERROR_NO_DEVICE,
                   "the Vulkan loader is version %u.%u and 1.3 is needed; install a newer one",
                   VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
  }
  return FILTRA_OK;
}

/* ---- functions ---- */

/* The first function that is missing; NULL if none is. */
static const char *load_instance_functions(ft_instance *i, PFN_vkGetInstanceProcAddr get) {
#define LOAD(name) i->vk.name = (PFN_##name)get(i->handle, #name);
  FT_INSTANCE_CALLS(LOAD)
  FT_INSTANCE_EXTENSION_CALLS(LOAD)
#undef LOAD
#define MISS(name)                                                                                 \
  if (!i->vk.name) return #name;
  FT_INSTANCE_CALLS(MISS)
#undef MISS
  return NULL;
}

/* volk loads a device's functions through its global vkGetDeviceProcAddr: it temporarily points to
 * this instance's. */
void ft_instance_load_device(const ft_instance *instance, VkDevice device,
                             struct VolkDeviceTable *table) {
  ft_lock(&load_lock);
  const PFN_vkGetDeviceProcAddr before = vkGetDeviceProcAddr;
  vkGetDeviceProcAddr = instance->vk.vkGetDeviceProcAddr;
  volkLoadDeviceTable(table, device);
  vkGetDeviceProcAddr = before;
  ft_unlock(&load_lock);
}

/* ---- validation ---- */

static bool extension_there(const char *layer, const char *name) {
  uint32_t count = 0;
  if (vkEnumerateInstanceExtensionProperties(layer, &count, NULL) || count == 0) return false;
  VkExtensionProperties *list = ft_calloc(count, sizeof *list);
  if (!list || vkEnumerateInstanceExtensionProperties(layer, &count, list) < 0) count = 0;
  bool found = false;
  for (uint32_t i = 0; i < count && !found; i++)
    found = !strcmp(list[i].extensionName, name);
  free(list);
  return found;
}

/* The Vulkan version that the validation layer knows; 0: not installed. */
static uint32_t layer_version(void) {
  uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, NULL) || count == 0) return 0;
  VkLayerProperties *list = ft_calloc(count, sizeof *list);
  if (!list || vkEnumerateInstanceLayerProperties(&count, list) < 0) count = 0;
  uint32_t found = 0;
  for (uint32_t i = 0; i < count && !found; i++)
    if (!strcmp(list[i].layerName, validation_layer)) found = list[i].specVersion;
  free(list);
  return found;
}

static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT type,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user) {
  (void)type;
  ft_instance *instance = user;
  atomic_fetch_add(&instance->messages, 1);
  bool error = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  ft_log(error ? FILTRA_LOG_ERROR : FILTRA_LOG_WARNING, "validation: %s", data->pMessage);
  return VK_FALSE;
}

static filtra_status create_messenger(ft_instance *instance,
                                      const VkDebugUtilsMessengerCreateInfoEXT *info) {
  if (!instance->vk.vkCreateDebugUtilsMessengerEXT) {
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "the Vulkan loader offers no VK_EXT_debug_utils, which validation needs");
  }
  return FT_VK(NULL, instance->vk.vkCreateDebugUtilsMessengerEXT(instance->handle, info, NULL,
                                                                 &instance->messenger));
}

/* ---- instances ---- */

/* Loads and unloads drivers one at a time: NVIDIA's 580.159.04 crashed while four threads created
 * and destroyed instances. */
static ft_mutex driver_lock = FT_MUTEX_INIT;

static filtra_status create_handle(ft_instance *instance, const VkInstanceCreateInfo *info) {
  ft_lock(&driver_lock);
  VkResult result = FT_VK_RESULT(vkCreateInstance(info, NULL, &instance->handle));
  ft_unlock(&driver_lock);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    return ft_fail(FILTRA_ERROR_NO_DEVICE,
                   "no Vulkan driver on this machine works; %s. If there is one, "
                   "VK_LOADER_DEBUG=error says why it is not used: NVIDIA's, in a container, needs "
                   "libegl1 and libgl1",
                   install_hint);
  return ft_vk_status(NULL, result, "vkCreateInstance");
}

static filtra_status load_functions(ft_instance *instance, PFN_vkGetInstanceProcAddr get) {
  const char *missing = load_instance_functions(instance, get);
  if (!missing) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                 "vkGetInstanceProcAddr gives no %s: the instance must be made for Vulkan 1.3",
                 missing);
}

filtra_status ft_instance_borrow(VkInstance handle, PFN_vkGetInstanceProcAddr get,
                                 ft_instance **out) {
  *out = NULL;
  ft_instance *instance = ft_calloc(1, sizeof *instance);
  if (!instance) return FILTRA_ERROR_HOST_MEMORY;
  atomic_init(&instance->messages, 0);
  instance->handle = handle;
  instance->borrowed = true;
  filtra_status status = load_functions(instance, get);
  if (status)
    ft_instance_destroy(&instance);
  else
    *out = instance;
  return status;
}

filtra_status ft_instance_create(bool validation, ft_instance **out) {
  *out = NULL;
  FT_TRY(load_loader());
  const uint32_t layer_knows = validation ? layer_version() : 0;
  if (validation && !layer_knows) {
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "validation was asked for and the layer %s is not installed; install "
                   "vulkan-validationlayers or switch validation off",
                   validation_layer);
  }
  ft_instance *instance = ft_calloc(1, sizeof *instance);
  if (!instance) return FILTRA_ERROR_HOST_MEMORY;
  atomic_init(&instance->messages, 0);
  instance->layer = layer_knows;

  VkDebugUtilsMessengerCreateInfoEXT messenger = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
      .pfnUserCallback = on_message,
      .pUserData = instance};
  VkValidationFeatureEnableEXT synchronization =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                      .pNext = &messenger,
                                      .enabledValidationFeatureCount = 1,
                                      .pEnabledValidationFeatures = &synchronization};
  const char *extensions[3], *layer = validation_layer;
  uint32_t extension_count = 0;
  const void *next = NULL;
  if (validation) {
    extensions[extension_count++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    next = &messenger;
    if (extension_there(validation_layer, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
      extensions[extension_count++] = VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME;
      next = &features;
    }
  }
  VkInstanceCreateFlags flags = 0;
  if (extension_there(NULL, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions[extension_count++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
    flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR; /* drivers for Vulkan on Metal */
  }
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pNext = next,
                               .flags = flags,
                               .pApplicationInfo =
                                   &(VkApplicationInfo){.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                                        .pApplicationName = "filtra",
                                                        .pEngineName = "filtra",
                                                        .apiVersion = VK_API_VERSION_1_3},
                               .enabledLayerCount = validation ? 1 : 0,
                               .ppEnabledLayerNames = &layer,
                               .enabledExtensionCount = extension_count,
                               .ppEnabledExtensionNames = extensions};
  filtra_status status = create_handle(instance, &info);
  if (status) goto fail;
  FT_TRY_GOTO(status, load_functions(instance, vkGetInstanceProcAddr), fail);
  if (validation) FT_TRY_GOTO(status, create_messenger(instance, &messenger), fail);
  *out = instance;
  return FILTRA_OK;
fail:
  ft_instance_destroy(&instance);
  return status;
}

void ft_instance_destroy(ft_instance **instance) {
  ft_instance *i = *instance;
  if (!i) return;
  if (i->messenger && i->vk.vkDestroyDebugUtilsMessengerEXT)
    i->vk.vkDestroyDebugUtilsMessengerEXT(i->handle, i->messenger, NULL);
  if (i->handle && !i->borrowed && i->vk.vkDestroyInstance) {
    ft_lock(&driver_lock);
    i->vk.vkDestroyInstance(i->handle, NULL);
    ft_unlock(&driver_lock);
  }
  free(i);
  *instance = NULL;
}
