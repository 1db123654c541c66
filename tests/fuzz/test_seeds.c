/* Reads every seed of every reader, in a program built by any compiler. */
#include "base/file.h"
#include "base/memory.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder's files but for the dictionary, and beginnings of each: files are cut off. */
static size_t go_through(const fuzz_reader *reader, const char *folder) {
  enum { CUTS = 24 };
  char **names;
  size_t count, inputs = 0;
  fuzz_check(!ft_list_directory(folder, &names, &count), folder);
  for (size_t i = 0; i < count; i++) {
    char *path = ft_path_join(folder, names[i]), *data;
    size_t size, last = 0;
    fuzz_check(!ft_file_read(path, 1 << 20, &data, &size), path);
    for (size_t k = 0; k <= CUTS && strcmp(names[i], "dictionary") != 0; k++) {
      size_t cut = size - size * k / CUTS;
      if (k && cut == last) continue;
      fuzz_call(reader, (const uint8_t *)data, last = cut);
      inputs++;
    }
    free(data);
    free(path);
  }
  ft_free_names(names, count);
  return inputs;
}

int main(int count, char **arguments) {
  size_t readers = 0, inputs = 0;
  const fuzz_reader *reader;
  for (; (reader = fuzz_at(readers)); readers++) {
    char *folder = ft_path_join(TEST_SOURCE_DIR "/fuzz/readers", reader->name);
    if (count < 2 || !strcmp(arguments[1], reader->name)) {
      size_t here = go_through(reader, folder);
      fuzz_check(here > 0, folder);
      inputs += here;
    }
    free(folder);
  }
  printf("%zu readers, %zu inputs\n", readers, inputs);
  return 0;
}
