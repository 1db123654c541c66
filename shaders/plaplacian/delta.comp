#version 450
//@types f32 f16 bf16
// delta[0,b,h,x] = <dy_x, y_x>, which is the sum over y of A_xy dA_xy; with `euler`
// <dy_x, y_x - v_x>, and delta[1,b,h,x] = <dy_x, v_x>. result_0: y, read only. One invocation per
// row of [B,Nq,H]; neighbouring invocations take rows that are adjacent in memory.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#define FILTRA_HEADS 1
#include "attention/problem.glsl"
#include "plaplacian/problem.glsl"

void main() {
  const uint stride = gl_WorkGroupSize.x * gl_NumWorkGroups.x;
  const uint rows = args.batches * HEADS * args.queries;
  for (uint row = gl_GlobalInvocationID.x; row < rows; row += stride) {
    const uint b = row / HEADS / args.queries, query = row / HEADS % args.queries, h = row % HEADS;
    const uint first = row * VALUE, own = v_origin(b, h) + token_of(query) * V_STRIDE;
    const bool euler = EULER && !is_attention(head_exponent(h));
    float sum = 0, base = 0;
    uint c = 0;
    do {
      const float slope = load_element(args.dy, first + c);
      if (euler) {
        const float from = load_element(args.v, own + c);
        base += from * slope;
        sum += (load_element(args.result_0, first + c) - from) * slope;
      } else {
        sum += load_element(args.result_0, first + c) * slope;
      }
      c++;
    } while (c < VALUE);
    const uint at = (b * HEADS + h) * args.queries + query;
    args.delta.v[at] = sum;
    if (EULER) args.delta.v[rows + at] = base;
  }
}
