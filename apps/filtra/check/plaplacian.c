/* Builds golden cases of p-Laplacian attention. */
#include "golden.h"

#include "base/memory.h"
#include "nn/mixer.h"

static const char *const DIAGONALS[] = {"eps", "zero", "one", NULL};

typedef struct settings {
  int64_t heads;
  json_t *p; /* a list with a number per head, or one number; the caller releases it */
  double eps;
  int diagonal;
} settings;

static filtra_status read_settings(const golden *c, int64_t heads, settings *s) {
  *s = (settings){.heads = heads, .eps = golden_number(c, "eps", 1e-6)};
  FT_TRY(golden_choose(c, "diag", "eps", DIAGONALS, &s->diagonal));
  if (s->eps <= 0.0)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s: eps is %g, it must be above 0", c->path, s->eps);
  const char *text = golden_text(c, "p", "");
  s->p = json_loads(text, JSON_DECODE_ANY, NULL);
  size_t count = json_array_size(s->p), numbers = 0;
  while (numbers < count && json_is_number(json_array_get(s->p, numbers)))
    numbers++;
  bool list = count && numbers == count && (int64_t)count == heads;
  if (heads <= FT_MOST_FLOATS && (list || json_is_number(s->p))) return FILTRA_OK;
  json_decref(s->p);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: p is \"%.64s\"; a number for each of %lld heads is expected, at most %d",
                 c->path, text, (long long)heads, FT_MOST_FLOATS);
}

static filtra_status build_plat(golden *c) {
  settings s;
  float p[FT_MOST_FLOATS];
  FT_TRY(read_settings(c, golden_dim(c, "in.v", 1), &s));
  for (int64_t h = 0; h < s.heads; h++)
    p[h] = (float)json_number_value(json_is_array(s.p) ? json_array_get(s.p, (size_t)h) : s.p);
  json_decref(s.p);
  filtra_tensor *q = golden_input(c, "in.q"), *k = golden_input(c, "in.k"),
                *v = golden_input(c, "in.v");
  filtra_plaplacian_options options = {
      .attention = {.causal = golden_flag(c, "causal"),
                    .mask = golden_mask(c),
                    .scale = (float)golden_number(c, "scale", 0.0)},
      .p = p,
      .eps = (float)s.eps,
      .diagonal = (filtra_diagonal)s.diagonal,
      .euler = golden_flag(c, "euler")};
  golden_output(c, "y", filtra_plaplacian(c->graph, q, k, v, &options));
  return FILTRA_OK;
}

static filtra_status build_plat_layer(golden *c) {
  static const golden_name_pair PAIRS[] = {{"wo", "out.weight"}, {"bo", "out.bias"}};
  settings s;
  FT_TRY(read_settings(c, golden_count(c, "heads", 1), &s));
  json_t *json = json_pack("{ss so sf ss sb}", "name", "plaplacian", "p", s.p, "eps", s.eps,
                           "diagonal", DIAGONALS[s.diagonal], "euler", golden_flag(c, "euler"));
  return golden_mixer(c, json, PAIRS, FT_COUNT(PAIRS));
}

/* ---- the table ---- */

const golden_op golden_plaplacian[] = {{"plat", build_plat}, {"plat_layer", build_plat_layer}, {0}};
