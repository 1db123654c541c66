// What the p-Laplacian adds to attention's arguments; runtime/ops/plaplacian.c fills it in. Include
// attention/problem.glsl or attention/tile.glsl first, with FILTRA_HEADS.
layout(constant_id = 13) const float EPS = 1;

const bool EULER = (FLAGS & 2048) != 0;
const bool DIAGONAL_ZERO = (FLAGS & 4096) != 0;
const bool DIAGONAL_ONE = (FLAGS & 8192) != 0;

// (p - 2) / 2. At 0 every weight is 1 and the head is attention, bit for bit; unless the diagonal
// is left out, which makes no difference to the sum over v_y - v_x.
float head_exponent(uint h) { return head_number(h); }
bool is_attention(float exponent) { return exponent == 0 && (EULER || !DIAGONAL_ZERO); }

// Queries are the last of the tokens.
uint token_of(uint query) { return query + args.keys - args.queries; }
