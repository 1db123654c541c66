/* The Vulkan features and extensions that Filtra requires, those that it enables, and those that an
 * application says it enabled. Called by caps.c to query a device, by device.c to make one, and by
 * adopt.c for an application's. */
#include "gpu/features.h"

#include "gpu/matrix.h"

#include <string.h>

/* Every Vulkan feature structure is this header followed by VkBool32 words. */
typedef VkBaseOutStructure any_features;

enum { WORD = sizeof(VkBool32) };

#define MEMBER(part) offsetof(ft_features, part), sizeof(((ft_features *)0)->part)

/* The structures of ft_features in their order; `extension`: the one that the structure needs. */
static const struct {
  const char *extension;
  VkStructureType type;
  size_t at, bytes;
} PARTS[] = {
    {NULL, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, MEMBER(core)},
    {NULL, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, MEMBER(v11)},
    {NULL, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, MEMBER(v12)},
    {NULL, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, MEMBER(v13)},
    {VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME,
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_FEATURES_KHR,
     MEMBER(uniform)},
    {VK_KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME,
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR, MEMBER(maximal)},
    {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, MEMBER(matrix)},
    {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR, MEMBER(bfloat16)},
    {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME,
     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
     MEMBER(statistics)},
};

/* Features of extensions that were promoted to Vulkan 1.1 to 1.3. */
#define TAKEN(TYPE, type, member, now)                                                             \
  {                                                                                                \
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE##_FEATURES,                                           \
        offsetof(VkPhysicalDevice##type##Features, member), offsetof(ft_features, now)             \
  }
static const struct {
  VkStructureType type;
  size_t from, to;
} TAKEN_IN[] = {
    TAKEN(16BIT_STORAGE, 16BitStorage, storageBuffer16BitAccess, v11.storageBuffer16BitAccess),
    TAKEN(SHADER_FLOAT16_INT8, ShaderFloat16Int8, shaderFloat16, v12.shaderFloat16),
    TAKEN(BUFFER_DEVICE_ADDRESS, BufferDeviceAddress, bufferDeviceAddress, v12.bufferDeviceAddress),
    TAKEN(TIMELINE_SEMAPHORE, TimelineSemaphore, timelineSemaphore, v12.timelineSemaphore),
    TAKEN(VULKAN_MEMORY_MODEL, VulkanMemoryModel, vulkanMemoryModel, v12.vulkanMemoryModel),
    TAKEN(SUBGROUP_SIZE_CONTROL, SubgroupSizeControl, subgroupSizeControl, v13.subgroupSizeControl),
    TAKEN(SUBGROUP_SIZE_CONTROL, SubgroupSizeControl, computeFullSubgroups,
          v13.computeFullSubgroups),
    TAKEN(SYNCHRONIZATION_2, Synchronization2, synchronization2, v13.synchronization2),
    TAKEN(MAINTENANCE_4, Maintenance4, maintenance4, v13.maintenance4),
};

static const ft_required_feature REQUIRED[] = {
    {"bufferDeviceAddress", "no buffer device addresses",
     offsetof(ft_features, v12.bufferDeviceAddress)},
    {"timelineSemaphore", "no timeline semaphores", offsetof(ft_features, v12.timelineSemaphore)},
    {"synchronization2", "no synchronization2", offsetof(ft_features, v13.synchronization2)},
    {"maintenance4", "no maintenance4", offsetof(ft_features, v13.maintenance4)},
};

static VkBool32 *word(ft_features *features, size_t at) {
  return (VkBool32 *)((char *)features + at);
}

const ft_required_feature *ft_features_missing(const ft_features *features) {
  VkBool32 there;
  for (size_t i = 0; i < FT_COUNT(REQUIRED); i++) {
    memcpy(&there, (const char *)features + REQUIRED[i].at, sizeof there);
    if (!there) return &REQUIRED[i];
  }
  return NULL;
}

void ft_features_link(ft_features *features, ft_has_extension has, const void *device) {
  any_features **end = NULL;
  for (size_t i = 0; i < FT_COUNT(PARTS); i++) {
    if (PARTS[i].extension && !has(device, PARTS[i].extension)) continue;
    any_features *part = (any_features *)((char *)features + PARTS[i].at);
    part->sType = PARTS[i].type;
    part->pNext = NULL;
    if (end) *end = part;
    end = &part->pNext;
  }
}

/* ---- what Filtra enables ---- */

static bool is_enabled(const void *enabled, const char *name) {
  const ft_enabled *e = enabled;
  for (uint32_t i = 0; i < e->extension_count; i++)
    if (!strcmp(e->extensions[i], name)) return true;
  return false;
}

static void enable_extension(ft_enabled *out, const char *name, VkBool32 *feature) {
  out->extensions[out->extension_count++] = name;
  if (feature) *feature = VK_TRUE;
}

static void enable_core(const ft_caps *caps, ft_features *f) {
  for (size_t i = 0; i < FT_COUNT(REQUIRED); i++)
    *word(f, REQUIRED[i].at) = VK_TRUE;
  f->core.features.shaderInt64 = caps->info.int64;
  f->v11.storageBuffer16BitAccess = caps->storage16;
  f->v12.shaderFloat16 = caps->info.fp16;
  f->v12.subgroupBroadcastDynamicId = caps->subgroup;
  f->v13.subgroupSizeControl = caps->subgroup_size_control;
  f->v13.computeFullSubgroups = caps->full_subgroups;
}

void ft_features_enable(const ft_caps *caps, unsigned uses, ft_enabled *out) {
  ft_features *f = &out->features;
  *out = (ft_enabled){0};
  enable_core(caps, f);
  if (caps->subgroup_uniform)
    enable_extension(out, VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME,
                     &f->uniform.shaderSubgroupUniformControlFlow);
  if (caps->maximal_reconvergence)
    enable_extension(out, VK_KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME,
                     &f->maximal.shaderMaximalReconvergence);
  if (uses & FT_USE_MATRICES) {
    enable_extension(out, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, &f->matrix.cooperativeMatrix);
    f->v12.vulkanMemoryModel = VK_TRUE; /* matrix kernels use it */
  }
  if ((uses & FT_USE_MATRICES) && caps->bfloat16) {
    enable_extension(out, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, &f->bfloat16.shaderBFloat16Type);
    f->bfloat16.shaderBFloat16CooperativeMatrix = VK_TRUE;
  }
  if (caps->portability) enable_extension(out, "VK_KHR_portability_subset", NULL);
  if (uses & FT_USE_STATISTICS)
    enable_extension(out, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME,
                     &f->statistics.pipelineExecutableInfo);
  ft_features_link(f, is_enabled, out);
}

/* ---- what an application enabled ---- */

static void read_part(const any_features *from, ft_features *out) {
  for (size_t i = 0; i < FT_COUNT(PARTS); i++)
    if (PARTS[i].type == from->sType)
      for (size_t at = sizeof *from; at + WORD <= PARTS[i].bytes; at += WORD)
        if (*(const VkBool32 *)((const char *)from + at)) *word(out, PARTS[i].at + at) = VK_TRUE;
  for (size_t i = 0; i < FT_COUNT(TAKEN_IN); i++)
    if (TAKEN_IN[i].type == from->sType &&
        *(const VkBool32 *)((const char *)from + TAKEN_IN[i].from))
      *word(out, TAKEN_IN[i].to) = VK_TRUE;
}

void ft_features_read(const VkPhysicalDeviceFeatures2 *chain, ft_features *out) {
  *out = (ft_features){0};
  for (const any_features *part = (const any_features *)chain; part; part = part->pNext)
    read_part(part, out);
}

void ft_features_restrict(ft_features *features, const ft_features *said, ft_has_extension has,
                          const void *device) {
  for (size_t i = 0; i < FT_COUNT(PARTS); i++) {
    const bool there = !PARTS[i].extension || has(device, PARTS[i].extension);
    for (size_t at = PARTS[i].at + sizeof(any_features); at + WORD <= PARTS[i].at + PARTS[i].bytes;
         at += WORD)
      *word(features, at) &= there ? *(const VkBool32 *)((const char *)said + at) : VK_FALSE;
  }
}
