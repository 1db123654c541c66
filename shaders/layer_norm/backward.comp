#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant lanes -DFILTRA_ROW_LANES=1
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "common/each.glsl"
#include "common/row.glsl"
#include "layer_norm/contract.h"

// dx = rstd (a - mean(a) - z mean(a z)) per row, a = dy gain, z = (x - mean) rstd; a team per row.
// A team that holds a whole row can also sum the gradients of gain and bias, dy z and dy, by column
// over its rows. A workgroup's teams then add their sums to shared memory in turn.
FT_CONSTANTS(layer_norm_backward_own)
FT_ARGUMENTS(layer_norm_backward)

float gain[HELD], up[HELD], centred[HELD]; // up: dy, centred: x - mean
float gain_sum[HELD], bias_sum[HELD];

void load_gain(uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
    const vec2 each = load_columns(false, p.gain, 0, first, i, p.columns);
    [[unroll]] for (uint j = 0; j < EACH; j++) gain[i + j] = each[j];
  }
}

void load(uint start, uint first, float mean) {
  if (!WHOLE) load_gain(first);
  [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
    const vec2 ups = load_columns(NARROW_ELEMENTS, p.y_grad, start, first, i, p.columns);
    const vec2 xs = load_columns(false, p.x, start, first, i, p.columns);
    [[unroll]] for (uint j = 0; j < EACH; j++) {
      up[i + j] = ups[j];
      centred[i + j] = xs[j] - mean;
    }
  }
}

#if FILTRA_ROW_LANES

void write_sums() {
  if (present(p.gain_sums)) store_sums(p.gain_sums, gain_sum, HELD);
  if (present(p.bias_sums)) store_sums(p.bias_sums, bias_sum, HELD);
}

#elif FILTRA_ROW_UNIFORM

void store_own(F32 to, float own[HELD]) {
  [[unroll]] for (uint i = 0; i < HELD; i += 2)
    store_columns(false, to, gl_WorkGroupID.x * p.columns, 0, i, vec2(own[i], own[i + 1]));
}

void write_sums() {
  if (present(p.gain_sums)) store_own(p.gain_sums, gain_sum);
  if (present(p.bias_sums)) store_own(p.bias_sums, bias_sum);
}

#else

shared float all_gain[SPACE == 0 ? 1 : SPACE], all_bias[SPACE == 0 ? 1 : SPACE];

// Adds up the sums in the order of the workgroup's teams.
void write_sums() {
  for (uint team = 0; team < team_places(); team++) {
    if (team == team_place()) {
      [[unroll]] for (uint i = 0; i < HELD; i++) {
        const uint c = row_column(0, i);
        if (c >= p.columns) continue;
        all_gain[c] = team == 0 ? gain_sum[i] : all_gain[c] + gain_sum[i];
        all_bias[c] = team == 0 ? bias_sum[i] : all_bias[c] + bias_sum[i];
      }
    }
    barrier();
  }
  for (uint c = gl_LocalInvocationID.x; c < p.columns; c += gl_WorkGroupSize.x) {
    const uint at = gl_WorkGroupID.x * p.columns + c;
    if (present(p.gain_sums)) p.gain_sums.v[at] = all_gain[c];
    if (present(p.bias_sums)) p.bias_sums.v[at] = all_bias[c];
  }
}

#endif

void main() {
  if (WHOLE) load_gain(0);
  [[unroll]] for (uint i = 0; i < HELD; i++) gain_sum[i] = bias_sum[i] = 0;
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint at = min(row, p.rows - 1), start = at * p.columns;
    const bool here = team_has(row, p.rows);
    const float mean = p.mean.v[at], rstd = p.rstd.v[at];
    vec2 sums = vec2(0), products = vec2(0);
    uint first = 0;
    do {
      load(start, first, mean);
      [[unroll]] for (uint i = 0; i < HELD; i++) {
        const bool there = row_has(row_column(first, i), p.columns);
        const float a = there ? up[i] * gain[i] : 0;
        sums[i % EACH] += a;
        products[i % EACH] += a * centred[i] * rstd;
        if (SPACE > 0 && here) {
          gain_sum[i] += up[i] * centred[i] * rstd;
          bias_sum[i] += up[i];
        }
      }
    } while (row_goes_on(first, p.columns));
    if (SPACE > 0 && !present(p.x_grad)) continue;
    const float sum = team_sum(both(sums)) / float(p.columns);
    const float product = team_sum(both(products)) / float(p.columns);
    first = 0;
    do {
      if (!WHOLE) load(start, first, mean);
      [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
        vec2 grad = vec2(0);
        [[unroll]] for (uint j = 0; j < EACH; j++) {
          const uint k = i + j;
          grad[j] = rstd * (up[k] * gain[k] - sum - centred[k] * rstd * product);
        }
        if (row_has(row_column(first, i), p.columns) && here) {
          if (accumulate) grad += load_columns(false, p.x_grad, start, first, i, p.columns);
          store_columns(false, p.x_grad, start, first, i, grad);
        }
      }
    } while (row_goes_on(first, p.columns));
  }
  if (SPACE > 0) write_sums();
}
