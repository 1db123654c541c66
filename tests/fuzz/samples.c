#include "samples.h"
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>

static void check_tokens(const filtra_dataset_info *info, const int32_t *tokens, uint32_t length) {
  int32_t first = info->input == FILTRA_INPUT_TOKENS && info->tokenizer ? 0 : 1;
  fuzz_check(length >= 1 && length <= info->longest, "a sample's length");
  int64_t size = info->tokenizer ? filtra_tokenizer_size(info->tokenizer) : 1 << 24;
  for (uint32_t i = 0; i < length; i++)
    fuzz_check(tokens[i] >= first && tokens[i] < size, "a token's id");
}

static void check_sample(const filtra_dataset *ds, filtra_split split, uint64_t index) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  filtra_sample s;
  fuzz_check(!filtra_dataset_sample(ds, split, index, &s), "a sample");
  const bool all = info->unlabelled[split] == 0;
  if (info->target == FILTRA_TARGET_CLASS && (all || s.label != -1))
    fuzz_check(s.label >= 0 && (uint32_t)s.label < info->classes, "a label");
  if (info->target == FILTRA_TARGET_VALUE) fuzz_check(isfinite(s.value) || !all, "a value");
  if (info->input == FILTRA_INPUT_TOKENS) {
    check_tokens(info, s.tokens, s.length);
    if (info->sequences == 2) check_tokens(info, s.second, s.second_length);
    return;
  }
  float *features = malloc((size_t)s.length * info->features * sizeof *features);
  fuzz_check(features != NULL, "memory");
  filtra_status status = filtra_dataset_sample_features(ds, split, index, features);
  fuzz_failed(status); /* an image is decoded only now */
  for (size_t i = 0; !status && i < (size_t)s.length * info->features; i++)
    fuzz_check(isfinite(features[i]), "a feature");
  free(features);
}

void fuzz_dataset(const char *path, const filtra_dataset_options *options) {
  filtra_dataset *ds;
  filtra_status status = filtra_dataset_open(path, options, &ds);
  fuzz_failed(status);
  fuzz_check(!status == (ds != NULL), "a data set or a failure");
  if (status) return;
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  uint64_t samples = 0;
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++)
    for (uint64_t k = 0; k < info->count[split]; k++, samples++)
      check_sample(ds, split, k);
  fuzz_check(samples > 0, "samples");
  for (uint32_t i = 0; info->target == FILTRA_TARGET_CLASS && i < info->classes; i++)
    fuzz_check(filtra_dataset_class_name(ds, i) != NULL, "a class's name");
  filtra_dataset_close(&ds);
}
