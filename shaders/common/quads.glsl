// Four elements at once of dense tensors. `whole`: the tensor begins at a whole vec4 and ends with
// one (ft_whole_quads), so that one access takes them. Include common/types.glsl first.

// Elements 4 quad .. + 3 of the `count` of t, 0 beyond its end.
vec4 load_quad(const bool whole, F32 t, uint quad, uint count) {
  if (whole) return by_fours(t).v[quad];
  vec4 x = vec4(0);
  [[unroll]] for (uint k = 0; k < 4; ++k)
    if (4 * quad + k < count) x[k] = t.v[4 * quad + k];
  return x;
}

void store_quad(const bool whole, F32 t, uint quad, uint count, vec4 x) {
  if (whole) {
    F32x4 fours = by_fours(t);
    fours.v[quad] = x;
    return;
  }
  [[unroll]] for (uint k = 0; k < 4; ++k)
    if (4 * quad + k < count) t.v[4 * quad + k] = x[k];
}
