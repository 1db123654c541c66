// P-norm weights P = (|v_x - v_y|^2 + eps)^((p-2)/2) of the token pairs of a tile; x is the query's
// token and y the key's. Include common/types.glsl first.
#define FILTRA_HEADS 1
#include "attention/tile.glsl"
#include "plaplacian/problem.glsl"

// The contribution of P to the gradients of a tile, whose rows are queries and columns keys, or the
// reverse. f: dropout factors, multiplied by P on return. pull: norm_pull.
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
