/* Devices, memory, pipelines, commands and submission: everything that talks to Vulkan, without a
 * name of Vulkan's for the floors above. Handles are pointers to what only this floor knows.
 *
 * Kernels are SPIR-V modules embedded by the build, named "folder/file" after their source under
 * shaders/ (variants "folder/file.variant"). All use one pipeline layout: 128 bytes of push
 * constants, no descriptors; tensors are passed as buffer addresses.
 */
#ifndef FT_GPU_GPU_H
#define FT_GPU_GPU_H

#include "base/status.h"

#include <filtra/device.h>
#include <filtra/dtype.h>

enum { FT_PUSH_BYTES = 128, FT_MAX_SPEC = 13 };

typedef enum ft_gemm_variant { FT_GEMM_NAIVE, FT_GEMM_TILED, FT_GEMM_S64 } ft_gemm_variant;
/** Tiles of scores through shared memory, or in one subgroup. */
typedef enum ft_attention_variant { FT_ATTENTION_TILED, FT_ATTENTION_LANES } ft_attention_variant;

/** When products take matrix units: never, where they passed the self-test on this device and
 * driver (gpu/matrix.h) and were measured to be faster, or wherever they can. */
typedef enum ft_matrix_use { FT_MATRIX_OFF, FT_MATRIX_TUNED, FT_MATRIX_FORCE } ft_matrix_use;
/** Rows and columns of C and the inner dimension of one operation of a matrix unit; 0: none. */
typedef struct ft_matrix_shape {
  uint32_t m, n, k;
} ft_matrix_shape;

/** Decisions that follow from the device; the only places where they are made are gpu/caps.c and
 * gpu/plan.c. */
typedef struct ft_caps {
  filtra_device_info info; /* public part, limits clamped; subgroup sizes are those planned for */
  bool cpu;                /* a CPU driver: wants barrier-free, one-subgroup workgroups */
  bool for_cpu;            /* kernels are compiled for a CPU, whatever device is planned for */
  bool subgroup;           /* subgroup arithmetic, ballot and shuffle usable in compute */
  bool subgroup_size_control; /* a required subgroup size may be set */
  bool storage16;             /* kernels may read and write single 16-bit elements of buffers */
  bool full_subgroups;        /* and full ones be asked for, as Vulkan 1.3 demands */
  uint32_t subgroup_least, subgroup_most; /* sizes that really run */
  uint32_t max_subgroups;                 /* per workgroup, when a required size is set */
  bool subgroup_uniform;      /* VK_KHR_shader_subgroup_uniform_control_flow may be asked for */
  bool maximal_reconvergence; /* VK_KHR_shader_maximal_reconvergence may */
  bool matrix, bfloat16;      /* VK_KHR_cooperative_matrix; matrices of BF16 besides F16 */
  ft_matrix_use matrix_use;
  ft_matrix_shape matrix_f16, matrix_bf16; /* of operands of that type; see ft_matrix_shape_of */
  bool pipeline_cache;                     /* may be kept on disk */
  bool short_loops; /* loops end after 65,535 turns of an invocation in all (docs/devices.md) */
  bool portability; /* VK_KHR_portability_subset is there and must be enabled */
  uint32_t max_groups[3];
  uint32_t max_push_bytes;
  uint64_t memory_limit; /* bytes that one handle may hold; 0: what there is */
  uint32_t queue_family;
  double timestamp_ns;     /* nanoseconds per tick; 0 without timestamps */
  uint32_t timestamp_bits; /* of the counter, which wraps behind them */
  ft_gemm_variant gemm;
  ft_attention_variant attention;
  uint32_t row_workgroup;    /* invocations for kernels that give a workgroup a row */
  bool few_registers;        /* about 128 a lane, as on Intel: large register tiles would spill */
  double submission_seconds; /* that one submission should take at most; 0: no limit */
} ft_caps;

/** What Vulkan guarantees in each dimension of a dispatch. */
enum { FT_MOST_GROUPS = 65535 };

/** What is known of a class of devices, CPU drivers or GPUs, and not asked of the one at hand: how
 * much work keeps it busy. All in one table (gpu/caps.c). */
typedef struct ft_constants {
  uint32_t flat_elements;  /* an invocation takes of a flat range: starting a workgroup costs */
  uint32_t batch_groups;   /* workgroups that are worth starting for many samples alike */
  uint32_t row_groups;     /* the same for rows that a team walks over */
  uint32_t team_workgroup; /* invocations of a workgroup of several teams; 0: one team each */
  uint32_t row_numbers;    /* of a row that such a team's invocation keeps in registers */
  uint32_t sum_groups;     /* workgroups of such teams that leave sums each; 0: sums apart */
  uint32_t column_sums;    /* columns that an invocation adds up at a time */
  uint32_t product_groups; /* workgroups that a matrix product needs to keep the device busy, */
  int32_t product_cache;   /* bytes of operands that tiles find in a cache again; 0: not known */
  uint32_t product_chunk;  /* and the least part of its inner dimension that pays */
  uint32_t matrix_tile;    /* sums of a subgroup's tile that compilers take in seconds */
  uint32_t chain_teams;    /* teams that a walk along the tokens needs to keep the device busy, */
  uint32_t chain_steps;    /* and the fewest steps of one that pay */
  /* Of the slowest device of the class that we care for, with kernels that we made for others. */
  double slowest_flops, slowest_bytes;
} ft_constants;
const ft_constants *ft_constants_of(const ft_caps *caps);

/** Whether kernels in workgroups of this many invocations run in subgroups of exactly `size` when
 * they require it. */
bool ft_caps_runs(const ft_caps *caps, uint32_t size, uint32_t workgroup);

/** The shape of matrix units for operands of that type and sums in F32; 0: there are none, or none
 * that may be used. */
ft_matrix_shape ft_matrix_shape_of(const ft_caps *caps, filtra_dtype type);
/** The size of subgroups whose matrix units these are. */
uint32_t ft_matrix_lanes(const ft_caps *caps);

/** A module that an application brought along; lives as long as the device. */
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

/** Memory with one buffer on it. `slack` bytes lie behind `size` so that kernels may read one
 * iteration past the end. */
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
  FT_MEMORY_DEVICE,  /* device local; mapped only by accident */
  FT_MEMORY_UPLOAD,  /* host writes, device copies from */
  FT_MEMORY_READBACK /* device copies to, host reads */
} ft_memory_kind;

/** What was decided about an open device. Valid while it is open. */
const ft_caps *ft_caps_of(const filtra_device *dev);
/** Whether kernels compute with operands of that float type here: UNSUPPORTED otherwise. */
filtra_status ft_check_precision(const filtra_device *dev, filtra_dtype dtype);
/** Which configurations ops take; NULL: what they choose themselves. */
struct ft_tuning *ft_tuning_of(const filtra_device *dev);
/** Where the tuning of this device is kept; NULL: nowhere. */
const char *ft_tuning_path_of(const filtra_device *dev);
/** Whether it was opened to compile only: buffers are empty, nothing is submitted. */
bool ft_compiles_only(const filtra_device *dev);

/** Opens a device to see what its compiler makes of kernels: pipelines wait for
 * ft_pipelines_compile and keep statistics, no memory is allocated, and running a graph fails. So
 * drivers without their GPU will do. Fails with UNSUPPORTED where the driver has no statistics. */
filtra_status ft_device_open_compiler(const filtra_device_options *options, filtra_device **device);

/** For threads that take turns on one device handle, in the order in which they came. */
void ft_device_lock(filtra_device *dev);
void ft_device_unlock(filtra_device *dev);

/* ---- memory (gpu/memory.c) ---- */

/** Fails with DEVICE_MEMORY when over a limit or out of memory. The content is undefined. */
filtra_status ft_buffer_create(filtra_device *dev, uint64_t size, ft_memory_kind kind,
                               ft_buffer *out);
/** What a buffer of that size takes, with its slack; 0 where it is 0. */
uint64_t ft_buffer_extent(uint64_t size);
/** The largest size ft_buffer_create takes: the device's limit less the slack. */
uint64_t ft_buffer_limit(const filtra_device *dev);
/** Safe on a zeroed struct. */
void ft_buffer_destroy(filtra_device *dev, ft_buffer *buffer);
/** Makes host writes visible / device writes readable on memory that is not coherent. */
filtra_status ft_buffer_flush(filtra_device *dev, const ft_buffer *buffer);
filtra_status ft_buffer_invalidate(filtra_device *dev, const ft_buffer *buffer);

/* ---- staging (gpu/staging.c): blocking copies, for setup and checkpoints, not for steps ---- */

filtra_status ft_upload(filtra_device *dev, const ft_buffer *to, uint64_t offset, const void *data,
                        uint64_t size);
filtra_status ft_download(filtra_device *dev, const ft_buffer *from, uint64_t offset, void *data,
                          uint64_t size);
/** A new buffer of zeros; nothing is left of it on failure. */
filtra_status ft_buffer_zeroed(filtra_device *dev, uint64_t size, ft_buffer *out);
filtra_status ft_fill(filtra_device *dev, const ft_buffer *to, uint64_t offset, uint64_t size,
                      uint32_t word);

/* ---- pipelines (gpu/pipeline.c, gpu/pipeline_cache.c) ---- */

/** Whether the build embedded a kernel of that name. */
bool ft_kernel_exists(const char *name);
/** Whether the build's kernel of that name works on matrix units. */
bool ft_kernel_on_matrices(const char *name);
/** The variant of a kernel that fits the device: "NAME.nosub" where subgroup operations are not
 * usable and the build has that variant, else `name`. Valid for ever (if `name` is). */
const char *ft_kernel_name(const filtra_device *dev, const char *name);
/** The same for elements of that type: F16 takes "NAME.f16". NULL where the build has no such
 * kernel.
 */
const char *ft_kernel_typed(const filtra_device *dev, const char *name, filtra_dtype dtype);
/** "NAME.f16.VARIANT" for F16, "NAME.VARIANT" for F32; a VARIANT of "" adds nothing. NULL where the
 * build has no such kernel. */
const char *ft_kernel_variant(const char *name, filtra_dtype dtype, const char *variant);
/** The application's module of that name and content: copied when it is new, and refused when it is
 * no SPIR-V, has no compute entry point "main", has descriptors, or asks for what the device cannot
 * do (gpu/module.c). */
filtra_status ft_module_get(filtra_device *dev, const char *name, const uint32_t *words,
                            size_t count, const ft_module **out);
const char *ft_module_name(const ft_module *module);
/** Looks up or creates the pipelines of all keys, several at a time on several threads. out[i]
 * stays valid while the device is open. */
filtra_status ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                               ft_pipeline **out);
/** Whether the kernel asks how many workgroups there are: a dispatch of it cannot be cut. */
bool ft_pipeline_counts_groups(const ft_pipeline *pipeline);

/* ---- what the compiler made of them (gpu/statistics.c) ---- */

enum { FT_MAX_STATISTICS = 48, FT_MAX_EXECUTABLES = 8 };

/** One program that a pipeline consists of (some drivers compile one for each subgroup size). */
typedef struct ft_executable {
  char name[64];
  uint32_t subgroup, raw_count;
  /* In the units of Vulkan's statistics: bytes, counts. Negative: the driver does not tell. */
  double registers, spills, scratch, shared, occupancy, instructions;
  struct {
    char name[64];
    double value;
  } raw[FT_MAX_STATISTICS]; /* what the driver said, all of it */
} ft_executable;

/** Pipelines made so far, in order. */
size_t ft_pipeline_count(const filtra_device *dev);
const ft_kernel_key *ft_pipeline_key(const filtra_device *dev, size_t index);
/** What pipeline `index` is made of, its module and constants, after those which came to `hash`. */
uint64_t ft_pipeline_fingerprint(const filtra_device *dev, size_t index, uint64_t hash);
/** Compiles what a device from ft_device_open_compiler was asked for and did not compile yet: there
 * pipelines are only listed at first. */
filtra_status ft_pipelines_compile(filtra_device *dev);
/** The executables of pipeline `index`, which is compiled; only on such a device. */
filtra_status ft_pipeline_statistics(filtra_device *dev, size_t index,
                                     ft_executable executables[FT_MAX_EXECUTABLES],
                                     uint32_t *count);
/** The machine's instructions of its first executable, in the driver's words; the caller frees
 * them. */
filtra_status ft_pipeline_assembly(filtra_device *dev, size_t index, char **text);

/* ---- commands (gpu/commands.c): recorded once, submitted as often as wanted ---- */

typedef struct VkCommandPool_T *ft_command_pool; /* NULL: made with the first commands */
typedef struct VkCommandBuffer_T *ft_commands;
typedef struct VkQueryPool_T *ft_timestamps;

/** What barriers are between, as bits. */
enum { FT_STAGE_COMPUTE = 1, FT_STAGE_COPY = 2, FT_STAGE_HOST = 4, FT_STAGE_ALL = 8 };

filtra_status ft_commands_new(filtra_device *dev, ft_command_pool *pool, uint32_t count,
                              ft_commands *out);
void ft_commands_free(filtra_device *dev, ft_command_pool pool, uint32_t count,
                      const ft_commands *list);
/** With all its commands; NULL is fine. */
void ft_command_pool_destroy(filtra_device *dev, ft_command_pool pool);
filtra_status ft_commands_begin(filtra_device *dev, ft_commands commands);
filtra_status ft_commands_end(filtra_device *dev, ft_commands commands);
/** Memory and execution: what `to` does behind it sees all that `from` wrote before it. */
void ft_commands_barrier(filtra_device *dev, ft_commands commands, unsigned from, unsigned to);
/** Workgroups base .. base + groups - 1 of a kernel, with its push constants. */
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
/** Before they are written for the first time, and again. */
void ft_commands_reset_timestamps(filtra_device *dev, ft_commands commands, ft_timestamps stamps,
                                  uint32_t first, uint32_t count);
/** The time when all commands before have ended. */
void ft_commands_timestamp(filtra_device *dev, ft_commands commands, ft_timestamps stamps,
                           uint32_t index);
/** seconds[i] from timestamp 2 i to 2 i + 1; waits for them. */
filtra_status ft_timestamps_read(filtra_device *dev, ft_timestamps stamps, uint32_t pairs,
                                 double *seconds);
/** Between two readings of a counter that may have wrapped once. */
double ft_timestamp_seconds(const ft_caps *caps, uint64_t from, uint64_t to);

/* ---- submission (gpu/submit.c) ---- */

/** Submits command buffers after everything before, memory included; *ticket is the timeline value
 * that says they are done. Among themselves they need the barriers of one command buffer; before
 * the host reads what they wrote they need a barrier to the host stage. */
filtra_status ft_submit(filtra_device *dev, const ft_commands *commands, uint32_t count,
                        uint64_t *ticket);
filtra_status ft_wait(filtra_device *dev, uint64_t ticket);
/** Whether `ticket` is done, without waiting. True on a lost device; ft_wait then tells. */
bool ft_done(filtra_device *dev, uint64_t ticket);
filtra_status ft_wait_idle(filtra_device *dev);
/** Waits for everything whatever has failed, so that nothing in use is freed. */
void ft_wait_whatever(filtra_device *dev);

#endif
