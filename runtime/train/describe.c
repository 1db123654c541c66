/* Help for the keys of a run's configuration: the lists of `filtra train --help` and the
 * explanations of --help KEY, from the tables that also read the keys. Called by the command. */
#include "base/stream.h"
#include "train/config.h"

#include <filtra/run.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 80, INDENT = 2 };

/* ---- lists ---- */

static void list_keys(FILE *to, const char *prefix, const ft_keys *keys) {
  char name[64], usual[FT_KEY_TEXT], accepted[FT_KEY_TEXT];
  for (size_t i = 0; i < keys->count; i++) {
    const ft_key *k = &keys->list[i];
    snprintf(name, sizeof name, "%s%s", prefix, k->name);
    ft_key_default(k, usual);
    ft_key_accepted(k, accepted);
    fprintf(to, "  %-30s %-14s %s\n", name, usual, accepted);
  }
}

static void name_mixer(FILE *to, const ft_mixer_class *mixer) {
  const char *description = mixer->description;
  fprintf(to, "mixer %s%s%s\n", mixer->name, description ? ": " : "",
          description ? description : "");
}

static void list_all(FILE *to) {
  const char *name = "";
  fputs("\nKeys of the configuration, with default and accepted values; --help KEY explains one.\n",
        to);
  for (size_t t = 0; t < FT_RUN_KEY_TABLES; t++) {
    const ft_key_table *table = &ft_run_key_tables[t];
    if (strcmp(name, table->name)) fprintf(to, "\n  %s\n", table->name);
    name = table->name;
    list_keys(to, "", table->keys);
  }
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    fputs("\n  ", to);
    name_mixer(to, ft_mixer_at(i));
    list_keys(to, "mixer.", &ft_mixer_at(i)->keys);
  }
}

/* ---- one key ---- */

/* Wraps text to lines of at most COLUMNS characters. */
static void wrap(FILE *to, const char *text) {
  int column = 0;
  while (*text) {
    int length = (int)strcspn(text, " ");
    bool begins = column == 0 || column + 1 + length > COLUMNS - INDENT;
    if (begins)
      fprintf(to, "%s%*s%.*s", column ? "\n" : "", INDENT, "", length, text);
    else
      fprintf(to, " %.*s", length, text);
    column = begins ? length : column + 1 + length;
    text += length + (text[length] == ' ');
  }
  if (column) fputc('\n', to);
}

static void explain_key(FILE *to, const ft_key *k) {
  char usual[FT_KEY_TEXT], accepted[FT_KEY_TEXT];
  ft_key_default(k, usual);
  ft_key_accepted(k, accepted);
  if (k->help) wrap(to, k->help);
  fprintf(to, "%*saccepted: %s\n%*sdefault: %s\n", INDENT, "", accepted, INDENT, "",
          *usual ? usual : "none");
  if (k->paper) fprintf(to, "%*spaper: %s\n", INDENT, "", k->paper);
}

/* The name to explain, and the most similar known name. */
typedef struct topic {
  FILE *to;
  const char *name, *near;
  const ft_mixer_class *near_mixer; /* the mixer whose option `near` is */
  size_t found, best;
} topic;

/* Whether `name` is the one to explain; the caller then explains it. */
static bool asks_for(topic *t, const char *name, const ft_mixer_class *mixer) {
  size_t distance = ft_name_distance(name, t->name);
  if (distance < t->best) {
    t->best = distance;
    t->near = name;
    t->near_mixer = mixer;
  }
  if (distance == 0 && t->found++) fputc('\n', t->to);
  return distance == 0;
}

static void explain_option(topic *t, const ft_mixer_class *mixer, const ft_key *k) {
  if (!asks_for(t, k->name, mixer)) return;
  fprintf(t->to, "mixer.%s, ", k->name);
  name_mixer(t->to, mixer);
  explain_key(t->to, k);
}

static void explain_mixer(topic *t, const ft_mixer_class *mixer) {
  if (!asks_for(t, mixer->name, NULL)) return;
  name_mixer(t->to, mixer);
  for (size_t i = 0; i < mixer->keys.count; i++) {
    fprintf(t->to, "\nmixer.%s\n", mixer->keys.list[i].name);
    explain_key(t->to, &mixer->keys.list[i]);
  }
}

/* Explains a key, a mixer, or a mixer's option. The prefix "mixer." distinguishes an option from a
 * key of the same name. */
static filtra_status explain(FILE *to, const char *name) {
  static const char MIXER[] = "mixer.";
  const bool option = !strncmp(name, MIXER, sizeof MIXER - 1);
  topic t = {.to = to, .name = option ? name + sizeof MIXER - 1 : name};
  ft_key list[FT_RUN_MOST_KEYS];
  const ft_keys keys = ft_run_config_keys(list);
  t.best = strlen(t.name) / 2 + 1;
  for (size_t i = 0; i < keys.count && !option; i++)
    if (asks_for(&t, list[i].name, NULL)) {
      fprintf(to, "%s\n", name);
      explain_key(to, &list[i]);
    }
  for (size_t m = 0; m < filtra_mixer_count(); m++) {
    const ft_mixer_class *mixer = ft_mixer_at(m);
    if (!option) explain_mixer(&t, mixer);
    for (size_t i = 0; i < mixer->keys.count; i++)
      explain_option(&t, mixer, &mixer->keys.list[i]);
  }
  if (t.found) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "there is no key \"%.64s\"%s%s%s%s; `filtra train --help` lists all", name,
                 t.near ? " (did you mean \"" : "", t.near_mixer ? MIXER : "", t.near ? t.near : "",
                 t.near ? "\"?)" : "");
}

filtra_status filtra_config_describe(const char *key, char **out) {
  FT_NEED(out);
  char *text = NULL;
  size_t size;
  filtra_status status = FILTRA_OK;
  *out = NULL;
  FILE *to = ft_open_memstream(&text, &size);
  if (to && key)
    status = explain(to, key);
  else if (to)
    list_all(to);
  if (!to || fclose(to)) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (status)
    free(text);
  else
    *out = text;
  return status;
}
