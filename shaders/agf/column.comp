#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "agf/contract.h"
#include "agf/rho.glsl"

// V = rho(v), padding rows zero. Softmax runs over the tokens of each column c = head * D + d: each
// invocation combines the statistics of all chunks, then writes its own chunk. A column without a
// real token is all zero. In 16 bits V holds the exponentials, which do not shrink with length, and
// `inverse` holds 1 / their sum in F32.
FT_CONSTANTS(agf_column)

const float lowest_float = -3.402823466e38;

FT_ARGUMENTS(agf_column)

void main() {
  const uint column = gl_GlobalInvocationID.x, batch = gl_WorkGroupID.z;
  const uint chunks = gl_NumWorkGroups.y;
  const uint first = gl_WorkGroupID.y * p.chunk, last = min(first + p.chunk, p.tokens);
  if (column >= p.columns || first >= last) return;

  float largest = lowest_float, scale = 1;
  if (rho == rho_softmax) {
    const uint stats = 2 * batch * chunks * p.columns + column;
    float sum = 0;
    uint i = 0;
    do {
      const float top = p.stats.v[stats + 2 * i * p.columns];
      const float part = p.stats.v[stats + (2 * i + 1) * p.columns];
      const float most = max(largest, top);
      sum = sum * exp(largest - most) + part * exp(top - most);
      largest = most;
      ++i;
    } while (i < chunks);
    scale = sum > 0 ? 1 / sum : 0;
    if (NARROW_ELEMENTS) {
      if (gl_WorkGroupID.y == 0) p.inverse.v[batch * p.columns + column] = scale;
      scale = 1;
    }
  }

  const uint head = column / p.width;
  uint from = batch * p.stride[0] + head * p.stride[1] + first * p.stride[2] + column -
              head * p.width;
  uint to = (batch * p.tokens + first) * p.columns + column, n = first;
  do {
    float y = 0;
    if (!present(p.mask) || p.mask.v[batch * p.tokens + n] > 0) {
      const float x = load_element(p.v, from);
      y = rho == rho_softmax ? exp(x - largest) * scale : elementwise_rho(rho, x);
    }
    store_element(p.factor, to, y);
    from += p.stride[2];
    to += p.columns;
    ++n;
  } while (n < last);
}
