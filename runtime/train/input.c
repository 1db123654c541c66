#include "train/input.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

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
  out->untrained = json_array_size(json_object_get(object, "new")) > 0;
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
