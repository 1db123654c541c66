// A walk along the tokens that combines a carry h with one row x after the other,
//   out = a h + b x,   h = c h + d x,
// with coefficients that all features share. For a chain of rotations G_0 .. G_{N-2}, where G_k
// mixes rows k and k+1, they are G_k's entries; the walk down is the product G_{N-2} .. G_0, the
// walk up G_0 .. G_{N-2}. With a = d = 1 and b = 0, the walk is the recurrence
// h_t = c_t h_{t-1} + x_t and puts out every h.
//
// Position q counts rows in the order of the walk, 0 .. steps. Row 0 is the first carry, step s
// mixes in row s + 1 and puts out row s, and the last carry is row `steps`. Chunks of steps are
// independent once the carry into each is known: summary.comp computes what each chunk does to a
// carry, and chain.comp applies the summaries of the chunks before its own, then the steps. With at
// most sqrt(N) chunks that is O(N) work, and no workgroup waits for another.
#include "common/types.glsl"
#include "common/complex.glsl"
#include "common/reduce.glsl"
#include "dhhp/contract.h"
#ifdef FILTRA_CPU
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

FT_VALUES(dhhp_side)
FT_CONSTANTS(dhhp_walk)

// main copies the arguments first: once control flow has diverged, CPU drivers load push constants
// lane by lane.
FT_ARGUMENTS_COPIED(dhhp_chain)

// The work of one team: steps first .. last-1 for one block of features.
struct Place {
  uint batch, chunk, block, first, last;
};

Place place(uint team, uint chunks) {
  Place at;
  at.block = team % p.blocks;
  const uint part = team / p.blocks;
  at.chunk = part % chunks;
  at.batch = part / chunks;
  at.first = at.chunk * p.chunk;
  at.last = min(at.first + p.chunk, p.steps);
  return at;
}

// Feature i of this lane or, in the variant "uniform", of the first lane.
uint feature(Place at, uint i) {
  const uint first = (at.block * per_lane + i) * team_lanes();
#if FILTRA_ROW_UNIFORM
  return first;
#else
  return first + team_lane();
#endif
}

uint row(uint q) { return up ? p.steps - q : q; }
// The rotation of step s, between rows row(s) and row(s + 1).
uint rotation(uint s) { return up ? p.steps - 1 - s : s; }

// Row t of the permuted tensor is row source(t) of the unpermuted one: rows 0, stride, 2 stride,
// .., then 1, stride + 1, ... The first N mod stride of these runs have one row more than the
// others.
uint source(uint t) {
  const uint rows = p.steps + 1, least = rows / p.stride, longer = rows % p.stride;
  const uint split = longer * (least + 1);
  const bool before = t < split;
  const uint width = before ? least + 1 : max(least, 1);
  const uint at = before ? t : t - split;
  return at % width * p.stride + at / width + (before ? 0 : longer);
}

struct Coefficients {
  vec2 a, b, c, d;
};

#if defined(FILTRA_CPU) && !FILTRA_ROW_UNIFORM
#include "common/from_lane.glsl"
#endif

Coefficients coefficients(uint batch, uint s) {
  Coefficients g;
  const uint k = rotation(s);
  if (affine) {
    g.c = read(Complex(uvec2(p.coefficients)), batch * (p.steps + 1) + k + p.shift);
    if (adjoint) g.c = conjugate(g.c);
    g.a = g.d = vec2(1, 0);
    g.b = vec2(0);
    return g;
  }
  const uint at = batch * p.steps + k;
#if FILTRA_ROW_UNIFORM
  F32 entry = after(p.coefficients, 8 * at);
  vec2 ii = vec2(entry.v[0], entry.v[1]), ij = vec2(entry.v[2], entry.v[3]);
  vec2 ji = vec2(entry.v[4], entry.v[5]), jj = vec2(entry.v[6], entry.v[7]);
#elif defined(FILTRA_CPU)
  // One load for eight lanes, or two for four, instead of one for each number.
  const uint lane = gl_SubgroupInvocationID;
  float low, high;
  if (gl_WorkGroupSize.x >= 8) {
    low = high = p.coefficients.v[8 * at + (lane & 7)];
  } else {
    low = p.coefficients.v[8 * at + (lane & 3)];
    high = p.coefficients.v[8 * at + 4 + (lane & 3)];
  }
  const uint base = gl_WorkGroupSize.x >= 8 ? 4 : 0;
  vec2 ii = vec2(from_lane(low, 0), from_lane(low, 1));
  vec2 ij = vec2(from_lane(low, 2), from_lane(low, 3));
  vec2 ji = vec2(from_lane(high, base), from_lane(high, base + 1));
  vec2 jj = vec2(from_lane(high, base + 2), from_lane(high, base + 3));
#else
  F32x4 rows = by_fours(p.coefficients);
  const vec4 top = rows.v[2 * at], bottom = rows.v[2 * at + 1];
  vec2 ii = top.xy, ij = top.zw, ji = bottom.xy, jj = bottom.zw;
#endif
  if (adjoint) {
    const vec2 kept = ij;
    ij = conjugate(ji);
    ji = conjugate(kept);
    ii = conjugate(ii);
    jj = conjugate(jj);
  }
  g.a = up ? jj : ii;
  g.b = up ? ji : ij;
  g.c = up ? ij : ji;
  g.d = up ? ii : jj;
  return g;
}

// Index of the first feature of a row, and the factor for its elements.
struct Row {
  uint at;
  vec2 phase;
};

Row input_row(uint batch, uint q) {
  const uint t = row(q), first = batch * (p.steps + 1);
  Row r;
  r.at = (first + (permuted == FT_CHAIN_INPUT ? source(t) : t)) * p.features;
  r.phase = phased == FT_CHAIN_INPUT ? conjugate(read(p.phases, first + t)) : vec2(1, 0);
  return r;
}

Row output_row(uint batch, uint q) {
  const uint t = row(q), first = batch * (p.steps + 1);
  Row r;
  r.at = (first + (permuted == FT_CHAIN_OUTPUT ? source(t) : t)) * p.features;
  r.phase = phased == FT_CHAIN_OUTPUT ? read(p.phases, first + t) : vec2(1, 0);
  return r;
}

// Feature f of the row that begins at element `start`; past the last it reads as zero.
vec2 read_feature(Complex t, uint start, uint f) {
#if FILTRA_ROW_UNIFORM
  return own_pair(after(F32(uvec2(t)), 2 * (start + f)), 0, team_lane());
#else
  const vec2 x = read(t, start + min(f, p.features - 1));
  return f < p.features ? x : vec2(0);
#endif
}

void write_feature(Complex t, uint start, uint f, vec2 x) {
#if FILTRA_ROW_UNIFORM
  store_two(false, after(F32(uvec2(t)), 2 * (start + f)), team_lane(), x);
#else
  if (f < p.features) write(t, start + f, x);
#endif
}

vec2 load(uint vector, Row r, uint f) {
  const vec2 x = read_feature(vector == 0 ? p.in0 : p.in1, r.at, f);
  return phased == FT_CHAIN_INPUT ? times(r.phase, x) : x;
}

void store(uint vector, Row r, uint f, vec2 x) {
  Complex to = vector == 0 ? p.out0 : p.out1;
  if (present(F32(uvec2(to))))
    write_feature(to, r.at, f, phased == FT_CHAIN_OUTPUT ? times(r.phase, x) : x);
}
