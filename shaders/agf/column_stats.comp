#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "agf/contract.h"

// Over each chunk of tokens, per column c = head * D + d: forward, the largest v and the sum of
// exp(v - largest) over real tokens (online softmax); backward, sum V dV.
FT_CONSTANTS(agf_column_stats)

const uint block = 8; // loads in flight
const float lowest_float = -3.402823466e38;

FT_ARGUMENTS(agf_column_stats)

void sum_products(uint first, uint last, uint batch, uint column, uint out_row) {
  Elements grad = Elements(uvec2(p.other));
  uint at = (batch * p.tokens + first) * p.columns + column, n = first;
  float sum = 0;
  do {
    [[unroll]] for (uint i = 0; i < block; ++i)
      if (n + i < last)
        sum += load_element(p.v, at + i * p.columns) * load_element(grad, at + i * p.columns);
    at += block * p.columns;
    n += block;
  } while (n < last);
  p.stats.v[out_row * p.columns + column] = sum;
}

void largest_and_sum(uint first, uint last, uint batch, uint column, uint out_row) {
  const uint head = column / p.width;
  uint at = batch * p.stride[0] + head * p.stride[1] + first * p.stride[2] + column -
            head * p.width;
  const bool masked = present(p.other);
  float largest = lowest_float, sum = 0;
  uint n = first;
  do {
    float x[block], most = largest;
    [[unroll]] for (uint i = 0; i < block; ++i) {
      x[i] = lowest_float;
      if (n + i < last && (!masked || p.other.v[batch * p.tokens + n + i] > 0))
        x[i] = load_element(p.v, at + i * p.stride[2]);
      most = max(most, x[i]);
    }
    sum *= exp(largest - most);
    [[unroll]] for (uint i = 0; i < block; ++i)
      sum += x[i] > lowest_float ? exp(x[i] - most) : 0;
    largest = most;
    at += block * p.stride[2];
    n += block;
  } while (n < last);
  p.stats.v[2 * out_row * p.columns + column] = largest;
  p.stats.v[(2 * out_row + 1) * p.columns + column] = sum;
}

void main() {
  const uint column = gl_GlobalInvocationID.x, batch = gl_WorkGroupID.z;
  const uint first = gl_WorkGroupID.y * p.chunk, last = min(first + p.chunk, p.tokens);
  if (column >= p.columns || first >= last) return;
  const uint out_row = batch * gl_NumWorkGroups.y + gl_WorkGroupID.y;
  if (backward) sum_products(first, last, batch, column, out_row);
  else largest_and_sum(first, last, batch, column, out_row);
}
