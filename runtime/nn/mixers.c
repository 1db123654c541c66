/* The mixers of a model's layers: one for all, or a list in which some name their layers. Called
 * for configurations (model/options.c), by model/network.c and by the command. */
#include "nn/mixer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static filtra_status fail_layers(const char *context, const json_t *value) {
  char *text = ft_json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
  filtra_status status = ft_fail(
      FILTRA_ERROR_INPUT,
      "%s: \"mixer\": \"layers\" is %.60s; accepted are numbers and ranges from 0 to %d, as in "
      "\"10-11\" or \"0, 4-7\"",
      context, text ? text : "?", FT_MOST_LAYERS - 1);
  free(text);
  return status;
}

/* Gives layers first to last to the newest mixer. */
static filtra_status claim(ft_mixers *m, long first, long last, const char *context) {
  const uint8_t newest = (uint8_t)(m->count - 1);
  for (long i = first; i <= last; i++) {
    if (m->of_layer[i] != UINT8_MAX)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"mixer\": two are for layer %ld", context, i);
    m->of_layer[i] = newest;
  }
  return FILTRA_OK;
}

/* Reads "0, 4-7". */
static filtra_status read_ranges(ft_mixers *m, const json_t *value, const char *context) {
  const char *at = json_string_value(value);
  if (json_is_integer(value)) {
    const json_int_t layer = json_integer_value(value);
    if (layer < 0 || layer >= FT_MOST_LAYERS) return fail_layers(context, value);
    return claim(m, (long)layer, (long)layer, context);
  }
  while (at) {
    long first, last;
    if (!ft_next_range(&at, FT_MOST_LAYERS - 1, &first, &last)) break;
    FT_TRY(claim(m, first, last, context));
    if (!at) return FILTRA_OK;
  }
  return fail_layers(context, value);
}

static filtra_status read_entry(const json_t *entry, const char *context, ft_mixers *m) {
  const json_t *layers = json_object_get(entry, "layers");
  json_t *mixer = json_deep_copy(entry);
  if (!mixer) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (layers) json_object_del(mixer, "layers");
  filtra_status status = ft_mixer_read(mixer, context, &m->list[m->count++]);
  json_decref(mixer);
  FT_TRY(status);
  if (layers) return read_ranges(m, layers, context);
  if (m->usual != SIZE_MAX)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: \"mixer\": two of the list have no \"layers\"; one may, for all other layers",
        context);
  m->usual = m->count - 1;
  return FILTRA_OK;
}

filtra_status ft_mixers_read(const json_t *json, const char *context, ft_mixers *out) {
  const size_t entries = json_is_array(json) ? json_array_size(json) : 1;
  *out = (ft_mixers){.usual = SIZE_MAX};
  memset(out->of_layer, UINT8_MAX, sizeof out->of_layer);
  if (entries < 1 || entries > FT_MOST_MIXERS)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"mixer\" is a list of %zu, accepted are 1 to %d",
                   context, entries, FT_MOST_MIXERS);
  for (size_t i = 0; i < entries && json_is_array(json); i++)
    FT_TRY(read_entry(json_array_get(json, i), context, out));
  if (!json_is_array(json)) {
    FT_TRY(ft_mixer_read(json, context, &out->list[0]));
    out->count = 1;
    out->usual = 0;
  }
  if (out->usual == SIZE_MAX) out->usual = out->count;
  for (int i = 0; i < FT_MOST_LAYERS; i++)
    if (out->of_layer[i] == UINT8_MAX) out->of_layer[i] = (uint8_t)out->usual;
  return FILTRA_OK;
}

filtra_status ft_mixers_check(const ft_mixers *m, int64_t layers, const char *context) {
  for (int64_t i = 0; i < FT_MOST_LAYERS; i++) {
    const size_t of = m->of_layer[i];
    if (i < layers && of == m->count)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"mixer\": none is for layer %lld", context,
                     (long long)i);
    if (i >= layers && of != m->usual)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: \"mixer\": one is for layer %lld; the last of %lld layers is %lld",
                     context, (long long)i, (long long)layers, (long long)layers - 1);
  }
  return FILTRA_OK;
}

const ft_mixer *ft_mixers_at(const ft_mixers *m, int64_t layer) {
  return &m->list[m->of_layer[layer]];
}

/* "0, 4-7" */
static json_t *write_ranges(const ft_mixers *m, size_t index) {
  char text[4 * FT_MOST_LAYERS] = "";
  size_t used = 0;
  for (int i = 0; i < FT_MOST_LAYERS; i++) {
    int last = i;
    if (m->of_layer[i] != index) continue;
    while (last + 1 < FT_MOST_LAYERS && m->of_layer[last + 1] == index)
      last++;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used ? ", " : "", i);
    if (last > i) used += (size_t)snprintf(text + used, sizeof text - used, "-%d", last);
    i = last;
  }
  return json_string(text);
}

json_t *ft_mixers_write(const ft_mixers *m) {
  if (m->count == 1 && m->usual == 0) return ft_mixer_write(&m->list[0]);
  json_t *list = json_array();
  for (size_t i = 0; i < m->count; i++) {
    json_t *entry = ft_mixer_write(&m->list[i]);
    if (i != m->usual) entry = ft_json_join(entry, json_pack("{so}", "layers", write_ranges(m, i)));
    ft_json_append(&list, entry);
  }
  return list;
}

const char *ft_mixers_name(const ft_mixers *m, char text[FT_MIXERS_TEXT]) {
  size_t used = 0;
  for (size_t i = 0; i < m->count; i++) {
    bool named = false;
    for (size_t k = 0; k < i; k++)
      named |= m->list[k].kind == m->list[i].kind;
    if (!named)
      used += (size_t)snprintf(text + used, FT_MIXERS_TEXT - used, "%s%s", used ? "+" : "",
                               m->list[i].kind->name);
  }
  return text;
}
