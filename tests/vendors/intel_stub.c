/* A stub of an Intel GPU for Mesa's ANV driver, as an LD_PRELOAD library: enough for the driver to
 * open a device and compile, so that its compiler can be asked without the hardware. It answers for
 * one render node: opening it, libdrm's device list, and the i915 ioctls up to pipeline creation.
 * Submissions do nothing.
 *
 *   INTEL_STUB_ID: PCI device id in hexadecimal, one that Mesa knows (default 9a49, Tiger Lake GT2)
 */
#define _LARGEFILE64_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <i915_drm.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>

#define NODE "/dev/dri/renderD128"

enum { MAX_FD = 4096, I915_TIMESTAMP_HZ = 19200000 };

static bool is_stub[MAX_FD]; /* file descriptors that stand for the node */

static bool stubbed(int fd) {
  return fd >= 0 && fd < MAX_FD && is_stub[fd];
}

/* The next definition of a function that this library stands before. */
#define REAL(name) (__extension__(name##_fn) dlsym(RTLD_NEXT, #name))

/* ---- what GPU this is ---- */

static unsigned device_id(void) {
  const char *text = getenv("INTEL_STUB_ID");
  return text ? (unsigned)strtoul(text, NULL, 16) : 0x9a49;
}

static unsigned family(void) {
  return device_id() & 0xff00;
}

/* DG1, DG2 and Battlemage have memory of their own. */
static bool has_local_memory(void) {
  unsigned line = device_id() & 0xfff0;
  return family() == 0x4900 || family() == 0x5600 || line == 0xe200 || line == 0xe210;
}

static int units_per_subslice(void) {
  return family() == 0x5600 || family() == 0x7d00 ? 16 : 8;
}

/* Generation 9 has 3, what came later 6; DG2 has eight slices of 4, told as one slice of 32. */
static int subslice_count(void) {
  if (family() == 0x5600) return 32;
  return device_id() < 0x8000 && device_id() != 0x4680 && family() != 0x4900 && family() != 0x7d00
             ? 3
             : 6;
}

/* ---- the node as a file ---- */

static int open_node(int flags) {
  int fd = memfd_create("intel-stub", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
  if (fd >= 0 && fd < MAX_FD) is_stub[fd] = true;
  return fd;
}

typedef int (*open64_fn)(const char *, int, ...);
int open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  int mode = va_arg(list, int);
  va_end(list);
  return strcmp(path, NODE) ? REAL(open64)(path, flags, mode) : open_node(flags);
}

int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  int mode = va_arg(list, int);
  va_end(list);
  return strcmp(path, NODE) ? REAL(open64)(path, flags, mode) : open_node(flags);
}

typedef int (*close_fn)(int);
int close(int fd) {
  if (fd >= 0 && fd < MAX_FD) is_stub[fd] = false;
  return REAL(close)(fd);
}

static int describe_node(struct stat64 *st) {
  memset(st, 0, sizeof *st);
  st->st_mode = S_IFCHR | 0666;
  st->st_rdev = makedev(226, 128);
  return 0;
}

typedef int (*stat64_fn)(const char *, struct stat64 *);
int stat64(const char *path, struct stat64 *st) {
  return strcmp(path, NODE) ? REAL(stat64)(path, st) : describe_node(st);
}

typedef int (*fstat64_fn)(int, struct stat64 *);
int fstat64(int fd, struct stat64 *st) {
  return stubbed(fd) ? describe_node(st) : REAL(fstat64)(fd, st);
}

typedef void *(*mmap64_fn)(void *, size_t, int, int, int, off64_t);
void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  if (!stubbed(fd)) return REAL(mmap64)(at, length, protection, flags, fd, offset);
  int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (flags & MAP_FIXED);
  return REAL(mmap64)(at, length, protection, anonymous, -1, 0);
}

/* ---- libdrm's device list ---- */

static struct {
  drmDevice device;
  drmPciBusInfo bus;
  drmPciDeviceInfo pci;
  char *nodes[DRM_NODE_MAX];
} listed;

static drmDevicePtr only_device(void) {
  static char node[] = NODE;
  listed.bus = (drmPciBusInfo){.dev = 2};
  listed.pci = (drmPciDeviceInfo){.vendor_id = 0x8086, .device_id = (uint16_t)device_id()};
  listed.nodes[DRM_NODE_PRIMARY] = listed.nodes[DRM_NODE_RENDER] = node;
  listed.device = (drmDevice){.nodes = listed.nodes,
                              .available_nodes = 1 << DRM_NODE_RENDER | 1 << DRM_NODE_PRIMARY,
                              .bustype = DRM_BUS_PCI,
                              .businfo.pci = &listed.bus,
                              .deviceinfo.pci = &listed.pci};
  return &listed.device;
}

int drmGetDevices2(uint32_t flags, drmDevicePtr devices[], int room) {
  (void)flags;
  if (devices && room > 0) devices[0] = only_device();
  return 1;
}
int drmGetDevices(drmDevicePtr devices[], int room) {
  return drmGetDevices2(0, devices, room);
}
int drmGetDevice2(int fd, uint32_t flags, drmDevicePtr *device) {
  (void)fd;
  (void)flags;
  *device = only_device();
  return 0;
}
int drmGetDevice(int fd, drmDevicePtr *device) {
  return drmGetDevice2(fd, 0, device);
}
void drmFreeDevice(drmDevicePtr *device) {
  *device = NULL;
}
void drmFreeDevices(drmDevicePtr devices[], int count) {
  (void)devices;
  (void)count;
}

/* ---- queries ---- */

/* As the kernel does: a length of 0 asks for the size, one too small is an error. */
static void answer_query(struct drm_i915_query_item *item, const void *data, int32_t length) {
  if (item->length != 0 && item->length < length) {
    item->length = -EINVAL;
    return;
  }
  if (item->length != 0) memcpy((void *)(uintptr_t)item->data_ptr, data, (size_t)length);
  item->length = length;
}

static void query_topology(struct drm_i915_query_item *item) {
  uint64_t space[64] = {0};
  struct drm_i915_query_topology_info *t = (void *)space;
  int subslices = subslice_count(), units = units_per_subslice();
  t->max_slices = 1;
  t->max_subslices = (uint16_t)subslices;
  t->max_eus_per_subslice = (uint16_t)units;
  t->subslice_offset = 1;
  t->subslice_stride = (uint16_t)((subslices + 7) / 8);
  t->eu_offset = (uint16_t)(1 + t->subslice_stride);
  t->eu_stride = (uint16_t)((units + 7) / 8);
  t->data[0] = 1;
  for (int i = 0; i < subslices; i++) {
    t->data[t->subslice_offset + i / 8] |= (uint8_t)(1 << i % 8);
    for (int k = 0; k < units; k++)
      t->data[t->eu_offset + i * t->eu_stride + k / 8] |= (uint8_t)(1 << k % 8);
  }
  answer_query(item, t, (int32_t)sizeof *t + t->eu_offset + subslices * t->eu_stride);
}

static void query_engines(struct drm_i915_query_item *item) {
  uint64_t space[64] = {0};
  struct drm_i915_query_engine_info *e = (void *)space;
  e->num_engines = 2;
  e->engines[0].engine.engine_class = I915_ENGINE_CLASS_RENDER;
  e->engines[1].engine.engine_class = I915_ENGINE_CLASS_COPY;
  answer_query(item, e, (int32_t)(sizeof *e + 2 * sizeof e->engines[0]));
}

static void query_memory(struct drm_i915_query_item *item) {
  uint64_t space[64] = {0};
  struct drm_i915_query_memory_regions *m = (void *)space;
  m->num_regions = has_local_memory() ? 2 : 1;
  for (uint32_t i = 0; i < m->num_regions; i++) {
    m->regions[i].region.memory_class = i ? I915_MEMORY_CLASS_DEVICE : I915_MEMORY_CLASS_SYSTEM;
    m->regions[i].probed_size = m->regions[i].unallocated_size = UINT64_C(8) << 30;
  }
  answer_query(item, m, (int32_t)(sizeof *m + m->num_regions * sizeof m->regions[0]));
}

static int answer_queries(const struct drm_i915_query *q) {
  struct drm_i915_query_item *items = (void *)(uintptr_t)q->items_ptr;
  for (uint32_t i = 0; i < q->num_items; i++) {
    switch (items[i].query_id) {
    case DRM_I915_QUERY_TOPOLOGY_INFO:
    case DRM_I915_QUERY_GEOMETRY_SUBSLICES:
      query_topology(&items[i]);
      break;
    case DRM_I915_QUERY_ENGINE_INFO:
      query_engines(&items[i]);
      break;
    case DRM_I915_QUERY_MEMORY_REGIONS:
      query_memory(&items[i]);
      break;
    default:
      items[i].length = -EINVAL;
    }
  }
  return 0;
}

/* Parameters that are not listed are features, which are all there. */
static int parameter(int number) {
  switch (number) {
  case I915_PARAM_CHIPSET_ID:
    return (int)device_id();
  case I915_PARAM_CS_TIMESTAMP_FREQUENCY:
    return I915_TIMESTAMP_HZ;
  case I915_PARAM_HAS_ALIASING_PPGTT:
    return 3;
  case I915_PARAM_MMAP_VERSION:
  case I915_PARAM_MMAP_GTT_VERSION:
    return 4;
  case I915_PARAM_SUBSLICE_TOTAL:
    return subslice_count();
  case I915_PARAM_EU_TOTAL:
    return subslice_count() * units_per_subslice();
  case I915_PARAM_HAS_LLC:
    return !has_local_memory();
  case I915_PARAM_REVISION:
  case I915_PARAM_HAS_USERPTR_PROBE:
  case I915_PARAM_PERF_REVISION:
  case I915_PARAM_HUC_STATUS:
    return 0;
  default:
    return 1;
  }
}

static uint64_t context_parameter(uint64_t number) {
  if (number == I915_CONTEXT_PARAM_GTT_SIZE) return UINT64_C(1) << 48;
  return number == I915_CONTEXT_PARAM_VM;
}

static void describe_driver(drm_version_t *v) {
  static const char name[] = "i915";
  v->version_major = 1;
  v->version_minor = 6;
  if (v->name && v->name_len >= sizeof name - 1) memcpy(v->name, name, sizeof name - 1);
  if (v->date && v->date_len) v->date[0] = '0'; /* libdrm wants texts that are not empty */
  if (v->desc && v->desc_len) v->desc[0] = '-';
  v->name_len = sizeof name - 1;
  v->date_len = v->desc_len = 1;
}

/* ---- ioctls ---- */

static uint32_t handles; /* of buffers and synchronisation objects given out so far */

static int answer(unsigned long request, void *argument) {
  switch (request) {
  case DRM_IOCTL_VERSION:
    describe_driver(argument);
    break;
  case DRM_IOCTL_GET_CAP:
    ((struct drm_get_cap *)argument)->value = 1;
    break;
  case DRM_IOCTL_I915_GETPARAM: {
    struct drm_i915_getparam *p = argument;
    *p->value = parameter(p->param);
    break;
  }
  case DRM_IOCTL_I915_QUERY:
    return answer_queries(argument);
  case DRM_IOCTL_I915_GEM_CREATE:
    ((struct drm_i915_gem_create *)argument)->handle = ++handles;
    break;
  case DRM_IOCTL_I915_GEM_CREATE_EXT:
    ((struct drm_i915_gem_create_ext *)argument)->handle = ++handles;
    break;
  case DRM_IOCTL_I915_GEM_USERPTR:
    ((struct drm_i915_gem_userptr *)argument)->handle = ++handles;
    break;
  case DRM_IOCTL_SYNCOBJ_CREATE:
    ((struct drm_syncobj_create *)argument)->handle = ++handles;
    break;
  case DRM_IOCTL_I915_GEM_MMAP_OFFSET: {
    struct drm_i915_gem_mmap_offset *m = argument;
    m->offset = (uint64_t)m->handle << 32;
    break;
  }
  case DRM_IOCTL_I915_GEM_GET_APERTURE: {
    struct drm_i915_gem_get_aperture *a = argument;
    a->aper_size = a->aper_available_size = UINT64_C(1) << 48;
    break;
  }
  case DRM_IOCTL_I915_GEM_CONTEXT_CREATE:
  case DRM_IOCTL_I915_GEM_CONTEXT_CREATE_EXT:
    ((struct drm_i915_gem_context_create *)argument)->ctx_id = 1;
    break;
  case DRM_IOCTL_I915_GEM_VM_CREATE:
    ((struct drm_i915_gem_vm_control *)argument)->vm_id = 1;
    break;
  case DRM_IOCTL_I915_GEM_CONTEXT_GETPARAM: {
    struct drm_i915_gem_context_param *p = argument;
    p->value = context_parameter(p->param);
    break;
  }
  case DRM_IOCTL_I915_GEM_GET_TILING:
    ((struct drm_i915_gem_get_tiling *)argument)->tiling_mode = 0;
    break;
  default: /* everything else succeeds and does nothing */
    break;
  }
  return 0;
}

typedef int (*ioctl_fn)(int, unsigned long, ...);
int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  return stubbed(fd) ? answer(request, argument) : REAL(ioctl)(fd, request, argument);
}
