#version 450
#extension GL_GOOGLE_include_directive : require
#include "gru/uniform.glsl"
#include "common/activation.glsl"

// As forward.comp, by addresses that all lanes share.
FT_ARGUMENTS(gru_forward)

vec2 sum[3 * rows]; // W_h h_{t-1} of a block, of each gate

void multiply(uint t, uint block) {
  [[unroll]] for (uint i = 0; i < 3 * rows; ++i) sum[i] = vec2(0);
  if (t == 0) return;
  for (uint k = 0; k < hidden; k += TOGETHER) {
    F32 w = after(p.weights, k * WIDE + block), h[rows];
    [[unroll]] for (uint row = 0; row < rows; ++row)
      h[row] = after(p.h, (entry_of(row, p.batch) * p.n + t - 1) * hidden + k);
    [[unroll]] for (uint i = 0; i < TOGETHER; ++i)
      [[unroll]] for (uint gate = 0; gate < 3; ++gate) {
        const uint at = i * WIDE + gate * hidden;
        const vec2 weight = vec2(weights_at(w, at), weights_at(w, at + LANES));
        [[unroll]] for (uint row = 0; row < rows; ++row)
          sum[gate * rows + row] += weight * h[row].v[i];
      }
  }
}

vec2 sigmoids(vec2 x) { return vec2(sigmoid(x.x), sigmoid(x.y)); }
vec2 tangents(vec2 x) { return vec2(hyperbolic_tangent(x.x), hyperbolic_tangent(x.y)); }

void advance(uint t, uint block, const uint row) {
  const uint token = entry_of(row, p.batch) * p.n + t, gates = token * WIDE + block;
  const uint at = token * hidden + block;
  vec2 x[3];
  [[unroll]] for (uint i = 0; i < 3; ++i) x[i] = load_block(p.gates, gates, i * hidden);
  const vec2 reset = sigmoids(x[0] + sum[row] + load_block(p.bias, block, 0));
  const vec2 update = sigmoids(x[1] + sum[rows + row] + load_block(p.bias, block, hidden));
  const vec2 inner = sum[2 * rows + row] + load_block(p.bias, block, 2 * hidden);
  const vec2 fresh = tangents(x[2] + reset * inner);
  const vec2 before = t > 0 ? load_block(p.h, at - hidden, 0) : vec2(0);
  store_block(p.h, at, 0, fresh + update * (before - fresh));
  if (!keep) return;
  store_block(p.gates, gates, 0, reset);
  store_block(p.gates, gates, hidden, update);
  store_block(p.gates, gates, 2 * hidden, fresh);
  store_block(p.inner, at, 0, inner);
}

void main() {
  for (uint t = p.first; t < p.end; ++t) {
    for (uint block = 0; block < hidden; block += BLOCK) {
      multiply(t, block);
      [[unroll]] for (uint row = 0; row < rows; ++row)
        if (has_row(row, p.batch)) advance(t, block, row);
    }
    subgroupMemoryBarrierBuffer();
  }
}
