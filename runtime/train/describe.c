/* The keys of a run's configuration in words, from the tables that read them: the lists of
 * `filtra train --help`. */
#include "train/config.h"

#include <filtra/run.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  fputs("\nKeys of the configuration, with default and accepted values.\n", to);
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

char *filtra_run_describe_keys(void) {
  char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  if (to) list_all(to);
  if (to && !fclose(to)) return text;
  free(text);
  ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return NULL;
}
