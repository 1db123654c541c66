#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "loss/contract.h"

// hit[r] = 1 if fewer than k logits precede the label's: larger ones, and equal ones in lower
// columns. A team per row.
FT_ARGUMENTS(loss_top_k_accuracy)

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint begin = row * p.columns, end = row < p.rows ? begin + p.columns : begin;
    uint label = p.columns;
    if (row < p.rows) label = uint(p.labels.v[row]); // a negative label becomes too large
    const bool known = label < p.columns;
    float own = 0;
    if (known) own = p.logits.v[begin + label];
    float before = 0; // as a float, which counts columns exactly
    uint i = begin + team_lane();
    if (i < end) {
      do {
        const float x = p.logits.v[i];
        if (x > own || (x == own && i - begin < label)) before += 1;
        i += team_lanes();
      } while (i < end);
    }
    before = team_sum(before);
    if (team_lane() == 0 && row < p.rows) p.hit.v[row] = known && before < float(p.k) ? 1 : 0;
  }
}
