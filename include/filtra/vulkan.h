/* Filtra on the VkDevice of an application that renders or computes with Vulkan itself. The only
 * header with Vulkan's types; filtra.h does not include it. Since 0.1.
 *
 *   1. filtra_vulkan_requirements() says what the VkDevice must have, before it is made.
 *   2. filtra_vulkan_open() makes a filtra_device of it, for graphs, models and all else. The
 *      application keeps what it owns: Filtra submits to the queue and waits for its own work, and
 *      destroys only what it has made. filtra_device_close() ends it, before the VkDevice ends;
 *      with CPU drivers it waits for what was submitted to the queue before.
 *   3. filtra_vulkan_input() and filtra_vulkan_output() let a graph read and write the
 *      application's buffers, or the application Filtra's, without a copy.
 *   4. filtra_vulkan_submit() runs a graph between the application's own work: it waits for
 *      timeline semaphores of the application, and signals them.
 *
 * apps/examples/own_device.c is a program that does all of it.
 *
 * One thread at a time per filtra_device, as everywhere. Several may be opened on one VkDevice.
 *
 * A program with volk includes volk.h before this header, or defines VK_NO_PROTOTYPES.
 */
#ifndef FILTRA_VULKAN_H
#define FILTRA_VULKAN_H

#include <filtra/graph.h>
#include <filtra/structs.h>
#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---------------------------------------------------------------------------- */

/** An application's VkDevice. It must outlive the filtra_device. What a VkDevice has enabled cannot
 * be asked, so it must be said, and nothing else is used. */
typedef struct filtra_vulkan_device {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr; /**< of the application's loader */
  uint32_t api_version; /**< VkApplicationInfo.apiVersion of the instance; at least Vulkan 1.3 */
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue;
  uint32_t queue_family; /**< of the queue; with VK_QUEUE_COMPUTE_BIT */
  /** The chain of features that vkCreateDevice got: Vulkan's structures for 1.1 to 1.3, or those of
   * the extensions that these took in, with any others among them. Read while the device is
   * opened. */
  const VkPhysicalDeviceFeatures2 *features;
  uint32_t extension_count;
  const char *const *extensions; /**< that vkCreateDevice got; read while the device is opened */
  /** Called around each submission to the queue, which one thread at a time may do: where other
   * threads submit to it, lock waits for them. Both or neither; no call of Filtra's is made between
   * them. Every filtra_device on a queue has the same. */
  void (*lock)(void *user);
  void (*unlock)(void *user);
  void *user;
  uint64_t reserved[8]; /**< 0 */
} filtra_vulkan_device;

/** What Filtra asks of a VkDevice. */
typedef struct filtra_vulkan_needs {
  uint32_t api_version; /**< of VkApplicationInfo, at least */
  uint32_t instance_extension_count, extension_count, optional_extension_count;
  const char *const *instance_extensions; /**< none at present */
  const char *const *extensions;          /**< of the device, without which Filtra does not run */
  const char *const *optional_extensions; /**< others that this device has and Filtra would use */
  /** A chain of features without which Filtra does not run, and one of these and all others that
   * Filtra would use of this device. VkDeviceCreateInfo.pNext takes either, with more structures
   * at its end; an application with a chain of its own sets in it what is set here. A validation
   * layer may be older than an optional extension, and then reports its structure. */
  VkPhysicalDeviceFeatures2 *features, *all_features;
  /** Bytes of a buffer that must follow a tensor which kernels read: on CPU drivers kernels may
   * load them, and never use them. 0 on GPUs. */
  VkDeviceSize bytes_after;
  uint64_t reserved[8]; /**< 0 */
} filtra_vulkan_needs;

/** Says what the VkDevice must have. Of `vulkan`, get_instance_proc_addr, instance and
 * physical_device are read; NULL, before there is an instance: *needs then says no more than
 * api_version and instance_extensions. The caller frees *needs, with all that it points to, by
 * filtra_free(). Fails with UNSUPPORTED, saying what is missing, where the physical device cannot
 * run Filtra. */
FILTRA_API filtra_status filtra_vulkan_requirements(const filtra_vulkan_device *vulkan,
                                                    filtra_vulkan_needs **needs);

/** Opens a device on the application's. Of `options` (may be NULL), `select` and `validation` are
 * the application's to decide and must not be set. Fails with UNSUPPORTED, naming it, where
 * something that Filtra needs was not enabled; with ARGUMENT where the queue family does not
 * compute, or a filtra_device on the same queue has other locks. What is optional and was not
 * enabled is not used: filtra_device_get_info() shows what is left. Its `index` is UINT32_MAX. */
FILTRA_API filtra_status filtra_vulkan_open(const filtra_vulkan_device *vulkan,
                                            const filtra_device_options *options,
                                            filtra_device **device);

/* ---- buffers ---------------------------------------------------------------------------- */

/** Where a tensor lies, densely packed. */
typedef struct filtra_vulkan_range {
  VkBuffer buffer;
  /** That the buffer was made with, VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT among them; its
   * memory has VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT. */
  VkBufferUsageFlags usage;
  VkDeviceSize size;    /**< of the buffer, in bytes */
  VkDeviceSize offset;  /**< of the tensor in it; buffer's address + offset: a multiple of 64 */
  uint64_t reserved[4]; /**< 0 */
} filtra_vulkan_range;

/** An input that the application writes by commands of its own. `range` is its place in a buffer of
 * the application, which must outlive the graph; NULL: in one that Filtra makes, which
 * filtra_vulkan_range_of() tells. 16-bit elements take whole words of 4 bytes. As for all buffers,
 * a graph's runs and the application's work are ordered by semaphores, and between queue families
 * the buffer is shared or handed over. Device by filtra_vulkan_open(). filtra_graph_output() fails
 * for it and its views, as the buffer may not be one to copy from. */
FILTRA_API filtra_tensor *filtra_vulkan_input(filtra_graph *g, const char *name, filtra_dtype dtype,
                                              int ndim, const int64_t *shape,
                                              const filtra_vulkan_range *range);
/** Has the graph write the result `t` of an op there, without a copy; `range` as for inputs. Before
 * the graph is compiled. Returns t. `t` is dense and no part of another tensor (filtra_permute()
 * makes one that is), and neither an input, a parameter nor an output already. */
FILTRA_API filtra_tensor *filtra_vulkan_output(filtra_graph *g, filtra_tensor *t,
                                               const filtra_vulkan_range *range);
/** Tells the place of an input or output of the two functions above, while its graph lives. Where
 * Filtra has made the buffer, the application may access it by shaders and by copies. Fails with
 * ARGUMENT for a part of one, and for a view that has the elements in another order. */
FILTRA_API filtra_status filtra_vulkan_range_of(const filtra_tensor *t, filtra_vulkan_range *range);

/* ---- runs ------------------------------------------------------------------------------- */

enum { FILTRA_VULKAN_MOST_SEMAPHORES = 16 };

/** The application's timeline semaphores around one run of a graph. */
typedef struct filtra_vulkan_run {
  uint32_t wait_count, signal_count; /**< at most FILTRA_VULKAN_MOST_SEMAPHORES each */
  const VkSemaphore *wait;           /**< [wait_count]: the run begins when each has */
  const uint64_t *wait_values;       /**< reached its value, and sees what was written before */
  const VkSemaphore *signal;         /**< [signal_count]: each gets its value when the run has */
  const uint64_t *signal_values;     /**< ended; who waits for it sees what the run has written */
  uint64_t reserved[8];              /**< 0 */
} filtra_vulkan_run;

/** As filtra_graph_submit(), between semaphores; `ticket` may be NULL. Returns without waiting for
 * the semaphores, unless all slots of the graph are in flight. What is waited for must come to be:
 * destroying the graph, and closing the device, wait for the run. */
FILTRA_API filtra_status filtra_vulkan_submit(filtra_graph *g, const filtra_vulkan_run *run,
                                              uint64_t *ticket);

/* ---- structs (filtra/structs.h) --------------------------------------------------------- */

#define FILTRA_VULKAN_STRUCTS(X)                                                                   \
  X(filtra_vulkan_device)                                                                          \
  X(filtra_vulkan_needs)                                                                           \
  X(filtra_vulkan_range)                                                                           \
  X(filtra_vulkan_run)

/** filtra_check_headers() for this header, too. */
static inline filtra_status filtra_vulkan_check_headers(void) {
#define FILTRA_STRUCT_NAME(type) #type,
#define FILTRA_STRUCT_SIZE(type) sizeof(type),
  static const char *const names[] = {FILTRA_VULKAN_STRUCTS(FILTRA_STRUCT_NAME)};
  static const size_t sizes[] = {FILTRA_VULKAN_STRUCTS(FILTRA_STRUCT_SIZE)};
#undef FILTRA_STRUCT_NAME
#undef FILTRA_STRUCT_SIZE
  if (filtra_check_headers()) return FILTRA_ERROR_UNSUPPORTED;
  return filtra_compare_structs(FILTRA_VERSION_MAJOR, FILTRA_VERSION_MINOR,
                                sizeof sizes / sizeof *sizes, names, sizes);
}

#ifndef FILTRA_BUILD
#define FILTRA_VULKAN_CHECKED(call)                                                                \
  (filtra_vulkan_check_headers() ? FILTRA_ERROR_UNSUPPORTED : (call))
#define filtra_vulkan_requirements(...)                                                            \
  FILTRA_VULKAN_CHECKED(filtra_vulkan_requirements(__VA_ARGS__))
#define filtra_vulkan_open(...) FILTRA_VULKAN_CHECKED(filtra_vulkan_open(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif
#endif
