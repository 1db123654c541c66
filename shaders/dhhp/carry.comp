#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant cpu -DFILTRA_CPU=1
#include "dhhp/chain.glsl"

// Replaces the chunks' summaries by the carry into each chunk except the first; an invocation per
// vector, sample and feature.
const uint block = 4; // loads in flight

void main() {
  p = given;
  const uint count = vectors * p.batch * p.features, carries = p.chunks - 1;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint i = gl_GlobalInvocationID.x;
  if (i >= count) return;
  do {
    const uint f = i % p.features, series = i / p.features;
    const uint batch = series % p.batch, vector = series / p.batch;
    vec2 h = load(vector, input_row(batch, 0), f);
    uint j = 0;
    do {
      vec2 end[block], factor[block];
      [[unroll]] for (uint n = 0; n < block; ++n) {
        const uint chunk = min(j + n, carries - 1);
        factor[n] = read(p.factors, batch * carries + chunk);
        end[n] = read(p.carries, (series * carries + chunk) * p.features + f);
      }
      [[unroll]] for (uint n = 0; n < block; ++n) {
        if (j + n < carries) {
          h = times(factor[n], h) + end[n];
          write(p.carries, (series * carries + j + n) * p.features + f, h);
        }
      }
      j += block;
    } while (j < carries);
    i += step;
  } while (i < count);
}
