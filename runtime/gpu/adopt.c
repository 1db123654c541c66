/* Devices and buffers of applications (filtra/vulkan.h): what Filtra requires of them, checks of
 * what an application passes, and wrapping them. Called by device.c, graph/outside.c and
 * applications. */
#include "gpu/internal.h"

#include "base/memory.h"

#include <filtra/vulkan.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 }; /* of tensors, as filtra/kernel.h promises */

/* ---- what Filtra requires ---- */

/* filtra_vulkan_needs and everything that it points to. */
typedef struct needs_block {
  filtra_vulkan_needs needs; /* first: freed by its address */
  ft_enabled least, all;
  const char *optional[FT_MOST_EXTENSIONS];
} needs_block;

static filtra_status fail_null(const char *field) {
  return ft_fail(FILTRA_ERROR_ARGUMENT, "filtra_vulkan_device: %s is NULL", field);
}

static filtra_status check_physical(const filtra_vulkan_device *vulkan) {
  if (!vulkan->get_instance_proc_addr) return fail_null("get_instance_proc_addr");
  if (!vulkan->instance) return fail_null("instance");
  return vulkan->physical_device ? FILTRA_OK : fail_null("physical_device");
}

/* Queries the physical device's capabilities; fails if Filtra cannot run on it. */
static filtra_status examine(const ft_instance *instance, VkPhysicalDevice physical,
                             ft_caps *caps) {
  FT_TRY(ft_caps_examine(instance, physical, NULL, caps));
  if (caps->info.usable) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s cannot run Filtra: %s", caps->info.name,
                 caps->info.reason);
}

static bool listed(const ft_enabled *enabled, const char *extension) {
  for (uint32_t i = 0; i < enabled->extension_count; i++)
    if (!strcmp(enabled->extensions[i], extension)) return true;
  return false;
}

static void tell(const ft_caps *caps, needs_block *block) {
  filtra_vulkan_needs *needs = &block->needs;
  ft_features_enable(&(ft_caps){.portability = caps->portability}, 0, &block->least);
  ft_features_enable(caps, caps->matrix ? FT_USE_MATRICES : 0, &block->all);
  for (uint32_t i = 0; i < block->all.extension_count; i++)
    if (!listed(&block->least, block->all.extensions[i]))
      block->optional[needs->optional_extension_count++] = block->all.extensions[i];
  needs->extension_count = block->least.extension_count;
  needs->extensions = block->least.extensions;
  needs->optional_extensions = block->optional;
  needs->features = &block->least.features.core;
  needs->all_features = &block->all.features.core;
  needs->bytes_after = ft_bytes_after(caps);
}

static filtra_status ask(const filtra_vulkan_device *vulkan, needs_block *block) {
  ft_instance *instance;
  ft_caps caps;
  FT_TRY(check_physical(vulkan));
  FT_TRY(ft_instance_borrow(vulkan->instance, vulkan->get_instance_proc_addr, &instance));
  filtra_status status = examine(instance, vulkan->physical_device, &caps);
  if (!status) tell(&caps, block);
  ft_instance_destroy(&instance);
  return status;
}

filtra_status filtra_vulkan_requirements(const filtra_vulkan_device *vulkan,
                                         filtra_vulkan_needs **needs) {
  FT_NEED(needs);
  *needs = NULL;
  FT_TRY(FT_CHECK_RESERVED(filtra_vulkan_device, vulkan));
  needs_block *block = ft_calloc(1, sizeof *block);
  if (!block) return FILTRA_ERROR_HOST_MEMORY;
  block->needs.api_version = VK_API_VERSION_1_3;
  filtra_status status = vulkan ? ask(vulkan, block) : FILTRA_OK;
  if (status)
    free(block);
  else
    *needs = &block->needs;
  return status;
}

/* ---- adopting a device ---- */

static filtra_status check_device(const filtra_vulkan_device *vulkan) {
  FT_TRY(check_physical(vulkan));
  if (!vulkan->device) return fail_null("device");
  if (!vulkan->queue) return fail_null("queue");
  if (!vulkan->features) return fail_null("features");
  if (vulkan->extension_count && !vulkan->extensions) return fail_null("extensions");
  for (uint32_t i = 0; i < vulkan->extension_count; i++)
    if (!vulkan->extensions[i])
      return ft_fail(FILTRA_ERROR_ARGUMENT, "filtra_vulkan_device: extensions[%u] is NULL", i);
  if (!vulkan->lock != !vulkan->unlock)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "filtra_vulkan_device: %s is NULL and %s is not; give both or neither",
                   vulkan->lock ? "unlock" : "lock", vulkan->lock ? "lock" : "unlock");
  if (vulkan->api_version >= VK_API_VERSION_1_3) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                 "filtra_vulkan_device: api_version, which the instance was made with, is %u.%u "
                 "and 1.3 is needed",
                 VK_API_VERSION_MAJOR(vulkan->api_version),
                 VK_API_VERSION_MINOR(vulkan->api_version));
}

/* The device's capabilities, limited to what the application says that it enabled. */
static filtra_status take_caps(const ft_instance *instance, const filtra_vulkan_device *vulkan,
                               ft_caps *caps) {
  FT_TRY(examine(instance, vulkan->physical_device, caps));
  ft_said said = {.extensions = vulkan->extensions,
                  .extension_count = vulkan->extension_count,
                  .queue_family = vulkan->queue_family};
  ft_features_read(vulkan->features, &said.features);
  const ft_required_feature *missing = ft_features_missing(&said.features);
  if (missing)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "%s: the VkDevice was made without %s, which Filtra needs "
                   "(filtra_vulkan_requirements lists all that it needs)",
                   caps->info.name, missing->name);
  FT_TRY(ft_caps_examine(instance, vulkan->physical_device, &said, caps));
  if (!caps->info.usable)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "%s: queue family %u does not compute; accepted is one with "
                   "VK_QUEUE_COMPUTE_BIT",
                   caps->info.name, vulkan->queue_family);
  caps->info.index = UINT32_MAX;
  snprintf(caps->info.reason, sizeof caps->info.reason, "the application's");
  return FILTRA_OK;
}

filtra_status ft_adopt(filtra_device *dev, const filtra_vulkan_device *vulkan) {
  FT_TRY(check_device(vulkan));
  FT_TRY(ft_instance_borrow(vulkan->instance, vulkan->get_instance_proc_addr, &dev->instance));
  FT_TRY(take_caps(dev->instance, vulkan, &dev->caps));
  FT_TRY(ft_queue_share(vulkan, &dev->shared_queue));
  dev->physical = vulkan->physical_device;
  dev->device = vulkan->device;
  dev->queue = vulkan->queue;
  ft_instance_load_device(dev->instance, dev->device, &dev->vk);
  return FILTRA_OK;
}

/* ---- buffers ---- */

bool ft_is_adopted(const filtra_device *dev) {
  return dev->shared_queue != NULL;
}

filtra_status ft_check_adopted(const filtra_device *dev) {
  if (ft_is_adopted(dev)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "the device is Filtra's own, whose buffers no application has; "
                 "filtra_vulkan_open opens an application's");
}

static filtra_status check_size(filtra_device *dev, const filtra_vulkan_range *range,
                                uint64_t bytes) {
  const uint64_t after = ft_bytes_after(&dev->caps);
  VkMemoryRequirements requirements;
  dev->vk.vkGetBufferMemoryRequirements(dev->device, range->buffer, &requirements);
  if (range->size > requirements.size)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "the buffer's size is said to be %" PRIu64 " bytes; it has %" PRIu64,
                   range->size, requirements.size);
  if (range->offset <= range->size && bytes + after <= range->size - range->offset)
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%" PRIu64 " bytes at %" PRIu64 ", and %" PRIu64
                 " after them, leave the buffer's %" PRIu64 " bytes",
                 bytes, range->offset, after, range->size);
}

filtra_status ft_buffer_adopt(filtra_device *dev, const filtra_vulkan_range *range, uint64_t bytes,
                              ft_buffer *out, uint64_t *offset) {
  FT_TRY(FT_CHECK_RESERVED(filtra_vulkan_range, range));
  if (!range->buffer) return ft_fail(FILTRA_ERROR_ARGUMENT, "the buffer is NULL");
  if (!(range->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "the buffer was made without VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, and "
                   "has no address for kernels");
  FT_TRY(check_size(dev, range, bytes));
  const uint64_t address = ft_buffer_address(dev, range->buffer), at = address + range->offset;
  if (!address || at % ALIGNMENT)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "the buffer's address is 0x%" PRIx64 " and the offset %" PRIu64
                   ": their sum must be a multiple of %d",
                   address, range->offset, ALIGNMENT);
  /* Aligns the buffer's address down, so that places are multiples of the alignment both in the
   * buffer and in memory. */
  const uint64_t before = address % ALIGNMENT;
  *offset = range->offset + before;
  *out = (ft_buffer){
      .buffer = range->buffer, .size = range->size + before, .address = address - before};
  return FILTRA_OK;
}

void ft_buffer_tell(const ft_buffer *buffer, uint64_t offset, filtra_vulkan_range *range) {
  *range = (filtra_vulkan_range){.buffer = buffer->buffer,
                                 .usage = FT_BUFFER_USAGE,
                                 .size = buffer->size + buffer->slack,
                                 .offset = offset};
}

/* ---- runs ---- */

static filtra_status check_semaphores(const char *what, uint32_t count, const VkSemaphore *list,
                                      const uint64_t *values) {
  if (count > FILTRA_VULKAN_MOST_SEMAPHORES)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "filtra_vulkan_run: %s_count is %u, accepted are 0 to %d",
                   what, count, FILTRA_VULKAN_MOST_SEMAPHORES);
  if (count && (!list || !values))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "filtra_vulkan_run: %s%s is NULL and %s_count %u", what,
                   list ? "_values" : "", what, count);
  for (uint32_t i = 0; i < count; i++)
    if (!list[i])
      return ft_fail(FILTRA_ERROR_ARGUMENT, "filtra_vulkan_run: %s[%u] is NULL", what, i);
  return FILTRA_OK;
}

filtra_status ft_check_run(const filtra_vulkan_run *run) {
  FT_TRY(FT_CHECK_RESERVED(filtra_vulkan_run, run));
  FT_TRY(check_semaphores("wait", run->wait_count, run->wait, run->wait_values));
  return check_semaphores("signal", run->signal_count, run->signal, run->signal_values);
}
