#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"

// y = (x - mean) rstd gain + bias per row, rstd = 1 / sqrt(variance + eps); a team per row.
layout(push_constant) uniform Push {
  F32 x;          // [rows, columns]
  F32 gain, bias; // [columns]
  Elements y;
  F32 mean, rstd;
  uint rows, columns;
  float eps;
} p;

void main() {
  const uint lane = team_lane(), lanes = team_lanes();
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint start = row * p.columns;
    const bool idle = lane >= p.columns || row >= p.rows;
    float sum = 0;
    uint c = lane;
    if (!idle) {
      do {
        sum += p.x.v[start + c];
        c += lanes;
      } while (c < p.columns);
    }
    const float mean = team_sum(sum) / float(p.columns);
    float squares = 0;
    c = lane;
    if (!idle) {
      do {
        const float centred = p.x.v[start + c] - mean;
        squares += centred * centred;
        c += lanes;
      } while (c < p.columns);
    }
    const float rstd = inversesqrt(team_sum(squares) / float(p.columns) + p.eps);
    c = lane;
    if (!idle) {
      do {
        store_element(p.y, start + c,
                      (p.x.v[start + c] - mean) * rstd * p.gain.v[c] + p.bias.v[c]);
        c += lanes;
      } while (c < p.columns);
    }
    if (lane == 0 && row < p.rows) {
      p.mean.v[row] = mean;
      p.rstd.v[row] = rstd;
    }
  }
}
