/* Devices, memory, pipelines, commands and submission: everything that uses Vulkan. Higher floors
 * see no Vulkan names; handles are pointers to structs that only this floor defines.
 *
 * Kernels are SPIR-V modules that the build embeds, named "folder/file" after their source in
 * shaders/ (variants "folder/file.variant"). All have one pipeline layout: 128 bytes of push
 * constants and no descriptors. Tensors are passed as buffer addresses.
 */
#ifndef FT_GPU_GPU_H
#define FT_GPU_GPU_H

#include "base/status.h"

#include <filtra/device.h>
#include <filtra/dtype.h>

struct filtra_vulkan_device;
struct filtra_vulkan_range;
struct filtra_vulkan_run;

enum { FT_PUSH_BYTES = 128, FT_MAX_SPEC = 13 };

/** How a kernel that reads some data many times shares them between invocations. */
typedef enum ft_kernel_style {
  FT_STYLE_NAIVE,    /* not at all; the reference for the others */
  FT_STYLE_SHARED,   /* tiles in shared memory */
  FT_STYLE_SUBGROUP, /* tiles in the registers of one subgroup, without barriers: for CPU drivers */
  FT_STYLE_UNIFORM   /* of attention: likewise, where caps->uniform_loads */
} ft_kernel_style;

/** When matrix products use matrix units: never; where the units passed the self-test on this
 * device and driver (gpu/matrix.h) and were measured to be faster; or wherever possible. */
typedef enum ft_matrix_use { FT_MATRIX_OFF, FT_MATRIX_TUNED, FT_MATRIX_FORCE } ft_matrix_use;
/** Rows and columns of C and the inner dimension of one operation of a matrix unit; 0: none. */
typedef struct ft_matrix_shape {
  uint32_t m, n, k;
} ft_matrix_shape;

/** Capabilities of a device, and decisions that follow from them. Only gpu/caps.c and gpu/plan.c
 * make such decisions. */
typedef struct ft_caps {
  filtra_device_info info; /* public part, with overrides applied; subgroup sizes as planned for */
  bool cpu;                /* a CPU driver: fast without barriers, with one-subgroup workgroups */
  bool for_cpu;  /* the driver compiles kernels for a CPU, whichever device is planned for */
  bool subgroup; /* subgroup arithmetic, ballot and shuffle usable in compute */
  bool subgroup_size_control; /* a required subgroup size may be set */
  bool storage16;             /* kernels may read and write single 16-bit elements of buffers */
  bool full_subgroups;        /* full subgroups may be required, as Vulkan 1.3 guarantees */
  uint32_t subgroup_least, subgroup_most; /* sizes that the device runs */
  uint32_t max_subgroups;                 /* per workgroup, when a required size is set */
  bool subgroup_uniform;      /* VK_KHR_shader_subgroup_uniform_control_flow is available */
  bool maximal_reconvergence; /* VK_KHR_shader_maximal_reconvergence is available */
  bool matrix, bfloat16;      /* VK_KHR_cooperative_matrix; matrices of BF16 besides F16 */
  ft_matrix_use matrix_use;
  ft_matrix_shape matrix_f16, matrix_bf16; /* of operands of that type; see ft_matrix_shape_of */
  bool pipeline_cache;                     /* may be stored on disk */
  bool short_loops;   /* a driver fault: an invocation's loops end after 65,535 iterations in all */
  bool uniform_loads; /* the compiler loads once what all lanes of a subgroup load, also in loops */
  bool portability;   /* VK_KHR_portability_subset is available and must be enabled */
  uint32_t max_groups[3];
  uint32_t max_push_bytes;
  uint32_t processors;   /* of a GPU: compute units, SMs or shader cores; 0: unknown */
  uint64_t memory_limit; /* bytes that one handle may allocate; 0: no limit set by Filtra */
  uint32_t queue_family;
  double timestamp_ns;     /* nanoseconds per tick; 0 without timestamps */
  uint32_t timestamp_bits; /* valid bits of the counter, which then wraps */
  ft_kernel_style product_style, attention_style;
  uint32_t row_workgroup;    /* invocations of kernels with one row per workgroup */
  bool fuses;                /* elementwise calls and sums (graph/fusion.c, graph/sums.c) */
  bool few_registers;        /* about 128 per lane, as on Intel: large register tiles would spill */
  double submission_seconds; /* longest time that one submission should take; 0: no limit */
} ft_caps;

/** Workgroups that every Vulkan device accepts in each dimension of a dispatch. */
enum { FT_MOST_GROUPS = 65535 };

/** How much work keeps a class of devices busy, CPU drivers or GPUs. Not queried from the device;
 * gpu/caps.c has them in one table. */
typedef struct ft_constants {
  uint32_t flat_elements;  /* elements per invocation of element-wise kernels */
  uint32_t batch_groups;   /* most workgroups for kernels that repeat the same work per sample */
  uint32_t row_groups;     /* most workgroups for kernels in which a team takes several rows */
  uint32_t team_workgroup; /* invocations of a workgroup of several teams; 0: one team each */
  uint32_t row_numbers;    /* numbers of a row that an invocation keeps in registers */
  uint32_t sum_groups;     /* workgroups that write partial sums; 0: few, in their own kernel */
  uint32_t column_sums;    /* columns that an invocation sums at a time */
  uint32_t product_groups; /* ft_busy_groups of a device whose processors are not known */
  int32_t product_cache;   /* bytes of its operands that stay in a cache; 0: unknown */
  uint32_t product_chunk;  /* least length of its inner dimension that is worth splitting off */
  uint32_t matrix_tile;    /* most sums of a subgroup's tile that drivers compile in seconds */
  uint32_t chain_teams;    /* teams with which a recurrence keeps the device busy */
  uint32_t chain_steps;    /* fewest steps per team that are worth a chunk */
  /* Speed of the slowest supported device of the class, with kernels tuned for others. */
  double slowest_flops, slowest_bytes;
} ft_constants;
const ft_constants *ft_constants_of(const ft_caps *caps);
/** Workgroups with which a matrix product keeps the device busy. */
uint32_t ft_busy_groups(const ft_caps *caps);

/** Whether a kernel with that many invocations per workgroup may require subgroups of exactly
 * `size`. */
bool ft_caps_runs(const ft_caps *caps, uint32_t size, uint32_t workgroup);
/** Invocations of a workgroup of the kernels' variants "uniform", whose lanes share addresses and
 * load pairs; 0: the device does not gain by them. */
uint32_t ft_uniform_lanes(const ft_caps *caps);

/** The shape of matrix units for operands of that type and F32 sums; 0: there are none, or they may
 * not be used. */
ft_matrix_shape ft_matrix_shape_of(const ft_caps *caps, filtra_dtype type);
/** Whether kernels may use matrix units, which the device must then enable. */
bool ft_matrix_used(const ft_caps *caps);
/** The subgroup size that matrix units need. */
uint32_t ft_matrix_lanes(const ft_caps *caps);

/** A kernel module of the application; lives as long as the device. */
typedef struct ft_kernel_source ft_module;

/** One compute kernel variant: module, workgroup size and specialization constants. */
typedef struct ft_kernel_key {
  const char *kernel;      /* "folder/file", string literal or long-lived */
  const ft_module *module; /* NULL: the build's of that name */
  uint32_t workgroup;      /* local_size_x, constant_id 0 */
  uint32_t subgroup;       /* required subgroup size; 0: any */
  uint32_t spec_count;
  uint32_t spec[FT_MAX_SPEC]; /* constant_id 1, 2, ... */
} ft_kernel_key;

typedef struct ft_pipeline ft_pipeline;

/** A buffer with memory of its own. `slack` bytes follow the `size` bytes, so that a kernel may
 * read one iteration past the end. */
typedef struct ft_buffer {
  struct VkBuffer_T *buffer;
  struct VkDeviceMemory_T *memory;
  uint64_t size, slack, allocated;
  uint64_t address; /* on the device */
  void *mapped;     /* host pointer or NULL */
  bool coherent;
  bool cached; /* host reads are fast */
} ft_buffer;

typedef enum ft_memory_kind {
  FT_MEMORY_DEVICE,  /* device local */
  FT_MEMORY_UPLOAD,  /* host writes, device copies from */
  FT_MEMORY_READBACK /* device copies to, host reads */
} ft_memory_kind;

/** Capabilities of an open device. Valid while it is open. */
const ft_caps *ft_caps_of(const filtra_device *dev);
/** Fails with UNSUPPORTED if kernels of this device cannot compute with that float type. */
filtra_status ft_check_precision(const filtra_device *dev, filtra_dtype dtype);
/** The folder of cached files; NULL: there is none. */
const char *ft_cache_folder_of(const filtra_device *dev);
/** The tuning that ops keep with a device (ops/tuning.h): the configurations that kernels take.
 * NULL: ops choose. */
struct ft_tuning *ft_tuning_of(const filtra_device *dev);
/** Replaces the tuning; returns the previous one. The device neither reads nor frees it. */
struct ft_tuning *ft_device_keep_tuning(filtra_device *dev, struct ft_tuning *tuning);
/** Whether the device was opened to compile only: buffers have no memory, nothing is submitted. */
bool ft_compiles_only(const filtra_device *dev);

/** What a device is opened for. */
typedef enum ft_device_purpose {
  FT_DEVICE_EXECUTES,
  FT_DEVICE_COMPILES /* see ft_device_open_compiler in ops/device.h */
} ft_device_purpose;
/** Opens a device without tuning, for filtra_device_open and ft_device_open_compiler. */
filtra_status ft_device_create(const filtra_device_options *options, ft_device_purpose purpose,
                               filtra_device **device);
/** The same on an application's VkDevice, for filtra_vulkan_open. */
filtra_status ft_device_create_on(const struct filtra_vulkan_device *vulkan,
                                  const filtra_device_options *options, filtra_device **device);
/** Whether the VkDevice is an application's, which submits to the same queue. */
bool ft_is_adopted(const filtra_device *dev);
/** Fails with ARGUMENT for a device of Filtra's own. */
filtra_status ft_check_adopted(const filtra_device *dev);
/** Frees the device, but not its tuning; sets *device to NULL. */
void ft_device_destroy(filtra_device **device);
/** Count the objects made on the device, which must be destroyed before it. */
void ft_device_hold(filtra_device *dev);
void ft_device_release(filtra_device *dev);
/** Fails with ARGUMENT while an object made on the device exists. */
filtra_status ft_device_check_unused(const filtra_device *dev);
/** Gives threads turns on one device handle, first come, first served. */
void ft_device_lock(filtra_device *dev);
void ft_device_unlock(filtra_device *dev);

/* ---- memory (gpu/memory.c) ---- */

/** Fails with DEVICE_MEMORY when over a limit or out of memory. The content is undefined. */
filtra_status ft_buffer_create(filtra_device *dev, uint64_t size, ft_memory_kind kind,
                               ft_buffer *out);
/** Bytes that a buffer of that size allocates, with slack; 0 for 0. */
uint64_t ft_buffer_extent(uint64_t size);
/** The largest size that ft_buffer_create accepts. */
uint64_t ft_buffer_limit(const filtra_device *dev);
/** Safe on a zeroed struct. */
void ft_buffer_destroy(filtra_device *dev, ft_buffer *buffer);
/** Wraps an application's buffer in *out, which must not be destroyed; *offset is where the `bytes`
 * bytes of `range` begin in it. Fails with ARGUMENT if they do not fit or the buffer has no
 * address. */
filtra_status ft_buffer_adopt(filtra_device *dev, const struct filtra_vulkan_range *range,
                              uint64_t bytes, ft_buffer *out, uint64_t *offset);
/** Describes a place in a buffer of Filtra's for an application. */
void ft_buffer_tell(const ft_buffer *buffer, uint64_t offset, struct filtra_vulkan_range *range);
/** Call before the device reads host writes, and before the host reads device writes. Does nothing
 * on coherent memory. */
filtra_status ft_buffer_flush(filtra_device *dev, const ft_buffer *buffer);
filtra_status ft_buffer_invalidate(filtra_device *dev, const ft_buffer *buffer);

/* ---- staging (gpu/staging.c): blocking copies, for setup and checkpoints, not for steps ---- */

filtra_status ft_upload(filtra_device *dev, const ft_buffer *to, uint64_t offset, const void *data,
                        uint64_t size);
filtra_status ft_download(filtra_device *dev, const ft_buffer *from, uint64_t offset, void *data,
                          uint64_t size);
/** A new buffer filled with zeros; on failure there is none. */
filtra_status ft_buffer_zeroed(filtra_device *dev, uint64_t size, ft_buffer *out);
filtra_status ft_fill(filtra_device *dev, const ft_buffer *to, uint64_t offset, uint64_t size,
                      uint32_t word);

/* ---- pipelines (gpu/pipeline.c, gpu/pipeline_cache.c) ---- */

/** Whether the build embedded a kernel of that name. */
bool ft_kernel_exists(const char *name);
/** Whether the build's kernel of that name works on matrix units. */
bool ft_kernel_on_matrices(const char *name);
/** The variant of a kernel for the device: "NAME.nosub" if subgroup operations are not usable and
 * the build has that variant, else `name`. Valid as long as `name`. */
const char *ft_kernel_name(const filtra_device *dev, const char *name);
/** As ft_kernel_name, for elements of that type: "NAME.f16" for F16. NULL if the build has no such
 * kernel. */
const char *ft_kernel_typed(const filtra_device *dev, const char *name, filtra_dtype dtype);
/** "NAME.f16.VARIANT" for F16, "NAME.VARIANT" for F32; a VARIANT of "" adds nothing. NULL if the
 * build has no such kernel. */
const char *ft_kernel_variant(const char *name, filtra_dtype dtype, const char *variant);
/** The application's module of that name and content, which is copied if new. Fails if it is not
 * SPIR-V, has no compute entry point "main", has descriptors, or needs what the device does not
 * have (gpu/module.c). */
filtra_status ft_module_get(filtra_device *dev, const char *name, const uint32_t *words,
                            size_t count, const ft_module **out);
const char *ft_module_name(const ft_module *module);
/** What a module reads as push constants. */
typedef struct ft_push_block {
  bool known; /* all are addresses and numbers of 4 bytes; else `addresses` may be too few */
  uint32_t addresses, bytes;
} ft_push_block;
ft_push_block ft_module_push(const ft_module *module);
/** Looks up or creates the pipelines of all keys, on several threads. out[i] stays valid while the
 * device is open. */
filtra_status ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                               ft_pipeline **out);
/** Has a CPU driver compile all pipelines of the device to machine code now: lavapipe does so when
 * a kernel is first dispatched, for tenths of a second each. Does nothing on other devices. */
filtra_status ft_pipelines_finish(filtra_device *dev);
/** Pipelines that were created after the last such call. */
size_t ft_pipelines_unfinished(const filtra_device *dev);
/** Whether the kernel reads the number of workgroups: then a dispatch of it cannot be cut. */
bool ft_pipeline_counts_groups(const ft_pipeline *pipeline);

/* ---- statistics of compiled kernels (gpu/statistics.c) ---- */

enum { FT_MAX_STATISTICS = 48, FT_MAX_EXECUTABLES = 8 };

/** One program that a pipeline consists of (some drivers compile one for each subgroup size). */
typedef struct ft_executable {
  char name[64];
  uint32_t subgroup, raw_count;
  /* In the units of Vulkan's statistics: bytes, counts. Negative: not reported. */
  double registers, spills, scratch, shared, occupancy, instructions;
  struct {
    char name[64];
    double value;
  } raw[FT_MAX_STATISTICS]; /* everything that the driver reported */
} ft_executable;

/** Number of pipelines created so far; indices are in order of creation. */
size_t ft_pipeline_count(const filtra_device *dev);
const ft_kernel_key *ft_pipeline_key(const filtra_device *dev, size_t index);
/** A hash of module and constants of pipeline `index`, continuing from `hash`. */
uint64_t ft_pipeline_fingerprint(const filtra_device *dev, size_t index, uint64_t hash);
/** On a device from ft_device_open_compiler: compiles the pipelines that were requested since the
 * last call. */
filtra_status ft_pipelines_compile(filtra_device *dev);
/** On such a device: the executables of a compiled pipeline. */
filtra_status ft_pipeline_statistics(filtra_device *dev, size_t index,
                                     ft_executable executables[FT_MAX_EXECUTABLES],
                                     uint32_t *count);
/** On such a device: the driver's disassembly of a compiled pipeline's first executable; caller
 * frees. */
filtra_status ft_pipeline_assembly(filtra_device *dev, size_t index, char **text);

/* ---- commands (gpu/commands.c): recorded once, submitted as often as wanted ---- */

typedef struct VkCommandPool_T *ft_command_pool; /* NULL: made with the first commands */
typedef struct VkCommandBuffer_T *ft_commands;
typedef struct VkQueryPool_T *ft_timestamps;

/** The stages that a barrier orders, as bits. */
enum { FT_STAGE_COMPUTE = 1, FT_STAGE_COPY = 2, FT_STAGE_HOST = 4, FT_STAGE_ALL = 8 };

filtra_status ft_commands_new(filtra_device *dev, ft_command_pool *pool, uint32_t count,
                              ft_commands *out);
void ft_commands_free(filtra_device *dev, ft_command_pool pool, uint32_t count,
                      const ft_commands *list);
/** Destroys the pool and its command buffers; NULL is fine. */
void ft_command_pool_destroy(filtra_device *dev, ft_command_pool pool);
filtra_status ft_commands_begin(filtra_device *dev, ft_commands commands);
filtra_status ft_commands_end(filtra_device *dev, ft_commands commands);
/** A memory and execution barrier: `to` stages after the barrier see all writes of `from` stages
 * before it. */
void ft_commands_barrier(filtra_device *dev, ft_commands commands, unsigned from, unsigned to);
/** Dispatches workgroups base .. base + groups - 1 of a kernel, with its push constants. */
void ft_commands_dispatch(filtra_device *dev, ft_commands commands, const ft_pipeline *pipeline,
                          const void *push, uint32_t push_size, const uint32_t base[3],
                          const uint32_t groups[3]);
void ft_commands_copy(filtra_device *dev, ft_commands commands, const ft_buffer *from,
                      uint64_t from_offset, const ft_buffer *to, uint64_t to_offset, uint64_t size);
/** Offset and size are multiples of 4. */
void ft_commands_fill(filtra_device *dev, ft_commands commands, const ft_buffer *to,
                      uint64_t offset, uint64_t size, uint32_t word);

filtra_status ft_timestamps_create(filtra_device *dev, uint32_t count, ft_timestamps *out);
void ft_timestamps_destroy(filtra_device *dev, ft_timestamps stamps);
/** Must come before timestamps are written, each time. */
void ft_commands_reset_timestamps(filtra_device *dev, ft_commands commands, ft_timestamps stamps,
                                  uint32_t first, uint32_t count);
/** Writes the time when all earlier commands have ended. */
void ft_commands_timestamp(filtra_device *dev, ft_commands commands, ft_timestamps stamps,
                           uint32_t index);
/** Waits for timestamps; seconds[i] is the time from timestamp 2 i to 2 i + 1. */
filtra_status ft_timestamps_read(filtra_device *dev, ft_timestamps stamps, uint32_t pairs,
                                 double *seconds);
/** Seconds between two readings of a counter that may have wrapped once. */
double ft_timestamp_seconds(const ft_caps *caps, uint64_t from, uint64_t to);

/* ---- submission (gpu/submit.c) ---- */

/** Submits command buffers. They start after all earlier submissions, and see their writes; *ticket
 * is done when the command buffers are. Command buffers of one submission need barriers between
 * each other, as commands in one buffer do; they need a barrier to the host stage before the host
 * reads their writes. */
filtra_status ft_submit(filtra_device *dev, const ft_commands *commands, uint32_t count,
                        uint64_t *ticket);
/** As ft_submit, but waits for the wait semaphores of `first` before, and signals the signal
 * semaphores of `last` after. Either may be NULL. */
filtra_status ft_submit_between(filtra_device *dev, const ft_commands *commands, uint32_t count,
                                const struct filtra_vulkan_run *first,
                                const struct filtra_vulkan_run *last, uint64_t *ticket);
/** Fails with ARGUMENT where semaphores or their values are missing or too many. */
filtra_status ft_check_run(const struct filtra_vulkan_run *run);
filtra_status ft_wait(filtra_device *dev, uint64_t ticket);
/** Whether `ticket` is done, without waiting. True on a lost device, for which ft_wait fails. */
bool ft_done(filtra_device *dev, uint64_t ticket);
filtra_status ft_wait_idle(filtra_device *dev);
/** Waits for all work even after a failure, so that callers free nothing that is in use. */
void ft_wait_whatever(filtra_device *dev);

#endif
