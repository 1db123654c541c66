#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant lanes -DFILTRA_ROW_LANES=1
#include "agf/filter.glsl"

// U = rho(u) over the features of each token and head, W = U * g(x), x = sigmoid(s), with
// g(x) = sum_k theta_k P_k(x) by the three-term recurrence.
FT_ARGUMENTS(agf_filter)

void main() {
  const uint lane = team_lane() * EACH, step = team_lanes() * EACH;
  load_table(p.table);
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const bool idle = lane >= p.width || row >= p.rows;
    const uint u = row_offset(row, p.heads, p.tokens, p.u_stride);
    const uint s = row_offset(row, p.heads, p.tokens, p.s_stride);
    float largest = lowest_float, scale = 1;
    if (rho == rho_softmax) {
      float sum = 0; // of exp(u - largest), by online softmax
      for (uint first = 0; first < p.width; first += step) {
        if (idle || first + lane >= p.width) continue;
        const vec2 xs = load_features(p.u, u + first + lane);
        [[unroll]] for (uint j = 0; j < EACH; ++j) {
          const float x = xs[j], e = exp(-abs(x - largest));
          sum = x > largest ? sum * e + 1 : sum + e;
          largest = max(largest, x);
        }
      }
      const float mine = largest;
      largest = team_max(mine);
      scale = 1 / team_sum(sum * exp(mine - largest));
    }
    if (!idle) {
      const bool apart = present_elements(p.factor);
      const bool counts = row_counts(p.mask, min(row, p.rows - 1), p.heads);
      uint d = lane;
      do {
        const vec2 xs = load_features(p.u, u + d);
        vec2 value = vec2(0), w = vec2(0), singular = vec2(0);
        if (filtered) singular = load_features(p.s, s + d);
        [[unroll]] for (uint j = 0; j < EACH; ++j) {
          value[j] = rho == rho_softmax ? exp(xs[j] - largest) * scale
                                        : elementwise_rho(rho, xs[j]);
          w[j] = value[j] * (filtered ? filter_at(sigmoid(singular[j])) : 1);
        }
        const uint dense = row * p.width + d;
        store_features(p.w, dense, w);
        if (apart) store_features(p.factor, dense, counts ? value : vec2(0));
        d += step;
      } while (d < p.width);
    }
  }
}
