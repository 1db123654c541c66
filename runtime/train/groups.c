/* Groups of parameters by the options freeze, learning_rates, weight_decays and layer_decay: reads
 * the terms that select parameters, and makes one group of all parameters with equal settings.
 * Called by trainer.c, plan.c, and by optimizer.c for the groups of programs. */
#include "train/groups.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "model/start.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns ---- */

/* "*" matches any characters; the pattern ends before `end`. */
static bool fits(const char *pattern, const char *end, const char *name) {
  if (pattern == end) return !*name;
  if (*pattern == '*')
    return fits(pattern + 1, end, name) || (*name && fits(pattern, end, name + 1));
  return *pattern == *name && fits(pattern + 1, end, name + 1);
}

static const char *end_of(const char *pattern) {
  return pattern + strcspn(pattern, ",");
}

size_t ft_group_of(const filtra_parameter_group *groups, size_t count, const char *name) {
  for (size_t i = count; i > 0; i--)
    for (const char *at = groups[i - 1].names; at; at = *end_of(at) ? end_of(at) + 1 : NULL)
      if (fits(at, end_of(at), name)) return i;
  return 0;
}

/* Adds the name of the nearest parameter, if one is near, or that this one is a buffer. */
static void add_nearest(const filtra_parameters *params, const char *name, char *text,
                        size_t size) {
  const char *nearest = ft_nearest_name(name, params->list, params->count, sizeof *params->list);
  const bool buffer = nearest && !strcmp(nearest, name);
  if (nearest)
    snprintf(text + strlen(text), size - strlen(text),
             buffer ? " (%s is a buffer)" : " (did you mean %s?)", nearest);
}

bool ft_group_names_none(const filtra_parameters *params, const filtra_parameter_group *group,
                         char text[256]) {
  for (const char *at = group->names; at; at = *end_of(at) ? end_of(at) + 1 : NULL) {
    bool found = false;
    for (size_t i = 0; i < params->count && !found; i++)
      found = !params->list[i].options.buffer && fits(at, end_of(at), params->list[i].name);
    if (found) continue;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(end_of(at) - at), at);
    snprintf(text, 256, "\"%s\" names no trained parameter", name);
    add_nearest(params, name, text, 256);
    return true;
  }
  return false;
}

/* ---- what people call parameters ---- */

enum { MOST_TERM = 128 };

typedef enum selection { PATTERN, EMBEDDINGS, HEAD, LAYERS, BIASES, NORMS } selection;

/** Which parameters a term selects. */
typedef struct selector {
  bool inverted, removed; /* all others; "!": exempt from the option */
  selection kind;
  long first, end; /* layers */
  char text[MOST_TERM];
} selector;

/* The layer of a parameter; -1: not in a layer. */
static long layer_of(const char *name) {
  return strncmp(name, "layers.", 7) || !isdigit((unsigned char)name[7])
             ? -1
             : strtol(name + 7, NULL, 10);
}

static long count_layers(const filtra_parameters *params) {
  long most = -1;
  for (size_t i = 0; i < params->count; i++)
    if (layer_of(params->list[i].name) > most) most = layer_of(params->list[i].name);
  return most + 1;
}

static bool begins(const char *name, const char *with) {
  return !strncmp(name, with, strlen(with));
}

/* Whether the parameter is after the layers: the last norm, a head. */
static bool is_after(const char *name) {
  return ft_is_of_head(name) || begins(name, "norm.");
}

static bool ends(const char *name, const char *with) {
  size_t length = strlen(name), tail = strlen(with);
  return length >= tail && !strcmp(name + length - tail, with);
}

/* A pattern also names what is in a layer: "layers.0" is "layers.0.*" as well. */
static bool fits_within(const char *pattern, const char *name) {
  char within[MOST_TERM + 2];
  snprintf(within, sizeof within, "%s.*", pattern);
  return fits(pattern, pattern + strlen(pattern), name) ||
         fits(within, within + strlen(within), name);
}

static bool selects(const selector *s, const char *name) {
  bool is = false;
  switch (s->kind) {
  case PATTERN:
    is = fits_within(s->text, name);
    break;
  case EMBEDDINGS:
    is = layer_of(name) < 0 && !is_after(name);
    break;
  case HEAD:
    is = ft_is_of_head(name);
    break;
  case LAYERS:
    is = layer_of(name) >= s->first && layer_of(name) < s->end;
    break;
  case BIASES:
    is = ends(name, ".bias") || strstr(name, ".bias_") != NULL;
    break;
  case NORMS:
    is = begins(name, "norm.") || strstr(name, ".norm") != NULL;
    break;
  }
  return is != s->inverted;
}

/* Removes the words from the front of a text, ignoring case. */
static bool take(const char **text, const char *words) {
  size_t length = strlen(words);
  if (ft_strncasecmp(*text, words, length)) return false;
  *text += length;
  return true;
}

/* "first 6 layers", "last layer", "layer 3", "layers". */
static bool read_layers(const char *text, long layers, selector *s) {
  char *end;
  bool last = false, one = take(&text, "layer ");
  if (!one && !ft_strcasecmp(text, "layers")) {
    s->end = layers;
    return true;
  }
  if (!one && !take(&text, "first ") && !(last = take(&text, "last "))) return false;
  const long count = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 1;
  if (isdigit((unsigned char)*text)) text = *end == ' ' ? end + 1 : end;
  if (one ? *text : ft_strcasecmp(text, "layer") && ft_strcasecmp(text, "layers")) return false;
  s->first = one ? count : last ? layers - count : 0;
  s->end = one ? count + 1 : last ? layers : count;
  return true;
}

static const struct word {
  const char *text;
  selection kind;
  bool inverted;
} WORDS[] = {
    {"embeddings", EMBEDDINGS, false}, {"embedding", EMBEDDINGS, false}, {"head", HEAD, false},
    {"backbone", HEAD, true},          {"biases", BIASES, false},        {"norms", NORMS, false},
};

static filtra_status read_selector(const char *key, const char *text,
                                   const filtra_parameters *params, selector *s) {
  const char *whole = text;
  *s = (selector){.removed = take(&text, "!")};
  if (take(&text, "all but ") || take(&text, "all except ")) s->inverted = true;
  take(&text, "the ");
  const long layers = count_layers(params);
  snprintf(s->text, sizeof s->text, "%s", ft_strcasecmp(text, "all") ? text : "*");
  for (size_t i = 0; i < FT_COUNT(WORDS); i++)
    if (!ft_strcasecmp(text, WORDS[i].text)) {
      s->kind = WORDS[i].kind;
      s->inverted = s->inverted != WORDS[i].inverted;
    }
  if (s->kind == PATTERN && read_layers(text, layers, s)) {
    s->kind = LAYERS;
    if (s->first < 0 || s->end > layers)
      return ft_fail(FILTRA_ERROR_ARGUMENT, "trainer: \"%s\" has \"%s\"; the model has %ld layers",
                     key, whole, layers);
  }
  for (size_t i = 0; i < params->count; i++)
    if (!params->list[i].options.buffer && selects(s, params->list[i].name)) return FILTRA_OK;
  char nearest[256] = "";
  add_nearest(params, text, nearest, sizeof nearest);
  return ft_fail(
      FILTRA_ERROR_ARGUMENT,
      "trainer: \"%s\" has \"%s\", which names no trained parameter%s; accepted are "
      "names, patterns with *, \"embeddings\", \"head\", \"all but the head\", \"first 2 "
      "layers\", \"last layer\", \"biases\" and \"norms\"",
      key, whole, nearest);
}

/* ---- settings of each parameter ---- */

/** Settings of a parameter; SETTLED if no option names it. */
typedef struct setting {
  bool frozen, decay_all;
  float scale, decay; /* as in filtra_parameter_group */
} setting;

static const setting SETTLED = {.scale = 1.0f};

typedef struct making {
  const filtra_parameters *params;
  setting *of; /* [params->count] */
} making;

/* Applies a term to one of the parameters that it selects. */
typedef filtra_status apply(making *m, const selector *s, double value);

static filtra_status freeze(making *m, const selector *s, double value) {
  (void)value;
  for (size_t i = 0; i < m->params->count; i++)
    if (selects(s, m->params->list[i].name)) m->of[i].frozen = !s->removed;
  return FILTRA_OK;
}

static filtra_status scale(making *m, const selector *s, double value) {
  if (!(value >= 1e-6 && value <= 1e6))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: \"learning_rates\" has the factor %g, accepted are 1e-06 to 1e+06; "
                   "\"freeze\" keeps parameters as they are",
                   value);
  for (size_t i = 0; i < m->params->count; i++)
    if (selects(s, m->params->list[i].name)) m->of[i].scale = (float)value;
  return FILTRA_OK;
}

static filtra_status decay(making *m, const selector *s, double value) {
  if (!(value >= 0.0 && value <= 10.0))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "trainer: \"weight_decays\" has %g, accepted are 0 to 10",
                   value);
  for (size_t i = 0; i < m->params->count; i++)
    if (selects(s, m->params->list[i].name)) {
      m->of[i].decay = value > 0.0 ? (float)value : -1.0f;
      m->of[i].decay_all = true;
    }
  return FILTRA_OK;
}

/* Cuts "NAME=NUMBER" at "=" and reads the number. */
static filtra_status cut_number(const char *key, char *term, double *value) {
  char *equals = strrchr(term, '='), *end = NULL;
  if (equals) *value = ft_strtod(equals + 1, &end);
  if (!equals || end == equals + 1 || *end)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: \"%s\" has \"%s\", accepted is NAME=NUMBER, as in \"head=10\"", key,
                   term);
  while (equals > term && equals[-1] == ' ')
    equals--;
  *equals = '\0';
  return FILTRA_OK;
}

/* Applies the terms of a comma-separated list in their order. */
static filtra_status each_term(making *m, const char *key, const char *list, bool numbers,
                               apply *to) {
  for (const char *at = list; at && *at; at = *end_of(at) ? end_of(at) + 1 : NULL) {
    char term[MOST_TERM];
    const char *end = end_of(at);
    double value = 0.0;
    selector s;
    while (*at == ' ')
      at++;
    while (end > at && end[-1] == ' ')
      end--;
    if (end - at < 1 || end - at >= MOST_TERM)
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "trainer: \"%s\" is \"%.200s\"; accepted are names of 1 to %d characters with "
                     "commas between",
                     key, list, MOST_TERM - 1);
    snprintf(term, sizeof term, "%.*s", (int)(end - at), at);
    if (numbers) FT_TRY(cut_number(key, term, &value));
    FT_TRY(read_selector(key, term, m->params, &s));
    if (s.removed && to != freeze)
      return ft_fail(FILTRA_ERROR_ARGUMENT, "trainer: \"%s\" has \"%s\"; only \"freeze\" knows !",
                     key, term);
    FT_TRY(to(m, &s, value));
  }
  return FILTRA_OK;
}

/* Learning rates of layer i of n are multiplied by factor^(n - i), those of embeddings by factor^(n
 * + 1), those after the layers by 1 (Clark et al. 2020, ELECTRA; Bao et al. 2022, BEiT). */
static void decay_layers(making *m, double factor) {
  const long layers = count_layers(m->params);
  for (size_t i = 0; i < m->params->count; i++) {
    const char *name = m->params->list[i].name;
    const long layer = layer_of(name);
    const long depth = layer >= 0 ? layers - layer : is_after(name) ? 0 : layers + 1;
    m->of[i].scale = (float)((double)m->of[i].scale * pow(factor, (double)depth));
  }
}

/* Takes the settings of the options' own groups. */
static void take_groups(making *m, const filtra_optimizer_options *o) {
  for (size_t i = 0; i < m->params->count; i++) {
    const size_t group =
        o->groups ? ft_group_of(o->groups, o->group_count, m->params->list[i].name) : 0;
    m->of[i] = SETTLED;
    if (!group) continue;
    const filtra_parameter_group *g = &o->groups[group - 1];
    m->of[i] = (setting){g->frozen, g->decay_all, g->rate_scale != 0.0f ? g->rate_scale : 1.0f,
                         g->weight_decay};
  }
}

static filtra_status make_settings(making *m, const filtra_train_options *o) {
  take_groups(m, &o->optimizer);
  FT_TRY(each_term(m, "learning_rates", o->learning_rates, true, scale));
  decay_layers(m, (double)o->layer_decay);
  FT_TRY(each_term(m, "weight_decays", o->weight_decays, true, decay));
  return each_term(m, "freeze", o->freeze, false, freeze);
}

/* ---- groups ---- */

static bool same(const setting *a, const setting *b) {
  return a->frozen == b->frozen && a->decay_all == b->decay_all && a->scale == b->scale &&
         a->decay == b->decay;
}

/* Adds a name to a list of names. */
static filtra_status add_name(char **names, const char *name) {
  char *longer = *names ? ft_format("%s,%s", *names, name) : ft_strdup(name);
  if (!longer) return FILTRA_ERROR_HOST_MEMORY;
  free(*names);
  *names = longer;
  return FILTRA_OK;
}

/* Adds a parameter to the group with its settings, or to a new one. */
static filtra_status add_parameter(const making *m, size_t i, ft_groups *g) {
  const setting *s = &m->of[i];
  size_t at = 0;
  if (same(s, &SETTLED) || m->params->list[i].options.buffer) return FILTRA_OK;
  while (at < g->count && !same(s, &(setting){g->list[at].frozen, g->list[at].decay_all,
                                              g->list[at].rate_scale, g->list[at].weight_decay}))
    at++;
  FT_TRY(add_name(&g->names[at], m->params->list[i].name));
  if (at == g->count)
    g->list[g->count++] = (filtra_parameter_group){.frozen = s->frozen,
                                                   .decay_all = s->decay_all,
                                                   .rate_scale = s->scale,
                                                   .weight_decay = s->decay};
  g->list[at].names = g->names[at];
  return FILTRA_OK;
}

static bool has(const char *text) {
  return text && *text;
}

filtra_status ft_groups_make(const filtra_train_options *o, const filtra_parameters *params,
                             ft_groups *out) {
  const bool any =
      has(o->freeze) || has(o->learning_rates) || has(o->weight_decays) || o->layer_decay != 1.0f;
  making m = {.params = params};
  *out = (ft_groups){0};
  if (!any) return FILTRA_OK;
  m.of = ft_calloc(params->count, sizeof *m.of);
  out->list = ft_calloc(params->count, sizeof *out->list);
  out->names = ft_calloc(params->count, sizeof *out->names);
  filtra_status status = m.of && out->list && out->names ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = make_settings(&m, o);
  for (size_t i = 0; i < params->count && !status; i++)
    status = add_parameter(&m, i, out);
  free(m.of);
  return status;
}

void ft_groups_free(ft_groups *groups) {
  for (size_t i = 0; i < groups->count; i++)
    free(groups->names[i]);
  free(groups->names);
  free(groups->list);
  *groups = (ft_groups){0};
}

uint64_t ft_groups_freeze(const filtra_parameter_group *groups, size_t count,
                          filtra_parameters *params) {
  uint64_t trained = 0;
  for (size_t i = 0; i < params->count; i++) {
    ft_parameter *p = &params->list[i];
    const size_t group = ft_group_of(groups, count, p->name);
    p->frozen = group && groups[group - 1].frozen;
    if (!p->frozen && !p->options.buffer) trained += (uint64_t)p->elements;
  }
  return trained;
}

/* ---- what is frozen, in words ---- */

/* Length of the module's name at the front of a parameter's: "layers.0", "embedding". */
static size_t module_length(const char *name) {
  size_t length = strcspn(name, ".");
  if (layer_of(name) >= 0) length += 1 + strcspn(name + length + 1, ".");
  return length;
}

static bool is_of(const ft_parameter *p, const char *module, size_t length) {
  return !p->options.buffer && !strncmp(p->name, module, length) && p->name[length] == '.';
}

static bool is_frozen_whole(const filtra_parameters *params, const char *module, size_t length) {
  for (size_t i = 0; i < params->count; i++)
    if (is_of(&params->list[i], module, length) && !params->list[i].frozen) return false;
  return true;
}

/* Whether an earlier parameter belongs to the same module. */
static bool is_named(const filtra_parameters *params, size_t before, size_t length) {
  for (size_t i = 0; i < before; i++)
    if (is_of(&params->list[i], params->list[before].name, length)) return true;
  return false;
}

void ft_groups_list_frozen(const filtra_parameters *params, char text[FT_FROZEN_TEXT]) {
  *text = '\0';
  for (size_t i = 0; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    size_t used = strlen(text), length = module_length(p->name);
    const bool whole = is_frozen_whole(params, p->name, length);
    if (!p->frozen || p->options.buffer || (whole && is_named(params, i, length))) continue;
    if (used + strlen(p->name) + 8 > FT_FROZEN_TEXT) {
      snprintf(text + used, FT_FROZEN_TEXT - used, ", ...");
      return;
    }
    snprintf(text + used, FT_FROZEN_TEXT - used, "%s%.*s", used ? ", " : "",
             (int)(whole ? length : strlen(p->name)), p->name);
  }
}
