/* Readers of files about devices, for a device that does not exist. */
#include "base/json.h"
#include "base/memory.h"
#include "fuzz.h"
#include "gpu/internal.h"
#include "gpu/matrix.h"
#include "gpu/plan.h"
#include "ops/tuning.h"

#include <stdlib.h>
#include <string.h>

/* ---- Vulkan, as far as these readers ask ---- */

static VKAPI_ATTR void VKAPI_CALL describe(VkPhysicalDevice device,
                                           VkPhysicalDeviceProperties *out) {
  (void)device;
  *out = (VkPhysicalDeviceProperties){.vendorID = 1, .deviceID = 2, .driverVersion = 3};
  memset(out->pipelineCacheUUID, 'u', sizeof out->pipelineCacheUUID);
}

static VKAPI_ATTR void VKAPI_CALL tell_more(VkPhysicalDevice device,
                                            VkPhysicalDeviceProperties2 *out) {
  describe(device, &out->properties);
}

/* Reads all that it is given, and so sees whether that is there. */
static VKAPI_ATTR VkResult VKAPI_CALL take_cache(VkDevice device,
                                                 const VkPipelineCacheCreateInfo *info,
                                                 const VkAllocationCallbacks *allocate,
                                                 VkPipelineCache *cache) {
  (void)device, (void)allocate;
  uint64_t sum = 0;
  for (size_t i = 0; i < info->initialDataSize; i++)
    sum += ((const uint8_t *)info->pInitialData)[i];
  *cache = (VkPipelineCache)(uintptr_t)(sum + 1);
  return VK_SUCCESS;
}

static filtra_device *device(void) {
  static filtra_device none;
  static struct ft_pipeline_store store;
  static ft_instance instance;
  instance.vk.vkGetPhysicalDeviceProperties = describe;
  instance.vk.vkGetPhysicalDeviceProperties2 = tell_more;
  none.instance = &instance;
  none.vk.vkCreatePipelineCache = take_cache;
  none.pipelines = &store;
  none.caps = (ft_caps){
      .cpu = true,
      .subgroup = true,
      .info = {.name = "none", .driver = "none", .uuid = "00", .subgroup_size = 8, .int64 = true}};
  none.caps.info.device_class = FILTRA_DEVICE_CPU;
  none.caps.info.max_workgroup_invocations = 1024;
  return &none;
}

/* ---- readers ---- */

static void read_tuning(const uint8_t *data, size_t size) {
  ft_tuning *tuning;
  bool foreign = false;
  filtra_status status =
      ft_tuning_parse(device(), (const char *)data, size, "x.json", &foreign, &tuning);
  fuzz_failed(status);
  if (status) return;
  for (size_t i = 0; i < tuning->count; i++) {
    const ft_tuning_entry *e = &tuning->entries[i];
    fuzz_check(!e->chosen || ft_configuration_known(e->family, &e->choice), "a row of the table");
  }
  char *text = ft_tuning_choices(device(), tuning);
  ft_tuning *again = NULL;
  fuzz_check(text && !ft_tuning_parse(device(), text, strlen(text), "x", &foreign, &again) &&
                 ft_tuning_chosen(again) == ft_tuning_chosen(tuning),
             "reading again");
  free(text);
  ft_tuning_release(&again);
  ft_tuning_release(&tuning);
}

static void read_matrices(const uint8_t *data, size_t size) {
  ft_matrix_verdict verdict, again;
  filtra_status status = ft_matrix_parse(device(), (const char *)data, size, "x.json", &verdict);
  fuzz_failed(status);
  fuzz_check(status ? !verdict.tested : verdict.tested, "a verdict, or none");
  if (status) return;
  fuzz_check(!verdict.passed || verdict.f16.m || verdict.bf16.m, "a shape that passed");
  char *text = ft_json_text(ft_matrix_document(device(), &verdict), 0);
  fuzz_check(text && !ft_matrix_parse(device(), text, strlen(text), "x", &again) &&
                 !memcmp(&again.f16, &verdict.f16, sizeof again.f16) &&
                 again.passed == verdict.passed && !strcmp(again.why, verdict.why),
             "reading again");
  free(text);
}

static void read_caps(const uint8_t *data, size_t size) {
  ft_caps caps = device()->caps;
  char *text = fuzz_text(data, size);
  if (!strchr(text, '@')) fuzz_failed(ft_caps_override(&caps, text)); /* files are the next's */
  free(text);
}

static void read_profile(const uint8_t *data, size_t size) {
  ft_caps caps = device()->caps;
  char text[300];
  snprintf(text, sizeof text, "@%s", fuzz_file("x.caps", data, size));
  fuzz_failed(ft_caps_override(&caps, text));
}

static void read_pipeline_cache(const uint8_t *data, size_t size) {
  VkPipelineCache cache = VK_NULL_HANDLE;
  size_t kept;
  const char *path = fuzz_file("pipelines.bin", data, size);
  fuzz_check(!ft_pipeline_cache_open(device(), path, &cache, &kept) && kept <= size,
             "a cache, with something or nothing in it");
}

static void read_module(const uint8_t *data, size_t size) {
  size_t count = size / sizeof(uint32_t);
  uint32_t *words = malloc(size + 1);
  const ft_module *module;
  fuzz_check(words != NULL, "no memory");
  memcpy(words, data, size);
  filtra_device *dev = device();
  fuzz_failed(ft_module_get(dev, "x", words, count, &module));
  ft_modules_destroy(dev->pipelines);
  *dev->pipelines = (struct ft_pipeline_store){0};
  free(words);
}

const fuzz_reader fuzz_devices[] = {{"tuning", read_tuning},
                                    {"matrices", read_matrices},
                                    {"caps", read_caps},
                                    {"profile", read_profile},
                                    {"pipeline-cache", read_pipeline_cache},
                                    {"module", read_module},
                                    {0}};
