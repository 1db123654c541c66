#include "nn/mixer.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ft_mixer_class *const ft_mixers[] = {&ft_mixer_softmax,     &ft_mixer_gfsa,
                                           &ft_mixer_plaplacian,  &ft_mixer_agf,
                                           &ft_mixer_synvolution, &ft_mixer_kernelution};
const size_t ft_mixer_count = FT_COUNT(ft_mixers);

static const ft_mixer_class *find(const char *name) {
  for (size_t i = 0; i < ft_mixer_count; i++)
    if (!strcmp(ft_mixers[i]->name, name)) return ft_mixers[i];
  return NULL;
}

/* The field list of a mixer with "name" in front, so that it is not taken for an unknown key. */
static size_t all_fields(const ft_mixer_class *kind, ft_json_field *fields) {
  fields[0] = (ft_json_field){.name = "name", .type = FT_JSON_ANY};
  memcpy(fields + 1, kind->fields, kind->field_count * sizeof *fields);
  return kind->field_count + 1;
}

enum { MAX_FIELDS = 24 };

static filtra_status fail_unknown(const char *name, const char *context) {
  char list[160] = "";
  for (size_t i = 0; i < ft_mixer_count; i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", ft_mixers[i]->name);
  }
  return ft_fail(FILTRA_ERROR_INPUT, "%s: unknown mixer \"%.64s\"; known are %s", context, name,
                 list);
}

static filtra_status read_options(const json_t *object, const char *context, ft_mixer *mixer) {
  ft_json_field fields[MAX_FIELDS];
  size_t count = all_fields(mixer->kind, fields);
  json_t *empty = json_object();
  char *place = ft_format("%s: mixer \"%s\"", context, mixer->kind->name);
  filtra_status status = empty && place ? ft_json_read_struct(object ? object : empty, fields,
                                                              count, mixer->options, place)
                                        : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  free(place);
  json_decref(empty);
  return status;
}

filtra_status ft_mixer_read(const json_t *json, const char *context, ft_mixer *out) {
  const json_t *object = json_is_object(json) ? json : NULL;
  const json_t *name = object ? json_object_get(object, "name") : json;
  *out = (ft_mixer){.kind = json ? NULL : ft_mixers[0]};
  if (json && !json_is_string(name))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"mixer\" must be a name or an object with a \"name\"",
                   context);
  if (json) out->kind = find(json_string_value(name));
  if (!out->kind) return fail_unknown(json_string_value(name), context);
  return read_options(object, context, out);
}

void ft_mixer_qkv(const ft_scope *scope, const ft_mixer_input *in, filtra_tensor *qkv[3]) {
  filtra_graph *g = scope->graph;
  filtra_chunk(g, ft_linear_layer(scope, "qkv", in->x, 3 * ft_columns(in->x), NULL), 3, qkv);
  ft_observe(scope, "value", qkv[2]);
  for (int i = 0; i < 3; i++)
    qkv[i] = filtra_split_heads(g, qkv[i], in->heads);
}

filtra_tensor *ft_mixer_output(const ft_scope *scope, const ft_mixer_input *in, filtra_tensor *y) {
  y = filtra_merge_heads(scope->graph, y);
  ft_observe(scope, "mixed", y);
  return ft_linear_layer(
      scope, "out", y, ft_columns(in->x),
      &(filtra_linear_options){.dropout = in->dropout, .residual = in->residual});
}

json_t *ft_mixer_write(const ft_mixer *mixer) {
  json_t *object =
      ft_json_write_struct(mixer->kind->fields, mixer->kind->field_count, mixer->options);
  if (object) json_object_set_new(object, "name", json_string(mixer->kind->name));
  return object;
}
