// Loads and stores of one invocation: one number, or in the variant "lanes" for CPU drivers an
// aligned pair. Include common/elements.glsl first.
#ifdef FILTRA_ROW_LANES
#include "common/pairs.glsl"
const uint EACH = 2;
#else
const uint EACH = 1;
#endif

// Element i and, if EACH is 2, element i + 1; `narrow` as in load_one.
vec2 load_each(const bool narrow, F32 t, uint i) {
#ifdef FILTRA_ROW_LANES
  return load_two(narrow, t, i / 2);
#else
  return vec2(load_one(narrow, t, i), 0);
#endif
}

void store_each(const bool narrow, F32 t, uint i, vec2 x) {
#ifdef FILTRA_ROW_LANES
  store_two(narrow, t, i / 2, x);
#else
  store_one(narrow, t, i, x.x);
#endif
}
