/* Queries what each Vulkan device can do, and sorts devices. Called by device.c; plan.c then
 * decides what follows from a device's capabilities. */
#include "gpu/internal.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything queried from the driver. */
typedef struct device_facts {
  VkPhysicalDeviceProperties2 properties;
  VkPhysicalDeviceVulkan11Properties v11;
  VkPhysicalDeviceVulkan12Properties v12;
  VkPhysicalDeviceVulkan13Properties v13;
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia; /* these three as extensions are there */
  VkPhysicalDeviceShaderCoreProperties2AMD amd;
  VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm;
  ft_features features;
  VkPhysicalDeviceMemoryProperties memory;
  VkExtensionProperties *extensions;
  uint32_t extension_count;
} device_facts;

static filtra_status ask_extensions(const ft_instance *instance, VkPhysicalDevice physical,
                                    device_facts *facts) {
  PFN_vkEnumerateDeviceExtensionProperties list = instance->vk.vkEnumerateDeviceExtensionProperties;
  static const char call[] = "vkEnumerateDeviceExtensionProperties";
  FT_TRY(
      ft_vk_status(NULL, FT_VK_RESULT(list(physical, NULL, &facts->extension_count, NULL)), call));
  facts->extensions = ft_calloc(facts->extension_count + 1, sizeof *facts->extensions);
  if (!facts->extensions) return FILTRA_ERROR_HOST_MEMORY;
  return ft_vk_status(
      NULL, FT_VK_RESULT(list(physical, NULL, &facts->extension_count, facts->extensions)), call);
}

static bool has_extension(const void *device, const char *name) {
  const device_facts *facts = device;
  for (uint32_t i = 0; i < facts->extension_count; i++)
    if (!strcmp(facts->extensions[i].extensionName, name)) return true;
  return false;
}

/* Asks how many processors there are, too, which only vendors' extensions tell. */
static void link_processors(device_facts *facts) {
  facts->nvidia.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV;
  facts->amd.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD;
  facts->arm.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM;
  if (has_extension(facts, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
    facts->v13.pNext = &facts->nvidia;
  else if (has_extension(facts, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME))
    facts->v13.pNext = &facts->amd;
  else if (has_extension(facts, VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME))
    facts->v13.pNext = &facts->arm;
}

static filtra_status ask(const ft_instance *instance, VkPhysicalDevice physical,
                         device_facts *facts) {
  facts->properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  instance->vk.vkGetPhysicalDeviceProperties(physical, &facts->properties.properties);
  instance->vk.vkGetPhysicalDeviceMemoryProperties(physical, &facts->memory);
  if (facts->properties.properties.apiVersion < VK_API_VERSION_1_3) {
    instance->vk.vkGetPhysicalDeviceFeatures(physical, &facts->features.core.features);
    return FILTRA_OK; /* the driver does not know the structures of Vulkan 1.2 and 1.3 */
  }
  facts->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  facts->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  facts->v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  facts->properties.pNext = &facts->v11;
  facts->v11.pNext = &facts->v12;
  facts->v12.pNext = &facts->v13;
  FT_TRY(ask_extensions(instance, physical, facts));
  link_processors(facts);
  instance->vk.vkGetPhysicalDeviceProperties2(physical, &facts->properties);
  ft_features_link(&facts->features, has_extension, facts);
  instance->vk.vkGetPhysicalDeviceFeatures2(physical, &facts->features.core);
  return FILTRA_OK;
}

/* Limits the facts to what the application says that it enabled. */
static void restrict_to(const ft_said *said, device_facts *facts) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < facts->extension_count; i++)
    for (uint32_t k = 0; k < said->extension_count; k++)
      if (!strcmp(facts->extensions[i].extensionName, said->extensions[k])) {
        facts->extensions[kept++] = facts->extensions[i];
        break;
      }
  facts->extension_count = kept;
  ft_features_restrict(&facts->features, &said->features, has_extension, facts);
}

/* The smaller limit; 0 means no limit, as drivers report it. */
static uint64_t least(uint64_t a, uint64_t b) {
  return a == 0 ? b : b == 0 || a < b ? a : b;
}

static filtra_device_class device_class(VkPhysicalDeviceType type) {
  switch (type) {
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    return FILTRA_DEVICE_DISCRETE;
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    return FILTRA_DEVICE_INTEGRATED;
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
    return FILTRA_DEVICE_VIRTUAL;
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    return FILTRA_DEVICE_CPU;
  default:
    return FILTRA_DEVICE_OTHER;
  }
}

static void name_device(const device_facts *facts, filtra_device_info *info) {
  const VkPhysicalDeviceProperties *p = &facts->properties.properties;
  snprintf(info->name, sizeof info->name, "%s", p->deviceName);
  snprintf(info->driver, sizeof info->driver, "%.120s %.120s", facts->v12.driverName,
           facts->v12.driverInfo);
  const uint8_t *u = facts->v11.deviceUUID;
  snprintf(info->uuid, sizeof info->uuid,
           "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
           u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
  info->device_class = device_class(p->deviceType);
  info->vendor_id = p->vendorID;
  info->api_version = p->apiVersion;
}

static void measure_limits(const device_facts *facts, ft_caps *caps) {
  const VkPhysicalDeviceLimits *limits = &facts->properties.properties.limits;
  filtra_device_info *info = &caps->info;
  for (uint32_t i = 0; i < facts->memory.memoryHeapCount; i++) {
    const VkMemoryHeap *heap = &facts->memory.memoryHeaps[i];
    if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && heap->size > info->memory_bytes)
      info->memory_bytes = heap->size;
  }
  info->max_allocation_bytes = least(
      least(facts->v11.maxMemoryAllocationSize, facts->v13.maxBufferSize), info->memory_bytes);
  if (!info->max_allocation_bytes) info->max_allocation_bytes = UINT64_MAX;
  info->max_workgroup_invocations =
      (uint32_t)least(limits->maxComputeWorkGroupInvocations, limits->maxComputeWorkGroupSize[0]);
  info->shared_memory_bytes = limits->maxComputeSharedMemorySize;
  for (int i = 0; i < 3; i++)
    caps->max_groups[i] = limits->maxComputeWorkGroupCount[i];
  caps->max_push_bytes = limits->maxPushConstantsSize;
  caps->processors =
      facts->nvidia.shaderSMCount + facts->amd.activeComputeUnitCount + facts->arm.shaderCoreCount;
}

static void measure_subgroups(const device_facts *facts, ft_caps *caps) {
  const VkSubgroupFeatureFlags needed =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
      VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  filtra_device_info *info = &caps->info;
  info->subgroup_size = facts->v11.subgroupSize ? facts->v11.subgroupSize : 1;
  info->subgroup_size_min = facts->v13.minSubgroupSize;
  info->subgroup_size_max = facts->v13.maxSubgroupSize;
  if (!info->subgroup_size_min) info->subgroup_size_min = info->subgroup_size;
  if (!info->subgroup_size_max) info->subgroup_size_max = info->subgroup_size;
  caps->subgroup_least = info->subgroup_size_min;
  caps->subgroup_most = info->subgroup_size_max;
  /* Kernels keep one number per subgroup of a workgroup, at most 64: enough for 256 invocations in
   * subgroups of 4. */
  caps->subgroup = (facts->v11.subgroupSupportedOperations & needed) == needed &&
                   (facts->v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
                   facts->features.v12.subgroupBroadcastDynamicId && info->subgroup_size_min >= 4;
  caps->full_subgroups = facts->features.v13.computeFullSubgroups;
  caps->subgroup_size_control =
      facts->features.v13.subgroupSizeControl && facts->features.v13.computeFullSubgroups &&
      (facts->v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
  caps->max_subgroups = facts->v13.maxComputeWorkgroupSubgroups;
  caps->subgroup_uniform = facts->features.uniform.shaderSubgroupUniformControlFlow;
  caps->maximal_reconvergence = facts->features.maximal.shaderMaximalReconvergence;
}

/* Does not query shapes, which crashes some drivers: the self-test does (matrix.h). */
static void measure_matrices(const device_facts *facts, ft_caps *caps) {
  caps->matrix = facts->features.matrix.cooperativeMatrix && facts->features.v12.vulkanMemoryModel;
  caps->bfloat16 = facts->features.bfloat16.shaderBFloat16Type &&
                   facts->features.bfloat16.shaderBFloat16CooperativeMatrix;
}

static void take_queue(uint32_t index, const VkQueueFamilyProperties *family, double period,
                       ft_caps *caps) {
  caps->queue_family = index;
  caps->timestamp_bits = family->timestampValidBits;
  caps->timestamp_ns = caps->timestamp_bits ? period : 0;
}

/* Prefers a queue family without graphics, which runs concurrently with the desktop's work; takes
 * the application's family if one is given. */
static bool choose_queue(const ft_instance *instance, VkPhysicalDevice physical,
                         const ft_said *said, double period, ft_caps *caps) {
  VkQueueFamilyProperties families[16];
  uint32_t count = FT_COUNT(families);
  instance->vk.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  bool found = false, found_alone = false;
  for (uint32_t i = 0; i < count; i++) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || families[i].queueCount == 0) continue;
    if (said && said->queue_family != i) continue;
    bool alone = !(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT);
    if (found && (found_alone || !alone)) continue;
    take_queue(i, &families[i], period, caps);
    found = true;
    found_alone = alone;
  }
  return found;
}

/* The first required feature that the device lacks; NULL: none. */
static const char *what_is_missing(const device_facts *facts, bool queue) {
  if (facts->properties.properties.apiVersion < VK_API_VERSION_1_3)
    return "the driver offers less than Vulkan 1.3; update it";
  if (!queue) return "no compute queue";
  const ft_required_feature *missing = ft_features_missing(&facts->features);
  return missing ? missing->lack : NULL;
}

static const char *class_reason(filtra_device_class class) {
  switch (class) {
  case FILTRA_DEVICE_DISCRETE:
    return "discrete GPU: preferred to every other kind";
  case FILTRA_DEVICE_INTEGRATED:
    return "integrated GPU: chosen where there is no discrete one";
  case FILTRA_DEVICE_VIRTUAL:
    return "virtual GPU: chosen where there is no discrete or integrated one";
  case FILTRA_DEVICE_CPU:
    return "CPU driver: chosen with a warning where there is no GPU";
  default:
    return "of no known kind: chosen last";
  }
}

/* Compilers that spill with the larger register tiles (docs/compilers.md): Intel's, with 128
 * registers per invocation for every subgroup size, and Apple's. Devices do not report this. */
static bool has_few_registers(const filtra_device_info *info) {
  enum { INTEL = 0x8086 };
  return info->device_class != FILTRA_DEVICE_CPU &&
         (info->vendor_id == INTEL || info->subgroup_size_min <= 8 ||
          !strncmp(info->name, "Apple ", 6));
}

/* Only the driver's description states Mesa's version. *mesa is 0 where it cannot be read. */
static bool is_lavapipe(const device_facts *facts, unsigned *mesa) {
  if (sscanf(facts->v12.driverInfo, "Mesa %u", mesa) != 1) *mesa = 0;
  return facts->v12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
}

/* lavapipe 22.3.6 ends loops early, 25.0.7 does not (tests/drivers/long_loops.comp). */
static bool has_short_loops(const device_facts *facts) {
  unsigned mesa;
  return is_lavapipe(facts, &mesa) && mesa < 25;
}

/* Mesa 26's lavapipe keeps as scalars what is the same in all lanes, 25.0.7 only outside loops and
 * only what follows from push constants. */
static bool has_uniform_loads(const device_facts *facts) {
  unsigned mesa;
  return is_lavapipe(facts, &mesa) && mesa >= 26;
}

const ft_constants *ft_constants_of(const ft_caps *caps) {
  /* Starting a workgroup takes lavapipe 0.2 us, as long as computing a row. */
  static const ft_constants cpu = {.flat_elements = 16,
                                   .batch_groups = 64,
                                   .row_groups = 512,
                                   .row_numbers = 64,
                                   .column_sums = 4,
                                   .product_groups = 32,
                                   .product_cache = 512 << 10,
                                   .product_chunk = 1024,
                                   .matrix_tile = 16 * 16,
                                   .chain_teams = 8,
                                   .chain_steps = 256,
                                   .slowest_flops = 2e10,
                                   .slowest_bytes = 5e9};
  static const ft_constants gpu = {.flat_elements = 4,
                                   .batch_groups = 8192,
                                   .row_groups = FT_MOST_GROUPS,
                                   .team_workgroup = 128,
                                   .row_numbers = 8,
                                   .sum_groups = 512,
                                   .column_sums = 1,
                                   .product_groups = 192,
                                   .product_chunk = 256,
                                   .matrix_tile = 64 * 32,
                                   .chain_teams = 2048,
                                   .chain_steps = 32,
                                   .slowest_flops = 2e10,
                                   .slowest_bytes = 5e9};
  return caps->cpu ? &cpu : &gpu;
}

uint32_t ft_busy_groups(const ft_caps *caps) {
  enum { EACH = 2 }; /* so that one computes while another waits */
  return caps->cpu || !caps->processors ? ft_constants_of(caps)->product_groups
                                        : EACH * caps->processors;
}

double ft_submission_seconds(bool cpu) {
  return cpu ? 0.0 : 0.1; /* no watchdog stops a CPU driver */
}

filtra_status ft_caps_examine(const ft_instance *instance, VkPhysicalDevice physical,
                              const ft_said *said, ft_caps *caps) {
  device_facts facts = {0};
  *caps = (ft_caps){0};
  filtra_status status = ask(instance, physical, &facts);
  if (status) goto done;
  if (said) restrict_to(said, &facts);
  filtra_device_info *info = &caps->info;
  name_device(&facts, info);
  measure_limits(&facts, caps);
  measure_subgroups(&facts, caps);
  bool queue = choose_queue(instance, physical, said,
                            facts.properties.properties.limits.timestampPeriod, caps);
  caps->cpu = caps->for_cpu = info->device_class == FILTRA_DEVICE_CPU;
  caps->portability = has_extension(&facts, "VK_KHR_portability_subset");
  caps->pipeline_cache = true;
  caps->short_loops = has_short_loops(&facts);
  caps->uniform_loads = has_uniform_loads(&facts);
  caps->few_registers = has_few_registers(info);
  caps->submission_seconds = ft_submission_seconds(caps->cpu);
  info->subgroup_arithmetic = caps->subgroup;
  info->int64 = facts.features.core.features.shaderInt64;
  caps->storage16 = facts.features.v11.storageBuffer16BitAccess;
  info->fp16 = facts.features.v12.shaderFloat16 && caps->storage16;
  info->timestamps = caps->timestamp_ns > 0;
  info->memory_budget = has_extension(&facts, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  info->pipeline_statistics =
      has_extension(&facts, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  measure_matrices(&facts, caps);
  const char *missing = what_is_missing(&facts, queue);
  info->usable = missing == NULL;
  snprintf(info->reason, sizeof info->reason, "%s",
           missing ? missing : class_reason(info->device_class));
done:
  free(facts.extensions);
  return status;
}

/* Sorts the best first; info.index, which still is the order of enumeration, breaks ties. */
static int compare_candidates(const void *a, const void *b) {
  const filtra_device_info *x = &((const ft_candidate *)a)->caps.info;
  const filtra_device_info *y = &((const ft_candidate *)b)->caps.info;
  if (x->device_class != y->device_class) return x->device_class < y->device_class ? -1 : 1;
  if (x->usable != y->usable) return x->usable ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

filtra_status ft_candidates(ft_instance *instance, ft_candidate **out, uint32_t *count) {
  *out = NULL;
  *count = 0;
  uint32_t found = 0;
  FT_TRY(FT_VK(NULL, instance->vk.vkEnumeratePhysicalDevices(instance->handle, &found, NULL)));
  if (found == 0) {
    return ft_fail(FILTRA_ERROR_NO_DEVICE,
                   "no driver on this machine found a Vulkan device; install the GPU vendor's "
                   "driver, or mesa-vulkan-drivers, which includes a CPU driver");
  }
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  VkPhysicalDevice *physical = ft_calloc(found, sizeof *physical);
  ft_candidate *list = ft_calloc(found, sizeof *list);
  if (!physical || !list) goto fail;
  FT_TRY_GOTO(
      status,
      FT_VK(NULL, instance->vk.vkEnumeratePhysicalDevices(instance->handle, &found, physical)),
      fail);
  for (uint32_t i = 0; i < found; i++) {
    list[i].physical = physical[i];
    FT_TRY_GOTO(status, ft_caps_examine(instance, physical[i], NULL, &list[i].caps), fail);
    list[i].caps.info.index = i;
  }
  qsort(list, found, sizeof *list, compare_candidates);
  for (uint32_t i = 0; i < found; i++)
    list[i].caps.info.index = i;
  free(physical);
  *out = list;
  *count = found;
  return FILTRA_OK;
fail:
  free(physical);
  free(list);
  return status;
}
