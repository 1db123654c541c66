/* Which filters docs/filtra_filters.py computes, and the names of their parameters. Called by
 * config.c, tensors.c, export.c and model/start.c. */
#include "model/pretrained/filters.h"

#include "nn/mixer.h"

#include <string.h>

static const ft_hf_row ROWS[] = {
    {"layers.%d.mixer.w0", {"filters.%d.w0"}, .bare = true, .mixer = "gfsa", .option = "learn_w0"},
    {"layers.%d.mixer.w1", {"filters.%d.w1"}, .bare = true, .mixer = "gfsa", .option = "learn_w1"},
    {"layers.%d.mixer.wK", {"filters.%d.wK"}, .bare = true, .mixer = "gfsa", .option = "learn_wK"},
    {"layers.%d.mixer.theta",
     {"filters.%d.theta"},
     .bare = true,
     .mixer = "agf",
     .option = "variant",
     .value = "filter"},
    {"layers.%d.mixer.singular_values",
     {"filters.%d.singular_values"},
     .bare = true,
     .mixer = "agf",
     .option = "variant",
     .value = "svd"},
};
const ft_hf_rows ft_hf_filter_rows = FT_HF_LIST(ROWS);

bool ft_hf_is_filtered(const json_t *keys) {
  return strcmp(ft_json_string(json_object_get(keys, "mixer"), "name"), "softmax") != 0;
}

static filtra_status check(const json_t *mixer, const char *path, filtra_status status) {
  static const char *const KNOWN[] = {"softmax", "gfsa", "plaplacian", "agf"};
  static const char *const OURS[][2] = {{"symmetric", "attention of queries and keys that are one"},
                                        {"talking_heads", "attention of heads that talk"}};
  const char *name = ft_json_string(mixer, "name");
  bool known = false;
  for (size_t i = 0; i < FT_COUNT(KNOWN); i++)
    known |= !strcmp(KNOWN[i], name);
  if (!known)
    return ft_fail(status,
                   "%s: \"mixer\" is %s, which has no PyTorch module; softmax, gfsa, plaplacian "
                   "and agf can be exported",
                   path, name);
  for (size_t i = 0; i < FT_COUNT(OURS); i++)
    if (json_is_true(json_object_get(mixer, OURS[i][0])))
      return ft_fail(status, "%s: mixer \"%s\": \"%s\" is true; %s can not be exported", path, name,
                     OURS[i][0], OURS[i][1]);
  return FILTRA_OK;
}

/* If all heads are fixed, no coefficient is a parameter: sets the options to false. They exist
 * already, so replacing them cannot fail. */
static void drop_fixed(json_t *mixer, int64_t heads) {
  bool fixed[FT_MOST_FLOATS];
  if (!ft_mark_heads(ft_json_string(mixer, "fixed_heads"), heads, fixed)) return;
  for (int64_t h = 0; h < heads; h++)
    if (!fixed[h]) return;
  for (size_t r = 0; r < FT_COUNT(ROWS); r++)
    if (!strcmp(ROWS[r].mixer, "gfsa")) json_object_set_new(mixer, ROWS[r].option, json_false());
}

filtra_status ft_hf_filters(const json_t *keys, const char *path, filtra_status status,
                            json_t **out) {
  const int64_t layers = json_integer_value(json_object_get(keys, "layers"));
  ft_mixers mixers;
  *out = NULL;
  if (layers > FT_MOST_LAYERS)
    return ft_fail(status, "%s: %lld layers; accepted are at most %d", path, (long long)layers,
                   FT_MOST_LAYERS);
  FT_TRY(ft_mixers_read(json_object_get(keys, "mixer"), path, &mixers));
  FT_TRY(ft_mixers_check(&mixers, layers, path));
  json_t *list = json_array();
  for (int64_t i = 0; i < layers; i++)
    ft_json_append(&list, ft_mixer_write(ft_mixers_at(&mixers, i)));
  filtra_status checked =
      list ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (int64_t i = 0; i < layers && !checked; i++)
    checked = check(json_array_get(list, (size_t)i), path, status);
  for (int64_t i = 0; i < layers && !checked; i++)
    drop_fixed(json_array_get(list, (size_t)i), json_integer_value(json_object_get(keys, "heads")));
  if (!checked) *out = list;
  if (checked) json_decref(list);
  return checked;
}

/* AGF has U and V in place of attention's queries and keys, and Sigma in addition. */
static void set_agf(const json_t *mixer, ft_hf_row *row) {
  row->name = "layers.%d.mixer.uvxs";
  if (!strcmp(ft_json_string(mixer, "variant"), "filter"))
    row->from[FT_HF_PARTS - 1] = "filters.%d.sigma";
}

bool ft_hf_row_at(const ft_hf_row *row, const json_t *filters, int64_t layer, ft_hf_row *out) {
  const json_t *mixer = json_array_get(filters, (size_t)layer);
  const char *name = ft_json_string(mixer, "name");
  *out = *row;
  if (!strcmp(row->name, "layers.%d.mixer.qkv") && !strcmp(name, "agf")) set_agf(mixer, out);
  if (!row->mixer) return true;
  if (strcmp(row->mixer, name) != 0) return false;
  return row->value ? !strcmp(ft_json_string(mixer, row->option), row->value)
                    : json_is_true(json_object_get(mixer, row->option));
}
