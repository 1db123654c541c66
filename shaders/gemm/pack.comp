#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"

// Copies a matrix x of k lines and n columns, any strides, into F32 panels of WIDTH columns for
// s64: element (k,i) of panel j lies at (j*K + k)*WIDTH + i. Columns beyond n become 0.
layout(constant_id = 1) const uint WIDTH = 1;

layout(push_constant) uniform Push {
  Elements x;
  F32 y;
  uint count; // of y
  uint k, n;
  uint line, column; // strides of x
} p;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint line = i / WIDTH, panel = line / p.k;
    const uint n = panel * WIDTH + i % WIDTH, k = line - panel * p.k;
    p.y.v[i] = n < p.n ? load_element(p.x, k * p.line + n * p.column) : 0;
    i += step;
  } while (i < p.count);
}
