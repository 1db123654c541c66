#version 450
#extension GL_GOOGLE_include_directive : require
//@variant lanes -DLANES=1
#include "common/types.glsl"
#include "common/activation.glsl"
#define LENGTH hidden
#define OUTPUTS (3 * hidden)
#include "gru/recurrence.glsl"

// Steps first .. end-1 of h_t = (1 - z) n + z h_{t-1}, with gates from W_i x + b_i (given) and
// W_h h_{t-1} + b_h: r, z = sigmoid of the sums, n = tanh(W_in x + b_in + r (W_hn h + b_hn)).
FT_CONSTANTS(gru_keep)
FT_ARGUMENTS(gru_forward)

vec3 load_inputs(Cell c, uint t) {
  const uint at = (c.entry * p.n + t) * 3 * hidden + c.unit;
  return c.valid ? vec3(p.gates.v[at], p.gates.v[at + hidden], p.gates.v[at + 2 * hidden])
                 : vec3(0);
}

void main() {
  load_own_weights(p.weights);
  clear_vector();
  rendezvous();
  EACH_ITEM(item) {
    const Cell c = cell(item, p.batch);
    if (c.valid && p.first > 0)
      put(c.row, c.unit, p.h.v[(c.entry * p.n + p.first - 1) * hidden + c.unit]);
  }
  rendezvous();
  uint t = p.first;
  do {
#ifndef LANES
    vec3 inputs[ITEMS]; // loads in flight while the product is computed
    EACH_ITEM(item) inputs[item] = load_inputs(cell(item, p.batch), t);
#endif
    multiply(p.weights);
    rendezvous();
    EACH_ITEM(item) {
      const Cell c = cell(item, p.batch);
#ifdef LANES
      const vec3 x = load_inputs(c, t);
#else
      const vec3 x = inputs[item];
#endif
      if (c.valid) {
        const float reset = sigmoid(x.x + product(c.row, c.unit) + p.bias.v[c.unit]);
        const float update =
            sigmoid(x.y + product(c.row, hidden + c.unit) + p.bias.v[hidden + c.unit]);
        const float inner =
            product(c.row, 2 * hidden + c.unit) + p.bias.v[2 * hidden + c.unit];
        const float fresh = hyperbolic_tangent(x.z + reset * inner);
        const float h = fresh + update * (get(c.row, c.unit) - fresh);
        put(c.row, c.unit, h);
        const uint at = (c.entry * p.n + t) * hidden + c.unit;
        p.h.v[at] = h;
        if (keep) {
          const uint gate = (c.entry * p.n + t) * 3 * hidden + c.unit;
          p.gates.v[gate] = reset;
          p.gates.v[gate + hidden] = update;
          p.gates.v[gate + 2 * hidden] = fresh;
          p.inner.v[at] = inner;
        }
      }
    }
    rendezvous();
    ++t;
  } while (t < p.end);
}
