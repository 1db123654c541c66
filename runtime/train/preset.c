/* Presets: lookup by name, and merging a configuration's keys over a preset's. Called by
 * train/run.c, train/plan.c and train/config.c, and by the command. */
#include "train/preset.h"

#include "nn/mixer.h"

#include <filtra/run.h>
#include <string.h>

static size_t count_presets(void) {
  size_t count = 0;
  while (ft_presets[count].name)
    count++;
  return count;
}

const char *filtra_preset_name(size_t index) {
  return index < count_presets() ? ft_presets[index].name : NULL;
}

const char *filtra_preset_json(const char *name) {
  for (const ft_preset *p = name ? ft_presets : NULL; p && p->name; p++)
    if (!strcmp(p->name, name)) return p->json;
  const char *near =
      name ? ft_nearest_name(name, ft_presets, count_presets(), sizeof *ft_presets) : NULL;
  ft_fail(FILTRA_ERROR_INPUT, "there is no preset \"%.64s\"%s%s%s; `filtra presets` lists them",
          name ? name : "", near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
  return NULL;
}

static const char *mixer_name(const json_t *mixer) {
  return json_string_value(json_is_object(mixer) ? json_object_get(mixer, "name") : mixer);
}

/* Whether the mixer needs the Converter's block. */
static bool has_complex_features(const char *mixer) {
  const ft_mixer_class *kind = mixer ? ft_mixer_find(mixer) : NULL;
  return kind && kind->build_complex;
}

/* Replaces the preset's mixer. Options for the same or no named mixer are added to the preset's. */
static int merge_mixer(json_t *config, json_t *given) {
  json_t *own = json_object_get(config, "mixer");
  const char *name = mixer_name(given), *own_name = mixer_name(own);
  if (!given || (name && own_name && json_is_string(given) && !strcmp(name, own_name))) return 0;
  bool joins = json_is_object(given) && own_name && (!name || !strcmp(name, own_name));
  if (!joins && !has_complex_features(name)) json_object_del(config, "block");
  if (!joins) return json_object_set(config, "mixer", given);
  json_t *both = json_is_object(own) ? json_deep_copy(own) : json_pack("{ss}", "name", own_name);
  int failed = json_object_update(both, given);
  return json_object_set_new(config, "mixer", both) || failed;
}

static const char *const LENGTHS[2] = {"steps", "epochs"};
static const char *const WARMUPS[2] = {"warmup_steps", "warmup_epochs"};

/* Replaces the preset's length by steps or epochs of `given`. The warmup becomes the same fraction
 * of the new length, unless `given` has one. */
static int fit_length(json_t *config, const json_t *given) {
  int to = json_object_get(given, LENGTHS[0]) ? 0 : 1,
      from = json_object_get(config, "steps") ? 0 : 1;
  double length = json_number_value(json_object_get(given, LENGTHS[to]));
  double recipe = json_number_value(json_object_get(config, LENGTHS[from]));
  double warmup = json_number_value(json_object_get(config, WARMUPS[from]));
  bool warmup_given = json_object_get(given, WARMUPS[0]) || json_object_get(given, WARMUPS[1]);
  if (length > 0.0) {
    json_object_del(config, LENGTHS[from]);
    json_object_del(config, WARMUPS[from]);
    warmup *= recipe > 0.0 ? length / recipe : 0.0;
  }
  if (warmup_given) {
    json_object_del(config, WARMUPS[from]);
    return 0;
  }
  if (length <= 0.0 || warmup <= 0.0) return 0;
  json_t *fitted = to == 0 ? json_integer((json_int_t)warmup) : json_real(warmup);
  return json_object_set_new(config, WARMUPS[to], fitted);
}

filtra_status ft_preset_expand(const json_t *given, json_t **out) {
  const char *name = json_string_value(json_object_get(given, "preset"));
  json_t *preset = NULL;
  *out = json_is_object(given) ? NULL : json_deep_copy(given); /* readers refuse other values */
  if (*out) return FILTRA_OK;
  if (name && !*name) name = NULL; /* a run without a preset writes "" */
  const char *text = name ? filtra_preset_json(name) : NULL;
  if (name && !text) return FILTRA_ERROR_INPUT;
  if (name) FT_TRY(ft_json_parse(text, strlen(text), name, &preset));
  json_t *config = name ? json_deep_copy(json_object_get(preset, "config")) : json_object();
  json_t *over = json_deep_copy(given); /* json_copy does not check whether memory ran out */
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
