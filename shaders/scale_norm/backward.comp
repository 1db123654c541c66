#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "common/row.glsl"

// dx = a r - x (a . x) r^2 / |x| per row, a = gain dy, r = 1 / (|x| + eps); a team per row. At
// x = 0, where |x| has no derivative, the second term is left out.
layout(constant_id = 3) const uint parts = 1; // numbers per feature: 2 for complex ones
layout(constant_id = 4) const bool accumulate = false;

layout(push_constant) uniform Push {
  F32 x, y_grad; // [rows, columns], columns = features * parts
  F32 gain;      // [features], or absent: 1
  F32 norm;      // [rows], |x|
  F32 x_grad;    // [rows, columns]
  uint rows, columns;
  float eps;
} p;

float gain[HELD], a[HELD], x[HELD];

void load_gain(uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i++) gain[i] = 1;
  if (!present(p.gain)) return;
  [[unroll]] for (uint i = 0; i < HELD; i++)
    gain[i] = p.gain.v[min(row_column(first, i), p.columns - 1) / parts];
}

void load(uint start, uint first) {
  if (!WHOLE) load_gain(first);
  [[unroll]] for (uint i = 0; i < HELD; i++) {
    const uint c = start + min(row_column(first, i), p.columns - 1);
    a[i] = p.y_grad.v[c] * gain[i];
    x[i] = p.x.v[c];
  }
}

void main() {
  if (WHOLE) load_gain(0);
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint at = min(row, p.rows - 1), start = at * p.columns;
    float product = 0;
    uint first = 0;
    do {
      load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i++)
        product += row_column(first, i) < p.columns ? a[i] * x[i] : 0;
    } while (row_goes_on(first, p.columns));
    product = team_sum(product);
    const float norm = p.norm.v[at], r = 1.0 / (norm + p.eps);
    const float along = norm > 0 ? product * r * r / norm : 0.0;
    first = 0;
    do {
      if (!WHOLE) load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i++) {
        const uint c = row_column(first, i);
        float grad = a[i] * r - x[i] * along;
        if (c < p.columns && row < p.rows) {
          if (accumulate) grad += p.x_grad.v[start + c];
          p.x_grad.v[start + c] = grad;
        }
      }
    } while (row_goes_on(first, p.columns));
  }
}
