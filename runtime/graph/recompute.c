/* Recomputation: what backward rules read of a stretch of the forward pass is not kept from there
 * to here, but made again by copies of the calls that made it (Chen et al. 2016, "Training deep
 * nets with sublinear memory cost", section 4). The copies write to the same tensors, which thus
 * live twice; in between the planner gives their bytes to others. Rules know nothing of it. A call
 * that is dear to copy may have a substitute that is not. */
#include "graph/internal.h"

#include <stdlib.h>
#include <string.h>

void ft_graph_set_recompute(filtra_graph *g, ft_recompute how) {
  g->recompute = how;
}

ft_recompute ft_graph_recompute(const filtra_graph *g) {
  return g->recompute;
}

void ft_stretch_begin(filtra_graph *g, ft_recompute how) {
  if (!how || g->status) return;
  if (how == FT_RECOMPUTE_FEED_FORWARD) how = FT_RECOMPUTE_CHEAP;
  if (FT_GROW(g->stretches, g->stretch_count, g->stretch_capacity)) {
    ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    return;
  }
  g->stretches[g->stretch_count++] =
      (ft_stretch){.how = how, .op = g->op_count, .call = g->call_count};
}

void ft_stretch_end(filtra_graph *g) {
  ft_stretch *s = g->stretch_count ? &g->stretches[g->stretch_count - 1] : NULL;
  if (!s || s->op_end || g->status) return;
  s->op_end = g->op_count;
  s->call_end = g->call_count;
}

/* ---- which calls ---- */

/* About each storage of the graph, by number. */
typedef struct about {
  bool inside; /* nothing but the stretch and its rules touches it */
  bool asked;  /* the rules read it */
  bool can;    /* it can be made again */
  bool want;   /* and is to be */
} about;

typedef struct plan {
  filtra_graph *g;
  const ft_stretch *s;
  about *of;
  bool *copied; /* by call of the stretch */
} plan;

static about *about_of(const plan *p, const ft_arg *a) {
  return a->tensor ? &p->of[a->tensor->storage->number] : NULL;
}

static bool reads(const ft_arg *a) {
  return a->tensor && (a->mode & FT_ACCESS_READ);
}

static bool writes(const ft_arg *a) {
  return a->tensor && (a->mode & FT_ACCESS_WRITE);
}

static void find_inside(const plan *p) {
  const filtra_graph *g = p->g;
  for (size_t n = 0; n < g->storage_count; n++)
    p->of[n].inside = g->storages[n]->planned && !g->storages[n]->pinned;
  for (size_t i = 0; i < g->call_count; i++) {
    bool in_stretch = i >= p->s->call && i < p->s->call_end, rule = i >= p->s->rules;
    for (uint32_t k = 0; k < g->calls[i].arg_count; k++) {
      about *a = about_of(p, &g->calls[i].args[k]);
      if (a && !in_stretch && !rule) a->inside = false;
      if (rule && reads(&g->calls[i].args[k])) a->asked = true;
    }
  }
  for (size_t i = 0; i < g->input_count; i++)
    p->of[g->inputs[i].tensor->storage->number].inside = false;
}

/* A cheap call is worth it where what it reads is there anyway. */
static bool is_able(const plan *p, const ft_recorded_call *c) {
  if (p->s->how == FT_RECOMPUTE_BLOCKS) return true;
  bool able = c->cheap;
  for (uint32_t k = 0; k < c->arg_count && able; k++) {
    const about *a = about_of(p, &c->args[k]);
    if (reads(&c->args[k])) able = !a->inside || a->can || a->asked;
  }
  return able;
}

/* A call's substitute, where what that reads is there anyway. */
static const ft_substitute *substitute_of(const plan *p, size_t call) {
  const ft_substitute *s = NULL;
  for (size_t i = 0; i < p->g->substitute_count && p->s->how == FT_RECOMPUTE_CHEAP; i++)
    if (p->g->substitutes[i].call == call) s = &p->g->substitutes[i];
  for (uint32_t k = 0; s && k < s->how.arg_count; k++) {
    const about *a = about_of(p, &s->how.args[k]);
    if (reads(&s->how.args[k]) && a && a->inside && !a->asked) return NULL;
  }
  return s;
}

static void find_able(const plan *p) {
  for (size_t n = 0; n < p->g->storage_count; n++)
    p->of[n].can = p->of[n].inside;
  for (size_t i = p->s->call; i < p->s->call_end; i++) {
    const ft_recorded_call *c = &p->g->calls[i];
    const ft_substitute *other = substitute_of(p, i);
    bool able = is_able(p, c);
    for (uint32_t k = 0; k < c->arg_count && !able; k++)
      if (writes(&c->args[k]) && (!other || c->args[k].tensor->storage != other->storage))
        about_of(p, &c->args[k])->can = false;
  }
}

/* What makes again what call `i` of the tape made. */
static const ft_recorded_call *maker(const plan *p, size_t i) {
  const ft_substitute *other = substitute_of(p, i);
  return other ? &other->how : &p->g->calls[i];
}

static bool makes_wanted(const plan *p, const ft_recorded_call *c) {
  for (uint32_t k = 0; k < c->arg_count; k++)
    if (writes(&c->args[k]) && about_of(p, &c->args[k])->want) return true;
  return false;
}

/* The last call that makes something wanted asks for what it reads in turn. */
static size_t find_copied(const plan *p) {
  size_t count = 0;
  for (size_t n = 0; n < p->g->storage_count; n++)
    p->of[n].want = p->of[n].asked && p->of[n].can;
  for (size_t i = p->s->call_end; i-- > p->s->call;) {
    if (!makes_wanted(p, &p->g->calls[i])) continue;
    const ft_recorded_call *c = maker(p, i);
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

/* ---- copying them ---- */

static void insert(plan *p, size_t count) {
  filtra_graph *g = p->g;
  size_t rules = p->s->rules, to = rules;
  for (size_t i = 0; i < count; i++, g->call_count++)
    if (FT_GROW(g->calls, g->call_count, g->call_capacity)) {
      ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
      return;
    }
  memmove(g->calls + rules + count, g->calls + rules,
          (g->call_count - count - rules) * sizeof *g->calls);
  for (size_t i = p->s->call; i < p->s->call_end; i++) {
    if (!p->copied[i - p->s->call]) continue;
    g->calls[to] = *maker(p, i);
    g->calls[to++].again = true;
  }
  for (size_t n = 0; n < g->storage_count; n++)
    if (p->of[n].want) g->storages[n]->remade = true;
}

static void make_again(filtra_graph *g, const ft_stretch *s) {
  plan p = {.g = g, .s = s};
  p.of = ft_calloc(g->storage_count + 1, sizeof *p.of);
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

void ft_stretch_enter(filtra_graph *g, size_t i) {
  for (size_t k = 0; k < g->stretch_count; k++)
    if (g->stretches[k].op_end == i + 1) g->stretches[k].rules = g->call_count;
}

void ft_stretch_leave(filtra_graph *g, size_t i) {
  for (size_t k = 0; k < g->stretch_count && !g->status; k++)
    if (g->stretches[k].op == i && g->stretches[k].op_end > i) make_again(g, &g->stretches[k]);
}
