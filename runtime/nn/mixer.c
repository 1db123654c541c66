/* A mixer and its options from JSON, and back. */
#include "nn/mixer.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The field list of a mixer with "name" in front, so that it is not taken for an unknown key. */
static size_t all_fields(const ft_mixer_class *kind, ft_json_field *fields) {
  fields[0] = (ft_json_field){.name = "name", .type = FT_JSON_ANY};
  memcpy(fields + 1, kind->fields, kind->field_count * sizeof *fields);
  return kind->field_count + 1;
}

static filtra_status fail_unknown(const char *name, const char *context) {
  char list[2400] = ""; /* 64 names */
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", filtra_mixer_name(i));
  }
  return ft_fail(FILTRA_ERROR_INPUT, "%s: unknown mixer \"%.64s\"; known are %s", context, name,
                 list);
}

static filtra_status read_options(const json_t *object, const char *context, ft_mixer *mixer) {
  ft_json_field fields[FT_MIXER_FIELDS];
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

/* An option that has no effect must have its default, which files with all options give, too. */
static filtra_status refuse_idle(const ft_mixer *mixer, const char *context) {
  const ft_mixer_class *kind = mixer->kind;
  filtra_status status = FILTRA_OK;
  if (!kind->idle) return FILTRA_OK;
  ft_mixer fallback = {.kind = kind};
  FT_TRY(read_options(NULL, context, &fallback));
  json_t *given = ft_mixer_write(mixer), *usual = ft_mixer_write(&fallback);
  if (!given || !usual) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (size_t i = 0; i < kind->field_count && !status; i++) {
    const char *name = kind->fields[i].name, *reason = kind->idle(mixer->options, name);
    if (reason && !json_equal(json_object_get(given, name), json_object_get(usual, name)))
      status = ft_fail(FILTRA_ERROR_INPUT,
                       "%s: mixer \"%s\": \"%s\" has no effect %s; leave it out, or at its default",
                       context, kind->name, name, reason);
  }
  json_decref(given);
  json_decref(usual);
  return status;
}

filtra_status ft_mixer_read(const json_t *json, const char *context, ft_mixer *out) {
  const json_t *object = json_is_object(json) ? json : NULL;
  const json_t *name = object ? json_object_get(object, "name") : json;
  *out = (ft_mixer){.kind = json ? NULL : ft_mixer_at(0)};
  if (json && !json_is_string(name))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"mixer\" must be a name or an object with a \"name\"",
                   context);
  if (json) out->kind = ft_mixer_find(json_string_value(name));
  if (!out->kind) return fail_unknown(json_string_value(name), context);
  FT_TRY(read_options(object, context, out));
  return refuse_idle(out, context);
}

json_t *ft_mixer_write(const ft_mixer *mixer) {
  json_t *options =
      ft_json_write_struct(mixer->kind->fields, mixer->kind->field_count, mixer->options);
  return ft_json_join(options, json_pack("{ss}", "name", mixer->kind->name));
}
