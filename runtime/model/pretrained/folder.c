/* Reads a Hugging Face folder: config.json, and model.safetensors or the files that
 * model.safetensors.index.json lists. Called by start.c. */
#include "model/pretrained/folder.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHTS "model.safetensors"
#define INDEX   "model.safetensors.index.json"

/* Files with weights in other formats, some of which run code when they are read. */
static const char *const FOREIGN[] = {"pytorch_model.bin", "pytorch_model.bin.index.json",
                                      "tf_model.h5", "flax_model.msgpack"};

filtra_status ft_hf_folder_is(const char *path, bool *is) {
  char *config = ft_path_join(path, "config.json");
  json_t *object = NULL;
  *is = false;
  if (!config) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_file_exists(config) ? ft_json_load_foreign(config, 0, &object) : FILTRA_OK;
  *is = json_object_get(object, "model_type") != NULL;
  json_decref(object);
  free(config);
  return status;
}

/* Finds a file's folder, which the caller frees; *foreign: it is a Hugging Face folder. */
static filtra_status find_folder(const char *path, char **folder, bool *foreign) {
  *foreign = false;
  *folder = ft_path_folder(path);
  return *folder ? ft_hf_folder_is(*folder, foreign) : FILTRA_ERROR_HOST_MEMORY;
}

filtra_status ft_hf_check_file(const char *path) {
  char *folder;
  bool foreign;
  filtra_status status = find_folder(path, &folder, &foreign);
  if (!status && foreign)
    status = ft_fail(FILTRA_ERROR_INPUT,
                     "%s is one file of a model, whose others are beside it: give the folder, %s",
                     path, folder);
  free(folder);
  if (status || !ft_ends_with(path, ".json")) return status;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s holds no weights: give the folder that has it and model.safetensors", path);
}

filtra_status ft_hf_check_path(const char *path) {
  char *weights = ft_path_join(path, WEIGHTS);
  if (!weights) return FILTRA_ERROR_HOST_MEMORY;
  const bool folder = ft_is_directory(path), found = folder && ft_file_exists(weights);
  free(weights);
  if (folder && !found)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s is a folder without a model: neither a run's nor one with a config.json that "
        "names a \"model_type\"",
        path);
  if (!folder && !ft_file_exists(path))
    return ft_fail(
        FILTRA_ERROR_PATH,
        "%s is not there; give a folder with config.json and model.safetensors, a run or "
        "a model file. Of a model of the Hugging Face hub that is the folder that `hf "
        "download NAME --local-dir FOLDER` makes: nothing is downloaded here",
        path);
  return FILTRA_OK;
}

static filtra_status add_file(ft_hf_folder *f, const char *folder, const char *name) {
  ft_safetensors **grown = ft_realloc(f->files, f->file_count + 1, sizeof *f->files);
  char *path = grown ? ft_path_join(folder, name) : NULL;
  if (grown) f->files = grown;
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_safetensors_open(path, &f->files[f->file_count]);
  if (!status) f->file_count++;
  free(path);
  return status;
}

static bool is_listed(const json_t *map, const char *file, size_t before) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)map, name, value) {
    if (!before--) return false;
    if (!strcmp(json_string_value(value), file)) return true;
  }
  return false;
}

/* Opens each file that the index names, once. */
static filtra_status add_shards(ft_hf_folder *f, const char *folder, const char *path,
                                const json_t *index) {
  const json_t *map = json_object_get(index, "weight_map");
  const char *name;
  json_t *value;
  size_t i = 0;
  if (!json_is_object(map) || !json_object_size(map))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"weight_map\" is missing or empty", path);
  json_object_foreach((json_t *)map, name, value) {
    const char *file = json_string_value(value);
    if (!file || !ft_is_name(file) || !*file || *file == '.')
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: \"weight_map\": the file of %.100s is not the name of one beside it",
                     path, name);
    if (!is_listed(map, file, i++)) FT_TRY(add_file(f, folder, file));
  }
  return FILTRA_OK;
}

/* Fails unless each tensor of the index is in one of the files. */
static filtra_status check_index(const ft_hf_folder *f, const char *path, const json_t *index) {
  const char *name;
  json_t *value;
  json_object_foreach(json_object_get(index, "weight_map"), name, value) {
    if (!ft_hf_folder_find(f, name))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %.100s is not in %.100s", path, name,
                     json_string_value(value));
  }
  return FILTRA_OK;
}

static int compare(const void *a, const void *b) {
  const ft_safetensor *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

/* Lists the tensors of all files by name. */
static filtra_status list_tensors(ft_hf_folder *f, const char *folder) {
  size_t count = 0;
  for (size_t i = 0; i < f->file_count; i++)
    count += ft_safetensors_count(f->files[i]);
  f->tensors = ft_calloc(count ? count : 1, sizeof *f->tensors);
  f->used = ft_calloc(count ? count : 1, sizeof *f->used);
  if (!f->tensors || !f->used) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < f->file_count; i++)
    for (size_t k = 0; k < ft_safetensors_count(f->files[i]); k++)
      f->tensors[f->count++] = ft_safetensors_at(f->files[i], k);
  qsort(f->tensors, f->count, sizeof *f->tensors, compare);
  for (size_t i = 1; i < f->count; i++)
    if (!strcmp(f->tensors[i - 1]->name, f->tensors[i]->name))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %.100s is in two files", folder,
                     f->tensors[i]->name);
  return FILTRA_OK;
}

/* Fails for a folder without readable weights; names weights in another format if there are any. */
static filtra_status fail_missing(const char *folder) {
  for (size_t i = 0; i < FT_COUNT(FOREIGN); i++) {
    char *path = ft_path_join(folder, FOREIGN[i]);
    const bool there = path && ft_file_exists(path);
    free(path);
    if (!path) return FILTRA_ERROR_HOST_MEMORY;
    if (there)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s has its weights in %s, and no " WEIGHTS
                     "; save it again with save_pretrained(..., safe_serialization=True)",
                     folder, FOREIGN[i]);
  }
  return ft_fail(FILTRA_ERROR_INPUT, "%s has neither " WEIGHTS " nor " INDEX, folder);
}

static filtra_status open_weights(ft_hf_folder *f, const char *folder) {
  char *whole = ft_path_join(folder, WEIGHTS), *path = ft_path_join(folder, INDEX);
  json_t *index = NULL;
  filtra_status status = whole && path ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  const bool sharded = !status && !ft_file_exists(whole) && ft_file_exists(path);
  if (sharded) status = ft_json_load_foreign(path, 0, &index);
  if (sharded && !status) status = add_shards(f, folder, path, index);
  if (!status && !sharded)
    status = ft_file_exists(whole) ? add_file(f, folder, WEIGHTS) : fail_missing(folder);
  if (!status) status = list_tensors(f, folder);
  if (index && !status) status = check_index(f, path, index);
  json_decref(index);
  free(whole);
  free(path);
  return status;
}

filtra_status ft_hf_folder_open(const char *path, ft_hf_folder *out) {
  *out = (ft_hf_folder){.config_path = ft_path_join(path, "config.json")};
  if (!out->config_path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_json_load_foreign(out->config_path, 0, &out->config);
  if (!status) status = open_weights(out, path);
  if (status) ft_hf_folder_close(out);
  return status;
}

void ft_hf_folder_close(ft_hf_folder *f) {
  for (size_t i = 0; i < f->file_count; i++)
    ft_safetensors_close(&f->files[i]);
  free(f->files);
  free(f->tensors);
  free(f->used);
  json_decref(f->config);
  free(f->config_path);
  *f = (ft_hf_folder){0};
}

const ft_safetensor *ft_hf_folder_find(const ft_hf_folder *f, const char *name) {
  const ft_safetensor wanted = {.name = name}, *key = &wanted;
  const ft_safetensor **found = bsearch(&key, f->tensors, f->count, sizeof *f->tensors, compare);
  return found ? *found : NULL;
}

void ft_hf_folder_use(ft_hf_folder *f, const ft_safetensor *tensor) {
  for (size_t i = 0; i < f->count; i++)
    f->used[i] |= f->tensors[i] == tensor;
}

const char *ft_hf_folder_nearest(const ft_hf_folder *f, const char *name) {
  const char *nearest = NULL;
  size_t least = 1 + strlen(name) / 3;
  for (size_t i = 0; i < f->count; i++) {
    const size_t distance = ft_name_distance(name, f->tensors[i]->name);
    if (f->used[i] || distance >= least) continue;
    least = distance;
    nearest = f->tensors[i]->name;
  }
  return nearest;
}
