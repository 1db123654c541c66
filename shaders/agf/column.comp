#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "agf/columns.glsl"
#include "agf/rho.glsl"

// V = rho(v), padding rows zero. Softmax runs over the tokens of each column c = head * D + d: each
// invocation combines the statistics of all chunks, then writes its own chunk. A column without a
// real token is all zero. In 16 bits V holds the exponentials, which do not shrink with length, and
// `inverse` holds 1 / their sum in F32.
FT_CONSTANTS(agf_column)

FT_ARGUMENTS(agf_column)

void main() {
  const uint column = first_column(), batch = gl_WorkGroupID.z;
  const uint chunks = gl_NumWorkGroups.y;
  const uint first = gl_WorkGroupID.y * p.chunk, last = min(first + p.chunk, p.tokens);
  if (column >= p.columns || first >= last) return;

  vec2 largest = vec2(lowest_float), scale = vec2(1);
  if (rho == rho_softmax) {
    const uint stats = 2 * batch * chunks * p.columns + column;
    vec2 sum = vec2(0);
    uint i = 0;
    do {
      const vec2 top = load_own(false, p.stats, stats + 2 * i * p.columns);
      const vec2 part = load_own(false, p.stats, stats + (2 * i + 1) * p.columns);
      const vec2 most = max(largest, top);
      sum = sum * exp(largest - most) + part * exp(top - most);
      largest = most;
      ++i;
    } while (i < chunks);
    [[unroll]] for (uint j = 0; j < EACH; ++j) scale[j] = sum[j] > 0 ? 1 / sum[j] : 0;
    if (NARROW_ELEMENTS) {
      if (gl_WorkGroupID.y == 0) p.inverse.v[batch * p.columns + column] = scale.x;
      scale = vec2(1);
    }
  }

  const uint head = column / p.width;
  uint from = batch * p.stride[0] + head * p.stride[1] + first * p.stride[2] + column -
              head * p.width;
  uint to = (batch * p.tokens + first) * p.columns + column, n = first;
  do {
    vec2 y = vec2(0);
    if (!present(p.mask) || p.mask.v[batch * p.tokens + n] > 0) {
      const vec2 x = load_own(p.v, from);
      [[unroll]] for (uint j = 0; j < EACH; ++j)
        y[j] = rho == rho_softmax ? exp(x[j] - largest[j]) * scale[j] : elementwise_rho(rho, x[j]);
    }
    store_own(p.factor, to, y);
    from += p.stride[2];
    to += p.columns;
    ++n;
  } while (n < last);
}
