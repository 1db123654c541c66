#version 450
#extension GL_GOOGLE_include_directive : require
#include "gru/uniform.glsl"

// As backward.comp, by addresses that all lanes share. The carry has only the part that does not
// pass through W_h: the rest is the product with what the step after this one has left in `gates`.
FT_ARGUMENTS(gru_backward)

vec2 sum[rows * blocks]; // the gradient of h from the next step, through W_h

void multiply(uint t, uint first) {
  [[unroll]] for (uint i = 0; i < rows * blocks; ++i) sum[i] = vec2(0);
  if (t + 1 == p.n) return;
  for (uint k = 0; k < WIDE; k += TOGETHER) {
    F32 w = after(p.weights, k * hidden + first), d[rows];
    [[unroll]] for (uint row = 0; row < rows; ++row)
      d[row] = after(p.gates, (entry_of(row, p.batch) * p.n + t + 1) * WIDE + k);
    [[unroll]] for (uint i = 0; i < TOGETHER; ++i)
      [[unroll]] for (uint b = 0; b < blocks; ++b) {
        const uint at = i * hidden + b * BLOCK;
        const vec2 weight = vec2(weights_at(w, at), weights_at(w, at + LANES));
        [[unroll]] for (uint row = 0; row < rows; ++row)
          sum[b * rows + row] += weight * d[row].v[i];
      }
  }
}

void go_back(uint t, uint block, const uint row, vec2 product) {
  const uint entry = entry_of(row, p.batch), token = entry * p.n + t;
  const uint at = token * hidden + block, gates = token * WIDE + block;
  const uint carry = entry * hidden + block;
  const vec2 reset = load_block(p.gates, gates, 0), update = load_block(p.gates, gates, hidden);
  const vec2 fresh = load_block(p.gates, gates, 2 * hidden), inner = load_block(p.inner, at, 0);
  const vec2 before = t > 0 ? load_block(p.h, at - hidden, 0) : vec2(0);
  vec2 dh = load_block(p.dh, at, 0);
  if (t + 1 < p.n) dh += load_block(p.carry, carry, 0) + product;
  const vec2 dfresh = dh * (1.0 - update) * (1.0 - fresh * fresh);
  const vec2 dupdate = dh * (before - fresh) * update * (1.0 - update);
  const vec2 dreset = dfresh * inner * reset * (1.0 - reset);
  store_block(p.carry, carry, 0, dh * update);
  store_block(p.gates, gates, 0, dreset);
  store_block(p.gates, gates, hidden, dupdate);
  store_block(p.gates, gates, 2 * hidden, dfresh * reset);
  store_block(p.inner, at, 0, before);
  if (!present(p.dinputs)) return;
  store_block(p.dinputs, gates, 0, dreset);
  store_block(p.dinputs, gates, hidden, dupdate);
  store_block(p.dinputs, gates, 2 * hidden, dfresh);
}

void main() {
  uint t = p.end;
  do {
    --t;
    for (uint first = 0; first < hidden; first += blocks * BLOCK) {
      multiply(t, first);
      [[unroll]] for (uint b = 0; b < blocks; ++b)
        [[unroll]] for (uint row = 0; row < rows; ++row)
          if (has_row(row, p.batch)) go_back(t, first + b * BLOCK, row, sum[b * rows + row]);
    }
    subgroupMemoryBarrierBuffer();
  } while (t > p.first);
}
