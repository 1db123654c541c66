// P-norm weights P = (|v_x - v_y|^2 + eps)^((p-2)/2) of the token pairs of a tile, x the query's
// and y the key's token. Include common/types.glsl first.
#define FILTRA_HEADS 1
#include "attention/tile.glsl"
#include "plaplacian/problem.glsl"

// What P adds to the gradients of a tile, queries down and keys across or the reverse. f: dropout
// factors, times P afterwards. pull: norm_pull.
void differentiate_norms(inout float f[OWN_ROWS][OWN_COLS], out float pull[OWN_ROWS][OWN_COLS],
                         float weights[OWN_ROWS][OWN_COLS], float g[OWN_ROWS][OWN_COLS],
                         float distance[OWN_ROWS][OWN_COLS], float exponent, uint row_token,
                         uint column_token) {
  for_rows(r) for_cols(c) {
    const float d = distance[r][c];
    const bool same = row_token + tile_row(r) == column_token + tile_col(c);
    const float p = norm_weight(d, exponent, same);
    pull[r][c] = norm_pull(weights[r][c], f[r][c], g[r][c], p, exponent, d);
    f[r][c] *= p;
  }
}
