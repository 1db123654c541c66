#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant cpu -DFILTRA_CPU=1
//@variant uniform -DFILTRA_CPU=1 -DFILTRA_ROW_UNIFORM=1
#include "dhhp/chain.glsl"

// What each chunk except the last does to a carry: h becomes factor h + end.

void summarize(Place at) {
  vec2 end[vectors * per_lane], factor = vec2(1, 0);
  [[unroll]] for (uint i = 0; i < vectors * per_lane; ++i) end[i] = vec2(0);
  uint s = at.first;
  do {
    vec2 x[ahead * vectors * per_lane], c[ahead], d[ahead];
    [[unroll]] for (uint n = 0; n < ahead; ++n) {
      const uint step = min(s + n, at.last - 1);
      const Row r = input_row(at.batch, step + 1);
      [[unroll]] for (uint v = 0; v < vectors; ++v)
        [[unroll]] for (uint i = 0; i < per_lane; ++i)
          x[(n * vectors + v) * per_lane + i] = load(v, r, feature(at, i));
      const Coefficients g = coefficients(at.batch, step);
      c[n] = g.c;
      d[n] = g.d;
    }
    [[unroll]] for (uint n = 0; n < ahead; ++n) {
      if (s + n < at.last) {
        factor = times(c[n], factor);
        [[unroll]] for (uint i = 0; i < vectors * per_lane; ++i) {
          const vec2 new = x[n * vectors * per_lane + i];
          end[i] = times(c[n], end[i]) + (affine ? new : times(d[n], new));
        }
      }
    }
    s += ahead;
  } while (s < at.last);

  const uint chunks = p.chunks - 1, part = at.batch * chunks + at.chunk;
  [[unroll]] for (uint v = 0; v < vectors; ++v) {
    const uint start = (v * p.batch * chunks + part) * p.features;
    [[unroll]] for (uint i = 0; i < per_lane; ++i)
      write_feature(p.ends, start, feature(at, i), end[v * per_lane + i]);
  }
  if (at.block == 0 && team_lane() == 0) write(p.factors, part, factor);
}

void main() {
  p = given;
  const uint chunks = p.chunks - 1, teams = p.batch * chunks * p.blocks;
  uint team = team_index();
  if (team >= teams) return;
  do {
    summarize(place(team, chunks));
    team += team_count();
  } while (team < teams);
}
