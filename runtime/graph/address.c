/* Device addresses of tensors in a program. */
#include "graph/program.h"

const ft_buffer *ft_program_buffer(const ft_program *p, const ft_place *place) {
  return place->buffer ? place->buffer : p->blocks[place->block];
}

uint64_t ft_program_address(const ft_program *p, const filtra_tensor *t) {
  const ft_place place = ft_place_of(p->plan, t);
  return ft_program_buffer(p, &place)->address + place.offset +
         (uint64_t)t->offset * filtra_dtype_bytes(t->storage->dtype);
}
