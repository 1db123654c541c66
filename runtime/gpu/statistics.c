/* Reads what a driver's compiler reports about kernels, and maps vendors' names to ours. Called by
 * `filtra kernels` and the self-test of matrix units. */
#include "gpu/internal.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t ft_pipeline_count(const filtra_device *dev) {
  return dev->pipelines->count;
}

const ft_kernel_key *ft_pipeline_key(const filtra_device *dev, size_t index) {
  return &dev->pipelines->list[index]->key;
}

uint64_t ft_pipeline_fingerprint(const filtra_device *dev, size_t index, uint64_t hash) {
  const ft_pipeline *p = dev->pipelines->list[index];
  const uint32_t asked[] = {p->key.workgroup, p->required_subgroup, p->flags, p->convergence,
                            p->key.spec_count};
  hash = ft_hash_bytes(hash, p->source->words, p->source->bytes);
  hash = ft_hash_bytes(hash, asked, sizeof asked);
  return ft_hash_bytes(hash, p->key.spec, p->key.spec_count * sizeof *p->key.spec);
}

/* Names of statistics in Mesa's RADV, ANV and NVK, and in NVIDIA's driver. */
static const struct {
  const char *part; /* part of the name, in any case; the first match applies */
  size_t field;
  bool sum;
} WORDS[] = {
    {"to reg", sizeof(ft_executable), false}, /* NVK: flags and uniform values in registers */
    {"from reg", sizeof(ft_executable), false},
    {"spilled sgprs", sizeof(ft_executable), false}, /* RADV: in registers, unless scratch > 0 */
    {"spill", offsetof(ft_executable, spills), true},
    {"fill", offsetof(ft_executable, spills), true},
    {"scratch", offsetof(ft_executable, scratch), true},
    {"slm size", offsetof(ft_executable, scratch), true}, /* NVK: shader local memory */
    {"local memory", offsetof(ft_executable, scratch), true},
    {"stack size", offsetof(ft_executable, scratch), true},
    {"lds size", offsetof(ft_executable, shared), true},
    {"workgroup memory", offsetof(ft_executable, shared), true},
    {"shared memory", offsetof(ft_executable, shared), true},
    {"sgprs", sizeof(ft_executable), false}, /* scalar registers do not limit occupancy */
    {"vgprs", offsetof(ft_executable, registers), false},
    {"register", offsetof(ft_executable, registers), false},
    {"gprs", offsetof(ft_executable, registers), false},
    {"subgroups per simd", offsetof(ft_executable, occupancy), false},
    {"max warps", offsetof(ft_executable, occupancy), false},
    {"occupancy", offsetof(ft_executable, occupancy), false},
    {"instruction", offsetof(ft_executable, instructions), false},
};

static double number_of(const VkPipelineExecutableStatisticKHR *s) {
  switch (s->format) {
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
    return s->value.b32 ? 1.0 : 0.0;
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
    return (double)s->value.i64;
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
    return (double)s->value.u64;
  default:
    return s->value.f64;
  }
}

/* NVIDIA's driver (580) fills only the lower half of the 64 bits of a size; the upper one is not
 * zero. No number of a kernel is that large. */
static double lower_half(double value) {
  return fmod(value, 4294967296.0);
}

static void interpret(ft_executable *e, const char *name, double value) {
  for (size_t i = 0; i < FT_COUNT(WORDS); i++) {
    if (!ft_strcasestr(name, WORDS[i].part)) continue;
    if (WORDS[i].field == sizeof *e) return;
    double *field = (double *)((char *)e + WORDS[i].field);
    if (*field < 0.0 || !WORDS[i].sum)
      *field = *field < 0.0 || value > *field ? value : *field;
    else
      *field += value;
    return;
  }
}

static filtra_status read_executable(filtra_device *dev, VkPipeline pipeline, uint32_t index,
                                     ft_executable *e) {
  VkPipelineExecutableInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                      .pipeline = pipeline,
                                      .executableIndex = index};
  VkPipelineExecutableStatisticKHR list[FT_MAX_STATISTICS];
  uint32_t count = FT_MAX_STATISTICS;
  for (uint32_t i = 0; i < count; i++)
    list[i] = (VkPipelineExecutableStatisticKHR){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
  FT_TRY(
      FT_VK(dev, dev->vk.vkGetPipelineExecutableStatisticsKHR(dev->device, &info, &count, list)));
  e->raw_count = count;
  for (uint32_t i = 0; i < count; i++) {
    snprintf(e->raw[i].name, sizeof e->raw[i].name, "%.63s", list[i].name);
    e->raw[i].value = number_of(&list[i]);
    interpret(e, e->raw[i].name, lower_half(e->raw[i].value));
  }
  return FILTRA_OK;
}

filtra_status ft_pipeline_statistics(filtra_device *dev, size_t index,
                                     ft_executable executables[FT_MAX_EXECUTABLES],
                                     uint32_t *count) {
  VkPipeline pipeline = dev->pipelines->list[index]->handle;
  VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
  VkPipelineExecutablePropertiesKHR list[FT_MAX_EXECUTABLES];
  *count = FT_MAX_EXECUTABLES;
  for (uint32_t i = 0; i < *count; i++)
    list[i] = (VkPipelineExecutablePropertiesKHR){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
  FT_TRY(FT_VK(dev, dev->vk.vkGetPipelineExecutablePropertiesKHR(dev->device, &info, count, list)));
  for (uint32_t i = 0; i < *count; i++) {
    ft_executable *e = &executables[i];
    *e = (ft_executable){.subgroup = list[i].subgroupSize,
                         .registers = -1,
                         .spills = -1,
                         .scratch = -1,
                         .shared = -1,
                         .occupancy = -1,
                         .instructions = -1};
    snprintf(e->name, sizeof e->name, "%.63s", list[i].name);
    FT_TRY(read_executable(dev, pipeline, i, e));
  }
  return FILTRA_OK;
}

filtra_status ft_pipeline_assembly(filtra_device *dev, size_t index, char **text) {
  enum { MOST = 64 };
  VkPipelineExecutableInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                      .pipeline = dev->pipelines->list[index]->handle};
  VkPipelineExecutableInternalRepresentationKHR list[MOST];
  for (uint32_t i = 0; i < MOST; i++)
    list[i] = (VkPipelineExecutableInternalRepresentationKHR){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR};
  PFN_vkGetPipelineExecutableInternalRepresentationsKHR read =
      dev->vk.vkGetPipelineExecutableInternalRepresentationsKHR;
  uint32_t count = MOST;
  *text = NULL;
  FT_TRY(FT_VK(dev, read(dev->device, &info, &count, list)));
  if (!count || !list[count - 1].isText)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: the driver shows no assembly",
                   dev->pipelines->list[index]->source->name);
  char *assembly = ft_calloc(1, list[count - 1].dataSize + 1);
  if (!assembly) return FILTRA_ERROR_HOST_MEMORY;
  list[count - 1].pData = assembly; /* data of this one only, sizes of the others */
  filtra_status status = FT_VK(dev, read(dev->device, &info, &count, list));
  if (status)
    free(assembly);
  else
    *text = assembly;
  return status;
}
