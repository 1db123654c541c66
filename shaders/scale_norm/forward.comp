#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"

// y = gain x / (|x| + eps) per row; a team per row.
layout(constant_id = 1) const uint parts = 1; // numbers per feature: 2 for complex ones

layout(push_constant) uniform Push {
  F32 x;    // [rows, columns], columns = features * parts
  F32 gain; // [features], or absent: 1
  F32 y;
  F32 norm; // [rows], |x|
  uint rows, columns;
  float eps;
} p;

void main() {
  const uint lane = team_lane(), lanes = team_lanes();
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint start = row * p.columns, end = row < p.rows ? p.columns : 0;
    const bool idle = lane >= end;
    float squares = 0;
    for (uint first = 0; first < p.columns; first += lanes) {
      const uint c = first + lane;
      const float x = c < end ? p.x.v[start + c] : 0;
      squares += x * x;
    }
    const float norm = sqrt(team_sum(squares));
    const float scale = 1.0 / (norm + p.eps);
    uint c = lane;
    if (!idle) {
      do {
        float y = p.x.v[start + c] * scale;
        if (present(p.gain)) y *= p.gain.v[c / parts];
        p.y.v[start + c] = y;
        c += lanes;
      } while (c < p.columns);
    }
    if (lane == 0 && row < p.rows) p.norm.v[row] = norm;
  }
}
