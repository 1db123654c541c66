#version 450
//@types f32 f16 bf16
// delta[b,h,i] = <dy_i, y_i>, which is sum_j P_ij dP_ij (Dao et al. 2022, appendix B). result_0: y,
// read only. One invocation per row of [B,Nq,H]; neighbouring invocations take rows that are
// adjacent in memory.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "attention/problem.glsl"

void main() {
  const uint stride = gl_WorkGroupSize.x * gl_NumWorkGroups.x;
  for (uint row = gl_GlobalInvocationID.x; row < args.batches * HEADS * args.queries;
       row += stride) {
    const uint token = row / HEADS, h = row % HEADS;
    float sum = 0;
    uint quad = row * ((VALUE + 3) / 4), c = 0;
    do {
      if (WIDE) {
        const vec4 y = load_elements4(args.result_0, quad), dy = load_elements4(args.dy, quad);
        [[unroll]] for (uint k = 0; k < 4; ++k) sum += y[k] * dy[k];
        c += 4;
        quad++;
      } else {
        const uint at = row * VALUE + c;
        sum += load_element(args.result_0, at) * load_element(args.dy, at);
        c++;
      }
    } while (c < VALUE);
    args.delta.v[(token / args.queries * HEADS + h) * args.queries + token % args.queries] = sum;
  }
}
