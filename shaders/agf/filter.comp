#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "agf/filter.glsl"

// U = rho(u) over the features of each token and head, W = U * g(x), x = sigmoid(s), with
// g(x) = sum_k theta_k P_k(x) by the three-term recurrence.
layout(push_constant) uniform Push {
  Elements u, s;      // views [B,H,N,D]
  F32x4 table;        // [K+1]
  Elements w, factor; // [B,N,H,D]; factor: U, if wanted apart from W
  uint rows, heads, tokens, width;
  uint u_stride[3], s_stride[3];
} p;

void main() {
  const uint lane = row_lane(), lanes = row_lanes();
  load_table(p.table);
  for (uint row = first_row(); row_goes_on(row, p.rows); row += row_step()) {
    const bool idle = lane >= p.width || row >= p.rows;
    const uint u = row_offset(row, p.heads, p.tokens, p.u_stride);
    const uint s = row_offset(row, p.heads, p.tokens, p.s_stride);
    float largest = lowest_float, scale = 1;
    if (rho == rho_softmax) {
      float sum = 0; // of exp(u - largest), by online softmax
      for (uint first = 0; first < p.width; first += lanes) {
        if (idle || first + lane >= p.width) continue;
        const float x = load_element(p.u, u + first + lane), e = exp(-abs(x - largest));
        sum = x > largest ? sum * e + 1 : sum + e;
        largest = max(largest, x);
      }
      const float mine = largest;
      largest = row_max(mine);
      scale = 1 / row_sum(sum * exp(mine - largest));
    }
    if (!idle) {
      uint d = lane;
      do {
        const float x = load_element(p.u, u + d);
        const float value =
            rho == rho_softmax ? exp(x - largest) * scale : elementwise_rho(rho, x);
        const float g = filtered ? filter_at(sigmoid(load_element(p.s, s + d))) : 1;
        store_element(p.w, row * p.width + d, value * g);
        if (present_elements(p.factor)) store_element(p.factor, row * p.width + d, value);
        d += lanes;
      } while (d < p.width);
    }
  }
}
