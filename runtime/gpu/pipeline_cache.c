/* Stores the pipeline cache on disk: compiled kernels of one device, driver and library version.
 * Called by pipeline.c.
 *
 * A file is our header and the data of vkGetPipelineCacheData. Drivers hardly check that data, so
 * they get only bytes that they wrote. A checksum detects damage; against tampering, file and
 * folder must be writable by this user only. */
#include "gpu/internal.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LIMIT = 512 << 20 };

static const char magic[8] = {'F', 'I', 'L', 'T', 'R', 'A', 'P', '1'};

typedef struct cache_header {
  char magic[8];
  uint64_t size;     /* of the data after the header, in bytes */
  uint64_t checksum; /* of that data */
} cache_header;

/* FNV-1a (Fowler, Noll, Vo) with 64 bits. */
static uint64_t checksum(const void *data, size_t size) {
  const unsigned char *bytes = data;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

char *ft_pipeline_cache_path(const filtra_device *dev, const char *folder) {
  VkPhysicalDeviceProperties properties;
  dev->instance->vk.vkGetPhysicalDeviceProperties(dev->physical, &properties);
  /* Includes the processor: machines may share a home folder, and a CPU driver's UUID does not
   * identify the processor. */
  char *name = ft_format("pipelines-%s-%08x-%s-" FILTRA_PROCESSOR ".bin", dev->caps.info.uuid,
                         properties.driverVersion, filtra_version());
  char *path = name ? ft_path_join(folder, name) : NULL;
  free(name);
  return path;
}

/* Why the file cannot be used; NULL if it can. */
static const char *what_is_wrong(const filtra_device *dev, const char *file, size_t size) {
  cache_header header;
  if (size < sizeof header) return "it is cut off";
  memcpy(&header, file, sizeof header);
  if (memcmp(header.magic, magic, sizeof magic)) return "it is not a pipeline cache";
  if (header.size != size - sizeof header) return "it is cut off";
  if (header.checksum != checksum(file + sizeof header, size - sizeof header))
    return "its content is damaged";
  VkPipelineCacheHeaderVersionOne driver;
  if (header.size < sizeof driver) return "it is too short";
  memcpy(&driver, file + sizeof header, sizeof driver);
  VkPhysicalDeviceProperties properties;
  dev->instance->vk.vkGetPhysicalDeviceProperties(dev->physical, &properties);
  if (driver.headerVersion != VK_PIPELINE_CACHE_HEADER_VERSION_ONE ||
      driver.vendorID != properties.vendorID || driver.deviceID != properties.deviceID ||
      memcmp(driver.pipelineCacheUUID, properties.pipelineCacheUUID, VK_UUID_SIZE))
    return "it is another device's or driver's";
  return NULL;
}

filtra_status ft_pipeline_cache_open(filtra_device *dev, const char *path, VkPipelineCache *cache,
                                     size_t *size) {
  char *file = NULL;
  size_t file_size = 0;
  *size = 0;
  if (path && ft_file_exists(path)) {
    const char *wrong = !ft_is_private(path) ? "others than its user could have written it"
                        : ft_file_read(path, CACHE_LIMIT, &file, &file_size)
                            ? filtra_error_message()
                            : what_is_wrong(dev, file, file_size);
    if (wrong) ft_log(FILTRA_LOG_WARNING, "pipeline cache %s is ignored: %s", path, wrong);
    if (!wrong) *size = file_size - sizeof(cache_header);
  }
  VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                    .initialDataSize = *size,
                                    .pInitialData = *size ? file + sizeof(cache_header) : NULL};
  filtra_status status = FT_VK(dev, dev->vk.vkCreatePipelineCache(dev->device, &info, NULL, cache));
  free(file);
  return status;
}

/* Header and data in one block; caller frees; NULL and *size 0 if nothing is new. */
static filtra_status collect_cache(filtra_device *dev, VkPipelineCache cache, size_t old_size,
                                   char **file, size_t *size) {
  size_t data_size = 0;
  FT_TRY(FT_VK(dev, dev->vk.vkGetPipelineCacheData(dev->device, cache, &data_size, NULL)));
  if (data_size <= old_size) return FILTRA_OK;
  *file = ft_calloc(1, sizeof(cache_header) + data_size);
  if (!*file) return FILTRA_ERROR_HOST_MEMORY;
  char *data = *file + sizeof(cache_header);
  FT_TRY(FT_VK(dev, dev->vk.vkGetPipelineCacheData(dev->device, cache, &data_size, data)));
  /* Mesa 26's lavapipe returns less than a header; it caches kernels itself. */
  if (data_size < sizeof(VkPipelineCacheHeaderVersionOne)) return FILTRA_OK;
  cache_header header = {.size = data_size, .checksum = checksum(data, data_size)};
  memcpy(header.magic, magic, sizeof magic);
  memcpy(*file, &header, sizeof header);
  *size = sizeof header + data_size;
  return FILTRA_OK;
}

void ft_pipeline_cache_save(filtra_device *dev, const char *path, VkPipelineCache cache,
                            size_t size) {
  char *file = NULL;
  size_t file_size = 0;
  filtra_status status = collect_cache(dev, cache, size, &file, &file_size);
  if (!status && file_size) status = ft_file_write_below(path, file, file_size);
  if (status) ft_log(FILTRA_LOG_WARNING, "pipeline cache not stored: %s", filtra_error_message());
  free(file);
}
