#include "support/vulkan.h"

test_calls test_called;
static test_application application;
static bool opened;

/* ---- what Filtra gets of the application's functions ---- */

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count,
                                             const VkSubmitInfo2 *infos, VkFence fence) {
  test_called.submits++;
  if (application.said.lock && !test_called.inside) test_called.unguarded++;
  void (*then)(void) = test_called.on_submit;
  test_called.on_submit = NULL;
  if (then) then();
  if (test_called.submit) return test_called.submit;
  return application.vk.vkQueueSubmit2(queue, count, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkDevice device) {
  test_called.waits_idle++;
  return application.vk.vkDeviceWaitIdle(device);
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device,
                                                 const VkAllocationCallbacks *callbacks) {
  (void)device, (void)callbacks;
  test_called.destroyed++;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance,
                                                   const VkAllocationCallbacks *callbacks) {
  (void)instance, (void)callbacks;
  test_called.destroyed++;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char *name) {
  if (!strcmp(name, "vkQueueSubmit2")) return (PFN_vkVoidFunction)submit;
  if (!strcmp(name, "vkDeviceWaitIdle") || !strcmp(name, "vkQueueWaitIdle"))
    return (PFN_vkVoidFunction)wait_idle;
  if (!strcmp(name, "vkDestroyDevice")) return (PFN_vkVoidFunction)destroy_device;
  return application.instance->vk.vkGetDeviceProcAddr(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get(VkInstance instance, const char *name) {
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)get_device;
  if (!strcmp(name, "vkDestroyInstance")) return (PFN_vkVoidFunction)destroy_instance;
  return application.get(instance, name);
}

static void lock(void *user) {
  assert_ptr_equal(user, &application);
  assert_false(test_called.inside);
  test_called.inside = true;
  test_called.locked++;
}

static void unlock(void *user) {
  assert_ptr_equal(user, &application);
  assert_true(test_called.inside);
  test_called.inside = false;
  test_called.unlocked++;
}

/* ---- the application ---- */

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT type,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user) {
  (void)severity, (void)type, (void)user;
  test_called.messages++;
  fprintf(stderr, "validation: %s\n", data->pMessage);
  return VK_FALSE;
}

/* Creates an instance with synchronization validation, or without validation if the layer is not
 * installed. */
static VkInstance create_instance(void) {
  const char *const layer = "VK_LAYER_KHRONOS_validation";
  const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  VkValidationFeatureEnableEXT synchronization =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                      .enabledValidationFeatureCount = 1,
                                      .pEnabledValidationFeatures = &synchronization};
  VkApplicationInfo what = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                            .apiVersion = VK_API_VERSION_1_3};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pNext = &features,
                               .pApplicationInfo = &what,
                               .enabledLayerCount = 1,
                               .ppEnabledLayerNames = &layer,
                               .enabledExtensionCount = 1,
                               .ppEnabledExtensionNames = extensions};
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)application.get(NULL, "vkCreateInstance");
  VkInstance instance = NULL;
  if (create(&info, NULL, &instance) == VK_ERROR_LAYER_NOT_PRESENT) {
    print_message("NOTE: the validation layer is not installed; tests run without it\n");
    info.pNext = NULL;
    info.enabledLayerCount = info.enabledExtensionCount = 0;
    assert_int_equal(create(&info, NULL, &instance), VK_SUCCESS);
  }
  return instance;
}

static void create_messenger(void) {
  const VkDebugUtilsMessengerCreateInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = on_message};
  if (application.instance->vk.vkCreateDebugUtilsMessengerEXT)
    application.instance->vk.vkCreateDebugUtilsMessengerEXT(application.instance->handle, &info,
                                                            NULL, &application.messenger);
}

/* The first CPU driver, as in other tests; if FILTRA_DEVICE is set, the first device. */
static VkPhysicalDevice choose(void) {
  VkPhysicalDevice list[16];
  uint32_t count = FT_COUNT(list);
  application.instance->vk.vkEnumeratePhysicalDevices(application.instance->handle, &count, list);
  for (uint32_t i = 0; i < count; i++) {
    VkPhysicalDeviceProperties properties;
    application.instance->vk.vkGetPhysicalDeviceProperties(list[i], &properties);
    if (properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU || getenv("FILTRA_DEVICE"))
      return list[i];
  }
  skip();
  return NULL;
}

/* Removes structures of extensions that old validation layers do not know from the chain. */
static void unlink_newer(VkPhysicalDeviceFeatures2 *features) {
  VkBaseOutStructure *part = (VkBaseOutStructure *)features;
  while (part->pNext) {
    const VkStructureType type = part->pNext->sType;
    if (type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR ||
        type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR ||
        type == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR)
      part->pNext = part->pNext->pNext;
    else
      part = part->pNext;
  }
}

/* Enables everything of Vulkan 1.3 that Filtra would use, and extensions that are old enough for
 * the layers. */
static void create_device(filtra_vulkan_device *said) {
  static const char *const extensions[] = {
      VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME};
  filtra_vulkan_needs *needs = application.needs;
  assert_int_equal(needs->extension_count, 0);
  for (uint32_t i = 0; i < needs->optional_extension_count; i++)
    said->extension_count += !strcmp(needs->optional_extensions[i], extensions[0]);
  said->extensions = extensions;
  said->features = needs->all_features;
  unlink_newer(needs->all_features);
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   .pNext = said->features,
                                   .queueCreateInfoCount = 1,
                                   .pQueueCreateInfos = &queue,
                                   .enabledExtensionCount = said->extension_count,
                                   .ppEnabledExtensionNames = extensions};
  assert_int_equal(
      application.instance->vk.vkCreateDevice(said->physical_device, &info, NULL, &said->device),
      VK_SUCCESS);
  ft_instance_load_device(application.instance, said->device, &application.vk);
  application.vk.vkGetDeviceQueue(said->device, 0, 0, &said->queue);
}

test_application *test_application_open(void) {
  if (opened) return &application;
  opened = true;
  assert_int_equal(volkInitialize(), VK_SUCCESS);
  application.get = vkGetInstanceProcAddr;
  VkInstance instance = create_instance();
  assert_ok(ft_instance_borrow(instance, application.get, &application.instance));
  create_messenger();
  application.said = (filtra_vulkan_device){.get_instance_proc_addr = get,
                                            .api_version = VK_API_VERSION_1_3,
                                            .instance = instance,
                                            .physical_device = choose(),
                                            .lock = lock,
                                            .unlock = unlock,
                                            .user = &application};
  assert_ok(filtra_vulkan_requirements(&application.said, &application.needs));
  create_device(&application.said);
  return &application;
}

int test_application_close(void **state) {
  if (opened) {
    const VkDevice device = application.said.device;
    for (uint32_t i = 0; i < application.buffer_count; i++) {
      application.vk.vkDestroyBuffer(device, application.buffers[i], NULL);
      application.vk.vkFreeMemory(device, application.memory[i], NULL);
    }
    application.vk.vkDestroyDevice(device, NULL);
    if (application.messenger)
      application.instance->vk.vkDestroyDebugUtilsMessengerEXT(application.instance->handle,
                                                               application.messenger, NULL);
    application.instance->vk.vkDestroyInstance(application.instance->handle, NULL);
    ft_instance_destroy(&application.instance);
    filtra_free(application.needs);
  }
  assert_int_equal(test_called.messages, 0);
  assert_int_equal(test_called.waits_idle, 0);
  assert_int_equal(test_called.destroyed, 0);
  return test_teardown(state);
}

filtra_device *test_adopt(const filtra_vulkan_device *said, const char *caps) {
  filtra_device *device = NULL;
  assert_ok(filtra_vulkan_open(
      said, &(filtra_device_options){.caps = caps, .cache_dir = "", .tuning = ""}, &device));
  return device;
}

/* ---- its buffers and semaphores ---- */

static uint32_t host_memory(uint32_t types) {
  const VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkPhysicalDeviceMemoryProperties memory;
  application.instance->vk.vkGetPhysicalDeviceMemoryProperties(application.said.physical_device,
                                                               &memory);
  for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
    if ((types & 1u << i) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  fail_msg("no memory that the host sees");
  return 0;
}

filtra_vulkan_range test_application_buffer(VkDeviceSize size, int byte, void **mapped) {
  test_application *a = test_application_open();
  const VkDevice device = a->said.device;
  const VkBufferUsageFlags usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                   VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                   VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
  assert_true(a->buffer_count < FT_COUNT(a->buffers));
  VkBuffer *buffer = &a->buffers[a->buffer_count];
  VkDeviceMemory *memory = &a->memory[a->buffer_count++];
  assert_int_equal(a->vk.vkCreateBuffer(device, &info, NULL, buffer), VK_SUCCESS);
  VkMemoryRequirements needed;
  a->vk.vkGetBufferMemoryRequirements(device, *buffer, &needed);
  const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                           .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &flags,
                                         .allocationSize = needed.size,
                                         .memoryTypeIndex = host_memory(needed.memoryTypeBits)};
  assert_int_equal(a->vk.vkAllocateMemory(device, &allocate, NULL, memory), VK_SUCCESS);
  assert_int_equal(a->vk.vkBindBufferMemory(device, *buffer, *memory, 0), VK_SUCCESS);
  assert_int_equal(a->vk.vkMapMemory(device, *memory, 0, VK_WHOLE_SIZE, 0, mapped), VK_SUCCESS);
  memset(*mapped, byte, size);
  return (filtra_vulkan_range){.buffer = *buffer, .usage = usage, .size = size};
}

VkSemaphore test_timeline(void) {
  test_application *a = test_application_open();
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                      .pNext = &type};
  VkSemaphore semaphore;
  assert_int_equal(a->vk.vkCreateSemaphore(a->said.device, &info, NULL, &semaphore), VK_SUCCESS);
  return semaphore;
}

void test_timeline_destroy(VkSemaphore semaphore) {
  application.vk.vkDeviceWaitIdle(application.said.device); /* see submit_nothing in gpu/submit.c */
  application.vk.vkDestroySemaphore(application.said.device, semaphore, NULL);
}

void test_timeline_set(VkSemaphore semaphore, uint64_t value) {
  const VkSemaphoreSignalInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
  assert_int_equal(application.vk.vkSignalSemaphore(application.said.device, &info), VK_SUCCESS);
}

uint64_t test_timeline_value(VkSemaphore semaphore) {
  uint64_t value = 0;
  assert_int_equal(
      application.vk.vkGetSemaphoreCounterValue(application.said.device, semaphore, &value),
      VK_SUCCESS);
  return value;
}
