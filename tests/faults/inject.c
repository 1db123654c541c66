/* Linked into the command: makes one chosen call of a kind fail as the system could make it fail.
 *
 *   FAULT=KIND@PLACE:N  the N-th call of that kind from that place, from 1; "KIND@PLACE:N+": and
 *                   all later calls of the kind; "KIND:N": from any place. Does not apply to
 *                   processes that this one starts
 *   FAULT_LOG=FILE  written at the end: whether the call was reached, and how many blocks allocated
 *                   here were never freed; without FAULT also a line for each place: kind, order,
 *                   place, calls
 *
 * A place is a call with its five callers: another path to the same line is another place, two
 * commands with the same path share a place, and the order of threads does not matter.
 *
 *   FAULT_KERNEL=NAME  swaps sums and differences of floats in that kernel and turns products into
 *                   sums, so that the device gives wrong numbers. Exit code 99 if it has none
 *   FAULT_CRASH=NAME, FAULT_HANG=NAME  crashes or hangs when that kernel is compiled
 *   FAULT_BIT=N     the N-th result fetched has one wrong bit, in its last element
 *   FAULT_USED=FILE gets the names of the kernels requested
 *
 * Counts calls from the command itself and from the libraries that read files for it, but not from
 * drivers, which are not under test. Vulkan's calls fail by replacing gpu/fault.c. */
#include "gpu/internal.h"
#include "gpu/kernels.h"

#include <filtra/graph.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

typedef enum kind {
  MEMORY,
  OPEN,
  EXAMINE,
  READ,
  LIST,
  WRITE,
  SHORTEN,
  LOCK,
  SYNC,
  RENAME,
  FOLDER,
  THREAD,
  SYSTEM_KINDS,
  VK_HOST_MEMORY = SYSTEM_KINDS,
  VK_DEVICE_MEMORY,
  VK_LOST,
  VK_OTHER,
  KINDS
} kind;

static const char *const NAMES[KINDS] = {
    "memory", "open",   "examine", "read",   "list",    "write",     "shorten", "lock",
    "sync",   "rename", "folder",  "thread", "vk-host", "vk-device", "vk-lost", "vk-failed"};
static const VkResult RESULTS[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                   VK_ERROR_DEVICE_LOST, VK_ERROR_INITIALIZATION_FAILED};

/* In a table by open addressing; no calls: a free row. */
typedef struct place {
  uint64_t id;
  long calls, order; /* so many so far; behind so many other places */
} place;
enum { PLACES = 1 << 13, DEPTH = 7 }; /* two of them in this file */
static place places[KINDS][PLACES];

static kind chosen = KINDS;
static uint64_t chosen_place; /* 0: any */
static long number, calls;    /* that may be the one */
static bool lasting, fired, counting;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- who calls ---- */

static struct module { uintptr_t from, to; } modules[16];
static size_t module_count;

static int add_module(struct dl_phdr_info *info, size_t size, void *user) {
  static const char *const OURS[] = {"libjansson", "libpng", "libz.", "libjpeg"};
  bool ours = !*info->dlpi_name;
  (void)size, (void)user;
  for (size_t i = 0; i < FT_COUNT(OURS); i++)
    if (strstr(info->dlpi_name, OURS[i])) ours = true;
  for (int i = 0; ours && i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || module_count == FT_COUNT(modules)) continue;
    modules[module_count].from = info->dlpi_addr + p->p_vaddr;
    modules[module_count++].to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
  }
  return 0;
}

/* The module that an address is of; NULL: not ours. */
static const struct module *module_of(const void *address) {
  for (size_t i = 0; i < module_count; i++)
    if ((uintptr_t)address >= modules[i].from && (uintptr_t)address < modules[i].to)
      return &modules[i];
  return NULL;
}

static bool is_ours(const void *caller) {
  return module_of(caller) != NULL;
}

/* Who called: FNV-1a of where in its module each call stands. Never 0. */
static uint64_t place_now(void) {
  void *frames[DEPTH];
  int count = backtrace(frames, DEPTH);
  uint64_t id = 0xcbf29ce484222325u;
  for (int i = 0; i < count; i++) {
    const struct module *m = module_of(frames[i]);
    if (m) id = (id ^ ((uintptr_t)frames[i] - m->from)) * 0x100000001b3u;
  }
  return id | 1;
}

/* The mutex is held. */
static void count_call(kind k, uint64_t id) {
  static long order;
  size_t at = (size_t)(id >> 32) % PLACES;
  for (size_t n = 0; places[k][at].calls && places[k][at].id != id; n++) {
    if (n == PLACES) _exit(98);
    at = (at + 1) % PLACES;
  }
  place *p = &places[k][at];
  if (!p->calls) *p = (place){.id = id, .order = order++};
  p->calls++;
}

/* Whether this call is the one to fail. */
static bool fails(kind k, const void *caller) {
  if ((k != chosen && !counting) || !is_ours(caller)) return false;
  uint64_t id = counting || chosen_place ? place_now() : 0;
  pthread_mutex_lock(&mutex);
  if (counting) count_call(k, id);
  bool now = k == chosen && lasting && fired;
  if (k == chosen && !now && (!chosen_place || id == chosen_place)) now = ++calls == number;
  if (now) fired = true;
  pthread_mutex_unlock(&mutex);
  return now;
}
#define FAILS(k) fails(k, __builtin_return_address(0))

/* ---- blocks that are ours, until they are freed ---- */

enum { BLOCKS = 1 << 20 };
static void *blocks[BLOCKS]; /* by open addressing; 1: one was here */
static long held;

static size_t slot_of(const void *block) {
  return ((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 44;
}

static void note(void *block, const void *caller) {
  if (!block || !is_ours(caller)) return;
  pthread_mutex_lock(&mutex);
  size_t at = slot_of(block);
  while ((uintptr_t)blocks[at] > 1)
    at = (at + 1) % BLOCKS;
  blocks[at] = block;
  held++;
  pthread_mutex_unlock(&mutex);
}

static void forget(const void *block) {
  if (!block) return;
  pthread_mutex_lock(&mutex);
  for (size_t at = slot_of(block), n = 0; blocks[at] && n < BLOCKS; at = (at + 1) % BLOCKS, n++) {
    if (blocks[at] != block) continue;
    blocks[at] = blocks[(at + 1) % BLOCKS] ? (void *)1 : NULL;
    held--;
    break;
  }
  pthread_mutex_unlock(&mutex);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);
PUBLIC void *malloc(size_t size);
PUBLIC void *calloc(size_t count, size_t size);
PUBLIC void *realloc(void *block, size_t size);
PUBLIC void free(void *block);

void *malloc(size_t size) {
  if (FAILS(MEMORY)) return errno = ENOMEM, NULL;
  void *block = __libc_malloc(size);
  note(block, __builtin_return_address(0));
  return block;
}

void *calloc(size_t count, size_t size) {
  if (FAILS(MEMORY)) return errno = ENOMEM, NULL;
  void *block = __libc_calloc(count, size);
  note(block, __builtin_return_address(0));
  return block;
}

void *realloc(void *block, size_t size) {
  if (FAILS(MEMORY)) return errno = ENOMEM, NULL;
  forget(block);
  void *after = __libc_realloc(block, size);
  note(after ? after : block, __builtin_return_address(0));
  return after;
}

void free(void *block) {
  forget(block);
  __libc_free(block);
}

/* ---- files and threads ---- */

#define REAL(name, type)                                                                           \
  __typeof__(type) real;                                                                           \
  void *symbol = dlsym(RTLD_NEXT, name);                                                           \
  memcpy(&real, &symbol, sizeof real)
#define FAIL(k, reason, value)                                                                     \
  if (FAILS(k)) return errno = (reason), (value)

PUBLIC int open(const char *path, int flags, ...) {
  FAIL(OPEN, EIO, -1);
  va_list list;
  va_start(list, flags);
  int mode = flags & O_CREAT ? va_arg(list, int) : 0;
  va_end(list);
  REAL("open", int (*)(const char *, int, ...));
  return real(path, flags, mode);
}

PUBLIC int openat(int folder, const char *path, int flags, ...) {
  FAIL(OPEN, EIO, -1);
  va_list list;
  va_start(list, flags);
  int mode = flags & O_CREAT ? va_arg(list, int) : 0;
  va_end(list);
  REAL("openat", int (*)(int, const char *, int, ...));
  return real(folder, path, flags, mode);
}

PUBLIC FILE *fdopen(int fd, const char *mode) {
  FAIL(OPEN, ENOMEM, NULL);
  REAL("fdopen", FILE * (*)(int, const char *));
  return real(fd, mode);
}

PUBLIC DIR *opendir(const char *path) {
  FAIL(LIST, EIO, NULL);
  REAL("opendir", DIR * (*)(const char *));
  return real(path);
}

PUBLIC struct dirent *readdir(DIR *folder) {
  FAIL(LIST, EIO, NULL);
  REAL("readdir", struct dirent * (*)(DIR *));
  return real(folder);
}

PUBLIC int fstat(int fd, struct stat *info) {
  FAIL(EXAMINE, EIO, -1);
  REAL("fstat", int (*)(int, struct stat *));
  return real(fd, info);
}

PUBLIC int fstatat(int folder, const char *path, struct stat *info, int flags) {
  FAIL(EXAMINE, EIO, -1);
  REAL("fstatat", int (*)(int, const char *, struct stat *, int));
  return real(folder, path, info, flags);
}

PUBLIC ssize_t read(int fd, void *to, size_t size) {
  FAIL(READ, EIO, -1);
  REAL("read", ssize_t(*)(int, void *, size_t));
  return real(fd, to, size);
}

PUBLIC ssize_t write(int fd, const void *from, size_t size) {
  FAIL(WRITE, ENOSPC, -1);
  REAL("write", ssize_t(*)(int, const void *, size_t));
  return real(fd, from, size);
}

/* A stream's own writes cannot be reached; for this call its file is one that is always full. */
static int fill_up(FILE *stream, int *kept) {
  REAL("openat", int (*)(int, const char *, int, ...));
  int full = real(AT_FDCWD, "/dev/full", O_WRONLY | O_CLOEXEC), fd = fileno(stream);
  *kept = dup(fd);
  dup2(full, fd);
  close(full);
  return fd;
}

static void restore(int fd, int kept) {
  int reason = errno;
  dup2(kept, fd);
  close(kept);
  errno = reason;
}

PUBLIC size_t fwrite(const void *from, size_t size, size_t count, FILE *stream) {
  REAL("fwrite", size_t(*)(const void *, size_t, size_t, FILE *));
  if (stream == stderr || !FAILS(WRITE)) return real(from, size, count, stream);
  int kept, fd = fill_up(stream, &kept);
  size_t written = real(from, size, count, stream);
  restore(fd, kept);
  return written;
}

PUBLIC int fflush(FILE *stream) {
  REAL("fflush", int (*)(FILE *));
  if (!stream || stream == stderr || !FAILS(WRITE)) return real(stream);
  int kept, fd = fill_up(stream, &kept), result = real(stream);
  restore(fd, kept);
  return result;
}

PUBLIC int ftruncate(int fd, off_t size) {
  FAIL(SHORTEN, EIO, -1);
  REAL("ftruncate", int (*)(int, off_t));
  return real(fd, size);
}

PUBLIC int flock(int fd, int operation) {
  FAIL(LOCK, EINTR, -1);
  REAL("flock", int (*)(int, int));
  return real(fd, operation);
}

PUBLIC int fsync(int fd) {
  FAIL(SYNC, EIO, -1);
  REAL("fsync", int (*)(int));
  return real(fd);
}

PUBLIC int syncfs(int fd) {
  FAIL(SYNC, EIO, -1);
  REAL("syncfs", int (*)(int));
  return real(fd);
}

PUBLIC int rename(const char *from, const char *to) {
  FAIL(RENAME, EIO, -1);
  REAL("rename", int (*)(const char *, const char *));
  return real(from, to);
}

PUBLIC int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  FAIL(RENAME, EIO, -1);
  REAL("renameat", int (*)(int, const char *, int, const char *));
  return real(from_folder, from, to_folder, to);
}

PUBLIC int mkdirat(int folder, const char *path, mode_t mode) {
  FAIL(FOLDER, ENOSPC, -1);
  REAL("mkdirat", int (*)(int, const char *, mode_t));
  return real(folder, path, mode);
}

PUBLIC int mkdir(const char *path, mode_t mode) {
  FAIL(FOLDER, ENOSPC, -1);
  REAL("mkdir", int (*)(const char *, mode_t));
  return real(path, mode);
}

PUBLIC int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *user) {
  if (FAILS(THREAD)) return EAGAIN;
  REAL("pthread_create", int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *));
  return real(thread, attributes, run, user);
}

/* ---- Vulkan ---- */

bool __wrap_ft_vk_faulty(void);
VkResult __wrap_ft_vk_fault(void);

/* Each kind is a result of the same calls. */
bool __wrap_ft_vk_faulty(void) {
  return fails(chosen > SYSTEM_KINDS && chosen < KINDS ? chosen : SYSTEM_KINDS,
               __builtin_return_address(0));
}

VkResult __wrap_ft_vk_fault(void) {
  return RESULTS[chosen - SYSTEM_KINDS];
}

/* ---- kernels ---- */

/* Of SPIR-V, section 3.49.13. */
enum { OP_EXT = 12, OP_F_ADD = 129, OP_F_SUB = 131, OP_F_MUL = 133, HEADER_WORDS = 5 };
enum { GLSL_CLAMP = 43, GLSL_FMA = 50 }; /* GLSL.std.450, of three operands each */

/* Sums become differences, and the other way round; products sums. */
static bool spoil_words(uint32_t *words, size_t count) {
  bool spoilt = false;
  for (size_t i = HEADER_WORDS; i < count && words[i] >> 16; i += words[i] >> 16) {
    uint32_t op = words[i] & 0xffff;
    if (op == OP_EXT && words[i + 4] == GLSL_FMA) {
      words[i + 4] = GLSL_CLAMP;
      spoilt = true;
    }
    if (op != OP_F_ADD && op != OP_F_SUB && op != OP_F_MUL) continue;
    words[i] += (op == OP_F_ADD ? OP_F_SUB : OP_F_ADD) - op;
    spoilt = true;
  }
  return spoilt;
}

/* The table of kernels is read-only memory. */
static void spoil(const char *name) {
  for (const ft_kernel_source *s = ft_kernel_sources; s->name; s++) {
    if (strcmp(s->name, name)) continue;
    uint32_t *words = __libc_malloc(s->bytes);
    if (!words) _exit(98);
    memcpy(words, s->words, s->bytes);
    if (!spoil_words(words, s->bytes / sizeof *words)) _exit(99);
    uintptr_t page = (uintptr_t)s & ~(uintptr_t)4095;
    if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE)) _exit(98);
    memcpy((void *)&s->words, &words, sizeof words);
    return;
  }
  _exit(98);
}

filtra_status __real_ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                                      ft_pipeline **out);
filtra_status __wrap_ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                                      ft_pipeline **out);

static bool asked(const char *variable, const ft_kernel_key *keys, size_t count) {
  const char *name = getenv(variable);
  for (size_t i = 0; i < count && name; i++)
    if (keys[i].kernel && !strcmp(keys[i].kernel, name)) return true;
  return false;
}

filtra_status __wrap_ft_pipelines_get(filtra_device *dev, const ft_kernel_key *keys, size_t count,
                                      ft_pipeline **out) {
  if (asked("FAULT_CRASH", keys, count)) abort();
  while (asked("FAULT_HANG", keys, count))
    pause();
  const char *path = getenv("FAULT_USED");
  FILE *stream = path ? fopen(path, "a") : NULL;
  for (size_t i = 0; stream && i < count; i++)
    if (keys[i].kernel) fprintf(stream, "%s\n", keys[i].kernel);
  if (stream) fclose(stream);
  return __real_ft_pipelines_get(dev, keys, count, out);
}

/* ---- results ---- */

filtra_status __real_filtra_graph_get(filtra_graph *g, filtra_tensor *t, void *data);
filtra_status __wrap_filtra_graph_get(filtra_graph *g, filtra_tensor *t, void *data);

filtra_status __wrap_filtra_graph_get(filtra_graph *g, filtra_tensor *t, void *data) {
  static long fetched;
  filtra_status status = __real_filtra_graph_get(g, t, data);
  const char *bit = getenv("FAULT_BIT");
  if (bit && ++fetched == strtol(bit, NULL, 10))
    ((uint32_t *)data)[filtra_tensor_elements(t) - 1] ^= 1;
  return status;
}

/* ---- beginning and end ---- */

static const char *log_path; /* NULL: nobody asks */

static void tell(void) {
  FILE *stream = log_path ? fopen(log_path, "w") : NULL;
  chosen = KINDS;
  if (!stream) return;
  fprintf(stream, "%d %ld\n", fired, held);
  for (kind k = 0; k < KINDS && counting; k++) {
    const place *of = places[k < SYSTEM_KINDS ? k : SYSTEM_KINDS];
    for (size_t i = 0; i < PLACES; i++)
      if (of[i].calls)
        fprintf(stream, "%d %ld %" PRIx64 " %ld\n", (int)k, of[i].order, of[i].id, of[i].calls);
  }
  fclose(stream);
}

__attribute__((constructor)) static void begin(void) {
  const char *fault = getenv("FAULT");
  size_t length = fault ? strcspn(fault, "@:") : 0;
  void *frame;
  dl_iterate_phdr(add_module, NULL);
  backtrace(&frame, 1); /* loads what it needs */
  log_path = getenv("FAULT_LOG");
  counting = log_path && !fault;
  unsetenv("FAULT"); /* processes that this one starts are those of a user */
  unsetenv("FAULT_LOG");
  atexit(tell);
  if (getenv("FAULT_KERNEL")) spoil(getenv("FAULT_KERNEL"));
  if (!fault) return;
  char *end = (char *)fault + length;
  if (*end == '@') chosen_place = strtoull(end + 1, &end, 16);
  if (*end == ':') number = strtol(end + 1, &end, 10);
  lasting = *end == '+';
  for (kind k = 0; k < KINDS; k++)
    if (strlen(NAMES[k]) == length && !strncmp(fault, NAMES[k], length)) chosen = k;
  if (chosen == KINDS || number < 1) _exit(98);
}
