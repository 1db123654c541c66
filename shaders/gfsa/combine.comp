#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "gfsa/filter.glsl"

// y from v and from u = A v, au = A u.
layout(push_constant, std430) uniform Arguments {
  Elements v;         // [B,H,N,D], any view with a dense last axis
  Elements u, au, y;  // [B,N,H,D]
  F32 w0, w1, wK;     // [H]
  uint order, count, tokens;
  uint v_batch, v_head, v_token;  // strides in elements
}
args;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= args.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint token = i / (WIDTH * HEADS), h = i / WIDTH % HEADS;
    const float w0 = args.w0.v[h];
    const float w1 = args.w1.v[h];
    const float wK = args.wK.v[h];
    const float v = load_element(args.v, token / args.tokens * args.v_batch + h * args.v_head +
                                             token % args.tokens * args.v_token + i % WIDTH);
    const float u = load_element(args.u, i);
    const float y = w0 * v + (w1 + wK) * u +
                    float(args.order - 1) * wK * (load_element(args.au, i) - u);
    store_element(args.y, i, y);
    i += step;
  } while (i < args.count);
}
