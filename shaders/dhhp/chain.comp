#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant cpu -DFILTRA_CPU=1
//@variant uniform -DFILTRA_CPU=1 -DFILTRA_ROW_UNIFORM=1
#ifndef FILTRA_NO_SUBGROUP
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "dhhp/chain.glsl"

// The walk itself. With `summed`, vector 0 is the gradient and vector 1 the state of a product of
// rotations, which is walked backwards; each step undoes one rotation. So a step has all that the
// gradient of that rotation's entries needs, and the forward walk need not store its states. If A
// is the matrix of the step, q the pair of gradients before the step and r = A p the pair of states
// after it, the gradient of the undone rotation A^H is the sum over features of q r^H.
FT_CONSTANTS(dhhp_chain_own)

void put(uint at, float sum) {
  if (accumulate) sum += p.sums.v[at];
  p.sums.v[at] = sum;
}

void store_one_by_one(float x[8], uint at, bool live) {
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    const float sum = team_sum(x[i]);
    if (team_lane() == 0 && live) put(at + i, sum);
  }
}

// The sums of eight values over the team.
#if FILTRA_ROW_UNIFORM
// The sums are the same in all lanes, of which lane i stores the i-th pair.
void store_sums(float x[8], uint at, bool live) {
  const uint lane = team_lane();
  vec2 sum = vec2(0);
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    const vec2 pair = vec2(team_sum(x[2 * i]), team_sum(x[2 * i + 1]));
    sum = lane == i ? pair : sum;
  }
  F32 to = after(p.sums, at);
  if (accumulate) sum += own_pair(to, 0, lane % 4);
  if (lane < 4 && live) store_two(false, to, lane, sum);
}
#elif defined(FILTRA_NO_SUBGROUP)
void store_sums(float x[8], uint at, bool live) { store_one_by_one(x, at, live); }
#else
// In each of three exchanges a lane passes half of its values to a partner, so that lane i ends up
// with the sum of value i % 8 over its group of eight lanes.
void store_sums(float x[8], uint at, bool live) {
  if (team_lanes() < 8) {
    store_one_by_one(x, at, live);
    return;
  }
  const uint lane = team_lane();
  float four[4], two[2];
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    const bool upper = (lane & 4) != 0;
    four[i] = (upper ? x[i + 4] : x[i]) + subgroupShuffleXor(upper ? x[i] : x[i + 4], 4);
  }
  [[unroll]] for (uint i = 0; i < 2; ++i) {
    const bool upper = (lane & 2) != 0;
    two[i] = (upper ? four[i + 2] : four[i]) + subgroupShuffleXor(upper ? four[i] : four[i + 2], 2);
  }
  const bool upper = (lane & 1) != 0;
  float sum = (upper ? two[1] : two[0]) + subgroupShuffleXor(upper ? two[0] : two[1], 1);
  for (uint bit = 8; bit < team_lanes(); bit *= 2) sum += subgroupShuffleXor(sum, bit);
  if (lane < 8 && live) put(at + lane, sum);
}
#endif

// Stores q r^H, given for the pair (carry, row) in the order of the walk, as ii, ij, ji, jj of the
// undone rotation.
void store_gradient(uint at, vec2 carry_out, vec2 carry_carry, vec2 row_out, vec2 row_carry,
                    bool live) {
  vec2 ii = up ? row_carry : carry_out, jj = up ? carry_out : row_carry;
  vec2 ij = up ? row_out : carry_carry, ji = up ? carry_carry : row_out;
  if (!adjoint) { // the undone matrix is the conjugate transpose of the rotation
    const vec2 kept = ij;
    ij = conjugate(ji);
    ji = conjugate(kept);
    ii = conjugate(ii);
    jj = conjugate(jj);
  }
  store_sums(float[8](ii.x, ii.y, ij.x, ij.y, ji.x, ji.y, jj.x, jj.y), at, live);
}

vec2 load_summary(uint vector, uint part, uint f) {
  const uint row = vector * p.batch * (p.chunks - 1) + part;
  return read_feature(p.ends, row * p.features, f);
}

vec2 h[vectors * per_lane];         // the carries
vec2 x[ahead * vectors * per_lane]; // rows of the steps in flight
Coefficients g[ahead];

// The carry into a chunk: the summaries of the chunks before it, applied to row 0 in their order.
void load_carries(Place at) {
  const Row start = input_row(at.batch, 0);
  [[unroll]] for (uint v = 0; v < vectors; ++v)
    [[unroll]] for (uint i = 0; i < per_lane; ++i)
      h[v * per_lane + i] = load(v, start, feature(at, i));
  uint chunk = 0;
  if (at.chunk == 0) return;
  do {
    vec2 end[ahead * vectors * per_lane], factor[ahead];
    [[unroll]] for (uint n = 0; n < ahead; ++n) {
      const uint part = at.batch * (p.chunks - 1) + min(chunk + n, at.chunk - 1);
      factor[n] = read(p.factors, part);
      [[unroll]] for (uint v = 0; v < vectors; ++v)
        [[unroll]] for (uint i = 0; i < per_lane; ++i)
          end[(n * vectors + v) * per_lane + i] = load_summary(v, part, feature(at, i));
    }
    [[unroll]] for (uint n = 0; n < ahead; ++n)
      if (chunk + n < at.chunk)
        [[unroll]] for (uint k = 0; k < vectors * per_lane; ++k)
          h[k] = times(factor[n], h[k]) + end[n * vectors * per_lane + k];
    chunk += ahead;
  } while (chunk < at.chunk);
}

void load_step(Place at, uint step, uint n) {
  const Row r = input_row(at.batch, step + 1);
  [[unroll]] for (uint v = 0; v < vectors; ++v)
    [[unroll]] for (uint i = 0; i < per_lane; ++i)
      x[(n * vectors + v) * per_lane + i] = load(v, r, feature(at, i));
  g[n] = coefficients(at.batch, step);
}

// With `live` false, nothing is stored: all teams of a workgroup take the same number of steps, so
// that control flow is uniform where lanes exchange values (common/reduce.glsl).
void apply_step(Place at, uint step, uint n, bool live) {
  const Row r = output_row(at.batch, step);
  vec2 carry_out = vec2(0), carry_carry = vec2(0), row_out = vec2(0), row_carry = vec2(0);
  [[unroll]] for (uint i = 0; i < per_lane; ++i) {
    vec2 before = vec2(0), row_before = vec2(0);
    [[unroll]] for (uint v = 0; v < vectors; ++v) {
      const uint k = v * per_lane + i;
      const vec2 carry = h[k], new = x[n * vectors * per_lane + k];
      const vec2 next = affine ? carry : times(g[n].a, carry) + times(g[n].b, new);
      const vec2 after = times(g[n].c, carry) + (affine ? new : times(g[n].d, new));
      h[k] = live ? after : carry;
      if (live) store(v, r, feature(at, i), next);
      if (v == 0) {
        before = carry;
        row_before = new;
      } else if (summed) {
        carry_out += times_conjugate(before, next);
        carry_carry += times_conjugate(before, after);
        row_out += times_conjugate(row_before, next);
        row_carry += times_conjugate(row_before, after);
      }
    }
  }
  if (!summed) return;
  const uint part = at.block * p.batch + at.batch;
  store_gradient(8 * (part * p.steps + rotation(step)), carry_out, carry_carry, row_out, row_carry,
                 live);
}

void walk(Place at, bool live) {
  load_carries(at);
  uint done = 0;
  if (done < p.chunk) {
    do {
      const uint s = at.first + done, last = at.last - 1;
      [[unroll]] for (uint n = 0; n < ahead; ++n) load_step(at, min(s + n, last), n);
      [[unroll]] for (uint n = 0; n < ahead; ++n)
        apply_step(at, min(s + n, last), n, live && s + n <= last);
      done += ahead;
    } while (done < p.chunk);
  }
  if (at.chunk + 1 < p.chunks || !live) return;
  const Row r = output_row(at.batch, p.steps);
  [[unroll]] for (uint v = 0; v < vectors; ++v)
    [[unroll]] for (uint i = 0; i < per_lane; ++i)
      store(v, r, feature(at, i), h[v * per_lane + i]);
}

void main() {
  p = given;
  const uint teams = p.batch * p.chunks * p.blocks;
  uint team = team_index();
  if (!team_goes_on(team, teams)) return;
  do {
    walk(place(min(team, teams - 1), p.chunks), team < teams);
    team += team_count();
  } while (team_goes_on(team, teams));
}
