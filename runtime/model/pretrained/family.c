/* Finds the family of a config.json. Called by start.c; a new family is one file and a row
 * here. */
#include "model/pretrained/filters.h"

#include <string.h>

static const ft_hf_family *const FAMILIES[] = {&ft_hf_bert, &ft_hf_roberta, &ft_hf_distilbert,
                                               &ft_hf_gpt2, &ft_hf_vit,     &ft_hf_deit_teacher,
                                               &ft_hf_deit};

const ft_hf_family *ft_hf_family_of(const ft_hf_config *config) {
  const char *whole = ft_json_string(config->json, "model_type");
  const bool filtered = !strncmp(whole, FT_HF_FILTERED, strlen(FT_HF_FILTERED));
  const char *type = filtered ? whole + strlen(FT_HF_FILTERED) : whole;
  const ft_hf_family *found = NULL;
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++) {
    if (strcmp(FAMILIES[i]->type, type) != 0) continue;
    found = FAMILIES[i];
    if (ft_hf_has_head(found, config)) break;
  }
  if (found) return found;
  ft_fail(FILTRA_ERROR_INPUT,
          "%s: \"model_type\" is \"%.60s\"; accepted are bert, roberta, distilbert, gpt2, vit and "
          "deit",
          config->path, whole);
  return NULL;
}

const ft_hf_family *ft_hf_family_like(const json_t *keys) {
  const char *task = ft_json_string(keys, "task"),
             *distillation = ft_json_string(keys, "distillation");
  if (!strcmp(task, "language_model")) return &ft_hf_gpt2;
  if (json_integer_value(json_object_get(keys, "patch")))
    return !strcmp(distillation, "none")    ? &ft_hf_vit
           : !strcmp(distillation, "token") ? &ft_hf_deit
                                            : &ft_hf_deit_teacher;
  if (json_integer_value(json_object_get(keys, "position_offset"))) return &ft_hf_roberta;
  return json_integer_value(json_object_get(keys, "token_types")) ? &ft_hf_bert : &ft_hf_distilbert;
}

bool ft_hf_has_head(const ft_hf_family *family, const ft_hf_config *config) {
  return strstr(config->architecture, family->classifier) != NULL;
}
