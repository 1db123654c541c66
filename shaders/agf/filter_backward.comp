#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "agf/filter.glsl"

// Gradients of filter.comp; U, the basis and its derivative (the differentiated recurrence) are
// computed again from u and s. Softmax: du = U (dU - r), r = sum_d U dU, where dU = g dW + factor's
// gradient, so that r = sum_d W dW + sum_d U dfactor needs no polynomial. A W of 16 bits is rounded
// too much for that: where U's gradients cancel over the tokens, as in a bias's, its error stays.
layout(constant_id = 6) const bool accumulate_u = false;
layout(constant_id = 7) const bool accumulate_s = false;

layout(push_constant) uniform Push {
  Elements u, s;                   // views [B,H,N,D]
  F32x4 table;                     // [K+1]
  F32 w;                           // [B,N,H,D]; absent in 16 bits
  Elements w_grad, factor_grad;    // [B,N,H,D]; factor_grad may be absent
  Elements u_grad, s_grad;         // strides of u and s; either may be absent
  F32 theta_sums;                  // [workgroups, K+1], or absent
  uint rows, heads, tokens, width;
  uint u_stride[3], s_stride[3];
} p;

void main() {
  const uint lane = row_lane(), lanes = row_lanes();
  const bool factored = present_elements(p.factor_grad);
  load_table(p.table);
  float theta_grad[order + 1];
  [[unroll]] for (uint k = 0; k <= order; ++k) theta_grad[k] = 0;

  for (uint row = first_row(); row_goes_on(row, p.rows); row += row_step()) {
    const bool idle = lane >= p.width || row >= p.rows;
    const uint u = row_offset(row, p.heads, p.tokens, p.u_stride);
    const uint s = row_offset(row, p.heads, p.tokens, p.s_stride);
    const uint dense = row * p.width;
    float largest = lowest_float, scale = 1, mean = 0;
    if (rho == rho_softmax) {
      float sum = 0, product = 0, weighted = 0; // of exp, W dW, exp times the rest of dU
      for (uint first = 0; first < p.width; first += lanes) {
        const uint d = first + lane;
        if (idle || d >= p.width) continue;
        const float x = load_element(p.u, u + d), e = exp(-abs(x - largest));
        const float old = x > largest ? e : 1, new = x > largest ? 1 : e;
        sum = sum * old + new;
        const float up = load_element(p.w_grad, dense + d);
        float rest = 0;
        if (NARROW_ELEMENTS)
          rest = filtered ? up * filter_at(sigmoid(load_element(p.s, s + d))) : up;
        else
          product += p.w.v[dense + d] * up;
        if (factored) rest += load_element(p.factor_grad, dense + d);
        weighted = weighted * old + new * rest;
        largest = max(largest, x);
      }
      const float mine = largest;
      largest = row_max(mine);
      const float shift = exp(mine - largest);
      scale = 1 / row_sum(sum * shift);
      mean = row_sum(product + weighted * shift * scale);
    }
    for (uint first = 0; first < p.width; first += lanes) {
      const uint d = first + lane;
      if (idle || d >= p.width) continue;
      const float x = load_element(p.u, u + d), up = load_element(p.w_grad, dense + d);
      const float value =
          rho == rho_softmax ? exp(x - largest) * scale : elementwise_rho(rho, x);
      float g = 1;
      if (filtered) {
        const float unit = sigmoid(load_element(p.s, s + d));
        const float argument = symmetric ? 2 * unit - 1 : unit;
        const float g_grad = up * value;
        float before = 0, now = 1, before_slope = 0, slope = 0, g_slope = 0;
        g = table[0].x;
        theta_grad[0] += g_grad;
        [[unroll]] for (uint k = 1; k <= order; ++k) {
          const float a = table[k].y, line = a * argument + table[k].z, c = table[k].w;
          const float next = line * now - c * before;
          const float next_slope = a * now + line * slope - c * before_slope;
          g += table[k].x * next;
          g_slope += table[k].x * next_slope;
          theta_grad[k] += g_grad * next;
          before = now;
          now = next;
          before_slope = slope;
          slope = next_slope;
        }
        if (present_elements(p.s_grad)) {
          float grad = g_grad * g_slope * unit * (1 - unit) * (symmetric ? 2 : 1);
          if (accumulate_s) grad += load_element(p.s_grad, s + d);
          store_element(p.s_grad, s + d, grad);
        }
      }
      if (present_elements(p.u_grad)) {
        float grad = up * g;
        if (factored) grad += load_element(p.factor_grad, dense + d);
        grad = rho == rho_softmax ? value * (grad - mean)
                                  : grad * elementwise_rho_slope(rho, value);
        if (accumulate_u) grad += load_element(p.u_grad, u + d);
        store_element(p.u_grad, u + d, grad);
      }
    }
  }

  if (filtered && present(p.theta_sums)) {
    [[unroll]] for (uint k = 0; k <= order; ++k) {
      // Not theta_grad[k]: NVK leaves loops with barriers rolled, and the array would go to memory.
      float mine = theta_grad[0];
      [[unroll]] for (uint j = 1; j <= order; ++j) mine = j == k ? theta_grad[j] : mine;
      const float sum = wg_sum(mine);
      if (gl_LocalInvocationID.x == 0) p.theta_sums.v[gl_WorkGroupID.x * (order + 1) + k] = sum;
    }
  }
}
