/* filtra_pathfinder_generate: generates Pathfinder images in Long Range Arena's layout.
 * DIR/curv_contour_length_C/imgs/K/sample_I.png are images, 1000 per folder; metadata/K.npy is
 * text. Image i depends only on (seed, i), so threads draw images in any order. */
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "data/pathfinder_draw.h"

#include <filtra/data.h>
#include <filtra/synthetic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
  MAX_IMAGES = 100000000,
  MAX_CONTOUR = 20, /* two longer ones hardly fit */
  MAX_THREADS = 256,
  FOLDER = 1000, /* images per folder */
  BLOCK = 16,    /* images that a thread takes at a time */
  SIDE = FT_PATHFINDER_SIDE,
  PNG_BYTES = 4096,
};

/* ---- PNG ---- */

typedef struct png_file {
  uint8_t bytes[PNG_BYTES];
  size_t size;
} png_file;

static void put_word(uint8_t *to, uint32_t word) {
  for (int i = 0; i < 4; i++)
    to[i] = (uint8_t)(word >> (24 - 8 * i));
}

static void put_chunk(png_file *f, const char *type, const uint8_t *data, size_t size) {
  uint8_t *to = f->bytes + f->size;
  put_word(to, (uint32_t)size);
  memcpy(to + 4, type, 4);
  if (size) memcpy(to + 8, data, size);
  put_word(to + 8 + size, (uint32_t)crc32(0, to + 4, (uInt)size + 4));
  f->size += size + 12;
}

/* 8-bit grey, rows without a filter. */
static bool encode_png(const uint8_t pixels[SIDE * SIDE], png_file *f) {
  static const uint8_t header[13] = {0, 0, 0, SIDE, 0, 0, 0, SIDE, 8, 0, 0, 0, 0};
  uint8_t rows[SIDE * (SIDE + 1)], packed[PNG_BYTES - 64];
  uLongf size = sizeof packed;
  for (int y = 0; y < SIDE; y++) {
    rows[y * (SIDE + 1)] = 0;
    memcpy(rows + y * (SIDE + 1) + 1, pixels + y * SIDE, SIDE);
  }
  if (compress2(packed, &size, rows, sizeof rows, 9) != Z_OK) return false;
  memcpy(f->bytes, "\x89PNG\r\n\x1a\n", 8);
  f->size = 8;
  put_chunk(f, "IHDR", header, sizeof header);
  put_chunk(f, "IDAT", packed, size);
  put_chunk(f, "IEND", NULL, 0);
  return true;
}

/* ---- drawing in parallel ---- */

typedef struct job {
  const filtra_pathfinder_options *options;
  ft_pathfinder_shape shape;
  ft_pathfinder_style *style;
  const char *folder; /* being filled; renamed once complete */
  uint64_t count;
  uint8_t *labels; /* [count] */
  uint32_t threads;
  atomic_ullong next, done;
  atomic_bool stop;
  ft_mutex lock;        /* guards status and message */
  filtra_status status; /* the first failure of any thread */
  char message[2048];
} job;

static void note_failure(job *j, filtra_status status) {
  ft_lock(&j->lock);
  if (!j->status) {
    j->status = status;
    snprintf(j->message, sizeof j->message, "%s", filtra_error_message());
  }
  ft_unlock(&j->lock);
  atomic_store(&j->stop, true);
}

static filtra_status draw_image(job *j, uint64_t index) {
  uint8_t pixels[FT_PATHFINDER_PIXELS];
  png_file file;
  int label;
  if (!ft_pathfinder_draw(j->style, ft_rng_make(j->options->seed, index), pixels, &label))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "no room was found for two contours of %u paddles; ask for shorter ones",
                   j->shape.contour_length);
  if (!encode_png(pixels, &file)) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  char *path = ft_format("%s/imgs/%llu/sample_%llu.png", j->folder,
                         (unsigned long long)index / FOLDER, (unsigned long long)index % FOLDER);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_file_create(path, file.bytes, file.size);
  free(path);
  j->labels[index] = (uint8_t)label;
  return status;
}

static bool draw_block(job *j) {
  uint64_t first = atomic_fetch_add(&j->next, BLOCK);
  if (first >= j->count || atomic_load(&j->stop)) return false;
  uint64_t end = first + BLOCK < j->count ? first + BLOCK : j->count;
  for (uint64_t i = first; i < end; i++) {
    filtra_status status = draw_image(j, i);
    if (!status) continue;
    note_failure(j, status);
    return false;
  }
  atomic_fetch_add(&j->done, end - first);
  return true;
}

static void *draw_blocks(void *user) {
  while (draw_block(user))
    ;
  return NULL;
}

static filtra_status report(const job *j, uint64_t done) {
  const filtra_pathfinder_options *o = j->options;
  if (!o->progress || o->progress(o->progress_user, done, j->count)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_CANCELLED, "generating Pathfinder was stopped");
}

/* Also draws in the calling thread, which reports progress; fewer threads than asked for only take
 * longer. */
static filtra_status draw_all(job *j) {
  ft_thread threads[MAX_THREADS];
  filtra_status status = report(j, 0);
  unsigned started = status ? 0 : ft_threads_start(threads, j->threads - 1, draw_blocks, j);
  while (!status && draw_block(j))
    status = report(j, atomic_load(&j->done));
  if (status) atomic_store(&j->stop, true);
  ft_threads_join(threads, started);
  if (!status && j->status) return ft_fail(j->status, "%s", j->message);
  return status ? status : report(j, j->count);
}

/* ---- folders ---- */

static filtra_status make_folder(const job *j, const char *name, uint64_t number) {
  char *path = ft_format("%s/%s/%llu", j->folder, name, (unsigned long long)number);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_make_directories(path);
  free(path);
  return status;
}

/* Folder, file, index, label, continuity, contour length, distractor length, paddle length,
 * thickness, margin, number of contrasts. */
static filtra_status write_metadata(const job *j, uint64_t number) {
  uint64_t first = number * FOLDER, end = first + FOLDER < j->count ? first + FOLDER : j->count;
  char *path = ft_format("%s/metadata/%llu.npy", j->folder, (unsigned long long)number);
  char *text = ft_calloc(FOLDER, 128), *to = text;
  filtra_status status = path && text ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = first; i < end && !status; i++)
    to += sprintf(to, "imgs/%llu sample_%llu.png %llu %u 1.0 %u %u 2 0.5 1 1\n",
                  (unsigned long long)number, (unsigned long long)(i - first),
                  (unsigned long long)(i - first), j->labels[i], j->shape.contour_length,
                  j->shape.distractor_length);
  if (!status) status = ft_file_create(path, text, (size_t)(to - text));
  free(text);
  free(path);
  return status;
}

static filtra_status fill_folder(void *user, const char *folder) {
  job *j = user;
  j->folder = folder;
  uint64_t folders = (j->count + FOLDER - 1) / FOLDER;
  for (uint64_t i = 0; i < folders; i++)
    FT_TRY(make_folder(j, "imgs", i));
  char *metadata = ft_path_join(j->folder, "metadata");
  filtra_status status = metadata ? ft_make_directories(metadata) : FILTRA_ERROR_HOST_MEMORY;
  free(metadata);
  if (!status) status = draw_all(j);
  for (uint64_t i = 0; i < folders && !status; i++)
    status = write_metadata(j, i);
  return status;
}

/* ---- options ---- */

static filtra_status check_options(const filtra_pathfinder_options *o) {
  if (o->count > MAX_IMAGES)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "count is %llu; 1 to %d are accepted",
                   (unsigned long long)o->count, MAX_IMAGES);
  if (o->contour_length && (o->contour_length < 3 || o->contour_length > MAX_CONTOUR))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "contour_length is %u; 3 to %d are accepted",
                   o->contour_length, MAX_CONTOUR);
  return FILTRA_OK;
}

/* Distractors as published: a third of the contour's length, 20 paddles in all. */
static ft_pathfinder_shape shape_of(const filtra_pathfinder_options *o) {
  uint32_t length = o->contour_length ? o->contour_length : 14;
  return (ft_pathfinder_shape){length, length / 3, 20 / (length / 3)};
}

filtra_status filtra_pathfinder_generate(const char *directory,
                                         const filtra_pathfinder_options *options) {
  static const filtra_pathfinder_options defaults;
  const filtra_pathfinder_options *o = options ? options : &defaults;
  FT_NEED(directory);
  FT_TRY(FT_CHECK_RESERVED(filtra_pathfinder_options, o));
  FT_TRY(check_options(o));
  job j = {.options = o, .shape = shape_of(o), .count = o->count ? o->count : 200000};
  j.threads = o->threads ? o->threads : ft_processors();
  if (j.threads > MAX_THREADS) j.threads = MAX_THREADS;
  j.style = ft_pathfinder_style_make(&j.shape);
  j.labels = ft_calloc(j.count, 1);
  char *path = ft_format("%s/curv_contour_length_%u", directory, j.shape.contour_length);
  filtra_status status = j.style && j.labels && path ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  ft_mutex_make(&j.lock);
  bool made = !ft_file_exists(directory);
  if (!status) status = ft_make_directories(directory);
  if (!status && ft_file_exists(path))
    status = ft_fail(FILTRA_ERROR_ARGUMENT,
                     "%s is there already; remove it, or choose another folder", path);
  if (!status) status = ft_folder_make(path, fill_folder, &j);
  if (status && made) remove(directory); /* succeeds only if it is empty */
  ft_mutex_free(&j.lock);
  ft_pathfinder_style_free(j.style);
  free(j.labels);
  free(path);
  return status;
}
