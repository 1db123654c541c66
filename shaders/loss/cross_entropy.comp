#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "loss/contract.h"

// loss[r] = -sum_k target_k log softmax(logits[r])_k with target = (1-s) one-hot(label) + s/K, all
// relative to the row's largest logit so that nothing overflows or cancels. A team per row.
FT_ARGUMENTS(loss_cross_entropy)

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint begin = row * p.columns, end = row < p.rows ? begin + p.columns : begin;
    const uint mine = begin + team_lane();
    float largest = lowest_float;
    uint i = mine;
    if (i < end) {
      do {
        largest = max(largest, p.logits.v[i]);
        i += team_lanes();
      } while (i < end);
    }
    largest = team_max(largest);
    float sum = 0, shifted = 0;
    i = mine;
    if (i < end) {
      do {
        const float x = p.logits.v[i] - largest;
        sum += exp(x);
        shifted += x;
        i += team_lanes();
      } while (i < end);
    }
    sum = team_sum(sum);
    if (p.smoothing > 0) shifted = team_sum(shifted);
    if (team_lane() == 0 && row < p.rows) {
      const uint label = uint(p.labels.v[row]); // a negative label becomes too large
      float loss = 0;
      if (label < p.columns) {
        loss = log(sum) - (1 - p.smoothing) * (p.logits.v[begin + label] - largest);
        if (p.smoothing > 0) loss -= p.smoothing / float(p.columns) * shifted;
      }
      p.loss.v[row] = loss;
      p.scale.v[2 * row] = largest;
      p.scale.v[2 * row + 1] = 1.0 / sum;
    }
  }
}
