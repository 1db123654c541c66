#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"

// dx = a r - x (a . x) r^2 / |x| per row, a = gain dy, r = 1 / (|x| + eps); a team per row. At
// x = 0, where |x| has no derivative, the second term is left out.
layout(constant_id = 1) const uint parts = 1; // numbers per feature: 2 for complex ones
layout(constant_id = 2) const bool accumulate = false;

layout(push_constant) uniform Push {
  F32 x, y_grad; // [rows, columns], columns = features * parts
  F32 gain;      // [features], or absent: 1
  F32 norm;      // [rows], |x|
  F32 x_grad;    // [rows, columns]
  uint rows, columns;
  float eps;
} p;

float upstream(uint start, uint c) {
  const float up = p.y_grad.v[start + c];
  return present(p.gain) ? up * p.gain.v[c / parts] : up;
}

void main() {
  const uint lane = team_lane(), lanes = team_lanes();
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint start = row * p.columns, end = row < p.rows ? p.columns : 0;
    const bool idle = lane >= end;
    float product = 0;
    for (uint first = 0; first < p.columns; first += lanes) {
      const uint c = first + lane;
      if (c < end) product += upstream(start, c) * p.x.v[start + c];
    }
    product = team_sum(product);
    const float norm = p.norm.v[min(row, p.rows - 1)], r = 1.0 / (norm + p.eps);
    const float along = norm > 0 ? product * r * r / norm : 0.0;
    uint c = lane;
    if (!idle) {
      do {
        float grad = upstream(start, c) * r - p.x.v[start + c] * along;
        if (accumulate) grad += p.x_grad.v[start + c];
        p.x_grad.v[start + c] = grad;
        c += lanes;
      } while (c < p.columns);
    }
  }
}
