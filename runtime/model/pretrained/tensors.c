/* Finds the tensors of a Hugging Face folder by a family's rows, and converts them to Filtra's
 * layout. Called by start.c. */
#include "model/pretrained/tensors.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

void ft_hf_write_name(char out[FT_NAME_TEXT], const char *prefix, const char *pattern,
                      int64_t layer, const char *ending) {
  const char *mark = strstr(pattern, "%d");
  if (mark)
    snprintf(out, FT_NAME_TEXT, "%s%.*s%lld%s%s", prefix, (int)(mark - pattern), pattern,
             (long long)layer, mark + 2, ending);
  else
    snprintf(out, FT_NAME_TEXT, "%s%s%s", prefix, pattern, ending);
}

/* Early versions call a norm's weight gamma and its bias beta. */
static const char *early_ending(const char *pattern, const char *ending) {
  if (!strstr(pattern, "LayerNorm")) return NULL;
  return !strcmp(ending, ".weight") ? ".gamma" : !strcmp(ending, ".bias") ? ".beta" : NULL;
}

static const ft_safetensor *find(const ft_hf_folder *folder, const ft_hf_family *family,
                                 const char *pattern, int64_t layer, const char *ending) {
  const char *const prefixes[] = {"", family->prefix};
  const char *const endings[] = {ending, early_ending(pattern, ending)};
  for (int p = 0; p < 2; p++)
    for (int e = 0; e < 2 && endings[e]; e++) {
      char name[FT_NAME_TEXT];
      ft_hf_write_name(name, prefixes[p], pattern, layer, endings[e]);
      const ft_safetensor *t = ft_hf_folder_find(folder, name);
      if (t) return t;
    }
  return NULL;
}

static filtra_status fail_missing(const ft_hf_folder *folder, const ft_hf_family *family,
                                  const char *pattern, int64_t layer, const char *ending) {
  char name[FT_NAME_TEXT], whole[FT_NAME_TEXT];
  ft_hf_write_name(name, "", pattern, layer, ending);
  ft_hf_write_name(whole, family->prefix, pattern, layer, ending);
  const char *near = ft_hf_folder_nearest(folder, whole);
  if (!near) near = ft_hf_folder_nearest(folder, name);
  return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s of a %s is missing%s%s", folder->config_path,
                 name, family->type, near ? "; the nearest name is " : "", near ? near : "");
}

/* ---- shapes ---- */

static const char *shape_text(const ft_safetensor *t, char text[160]) {
  size_t used = (size_t)snprintf(text, 160, "[");
  for (int i = 0; i < t->ndim; i++)
    used +=
        (size_t)snprintf(text + used, 160 - used, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
  snprintf(text + used, 160 - used, "]");
  return text;
}

static filtra_status fail_shape(const ft_hf_folder *folder, const ft_safetensor *t,
                                const char *wanted) {
  char text[160];
  return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s is %s %s; expected is %s", folder->config_path,
                 t->name, filtra_dtype_name(t->dtype), shape_text(t, text), wanted);
}

/* Sets our shape for tensors whose rows are concatenated. */
static filtra_status join_rows(const ft_hf_folder *folder, ft_hf_tensor *t) {
  for (size_t p = 0; p < t->parts; p++) {
    const ft_safetensor *from = t->from[p];
    const int skip = t->form == FT_HF_ONE, ndim = from->ndim - skip;
    if (skip && (from->ndim != 3 || from->shape[0] != 1))
      return fail_shape(folder, from, "[1, tokens, width]");
    if (ndim < 1 || ndim > 2) return fail_shape(folder, from, "a vector or a matrix");
    if (p && (ndim != t->ndim || (ndim == 2 && from->shape[skip + 1] != t->shape[1])))
      return fail_shape(folder, from, "the shape of the tensor before, whose rows it follows");
    t->ndim = ndim;
    t->shape[0] += from->shape[skip];
    if (ndim == 2) t->shape[1] = from->shape[skip + 1];
  }
  return FILTRA_OK;
}

static filtra_status find_shape(const ft_hf_folder *folder, ft_hf_tensor *t) {
  const ft_safetensor *from = t->from[0];
  for (size_t p = 0; p < t->parts; p++)
    if (!ft_dtype_is_float(t->from[p]->dtype))
      return fail_shape(folder, t->from[p], "F32, F16 or BF16");
  if (t->form <= FT_HF_ONE) return join_rows(folder, t);
  t->ndim = 2;
  if (t->form == FT_HF_TRANSPOSED) {
    if (from->ndim != 2) return fail_shape(folder, from, "a matrix");
    t->shape[0] = from->shape[1];
    t->shape[1] = from->shape[0];
    return FILTRA_OK;
  }
  if (from->ndim != 4 || from->shape[2] != from->shape[3])
    return fail_shape(folder, from, "[width, features, patch, patch]");
  t->shape[0] = from->shape[0];
  t->shape[1] = from->shape[1] * from->shape[2] * from->shape[3];
  return FILTRA_OK;
}

/* ---- the list ---- */

static filtra_status add(ft_hf_folder *folder, const ft_hf_family *family, const ft_hf_row *row,
                         int64_t layer, const char *ending, ft_hf_tensors *out) {
  ft_hf_tensor t = {.form = strcmp(ending, ".bias") ? row->form : FT_HF_ROWS};
  for (; t.parts < FT_HF_PARTS && row->from[t.parts]; t.parts++) {
    t.from[t.parts] = find(folder, family, row->from[t.parts], layer, ending);
    if (!t.from[t.parts] && row->instead) t.from[t.parts] = ft_hf_folder_find(folder, row->instead);
    if (t.from[t.parts]) continue;
    if (row->optional) return FILTRA_OK;
    return fail_missing(folder, family, row->from[t.parts], layer, ending);
  }
  FT_TRY(find_shape(folder, &t));
  for (size_t p = 0; p < t.parts; p++)
    ft_hf_folder_use(folder, t.from[p]);
  ft_hf_write_name(t.name, "", row->name, layer, ending);
  FT_TRY(FT_GROW(out->list, out->count, out->capacity));
  out->list[out->count++] = t;
  return FILTRA_OK;
}

filtra_status ft_hf_map(ft_hf_folder *folder, const ft_hf_family *family, const ft_hf_rows *rows,
                        const json_t *filters, ft_hf_tensors *out) {
  for (size_t r = 0; r < rows->count; r++) {
    const bool layered = strstr(rows->list[r].name, "%d") != NULL;
    const int64_t count = layered ? (int64_t)json_array_size(filters) : 1;
    for (int64_t layer = 0; layer < count; layer++) {
      ft_hf_row row;
      if (!ft_hf_row_at(&rows->list[r], filters, layer, &row)) continue;
      FT_TRY(add(folder, family, &row, layer, row.layer ? ".weight" : "", out));
      if (row.layer) FT_TRY(add(folder, family, &row, layer, ".bias", out));
    }
  }
  return FILTRA_OK;
}

/* Whether the name begins with the pattern, with or without the prefix; for a pattern that starts
 * with `*`, whether the name ends with the rest. */
static bool matches(const char *name, const char *prefix, const char *pattern) {
  const size_t skip = strncmp(name, prefix, strlen(prefix)) ? 0 : strlen(prefix);
  const size_t length = strlen(name), ending = strlen(pattern) - 1;
  if (*pattern == '*') return length >= ending && !strcmp(name + length - ending, pattern + 1);
  return !strncmp(name, pattern, strlen(pattern)) ||
         !strncmp(name + skip, pattern, strlen(pattern));
}

filtra_status ft_hf_check_left(const ft_hf_folder *folder, const ft_hf_family *family) {
  for (size_t i = 0; i < folder->count; i++) {
    const char *name = folder->tensors[i]->name;
    bool known = folder->used[i];
    for (const char *const *p = family->unused; *p && !known; p++)
      known = matches(name, family->prefix, *p);
    if (!known)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: tensor %.150s is not one of a %s with this configuration",
                     folder->config_path, name, family->type);
  }
  return FILTRA_OK;
}

/* ---- values ---- */

/* The index in our layout of element `i` of theirs. */
static size_t place(const ft_hf_tensor *t, size_t i) {
  const int64_t *s = t->from[0]->shape;
  if (t->form == FT_HF_TRANSPOSED) return i % (size_t)s[1] * (size_t)s[0] + i / (size_t)s[1];
  /* [out, F, P, P] -> [out, P P, F] */
  const size_t features = (size_t)s[1], pixels = (size_t)(s[2] * s[3]);
  const size_t out = i / (features * pixels), f = i / pixels % features, pixel = i % pixels;
  return (out * pixels + pixel) * features + f;
}

filtra_status ft_hf_fill(const ft_hf_tensor *t, size_t count, float *to) {
  for (size_t p = 0; p < t->parts && count; p++) {
    const ft_safetensor *from = t->from[p];
    const size_t all = from->bytes / filtra_dtype_bytes(from->dtype),
                 some = all < count ? all : count;
    for (size_t i = 0; i < some; i++) {
      const float value = (float)ft_element_get(from->dtype, from->data, i);
      to[t->form <= FT_HF_ONE ? i : place(t, i)] = value;
      if (!isfinite(value))
        return ft_fail(FILTRA_ERROR_INPUT, "tensor %s holds a NaN or an infinity", from->name);
    }
    to += some;
    count -= some;
  }
  return FILTRA_OK;
}
