// What both backward kernels on matrix units share. Include plaplacian/matrix.glsl first.

// A lane takes pairs of EACH rows, PAIRS_DOWN apart, and four columns, OWN_PAIRS times.
const uint PAIRS_DOWN = TILE_ROWS / EACH, PAIRS = PAIRS_DOWN * TILE_COLS / 4;
const uint OWN_PAIRS = (PAIRS + INVOCATIONS - 1) / INVOCATIONS, OWN_PAIR_ROWS = OWN_PAIRS * EACH;

uint pairs(uint n) { return gl_LocalInvocationID.x + n * INVOCATIONS; }
bool pairs_there(uint n) { return pairs(n) < PAIRS; }
uint pair_row(uint n, uint r) { return pairs(n) % PAIRS_DOWN + r * PAIRS_DOWN; }
uint pair_quad(uint n) { return pairs(n) / PAIRS_DOWN; }

// With `euler`, <dy_x, v_x> (plaplacian/delta), which <dy_x, v_y - v_x> needs; else 0. x is query
// `i` of all heads.
float own_product(uint i, bool attention) {
  const uint rows = args.batches * HEADS * args.queries;
  return EULER && !attention ? args.delta.v[rows + i] : 0;
}
