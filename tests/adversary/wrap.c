/* Replaces the driver by the adversary: a program linked with --wrap=ft_submit_run and
 * --wrap=ft_pipelines_get executes all its graphs here. The driver only holds the buffers and
 * compiles an empty kernel for each pipeline. FILTRA_ADVERSARY has the settings, those of a manner
 * (machine.h) and the ones below; without it the seed is 0:
 *
 *   FILTRA_ADVERSARY="seed=3 subgroup=16 uniform=subgroup limit=4000000 report=FILE"
 *
 * limit: skips checks of graphs with more work. report: the file for findings and a line about what
 * was done; the program fails if there are findings. tests, skip: patterns of the tests to run and
 * to skip. */
#include "adversary/adversary.h"
#include "gpu/internal.h"
#include "support/seen.h"

#include <stdlib.h>
#include <string.h>

filtra_status __wrap_ft_submit_run(ft_program *p, ft_slot *slot);
filtra_status __real_ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                                      ft_pipeline **out);
filtra_status __wrap_ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                                      ft_pipeline **out);

static adv_report report;
static unsigned runs;

static const char *setting(void) {
  const char *text = getenv("FILTRA_ADVERSARY");
  return text ? text : "";
}

/* A word of the setting; it lives on. NULL: it is not there. */
static char *word_of(const char *key) {
  char word[512];
  const char *at = adv_setting(setting(), key);
  return at && sscanf(at, "%511s", word) == 1 ? strdup(word) : NULL;
}

/* Where a program is a test, and not the command. */
void cmocka_set_test_filter(const char *pattern) __attribute__((weak));
void cmocka_set_skip_filter(const char *pattern) __attribute__((weak));

__attribute__((constructor)) static void choose_tests(void) {
  static char *tests, *skip;
  tests = word_of("tests=");
  skip = word_of("skip=");
  if (tests && cmocka_set_test_filter) cmocka_set_test_filter(tests);
  if (skip && cmocka_set_skip_filter) cmocka_set_skip_filter(skip);
}

bool test_interprets(void) {
  return true;
}

/* The suite runs them on the driver. */
bool test_leaves_out(const filtra_graph *g) {
  const uint64_t limit = adv_setting_number(setting(), "limit=");
  const bool out = limit && adv_graph_size(g) > limit;
  report.too_large += out;
  return out;
}

/* ---- the report ---- */

static void finish(void) {
  char *path = word_of("report=");
  FILE *to = path ? fopen(path, "a") : NULL;
  free(path);
  const size_t sure = adv_report_sure(&report);
  if (to) {
    fprintf(to, "done: %lu graphs, %lu dispatches, %llu operations, %lu too large, %zu findings\n",
            report.graphs, report.dispatches, (unsigned long long)report.operations,
            report.too_large, sure);
    adv_programs_list(to);
    adv_report_print(&report, to);
    fclose(to);
  }
  adv_report_print(&report, stderr);
  adv_report_clear(&report);
  adv_programs_clear();
  if (sure) _Exit(EXIT_FAILURE);
}

/* ---- in the driver's place ---- */

static struct VolkDeviceTable driver;

/* void main() {} */
static const uint32_t nothing[] = {
    0x07230203,    0x00010300,  0,  5,          0,    /* header */
    2 << 16 | 17,  1,                                 /* OpCapability Shader */
    3 << 16 | 14,  0,           1,                    /* OpMemoryModel Logical GLSL450 */
    5 << 16 | 15,  5,           1,  0x6e69616d, 0,    /* OpEntryPoint GLCompute %1 "main" */
    6 << 16 | 16,  1,           17, 1,          1, 1, /* OpExecutionMode %1 LocalSize 1 1 1 */
    2 << 16 | 19,  2,                                 /* %2 = OpTypeVoid */
    3 << 16 | 33,  3,           2,                    /* %3 = OpTypeFunction %2 */
    5 << 16 | 54,  2,           1,  0,          3,    /* %1 = OpFunction %2 None %3 */
    2 << 16 | 248, 4,                                 /* %4 = OpLabel */
    1 << 16 | 253, 1 << 16 | 56};                     /* OpReturn, OpFunctionEnd */

static VKAPI_ATTR VkResult VKAPI_CALL create_empty(VkDevice device, VkPipelineCache cache,
                                                   uint32_t count,
                                                   const VkComputePipelineCreateInfo *infos,
                                                   const VkAllocationCallbacks *allocator,
                                                   VkPipeline *out) {
  const VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = sizeof nothing,
                                           .pCode = nothing};
  VkComputePipelineCreateInfo empty = infos[0];
  VkResult result = driver.vkCreateShaderModule(device, &module, allocator, &empty.stage.module);
  if (result) return result;
  empty.stage.pNext = NULL;
  empty.stage.flags = 0;
  empty.stage.pSpecializationInfo = NULL;
  result = driver.vkCreateComputePipelines(device, cache, count, &empty, allocator,
                                           out); /* one at a time */
  driver.vkDestroyShaderModule(device, empty.stage.module, allocator);
  return result;
}

filtra_status __wrap_ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                                      ft_pipeline **out) {
  if (dev->vk.vkCreateComputePipelines != create_empty) driver = dev->vk;
  dev->vk.vkCreateComputePipelines = create_empty;
  dev->caps.matrix = true; /* interpreted: the driver needs none */
  return __real_ft_pipelines_get(dev, keys, count, out);
}

filtra_status __wrap_ft_submit_run(ft_program *p, ft_slot *slot) {
  adv_manner manner = adv_manner_read(setting());
  manner.order += runs++; /* another order each time: a second run has to give the same bits */
  if (runs == 1) atexit(finish);
  adv_memory memory = {0};
  filtra_status status = adv_run_program(p, slot, &manner, &memory, &report);
  adv_memory_destroy(&memory);
  return status ? status : ft_submit(p->device, NULL, 0, &slot->ticket);
}
