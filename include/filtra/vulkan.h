/* Filtra on the VkDevice of an application that renders or computes with Vulkan itself. The only
 * header with Vulkan's types; filtra.h does not include it. Since 0.1.
 *
 *   1. filtra_vulkan_requirements() reports what the VkDevice must have, before the application
 *      creates it.
 *   2. filtra_vulkan_open() makes a filtra_device of it, for graphs, models and all else. The
 *      application keeps what it owns: Filtra submits to the queue, waits for its own work, and
 *      destroys only what it created. Call filtra_device_close() before destroying the VkDevice; on
 *      CPU drivers it waits for all earlier submissions to the queue.
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

/** An application's VkDevice. It must outlive the filtra_device. Vulkan cannot report what a
 * VkDevice has enabled, so the application states it here, and Filtra uses nothing else. */
typedef struct filtra_vulkan_device {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr; /**< of the application's loader */
  uint32_t api_version; /**< VkApplicationInfo.apiVersion of the instance; at least Vulkan 1.3 */
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue;
  uint32_t queue_family; /**< of the queue; with VK_QUEUE_COMPUTE_BIT */
  /** The chain of features passed to vkCreateDevice: the structures of Vulkan 1.1 to 1.3, or those
   * of the extensions promoted to them; others in the chain are ignored. Read only during
   * filtra_vulkan_open(). */
  const VkPhysicalDeviceFeatures2 *features;
  uint32_t extension_count;
  const char *const *extensions; /**< passed to vkCreateDevice; read as `features` */
  /** Called before and after each submission to the queue, since only one thread at a time may
   * submit: `lock` waits for other threads of the application. Both or neither. Do not call Filtra
   * while holding the lock. All filtra_devices on one queue take the same functions and `user`. */
  void (*lock)(void *user);
  void (*unlock)(void *user);
  void *user;
  uint64_t reserved[8]; /**< 0 */
} filtra_vulkan_device;

/** What Filtra requires of a VkDevice, and what it can use. */
typedef struct filtra_vulkan_needs {
  uint32_t api_version; /**< the least VkApplicationInfo.apiVersion */
  uint32_t instance_extension_count, extension_count, optional_extension_count;
  const char *const *instance_extensions; /**< none at present */
  const char *const *extensions;          /**< device extensions that Filtra requires */
  const char *const *optional_extensions; /**< others that the device has and Filtra can use */
  /** Chains of features: those that Filtra requires, and those with all others of this device that
   * Filtra can use. Either can be VkDeviceCreateInfo.pNext, with more structures appended; an
   * application with its own chain sets the same features there. A validation layer that is older
   * than an optional extension reports its structure as unknown. */
  VkPhysicalDeviceFeatures2 *features, *all_features;
  /** Bytes of the buffer that must follow a tensor read by kernels: on CPU drivers, kernels may
   * load these bytes but do not use them. 0 on GPUs. */
  VkDeviceSize bytes_after;
  uint64_t reserved[8]; /**< 0 */
} filtra_vulkan_needs;

/** Reports what the VkDevice must have. Reads get_instance_proc_addr, instance and physical_device
 * of `vulkan`. `vulkan` NULL, before an instance exists: *needs holds only api_version and
 * instance_extensions. The caller frees *needs, with everything it points to, by filtra_free().
 * Fails with UNSUPPORTED, naming what is missing, if the physical device cannot run Filtra. */
FILTRA_API filtra_status filtra_vulkan_requirements(const filtra_vulkan_device *vulkan,
                                                    filtra_vulkan_needs **needs);

/** Opens a device on the application's. Of `options` (may be NULL), `select` and `validation` are
 * the application's to decide and must not be set. Fails with UNSUPPORTED, naming it, if something
 * that Filtra requires was not enabled; with ARGUMENT if the queue family has no compute support,
 * or if a filtra_device on the same queue has other locks. Optional features that were not enabled
 * are not used: filtra_device_get_info() shows those in use. Its `index` is UINT32_MAX. */
FILTRA_API filtra_status filtra_vulkan_open(const filtra_vulkan_device *vulkan,
                                            const filtra_device_options *options,
                                            filtra_device **device);

/* ---- buffers ---------------------------------------------------------------------------- */

/** Where a tensor lies, densely packed. */
typedef struct filtra_vulkan_range {
  VkBuffer buffer;
  /** With which the buffer was created, including VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT; its
   * memory was allocated with VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT. */
  VkBufferUsageFlags usage;
  VkDeviceSize size;    /**< of the buffer, in bytes */
  VkDeviceSize offset;  /**< of the tensor in it; buffer's address + offset: a multiple of 64 */
  uint64_t reserved[4]; /**< 0 */
} filtra_vulkan_range;

/** An input that the application writes by its own commands. `range` is its place in a buffer of
 * the application, which must outlive the graph; NULL: Filtra creates the buffer, and
 * filtra_vulkan_range_of() returns the place. 16-bit elements fill whole words of 4 bytes.
 * Semaphores must order the graph's executions and the application's work on the buffer; between
 * queue families it needs concurrent sharing or an ownership transfer. The device must come from
 * filtra_vulkan_open(). filtra_graph_output() fails for this input and its views, since the buffer
 * may lack the usage for copies. */
FILTRA_API filtra_tensor *filtra_vulkan_input(filtra_graph *g, const char *name, filtra_dtype dtype,
                                              int ndim, const int64_t *shape,
                                              const filtra_vulkan_range *range);
/** Makes the graph write `t`, the result of an op, to `range` without a copy; `range` as for
 * inputs. Call it before the graph is compiled. Returns t. `t` must be dense, not part of another
 * tensor (filtra_permute() makes a dense copy), and not an input, a parameter or already an output.
 */
FILTRA_API filtra_tensor *filtra_vulkan_output(filtra_graph *g, filtra_tensor *t,
                                               const filtra_vulkan_range *range);
/** Returns the place of an input or output of the two functions above; valid while its graph
 * exists. If Filtra created the buffer, the application may access it by shaders and copies. Fails
 * with ARGUMENT for a part of a tensor, and for a view with another order of elements. */
FILTRA_API filtra_status filtra_vulkan_range_of(const filtra_tensor *t, filtra_vulkan_range *range);

/* ---- runs ------------------------------------------------------------------------------- */

enum { FILTRA_VULKAN_MOST_SEMAPHORES = 16 };

/** The application's timeline semaphores around one run of a graph. */
typedef struct filtra_vulkan_run {
  uint32_t wait_count, signal_count; /**< at most FILTRA_VULKAN_MOST_SEMAPHORES each */
  const VkSemaphore *wait;           /**< [wait_count]: the run begins when each */
  const uint64_t *wait_values;       /**< has its value, and sees earlier writes */
  const VkSemaphore *signal;         /**< [signal_count]: each gets its value when */
  const uint64_t *signal_values;     /**< the run ends; waiters see its writes */
  uint64_t reserved[8];              /**< 0 */
} filtra_vulkan_run;

/** As filtra_graph_submit(), between semaphores; `ticket` may be NULL. Returns without waiting for
 * the semaphores, unless all slots of the graph are in flight. Every wait must be satisfied
 * eventually: destroying the graph and closing the device wait for the run. */
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
