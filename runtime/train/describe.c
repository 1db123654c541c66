/* The keys of a run's configuration, from the tables that read them. */
#include "train/config.h"

#include <filtra/run.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_names(FILE *to, const char *const *names) {
  for (int i = 0; names[i]; i++)
    fprintf(to, "%s%s", i ? ", " : "", names[i]);
}

static void print_list(FILE *to, const float *list) {
  char text[64] = "";
  for (int i = 0; list[i] != 0; i++) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%g", i ? ", " : "[", ft_shortest(list[i]));
  }
  fprintf(to, "%-14s ", strcat(text, "]"));
}

static void print_field(FILE *to, const ft_json_field *f, const char *prefix) {
  char key[64];
  snprintf(key, sizeof key, "%s%s", prefix, f->name);
  fprintf(to, "  %-24s ", key);
  switch (f->type) {
  case FT_JSON_INT:
  case FT_JSON_FLOAT:
    fprintf(to, "%-14.10g %.10g to %.10g", f->fallback, f->low, f->high);
    break;
  case FT_JSON_BOOL:
    fprintf(to, "%-14s false, true", f->fallback != 0.0 ? "true" : "false");
    break;
  case FT_JSON_ENUM:
    fprintf(to, "%-14s ", f->names[(int)f->fallback]);
    print_names(to, f->names);
    break;
  case FT_JSON_STRING:
    fprintf(to, "%-14s text", "");
    break;
  case FT_JSON_FLOATS:
    print_list(to, f->list);
    fprintf(to, "numbers, %.10g to %.10g", f->low, f->high);
    break;
  case FT_JSON_ANY: /* the mixer */
    fprintf(to, "%-14s name, or {\"name\": NAME, OPTION...} with the options below", "softmax");
    break;
  }
  fputc('\n', to);
}

static void print_keys(FILE *to) {
  ft_json_field fields[FT_RUN_MAX_FIELDS];
  size_t count = ft_run_config_fields(fields);
  fprintf(to,
          "\nKeys of the configuration, with default and what is accepted. 0 or nothing as default "
          "means:\nvocabulary, classes, max_length, tokenizer from the data; ffn_width 2 width, "
          "head_width as\nffn_width, embedding_init 0.02 or init_std, activation gelu, "
          "head_activation relu (with block\nconverter 4 width, width, 1 / sqrt(max_length), "
          "softplus, leaky_relu); max_vocabulary 65536;\nsteps and epochs 10 epochs; eval_every "
          "once an epoch; checkpoint_every as eval_every.\n\n");
  for (size_t i = 0; i < count; i++)
    print_field(to, &fields[i], "");
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    const ft_mixer_class *mixer = ft_mixer_at(i);
    fprintf(to, "\n  mixer %s%s%s\n", mixer->name, mixer->description ? ": " : "",
            mixer->description ? mixer->description : "");
    for (size_t k = 0; k < mixer->field_count; k++)
      print_field(to, &mixer->fields[k], "mixer.");
  }
}

char *filtra_config_describe(void) {
  char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  if (to) print_keys(to);
  if (to && !fclose(to)) return text;
  free(text);
  ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return NULL;
}
