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

// y = (x - mean) rstd gain + bias per row, rstd = 1 / sqrt(variance + eps); a team per row.
FT_ARGUMENTS(layer_norm_forward)

float x[HELD], gain[HELD], bias[HELD];

void load(uint start, uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
    const vec2 each = load_columns(false, p.x, start, first, i, p.columns);
    [[unroll]] for (uint j = 0; j < EACH; j++) x[i + j] = each[j];
  }
}

void load_parameters(uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
    const vec2 gains = load_columns(false, p.gain, 0, first, i, p.columns);
    const vec2 biases = load_columns(false, p.bias, 0, first, i, p.columns);
    [[unroll]] for (uint j = 0; j < EACH; j++) {
      gain[i + j] = gains[j];
      bias[i + j] = biases[j];
    }
  }
}

void main() {
  if (WHOLE) load_parameters(0);
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint start = min(row, p.rows - 1) * p.columns;
    vec2 sum = vec2(0), squares = vec2(0);
    uint first = 0;
    do {
      load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i++)
        sum[i % EACH] += row_has(row_column(first, i), p.columns) ? x[i] : 0;
    } while (row_goes_on(first, p.columns));
    const float mean = team_sum(both(sum)) / float(p.columns);
    first = 0;
    do {
      if (!WHOLE) load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i++) {
        const float centred = row_has(row_column(first, i), p.columns) ? x[i] - mean : 0;
        squares[i % EACH] += centred * centred;
      }
    } while (row_goes_on(first, p.columns));
    const float rstd = inversesqrt(team_sum(both(squares)) / float(p.columns) + p.eps);
    first = 0;
    do {
      if (!WHOLE) {
        load(start, first);
        load_parameters(first);
      }
      [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
        if (row_has(row_column(first, i), p.columns) && team_has(row, p.rows)) {
          vec2 each = vec2(0);
          [[unroll]] for (uint j = 0; j < EACH; j++)
            each[j] = (x[i + j] - mean) * rstd * gain[i + j] + bias[i + j];
          store_columns(NARROW_ELEMENTS, p.y, start, first, i, each);
        }
      }
    } while (row_goes_on(first, p.columns));
    if (team_lane() == 0 && team_has(row, p.rows)) {
      p.mean.v[row] = mean;
      p.rstd.v[row] = rstd;
    }
  }
}
