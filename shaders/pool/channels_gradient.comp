#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "pool/channels.glsl"

// dx[r, c] = sum of dy[r, i] / size of bin i over the bins i that hold channel c.
FT_ARGUMENTS(pool_bins)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = i / channels, c = i - row * channels;
    const uint end = ((c + 1) * bins + channels - 1) / channels;
    float sum = 0;
    uint bin = c * bins / channels;
    do {
      sum += p.from.v[row * bins + bin] / float(bin_end(bin) - bin_begin(bin));
      ++bin;
    } while (bin < end);
    if (accumulate) sum += p.to.v[i];
    p.to.v[i] = sum;
    i += step;
  } while (i < p.count);
}
