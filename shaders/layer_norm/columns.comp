#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "layer_norm/contract.h"

// Sums over chunks of rows, per column: of dy z (for the gain) and of dy (for the bias),
// z = (x - mean) rstd. Workgroup (x, y) = (columns, chunk of rows); a lane has `held` columns, one
// workgroup width apart, so that a row's mean and rstd are loaded once for all of them.
FT_CONSTANTS(layer_norm_columns)
const uint AHEAD = held == 1 ? 4 : 1;

FT_ARGUMENTS(layer_norm_columns)

void main() {
  const uint column = gl_WorkGroupID.x * gl_WorkGroupSize.x * held + gl_LocalInvocationID.x;
  const uint first = gl_WorkGroupID.y * p.chunk, last = min(first + p.chunk, p.rows);
  if (column >= p.columns || first >= last) return;
  float gain[held], bias[held];
  [[unroll]] for (uint i = 0; i < held; ++i) gain[i] = bias[i] = 0;
  uint row = first;
  do {
    // AHEAD rows are loaded together; rows past the last are loaded but not used.
    float x[AHEAD][held], up[AHEAD][held], mean[AHEAD], rstd[AHEAD];
    [[unroll]] for (uint k = 0; k < AHEAD; ++k) {
      const uint r = min(row + k, last - 1);
      mean[k] = p.mean.v[r];
      rstd[k] = p.rstd.v[r];
      [[unroll]] for (uint i = 0; i < held; ++i) {
        const uint at = r * p.columns + min(column + i * gl_WorkGroupSize.x, p.columns - 1);
        x[k][i] = p.x.v[at];
        up[k][i] = load_element(p.y_grad, at);
      }
    }
    [[unroll]] for (uint k = 0; k < AHEAD; ++k)
      if (row + k < last) [[unroll]] for (uint i = 0; i < held; ++i) {
          gain[i] += up[k][i] * (x[k][i] - mean[k]) * rstd[k];
          bias[i] += up[k][i];
        }
    row += AHEAD;
  } while (row < last);
  [[unroll]] for (uint i = 0; i < held; ++i) {
    const uint c = column + i * gl_WorkGroupSize.x;
    if (c >= p.columns) continue;
    if (present(p.gain_sums)) p.gain_sums.v[gl_WorkGroupID.y * p.columns + c] = gain[i];
    if (present(p.bias_sums)) p.bias_sums.v[gl_WorkGroupID.y * p.columns + c] = bias[i];
  }
}
