#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant lanes -DFILTRA_ROW_LANES=1
//@variant uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "common/each.glsl"
#include "common/row.glsl"
#include "scale_norm/contract.h"

// y = gain x / (|x| + eps) per row; a team per row.
FT_CONSTANTS(scale_norm_forward_own)
FT_ARGUMENTS(scale_norm_forward)

float gain[HELD];

void load_gain(uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i++) gain[i] = 1;
  if (!present(p.gain)) return;
  [[unroll]] for (uint i = 0; i < HELD; i++)
    gain[i] = p.gain.v[min(row_column(first, i), p.columns - 1) / parts];
}

#if FILTRA_ROW_UNIFORM

float x[TOGETHER * HELD], norm[TOGETHER];

// The row after `row` by r, or the last one.
uint row_after(uint row, uint r) { return min(row + r, p.rows - 1); }

void load(uint row, const uint r) {
  const uint start = row_after(row, r) * p.columns;
  [[unroll]] for (uint i = 0; i < HELD; i += 2) {
    const vec2 pair = load_columns(false, p.x, start, 0, i, p.columns);
    x[r * HELD + i] = pair.x;
    x[r * HELD + i + 1] = pair.y;
  }
}

void compute_norm(const uint r) {
  vec2 squares = vec2(0);
  [[unroll]] for (uint i = 0; i < HELD; i++) squares[i % 2] += x[r * HELD + i] * x[r * HELD + i];
  norm[r] = sqrt(team_sum(both(squares)));
}

void store(uint row, const uint r) {
  const uint start = row_after(row, r) * p.columns;
  const float scale = 1.0 / (norm[r] + p.eps);
  [[unroll]] for (uint i = 0; i < HELD; i += 2) {
    vec2 pair = vec2(0);
    [[unroll]] for (uint j = 0; j < 2; j++) pair[j] = x[r * HELD + i + j] * scale * gain[i + j];
    store_columns(false, p.y, start, 0, i, pair);
  }
}

// All lanes store, many the same, since a store of some lanes costs a branch for each.
void store_norms(uint row) {
  const uint own = team_lane() % TOGETHER;
  float x = norm[0];
  [[unroll]] for (uint r = 1; r < TOGETHER; r++) x = own == r ? norm[r] : x;
  p.norm.v[row_after(row, own)] = x;
}

void main() {
  load_gain(0);
  const uint step = TOGETHER * team_count();
  for (uint row = TOGETHER * team_index(); row < p.rows; row += step) {
    [[unroll]] for (uint r = 0; r < TOGETHER; r++) load(row, r);
    [[unroll]] for (uint r = 0; r < TOGETHER; r++) compute_norm(r);
    [[unroll]] for (uint r = 0; r < TOGETHER; r++) store(row, r);
    store_norms(row);
  }
}

#else

float x[HELD];

void load(uint start, uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
    const vec2 each = load_columns(false, p.x, start, first, i, p.columns);
    [[unroll]] for (uint j = 0; j < EACH; j++) x[i + j] = each[j];
  }
}

void main() {
  if (WHOLE) load_gain(0);
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint start = min(row, p.rows - 1) * p.columns;
    vec2 squares = vec2(0);
    uint first = 0;
    do {
      load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i++)
        squares[i % EACH] += row_has(row_column(first, i), p.columns) ? x[i] * x[i] : 0;
    } while (row_goes_on(first, p.columns));
    const float norm = sqrt(team_sum(both(squares)));
    const float scale = 1.0 / (norm + p.eps);
    first = 0;
    do {
      if (!WHOLE) {
        load(start, first);
        load_gain(first);
      }
      [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
        vec2 each = vec2(0);
        [[unroll]] for (uint j = 0; j < EACH; j++) each[j] = x[i + j] * scale * gain[i + j];
        if (row_has(row_column(first, i), p.columns) && row < p.rows)
          store_columns(false, p.y, start, first, i, each);
      }
    } while (row_goes_on(first, p.columns));
    if (team_lane() == 0 && row < p.rows) p.norm.v[row] = norm;
  }
}
#endif
