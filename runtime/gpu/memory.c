/* Buffers, each with its own allocation, since Filtra makes few and large ones. Called by graph/,
 * train/ and staging.c. */
#include "gpu/internal.h"

#include <inttypes.h>

/* Kernels may read one iteration past the end: Mesa 26's CPU driver does so for inactive lanes, and
 * an iteration of the widest kernel reads 16 rows of 4 KiB. */
enum { SLACK_BYTES = 64 * 1024 };

typedef struct preference {
  VkMemoryPropertyFlags must, must_not;
} preference;

enum { MAX_PREFERENCES = 3 };

/* In order of preference; Vulkan guarantees a memory type with the flags of each list's last row.
 */
static const preference preferences[][MAX_PREFERENCES] = {
    [FT_MEMORY_DEVICE] = {{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0}},
    [FT_MEMORY_UPLOAD] =
        {{VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
          VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
         {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0}},
    [FT_MEMORY_READBACK] = {
        {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT |
             VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
         0},
        {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0},
        {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0}}};

/* Flags of memory that is slow, protected or without backing. */
static const VkMemoryPropertyFlags never =
    VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

static filtra_status fail_memory(const filtra_device *dev, uint64_t size, const char *why) {
  return ft_fail(FILTRA_ERROR_DEVICE_MEMORY,
                 "%s: %" PRIu64 " bytes were asked of %s, whose largest single allocation is "
                 "%" PRIu64 " bytes and whose memory has %" PRIu64 "; %" PRIu64
                 " are in use here. Use a smaller batch, length or model",
                 why, size, dev->caps.info.name, dev->caps.info.max_allocation_bytes,
                 dev->caps.info.memory_bytes, dev->memory_used);
}

/* Tries all suitable types, since another type's heap may have room. */
static VkResult allocate(filtra_device *dev, const VkMemoryRequirements *requirements,
                         ft_memory_kind kind, ft_buffer *out, VkMemoryPropertyFlags *flags) {
  VkPhysicalDeviceMemoryProperties memory;
  dev->instance->vk.vkGetPhysicalDeviceMemoryProperties(dev->physical, &memory);
  VkMemoryAllocateFlagsInfo address = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkMemoryDedicatedAllocateInfo dedicated = {.sType =
                                                 VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                             .pNext = &address,
                                             .buffer = out->buffer};
  VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                               .pNext = &dedicated,
                               .allocationSize = requirements->size};
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  for (int p = 0; p < MAX_PREFERENCES && preferences[kind][p].must; p++) {
    const preference *wanted = &preferences[kind][p];
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
      uint64_t heap = memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size;
      *flags = memory.memoryTypes[i].propertyFlags;
      if (!(requirements->memoryTypeBits & (1u << i)) || requirements->size > heap ||
          (*flags & (never | wanted->must_not)) || (*flags & wanted->must) != wanted->must)
        continue;
      info.memoryTypeIndex = i;
      result = FT_VK_RESULT(dev->vk.vkAllocateMemory(dev->device, &info, NULL, &out->memory));
      if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY) return result;
    }
  }
  return result;
}

uint64_t ft_buffer_address(filtra_device *dev, VkBuffer buffer) {
  VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                    .buffer = buffer};
  return dev->vk.vkGetBufferDeviceAddress(dev->device, &info);
}

static filtra_status place_buffer(filtra_device *dev, uint64_t size, ft_memory_kind kind,
                                  ft_buffer *out) {
  VkMemoryRequirements requirements;
  dev->vk.vkGetBufferMemoryRequirements(dev->device, out->buffer, &requirements);
  VkMemoryPropertyFlags flags = 0;
  VkResult result = allocate(dev, &requirements, kind, out, &flags);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY) return fail_memory(dev, size, "out of memory");
  FT_TRY(ft_vk_status(dev, result, "vkAllocateMemory"));
  out->allocated = requirements.size;
  dev->memory_used += out->allocated;
  out->coherent = flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  out->cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  FT_TRY(FT_VK(dev, dev->vk.vkBindBufferMemory(dev->device, out->buffer, out->memory, 0)));
  if (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
    FT_TRY(FT_VK(dev,
                 dev->vk.vkMapMemory(dev->device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->mapped)));
  }
  out->address = ft_buffer_address(dev, out->buffer);
  return FILTRA_OK;
}

uint64_t ft_bytes_after(const ft_caps *caps) {
  return caps->for_cpu ? SLACK_BYTES : 0;
}

uint64_t ft_buffer_extent(uint64_t size) {
  return size ? size + SLACK_BYTES : 0;
}

uint64_t ft_buffer_limit(const filtra_device *dev) {
  uint64_t limit = dev->caps.info.max_allocation_bytes;
  return limit > SLACK_BYTES ? limit - SLACK_BYTES : 0;
}

filtra_status ft_buffer_create(filtra_device *dev, uint64_t size, ft_memory_kind kind,
                               ft_buffer *out) {
  *out = (ft_buffer){.size = size, .slack = SLACK_BYTES};
  if (size > ft_buffer_limit(dev))
    return fail_memory(dev, size, "more than one allocation may have");
  const uint64_t most = dev->caps.memory_limit;
  if (most && size + SLACK_BYTES > most - (dev->memory_used < most ? dev->memory_used : most))
    return fail_memory(dev, size, "out of memory");
  if (dev->compiler) return FILTRA_OK; /* buffers of compilers have no memory */
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = size + SLACK_BYTES,
                             .usage = FT_BUFFER_USAGE};
  filtra_status status = FT_VK(dev, dev->vk.vkCreateBuffer(dev->device, &info, NULL, &out->buffer));
  if (!status) status = place_buffer(dev, size, kind, out);
  if (status) ft_buffer_destroy(dev, out);
  return status;
}

void ft_buffer_destroy(filtra_device *dev, ft_buffer *buffer) {
  if (buffer->buffer) dev->vk.vkDestroyBuffer(dev->device, buffer->buffer, NULL);
  if (buffer->memory) dev->vk.vkFreeMemory(dev->device, buffer->memory, NULL);
  dev->memory_used -= buffer->allocated;
  *buffer = (ft_buffer){0};
}

static VkMappedMemoryRange whole(const ft_buffer *buffer) {
  return (VkMappedMemoryRange){.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
                               .memory = buffer->memory,
                               .size = VK_WHOLE_SIZE};
}

filtra_status ft_buffer_flush(filtra_device *dev, const ft_buffer *buffer) {
  if (!buffer->mapped || buffer->coherent) return FILTRA_OK;
  VkMappedMemoryRange range = whole(buffer);
  return FT_VK(dev, dev->vk.vkFlushMappedMemoryRanges(dev->device, 1, &range));
}

filtra_status ft_buffer_invalidate(filtra_device *dev, const ft_buffer *buffer) {
  if (!buffer->mapped || buffer->coherent) return FILTRA_OK;
  VkMappedMemoryRange range = whole(buffer);
  return FT_VK(dev, dev->vk.vkInvalidateMappedMemoryRanges(dev->device, 1, &range));
}

uint64_t filtra_device_memory_used(const filtra_device *device) {
  return device ? device->memory_used : 0;
}
