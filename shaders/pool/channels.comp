#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "pool/channels.glsl"

// y[r, i] = mean of the channels of x[r] in bin i.
FT_ARGUMENTS(pool_bins)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = i / bins, bin = i - row * bins;
    const uint begin = bin_begin(bin), end = bin_end(bin);
    float sum = 0;
    uint c = begin;
    do {
      sum += p.from.v[row * channels + c];
      ++c;
    } while (c < end);
    float y = sum / float(end - begin);
    if (accumulate) y += p.to.v[i];
    p.to.v[i] = y;
    i += step;
  } while (i < p.count);
}
