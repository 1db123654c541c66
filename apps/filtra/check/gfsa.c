/* Builds golden cases of graph-filter self-attention. */
#include "golden.h"

#include "base/memory.h"
#include "nn/mixer.h"

/* Binds Q, K and V to their parts of the packed projection. */
void golden_bind_qkv(golden *c) {
  static const char *const NAMES[3][2] = {{"wq", "bq"}, {"wk", "bk"}, {"wv", "bv"}};
  for (int i = 0; i < 3; i++) {
    golden_bind(c, NAMES[i][0], "qkv.weight", i, 3);
    golden_bind(c, NAMES[i][1], "qkv.bias", i, 3);
  }
}

static filtra_tensor *filter(golden *c, filtra_tensor *q, filtra_tensor *k, filtra_tensor *v) {
  filtra_tensor *w0 = golden_input(c, "param.w0"), *w1 = golden_input(c, "param.w1"),
                *wK = golden_input(c, "param.wK");
  filtra_gfsa_options options = {.attention = {.causal = golden_flag(c, "causal"),
                                               .mask = golden_mask(c),
                                               .scale = (float)golden_number(c, "scale", 0.0)},
                                 .order = (int)golden_count(c, "K", 3)};
  return filtra_gfsa(c->graph, q, k, v, w0, w1, wK, &options);
}

static filtra_status build_gfsa(golden *c) {
  filtra_tensor *q = golden_input(c, "in.q"), *k = golden_input(c, "in.k"),
                *v = golden_input(c, "in.v");
  golden_output(c, "y", filter(c, q, k, v));
  return FILTRA_OK;
}

filtra_status golden_mixer(golden *c, json_t *json, const golden_name_pair *pairs, size_t count) {
  filtra_mixer_input in;
  filtra_tensor *y;
  FT_TRY(golden_build_mixer(c, json, &in, &y));
  golden_output(c, "y", y);
  golden_bind_qkv(c);
  golden_bind_pairs(c, "", "", pairs, count);
  return FILTRA_OK;
}

static filtra_status build_gfsa_layer(golden *c) {
  static const golden_name_pair PAIRS[] = {
      {"w0", "w0"}, {"w1", "w1"}, {"wK", "wK"}, {"wo", "out.weight"}, {"bo", "out.bias"}};
  json_t *json = json_pack("{ss si}", "name", "gfsa", "K", (int)golden_count(c, "K", 3));
  return golden_mixer(c, json, PAIRS, FT_COUNT(PAIRS));
}

/* Builds the layer without its output projection, which every mixer has. */
static filtra_status build_gfsa_layer_noproj(golden *c) {
  ft_scope scope = golden_scope(c);
  filtra_tensor *chunk[3], *x = golden_input(c, "in.x");
  int64_t width = golden_dim(c, "in.x", 2), heads = golden_count(c, "heads", 1);
  filtra_chunk(c->graph, filtra_scope_linear(&scope, "qkv", x, 3 * width, NULL), 3, chunk);
  for (int i = 0; i < 3; i++)
    chunk[i] = filtra_split_heads(c->graph, chunk[i], heads);
  golden_output(c, "y", filtra_merge_heads(c->graph, filter(c, chunk[0], chunk[1], chunk[2])));
  golden_bind_qkv(c);
  return FILTRA_OK;
}

/* ---- the table ---- */

const golden_op golden_gfsa[] = {{"gfsa", build_gfsa},
                                 {"gfsa_layer", build_gfsa_layer},
                                 {"gfsa_layer_noproj", build_gfsa_layer_noproj},
                                 {0}};
