#include "train/input.h"

#include "base/file.h"
#include "base/memory.h"
#include "model/start.h"

#include <stdlib.h>
#include <string.h>

static void note_new(const json_t *names, ft_input *out) {
  static const char *const NEUTRAL[] = {".w0", ".w1", ".wK"};
  for (size_t i = 0; i < json_array_size(names); i++) {
    const char *name = json_string_value(json_array_get(names, i));
    bool neutral = false;
    if (!name) continue;
    for (size_t k = 0; k < FT_COUNT(NEUTRAL); k++)
      neutral |= ft_ends_with(name, NEUTRAL[k]);
    if (!ft_is_of_head(name))
      out->new_parts |= !neutral;
    else if (strncmp(name, "head.1.", 7) != 0)
      out->new_head = true;
    else
      out->new_layer = true;
  }
}

filtra_status ft_input_read(const char *text, const char *context, ft_input *out) {
  json_t *object;
  *out = (ft_input){0};
  if (!text) return FILTRA_OK;
  FT_TRY(ft_json_parse(text, strlen(text), context, &object));
  filtra_status status =
      ft_tokenizer_described(json_object_get(object, "tokenizer"), &out->tokenizer, &out->owned);
  if (status) ft_fail_context(status, "%s: \"tokenizer\"", context);
  out->truncate = json_is_true(json_object_get(object, "truncate"));
  out->imported = json_is_true(json_object_get(object, "imported"));
  note_new(json_object_get(object, "new"), out);
  if (!status) status = ft_run_take_fit(json_incref(object), context, &out->fit);
  json_decref(object);
  if (status) ft_input_free(out);
  return status;
}

void ft_input_free(ft_input *input) {
  ft_run_free_fit(&input->fit);
  filtra_tokenizer_destroy(&input->owned);
  *input = (ft_input){0};
}
