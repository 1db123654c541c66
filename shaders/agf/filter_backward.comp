#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant lanes -DFILTRA_ROW_LANES=1
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "agf/filter.glsl"

// Gradients of filter.comp; U, the basis and its derivative (the differentiated recurrence) are
// recomputed from u and s. Softmax: du = U (dU - r), r = sum_d U dU, where dU = g dW + the factor's
// gradient. In F32, r = sum_d W dW + sum_d U dfactor, which needs no polynomial. A 16-bit W is too
// inexact: its rounding error remains where U's gradients cancel over the tokens, as in a bias's
// gradient.
FT_CONSTANTS(agf_filter_backward_own)
FT_ARGUMENTS(agf_filter_backward)

void main() {
  load_table(p.table);
  float theta_grad[order + 1];
  [[unroll]] for (uint k = 0; k <= order; ++k) theta_grad[k] = 0;

  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const bool factored = present_elements(p.factor_grad) &&
                          row_counts(p.mask, min(row, p.rows - 1), p.heads);
    const uint u = row_offset(row, p.heads, p.tokens, p.u_stride);
    const uint s = row_offset(row, p.heads, p.tokens, p.s_stride);
    const uint dense = row * p.width;
    float largest = lowest_float, scale = 1, mean = 0;
    if (rho == rho_softmax) {
      float sum = 0, product = 0, weighted = 0; // of exp, of W dW, of exp times the rest of dU
      for_features(first) {
        if (!has_feature(row, p.rows, first, p.width)) continue;
        const vec2 xs = load_features(p.u, u, first), ups = load_features(p.w_grad, dense, first);
        vec2 rests = vec2(0), singular = vec2(0), w = vec2(0);
        if (NARROW_ELEMENTS && filtered) singular = load_features(p.s, s, first);
        if (!NARROW_ELEMENTS) w = load_features(Elements(uvec2(p.w)), dense, first);
        if (factored) rests = load_features(p.factor_grad, dense, first);
        [[unroll]] for (uint j = 0; j < EACH; ++j) {
          const float x = xs[j], e = exp(-abs(x - largest)), up = ups[j];
          const float old = x > largest ? e : 1, new = x > largest ? 1 : e;
          sum = sum * old + new;
          float rest = rests[j];
          if (NARROW_ELEMENTS)
            rest += filtered ? up * filter_at(sigmoid(singular[j])) : up;
          else
            product += w[j] * up;
          weighted = weighted * old + new * rest;
          largest = max(largest, x);
        }
      }
      const float mine = largest;
      largest = team_max(mine);
      const float shift = exp(mine - largest);
      scale = 1 / team_sum(sum * shift);
      mean = team_sum(product + weighted * shift * scale);
    }
    for_features(first) {
      if (!has_feature(row, p.rows, first, p.width)) continue;
      const vec2 xs = load_features(p.u, u, first), ups = load_features(p.w_grad, dense, first);
      vec2 value = vec2(0), g = vec2(1), singular = vec2(0), s_grad = vec2(0);
      if (filtered) singular = load_features(p.s, s, first);
      [[unroll]] for (uint j = 0; j < EACH; ++j) {
        value[j] =
            rho == rho_softmax ? exp(xs[j] - largest) * scale : elementwise_rho(rho, xs[j]);
        if (filtered) {
          const float unit = sigmoid(singular[j]);
          const float argument = symmetric ? 2 * unit - 1 : unit;
          const float g_grad = ups[j] * value[j];
          float before = 0, now = 1, before_slope = 0, slope = 0, g_slope = 0;
          g[j] = table[0].x;
          theta_grad[0] += g_grad;
          [[unroll]] for (uint k = 1; k <= order; ++k) {
            const float a = table[k].y, line = a * argument + table[k].z, c = table[k].w;
            const float next = line * now - c * before;
            const float next_slope = a * now + line * slope - c * before_slope;
            g[j] += table[k].x * next;
            g_slope += table[k].x * next_slope;
            theta_grad[k] += g_grad * next;
            before = now;
            now = next;
            before_slope = slope;
            slope = next_slope;
          }
          s_grad[j] = g_grad * g_slope * unit * (1 - unit) * (symmetric ? 2 : 1);
        }
      }
      if (filtered && present_elements(p.s_grad)) {
        if (accumulate_s) s_grad += load_features(p.s_grad, s, first);
        store_features(p.s_grad, s, first, s_grad);
      }
      if (present_elements(p.u_grad)) {
        vec2 u_grad = ups * g;
        if (factored) u_grad += load_features(p.factor_grad, dense, first);
        [[unroll]] for (uint j = 0; j < EACH; ++j)
          u_grad[j] = rho == rho_softmax ? value[j] * (u_grad[j] - mean)
                                         : u_grad[j] * elementwise_rho_slope(rho, value[j]);
        if (accumulate_u) u_grad += load_features(p.u_grad, u, first);
        store_features(p.u_grad, u, first, u_grad);
      }
    }
  }

  if (filtered && present(p.theta_sums)) {
    [[unroll]] for (uint k = 0; k <= order; ++k) {
      // Not theta_grad[k]: NVK does not unroll loops with barriers, and would keep the array in
      // memory.
      float mine = theta_grad[0];
      [[unroll]] for (uint j = 1; j <= order; ++j) mine = j == k ? theta_grad[j] : mine;
      const float sum = wg_sum(mine);
      if (gl_LocalInvocationID.x == 0) p.theta_sums.v[gl_WorkGroupID.x * (order + 1) + k] = sum;
    }
  }
}
