/* Identifies cached documents, which are valid for one device, driver and library version. */
#include "gpu/identity.h"
#include "gpu/internal.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both are needed: a driver may serve several GPUs, a GPU may have several drivers. */
typedef struct identity {
  const char *uuid;
  char driver_uuid[2 * VK_UUID_SIZE + 1];
  uint32_t driver_version;
} identity;

static identity identify(const filtra_device *dev) {
  VkPhysicalDeviceVulkan11Properties v11 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            .pNext = &v11};
  dev->instance->vk.vkGetPhysicalDeviceProperties2(dev->physical, &properties);
  identity id = {.uuid = dev->caps.info.uuid,
                 .driver_version = properties.properties.driverVersion};
  for (uint32_t i = 0; i < VK_UUID_SIZE; i++)
    snprintf(id.driver_uuid + 2 * i, 3, "%02x", v11.driverUUID[i]);
  return id;
}

char *ft_document_path(const filtra_device *dev, const char *folder, const char *kind) {
  identity id = identify(dev);
  char *name = ft_format("%s-%s-%s-%08x-%s.json", kind, id.uuid, id.driver_uuid, id.driver_version,
                         filtra_version());
  char *path = name ? ft_path_join(folder, name) : NULL;
  free(name);
  return path;
}

json_t *ft_document_new(const filtra_device *dev, const char *format) {
  const filtra_device_info *info = &dev->caps.info;
  identity id = identify(dev);
  json_t *device =
      json_pack("{ss ss ss ss sI}", "name", info->name, "uuid", info->uuid, "driver", info->driver,
                "driver_uuid", id.driver_uuid, "driver_version", (json_int_t)id.driver_version);
  return json_pack("{ss ss so}", "format", format, "filtra", filtra_version(), "device", device);
}

filtra_status ft_document_check(const filtra_device *dev, const json_t *root, const char *format,
                                const char *what, const char *context, bool *foreign) {
  const json_t *device = json_object_get(root, "device");
  const json_t *version = json_object_get(device, "driver_version");
  identity id = identify(dev);
  *foreign = false;
  if (strcmp(ft_json_string(root, "format"), format))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: is not a %s: \"format\" is not \"%s\"", context, what,
                   format);
  if (!json_is_object(device) || !json_is_integer(version))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"device\" is missing or damaged", context);
  *foreign = true;
  if (strcmp(ft_json_string(device, "uuid"), id.uuid))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: is of another device, %.100s (%.40s); this is %s (%s). Run filtra tune on "
                   "it",
                   context, ft_json_string(device, "name"), ft_json_string(device, "uuid"),
                   dev->caps.info.name, id.uuid);
  if (strcmp(ft_json_string(device, "driver_uuid"), id.driver_uuid) ||
      json_integer_value(version) != (json_int_t)id.driver_version)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: was measured with another driver, %.120s (version 0x%llx); this is %s "
                   "(version 0x%x). Run filtra tune again",
                   context, ft_json_string(device, "driver"),
                   (long long)json_integer_value(version), dev->caps.info.driver,
                   id.driver_version);
  if (strcmp(ft_json_string(root, "filtra"), filtra_version()))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: was measured with filtra %.20s, whose kernels may be others than those of "
                   "%s. Run filtra tune again",
                   context, ft_json_string(root, "filtra"), filtra_version());
  *foreign = false;
  return FILTRA_OK;
}
