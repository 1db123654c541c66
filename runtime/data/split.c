/* Names of splits. */
#include "data/dataset.h"

#include <string.h>

const char *filtra_split_name(filtra_split split) {
  static const char *const names[FILTRA_SPLIT_COUNT] = {"train", "val", "test"};
  return (unsigned)split < FILTRA_SPLIT_COUNT ? names[split] : "unknown split";
}

filtra_status filtra_split_from_name(const char *name, filtra_split *split) {
  FT_NEED(name, split);
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++) {
    *split = (filtra_split)i;
    if (!strcmp(name, filtra_split_name(*split))) return FILTRA_OK;
  }
  return ft_fail(FILTRA_ERROR_ARGUMENT, "split \"%s\": accepted are train, val and test", name);
}
