/* Writes a model file as a folder that Hugging Face's `transformers` loads: config.json,
 * model.safetensors, and the files that describe how text or images are prepared. Called by
 * programs and by `filtra export`. */
#include "base/file.h"
#include "base/memory.h"
#include "model/model.h"
#include "model/pretrained/tensors.h"
#include "model/pretrained/texts.h"

#include <stdlib.h>
#include <string.h>

#define MODEL_FILE "model.safetensors"

/* One of their tensors, made from some rows of a parameter. */
typedef struct piece {
  const ft_safetensor *from;
  ft_hf_form form;
  size_t first;        /* first element in the parameter */
  int64_t shape[4];    /* of their tensor */
  double scale, shift; /* for a regression's last layer */
  char name[FT_NAME_TEXT];
} piece;

typedef struct exporting {
  const char *path;
  ft_safetensors *file;
  json_t *keys, *input;
  json_t *config;  /* theirs */
  json_t *filters; /* mixers of the layers */
  const ft_hf_family *family;
  piece *pieces;
  ft_safetensor *list;
  size_t count, capacity, used; /* used: parameters written */
} exporting;

/* ---- can the family express this model? ---- */

/* Keys that need no comparison: they matter only in training, or are written in another way. */
static bool is_free(const char *key) {
  static const char *const FREE[] = {"mixer",          "precision",      "drop_path",
                                     "even_drop_path", "embedding_init", "task",
                                     "target_mean",    "target_scale",   "classes",
                                     "dropout",        "head_dropout",   "no_hidden_dropout"};
  for (size_t i = 0; i < FT_COUNT(FREE); i++)
    if (!strcmp(key, FREE[i])) return true;
  return false;
}

/* All of Filtra's keys that the written config.json gives when it is read. */
static filtra_status read_again(const exporting *e, const json_t *written, json_t **all) {
  const ft_hf_config config = {.json = written,
                               .path = "config.json",
                               .architecture = ft_json_string(written, "architectures"),
                               .untied = !json_is_true(json_object_get(e->keys, "tie_embeddings"))};
  ft_model_options options;
  json_t *keys = json_object(), *classes = json_object_get(e->keys, "classes");
  filtra_status status = keys ? ft_hf_read_keys(e->family, &config, keys)
                              : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (!status && *e->family->classifier)
    status =
        ft_hf_set(keys, "{sO sO}", "task", json_object_get(e->keys, "task"), "classes", classes);
  if (!status) status = ft_model_options_read(keys, "config.json", &options);
  json_decref(keys);
  *all = status ? NULL : ft_model_options_write(&options);
  return status ? status : *all ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status refuse_graphs(const exporting *e) {
  if (!json_integer_value(json_object_get(e->keys, "edge_types"))) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%s: the model reads graphs (\"edge_types\"), which no architecture that is "
                 "written does",
                 e->path);
}

/* Fails if the family cannot express one of the model's keys. */
static filtra_status check_keys(const exporting *e, const json_t *written) {
  json_t *all;
  const char *key;
  json_t *value;
  FT_TRY(read_again(e, written, &all));
  filtra_status status = FILTRA_OK;
  json_object_foreach(e->keys, key, value) {
    if (status || is_free(key) || json_equal(value, json_object_get(all, key))) continue;
    char *text = ft_json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    status = ft_fail(FILTRA_ERROR_ARGUMENT, "%s: \"%s\" is %.60s, which a %s cannot have", e->path,
                     key, text ? text : "?", e->family->type);
    free(text);
  }
  json_decref(all);
  return status;
}

/* ---- tensors ---- */

static filtra_status fill(void *user, const ft_safetensor *tensor, void *to) {
  const piece *p = user;
  size_t count = 1, rows = (size_t)p->shape[0];
  for (int i = 0; i < tensor->ndim; i++)
    count *= (size_t)p->shape[i];
  const size_t columns = count / rows;
  float *values = to;
  for (size_t i = 0; i < count; i++) {
    size_t at = p->first + i; /* index in our parameter */
    if (p->form == FT_HF_TRANSPOSED) at = i % columns * rows + i / columns;
    if (p->form == FT_HF_PATCHES) {
      const size_t features = (size_t)p->shape[1], pixels = columns / features;
      at = (i / columns * pixels + i % pixels) * features + i / pixels % features;
    }
    values[i] = (float)(p->scale * ft_element_get(p->from->dtype, p->from->data, at) + p->shift);
  }
  return FILTRA_OK;
}

/* Sets the shape of their tensor for one part of a parameter. */
static void set_shape(const exporting *e, const ft_safetensor *from, size_t parts, piece *p,
                      ft_safetensor *t) {
  int64_t *s = t->shape;
  t->ndim = from->ndim;
  memcpy(s, from->shape, sizeof from->shape);
  s[0] /= (int64_t)parts;
  if (p->form == FT_HF_TRANSPOSED) {
    s[0] = from->shape[1];
    s[1] = from->shape[0];
  } else if (p->form == FT_HF_ONE) {
    t->ndim = 3;
    s[2] = s[1];
    s[1] = s[0];
    s[0] = 1;
  } else if (p->form == FT_HF_PATCHES) {
    t->ndim = 4;
    s[1] = json_integer_value(json_object_get(e->keys, "features"));
    s[2] = s[3] = json_integer_value(json_object_get(e->keys, "patch"));
  }
  memcpy(p->shape, s, sizeof p->shape);
}

/* Folds target_scale and target_mean into a regression's last layer: Filtra's predicts standardised
 * values, theirs the values themselves. */
static void set_unit(const exporting *e, const char *name, const char *ending, piece *p) {
  const bool last = !strcmp(name, "head.2") || !strcmp(name, "head");
  if (!last || strcmp(ft_json_string(e->keys, "task"), "regression") != 0) return;
  p->scale = json_number_value(json_object_get(e->keys, "target_scale"));
  if (!strcmp(ending, ".bias"))
    p->shift = json_number_value(json_object_get(e->keys, "target_mean"));
}

static bool is_of_filter(const char *name) {
  static const char FILTERS[] = "filters.";
  return !strncmp(name, FILTERS, strlen(FILTERS));
}

static filtra_status add(exporting *e, const ft_hf_row *row, int64_t layer, const char *ending) {
  char name[FT_NAME_TEXT];
  size_t parts = 0;
  ft_hf_write_name(name, "", row->name, layer, ending);
  const ft_safetensor *from = ft_safetensors_find(e->file, name);
  if (!from && row->optional) return FILTRA_OK;
  if (!from)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "%s: has no %s, which a %s has", e->path, name,
                   e->family->type);
  e->used++;
  while (parts < FT_HF_PARTS && row->from[parts])
    parts++;
  for (size_t i = 0; i < parts; i++) {
    FT_TRY(FT_GROW(e->pieces, e->count, e->capacity));
    piece *p = &e->pieces[e->count++];
    *p = (piece){.from = from, .scale = 1.0};
    p->form = strcmp(ending, ".bias") ? row->form : FT_HF_ROWS;
    p->first = i * (size_t)from->bytes / filtra_dtype_bytes(from->dtype) / parts;
    set_unit(e, row->name, ending, p);
    const bool bare = row->bare || is_of_filter(row->from[i]);
    ft_hf_write_name(p->name, bare ? "" : e->family->prefix, row->from[i], layer, ending);
  }
  return FILTRA_OK;
}

static filtra_status add_rows(exporting *e, const ft_hf_rows *rows) {
  for (size_t r = 0; r < rows->count; r++) {
    const bool layered = strstr(rows->list[r].name, "%d") != NULL;
    const int64_t count = layered ? (int64_t)json_array_size(e->filters) : 1;
    for (int64_t layer = 0; layer < count; layer++) {
      ft_hf_row row;
      if (!ft_hf_row_at(&rows->list[r], e->filters, layer, &row)) continue;
      FT_TRY(add(e, &row, layer, row.layer ? ".weight" : ""));
      if (row.layer) FT_TRY(add(e, &row, layer, ".bias"));
    }
  }
  return FILTRA_OK;
}

static filtra_status list_tensors(exporting *e) {
  FT_TRY(add_rows(e, &e->family->rows));
  FT_TRY(add_rows(e, &ft_hf_filter_rows));
  FT_TRY(add_rows(e, &e->family->head));
  if (e->used != ft_safetensors_count(e->file))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "%s: has %zu tensors, a %s of its sizes %zu", e->path,
                   ft_safetensors_count(e->file), e->family->type, e->used);
  e->list = ft_calloc(e->count, sizeof *e->list);
  if (!e->list) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < e->count; i++) {
    piece *p = &e->pieces[i];
    size_t parts = 0;
    for (size_t k = 0; k < e->count; k++)
      parts += e->pieces[k].from == p->from;
    e->list[i] = (ft_safetensor){.name = p->name, .fill = fill, .user = p};
    set_shape(e, p->from, parts, p, &e->list[i]);
  }
  return FILTRA_OK;
}

/* ---- files ---- */

/* Writes and releases the object. */
static filtra_status write_json(const char *folder, const char *name, json_t *object) {
  char *path = ft_path_join(folder, name),
       *text = ft_json_line(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  filtra_status status =
      path && text ? ft_file_write(path, text, strlen(text)) : FILTRA_ERROR_HOST_MEMORY;
  free(text);
  free(path);
  return status;
}

static filtra_status write_weights(const exporting *e, const char *folder) {
  const ft_safetensors_meta_pair format = {"format", "pt"};
  char *path = ft_path_join(folder, MODEL_FILE);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_safetensors_write(path, e->list, e->count, &format, 1);
  free(path);
  return status;
}

/* How images are prepared: mean and deviation of pixels scaled to 0 to 1. */
static json_t *image_preparation(const exporting *e) {
  const json_t *mean = json_object_get(e->input, "feature_mean"),
               *factor = json_object_get(e->input, "feature_factor"),
               *side = json_object_get(e->keys, "image_height");
  json_t *means = json_array(), *deviations = json_array();
  for (size_t i = 0; i < json_array_size(mean); i++) {
    ft_json_append(&means, json_real(json_number_value(json_array_get(mean, i)) / 255.0));
    ft_json_append(&deviations,
                   json_real(1.0 / (255.0 * json_number_value(json_array_get(factor, i)))));
  }
  return json_pack("{ss sb s{sO sO} sb sf sb so so}", "image_processor_type", "ViTImageProcessor",
                   "do_resize", 1, "size", "height", side, "width", side, "do_rescale", 1,
                   "rescale_factor", 1.0 / 255.0, "do_normalize", 1, "image_mean", means,
                   "image_std", deviations);
}

static filtra_status write_preparation(const exporting *e, const char *folder) {
  json_t *tokenizer = json_object_get(e->input, "tokenizer");
  if (json_object_get(tokenizer, "model")) { /* in Hugging Face's format */
    json_t *whole = json_copy(tokenizer);    /* lacks keys for which memory ran out */
    if (json_object_size(whole) != json_object_size(tokenizer)) {
      json_decref(whole);
      return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    }
    json_object_del(whole, "truncation"); /* tokenizer_config.json has the side alone */
    FT_TRY(write_json(folder, "tokenizer.json", whole));
    return write_json(folder, "tokenizer_config.json", ft_hf_tokenizer_config(tokenizer, e->keys));
  }
  if (json_is_object(tokenizer))
    ft_log(FILTRA_LOG_WARNING,
           "the tokenizer of %s is not in Hugging Face's format and is left out: what reads the "
           "folder takes token ids, no text",
           e->path);
  if (!json_object_get(e->input, "feature_mean")) return FILTRA_OK;
  return write_json(folder, "preprocessor_config.json", image_preparation(e));
}

/* Writes the PyTorch module with the filters, which config.json names. */
static filtra_status write_module(const exporting *e, const char *folder) {
  if (!ft_hf_is_filtered(e->keys)) return FILTRA_OK;
  char *path = ft_path_join(folder, FT_HF_MODULE ".py");
  filtra_status status = path ? ft_file_write(path, ft_hf_modules->data, ft_hf_modules->bytes)
                              : FILTRA_ERROR_HOST_MEMORY;
  free(path);
  return status;
}

static filtra_status write_folder(void *user, const char *folder) {
  const exporting *e = user;
  FT_TRY(write_module(e, folder));
  FT_TRY(write_weights(e, folder));
  FT_TRY(write_preparation(e, folder));
  return write_json(folder, "config.json", json_incref(e->config));
}

static filtra_status prepare(exporting *e) {
  const json_t *classes = json_object_get(e->input, "classes");
  FT_TRY(refuse_graphs(e));
  FT_TRY(ft_hf_write_config(e->family, e->keys, classes, &e->config));
  if (e->family->ends) FT_TRY(ft_hf_token_ids(json_object_get(e->input, "tokenizer"), e->config));
  FT_TRY(ft_hf_filters(e->keys, e->path, FILTRA_ERROR_ARGUMENT, &e->filters));
  FT_TRY(check_keys(e, e->config));
  return list_tensors(e);
}

static filtra_status open_model(exporting *e) {
  ft_model_options options;
  FT_TRY(ft_safetensors_open(e->path, &e->file));
  FT_TRY(ft_model_file_options(e->file, e->path, &options));
  e->keys = ft_model_options_write(&options);
  if (!e->keys) return FILTRA_ERROR_HOST_MEMORY;
  e->family = ft_hf_family_like(e->keys);
  const char *input = ft_safetensors_meta(e->file, FT_INPUT_KEY);
  return input ? ft_json_parse(input, strlen(input), e->path, &e->input) : FILTRA_OK;
}

filtra_status filtra_model_export(const char *path, const char *folder) {
  FT_NEED(path, folder);
  char *inside = ft_path_join(path, MODEL_FILE);
  if (!inside) return FILTRA_ERROR_HOST_MEMORY;
  exporting e = {.path = ft_file_exists(inside) ? inside : path};
  filtra_status status = open_model(&e);
  if (!status && ft_file_exists(folder))
    status = ft_fail(FILTRA_ERROR_ARGUMENT, "%s is there already; name a new folder", folder);
  if (!status) status = prepare(&e);
  if (!status) status = ft_folder_make(folder, write_folder, &e);
  ft_safetensors_close(&e.file);
  json_decref(e.config);
  json_decref(e.filters);
  json_decref(e.keys);
  json_decref(e.input);
  free(e.pieces);
  free(e.list);
  free(inside);
  return status;
}
