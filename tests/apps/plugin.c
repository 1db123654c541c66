/* A module for --plugin: a mixer that adds to each token the sum of all. Compiled in four ways:
 * correct, refusing, failing without a message, and without the function. */
#include <filtra/filtra.h>

#ifndef plugin_lacks
static filtra_tensor *build(const filtra_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  filtra_graph *g = filtra_scope_graph(scope);
  int64_t size[FILTRA_MAX_DIMS];
  (void)options, (void)auxiliary;
  if (!in->x || filtra_tensor_shape(in->x, size) != 3) return NULL;
  filtra_tensor *mask = filtra_reshape(g, in->mask, 3, (int64_t[]){size[0], size[1], 1});
  filtra_tensor *v = filtra_scope_linear(scope, "value", in->x, size[2], NULL);
  filtra_tensor *all = filtra_sum(g, filtra_multiply(g, v, mask), 1, FILTRA_KEEP_AXIS);
  return filtra_mixer_output(scope, in, filtra_add(g, v, all));
}

filtra_status filtra_plugin(void) {
  const filtra_mixer mixer = {.name = "plugin_sum",
                              .description = "the sum of all tokens",
                              .not_causal = "its sum is of all tokens",
                              .build = build};
#ifdef plugin_refuses
  return filtra_mixer_register(&(filtra_mixer){.name = "No Name", .build = mixer.build});
#elif defined plugin_fails
  return FILTRA_ERROR_UNSUPPORTED;
#else
  return filtra_mixer_register(&mixer);
#endif
}
#endif
