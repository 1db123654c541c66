/* Reverse-mode differentiation: goes through the ops from the last to the first, and each op's rule
 * records more calls. Called by filtra_graph_backward; rules get gradients by ft_grad and
 * ft_grad_target.
 *
 * A tensor's gradient is complete when the rule of its producer runs, because all consumers come
 * later on the tape. The first contribution writes it, later ones accumulate in place. */
#include "graph/parameters.h"
#include "graph/tape.h"

#include <stdio.h>
#include <string.h>

/* The gradient of x's owner, viewed with x's shape, strides and offset. */
static filtra_tensor *grad_view(filtra_graph *g, const filtra_tensor *x) {
  const filtra_tensor *o = x->owner;
  if (x == o) return o->grad;
  filtra_tensor *v = ft_tensor_struct(g, o->grad->name, x->ndim, x->shape, o->grad->storage);
  if (!v) return NULL;
  memcpy(v->stride, x->stride, sizeof v->stride);
  v->offset = o->grad->offset + x->offset - o->offset;
  return v;
}

filtra_tensor *ft_grad(filtra_graph *g, const filtra_tensor *t) {
  if (!t || g->status || !t->owner->grad) return NULL;
  return grad_view(g, t);
}

static bool is_read_once(const struct ft_tape *tape, const ft_storage *storage) {
  int readers = 0;
  for (size_t i = 0; i < tape->forward_calls; i++)
    for (uint32_t k = 0; k < tape->calls[i].arg_count; k++) {
      const ft_arg *a = &tape->calls[i].args[k];
      if (a->tensor && a->tensor->storage == storage && (a->mode & FT_ACCESS_READ)) readers++;
    }
  return readers == 1;
}

const void *ft_sole_producer(const filtra_graph *g, const filtra_tensor *x, ft_backward_fn rule) {
  const struct ft_tape *tape = &g->tape;
  if (!tape->fuses || x->grad || !is_read_once(tape, x->storage)) return NULL;
  for (size_t i = tape->op_count; i-- > 0;)
    for (int k = 0; k < tape->ops[i].output_count; k++)
      if (tape->ops[i].outputs[k] == x)
        return tape->ops[i].backward == rule ? tape->ops[i].context : NULL;
  return NULL;
}

static bool start_grad(filtra_graph *g, filtra_tensor *o) {
  char name[128];
  snprintf(name, sizeof name, "gradient of %s", o->name);
  if (o->whole) {
    filtra_tensor *root = o->whole;
    if (!root->grad) {
      root->grad_partial = true;
      if (!start_grad(g, root)) return false;
    }
    o->grad = ft_tensor_struct(g, name, o->ndim, o->shape, root->grad->storage);
    if (!o->grad) return false;
    memcpy(o->grad->stride, o->stride, sizeof o->stride);
    o->grad->offset = root->grad->offset + o->offset - root->offset;
  } else if (o->params) {
    o->grad = ft_tensor_of_parameter(g, name, FILTRA_F32, o->ndim, o->shape, FT_HOME_GRADIENTS,
                                     o->param_index);
  } else {
    o->grad = ft_tensor_like(g, o, name);
  }
  return o->grad != NULL;
}

filtra_tensor *ft_grad_target(filtra_graph *g, filtra_tensor *t, bool *accumulate) {
  *accumulate = false;
  if (!t || g->status || !t->requires_grad) return NULL;
  filtra_tensor *o = t->owner;
  if (o->grad_partial)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "%s was split and is used by another op as well; use its pieces", t->name);
  /* A chunk of a tensor that already has a complete gradient adds to it. */
  *accumulate = o->grad || (o->whole && o->whole->grad && !o->whole->grad_partial);
  if (!o->grad && !start_grad(g, o)) return NULL;
  return grad_view(g, t);
}

void ft_grad_give(filtra_graph *g, filtra_tensor *t, filtra_tensor *from) {
  if (!t || !from || g->status || !t->requires_grad) return;
  filtra_tensor *o = t->owner;
  bool take = !o->grad && !o->whole && !o->params &&
              !memcmp(t->stride, from->stride, (size_t)t->ndim * sizeof *t->stride);
  if (take) {
    o->grad = ft_tensor_struct(g, from->name, o->ndim, o->shape, from->storage);
    if (!o->grad) return;
    memcpy(o->grad->stride, o->stride, sizeof o->stride);
    o->grad->offset = from->offset + o->offset - t->offset;
    return;
  }
  bool accumulate;
  filtra_tensor *target = ft_grad_target(g, t, &accumulate);
  if (target) ft_emit_copy(g, from, target, accumulate);
}

/* Sets gradients of parameters that do not affect the outputs to zero. */
static void clear_unreached(filtra_graph *g) {
  struct ft_tape *tape = &g->tape;
  tape->cleared = tape->params ? tape->params->count : 0;
  for (size_t i = 0; i < tape->cleared; i++) {
    const filtra_tensor *t = i < tape->parameter_count ? tape->parameters[i] : NULL;
    const ft_parameter *p = &tape->params->list[i];
    if ((t && t->grad) || p->options.buffer || p->frozen) continue;
    ft_emit_fill(
        g, ft_tensor_of_parameter(g, p->name, FILTRA_F32, 1, &p->elements, FT_HOME_GRADIENTS, i),
        0.0f);
  }
}

static void seed_output(filtra_graph *g, filtra_tensor *output, filtra_tensor *upstream) {
  if (!ft_usable(g, output) || !output->requires_grad) return;
  if (upstream && (!ft_usable_dense(g, upstream, "backward", "upstream gradient"))) return;
  if (upstream && !ft_same_shape(upstream, output)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "backward: upstream %s %s has another shape than output %s %s", upstream->name,
                  ft_shape_text(upstream), output->name, ft_shape_text(output));
    return;
  }
  bool accumulate;
  filtra_tensor *target = ft_grad_target(g, output, &accumulate);
  if (!target) return;
  if (!upstream && accumulate) {
    upstream = ft_tensor_like(g, target, "ones");
    if (upstream) ft_emit_fill(g, upstream, 1.0f);
  }
  if (upstream)
    ft_emit_copy(g, upstream, target, accumulate);
  else
    ft_emit_fill(g, target, 1.0f);
}

static void run_rule(filtra_graph *g, size_t i) {
  const ft_op op = g->tape.ops[i]; /* a copy: rules may reallocate the list */
  bool reached = false;
  for (int k = 0; k < op.output_count; k++)
    if (op.outputs[k] && op.outputs[k]->owner->grad) reached = true;
  ft_segment_enter(g, i);
  if (reached && op.differentiable) op.backward(g, op.context);
  ft_segment_leave(g, i);
}

filtra_status filtra_graph_backward(filtra_graph *g, size_t count, filtra_tensor *const *outputs,
                                    filtra_tensor *const *upstream) {
  FT_NEED(g);
  if (count) FT_NEED(outputs);
  struct ft_tape *tape = &g->tape;
  if (tape->phase != FT_FORWARD || g->program)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "backward: once per graph, before compile");
  if (tape->params && tape->params->committed && !tape->params->trainable)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "backward: the parameters were committed without gradients (trainable false)");
  FT_TRY(ft_graph_status(g));
  FT_TRY(ft_tape_share(tape));
  tape->phase = FT_BACKWARD;
  tape->forward_calls = tape->call_count;
  for (size_t i = 0; i < count; i++)
    seed_output(g, outputs[i], upstream ? upstream[i] : NULL);
  for (size_t i = tape->op_count; i-- > 0 && !g->status;)
    run_rule(g, i);
  clear_unreached(g);
  tape->phase = FT_DIFFERENTIATED;
  return ft_graph_status(g);
}

filtra_tensor *filtra_graph_gradient(filtra_graph *g, filtra_tensor *t) {
  if (!ft_usable(g, t)) return NULL;
  if (!t->requires_grad || !(t->input || t->params))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "gradient of %s: only parameters and inputs that require one keep theirs",
                         t->name);
  return t->grad;
}
