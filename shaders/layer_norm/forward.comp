#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "common/row.glsl"

// y = (x - mean) rstd gain + bias per row, rstd = 1 / sqrt(variance + eps); a team per row.
layout(push_constant) uniform Push {
  F32 x;          // [rows, columns]
  F32 gain, bias; // [columns]
  Elements y;
  F32 mean, rstd;
  uint rows, columns;
  float eps;
} p;

float x[HELD], gain[HELD], bias[HELD];

void load(uint start, uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i++)
    x[i] = p.x.v[start + min(row_column(first, i), p.columns - 1)];
}

void load_parameters(uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i++) {
    const uint c = min(row_column(first, i), p.columns - 1);
    gain[i] = p.gain.v[c];
    bias[i] = p.bias.v[c];
  }
}

void main() {
  if (WHOLE) load_parameters(0);
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint start = min(row, p.rows - 1) * p.columns;
    float sum = 0, squares = 0;
    uint first = 0;
    do {
      load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i++)
        sum += row_column(first, i) < p.columns ? x[i] : 0;
    } while (row_goes_on(first, p.columns));
    const float mean = team_sum(sum) / float(p.columns);
    first = 0;
    do {
      if (!WHOLE) load(start, first);
      [[unroll]] for (uint i = 0; i < HELD; i++) {
        const float centred = row_column(first, i) < p.columns ? x[i] - mean : 0;
        squares += centred * centred;
      }
    } while (row_goes_on(first, p.columns));
    const float rstd = inversesqrt(team_sum(squares) / float(p.columns) + p.eps);
    first = 0;
    do {
      if (!WHOLE) {
        load(start, first);
        load_parameters(first);
      }
      [[unroll]] for (uint i = 0; i < HELD; i++) {
        const uint c = row_column(first, i);
        if (c < p.columns && row < p.rows)
          store_element(p.y, start + c, (x[i] - mean) * rstd * gain[i] + bias[i]);
      }
    } while (row_goes_on(first, p.columns));
    if (team_lane() == 0 && row < p.rows) {
      p.mean.v[row] = mean;
      p.rstd.v[row] = rstd;
    }
  }
}
