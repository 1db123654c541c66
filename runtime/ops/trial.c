/* Inputs and outputs of trials. */
#include "ops/trial.h"

filtra_tensor *ft_trial_input(ft_trial *t, const char *name, filtra_dtype dtype, int ndim,
                              const int64_t *shape) {
  filtra_tensor *x = filtra_graph_input(t->graph, name, dtype, ndim, shape);
  if (x) t->in[t->inputs++] = x;
  return x;
}

void ft_trial_output(ft_trial *t, filtra_tensor *x) {
  if (x) t->out[t->outputs++] = filtra_graph_output(t->graph, x);
}
