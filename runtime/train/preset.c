#include "train/preset.h"

#include <string.h>

static const ft_preset *find(const char *name) {
  for (const ft_preset *p = ft_presets; p->name; p++)
    if (!strcmp(p->name, name)) return p;
  return NULL;
}

static const char *nearest(const char *name) {
  const char *found = NULL;
  size_t best = strlen(name) / 2 + 1;
  for (const ft_preset *p = ft_presets; p->name; p++) {
    size_t distance = ft_name_distance(name, p->name);
    if (distance >= best) continue;
    best = distance;
    found = p->name;
  }
  return found;
}

filtra_status ft_preset_load(const char *name, json_t **out) {
  const ft_preset *preset = find(name);
  *out = NULL;
  if (preset) return ft_json_parse(preset->json, strlen(preset->json), preset->name, out);
  const char *near = nearest(name);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "there is no preset \"%.64s\"%s%s%s; `filtra train --list-presets` lists them",
                 name, near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static const char *mixer_name(const json_t *mixer) {
  return json_string_value(json_is_object(mixer) ? json_object_get(mixer, "name") : mixer);
}

/* Options without a name, or of the same mixer, join those of the preset. */
static int merge_mixer(json_t *config, json_t *given) {
  json_t *own = json_object_get(config, "mixer");
  const char *name = mixer_name(given), *own_name = mixer_name(own);
  if (!given || (name && own_name && json_is_string(given) && !strcmp(name, own_name))) return 0;
  bool joins = json_is_object(given) && own_name && (!name || !strcmp(name, own_name));
  if (!joins) return json_object_set(config, "mixer", given);
  json_t *both = json_is_object(own) ? json_deep_copy(own) : json_pack("{ss}", "name", own_name);
  int failed = json_object_update(both, given);
  return json_object_set_new(config, "mixer", both) || failed;
}

static int fit_length(json_t *config, const json_t *given) {
  json_t *steps = json_object_get(given, "steps"), *epochs = json_object_get(given, "epochs");
  json_int_t from = json_integer_value(json_object_get(config, "steps"));
  json_int_t to = json_integer_value(steps);
  json_t *warmup = json_object_get(config, "warmup_steps");
  if (steps && !epochs) json_object_del(config, "epochs");
  if (epochs && !steps) json_object_del(config, "steps");
  if (from <= 0 || to <= 0 || !warmup) return 0;
  double scaled = (double)json_integer_value(warmup) * (double)to / (double)from;
  return json_object_set_new(config, "warmup_steps", json_integer((json_int_t)scaled));
}

filtra_status ft_preset_expand(const json_t *given, json_t **out) {
  const char *name = json_string_value(json_object_get(given, "preset"));
  json_t *preset = NULL;
  if (name && !*name) name = NULL;                             /* as a run without one writes it */
  *out = json_is_object(given) ? NULL : json_deep_copy(given); /* refused by who reads it */
  if (*out) return FILTRA_OK;
  if (name) FT_TRY(ft_preset_load(name, &preset));
  json_t *config = name ? json_deep_copy(json_object_get(preset, "config")) : json_object();
  json_t *over = json_copy((json_t *)given); /* shallow: its own keys can go */
  json_decref(preset);
  int failed = !config || !over || fit_length(config, over) ||
               merge_mixer(config, json_object_get(over, "mixer"));
  if (!failed) {
    json_object_del(over, "mixer");
    failed = json_object_update(config, over);
  }
  json_decref(over);
  *out = failed ? NULL : config;
  if (!failed) return FILTRA_OK;
  json_decref(config);
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}
