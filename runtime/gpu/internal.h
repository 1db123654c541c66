/* What the files of gpu/ share among themselves. */
#ifndef FT_GPU_INTERNAL_H
#define FT_GPU_INTERNAL_H

#include "base/thread.h"
#include "gpu/gpu.h"
#include "gpu/kernels.h"
#include "gpu/matrix.h"
#include "gpu/plan.h"
#include "gpu/vulkan_newer.h"

#include <stdatomic.h>

struct filtra_device {
  struct ft_instance *instance;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  struct VolkDeviceTable vk;
  ft_caps caps;
  VkPipelineLayout layout;
  VkSemaphore timeline; /* counts submissions */
  uint64_t submitted;   /* last timeline value handed out */
  bool lost;
  _Atomic uintptr_t owner; /* the thread that is inside one of gpu/'s calls; 0: none */
  uint32_t entered;        /* how deep */
  bool compiler;           /* opened to compile only: buffers are empty, nothing is submitted */
  uint64_t memory_used;
  struct ft_pipeline_store *pipelines;
  struct ft_staging *staging;
  char *cache_folder;       /* of cached files; NULL: there is none */
  struct ft_tuning *tuning; /* the ops', see ft_device_keep_tuning */
  struct {                  /* threads that take turns in the order in which they came */
    ft_mutex mutex;
    ft_condition next;
    uint64_t came, served;
  } turns;
  ft_matrix_verdict matrix_verdict;
  char *matrix_path; /* of the verdict in the cache folder; NULL: there is none */
};

/* ---- submit.c ---- */

/** Around what two threads must not do at once: fails with ARGUMENT while another one is inside. */
filtra_status ft_enter(filtra_device *dev);
void ft_leave(filtra_device *dev);

/** Turns a VkResult into a status and a sentence that names the call; marks the device lost.
 * `dev` may be NULL where there is none yet. */
filtra_status ft_vk_status(filtra_device *dev, VkResult result, const char *call);
/** Makes a Vulkan call, or fails in its place when the test hook says so. */
#define FT_VK_RESULT(call) (ft_vk_faulty() ? ft_vk_fault() : (call))
#define FT_VK(dev, call)   ft_vk_status((dev), FT_VK_RESULT(call), #call)

/* ---- fault.c ---- */

/** Test hook: the n-th Vulkan call from now that is made through FT_VK or FT_VK_RESULT is not made
 * and gives `result`; once. n = 0 switches it off. */
void ft_vk_fail_after(long n, VkResult result);
bool ft_vk_faulty(void);
VkResult ft_vk_fault(void);

/* ---- instance.c ---- */

typedef struct ft_instance {
  VkInstance handle;
  VkDebugUtilsMessengerEXT messenger; /* VK_NULL_HANDLE without validation */
  atomic_uint messages;               /* validation warnings and errors so far */
  uint32_t layer;                     /* the Vulkan version that the layer knows; 0 without */
} ft_instance;

/** Loads Vulkan on first use and makes an instance. NO_DEVICE without a loader or a driver,
 * UNSUPPORTED when validation is asked for and the layer is not there. */
filtra_status ft_instance_create(bool validation, ft_instance **out);
void ft_instance_destroy(ft_instance **instance);

/* ---- caps.c ---- */

typedef struct ft_candidate {
  VkPhysicalDevice physical;
  ft_caps caps;
} ft_candidate;

/** All physical devices, best first, info.index and info.reason filled in; caller frees. */
filtra_status ft_candidates(ft_instance *instance, ft_candidate **out, uint32_t *count);
/** That one submission should take at most, if nobody says otherwise; 0: no limit. */
double ft_submission_seconds(bool cpu);

/* ---- matrix.c, matrix_file.c ---- */

/** Asks the driver for the shapes of its matrix units, which is known to crash some. */
filtra_status ft_matrix_ask(ft_instance *instance, VkPhysicalDevice physical, ft_caps *caps);
/** Takes over what `folder` says of them; what is wrong with it is only logged. */
filtra_status ft_matrix_open_cached(filtra_device *dev, const char *folder);

/* ---- pipeline.c, pipeline_cache.c ---- */

/** What a module can ask for beyond SPIR-V's own rule, by which control flow that has parted is
 * sure to have met again only where it was uniform over the workgroup. SPIR-V's execution modes. */
typedef enum ft_convergence {
  FT_CONVERGENCE_PLAIN = 0,
  FT_CONVERGENCE_SUBGROUP = 4421, /* SubgroupUniformControlFlowKHR: or over a subgroup */
  FT_CONVERGENCE_MAXIMAL = 6023   /* MaximallyReconvergesKHR: whoever parted meets again */
} ft_convergence;

struct ft_pipeline {
  const ft_kernel_source *source;
  ft_kernel_key key;
  uint32_t required_subgroup; /* 0: none */
  VkPipelineShaderStageCreateFlags flags;
  ft_convergence convergence; /* asked of the driver's compiler */
  VkPipeline handle;          /* VK_NULL_HANDLE only within ft_pipelines_get */
  VkResult result;
};

struct ft_pipeline_store {
  ft_pipeline **list;
  size_t count, capacity;
  VkPipelineCache cache;
  char *cache_path; /* NULL: not kept on disk */
  size_t cache_size;
  ft_module **modules; /* of applications */
  size_t module_count, module_capacity;
};

/* ---- module.c ---- */

void ft_modules_destroy(struct ft_pipeline_store *store);
/** The module with its extension and the execution mode on main; *bytes becomes its size. The
 * caller frees; NULL without memory. */
uint32_t *ft_module_converging(const uint32_t *words, size_t *bytes, ft_convergence mode);

/** The module without what it says at each access to shared memory of who shall see it. glslang
 * says so in modules with matrices, whose barriers say it as well (shaders/gemm/matrix.comp), and
 * drivers then wait for each access alone. *bytes becomes its size. The caller frees; NULL without
 * memory. */
uint32_t *ft_module_relaxed(const uint32_t *words, size_t *bytes);

/* ---- pipeline.c, pipeline_cache.c ---- */

filtra_status ft_pipeline_store_create(filtra_device *dev, const char *cache_dir);
/** Stores the pipeline cache and destroys everything. */
void ft_pipeline_store_destroy(filtra_device *dev);

/** A VkPipelineCache with what the disk has for this device; `path` NULL keeps it in memory. A file
 * that is damaged or another device's is ignored with a warning. *size is what was loaded. */
filtra_status ft_pipeline_cache_open(filtra_device *dev, const char *path, VkPipelineCache *cache,
                                     size_t *size);
/** Writes the cache to `path` when it holds more than `size` bytes. Failing is only logged. */
void ft_pipeline_cache_save(filtra_device *dev, const char *path, VkPipelineCache cache,
                            size_t size);
/** Where this device's cache lies below `folder`; caller frees; NULL on failure (message set). */
char *ft_pipeline_cache_path(const filtra_device *dev, const char *folder);

/* ---- staging.c ---- */

void ft_staging_destroy(filtra_device *dev);

#endif
