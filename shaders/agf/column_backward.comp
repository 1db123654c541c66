#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "agf/contract.h"
#include "agf/rho.glsl"

// Gradient of column.comp. Softmax: dv = V (dV - sum over tokens of V dV), zero at padding because
// V is; the other functions: dv = rho'(v) dV at real tokens. In 16 bits V is E / sum E, and the
// kernel gets E and dE = dV / sum E: dv = E (dE - sum over tokens of E dE / sum E).
FT_CONSTANTS(agf_column_backward)
FT_ARGUMENTS(agf_column_backward)

void main() {
  const uint column = gl_GlobalInvocationID.x, batch = gl_WorkGroupID.z;
  const uint chunks = gl_NumWorkGroups.y;
  const uint first = gl_WorkGroupID.y * p.chunk, last = min(first + p.chunk, p.tokens);
  if (column >= p.columns || first >= last) return;

  float mean = 0; // of dV, weighted by V
  if (rho == rho_softmax) {
    const uint stats = batch * chunks * p.columns + column;
    uint i = 0;
    do {
      mean += p.stats.v[stats + i * p.columns];
      ++i;
    } while (i < chunks);
    if (NARROW_ELEMENTS) mean *= p.inverse.v[batch * p.columns + column];
  }

  const uint head = column / p.width;
  uint to = batch * p.stride[0] + head * p.stride[1] + first * p.stride[2] + column -
            head * p.width;
  uint from = (batch * p.tokens + first) * p.columns + column, n = first;
  do {
    float grad = 0;
    if (rho == rho_softmax)
      grad = load_element(p.factor, from) * (load_element(p.factor_grad, from) - mean);
    else if (!present(p.mask) || p.mask.v[batch * p.tokens + n] > 0)
      grad = load_element(p.factor_grad, from) *
             elementwise_rho_slope(rho, load_element(p.factor, from));
    if (accumulate) grad += load_element(p.v_grad, to);
    store_element(p.v_grad, to, grad);
    from += p.columns;
    to += p.stride[2];
    ++n;
  } while (n < last);
}
