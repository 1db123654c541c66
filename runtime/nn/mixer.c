/* Reading a mixer and its options from JSON, and writing them. */
#include "nn/mixer.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys of a mixer, after "name", which is thereby a known key. */
static ft_keys all_keys(const ft_mixer_class *kind, ft_key list[FT_MIXER_KEYS]) {
  list[0] = (ft_key)FT_OTHER_KEY("name", NULL);
  memcpy(list + 1, kind->keys.list, kind->keys.count * sizeof *list);
  return (ft_keys){list, kind->keys.count + 1};
}

/* Fails, and says where others than these come from, as of a run whose module is not loaded. */
static filtra_status fail_unknown(const char *name, const char *context) {
  char list[2400] = ""; /* 64 names */
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", filtra_mixer_name(i));
  }
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: unknown mixer \"%.64s\"; known are %s; a module's are with --plugin FILE, or "
                 "filtra_mixer_register",
                 context, name, list);
}

static bool has_key(const ft_mixer_class *kind, const char *name) {
  for (size_t i = 0; i < kind->keys.count; i++)
    if (!strcmp(kind->keys.list[i].name, name)) return true;
  return false;
}

/* Lists the mixers that have an option. */
static void list_having(const char *option, size_t size, char list[size]) {
  *list = '\0';
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    size_t used = strlen(list);
    if (has_key(ft_mixer_at(i), option))
      snprintf(list + used, size - used, "%s%s", used ? ", " : "", filtra_mixer_name(i));
  }
}

/* Options without a mixer, as of "mixer.K=5" alone: names the mixers that have the first one. */
static filtra_status fail_unnamed(const json_t *object, const char *context) {
  const char *option = json_object_iter_key(json_object_iter((json_t *)object));
  char list[2400]; /* 64 names */
  list_having(option, sizeof list, list);
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "%s: \"mixer\" has the option \"%.64s\" and no \"name\"; name a mixer that has it: "
      "%s",
      context, option, *list ? list : "there is none");
}

static filtra_status fail_option(const ft_mixer_class *kind, const char *option,
                                 const char *context) {
  const ft_keys *keys = &kind->keys;
  const char *nearest = ft_nearest_name(option, keys->list, keys->count, sizeof *keys->list);
  char own[FT_KEY_TEXT * 2] = "", others[2400];
  for (size_t i = 0; i < keys->count; i++) {
    size_t used = strlen(own);
    snprintf(own + used, sizeof own - used, "%s%s", i ? ", " : "", keys->list[i].name);
  }
  list_having(option, sizeof others, others);
  return ft_fail(
      FILTRA_ERROR_INPUT, "%s: mixer \"%s\" has no option \"%.64s\"%s%s%s; its options: %s%s%s",
      context, kind->name, option, nearest ? " (did you mean \"" : "", nearest ? nearest : "",
      nearest ? "\"?)" : "", *own ? own : "none", *others ? "; mixers that have it: " : "", others);
}

static filtra_status check_options(const json_t *object, const ft_mixer_class *kind,
                                   const char *context) {
  const char *option;
  json_t *value;
  json_object_foreach((json_t *)object, option, value) {
    if (strcmp(option, "name") != 0 && !has_key(kind, option))
      return fail_option(kind, option, context);
  }
  return FILTRA_OK;
}

static filtra_status read_options(const json_t *object, const char *context, ft_mixer *mixer) {
  ft_key list[FT_MIXER_KEYS];
  const ft_keys keys = all_keys(mixer->kind, list);
  json_t *empty = json_object();
  char *where = ft_format("%s: mixer \"%s\"", context, mixer->kind->name);
  filtra_status status = empty && where
                             ? ft_keys_read(object ? object : empty, &keys, mixer->options, where)
                             : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  free(where);
  json_decref(empty);
  return status;
}

/* An option without effect must have its default: files that list all options have it. */
static filtra_status refuse_idle(const ft_mixer *mixer, const char *context) {
  const ft_mixer_class *kind = mixer->kind;
  for (size_t i = 0; i < kind->keys.count && kind->idle; i++) {
    const ft_key *k = &kind->keys.list[i];
    const char *reason = kind->idle(mixer->options, k->name);
    if (reason && !ft_key_is_default(k, mixer->options))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: mixer \"%s\": \"%s\" has no effect %s; leave it out, or at its default",
                     context, kind->name, k->name, reason);
  }
  return FILTRA_OK;
}

filtra_status ft_mixer_read(const json_t *json, const char *context, ft_mixer *out) {
  const json_t *object = json_is_object(json) ? json : NULL;
  const json_t *name = object ? json_object_get(object, "name") : json;
  *out = (ft_mixer){.kind = json ? NULL : ft_mixer_at(0)};
  if (object && !name && json_object_size(object)) return fail_unnamed(object, context);
  if (json && !json_is_string(name))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"mixer\" must be a name or an object with a \"name\"",
                   context);
  if (json) out->kind = ft_mixer_find(json_string_value(name));
  if (!out->kind) return fail_unknown(json_string_value(name), context);
  FT_TRY(check_options(object, out->kind, context));
  FT_TRY(read_options(object, context, out));
  return refuse_idle(out, context);
}

json_t *ft_mixer_write(const ft_mixer *mixer) {
  json_t *options = ft_keys_write(&mixer->kind->keys, mixer->options);
  return ft_json_join(options, json_pack("{ss}", "name", mixer->kind->name));
}
