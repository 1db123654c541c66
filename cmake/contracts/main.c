/* Compares all kernels that the library embeds with their contracts. Prints what is wrong, and
 * fails. */
#include "check.h"

#include <stdio.h>

int main(void) {
  char message[256];
  int wrong = 0;
  for (const ft_kernel_source *s = ft_kernel_sources; s->name; s++)
    if (!contract_holds(s->name, s->words, s->bytes / sizeof *s->words, message, sizeof message)) {
      fprintf(stderr, "contracts: %s %s\n", s->name, message);
      wrong++;
    }
  if (!contracts_are_used(ft_kernel_sources, message, sizeof message)) {
    fprintf(stderr, "contracts: %s\n", message);
    wrong++;
  }
  return wrong != 0;
}
