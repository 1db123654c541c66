/* Compute pipelines: one per kernel, workgroup size and set of constants. Created on several
 * threads when first requested, and kept while the device is open. Called by graph/, ops/ and
 * `filtra kernels`. */
#include "gpu/internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels ---- */

static const ft_kernel_source *find_source(const char *name) {
  for (const ft_kernel_source *s = ft_kernel_sources; s->name; s++)
    if (!strcmp(s->name, name)) return s;
  return NULL;
}

bool ft_kernel_exists(const char *name) {
  return find_source(name) != NULL;
}

const char *ft_kernel_variant(const char *name, filtra_dtype dtype, const char *variant) {
  static const char *const types[] = {
      [FILTRA_F32] = "", [FILTRA_I32] = "", [FILTRA_F16] = ".f16", [FILTRA_BF16] = ".bf16"};
  char whole[96];
  if ((size_t)dtype >= FT_COUNT(types)) return NULL;
  snprintf(whole, sizeof whole, "%s%s%s%s", name, types[dtype], *variant ? "." : "", variant);
  const ft_kernel_source *found = find_source(whole);
  return found ? found->name : NULL;
}

const char *ft_kernel_name(const filtra_device *dev, const char *name) {
  const char *fitting = ft_kernel_typed(dev, name, FILTRA_F32);
  return fitting ? fitting : name; /* creating its pipeline fails */
}

const char *ft_kernel_typed(const filtra_device *dev, const char *name, filtra_dtype dtype) {
  const char *without = dev->caps.subgroup ? NULL : ft_kernel_variant(name, dtype, "nosub");
  return without ? without : ft_kernel_variant(name, dtype, "");
}

/* ---- the store ---- */

filtra_status ft_pipeline_store_create(filtra_device *dev, const char *cache_dir) {
  struct ft_pipeline_store *store = ft_calloc(1, sizeof *store);
  if (!store) return FILTRA_ERROR_HOST_MEMORY;
  dev->pipelines = store;
  if (cache_dir && ft_file_exists(cache_dir) && !ft_is_private(cache_dir)) {
    ft_log(
        FILTRA_LOG_WARNING,
        "pipeline cache: %s is not used: others than you can write there (chmod go-w, or another "
        "folder)",
        cache_dir);
    cache_dir = NULL;
  }
  if (cache_dir) {
    store->cache_path = ft_pipeline_cache_path(dev, cache_dir);
    if (!store->cache_path) return FILTRA_ERROR_HOST_MEMORY;
  }
  return ft_pipeline_cache_open(dev, store->cache_path, &store->cache, &store->cache_size);
}

static void destroy_pipeline(filtra_device *dev, ft_pipeline *pipeline) {
  if (pipeline->handle) dev->vk.vkDestroyPipeline(dev->device, pipeline->handle, NULL);
  free(pipeline);
}

void ft_pipeline_store_destroy(filtra_device *dev) {
  struct ft_pipeline_store *store = dev->pipelines;
  if (!store) return;
  for (size_t i = 0; i < store->count; i++)
    destroy_pipeline(dev, store->list[i]);
  if (store->cache) {
    if (store->cache_path && !dev->lost)
      ft_pipeline_cache_save(dev, store->cache_path, store->cache, store->cache_size);
    dev->vk.vkDestroyPipelineCache(dev->device, store->cache, NULL);
  }
  ft_modules_destroy(store);
  free(store->cache_path);
  free(store->list);
  free(store);
  dev->pipelines = NULL;
}

static ft_pipeline *find(const struct ft_pipeline_store *store, const ft_kernel_source *source,
                         const ft_kernel_key *key) {
  for (size_t i = 0; i < store->count; i++) {
    ft_pipeline *p = store->list[i];
    if (p->source == source && p->key.workgroup == key->workgroup &&
        p->key.subgroup == key->subgroup && p->key.spec_count == key->spec_count &&
        !memcmp(p->key.spec, key->spec, key->spec_count * sizeof key->spec[0]))
      return p;
  }
  return NULL;
}

/* SPIR-V's numbers of capabilities. */
enum { CAPABILITY_SUBGROUPS = 61, CAPABILITY_MATRICES = 6022 };

static bool declares(const ft_kernel_source *source, uint32_t capability) {
  enum { HEADER_WORDS = 5, OP_CAPABILITY = 17 };
  const uint32_t *words = source->words, *end = words + source->bytes / sizeof *words;
  for (const uint32_t *at = words + HEADER_WORDS; at + 1 < end; at += at[0] >> 16) {
    if ((at[0] & 0xffff) != OP_CAPABILITY) return false; /* capabilities come first */
    if (at[1] == capability) return true;
  }
  return false;
}

bool ft_kernel_on_matrices(const char *name) {
  const ft_kernel_source *source = find_source(name);
  return source && declares(source, CAPABILITY_MATRICES);
}

/* Whether a module uses subgroup operations. */
static bool uses_subgroups(const ft_kernel_source *source) {
  return declares(source, CAPABILITY_SUBGROUPS);
}

/* Sets the required subgroup size, if the device allows it; otherwise the device must support only
 * that size. Requires full subgroups if the workgroup is a multiple: Vulkan guarantees them only on
 * request, with or without a required size. */
static filtra_status check_subgroup(const filtra_device *dev, ft_pipeline *p) {
  const ft_caps *caps = &dev->caps;
  uint32_t size = p->key.subgroup;
  if (size == 0) {
    if (caps->full_subgroups && p->key.workgroup % caps->subgroup_most == 0 &&
        uses_subgroups(p->source))
      p->flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    return FILTRA_OK;
  }
  if (!ft_caps_runs(caps, size, p->key.workgroup))
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "kernel %s: subgroups of %u in a workgroup of %u are wanted; %s has sizes from "
                   "%u to %u%s, %u of them in a workgroup",
                   p->source->name, size, p->key.workgroup, caps->info.name, caps->subgroup_least,
                   caps->subgroup_most,
                   caps->subgroup_size_control ? "" : " and lets nobody choose",
                   caps->max_subgroups);
  if (caps->subgroup_size_control) p->required_subgroup = size;
  if (caps->full_subgroups && p->key.workgroup % size == 0)
    p->flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  return FILTRA_OK;
}

/* Requests the weakest guarantee that suffices for subgroup operations: some lanes may leave a loop
 * before others, but all lanes of a subgroup reach its end. */
static ft_convergence convergence_of(const ft_caps *caps, const ft_kernel_source *source) {
  if (!uses_subgroups(source)) return FT_CONVERGENCE_PLAIN;
  return caps->subgroup_uniform        ? FT_CONVERGENCE_SUBGROUP
         : caps->maximal_reconvergence ? FT_CONVERGENCE_MAXIMAL
                                       : FT_CONVERGENCE_PLAIN;
}

static filtra_status check_key(const filtra_device *dev, const ft_kernel_key *key,
                               const ft_kernel_source **source) {
  *source = key->module ? key->module : key->kernel ? find_source(key->kernel) : NULL;
  if (!*source) {
    return ft_fail(FILTRA_ERROR_ARGUMENT, "there is no kernel \"%s\" in this build",
                   key->kernel ? key->kernel : "(null)");
  }
  uint32_t most = dev->caps.info.max_workgroup_invocations;
  if (key->workgroup == 0 || key->workgroup > most) {
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "kernel %s: a workgroup of %u is outside of 1 to %u, what %s can do",
                   key->kernel, key->workgroup, most, dev->caps.info.name);
  }
  if (declares(*source, CAPABILITY_MATRICES) && !ft_matrix_used(&dev->caps)) {
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "kernel %s: needs matrix units (VK_KHR_cooperative_matrix), which %s does not "
                   "have, a capability masks, or no self-test has passed",
                   key->kernel, dev->caps.info.name);
  }
  if (key->spec_count > FT_MAX_SPEC) {
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: %u constants, at most %d are possible",
                   key->kernel, key->spec_count, FT_MAX_SPEC);
  }
  return FILTRA_OK;
}

static filtra_status find_or_add(filtra_device *dev, const ft_kernel_key *key, ft_pipeline **out) {
  struct ft_pipeline_store *store = dev->pipelines;
  const ft_kernel_source *source = NULL;
  FT_TRY(check_key(dev, key, &source));
  *out = find(store, source, key);
  if (*out) return FILTRA_OK;
  FT_TRY(FT_GROW(store->list, store->count, store->capacity));
  ft_pipeline *p = ft_calloc(1, sizeof *p);
  if (!p) return FILTRA_ERROR_HOST_MEMORY;
  p->source = source;
  p->key = *key;
  p->convergence = convergence_of(&dev->caps, source);
  filtra_status status = check_subgroup(dev, p);
  if (status) {
    free(p);
    return status;
  }
  store->list[store->count++] = *out = p;
  return FILTRA_OK;
}

/* ---- creation, on several threads ---- */

/* Whether dispatches may begin at a workgroup other than the first. On GPUs always, with or without
 * a submission budget: the flag changes the bits that NVIDIA's driver computes. */
static bool may_cut(const ft_caps *caps) {
  return !caps->for_cpu || caps->submission_seconds > 0.0;
}

static VkResult create_pipeline(filtra_device *dev, VkShaderModule module, ft_pipeline *p) {
  uint32_t values[1 + FT_MAX_SPEC] = {p->key.workgroup};
  VkSpecializationMapEntry entries[1 + FT_MAX_SPEC];
  memcpy(values + 1, p->key.spec, p->key.spec_count * sizeof values[0]);
  uint32_t count = 1 + p->key.spec_count;
  for (uint32_t i = 0; i < count; i++)
    entries[i] = (VkSpecializationMapEntry){i, i * (uint32_t)sizeof values[0], sizeof values[0]};
  VkSpecializationInfo constants = {count, entries, count * sizeof values[0], values};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = p->required_subgroup};
  VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = p->required_subgroup ? &subgroup : NULL,
                .flags = p->flags,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &constants},
      .flags = (may_cut(&dev->caps) ? VK_PIPELINE_CREATE_DISPATCH_BASE_BIT : 0u) |
               (dev->compiler ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                                    VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR
                              : 0u),
      .layout = dev->layout};
  return FT_VK_RESULT(dev->vk.vkCreateComputePipelines(dev->device, dev->pipelines->cache, 1, &info,
                                                       NULL, &p->handle));
}

/* The module's words, adapted for the driver; caller frees; NULL when out of memory. */
static uint32_t *adapted(const ft_pipeline *p, size_t *bytes) {
  *bytes = p->source->bytes;
  uint32_t *words = declares(p->source, CAPABILITY_MATRICES)
                        ? ft_module_relaxed(p->source->words, bytes)
                        : ft_calloc(1, *bytes);
  if (!words) return NULL;
  if (!declares(p->source, CAPABILITY_MATRICES)) memcpy(words, p->source->words, *bytes);
  if (p->convergence == FT_CONVERGENCE_PLAIN) return words;
  uint32_t *asking = ft_module_converging(words, bytes, p->convergence);
  free(words);
  return asking;
}

static void create_one(filtra_device *dev, ft_pipeline *p) {
  if (p->handle) return;
  VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  uint32_t *words = adapted(p, &info.codeSize);
  info.pCode = words;
  p->result = VK_ERROR_OUT_OF_HOST_MEMORY;
  if (!words) return;
  VkShaderModule module = VK_NULL_HANDLE;
  p->result = FT_VK_RESULT(dev->vk.vkCreateShaderModule(dev->device, &info, NULL, &module));
  free(words);
  if (p->result) return;
  p->result = create_pipeline(dev, module, p);
  dev->vk.vkDestroyShaderModule(dev->device, module, NULL);
}

typedef struct work {
  filtra_device *dev;
  atomic_size_t next; /* index of the next pipeline to create */
} work;

static void *work_on(void *argument) {
  work *w = argument;
  struct ft_pipeline_store *store = w->dev->pipelines;
  for (;;) {
    size_t i = atomic_fetch_add(&w->next, 1);
    if (i >= store->count) return NULL;
    create_one(w->dev, store->list[i]);
  }
}

enum { MAX_THREADS = 16 };

static void create_from(filtra_device *dev, size_t first) {
  work w = {.dev = dev};
  if (dev->pipelines->count == first) return;
  atomic_init(&w.next, first);
  size_t helpers = dev->pipelines->count - first, processors = ft_processors();
  if (helpers > processors) helpers = processors;
  if (helpers > MAX_THREADS) helpers = MAX_THREADS;
  ft_thread threads[MAX_THREADS];
  /* This thread works too, so fewer threads than asked for are enough. */
  unsigned started = ft_threads_start(threads, (unsigned)helpers - 1, work_on, &w);
  work_on(&w);
  ft_threads_join(threads, started);
}

/* Frees the pipelines from `first` on. */
static void drop_from(filtra_device *dev, size_t first) {
  struct ft_pipeline_store *store = dev->pipelines;
  while (store->count > first)
    destroy_pipeline(dev, store->list[--store->count]);
  if (store->finished > first) store->finished = first;
}

static filtra_status check_from(filtra_device *dev, size_t first) {
  for (size_t i = first; i < dev->pipelines->count; i++) {
    const ft_pipeline *p = dev->pipelines->list[i];
    filtra_status status = ft_vk_status(dev, p->result, "vkCreateComputePipelines");
    if (status) return ft_fail_context(status, "kernel %s", p->source->name);
  }
  return FILTRA_OK;
}

static filtra_status get_pipelines(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                                   ft_pipeline **out) {
  size_t first = dev->pipelines->count;
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++)
    status = find_or_add(dev, &keys[i], &out[i]);
  if (!status && dev->pipelines->count > first && !dev->compiler) {
    create_from(dev, first);
    status = check_from(dev, first);
  }
  if (status) drop_from(dev, first);
  return status;
}

filtra_status ft_pipelines_compile(filtra_device *dev) {
  FT_TRY(ft_enter(dev));
  create_from(dev, 0);
  filtra_status status = check_from(dev, 0);
  ft_leave(dev);
  return status;
}

filtra_status ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                               ft_pipeline **out) {
  FT_TRY(ft_enter(dev));
  filtra_status status = get_pipelines(dev, keys, count, out);
  ft_leave(dev);
  return status;
}

/* ---- drivers that compile when a kernel is dispatched ---- */

/* Dispatches no workgroup of each unfinished pipeline. */
static filtra_status dispatch_nothing(filtra_device *dev, ft_commands commands, uint64_t *ticket) {
  const struct ft_pipeline_store *store = dev->pipelines;
  static const uint8_t push[FT_PUSH_BYTES];
  static const uint32_t none[3];
  FT_TRY(ft_commands_begin(dev, commands));
  for (size_t i = store->finished; i < store->count; i++)
    ft_commands_dispatch(dev, commands, store->list[i], push, sizeof push, none, none);
  FT_TRY(ft_commands_end(dev, commands));
  FT_TRY(ft_submit(dev, &commands, 1, ticket));
  return ft_wait(dev, *ticket);
}

size_t ft_pipelines_unfinished(const filtra_device *dev) {
  return dev->pipelines->count - dev->pipelines->finished;
}

filtra_status ft_pipelines_finish(filtra_device *dev) {
  ft_command_pool pool = NULL;
  ft_commands commands = NULL;
  uint64_t ticket = 0;
  const bool late = dev->caps.for_cpu && !dev->compiler && ft_pipelines_unfinished(dev);
  filtra_status status = late ? ft_commands_new(dev, &pool, 1, &commands) : FILTRA_OK;
  if (!status && late) status = dispatch_nothing(dev, commands, &ticket);
  if (!status) dev->pipelines->finished = dev->pipelines->count;
  if (status && ticket) ft_wait_whatever(dev);
  ft_command_pool_destroy(dev, pool);
  return status;
}

bool ft_pipeline_counts_groups(const ft_pipeline *pipeline) {
  enum { HEADER_WORDS = 5, OP_DECORATE = 71, BUILT_IN = 11, NUM_WORKGROUPS = 24 };
  const uint32_t *words = pipeline->source->words;
  size_t count = pipeline->source->bytes / sizeof *words;
  for (size_t i = HEADER_WORDS; i + 3 < count && words[i] >> 16; i += words[i] >> 16)
    if ((words[i] & 0xffff) == OP_DECORATE && words[i + 2] == BUILT_IN &&
        words[i + 3] == NUM_WORKGROUPS)
      return true;
  return false;
}
