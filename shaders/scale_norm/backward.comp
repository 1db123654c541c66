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

// dx = a r - x (a . x) r^2 / |x| per row, a = gain dy, r = 1 / (|x| + eps); a team per row. At
// x = 0, where |x| has no derivative, the second term is 0. Lanes, and teams that
// share addresses, also sum the gain's gradient, dy x r, by feature over their rows.
FT_CONSTANTS(scale_norm_backward_own)
FT_ARGUMENTS(scale_norm_backward)

float gain[HELD], a[HELD], x[HELD];
float up[HELD], gain_sum[HELD];

void load_gain(uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i++) gain[i] = 1;
  if (!present(p.gain)) return;
  [[unroll]] for (uint i = 0; i < HELD; i++)
    gain[i] = p.gain.v[min(row_column(first, i), p.columns - 1) / parts];
}

void load(uint start, uint first) {
  if (!WHOLE) load_gain(first);
  [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
    const vec2 ups = load_columns(false, p.y_grad, start, first, i, p.columns);
    const vec2 xs = load_columns(false, p.x, start, first, i, p.columns);
    [[unroll]] for (uint j = 0; j < EACH; j++) {
      up[i + j] = ups[j];
      a[i + j] = ups[j] * gain[i + j];
      x[i + j] = xs[j];
    }
  }
}

void main() {
  if (WHOLE) load_gain(0);
  [[unroll]] for (uint i = 0; i < HELD; i++) gain_sum[i] = 0;
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint at = min(row, p.rows - 1), start = at * p.columns;
    const bool here = team_has(row, p.rows);
    vec2 products = vec2(0);
    uint first = 0;
    do {
      load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i++)
        products[i % EACH] += row_has(row_column(first, i), p.columns) ? a[i] * x[i] : 0;
    } while (row_goes_on(first, p.columns));
    const float product = team_sum(both(products));
    const float norm = p.norm.v[at], r = 1.0 / (norm + p.eps);
    const float along = norm > 0 ? product * r * r / norm : 0.0;
    [[unroll]] for (uint i = 0; i < HELD; i++)
      if (summed && here) gain_sum[i / parts] += up[i] * x[i] * r;
    first = 0;
    do {
      if (!WHOLE) load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
        vec2 grad = vec2(0);
        [[unroll]] for (uint j = 0; j < EACH; j++) grad[j] = a[i + j] * r - x[i + j] * along;
        if (row_has(row_column(first, i), p.columns) && here) {
          if (accumulate) grad += load_columns(false, p.x_grad, start, first, i, p.columns);
          store_columns(false, p.x_grad, start, first, i, grad);
        }
      }
    } while (row_goes_on(first, p.columns));
  }
#if FILTRA_ROW_LANES
  if (summed) store_sums(p.gain_sums, gain_sum, HELD / parts);
#elif FILTRA_ROW_UNIFORM
  const uint own = gl_WorkGroupID.x * (p.columns / parts);
  if (summed)
    [[unroll]] for (uint i = 0; i < HELD / parts; i++)
      p.gain_sums.v[own + row_column(0, i * parts) / parts] = gain_sum[i];
#endif
}
