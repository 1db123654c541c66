#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"

// dx = rstd (a - mean(a) - z mean(a z)) per row, a = dy gain, z = (x - mean) rstd; a team per row.
layout(constant_id = 1) const bool accumulate = false;

layout(push_constant) uniform Push {
  F32 x;           // [rows, columns]
  Elements y_grad; // [rows, columns]
  F32 gain;        // [columns]
  F32 mean, rstd;  // [rows]
  F32 x_grad;      // [rows, columns]
  uint rows, columns;
} p;

void main() {
  const uint lane = team_lane(), lanes = team_lanes();
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint start = row * p.columns;
    const uint at = min(row, p.rows - 1);
    const float mean = p.mean.v[at], rstd = p.rstd.v[at];
    const bool idle = lane >= p.columns || row >= p.rows;
    float sum = 0, product = 0;
    uint c = lane;
    if (!idle) {
      do {
        const float a = load_element(p.y_grad, start + c) * p.gain.v[c];
        sum += a;
        product += a * (p.x.v[start + c] - mean) * rstd;
        c += lanes;
      } while (c < p.columns);
    }
    sum = team_sum(sum) / float(p.columns);
    product = team_sum(product) / float(p.columns);
    c = lane;
    if (!idle) {
      do {
        const float a = load_element(p.y_grad, start + c) * p.gain.v[c];
        float grad = rstd * (a - sum - (p.x.v[start + c] - mean) * rstd * product);
        if (accumulate) grad += p.x_grad.v[start + c];
        p.x_grad.v[start + c] = grad;
        c += lanes;
      } while (c < p.columns);
    }
  }
}
