#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "agf/columns.glsl"

// Over each chunk of tokens, per column c = head * D + d: forward, the largest v and the sum of
// exp(v - largest) over real tokens (online softmax); backward, sum V dV.
FT_CONSTANTS(agf_column_stats)

const uint block = 8; // loads in flight

FT_ARGUMENTS(agf_column_stats)

void sum_products(uint first, uint last, uint batch, uint column, uint out_row) {
  Elements grad = Elements(uvec2(p.other));
  uint at = (batch * p.tokens + first) * p.columns + column, n = first;
  vec2 sum = vec2(0);
  do {
    [[unroll]] for (uint i = 0; i < block; ++i)
      if (n + i < last)
        sum += load_own(p.v, at + i * p.columns) * load_own(grad, at + i * p.columns);
    at += block * p.columns;
    n += block;
  } while (n < last);
  store_own(false, p.stats, out_row * p.columns + column, sum);
}

void largest_and_sum(uint first, uint last, uint batch, uint column, uint out_row) {
  const uint head = column / p.width;
  uint at = batch * p.stride[0] + head * p.stride[1] + first * p.stride[2] + column -
            head * p.width;
  const bool masked = present(p.other);
  vec2 largest = vec2(lowest_float), sum = vec2(0);
  uint n = first;
  do {
    vec2 x[block], most = largest;
    [[unroll]] for (uint i = 0; i < block; ++i) {
      x[i] = vec2(lowest_float);
      if (n + i < last && (!masked || p.other.v[batch * p.tokens + n + i] > 0))
        x[i] = load_own(p.v, at + i * p.stride[2]);
      most = max(most, x[i]);
    }
    sum *= exp(largest - most);
    [[unroll]] for (uint i = 0; i < block; ++i)
      [[unroll]] for (uint j = 0; j < EACH; ++j)
        sum[j] += x[i][j] > lowest_float ? exp(x[i][j] - most[j]) : 0;
    largest = most;
    at += block * p.stride[2];
    n += block;
  } while (n < last);
  store_own(false, p.stats, 2 * out_row * p.columns + column, largest);
  store_own(false, p.stats, (2 * out_row + 1) * p.columns + column, sum);
}

void main() {
  const uint column = first_column(), batch = gl_WorkGroupID.z;
  const uint first = gl_WorkGroupID.y * p.chunk, last = min(first + p.chunk, p.tokens);
  if (column >= p.columns || first >= last) return;
  const uint out_row = batch * gl_NumWorkGroups.y + gl_WorkGroupID.y;
  if (backward) sum_products(first, last, batch, column, out_row);
  else largest_and_sum(first, last, batch, column, out_row);
}
