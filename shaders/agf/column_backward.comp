#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "agf/columns.glsl"
#include "agf/rho.glsl"

// Gradient of column.comp. Softmax: dv = V (dV - sum over tokens of V dV), zero at padding because
// V is; the other functions: dv = rho'(v) dV at real tokens. In 16 bits V is E / sum E, and the
// kernel gets E and dE = dV / sum E: dv = E (dE - sum over tokens of E dE / sum E).
FT_CONSTANTS(agf_column_backward)
FT_ARGUMENTS(agf_column_backward)

void main() {
  const uint column = first_column(), batch = gl_WorkGroupID.z;
  const uint chunks = gl_NumWorkGroups.y;
  const uint first = gl_WorkGroupID.y * p.chunk, last = min(first + p.chunk, p.tokens);
  if (column >= p.columns || first >= last) return;

  vec2 mean = vec2(0); // of dV, weighted by V
  if (rho == rho_softmax) {
    const uint stats = batch * chunks * p.columns + column;
    uint i = 0;
    do {
      mean += load_own(false, p.stats, stats + i * p.columns);
      ++i;
    } while (i < chunks);
    if (NARROW_ELEMENTS) mean *= p.inverse.v[batch * p.columns + column];
  }

  const uint head = column / p.width;
  uint to = batch * p.stride[0] + head * p.stride[1] + first * p.stride[2] + column -
            head * p.width;
  uint from = (batch * p.tokens + first) * p.columns + column, n = first;
  do {
    vec2 grad = vec2(0);
    if (rho == rho_softmax || !present(p.mask) || p.mask.v[batch * p.tokens + n] > 0) {
      const vec2 y = load_own(p.factor, from), y_grad = load_own(p.factor_grad, from);
      [[unroll]] for (uint j = 0; j < EACH; ++j)
        grad[j] = rho == rho_softmax ? y[j] * (y_grad[j] - mean[j])
                                     : y_grad[j] * elementwise_rho_slope(rho, y[j]);
    }
    if (accumulate) grad += load_own(p.v_grad, to);
    store_own(p.v_grad, to, grad);
    from += p.columns;
    to += p.stride[2];
    ++n;
  } while (n < last);
}
