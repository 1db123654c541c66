// Loads and stores of one invocation: one number, or in the variants "lanes" and "uniform" for CPU
// drivers an aligned pair. Include common/elements.glsl first.
#if FILTRA_ROW_LANES || FILTRA_ROW_UNIFORM
#define FILTRA_EACH_PAIR 1
#include "common/pairs.glsl"
const uint EACH = 2;
#else
const uint EACH = 1;
#endif

// Element i and, if EACH is 2, element i + 1; `narrow` as in load_one.
vec2 load_each(const bool narrow, F32 t, uint i) {
#if FILTRA_EACH_PAIR
  return load_two(narrow, t, i / 2);
#else
  return vec2(load_one(narrow, t, i), 0);
#endif
}

void store_each(const bool narrow, F32 t, uint i, vec2 x) {
#if FILTRA_EACH_PAIR
  store_two(narrow, t, i / 2, x);
#else
  store_one(narrow, t, i, x.x);
#endif
}

// A sum in two parts, of what comes first and second in each load.
float both(vec2 parts) { return EACH == 2 ? parts.x + parts.y : parts.x; }
