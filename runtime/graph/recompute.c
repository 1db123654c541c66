/* Recomputation: results of a segment of the forward pass that backward rules read are not kept,
 * but recomputed by copies of the calls that wrote them (Chen et al. 2016, "Training deep nets with
 * sublinear memory cost", section 4). The copies write to the same tensors, which thus have two
 * lives; in between, the plan reuses their bytes for other tensors. Rules are not affected. A call
 * that is costly to repeat may have a cheaper substitute. Called by models (segments) and
 * graph/gradients.c. */
#include "graph/tape.h"

#include <stdlib.h>
#include <string.h>

void ft_graph_set_recompute(filtra_graph *g, ft_recompute how) {
  g->tape.recompute = how;
}

ft_recompute ft_graph_recompute(const filtra_graph *g) {
  return g->tape.recompute;
}

void ft_segment_begin(filtra_graph *g, ft_recompute how) {
  if (!how || g->status) return;
  if (how == FT_RECOMPUTE_FEED_FORWARD) how = FT_RECOMPUTE_CHEAP;
  if (FT_GROW(g->tape.segments, g->tape.segment_count, g->tape.segment_capacity)) {
    ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    return;
  }
  g->tape.segments[g->tape.segment_count++] =
      (ft_segment){.how = how, .op = g->tape.op_count, .call = g->tape.call_count};
}

void ft_segment_end(filtra_graph *g) {
  ft_segment *s = g->tape.segment_count ? &g->tape.segments[g->tape.segment_count - 1] : NULL;
  if (!s || s->op_end || g->status) return;
  s->op_end = g->tape.op_count;
  s->call_end = g->tape.call_count;
}

/* ---- selecting calls ---- */

/** Facts about each storage, by number. */
typedef struct about {
  bool inside; /* only the segment and its rules access it */
  bool asked;  /* rules read it */
  bool can;    /* it can be recomputed */
  bool want;   /* it will be recomputed */
} about;

typedef struct selection {
  filtra_graph *g;
  const ft_segment *s;
  about *of;
  bool *copied; /* [calls of the segment] */
} selection;

static about *about_of(const selection *p, const ft_arg *a) {
  return a->tensor ? &p->of[a->tensor->storage->number] : NULL;
}

static bool reads(const ft_arg *a) {
  return a->tensor && (a->mode & FT_ACCESS_READ);
}

static bool writes(const ft_arg *a) {
  return a->tensor && (a->mode & FT_ACCESS_WRITE);
}

static void find_inside(const selection *p) {
  const filtra_graph *g = p->g;
  for (size_t n = 0; n < g->tape.storage_count; n++)
    p->of[n].inside = g->tape.storages[n]->home == FT_HOME_ARENA && !g->tape.storages[n]->pinned;
  for (size_t i = 0; i < g->tape.call_count; i++) {
    bool in_segment = i >= p->s->call && i < p->s->call_end, rule = i >= p->s->rules;
    for (uint32_t k = 0; k < g->tape.calls[i].arg_count; k++) {
      about *a = about_of(p, &g->tape.calls[i].args[k]);
      if (a && !in_segment && !rule) a->inside = false;
      if (rule && reads(&g->tape.calls[i].args[k])) a->asked = true;
    }
  }
  for (size_t i = 0; i < g->tape.input_count; i++)
    p->of[g->tape.inputs[i].tensor->storage->number].inside = false;
}

/* Whether a call may be repeated: it is cheap, and everything that it reads is kept anyway or can
 * be recomputed. */
static bool is_able(const selection *p, const ft_recorded_call *c) {
  if (p->s->how == FT_RECOMPUTE_BLOCKS) return true;
  bool able = c->cheap;
  for (uint32_t k = 0; k < c->arg_count && able; k++) {
    const about *a = about_of(p, &c->args[k]);
    if (reads(&c->args[k])) able = !a->inside || a->can || a->asked;
  }
  return able;
}

/* The substitute of a call, if everything that the substitute reads is kept anyway; else NULL. */
static const ft_substitute *substitute_of(const selection *p, size_t call) {
  const ft_substitute *s = NULL;
  for (size_t i = 0; i < p->g->tape.substitute_count && p->s->how == FT_RECOMPUTE_CHEAP; i++)
    if (p->g->tape.substitutes[i].call == call) s = &p->g->tape.substitutes[i];
  for (uint32_t k = 0; s && k < s->how.arg_count; k++) {
    const about *a = about_of(p, &s->how.args[k]);
    if (reads(&s->how.args[k]) && a && a->inside && !a->asked) return NULL;
  }
  return s;
}

static void find_able(const selection *p) {
  for (size_t n = 0; n < p->g->tape.storage_count; n++)
    p->of[n].can = p->of[n].inside;
  for (size_t i = p->s->call; i < p->s->call_end; i++) {
    const ft_recorded_call *c = &p->g->tape.calls[i];
    const ft_substitute *other = substitute_of(p, i);
    bool able = is_able(p, c);
    for (uint32_t k = 0; k < c->arg_count && !able; k++)
      if (writes(&c->args[k]) && (!other || c->args[k].tensor->storage != other->storage))
        about_of(p, &c->args[k])->can = false;
  }
}

/* The call that recomputes the results of call `i` of the tape: itself, or its substitute. */
static const ft_recorded_call *recomputing_call(const selection *p, size_t i) {
  const ft_substitute *other = substitute_of(p, i);
  return other ? &other->how : &p->g->tape.calls[i];
}

static bool makes_wanted(const selection *p, const ft_recorded_call *c) {
  for (uint32_t k = 0; k < c->arg_count; k++)
    if (writes(&c->args[k]) && about_of(p, &c->args[k])->want) return true;
  return false;
}

/* Selects the calls to repeat, from the last to the first: a call that writes a wanted storage
 * makes the storages that it reads wanted in turn. */
static size_t find_copied(const selection *p) {
  size_t count = 0;
  for (size_t n = 0; n < p->g->tape.storage_count; n++)
    p->of[n].want = p->of[n].asked && p->of[n].can;
  for (size_t i = p->s->call_end; i-- > p->s->call;) {
    if (!makes_wanted(p, &p->g->tape.calls[i])) continue;
    const ft_recorded_call *c = recomputing_call(p, i);
    p->copied[i - p->s->call] = true;
    count++;
    for (uint32_t k = 0; k < c->arg_count; k++) {
      about *a = about_of(p, &c->args[k]);
      if (reads(&c->args[k]) && a->can) a->want = true;
      if (reads(&c->args[k]) && writes(&c->args[k]) && !a->inside)
        ft_graph_fail(p->g, FILTRA_ERROR_UNSUPPORTED,
                      "recompute: %s adds to %s, which was there before its block; set recompute "
                      "to none",
                      c->label, c->args[k].tensor->name);
    }
  }
  return count;
}

/* ---- copying calls ---- */

static void insert(selection *p, size_t count) {
  filtra_graph *g = p->g;
  size_t rules = p->s->rules, to = rules;
  for (size_t i = 0; i < count; i++, g->tape.call_count++)
    if (FT_GROW(g->tape.calls, g->tape.call_count, g->tape.call_capacity)) {
      ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
      return;
    }
  memmove(g->tape.calls + rules + count, g->tape.calls + rules,
          (g->tape.call_count - count - rules) * sizeof *g->tape.calls);
  for (size_t i = p->s->call; i < p->s->call_end; i++) {
    if (!p->copied[i - p->s->call]) continue;
    g->tape.calls[to] = *recomputing_call(p, i);
    g->tape.calls[to++].recomputes = true;
  }
  for (size_t n = 0; n < g->tape.storage_count; n++)
    if (p->of[n].want) g->tape.storages[n]->recomputed = true;
}

static void recompute(filtra_graph *g, const ft_segment *s) {
  selection p = {.g = g, .s = s};
  p.of = ft_calloc(g->tape.storage_count + 1, sizeof *p.of);
  p.copied = ft_calloc(s->call_end - s->call + 1, sizeof *p.copied);
  if (p.of && p.copied) {
    find_inside(&p);
    find_able(&p);
    insert(&p, find_copied(&p));
  } else {
    ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  free(p.of);
  free(p.copied);
}

void ft_segment_enter(filtra_graph *g, size_t i) {
  for (size_t k = 0; k < g->tape.segment_count; k++)
    if (g->tape.segments[k].op_end == i + 1) g->tape.segments[k].rules = g->tape.call_count;
}

void ft_segment_leave(filtra_graph *g, size_t i) {
  for (size_t k = 0; k < g->tape.segment_count && !g->status; k++)
    if (g->tape.segments[k].op == i && g->tape.segments[k].op_end > i)
      recompute(g, &g->tape.segments[k]);
}
