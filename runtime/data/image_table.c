/* The format "image-table", listed in dataset.c: images with labels in a table, as Kaggle
 * distributes CIFAR-10. trainLabels.csv (RFC 4180) has the header "id,label"; a folder whose name
 * begins with "train" holds ID.png. */
#include "base/file.h"
#include "base/memory.h"
#include "data/image_file.h"
#include "data/names.h"
#include "data/rows.h"

#include <stdlib.h>
#include <string.h>

static const char TABLE[] = "trainLabels.csv";

typedef struct entry {
  char *id;
  char *name; /* of its class; in the same block as id */
  bool found; /* the folder has its image */
} entry;

typedef struct table {
  entry *entries;
  size_t count, capacity;
} table;

static int compare_ids(const void *a, const void *b) {
  return strcmp(((const entry *)a)->id, ((const entry *)b)->id);
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- the table ---- */

static filtra_status add_entry(table *t, const ft_row_reader *rows) {
  if (rows->count != 2 || !*rows->fields[0] || !*rows->fields[1])
    return ft_fail(FILTRA_ERROR_INPUT, "not an id and a label with a comma between");
  FT_TRY(FT_GROW(t->entries, t->count, t->capacity));
  const size_t length = strlen(rows->fields[0]);
  char *copy = ft_format("%s,%s", rows->fields[0], rows->fields[1]);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  copy[length] = '\0';
  t->entries[t->count++] = (entry){.id = copy, .name = copy + length + 1};
  return FILTRA_OK;
}

static bool is_header(const ft_row_reader *rows) {
  return rows->count == 2 && !strcmp(rows->fields[0], "id") && !strcmp(rows->fields[1], "label");
}

static filtra_status read_rows(ft_row_reader *rows, table *t) {
  for (bool more, header = true;; header = false) {
    FT_TRY(ft_rows_next(rows, &more));
    if (!more) break;
    filtra_status status = FILTRA_OK;
    if (!header)
      status = add_entry(t, rows);
    else if (!is_header(rows))
      status = ft_fail(FILTRA_ERROR_INPUT, "the header \"id,label\" is missing");
    if (status) return ft_rows_fail(rows, status);
  }
  if (!t->count) return ft_fail(FILTRA_ERROR_INPUT, "%s has no entries", rows->lines.path);
  qsort(t->entries, t->count, sizeof *t->entries, compare_ids);
  for (size_t i = 1; i < t->count; i++)
    if (!strcmp(t->entries[i - 1].id, t->entries[i].id))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: id \"%.64s\" appears twice", rows->lines.path,
                     t->entries[i].id);
  return FILTRA_OK;
}

static filtra_status read_table(const char *folder, table *t) {
  static const ft_row_form form = {',', FILTRA_QUOTING_FULL};
  ft_row_reader rows;
  char *path = ft_path_join(folder, TABLE);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_rows_open(path, form, &rows);
  if (!status) {
    status = read_rows(&rows, t);
    ft_rows_close(&rows);
  }
  free(path);
  return status;
}

static void free_table(table *t) {
  for (size_t i = 0; i < t->count; i++)
    free(t->entries[i].id);
  free(t->entries);
}

/* Makes classes of the distinct labels, in alphabetical order. */
static filtra_status make_classes(const table *t, filtra_dataset *ds) {
  const char **all = ft_calloc(t->count, sizeof *all);
  char **names = ft_calloc(t->count, sizeof *names);
  bool complete = all && names;
  uint32_t classes = 0;
  for (size_t i = 0; complete && i < t->count; i++)
    all[i] = t->entries[i].name;
  if (complete) qsort(all, t->count, sizeof *all, compare_texts);
  for (size_t i = 0; complete && i < t->count; i++) {
    if (i && !strcmp(all[i], all[i - 1])) continue;
    names[classes] = ft_strdup(all[i]);
    complete = names[classes] != NULL;
    if (complete) classes++;
  }
  free(all);
  ds->owned_class_names = names;
  ds->class_names = (const char *const *)names;
  ds->info.classes = classes;
  return complete ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* ---- the images ---- */

static filtra_status find_label(table *t, const filtra_dataset *ds, const char *file,
                                int32_t *label) {
  entry key = {.id = ft_strdup(file)};
  if (!key.id) return FILTRA_ERROR_HOST_MEMORY;
  *strrchr(key.id, '.') = '\0';
  entry *found = t->count ? bsearch(&key, t->entries, t->count, sizeof key, compare_ids) : NULL;
  free(key.id);
  if (!found) return ft_fail(FILTRA_ERROR_INPUT, "%s has no label for it", TABLE);
  found->found = true;
  char **name =
      bsearch(&found->name, ds->owned_class_names, ds->info.classes, sizeof *name, compare_texts);
  *label = (int32_t)(name - ds->owned_class_names);
  return FILTRA_OK;
}

typedef struct image_reader {
  table *table;
  filtra_dataset *ds;
  const filtra_dataset_options *options;
} image_reader;

static filtra_status add_file(void *user, const char *path, const char *file) {
  const image_reader *r = user;
  int32_t label = 0;
  if (!ft_image_named(file) || ft_is_directory(path)) return FILTRA_OK;
  filtra_status status = find_label(r->table, r->ds, file, &label);
  if (status) return ft_fail_context(status, "%s", path);
  return ft_images_add_file(r->ds, r->options, FILTRA_SPLIT_TRAIN, path, label);
}

/* Says how many ids have no image; they are no samples. */
static void warn_of_missing(const char *folder, const table *t) {
  const char *first = NULL;
  size_t missing = 0;
  for (size_t i = t->count; i-- > 0;)
    if (!t->entries[i].found) {
      first = t->entries[i].id;
      missing++;
    }
  if (missing)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %zu of %zu ids have no image in %s, such as \"%.64s\": they are left out; add "
           "ID.png, .jpg or .jpeg, or take their lines out",
           TABLE, missing, t->count, folder, first);
}

static filtra_status read_images(const char *folder, table *t, filtra_dataset *ds,
                                 const filtra_dataset_options *options) {
  FT_TRY(ft_each_entry(folder, add_file, &(image_reader){t, ds, options}));
  if (ds->samples[FILTRA_SPLIT_TRAIN].count) {
    warn_of_missing(folder, t);
    return FILTRA_OK;
  }
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds no images", folder);
}

/* Finds the only folder that begins with "train"; caller frees, also on failure. */
static filtra_status find_folder(const char *path, char **out) {
  char **names;
  size_t count, found = 0;
  FT_TRY(ft_list_data(path, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    char *folder = !strncmp(names[i], "train", 5) ? ft_path_join(path, names[i]) : NULL;
    if (folder && ft_is_directory(folder) && ++found == 1)
      *out = folder;
    else
      free(folder);
  }
  ft_free_names(names, count);
  if (found == 1) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s has %zu folders that begin with \"train\", beside %s; one "
                 "is expected",
                 path, found, TABLE);
}

static filtra_status open_table(const char *path, const filtra_dataset_options *options,
                                filtra_dataset *ds) {
  table t = {0};
  char *folder = NULL;
  filtra_status status = find_folder(path, &folder);
  if (!status) status = read_table(path, &t);
  if (!status) status = make_classes(&t, ds);
  if (!status) status = read_images(folder, &t, ds, options);
  free_table(&t);
  free(folder);
  return status;
}

static bool probe_table(const ft_dataset_probe *p) {
  for (size_t i = 0; p->directory && i < p->count; i++)
    if (!strcmp(p->names[i], TABLE)) return true;
  return false;
}

const ft_dataset_format ft_format_image_table = {
    "image-table", "trainLabels.csv (id,label) and a folder train... with ID.png, as on Kaggle",
    probe_table, open_table};
