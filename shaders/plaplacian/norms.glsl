// P-norm weights P = (|v_x - v_y|^2 + eps)^((p-2)/2) of the token pairs of a tile, x the query's
// and y the key's token. Include common/types.glsl first.
#define FILTRA_HEADS 1
#include "attention/tile.glsl"
#include "plaplacian/problem.glsl"

// From a squared distance. A token's distance to itself is exactly 0.
float norm_weight(float distance, float exponent, bool same) {
  if (same && DIAGONAL_ZERO) return 0;
  if (same && DIAGONAL_ONE) return 1;
  return exp2(exponent * log2(distance + EPS));
}

// What P adds to the gradients of a tile, queries down and keys across or the reverse. f: dropout
// factors, times P afterwards. g: <dy_x, z>, z the value that the weight multiplies. pull: the
// gradient of v_x is the sum of pull (v_y - v_x), that of v_y the sum of pull (v_x - v_y).
void differentiate_norms(inout float f[OWN_ROWS][OWN_COLS], out float pull[OWN_ROWS][OWN_COLS],
                         float weights[OWN_ROWS][OWN_COLS], float g[OWN_ROWS][OWN_COLS],
                         float distance[OWN_ROWS][OWN_COLS], float exponent, uint row_token,
                         uint column_token) {
  for_rows(r) for_cols(c) {
    const float d = distance[r][c];
    const bool same = row_token + tile_row(r) == column_token + tile_col(c);
    const float p = norm_weight(d, exponent, same);
    // dP/dv_x = (p - 2) (d + eps)^((p-4)/2) (v_x - v_y)
    pull[r][c] = -2 * exponent * weights[r][c] * f[r][c] * g[r][c] * p / (d + EPS);
    f[r][c] *= p;
  }
}
