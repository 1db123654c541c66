/* Devices: listing the Vulkan devices of this machine, and opening one.
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

/** Properties of a physical device. Where several Vulkan limits restrict a value, it is the
 * smallest. */
typedef struct filtra_device_info {
  uint32_t index;   /**< position in filtra_device_list, accepted by `select` */
  char name[256];   /**< as the driver reports it */
  char driver[256]; /**< driver name and version text */
  char uuid[37];    /**< device UUID, 8-4-4-4-12 lower-case hex */
  filtra_device_class device_class;
  uint32_t vendor_id;            /**< PCI vendor */
  uint32_t api_version;          /**< VK_MAKE_API_VERSION encoding */
  bool usable;                   /**< meets the requirements above */
  char reason[160];              /**< why it is not usable, or why it ranks where it does */
  uint64_t memory_bytes;         /**< largest device-local heap */
  uint64_t max_allocation_bytes; /**< largest single buffer */
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

/** Lists all physical devices, usable or not, in order of preference: discrete, integrated,
 * virtual, CPU. On entry *count is the room in `infos`; on return it is the number of devices.
 * `infos` NULL: only the number. Fails with NO_DEVICE when no Vulkan loader or driver is installed.
 * Thread-safe. */
FILTRA_API filtra_status filtra_device_list(filtra_device_info *infos, uint32_t *count);

/** Options of filtra_device_open; all zero picks the best device. */
typedef struct filtra_device_options {
  /** An index (digits only), a UUID or part of the name or driver (any case) that only one usable
   * device has, or "cpu", the first CPU driver. NULL: the environment variable FILTRA_DEVICE, else
   * the best device, with a warning in the log if that is a CPU driver. */
  const char *select;
  /** Overrides capabilities: disables features, lowers limits, or plans for another kind of device.
   * Comma-separated "key=value" and "@profile" items; a later item for a key wins. A profile is one
   * of Filtra's or a file of "key = value" lines. docs/devices.md lists keys and profiles. NULL:
   * the environment variable FILTRA_CAPS, else no override. */
  const char *caps;
  /** Folder of the pipeline cache and of results of `filtra tune`. NULL: FILTRA_CACHE_DIR, else
   * $XDG_CACHE_HOME/filtra, else ~/.cache/filtra. "": no cache. */
  const char *cache_dir;
  /** File of kernel configurations that `filtra tune` found fastest; must be made on this device
   * and driver. NULL: FILTRA_TUNING, else this device's file in the cache folder, if there is one.
   * "": none, each op decides. The choice changes the order of sums, and so the last bits of
   * results. */
  const char *tuning;
  /** Enables the Khronos validation layer with synchronization validation. Its messages go to the
   * log and are counted. Fails with UNSUPPORTED where the layer is not installed. The environment
   * variable FILTRA_VALIDATION=1 does the same. */
  bool validation;
  uint64_t reserved[8]; /**< 0 */
} filtra_device_options;

/** Opens a device. `options` may be NULL. Fails with NO_DEVICE, listing the devices there are. */
FILTRA_API filtra_status filtra_device_open(const filtra_device_options *options,
                                            filtra_device **device);

/** Waits for the device, stores the pipeline cache and frees everything; sets *device to NULL.
 * Fails with ARGUMENT, and leaves the device open, while graphs, parameters, models or others that
 * were made on it have not been destroyed. In a forked child process, which lacks the driver's
 * threads, this call only drops the handle, and other calls on the device fail with ARGUMENT. */
FILTRA_API filtra_status filtra_device_close(filtra_device **device);

/** Properties of the open device, with overrides applied. Valid while it is open. */
FILTRA_API const filtra_device_info *filtra_device_get_info(const filtra_device *device);

/** Bytes of device memory that this device handle has allocated. */
FILTRA_API uint64_t filtra_device_memory_used(const filtra_device *device);

/** Number of validation messages so far (0 when validation is off). */
FILTRA_API uint32_t filtra_device_validation_count(const filtra_device *device);

#ifdef __cplusplus
}
#endif
#endif
