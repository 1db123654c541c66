/* Declarations shared by the files of gpu/. */
#ifndef FT_GPU_INTERNAL_H
#define FT_GPU_INTERNAL_H

#include "base/thread.h"
#include "gpu/features.h"
#include "gpu/gpu.h"
#include "gpu/kernels.h"
#include "gpu/matrix.h"
#include "gpu/plan.h"
#include "gpu/queue.h"
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
  uint64_t submitted;   /* last timeline value used */
  bool lost;
  _Atomic uintptr_t owner; /* the thread inside a call of gpu/; 0: none */
  uint32_t entered;        /* depth of nested calls */
  bool compiler;           /* only compiles: buffers have no memory, nothing is submitted */
  uint64_t memory_used;
  atomic_uint users; /* objects made on it */
  long process;      /* the process that opened the device: forked ones lack the driver's threads */
  struct ft_pipeline_store *pipelines;
  struct ft_staging *staging;
  char *cache_folder;       /* NULL: no cache */
  struct ft_tuning *tuning; /* see ft_device_keep_tuning */
  struct {                  /* gives threads turns in order of arrival */
    ft_mutex mutex;
    ft_condition next;
    uint64_t came, served;
  } turns;
  ft_matrix_verdict matrix_verdict;
  atomic_bool matrix_said;       /* see ft_matrix_say_untested */
  struct ft_queue *shared_queue; /* the application's queue; NULL: the queue is Filtra's */
  char *matrix_path;             /* file of the verdict in the cache folder; NULL: no cache */
};

/* ---- submit.c ---- */

/** Begin and end a section that only one thread at a time may enter; ft_enter fails with ARGUMENT
 * while another thread is inside. */
filtra_status ft_enter(filtra_device *dev);
void ft_leave(filtra_device *dev);

/** Waits for all submissions before the device is closed. */
void ft_wait_at_last(filtra_device *dev);

/** Turns a VkResult into a status, and a message that names the call; marks a lost device. `dev`
 * may be NULL before there is one. */
filtra_status ft_vk_status(filtra_device *dev, VkResult result, const char *call);
/** Makes a Vulkan call, or fails instead if the test hook says so. */
#define FT_VK_RESULT(call) (ft_vk_faulty() ? ft_vk_fault() : (call))
#define FT_VK(dev, call)   ft_vk_status((dev), FT_VK_RESULT(call), #call)

/* ---- fault.c ---- */

/** Test hook: replaces the n-th Vulkan call from now, made through FT_VK or FT_VK_RESULT, by
 * `result`, once. n = 0 turns it off. */
void ft_vk_fail_after(long n, VkResult result);
bool ft_vk_faulty(void);
VkResult ft_vk_fault(void);

/* ---- instance.c ---- */

/* Functions of an instance: those of Vulkan 1.3, and those of extensions, which may be NULL. */
#define FT_INSTANCE_CALLS(X)                                                                       \
  X(vkCreateDevice)                                                                                \
  X(vkDestroyInstance)                                                                             \
  X(vkEnumerateDeviceExtensionProperties)                                                          \
  X(vkEnumeratePhysicalDevices)                                                                    \
  X(vkGetDeviceProcAddr)                                                                           \
  X(vkGetPhysicalDeviceFeatures)                                                                   \
  X(vkGetPhysicalDeviceFeatures2)                                                                  \
  X(vkGetPhysicalDeviceMemoryProperties)                                                           \
  X(vkGetPhysicalDeviceProperties)                                                                 \
  X(vkGetPhysicalDeviceProperties2)                                                                \
  X(vkGetPhysicalDeviceQueueFamilyProperties)
#define FT_INSTANCE_EXTENSION_CALLS(X)                                                             \
  X(vkCreateDebugUtilsMessengerEXT)                                                                \
  X(vkDestroyDebugUtilsMessengerEXT)                                                               \
  X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)

typedef struct ft_instance {
  VkInstance handle;
  struct {
#define FT_INSTANCE_CALL(name) PFN_##name name;
    FT_INSTANCE_CALLS(FT_INSTANCE_CALL)
    FT_INSTANCE_EXTENSION_CALLS(FT_INSTANCE_CALL)
#undef FT_INSTANCE_CALL
  } vk;
  bool borrowed;                      /* the application's, which outlives this struct */
  VkDebugUtilsMessengerEXT messenger; /* VK_NULL_HANDLE: no validation */
  atomic_uint messages;               /* number of validation warnings and errors */
  uint32_t layer;                     /* Vulkan version that the layer knows; 0: no layer */
} ft_instance;

/** Loads Vulkan on first use and creates an instance. Fails with NO_DEVICE without a loader or
 * driver, with UNSUPPORTED if validation is requested and the layer is missing. */
filtra_status ft_instance_create(bool validation, ft_instance **out);
/** Wraps an application's instance; `get` loads its functions. */
filtra_status ft_instance_borrow(VkInstance handle, PFN_vkGetInstanceProcAddr get,
                                 ft_instance **out);
/** Fills the table with the device's functions. */
void ft_instance_load_device(const ft_instance *instance, VkDevice device,
                             struct VolkDeviceTable *table);
void ft_instance_destroy(ft_instance **instance);

/* ---- caps.c ---- */

/** What an application says that its VkDevice has enabled, which Vulkan cannot report. */
typedef struct ft_said {
  ft_features features;
  const char *const *extensions;
  uint32_t extension_count;
  uint32_t queue_family;
} ft_said;

/** Queries the device's capabilities; if `said` describes an application's VkDevice, only those
 * that it has enabled. info.usable and info.reason say whether they suffice; info.index is not set.
 */
filtra_status ft_caps_examine(const ft_instance *instance, VkPhysicalDevice physical,
                              const ft_said *said, ft_caps *caps);

typedef struct ft_candidate {
  VkPhysicalDevice physical;
  ft_caps caps;
} ft_candidate;

/** Lists all physical devices, best first, with info.index and info.reason; caller frees. */
filtra_status ft_candidates(ft_instance *instance, ft_candidate **out, uint32_t *count);
/** Default of the longest time that a submission may take; 0: no limit. */
double ft_submission_seconds(bool cpu);

/* ---- memory.c ---- */

enum {
  FT_BUFFER_USAGE = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT
};
uint64_t ft_buffer_address(filtra_device *dev, VkBuffer buffer);
/** Bytes after a tensor that kernels may read. */
uint64_t ft_bytes_after(const ft_caps *caps);

/* ---- adopt.c ---- */

/** Takes an application's device: instance, physical device, capabilities, queue and functions. */
filtra_status ft_adopt(filtra_device *dev, const struct filtra_vulkan_device *vulkan);

/* ---- matrix.c, matrix_file.c ---- */

/** Asks the driver for the shapes of its matrix units. Some drivers crash. */
filtra_status ft_matrix_ask(ft_instance *instance, VkPhysicalDevice physical, ft_caps *caps);
/** Reads the verdict on matrix units from `folder`; an invalid file is only logged. */
filtra_status ft_matrix_open_cached(filtra_device *dev, const char *folder);

/* ---- pipeline.c, pipeline_cache.c ---- */

/** Guarantees on reconvergence that a module can request. Without a request, SPIR-V guarantees that
 * diverged invocations have reconverged only if control flow was uniform over the workgroup. Values
 * are SPIR-V's execution modes. */
typedef enum ft_convergence {
  FT_CONVERGENCE_PLAIN = 0,
  FT_CONVERGENCE_SUBGROUP = 4421, /* SubgroupUniformControlFlowKHR: also if uniform in a subgroup */
  FT_CONVERGENCE_MAXIMAL = 6023   /* MaximallyReconvergesKHR: diverged invocations reconverge */
} ft_convergence;

struct ft_pipeline {
  const ft_kernel_source *source;
  ft_kernel_key key;
  uint32_t required_subgroup; /* 0: none */
  VkPipelineShaderStageCreateFlags flags;
  ft_convergence convergence; /* requested from the driver's compiler */
  VkPipeline handle;          /* VK_NULL_HANDLE only within ft_pipelines_get */
  VkResult result;
};

struct ft_pipeline_store {
  ft_pipeline **list;
  size_t count, capacity;
  size_t finished; /* of them, the first: see ft_pipelines_finish */
  VkPipelineCache cache;
  char *cache_path; /* NULL: not stored on disk */
  size_t cache_size;
  ft_module **modules; /* of applications */
  size_t module_count, module_capacity;
};

/* ---- module.c ---- */

void ft_modules_destroy(struct ft_pipeline_store *store);
/** Copies the module and adds the extension and the execution mode of main; *bytes becomes its
 * size. Caller frees; NULL when out of memory. */
uint32_t *ft_module_converging(const uint32_t *words, size_t *bytes, ft_convergence mode);

/** Copies the module without the flags on accesses to shared memory that make them available and
 * visible. glslang adds these to modules with matrices, whose barriers do the same
 * (shaders/gemm/matrix.comp); drivers then wait after each access. *bytes becomes the size. Caller
 * frees; NULL when out of memory. */
uint32_t *ft_module_relaxed(const uint32_t *words, size_t *bytes);

/* ---- pipeline.c, pipeline_cache.c ---- */

filtra_status ft_pipeline_store_create(filtra_device *dev, const char *cache_dir);
/** Stores the pipeline cache and frees all pipelines and modules. */
void ft_pipeline_store_destroy(filtra_device *dev);

/** Creates a VkPipelineCache with this device's data from `path`; NULL: in memory only. Ignores a
 * damaged file or one of another device, with a warning. *size is the size of the data loaded. */
filtra_status ft_pipeline_cache_open(filtra_device *dev, const char *path, VkPipelineCache *cache,
                                     size_t *size);
/** Writes the cache to `path` if it has more than `size` bytes. Failures are only logged. */
void ft_pipeline_cache_save(filtra_device *dev, const char *path, VkPipelineCache cache,
                            size_t size);
/** Path of this device's cache in `folder`; caller frees; NULL on failure (message set). */
char *ft_pipeline_cache_path(const filtra_device *dev, const char *folder);

/* ---- staging.c ---- */

void ft_staging_destroy(filtra_device *dev);

#endif
