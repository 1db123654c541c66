// C = A B, one invocation per element: the reference for the fast variants.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "gemm/gemm.glsl"

void main() {
  uvec2 tile = tile_of_c();
  uint m = tile.x, n = tile.y * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (n >= p.n) return;
  Place at = place(gl_WorkGroupID.z);
  uint a_step = shape(GEMM_TRANSPOSED_A) ? p.lda : 1, b_step = shape(GEMM_TRANSPOSED_B) ? 1 : p.ldb;
  uint a = at.a + (shape(GEMM_TRANSPOSED_A) ? m : m * p.lda) + at.k_first * a_step;
  uint b = at.b + (shape(GEMM_TRANSPOSED_B) ? n * p.ldb : n) + at.k_first * b_step;
  float sum = 0;
  uint k = at.k_first;
  do {
    sum += load_operand(p.a, a) * load_operand(p.b, b);
    a += a_step;
    b += b_step;
    k++;
  } while (k < at.k_end);
  store(at, random_state(), m, n, sum, bias(n));
}
