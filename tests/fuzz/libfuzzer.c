/* The program for clang's libFuzzer: `filtra_fuzz READER [libFuzzer's arguments]`. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const fuzz_reader *reader;

int LLVMFuzzerInitialize(int *count, char ***arguments) {
  reader = *count > 1 ? fuzz_find((*arguments)[1]) : NULL;
  if (!reader) {
    const fuzz_reader *r;
    for (size_t i = 0; (r = fuzz_at(i)); i++)
      puts(r->name);
    exit(*count > 1 ? 2 : 0);
  }
  (*arguments)[1] = (*arguments)[0]; /* libFuzzer sees no word of it */
  ++*arguments;
  --*count;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_call(reader, data, size);
  return 0;
}
