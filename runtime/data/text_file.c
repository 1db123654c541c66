/* Adds a text file as a sample. Called by text_folders.c and loose_files.c. */
#include "data/text_file.h"

#include <string.h>

bool ft_text_named(const char *name) {
  size_t length = strlen(name);
  if (length > 3 && !strcmp(name + length - 3, ".gz")) length -= 3;
  return length > 4 && !memcmp(name + length - 4, ".txt", 4);
}

filtra_status ft_text_file_add(ft_corpus *corpus, const char *path, int32_t label) {
  FT_TRY(ft_corpus_add_file(corpus, path));
  filtra_status status = ft_corpus_end_sample(corpus, label);
  if (status) return ft_fail_context(status, "%s", path);
  if (corpus->vocabulary) return FILTRA_OK;
  return ft_samples_add_name(&corpus->ds->samples[corpus->split], path, strlen(path));
}
