// Loads and stores of four elements of a dense tensor at once. The tensor is F32; with `narrow` it
// has the kernel's type. `whole`: the tensor is aligned to groups of four and consists of whole
// groups (ft_whole_quads), so that one access suffices. Include common/types.glsl and
// common/elements.glsl first.

// Elements 4 quad .. 4 quad + 3 of t, which has `count` elements; 0 past its end.
vec4 load_quad(const bool whole, const bool narrow, F32 t, uint quad, uint count) {
  if (whole) return load_four(narrow, t, quad);
  vec4 x = vec4(0);
  [[unroll]] for (uint k = 0; k < 4; ++k)
    if (4 * quad + k < count) x[k] = load_one(narrow, t, 4 * quad + k);
  return x;
}

void store_quad(const bool whole, const bool narrow, F32 t, uint quad, uint count, vec4 x) {
  if (whole) {
    store_four(narrow, t, quad, x);
    return;
  }
  [[unroll]] for (uint k = 0; k < 4; ++k)
    if (4 * quad + k < count) store_one(narrow, t, 4 * quad + k, x[k]);
}
