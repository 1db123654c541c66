#version 450
#extension GL_GOOGLE_include_directive : require
//@variant lanes -DLANES=1
#include "common/types.glsl"
#define LENGTH (3 * hidden)
#define OUTPUTS hidden
#include "gru/recurrence.glsl"

// Steps end-1 .. first of the recurrence's gradient. After reading them, a step overwrites the
// gates by d(W_h h + b_h) and `inner` by h_{t-1}, for the gradients of the recurrent weights.
FT_ARGUMENTS(gru_backward)

shared float direct[CELLS]; // the part of the carry that does not pass through W_h

struct Step {
  float up, reset, update, fresh, inner, h_before;
};

Step load_step(Cell c, uint t) {
  Step s = Step(0, 0, 0, 0, 0, 0);
  if (c.valid) {
    const uint token = c.entry * p.n + t;
    const uint at = token * hidden + c.unit, gate = token * 3 * hidden + c.unit;
    s = Step(p.dh.v[at], p.gates.v[gate], p.gates.v[gate + hidden], p.gates.v[gate + 2 * hidden],
             p.inner.v[at], 0);
    if (t > 0) s.h_before = p.h.v[at - hidden];
  }
  return s;
}

void main() {
  load_own_weights(p.weights);
  clear_vector();
  EACH_ITEM(item) {
    const Cell c = cell(item, p.batch);
    const uint i = item * WIDTH + gl_LocalInvocationID.x;
    if (i < CELLS) {
      const bool last = p.end == p.n;
      direct[i] = c.valid && !last ? p.carry.v[c.entry * hidden + c.unit] : 0.0;
      [[unroll]] for (uint s = 0; s < slices; ++s)
        partial[(s * rows + c.row) * OUTPUTS + c.unit] = 0;
    }
  }
  rendezvous();
  uint t = p.end - 1;
#ifndef LANES
  Step ahead[ITEMS];
  EACH_ITEM(item) ahead[item] = load_step(cell(item, p.batch), t);
#endif
  do {
    EACH_ITEM(item) {
      const Cell c = cell(item, p.batch);
#ifdef LANES
      const Step s = load_step(c, t);
#else
      const Step s = ahead[item];
#endif
      if (c.valid) {
        const float dh = s.up + direct[c.row * hidden + c.unit] + product(c.row, c.unit);
        const float fresh = dh * (1.0 - s.update) * (1.0 - s.fresh * s.fresh);
        const float update = dh * (s.h_before - s.fresh) * s.update * (1.0 - s.update);
        const float reset = fresh * s.inner * s.reset * (1.0 - s.reset);
        const float inner = fresh * s.reset;
        direct[c.row * hidden + c.unit] = dh * s.update;
        put(c.row, c.unit, reset);
        put(c.row, hidden + c.unit, update);
        put(c.row, 2 * hidden + c.unit, inner);
        const uint token = c.entry * p.n + t, gate = token * 3 * hidden + c.unit;
        p.gates.v[gate] = reset;
        p.gates.v[gate + hidden] = update;
        p.gates.v[gate + 2 * hidden] = inner;
        p.inner.v[token * hidden + c.unit] = s.h_before;
        if (present(p.dinputs)) {
          p.dinputs.v[gate] = reset;
          p.dinputs.v[gate + hidden] = update;
          p.dinputs.v[gate + 2 * hidden] = fresh;
        }
      }
    }
    rendezvous();
#ifndef LANES
    if (t > p.first) { // loads in flight while the product is computed
      EACH_ITEM(item) ahead[item] = load_step(cell(item, p.batch), t - 1);
    }
#endif
    multiply(p.weights);
    rendezvous();
  } while (t-- > p.first);
  EACH_ITEM(item) {
    const Cell c = cell(item, p.batch);
    if (c.valid)
      p.carry.v[c.entry * hidden + c.unit] =
          direct[c.row * hidden + c.unit] + product(c.row, c.unit);
  }
}
