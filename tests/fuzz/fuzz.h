/* What reads files, one reader each, for libFuzzer and for going through the seeds.
 *
 * Whatever the bytes: the reader ends, with something that holds together or with a sentence; it
 * asks for no more memory than 64 MiB and 20 times the input's size, unpacked where gzip packed it;
 * and it leaves nothing behind. What goes against that aborts. */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_reader {
  const char *name; /* of its folder in tests/fuzz/readers, too */
  void (*read)(const uint8_t *data, size_t size);
} fuzz_reader;

/** A family of readers each; a NULL name ends it. */
extern const fuzz_reader fuzz_base[], fuzz_texts[], fuzz_images[], fuzz_runs[], fuzz_devices[];

/** The reader of that name; NULL: there is none. */
const fuzz_reader *fuzz_find(const char *name);
/** The i-th of all; NULL beyond the last. */
const fuzz_reader *fuzz_at(size_t i);
/** Calls a reader and aborts where it took more memory than it may. */
void fuzz_call(const fuzz_reader *reader, const uint8_t *data, size_t size);

/** Aborts, saying what, unless it holds. */
void fuzz_check(bool holds, const char *what);
/** Aborts where a reader failed without a sentence, or by anything but the input's fault. */
void fuzz_failed(filtra_status status);
/** A path below a scratch folder; valid for the next 7 calls. */
const char *fuzz_path(const char *name);
/** Makes, or makes anew, a file of the scratch folder, and gives its path. */
const char *fuzz_file(const char *name, const void *data, size_t size);
/** The input as several files, one behind the other with a line "@@@@" between: so many of them,
 * NULL-terminated. Those that the input does not reach are removed. */
void fuzz_files(const uint8_t *data, size_t size, const char *const *names);
/** A NUL-terminated copy; caller frees. */
char *fuzz_text(const uint8_t *data, size_t size);

/* ---- memory.c ---- */

/** Begins to count what is allocated. */
void fuzz_memory_begin(void);
/** The most bytes that were held at once since. */
size_t fuzz_memory_peak(void);

#endif
