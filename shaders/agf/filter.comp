#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant lanes -DFILTRA_ROW_LANES=1
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "agf/filter.glsl"

// U = rho(u) over the features of each token and head, W = U * g(x), x = sigmoid(s), with
// g(x) = sum_k theta_k P_k(x) by the three-term recurrence.
FT_ARGUMENTS(agf_filter)

void main() {
  load_table(p.table);
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint u = row_offset(row, p.heads, p.tokens, p.u_stride);
    const uint s = row_offset(row, p.heads, p.tokens, p.s_stride);
    float largest = lowest_float, scale = 1;
    if (rho == rho_softmax) {
      float sum = 0; // of exp(u - largest), by online softmax
      for_features(first) {
        if (!has_feature(row, p.rows, first, p.width)) continue;
        const vec2 xs = load_features(p.u, u, first);
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
    const bool apart = present_elements(p.factor);
    const bool counts = row_counts(p.mask, min(row, p.rows - 1), p.heads);
    for_features(first) {
      if (!has_feature(row, p.rows, first, p.width)) continue;
      const vec2 xs = load_features(p.u, u, first);
      vec2 value = vec2(0), w = vec2(0), singular = vec2(0);
      if (filtered) singular = load_features(p.s, s, first);
      [[unroll]] for (uint j = 0; j < EACH; ++j) {
        value[j] =
            rho == rho_softmax ? exp(xs[j] - largest) * scale : elementwise_rho(rho, xs[j]);
        w[j] = value[j] * (filtered ? filter_at(sigmoid(singular[j])) : 1);
      }
      store_features(p.w, row * p.width, first, w);
      if (apart) store_features(p.factor, row * p.width, first, counts ? value : vec2(0));
    }
  }
}
