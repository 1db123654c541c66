/* Shared by the readers: their list, files, the memory limit. */
#include "fuzz.h"

#include <errno.h>
#include <filtra/status.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { FREE_BYTES = 64 << 20, TIMES = 20 };
static const char NEXT[] = "\n@@@@\n";

static const fuzz_reader *const families[] = {fuzz_base, fuzz_texts, fuzz_images, fuzz_runs,
                                              fuzz_devices};

const fuzz_reader *fuzz_at(size_t i) {
  for (size_t f = 0; f < FT_COUNT(families); f++)
    for (const fuzz_reader *r = families[f]; r->name; r++)
      if (i-- == 0) return r;
  return NULL;
}

const fuzz_reader *fuzz_find(const char *name) {
  const fuzz_reader *r;
  for (size_t i = 0; (r = fuzz_at(i)); i++)
    if (!strcmp(r->name, name)) return r;
  return NULL;
}

void fuzz_check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

void fuzz_failed(filtra_status status) {
  const char *message = filtra_error_message();
  if (!status) return;
  if (*message && (status == FILTRA_ERROR_INPUT || status == FILTRA_ERROR_PATH ||
                   status == FILTRA_ERROR_ARGUMENT || status == FILTRA_ERROR_UNSUPPORTED))
    return;
  fprintf(stderr, "fuzz: %s: \"%s\"\n", filtra_status_name(status), message);
  abort();
}

/* ---- files ---- */

static char folder[128];

static int remove_here(const char *path) {
  char command[256];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  return system(command);
}

static void leave(void) {
  fuzz_check(!remove_here(folder), "the scratch folder cannot be removed");
}

/* In memory where there is a file system for that. */
static void enter(void) {
  const char *parent = getenv("TMPDIR");
  if (!parent) parent = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
  snprintf(folder, sizeof folder, "%s/filtra-fuzz-XXXXXX", parent);
  fuzz_check(mkdtemp(folder) != NULL, "no scratch folder can be made");
  atexit(leave);
}

const char *fuzz_path(const char *name) {
  static char paths[8][256];
  static unsigned next;
  char *path = paths[next++ % 8];
  if (!*folder) enter();
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

const char *fuzz_file(const char *name, const void *data, size_t size) {
  const char *path = fuzz_path(name);
  FILE *stream = fopen(path, "wb");
  for (const char *slash = path + strlen(folder); !stream && (slash = strchr(slash + 1, '/'));) {
    char parent[256];
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    if (mkdir(parent, 0700)) fuzz_check(errno == EEXIST, "a folder cannot be made");
    if (!strchr(slash + 1, '/')) stream = fopen(path, "wb");
  }
  fuzz_check(stream != NULL, path);
  bool written = fwrite(data, 1, size, stream) == size;
  fuzz_check(!fclose(stream) && written, "a file cannot be written");
  return path;
}

void fuzz_files(const uint8_t *data, size_t size, const char *const *names) {
  const uint8_t *at = data, *end = data + size;
  for (; *names; names++) {
    if (!at) {
      unlink(fuzz_path(*names));
      continue;
    }
    const uint8_t *mark = memmem(at, (size_t)(end - at), NEXT, sizeof NEXT - 1);
    if (!names[1]) mark = NULL;
    fuzz_file(*names, at, (size_t)((mark ? mark : end) - at));
    at = mark ? mark + sizeof NEXT - 1 : NULL;
  }
}

char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  fuzz_check(text != NULL, "no memory");
  memcpy(text, data, size);
  text[size] = '\0';
  return text;
}

/* ---- the ceiling ---- */

/* Bytes that come out of all that gzip may have packed. */
static size_t unpacked_size(const uint8_t *data, size_t size) {
  static uint8_t sink[1 << 16];
  size_t bytes = 0;
  const uint8_t *at = data;
  while ((at = memmem(at, size - (size_t)(at - data), "\x1f\x8b", 2))) {
    z_stream z = {.next_in = (uint8_t *)at, .avail_in = (uInt)(size - (size_t)(at - data))};
    fuzz_check(inflateInit2(&z, 15 + 16) == Z_OK, "zlib");
    do {
      z.next_out = sink;
      z.avail_out = sizeof sink;
    } while (inflate(&z, Z_NO_FLUSH) == Z_OK && z.avail_out < sizeof sink);
    bytes += z.total_out;
    inflateEnd(&z);
    at += 2;
  }
  return bytes;
}

/* What an input may unpack to is limited by the readers, at 20 times its size and 64 MiB. */
static size_t ceiling(const uint8_t *data, size_t size) {
  size_t unpacked = size ? unpacked_size(data, size) : 0, most = (size_t)TIMES * size + FREE_BYTES;
  if (unpacked > most) unpacked = most;
  return FREE_BYTES + TIMES * (unpacked > size ? unpacked : size);
}

void fuzz_call(const fuzz_reader *reader, const uint8_t *data, size_t size) {
  fuzz_memory_begin();
  reader->read(data, size);
  size_t peak = fuzz_memory_peak();
  if (peak <= FREE_BYTES || peak <= ceiling(data, size)) return;
  fprintf(stderr, "fuzz: %s took %zu bytes for %zu\n", reader->name, peak, size);
  abort();
}
