/* Records command buffers, once for many submissions, and reads timestamps. Called by graph/,
 * staging.c and train/shards.c. */
#include "gpu/internal.h"

#include "base/memory.h"

#include <stdlib.h>

filtra_status ft_commands_new(filtra_device *dev, ft_command_pool *pool, uint32_t count,
                              ft_commands *out) {
  if (!*pool) {
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = dev->caps.queue_family};
    FT_TRY(FT_VK(dev, dev->vk.vkCreateCommandPool(dev->device, &info, NULL, pool)));
  }
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                      .commandPool = *pool,
                                      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                      .commandBufferCount = count};
  return FT_VK(dev, dev->vk.vkAllocateCommandBuffers(dev->device, &info, out));
}

void ft_commands_free(filtra_device *dev, ft_command_pool pool, uint32_t count,
                      const ft_commands *list) {
  dev->vk.vkFreeCommandBuffers(dev->device, pool, count, list);
}

void ft_command_pool_destroy(filtra_device *dev, ft_command_pool pool) {
  if (pool) dev->vk.vkDestroyCommandPool(dev->device, pool, NULL);
}

filtra_status ft_commands_begin(filtra_device *dev, ft_commands commands) {
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                   .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  return FT_VK(dev, dev->vk.vkBeginCommandBuffer(commands, &info));
}

filtra_status ft_commands_end(filtra_device *dev, ft_commands commands) {
  return FT_VK(dev, dev->vk.vkEndCommandBuffer(commands));
}

/* Flushes only the caches that a stage uses: for MEMORY_WRITE some drivers flush all. */
void ft_commands_barrier(filtra_device *dev, ft_commands commands, unsigned from, unsigned to) {
  static const struct {
    VkPipelineStageFlags2 stage;
    VkAccessFlags2 write, read;
  } stages[] = {
      {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
       VK_ACCESS_2_SHADER_STORAGE_READ_BIT},
      {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
       VK_ACCESS_2_TRANSFER_READ_BIT},
      {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_WRITE_BIT, VK_ACCESS_2_HOST_READ_BIT},
      {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_WRITE_BIT,
       VK_ACCESS_2_MEMORY_READ_BIT},
  };
  VkMemoryBarrier2 memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2};
  for (size_t i = 0; i < FT_COUNT(stages); i++) {
    if (from & 1u << i) {
      memory.srcStageMask |= stages[i].stage;
      memory.srcAccessMask |= stages[i].write;
    }
    if (to & 1u << i) {
      memory.dstStageMask |= stages[i].stage;
      memory.dstAccessMask |= stages[i].read | stages[i].write;
    }
  }
  VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                           .memoryBarrierCount = 1,
                           .pMemoryBarriers = &memory};
  dev->vk.vkCmdPipelineBarrier2(commands, &info);
}

void ft_commands_dispatch(filtra_device *dev, ft_commands commands, const ft_pipeline *pipeline,
                          const void *push, uint32_t push_size, const uint32_t base[3],
                          const uint32_t groups[3]) {
  dev->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->handle);
  dev->vk.vkCmdPushConstants(commands, dev->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_size,
                             push);
  if (base[0] | base[1] | base[2])
    dev->vk.vkCmdDispatchBase(commands, base[0], base[1], base[2], groups[0], groups[1], groups[2]);
  else
    dev->vk.vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
}

void ft_commands_copy(filtra_device *dev, ft_commands commands, const ft_buffer *from,
                      uint64_t from_offset, const ft_buffer *to, uint64_t to_offset,
                      uint64_t size) {
  VkBufferCopy region = {from_offset, to_offset, size};
  if (size) dev->vk.vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &region);
}

void ft_commands_fill(filtra_device *dev, ft_commands commands, const ft_buffer *to,
                      uint64_t offset, uint64_t size, uint32_t word) {
  if (size) dev->vk.vkCmdFillBuffer(commands, to->buffer, offset, size, word);
}

/* ---- clocks ---- */

filtra_status ft_timestamps_create(filtra_device *dev, uint32_t count, ft_timestamps *out) {
  VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                .queryCount = count};
  return FT_VK(dev, dev->vk.vkCreateQueryPool(dev->device, &info, NULL, out));
}

void ft_timestamps_destroy(filtra_device *dev, ft_timestamps stamps) {
  dev->vk.vkDestroyQueryPool(dev->device, stamps, NULL);
}

void ft_commands_reset_timestamps(filtra_device *dev, ft_commands commands, ft_timestamps stamps,
                                  uint32_t first, uint32_t count) {
  dev->vk.vkCmdResetQueryPool(commands, stamps, first, count);
}

void ft_commands_timestamp(filtra_device *dev, ft_commands commands, ft_timestamps stamps,
                           uint32_t index) {
  dev->vk.vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, stamps, index);
}

double ft_timestamp_seconds(const ft_caps *caps, uint64_t from, uint64_t to) {
  uint64_t mask =
      caps->timestamp_bits < 64 ? (UINT64_C(1) << caps->timestamp_bits) - 1 : UINT64_MAX;
  return (double)((to - from) & mask) * caps->timestamp_ns * 1e-9;
}

filtra_status ft_timestamps_read(filtra_device *dev, ft_timestamps stamps, uint32_t pairs,
                                 double *seconds) {
  uint64_t *ticks = ft_calloc(2 * (size_t)pairs, sizeof *ticks);
  if (!ticks) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      FT_VK(dev, dev->vk.vkGetQueryPoolResults(dev->device, stamps, 0, 2 * pairs,
                                               2 * pairs * sizeof *ticks, ticks, sizeof *ticks,
                                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  for (uint32_t i = 0; i < pairs && !status; i++)
    seconds[i] = ft_timestamp_seconds(&dev->caps, ticks[2 * i], ticks[2 * i + 1]);
  free(ticks);
  return status;
}
