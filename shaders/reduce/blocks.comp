#version 450
#extension GL_GOOGLE_include_directive : require
//@variant uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "common/pairs.glsl"
#include "common/uniform.glsl"
#include "reduce/contract.h"

// As axis.comp, with one part in y, by addresses that all lanes of a workgroup share. ALONG rows,
// inner being 1, lanes share several rows of a lane each or more; else each has a sum of a block of
// LANES, inner being a block or more. The last block of a row of y, and the last rows, begin where
// they end with it.
FT_CONSTANTS(reduce_blocks)
FT_ARGUMENTS(reduce_axis)

const uint LANES = gl_WorkGroupSize.x;

// The terms of lanes that lie `later` elements, a constant, after `at` and the next ones.
float term(uint at, const uint later) {
  const float x = own_of(after(p.x, at), later, later + LANES - 1, team_lane());
  return product ? x * own_of(after(p.z, at), later, later + LANES - 1, team_lane()) : x;
}

void put(uint to, float sum) {
  sum = sum * p.scale + p.offset;
  if (accumulate) sum += p.y.v[to];
  p.y.v[to] = sum;
}

// From element `at` on, the terms part, part + together, .., of which neighbours are STEP apart.
float part_across(uint at, uint part) {
  const uint IN_FLIGHT = 8;
  const uint terms = (p.n - part + p.together - 1) / p.together;
  float sum = 0;
  uint done = 0;
  at += part * p.inner;
  for (; done + IN_FLIGHT <= terms; done += IN_FLIGHT) {
    [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k) sum += term(at, k * STEP);
    at += IN_FLIGHT * STEP;
  }
  for (; done < terms; ++done) {
    sum += term(at, 0);
    at += STEP;
  }
  return sum;
}

void sum_across(uint block) {
  const uint across = (p.inner + LANES - 1) / LANES, outer = block / across;
  const uint begin = (block - outer * across) * LANES, first = min(begin, p.inner - LANES);
  const uint at = outer * p.n * p.inner + first;
  float sum = part_across(at, 0);
  for (uint part = 1; part < p.together; ++part) sum += part_across(at, part);
  if (first + team_lane() >= begin) put(outer * p.inner + first + team_lane(), sum);
}

const uint ROWS = 4; // so that the sums of one need not be waited for

// Rows are of STEP elements, of which lanes take LANES at a time, last those at the row's end.
void sum_along(uint row) {
  const uint TOGETHER = 8, first = min(row, p.count - ROWS), rest = STEP % LANES;
  float sums[ROWS];
  [[unroll]] for (uint r = 0; r < ROWS; ++r) sums[r] = 0;
  for (uint i = 0; i < STEP - rest; i += TOGETHER * LANES)
    [[unroll]] for (uint k = 0; k < TOGETHER; ++k)
      if (i + k * LANES < STEP - rest)
        [[unroll]] for (uint r = 0; r < ROWS; ++r)
          sums[r] += term(first * STEP + i, r * STEP + k * LANES);
  if (rest != 0)
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      const float x = term(first * STEP, (r + 1) * STEP - LANES);
      sums[r] += team_lane() >= LANES - rest ? x : 0;
    }
  float own = 0;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const float sum = team_sum(sums[r]);
    own = team_lane() == r ? sum : own;
  }
  if (team_lane() < ROWS && first + team_lane() >= row) put(first + team_lane(), own);
}

void main() {
  const uint together = ALONG ? ROWS : 1;
  for (uint i = gl_WorkGroupID.x * together; i < p.count; i += gl_NumWorkGroups.x * together)
    if (ALONG)
      sum_along(i);
    else
      sum_across(i);
}
