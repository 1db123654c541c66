/* Models to start from: reads one, matches its tensors with a model's parameters, and fills these
 * or writes a model file. Called by programs through filtra_model_import, by train/run.c and
 * train/import.c. */
#include "model/start.h"

#include "base/file.h"
#include "base/memory.h"
#include "graph/parameters_file.h"
#include "model/noted.h"
#include "model/pretrained/images.h"
#include "model/pretrained/tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_FILE "model.safetensors"

struct ft_start {
  char *path;
  json_t *keys, *input;
  json_t *data_keys;     /* NULL: none */
  ft_safetensors *own;   /* a Filtra model file, or NULL */
  ft_hf_folder folder;   /* used if `own` is NULL */
  ft_hf_tensors tensors; /* of `folder` */
};

/* ---- reading ---- */

/* The name of class `i` in {"0": "no", "1": "yes"}; NULL: it has none. */
static const char *class_name(const json_t *labels, size_t i) {
  char key[24];
  snprintf(key, sizeof key, "%zu", i);
  return json_string_value(json_object_get(labels, key));
}

/* Stores the names of all classes if each has one. Without a list, transformers calls them LABEL_0
 * and so on. */
static filtra_status note_classes(json_t *input, const json_t *labels, int64_t classes) {
  const bool unnamed = !labels || json_is_null(labels);
  const size_t count = unnamed ? (size_t)classes : json_object_size(labels);
  for (size_t i = 0; i < count; i++)
    if (!unnamed && !class_name(labels, i)) return FILTRA_OK;
  if (!count) return FILTRA_OK;
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    ft_json_append(&list,
                   unnamed ? json_sprintf("LABEL_%zu", i) : json_string(class_name(labels, i)));
  if (!json_object_set_new(input, "classes", list)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* Whether a language model's head is not the table of tokens, of which a file has one name. */
static bool has_own_head(const ft_hf_folder *folder) {
  return ft_hf_folder_find(folder, "lm_head.weight") &&
         (ft_hf_folder_find(folder, "wte.weight") ||
          ft_hf_folder_find(folder, "transformer.wte.weight"));
}

static filtra_status read_config(ft_start *p, const ft_hf_family **family, bool *head) {
  const json_t *list = json_object_get(p->folder.config, "architectures");
  const char *architecture = json_string_value(json_array_get(list, 0));
  const ft_hf_config config = {.json = p->folder.config,
                               .path = p->folder.config_path,
                               .architecture = architecture ? architecture : "",
                               .untied = has_own_head(&p->folder)};
  *family = ft_hf_family_of(&config);
  if (!*family) return FILTRA_ERROR_INPUT;
  *head = ft_hf_has_head(*family, &config);
  if (!(p->keys = json_object()) || !(p->input = json_object()))
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  FT_TRY(ft_hf_read_keys(*family, &config, p->keys));
  if (!*head || !*(*family)->classifier) return FILTRA_OK;
  FT_TRY(ft_hf_read_labels(&config, p->keys));
  const json_t *classes = json_object_get(p->keys, "classes");
  if (!classes) return FILTRA_OK;
  return note_classes(p->input, json_object_get(config.json, "id2label"),
                      json_integer_value(classes));
}

/* Reads how images are prepared. */
static filtra_status read_preparation(ft_start *p) {
  const int64_t side = json_integer_value(json_object_get(p->keys, "image_height"));
  const int64_t channels = json_integer_value(json_object_get(p->keys, "features"));
  if (!side) return FILTRA_OK;
  return ft_hf_image_keys(p->path, side, channels, &p->data_keys, p->input);
}

/* BERT's pooler exists also without a classifier; a tied head is the table of tokens. */
static filtra_status map_tensors(ft_start *p, const ft_hf_family *family, bool head,
                                 const json_t *filters) {
  ft_hf_rows rows = family->head;
  if (!head) rows.count = rows.count && rows.list[0].optional && *family->classifier ? 1 : 0;
  if (!*family->classifier && !has_own_head(&p->folder)) rows.count = 0;
  FT_TRY(ft_hf_map(&p->folder, family, &family->rows, filters, &p->tensors));
  FT_TRY(ft_hf_map(&p->folder, family, &ft_hf_filter_rows, filters, &p->tensors));
  FT_TRY(ft_hf_map(&p->folder, family, &rows, filters, &p->tensors));
  return ft_hf_check_left(&p->folder, family);
}

static filtra_status read_folder(ft_start *p) {
  const ft_hf_family *family;
  bool head;
  json_t *filters;
  FT_TRY(ft_hf_folder_open(p->path, &p->folder));
  FT_TRY(read_config(p, &family, &head));
  FT_TRY(read_preparation(p));
  FT_TRY(ft_hf_filters(p->keys, p->folder.config_path, FILTRA_ERROR_INPUT, &filters));
  filtra_status status = map_tensors(p, family, head, filters);
  json_decref(filters);
  return status;
}

/* Reads how a run's images were prepared; nothing for a folder without a run's configuration. */
static filtra_status read_image_keys(ft_start *p) {
  static const char *const KEYS[] = {"pixels", "normalize", "image_size", "crop_pct"};
  char *path = ft_path_join(p->path, "config.json");
  json_t *config = NULL;
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_file_exists(path) ? ft_json_load(path, &config) : FILTRA_OK;
  if (config && !(p->data_keys = json_object()))
    status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (size_t i = 0; i < FT_COUNT(KEYS) && config && !status; i++) {
    json_t *value = json_object_get(config, KEYS[i]);
    if (value && json_object_set(p->data_keys, KEYS[i], value))
      status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  json_decref(config);
  free(path);
  return status;
}

/* Opens a model file. For another file, the error names what to give instead, by what lies beside
 * it. */
static filtra_status open_own(ft_start *p, const char *path) {
  filtra_status status = ft_safetensors_open(path, &p->own);
  if (!status && ft_safetensors_meta(p->own, FT_MODEL_CONFIG_KEY)) return FILTRA_OK;
  if (!status || !ft_ends_with(path, ".safetensors")) FT_TRY(ft_hf_check_file(path));
  return status ? status
                : ft_fail(FILTRA_ERROR_INPUT,
                          "%s has weights and says nothing of their model: if it is one of Hugging "
                          "Face's, put its config.json beside it and give the folder",
                          path);
}

static filtra_status read_own(ft_start *p) {
  ft_model_options options;
  char *inside = ft_path_join(p->path, MODEL_FILE);
  if (!inside) return FILTRA_ERROR_HOST_MEMORY;
  const char *path = ft_file_exists(inside) ? inside : p->path;
  filtra_status status = open_own(p, path);
  if (!status) status = ft_model_file_options(p->own, path, &options);
  free(inside);
  FT_TRY(status);
  const char *input = ft_safetensors_meta(p->own, FT_INPUT_KEY);
  FT_TRY(ft_json_parse(input ? input : "{}", input ? strlen(input) : 2, p->path, &p->input));
  p->keys = ft_model_options_write(&options);
  if (!p->keys) return FILTRA_ERROR_HOST_MEMORY;
  return options.config.image_height ? read_image_keys(p) : FILTRA_OK;
}

filtra_status ft_start_open(const char *path, ft_start **out) {
  bool foreign;
  *out = NULL;
  FT_TRY(ft_hf_folder_is(path, &foreign));
  if (!foreign) FT_TRY(ft_hf_check_path(path));
  ft_start *p = *out = ft_calloc(1, sizeof *p);
  if (!p) return FILTRA_ERROR_HOST_MEMORY;
  p->path = ft_strdup(path);
  filtra_status status = !p->path  ? FILTRA_ERROR_HOST_MEMORY
                         : foreign ? read_folder(p)
                                   : read_own(p);
  if (status) ft_start_close(out);
  return status;
}

void ft_start_close(ft_start **start) {
  ft_start *p = *start;
  if (!p) return;
  ft_hf_folder_close(&p->folder);
  ft_safetensors_close(&p->own);
  free(p->tensors.list);
  json_decref(p->keys);
  json_decref(p->input);
  json_decref(p->data_keys);
  free(p->path);
  free(p);
  *start = NULL;
}

const json_t *ft_start_keys(const ft_start *p) {
  return p->keys;
}
const json_t *ft_start_input(const ft_start *p) {
  return p->input;
}
const json_t *ft_start_data_keys(const ft_start *p) {
  return p->data_keys;
}
const char *ft_start_folder(const ft_start *p) {
  return p->own ? NULL : p->path;
}

/* ---- keys ---- */

/* Adds options of `from` that the given mixer also has and `given` does not set. */
static int keep_options(json_t *given, const json_t *from) {
  const ft_mixer_class *kind = ft_mixer_find(ft_json_string(given, "name"));
  int failed = 0;
  for (size_t i = 0; kind && i < kind->keys.count; i++) {
    const char *key = kind->keys.list[i].name;
    json_t *value = json_object_get(from, key);
    if (value && !json_object_get(given, key)) failed |= json_object_set(given, key, value);
  }
  return failed;
}

/* The given mixer; without a name, its options apply to the start's mixer. NULL when out of
 * memory. */
static json_t *merge_one(const json_t *own, const json_t *given) {
  json_t *mixer = json_is_string(given) ? json_pack("{sO}", "name", given) : json_deep_copy(given);
  const json_t *name = json_object_get(own, "name");
  int failed = 0;
  if (json_is_object(mixer) && !json_object_get(mixer, "name") && name)
    failed = json_object_set(mixer, "name", (json_t *)name);
  if (json_is_object(mixer)) failed |= keep_options(mixer, own);
  if (!failed) return mixer;
  json_decref(mixer);
  return NULL;
}

/* A list of mixers, each with the options that it shares with the start's. */
static json_t *merge_list(const json_t *own, const json_t *given) {
  json_t *list = json_array();
  for (size_t i = 0; i < json_array_size(given); i++)
    ft_json_append(&list, merge_one(own, json_array_get(given, i)));
  return list;
}

static int merge_mixer(json_t *keys, const json_t *given) {
  const json_t *own = json_object_get(keys, "mixer");
  return json_object_set_new(keys, "mixer",
                             json_is_array(given) ? merge_list(own, given) : merge_one(own, given));
}

/* Warns of changed keys that keep all shapes but alter what the weights compute. */
static void warn_of_changes(const json_t *start, const json_t *changes) {
  static const char *const KEYS[] = {
      "heads",       "norm",           "activation",      "positions",    "norm_epsilon",
      "contra_norm", "embedding_norm", "no_last_norm",    "token_types",  "scale_embeddings",
      "mask_zero",   "pooling",        "head_activation", "distillation", "position_offset",
      "layers",      "class_layers",   "window"};
  for (size_t i = 0; i < FT_COUNT(KEYS); i++) {
    const json_t *own = json_object_get(start, KEYS[i]), *given = json_object_get(changes, KEYS[i]);
    if (!own || !given || json_equal(own, given)) continue;
    const size_t as = JSON_ENCODE_ANY | JSON_REAL_PRECISION(9);
    char *from = ft_json_dumps(own, as), *to = ft_json_dumps(given, as);
    if (from && to)
      ft_log(
          FILTRA_LOG_WARNING,
          "\"%s\" is %s where the pretrained model has %s: its weights were not trained for that",
          KEYS[i], to, from);
    free(from);
    free(to);
  }
}

filtra_status ft_start_merge(const json_t *start, const json_t *changes, json_t **keys) {
  json_t *merged = json_deep_copy(start), *over = changes ? json_deep_copy(changes) : json_object();
  json_t *mixer = json_object_get(over, "mixer");
  warn_of_changes(start, changes);
  int failed = !merged || !over || (mixer && merge_mixer(merged, mixer));
  if (!failed && mixer) failed = json_object_del(over, "mixer");
  if (!failed) failed = json_object_update(merged, over);
  json_decref(over);
  *keys = failed ? NULL : merged;
  if (!failed) return FILTRA_OK;
  json_decref(merged);
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* ---- matching with a model's parameters ---- */

/* Where a parameter's values come from. */
typedef struct origin {
  const ft_parameter *parameter;
  const ft_hf_tensor *foreign;
  const ft_safetensor *own; /* neither of them: the parameter is new */
  int64_t first;            /* values to skip: positions of front tokens that the model lacks */
  double factor, shift;     /* value * factor + shift is ours: see to_own_unit */
  uint64_t seed;
} origin;

static bool is_new(const origin *o) {
  return !o->foreign && !o->own;
}

bool ft_is_of_head(const char *name) {
  static const char *const HEADS[] = {"head.", "distilled_head."};
  for (size_t i = 0; i < FT_COUNT(HEADS); i++)
    if (!strncmp(name, HEADS[i], strlen(HEADS[i]))) return true;
  return false;
}

/* Whether a parameter belongs to the last layer of a head. */
static bool is_last(const char *name) {
  return ft_is_of_head(name) && strncmp(name, "head.1.", 7) != 0;
}

/* Whether the file, of an imported run, has only initial values for the parameter. */
static bool is_untrained(const ft_start *p, const char *name) {
  const json_t *list = json_object_get(p->input, "new");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *other = json_string_value(json_array_get(list, i));
    if (other && !strcmp(other, name)) return true;
  }
  return false;
}

static origin find(const ft_start *p, const ft_parameter *parameter, bool head) {
  origin o = {.parameter = parameter, .factor = 1};
  if ((!head && is_last(parameter->name)) || is_untrained(p, parameter->name)) return o;
  if (p->own) o.own = ft_safetensors_find(p->own, parameter->name);
  for (size_t i = 0; i < p->tensors.count && !o.foreign; i++)
    if (!strcmp(p->tensors.list[i].name, parameter->name)) o.foreign = &p->tensors.list[i];
  return o;
}

static void write_shape(char text[160], int ndim, const int64_t *shape) {
  size_t used = 0;
  for (int i = 0; i < ndim; i++)
    used += (size_t)snprintf(text + used, 160 - used, "%s%lld", i ? ", " : "", (long long)shape[i]);
}

/* Number of tokens in front of the start's sequences. */
static int64_t front_of(const json_t *keys) {
  const char *distillation = ft_json_string(keys, "distillation");
  const bool class_token = !strcmp(ft_json_string(keys, "pooling"), "class_token");
  return (class_token && !json_integer_value(json_object_get(keys, "class_layers"))) +
         (*distillation && strcmp(distillation, "none") != 0);
}

/* Whether a last layer of another shape cannot be meant: the start's own configuration says that it
 * has as many outputs as the model. */
static bool contradicts(const ft_start *p, const filtra_model *model, const origin *o) {
  const json_t *classes = json_object_get(p->keys, "classes");
  return o->foreign && classes && is_last(o->parameter->name) &&
         json_integer_value(classes) == model->options.config.classes;
}

/* Checks the shape; a head with another shape is new. If the model has fewer tokens in front, skips
 * the rows of the table of positions that belong to the others. */
static filtra_status check_shape(const ft_start *p, const filtra_model *model, origin *o) {
  if (is_new(o)) return FILTRA_OK;
  const ft_parameter *q = o->parameter;
  const int ndim = o->foreign ? o->foreign->ndim : o->own->ndim;
  const int64_t *shape = o->foreign ? o->foreign->shape : o->own->shape;
  const char *name = o->foreign ? o->foreign->from[0]->name : o->own->name;
  const bool rows = !strcmp(q->name, "positions.weight") && ndim == 2 && q->shape[0] < shape[0];
  if (ndim == q->ndim &&
      !memcmp(shape + rows, q->shape + rows, (size_t)(ndim - rows) * sizeof *shape)) {
    const int64_t more = front_of(p->keys) - ft_model_front(&model->options.config);
    if (rows && more > 0 && q->shape[0] + more <= shape[0]) o->first = more * q->shape[1];
    return FILTRA_OK;
  }
  if (ft_is_of_head(q->name) && !contradicts(p, model, o)) {
    o->foreign = NULL;
    o->own = NULL;
    return FILTRA_OK;
  }
  const int64_t most = json_integer_value(json_object_get(p->keys, "max_length"));
  const bool image = json_object_get(p->keys, "patch") &&
                     json_integer_value(json_object_get(p->keys, "patch")) > 0;
  if (!strcmp(q->name, "positions.weight") && ndim == 2 && !image && q->shape[0] > shape[0])
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: \"max_length\" is %lld, and the model has learned positions of at most %lld "
        "tokens; lower it",
        p->path, (long long)(most + q->shape[0] - shape[0]), (long long)most);
  char theirs[160], ours[160];
  write_shape(theirs, ndim, shape);
  write_shape(ours, q->ndim, q->shape);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: tensor %s is [%s] as %s, which is [%s] in a model of this configuration",
                 p->path, name, theirs, q->name, ours);
}

static double unit_of(float scale) {
  return scale != 0 ? (double)scale : 1;
}

/* A regression's last layer computes u, and the value is u * scale + mean of the values that the
 * start was trained on. Changes the layer to the model's mean and scale: the values stay. */
static void to_own_unit(const ft_start *p, const filtra_model *model, origin *o) {
  const filtra_model_config *own = &model->options.config;
  const json_t *mean = json_object_get(p->keys, "target_mean"),
               *scale = json_object_get(p->keys, "target_scale");
  if (own->task != FILTRA_TASK_REGRESSION || !is_last(o->parameter->name) || is_new(o) ||
      strcmp(ft_json_string(p->keys, "task"), "regression") != 0 || !mean || !scale)
    return;
  const double unit = unit_of(own->target_scale), their = (double)(float)json_number_value(mean);
  o->factor = unit_of((float)json_number_value(scale)) / unit;
  if (o->parameter->ndim == 1) o->shift = (their - (double)own->target_mean) / unit;
}

/* Writes the first `count` values of the parameter's source. */
static filtra_status fill_from(const origin *o, size_t count, float *to) {
  if (o->foreign) FT_TRY(ft_hf_fill(o->foreign, count, to));
  if (!o->foreign) ft_elements_get(o->own->dtype, o->own->data, count, to);
  for (size_t i = 0; i < count && (o->factor != 1 || o->shift != 0); i++)
    to[i] = (float)((double)to[i] * o->factor + o->shift);
  return FILTRA_OK;
}

/* Writes the parameter's values. */
static filtra_status fill(const origin *o, float *to) {
  const size_t count = (size_t)o->parameter->elements, first = (size_t)o->first;
  if (is_new(o)) return ft_parameter_draw(o->parameter, o->seed, to);
  if (!first) return fill_from(o, count, to);
  float *all = ft_calloc(first + count, sizeof *all);
  if (!all) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = fill_from(o, first + count, all);
  if (!status) memcpy(to, all + first, count * sizeof *to);
  free(all);
  return status;
}

/* ---- messages ---- */

/* Logs which parameters are new, and which tensors the model does not use. */
static void report(const ft_start *p, const filtra_parameters *params, const origin *origins) {
  ft_noted fresh = {0}, left = {0};
  for (size_t i = 0; i < params->count; i++)
    if (is_new(&origins[i])) ft_note(&fresh, params->list[i].name);
  for (size_t i = 0; i < p->tensors.count; i++)
    if (!ft_parameters_find((filtra_parameters *)params, p->tensors.list[i].name))
      ft_note(&left, p->tensors.list[i].name);
  for (size_t i = 0; i < p->folder.count; i++)
    if (!p->folder.used[i] && ft_dtype_is_float(p->folder.tensors[i]->dtype))
      ft_note(&left, p->folder.tensors[i]->name);
  for (size_t i = 0; p->own && i < ft_safetensors_count(p->own); i++) {
    const char *name = ft_safetensors_at(p->own, i)->name;
    if (!ft_parameters_find((filtra_parameters *)params, name)) ft_note(&left, name);
  }
  if (fresh.count)
    ft_log(FILTRA_LOG_WARNING, "new, with initial values, since %s has none for them: %s", p->path,
           ft_noted_text(&fresh));
  if (left.count)
    ft_log(FILTRA_LOG_WARNING, "of %s the model does not use: %s", p->path, ft_noted_text(&left));
}

/* The origins of all parameters; caller frees. */
static filtra_status match(const ft_start *p, const filtra_model *model, bool head, uint64_t seed,
                           origin **out) {
  const filtra_parameters *params = model->params;
  filtra_status status = FILTRA_OK;
  origin *origins = *out = ft_calloc(params->count, sizeof *origins);
  if (!origins) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < params->count && !status; i++) {
    origins[i] = find(p, &params->list[i], head);
    origins[i].seed = seed;
    status = check_shape(p, model, &origins[i]);
    to_own_unit(p, model, &origins[i]);
  }
  if (!status) report(p, params, origins);
  if (!status) return FILTRA_OK;
  free(origins);
  *out = NULL;
  return status;
}

/* ---- writing ---- */

static filtra_status upload(filtra_parameters *params, const origin *o) {
  if (is_new(o)) return FILTRA_OK;
  float *values = ft_calloc((size_t)o->parameter->elements, sizeof *values);
  if (!values) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = fill(o, values);
  if (!status) status = ft_parameter_upload(params, o->parameter, values);
  free(values);
  return status;
}

json_t *ft_start_new(const ft_start *p, const filtra_model *model) {
  json_t *list = json_array();
  for (size_t i = 0; i < model->params->count; i++) {
    origin o = find(p, &model->params->list[i], true);
    if (check_shape(p, model, &o) || is_new(&o))
      ft_json_append(&list, json_string(o.parameter->name));
  }
  return list;
}

filtra_status ft_start_take(const ft_start *p, filtra_model *model, bool head) {
  origin *origins;
  FT_TRY(match(p, model, head, 0, &origins));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < model->params->count && !status; i++)
    status = upload(model->params, &origins[i]);
  free(origins);
  return status ? ft_fail_context(status, "%s", p->path) : FILTRA_OK;
}

/* Writes values straight from the start's file if they have the model file's layout, so that a
 * large table is not in memory twice. */
static filtra_status point_at_values(const origin *o, ft_safetensor *t) {
  const ft_hf_tensor *foreign = o->foreign;
  const ft_safetensor *from =
      foreign && foreign->parts == 1 && foreign->form <= FT_HF_ONE ? foreign->from[0] : o->own;
  if (!from || from->dtype != FILTRA_F32 || o->factor != 1 || o->shift != 0) return FILTRA_OK;
  const float *values = (const float *)from->data + o->first;
  for (int64_t i = 0; i < o->parameter->elements; i++)
    if (!isfinite(values[i]))
      return ft_fail(FILTRA_ERROR_INPUT, "tensor %s holds a NaN or an infinity", from->name);
  t->data = values;
  return FILTRA_OK;
}

static filtra_status fill_tensor(void *user, const ft_safetensor *tensor, void *to) {
  (void)tensor;
  return fill(user, to);
}

filtra_status ft_start_write(const ft_start *p, const filtra_model *model, uint64_t seed,
                             const char *input, const char *path) {
  const filtra_parameters *params = model->params;
  origin *origins;
  FT_TRY(match(p, model, true, seed, &origins));
  ft_safetensor *list = ft_calloc(params->count, sizeof *list);
  char *config = ft_json_text(ft_model_options_write(&model->options), JSON_COMPACT);
  filtra_status status = list && config ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < params->count && !status; i++) {
    const ft_parameter *q = &params->list[i];
    list[i] =
        (ft_safetensor){.name = q->name, .ndim = q->ndim, .fill = fill_tensor, .user = &origins[i]};
    memcpy(list[i].shape, q->shape, sizeof q->shape);
    status = point_at_values(&origins[i], &list[i]);
  }
  const ft_safetensors_meta_pair meta[] = {{FT_MODEL_CONFIG_KEY, config}, {FT_INPUT_KEY, input}};
  if (!status) status = ft_safetensors_write(path, list, params->count, meta, input ? 2 : 1);
  free(config);
  free(list);
  free(origins);
  return status;
}
