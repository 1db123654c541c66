/* Lists, chooses, opens and closes devices. Called by ops/device.c for filtra_device_open, and by
 * applications through filtra/device.h. */
#include "gpu/internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <filtra/vulkan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

filtra_status filtra_device_list(filtra_device_info *infos, uint32_t *count) {
  FT_NEED(count);
  uint32_t room = infos ? *count : 0;
  *count = 0;
  ft_instance *instance = NULL;
  FT_TRY(ft_instance_create(false, &instance));
  ft_candidate *list = NULL;
  filtra_status status = ft_candidates(instance, &list, count);
  for (uint32_t i = 0; i < *count && i < room; i++)
    infos[i] = list[i].caps.info;
  free(list);
  ft_instance_destroy(&instance);
  return status;
}

/* ---- choosing ---- */

/* The option, or else the environment variable; NULL if neither is set. */
static const char *option_or_environment(const char *option, const char *variable) {
  const char *value = option ? option : getenv(variable);
  return value && *value ? value : NULL;
}

/* Adds a device to the message's list. */
static void list_device(const filtra_device_info *info, bool first) {
  ft_fail(FILTRA_ERROR_NO_DEVICE, "%s%s %u: %s%s%s", filtra_error_message(), first ? "" : ";",
          info->index, info->name,
          info->usable ? "" : ", not usable: ", info->usable ? "" : info->reason);
}

/* Fails and lists the available devices. */
static filtra_status fail_choice(const ft_candidate *list, uint32_t count, const char *what) {
  ft_fail(FILTRA_ERROR_NO_DEVICE, "%s; available:", what);
  for (uint32_t i = 0; i < count; i++)
    list_device(&list[i].caps.info, i == 0);
  return FILTRA_ERROR_NO_DEVICE;
}

/* Whether `select` names the device: an index (digits only), a UUID, "cpu", or part of the name or
 * driver. */
static bool selected(const filtra_device_info *info, const char *select) {
  if (strspn(select, "0123456789") == strlen(select))
    return strtoul(select, NULL, 10) == info->index;
  if (!ft_strcasecmp(select, "cpu")) return info->device_class == FILTRA_DEVICE_CPU;
  return !ft_strcasecmp(select, info->uuid) || ft_strcasestr(info->name, select) ||
         ft_strcasestr(info->driver, select);
}

/* Fails if a name or UUID matches several usable devices. */
static filtra_status refuse_several(const ft_candidate *list, uint32_t count, const char *select) {
  uint32_t several = 0;
  if (strspn(select, "0123456789") == strlen(select) || !ft_strcasecmp(select, "cpu"))
    return FILTRA_OK;
  for (uint32_t i = 0; i < count; i++)
    several += list[i].caps.info.usable && selected(&list[i].caps.info, select);
  if (several < 2) return FILTRA_OK;
  ft_fail(FILTRA_ERROR_NO_DEVICE, "%u devices are \"%.100s\"; select one by its number:", several,
          select);
  for (uint32_t i = 0, listed = 0; i < count; i++)
    if (list[i].caps.info.usable && selected(&list[i].caps.info, select))
      list_device(&list[i].caps.info, listed++ == 0);
  return FILTRA_ERROR_NO_DEVICE;
}

/* The first usable device that `select` names; without `select`, the first usable one. */
static filtra_status choose(const ft_candidate *list, uint32_t count, const char *select,
                            const ft_candidate **chosen) {
  if (select) FT_TRY(refuse_several(list, count, select));
  for (uint32_t i = 0; i < count; i++) {
    const filtra_device_info *info = &list[i].caps.info;
    if (!info->usable || (select && !selected(info, select))) continue;
    *chosen = &list[i];
    if (!select && list[i].caps.cpu) {
      ft_log(
          FILTRA_LOG_WARNING,
          "no usable GPU: running on the CPU through %s, which is slow; install the GPU's Vulkan "
          "driver, or select \"cpu\" to say that this is meant",
          info->name);
    }
    return FILTRA_OK;
  }
  char what[200];
  if (!select) return fail_choice(list, count, "no device is usable");
  snprintf(what, sizeof what, "no usable device is \"%.100s\"", select);
  return fail_choice(list, count, what);
}

/* ---- opening ---- */

filtra_status ft_check_precision(const filtra_device *dev, filtra_dtype dtype) {
  if (dtype == FILTRA_F32 || dev->caps.storage16) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                 "%s: computing in %s needs 16-bit storage (storageBuffer16BitAccess), which this "
                 "device or its driver lacks; F32 runs everywhere",
                 dev->caps.info.name, filtra_dtype_name(dtype));
}

static filtra_status create_device(filtra_device *dev) {
  ft_enabled enabled;
  ft_features_enable(&dev->caps,
                     (ft_matrix_used(&dev->caps) ? FT_USE_MATRICES : 0u) |
                         (dev->compiler ? FT_USE_STATISTICS : 0u),
                     &enabled);
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueFamilyIndex = dev->caps.queue_family,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &enabled.features.core,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = enabled.extension_count,
                               .ppEnabledExtensionNames = enabled.extensions};
  FT_TRY(FT_VK(NULL, dev->instance->vk.vkCreateDevice(dev->physical, &create, NULL, &dev->device)));
  ft_instance_load_device(dev->instance, dev->device, &dev->vk);
  dev->vk.vkGetDeviceQueue(dev->device, dev->caps.queue_family, 0, &dev->queue);
  return FILTRA_OK;
}

static filtra_status create_objects(filtra_device *dev) {
  VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, FT_PUSH_BYTES};
  VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .pushConstantRangeCount = 1,
                                       .pPushConstantRanges = &push};
  FT_TRY(FT_VK(dev, dev->vk.vkCreatePipelineLayout(dev->device, &layout, NULL, &dev->layout)));
  if (dev->compiler) return FILTRA_OK; /* compilers without a GPU lack timeline semaphores */
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                     .pNext = &type};
  return FT_VK(dev, dev->vk.vkCreateSemaphore(dev->device, &semaphore, NULL, &dev->timeline));
}

/* Masks matrix units if the validation layer is too old to know them: it reports their modules as
 * invalid. */
static filtra_status check_matrices(filtra_device *dev) {
  if (!dev->instance->layer || dev->instance->layer >= VK_MAKE_API_VERSION(0, 1, 3, 255))
    return FILTRA_OK;
  if (dev->caps.matrix_use == FT_MATRIX_FORCE)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "capability matrix=force: the validation layer here does not know matrix units, "
                   "its version 1.3.255 is the first that does; go without validation");
  dev->caps.matrix = dev->caps.bfloat16 = false;
  return FILTRA_OK;
}

/* Takes the shapes that passed the self-test. Asks the driver only if matrix=force. */
static filtra_status open_matrices(filtra_device *dev, const char *folder) {
  ft_caps *caps = &dev->caps;
  if (caps->matrix_use == FT_MATRIX_TUNED && caps->matrix && folder) {
    FT_TRY(ft_matrix_open_cached(dev, folder));
    if (!dev->matrix_verdict.passed) return FILTRA_OK;
    caps->matrix_f16 = dev->matrix_verdict.f16;
    if (caps->bfloat16) caps->matrix_bf16 = dev->matrix_verdict.bf16;
  }
  if (caps->matrix_use != FT_MATRIX_FORCE || caps->matrix_f16.m) return FILTRA_OK;
  FT_TRY(ft_matrix_ask(dev->instance, dev->physical, caps));
  if (caps->matrix_f16.m || caps->matrix_bf16.m) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                 "capability matrix=force: the matrix units of %s have no shape for F16 or BF16 "
                 "operands and F32 sums; matrix=tuned runs everywhere",
                 caps->info.name);
}

static filtra_status choose_physical(ft_instance *instance, const filtra_device_options *options,
                                     ft_candidate *out) {
  const char *select = option_or_environment(options->select, "FILTRA_DEVICE");
  const char *caps = option_or_environment(options->caps, "FILTRA_CAPS");
  ft_candidate *list = NULL;
  const ft_candidate *chosen = NULL;
  uint32_t count = 0;
  FT_TRY(ft_candidates(instance, &list, &count));
  filtra_status status = choose(list, count, select, &chosen);
  if (!status) {
    *out = *chosen;
    status = ft_caps_override(&out->caps, caps);
  }
  free(list);
  return status;
}

filtra_status ft_device_caps(const filtra_device_options *options, ft_caps *caps) {
  ft_instance *instance = NULL;
  ft_candidate chosen = {0};
  FT_TRY(ft_instance_create(false, &instance));
  filtra_status status = choose_physical(instance, options, &chosen);
  *caps = chosen.caps;
  ft_instance_destroy(&instance);
  return status;
}

static filtra_status find_cache_folder(filtra_device *dev, const filtra_device_options *options) {
  const char *folder = options->cache_dir ? options->cache_dir : getenv("FILTRA_CACHE_DIR");
  dev->cache_folder = !folder ? ft_cache_directory() : *folder ? ft_strdup(folder) : NULL;
  return folder && *folder && !dev->cache_folder ? FILTRA_ERROR_HOST_MEMORY : FILTRA_OK;
}

static filtra_status open_objects(filtra_device *dev, const filtra_device_options *options) {
  FT_TRY(find_cache_folder(dev, options));
  FT_TRY(open_matrices(dev, dev->compiler ? NULL : dev->cache_folder));
  if (!dev->device) FT_TRY(create_device(dev));
  FT_TRY(create_objects(dev));
  return ft_pipeline_store_create(dev, dev->caps.pipeline_cache ? dev->cache_folder : NULL);
}

static filtra_status open_device(filtra_device *dev, const filtra_device_options *options) {
  const char *variable = getenv("FILTRA_VALIDATION");
  bool validation = options->validation || (variable && !strcmp(variable, "1"));
  FT_TRY(ft_instance_create(validation, &dev->instance));
  ft_candidate chosen = {0};
  FT_TRY(choose_physical(dev->instance, options, &chosen));
  dev->physical = chosen.physical;
  dev->caps = chosen.caps;
  /* Older validation layers report maximal reconvergence as an error. */
  if (dev->instance->layer && dev->instance->layer < VK_MAKE_API_VERSION(0, 1, 3, 276))
    dev->caps.maximal_reconvergence = false;
  FT_TRY(check_matrices(dev));
  if (dev->compiler && !dev->caps.info.pipeline_statistics)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "%s, %s: the driver has no VK_KHR_pipeline_executable_properties",
                   dev->caps.info.name, dev->caps.info.driver);
  return open_objects(dev, options);
}

static filtra_status open_on(filtra_device *dev, const filtra_vulkan_device *vulkan,
                             const filtra_device_options *options) {
  FT_TRY(ft_adopt(dev, vulkan));
  FT_TRY(ft_caps_override(&dev->caps, option_or_environment(options->caps, "FILTRA_CAPS")));
  return open_objects(dev, options);
}

static void log_device(const filtra_device *dev) {
  const filtra_device_info *info = &dev->caps.info;
  if (dev->caps.short_loops)
    ft_log(FILTRA_LOG_WARNING,
           "%s ends an invocation's loops after 65,535 turns: results for long sequences can be "
           "wrong (docs/devices.md); Mesa 25 does not",
           info->driver);
  if (dev->shared_queue)
    ft_log(FILTRA_LOG_INFO, "the application's device: %s, %s", info->name, info->driver);
  else
    ft_log(FILTRA_LOG_INFO, "device %u: %s, %s", info->index, info->name, info->driver);
}

static filtra_status create(const filtra_vulkan_device *vulkan,
                            const filtra_device_options *options, ft_device_purpose purpose,
                            filtra_device **device) {
  *device = NULL;
  filtra_device *dev = ft_calloc(1, sizeof *dev);
  if (!dev) return FILTRA_ERROR_HOST_MEMORY;
  dev->compiler = purpose == FT_DEVICE_COMPILES;
  dev->process = ft_process();
  ft_mutex_make(&dev->turns.mutex);
  ft_condition_make(&dev->turns.next);
  filtra_status status = vulkan ? open_on(dev, vulkan, options) : open_device(dev, options);
  if (!status) log_device(dev);
  if (status)
    ft_device_destroy(&dev);
  else
    *device = dev;
  return status;
}

filtra_status ft_device_create(const filtra_device_options *options, ft_device_purpose purpose,
                               filtra_device **device) {
  return create(NULL, options, purpose, device);
}

filtra_status ft_device_create_on(const filtra_vulkan_device *vulkan,
                                  const filtra_device_options *options, filtra_device **device) {
  return create(vulkan, options, FT_DEVICE_EXECUTES, device);
}

static void destroy_objects(filtra_device *dev) {
  ft_wait_at_last(dev);
  ft_staging_destroy(dev);
  ft_pipeline_store_destroy(dev);
  if (dev->timeline) dev->vk.vkDestroySemaphore(dev->device, dev->timeline, NULL);
  if (dev->layout) dev->vk.vkDestroyPipelineLayout(dev->device, dev->layout, NULL);
  if (!dev->shared_queue) dev->vk.vkDestroyDevice(dev->device, NULL);
}

void ft_device_destroy(filtra_device **device) {
  filtra_device *dev = *device;
  *device = NULL;
  if (dev->process != ft_process()) return; /* the driver would wait for threads of the parent */
  if (dev->device) destroy_objects(dev);
  ft_queue_release(&dev->shared_queue);
  ft_instance_destroy(&dev->instance);
  free(dev->matrix_path);
  free(dev->cache_folder);
  ft_condition_free(&dev->turns.next);
  ft_mutex_free(&dev->turns.mutex);
  free(dev);
}

void ft_device_hold(filtra_device *dev) {
  atomic_fetch_add(&dev->users, 1);
}
void ft_device_release(filtra_device *dev) {
  atomic_fetch_sub(&dev->users, 1);
}
filtra_status ft_device_check_unused(const filtra_device *dev) {
  char name[sizeof dev->caps.info.name + 8];
  snprintf(name, sizeof name, "device %s", dev->caps.info.name);
  return ft_check_unused(name, atomic_load(&dev->users));
}

const ft_caps *ft_caps_of(const filtra_device *dev) {
  return &dev->caps;
}
struct ft_tuning *ft_tuning_of(const filtra_device *dev) {
  return dev->tuning;
}
struct ft_tuning *ft_device_keep_tuning(filtra_device *dev, struct ft_tuning *tuning) {
  struct ft_tuning *before = dev->tuning;
  dev->tuning = tuning;
  return before;
}
const char *ft_cache_folder_of(const filtra_device *dev) {
  return dev->cache_folder;
}
bool ft_compiles_only(const filtra_device *dev) {
  return dev->compiler;
}

const filtra_device_info *filtra_device_get_info(const filtra_device *device) {
  return device ? &device->caps.info : NULL;
}

uint32_t filtra_device_validation_count(const filtra_device *device) {
  return device ? atomic_load(&device->instance->messages) : 0;
}

/* A forked process takes no turn, since its turn might never come; ft_enter then refuses its calls.
 */
void ft_device_lock(filtra_device *dev) {
  if (dev->process != ft_process()) return;
  ft_lock(&dev->turns.mutex);
  uint64_t mine = dev->turns.came++;
  while (dev->turns.served != mine)
    ft_condition_wait(&dev->turns.next, &dev->turns.mutex);
  ft_unlock(&dev->turns.mutex);
}
void ft_device_unlock(filtra_device *dev) {
  if (dev->process != ft_process()) return;
  ft_lock(&dev->turns.mutex);
  dev->turns.served++;
  ft_condition_wake_all(&dev->turns.next);
  ft_unlock(&dev->turns.mutex);
}
