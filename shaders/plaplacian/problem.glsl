// What the p-Laplacian adds to attention's arguments; runtime/ops/plaplacian.c fills it in. Include
// attention/problem.glsl or attention/tile.glsl first, with FILTRA_HEADS.
FT_CONSTANTS(plaplacian_own)

const bool EULER = (FLAGS & FT_PLAPLACIAN_EULER) != 0;
const bool DIAGONAL_ZERO = (FLAGS & FT_PLAPLACIAN_DIAGONAL_ZERO) != 0;
const bool DIAGONAL_ONE = (FLAGS & FT_PLAPLACIAN_DIAGONAL_ONE) != 0;

// (p - 2) / 2. At 0 every weight is 1 and the head is attention, bit for bit but on matrix units;
// unless the diagonal is left out, which makes no difference to the sum over v_y - v_x.
float head_exponent(uint h) { return head_number(h); }
bool is_attention(float exponent) { return exponent == 0 && (EULER || !DIAGONAL_ZERO); }

// Queries are the last of the tokens.
uint token_of(uint query) { return query + args.keys - args.queries; }

// P, from a squared distance. A token's distance to itself is exactly 0.
float norm_weight(float distance, float exponent, bool same) {
  if (same && DIAGONAL_ZERO) return 0;
  if (same && DIAGONAL_ONE) return 1;
  return exp2(exponent * log2(distance + EPS));
}

// What P adds to the gradients of values: that of v_x is the sum of this times (v_y - v_x), that of
// v_y the sum of this times (v_x - v_y). f: dropout's factor; g: <dy_x, z>, z the value that the
// weight multiplies. dP/dv_x = (p - 2) (d + eps)^((p-4)/2) (v_x - v_y).
float norm_pull(float weight, float f, float g, float p, float exponent, float distance) {
  return -2 * exponent * weight * f * g * p / (distance + EPS);
}
