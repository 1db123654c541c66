#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant lanes -DFILTRA_ROW_LANES=1
//@variant uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/nan.glsl"
#include "common/reduce.glsl"
#include "common/each.glsl"
#include "common/row.glsl"
#include "softmax/contract.h"

// y = exp(x - m) / s per row, m the largest x and s the sum of exp(x - m); or its gradient,
// dx = y (dy - sum of y dy); dx += it when accumulating. A team per row, which it holds whole.
FT_CONSTANTS(softmax_rows_own)
FT_ARGUMENTS(softmax_rows)

float x[HELD], dy[HELD]; // x: or y, for the gradient

bool has(const uint i) { return row_has(row_column(0, i), p.columns); }

void load(uint start) {
  [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
    const vec2 xs = load_columns(false, p.x, start, 0, i, p.columns);
    const vec2 ups = gradient ? load_columns(false, p.dy, start, 0, i, p.columns) : vec2(0);
    [[unroll]] for (uint j = 0; j < EACH; j++) {
      x[i + j] = xs[j];
      dy[i + j] = ups[j];
    }
  }
}

void normalize() {
  float m = lowest_float, s = 0;
  [[unroll]] for (uint i = 0; i < HELD; i++) m = has(i) && x[i] > m ? x[i] : m;
  m = team_max(m);
  [[unroll]] for (uint i = 0; i < HELD; i++) {
    x[i] = is_nan(x[i]) ? x[i] : exp(x[i] - m);
    s += has(i) ? x[i] : 0;
  }
  s = team_sum(s);
  [[unroll]] for (uint i = 0; i < HELD; i++) x[i] = s == 0 ? 0 : x[i] / s; // all x are -inf
}

void differentiate() {
  float sum = 0;
  [[unroll]] for (uint i = 0; i < HELD; i++) sum += has(i) ? x[i] * dy[i] : 0;
  sum = team_sum(sum);
  [[unroll]] for (uint i = 0; i < HELD; i++) x[i] *= dy[i] - sum;
}

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint start = min(row, p.rows - 1) * p.columns;
    load(start);
    if (gradient)
      differentiate();
    else
      normalize();
    [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
      if (!has(i) || !team_has(row, p.rows)) continue;
      vec2 each = vec2(0);
      [[unroll]] for (uint j = 0; j < EACH; j++) each[j] = x[i + j];
      if (accumulate) each += load_columns(false, p.y, start, 0, i, p.columns);
      store_columns(false, p.y, start, 0, i, each);
    }
  }
}
