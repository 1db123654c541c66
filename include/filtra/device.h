/* Devices: what Vulkan offers on this machine, and opening one of them.
 *
 * Requirements: Vulkan 1.3 with a compute queue, buffer device addresses, timeline semaphores and
 * synchronization2 (all mandatory in 1.3). Everything else is optional and has a fallback.
 */
#ifndef FILTRA_DEVICE_H
#define FILTRA_DEVICE_H

#include <filtra/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An open device with its queue, memory and pipelines. One thread at a time per device, including
 * every graph, model and trainer made on it. */
typedef struct filtra_device filtra_device;

typedef enum filtra_device_class {
  FILTRA_DEVICE_DISCRETE = 0,
  FILTRA_DEVICE_INTEGRATED,
  FILTRA_DEVICE_VIRTUAL,
  FILTRA_DEVICE_CPU,
  FILTRA_DEVICE_OTHER
} filtra_device_class;

/** What one physical device is and can do, after limits were clamped against each other. */
typedef struct filtra_device_info {
  uint32_t index;   /**< position in filtra_device_list, accepted by `select` */
  char name[256];   /**< as the driver reports it */
  char driver[256]; /**< driver name and version text */
  char uuid[37];    /**< device UUID, 8-4-4-4-12 lower-case hex */
  filtra_device_class device_class;
  uint32_t vendor_id;            /**< PCI vendor */
  uint32_t api_version;          /**< VK_MAKE_API_VERSION encoding */
  bool usable;                   /**< meets the requirements above */
  char reason[160];              /**< why it is not usable, or why it would be chosen */
  uint64_t memory_bytes;         /**< largest device-local heap */
  uint64_t max_allocation_bytes; /**< largest single buffer: least of all limits that apply */
  uint32_t max_workgroup_invocations;
  uint32_t shared_memory_bytes;                                 /**< per workgroup */
  uint32_t subgroup_size, subgroup_size_min, subgroup_size_max; /**< invocations */
  bool subgroup_arithmetic; /**< reductions and broadcasts within a subgroup */
  bool int64;               /**< 64-bit integers in shaders */
  bool fp16;                /**< 16-bit float arithmetic and storage */
  bool timestamps;          /**< queue timestamps */
  bool memory_budget;       /**< VK_EXT_memory_budget */
  bool pipeline_statistics; /**< VK_KHR_pipeline_executable_properties */
  bool cooperative_matrix;  /**< VK_KHR_cooperative_matrix */
  uint64_t reserved[16];    /**< 0 */
} filtra_device_info;

/** Lists every physical device, usable or not, best choice first in `index` order of preference:
 * discrete, integrated, virtual, CPU. On entry *count is the room in `infos`; on return the number
 * of devices there are. `infos` may be NULL to ask for the number. Thread-safe.
 * Fails with NO_DEVICE when no Vulkan loader or no driver is installed. */
FILTRA_API filtra_status filtra_device_list(filtra_device_info *infos, uint32_t *count);

/** Options of filtra_device_open; all zero picks the best device. */
typedef struct filtra_device_options {
  /** Index (digits alone), part of the name or driver (any case), UUID, or "cpu". NULL: the
   * environment variable FILTRA_DEVICE, else the best device; choosing a CPU driver on its own logs
   * a warning. */
  const char *select;
  /** Masks features, shrinks limits, plans as for another kind of device and settles choices:
   * "key=value" or "@profile" items with commas between, the last one for a key counts. A profile
   * is one of those that come with Filtra or a file of "key = value" lines. docs/devices.md lists
   * keys and profiles. NULL: the environment variable FILTRA_CAPS, else all is as the device has
   * it. */
  const char *caps;
  /** Folder of the pipeline cache and of what `filtra tune` found. NULL: FILTRA_CACHE_DIR, else
   * $XDG_CACHE_HOME/filtra, else ~/.cache/filtra. "" keeps no cache. */
  const char *cache_dir;
  /** File of configurations that `filtra tune` found fastest on this device and driver; must be
   * theirs. NULL: FILTRA_TUNING, else the file of this device in the cache folder, if it is there.
   * "" uses none: every kernel is cut as its op decides. What is chosen changes the order of sums
   * and so the last bits of results. */
  const char *tuning;
  /** Turns the Khronos validation layer with synchronization validation on; every message counts
   * and goes to the log. Fails with UNSUPPORTED where the layer is not installed. The environment
   * variable FILTRA_VALIDATION=1 does the same. */
  bool validation;
  uint64_t reserved[8]; /**< 0 */
} filtra_device_options;

/** Opens a device. `options` may be NULL. Fails with NO_DEVICE, listing what there is. */
FILTRA_API filtra_status filtra_device_open(const filtra_device_options *options,
                                            filtra_device **device);

/** Waits for the device, stores the pipeline cache and frees everything; sets *device to NULL.
 * Graphs, parameters, models and trainers must have been destroyed before. */
FILTRA_API void filtra_device_close(filtra_device **device);

/** What the open device is and can do, with the caps override applied. Valid while it is open. */
FILTRA_API const filtra_device_info *filtra_device_get_info(const filtra_device *device);

/** Bytes of device memory this device handle holds now. */
FILTRA_API uint64_t filtra_device_memory_used(const filtra_device *device);

/** Number of validation messages so far (0 when validation is off). */
FILTRA_API uint32_t filtra_device_validation_count(const filtra_device *device);

#ifdef __cplusplus
}
#endif
#endif
