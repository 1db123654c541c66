/* The format "pathfinder", listed in dataset.c: Pathfinder as Long Range Arena distributes it
 * (Linsley et al. 2018; Tay et al. 2021). DIR/imgs/K/sample_I.png are images; DIR/metadata/K.npy is
 * text, a line per image. Fields are separated by blanks: first folder and file, fourth the label
 * (1: one contour joins both markers). */
#include "base/file.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "data/image_file.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 32, LABEL_FIELD = 3 };

static const char *const names_of_classes[] = {"apart", "connected"};

typedef struct sample {
  char *path; /* of the image */
  int32_t label;
} sample;

typedef struct reader {
  const char *root;
  sample *samples;
  size_t count, capacity;
  size_t fields; /* per line of the current metadata file */
} reader;

/* ---- metadata ---- */

static size_t cut_fields(char *line, char *fields[MAX_FIELDS]) {
  size_t count = 0;
  for (char *rest = line, *field; (field = ft_strsep(&rest, " "));)
    if (*field && count++ < MAX_FIELDS) fields[count - 1] = field;
  return count;
}

/* Whether a path from the metadata, which is not trusted, stays within the data's own folder. */
static bool is_below(const char *folder, const char *file) {
  const char *name = !strncmp(folder, "imgs/", 5) ? folder + 5 : "";
  return *name && *name != '.' && ft_is_name(name) && *file != '.' && ft_is_name(file);
}

static filtra_status read_line(reader *r, char *line) {
  char *fields[MAX_FIELDS];
  size_t count = cut_fields(line, fields);
  if (!r->fields) r->fields = count;
  if (count <= LABEL_FIELD || count > MAX_FIELDS)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%zu fields; expected are folder, file, index, label and at most %d more", count,
                   MAX_FIELDS - LABEL_FIELD - 1);
  if (count != r->fields)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu fields where the lines before have %zu", count,
                   r->fields);
  const char *label = fields[LABEL_FIELD];
  if (strcmp(label, "0") && strcmp(label, "1"))
    return ft_fail(FILTRA_ERROR_INPUT, "label \"%.32s\" where 0 and 1 are accepted", label);
  if (!is_below(fields[0], fields[1]))
    return ft_fail(FILTRA_ERROR_INPUT, "\"%.64s\" and \"%.64s\" name no file of imgs/K", fields[0],
                   fields[1]);
  FT_TRY(FT_GROW(r->samples, r->count, r->capacity));
  char *path = ft_format("%s/%s/%s", r->root, fields[0], fields[1]);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  r->samples[r->count++] = (sample){path, *label - '0'};
  return FILTRA_OK;
}

static filtra_status read_lines(reader *r, ft_lines *lines) {
  size_t before = r->count;
  r->fields = 0;
  for (bool more;;) {
    filtra_status status = ft_lines_next(lines, &more);
    if (!status && !more) break;
    if (!status && !strncmp(lines->line, "\x93NUMPY", 6))
      status = ft_fail(FILTRA_ERROR_INPUT,
                       "a binary NumPy array; Long Range Arena has text here, a line per image");
    if (!status) status = read_line(r, lines->line);
    if (status)
      return ft_fail_context(status, "%s:%llu", lines->path, (unsigned long long)lines->number);
  }
  if (r->count > before) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s is empty", lines->path);
}

static filtra_status read_file(reader *r, const char *path) {
  ft_lines lines;
  FT_TRY(ft_lines_open(path, &lines));
  filtra_status status = read_lines(r, &lines);
  ft_lines_close(&lines);
  return status;
}

static filtra_status take_metadata(void *user, const char *path, const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && dot > name && !strcmp(dot, ".npy") ? read_file(user, path) : FILTRA_OK;
}

static filtra_status read_metadata(reader *r, const char *folder) {
  FT_TRY(ft_each_entry(folder, take_metadata, r));
  if (r->count) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds no metadata (*.npy)", folder);
}

/* ---- images ---- */

/* Removes images whose files are empty: the release has some, and its users skip them. */
static filtra_status drop_empty(reader *r) {
  size_t kept = 0;
  for (size_t i = 0; i < r->count; i++) {
    FILE *stream;
    FT_TRY(ft_file_open(r->samples[i].path, &stream));
    bool empty = fgetc(stream) == EOF && !ferror(stream);
    fclose(stream);
    sample s = r->samples[i];
    r->samples[i] = r->samples[kept];
    r->samples[kept] = s;
    if (!empty) kept++;
  }
  for (size_t i = kept; i < r->count; i++)
    free(r->samples[i].path);
  r->count = kept;
  return kept ? FILTRA_OK : ft_fail(FILTRA_ERROR_INPUT, "%s: all images are empty", r->root);
}

/* Draws splits independently of a run's seed; otherwise runs would be tested on each other's
 * training data. Returns [count] splits; NULL when out of memory. */
static uint8_t *draw_splits(size_t count) {
  ft_rng rng = ft_rng_make(0, ft_hash_text("Pathfinder split"));
  uint8_t *splits = ft_calloc(count, 1);
  for (size_t i = 0; splits && i < count; i++)
    splits[i] = i < count * 8 / 10   ? FILTRA_SPLIT_TRAIN
                : i < count * 9 / 10 ? FILTRA_SPLIT_VAL
                                     : FILTRA_SPLIT_TEST;
  for (size_t i = count; splits && i > 1; i--) {
    size_t j = ft_rng_below(&rng, i);
    uint8_t swapped = splits[i - 1];
    splits[i - 1] = splits[j];
    splits[j] = swapped;
  }
  return splits;
}

static filtra_status read_images(const reader *r, const filtra_dataset_options *options,
                                 filtra_dataset *ds) {
  uint8_t *splits = draw_splits(r->count);
  filtra_status status = splits ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < r->count && !status; i++)
    status = ft_images_add_file(ds, options, splits[i], r->samples[i].path, r->samples[i].label);
  free(splits);
  return status;
}

static filtra_status read_root(const char *root, const filtra_dataset_options *options,
                               filtra_dataset *ds) {
  reader r = {.root = root};
  ds->info.classes = FT_COUNT(names_of_classes);
  ds->class_names = names_of_classes;
  char *folder = ft_path_join(root, "metadata");
  filtra_status status = folder ? read_metadata(&r, folder) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = drop_empty(&r);
  if (!status) status = read_images(&r, options, ds);
  for (size_t i = 0; i < r.count; i++)
    free(r.samples[i].path);
  free(r.samples);
  free(folder);
  return status;
}

/* ---- the folder, or a parent with several difficulties ---- */

/* *root: the folder holds imgs and metadata. */
static filtra_status ask_root(const char *path, bool *root) {
  static const char *const below[] = {"imgs", "metadata"};
  *root = true;
  for (size_t i = 0; i < FT_COUNT(below); i++) {
    char *folder = ft_path_join(path, below[i]);
    if (!folder) return FILTRA_ERROR_HOST_MEMORY;
    *root = *root && ft_is_directory(folder);
    free(folder);
  }
  return FILTRA_OK;
}

/* Ignores folders that end in .tmp, which a killed generator leaves. */
static bool is_difficulty(const char *name) {
  const char *dot = strrchr(name, '.');
  return !strncmp(name, "curv_", 5) && !(dot && !strcmp(dot, ".tmp"));
}

static filtra_status open_listed(const char *path, char **names, size_t count,
                                 const filtra_dataset_options *options, filtra_dataset *ds) {
  const char *only = NULL;
  for (size_t i = 0; i < count; i++) {
    if (!is_difficulty(names[i])) continue;
    if (only)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s holds several difficulties, %s and %s among them; give the path of one",
                     path, only, names[i]);
    only = names[i];
  }
  char *folder = only ? ft_path_join(path, only) : ft_strdup(path);
  bool root = false;
  if (!folder) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = only ? ask_root(folder, &root) : FILTRA_OK;
  if (!status && !root)
    status = ft_fail(FILTRA_ERROR_INPUT, "%s holds no folders imgs and metadata", folder);
  if (!status) status = read_root(folder, options, ds);
  free(folder);
  return status;
}

static filtra_status open_pathfinder(const char *path, const filtra_dataset_options *options,
                                     filtra_dataset *ds) {
  bool root;
  FT_TRY(ask_root(path, &root));
  if (root) return read_root(path, options, ds);
  char **names;
  size_t count;
  FT_TRY(ft_list_data(path, &names, &count));
  filtra_status status = open_listed(path, names, count, options, ds);
  ft_free_names(names, count);
  return status;
}

static bool probe_pathfinder(const ft_dataset_probe *p) {
  char **names;
  size_t count;
  bool root = false, found = false;
  if (!p->directory) return false;
  *p->failed = ask_root(p->path, &root);
  if (root || *p->failed) return root && !*p->failed;
  *p->failed = ft_list_data(p->path, &names, &count);
  for (size_t i = 0; !*p->failed && i < count; i++)
    found = found || is_difficulty(names[i]);
  ft_free_names(names, count);
  return found;
}

const ft_dataset_format ft_format_pathfinder = {
    "pathfinder", "Long Range Arena's Pathfinder: a folder (curv_...) with imgs and metadata",
    probe_pathfinder, open_pathfinder};
