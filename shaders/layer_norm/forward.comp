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

float gain[HELD], bias[HELD];

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

#if FILTRA_ROW_UNIFORM

float x[TOGETHER * HELD], mean[TOGETHER], rstd[TOGETHER];

// The row after `row` by r, or the last one.
uint row_after(uint row, uint r) { return min(row + r, p.rows - 1); }

void load(uint row, const uint r) {
  const uint start = row_after(row, r) * p.columns;
  [[unroll]] for (uint i = 0; i < HELD; i += 2) {
    const vec2 pair = load_columns(false, p.x, start, 0, i, p.columns);
    x[r * HELD + i] = pair.x;
    x[r * HELD + i + 1] = pair.y;
  }
}

void compute_mean(const uint r) {
  vec2 sum = vec2(0);
  [[unroll]] for (uint i = 0; i < HELD; i++) sum[i % 2] += x[r * HELD + i];
  mean[r] = team_sum(both(sum)) / float(p.columns);
}

void compute_rstd(const uint r) {
  vec2 squares = vec2(0);
  [[unroll]] for (uint i = 0; i < HELD; i++) {
    const float centred = x[r * HELD + i] - mean[r];
    squares[i % 2] += centred * centred;
  }
  rstd[r] = inversesqrt(team_sum(both(squares)) / float(p.columns) + p.eps);
}

void store(uint row, const uint r) {
  const uint start = row_after(row, r) * p.columns;
  [[unroll]] for (uint i = 0; i < HELD; i += 2) {
    vec2 pair = vec2(0);
    [[unroll]] for (uint j = 0; j < 2; j++)
      pair[j] = (x[r * HELD + i + j] - mean[r]) * rstd[r] * gain[i + j] + bias[i + j];
    store_columns(false, p.y, start, 0, i, pair);
  }
}

// All lanes store, many the same, since a store of some lanes costs a branch for each.
void store_stats(uint row) {
  const uint own = team_lane() % TOGETHER, to = row_after(row, own);
  vec2 stats = vec2(mean[0], rstd[0]);
  [[unroll]] for (uint r = 1; r < TOGETHER; r++)
    stats = own == r ? vec2(mean[r], rstd[r]) : stats;
  p.mean.v[to] = stats.x;
  p.rstd.v[to] = stats.y;
}

void main() {
  load_parameters(0);
  const uint step = TOGETHER * team_count();
  for (uint row = TOGETHER * team_index(); row < p.rows; row += step) {
    [[unroll]] for (uint r = 0; r < TOGETHER; r++) load(row, r);
    [[unroll]] for (uint r = 0; r < TOGETHER; r++) compute_mean(r);
    [[unroll]] for (uint r = 0; r < TOGETHER; r++) compute_rstd(r);
    [[unroll]] for (uint r = 0; r < TOGETHER; r++) store(row, r);
    store_stats(row);
  }
}

#else

float x[HELD];

void load(uint start, uint first) {
  [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
    const vec2 each = load_columns(false, p.x, start, first, i, p.columns);
    [[unroll]] for (uint j = 0; j < EACH; j++) x[i + j] = each[j];
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
        if (row_has(row_column(first, i), p.columns) && row < p.rows) {
          vec2 each = vec2(0);
          [[unroll]] for (uint j = 0; j < EACH; j++)
            each[j] = (x[i + j] - mean) * rstd * gain[i + j] + bias[i + j];
          store_columns(NARROW_ELEMENTS, p.y, start, first, i, each);
        }
      }
    } while (row_goes_on(first, p.columns));
    if (team_lane() == 0 && row < p.rows) {
      p.mean.v[row] = mean;
      p.rstd.v[row] = rstd;
    }
  }
}
#endif
