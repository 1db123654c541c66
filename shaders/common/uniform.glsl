// Loads by addresses that are the same in all lanes of a workgroup of one subgroup, for CPU drivers
// whose compiler keeps such addresses as scalars (lavapipe of Mesa 26). What each lane chooses from
// adjacent elements becomes one vector load, where an address of each lane's own becomes a gather.
// Include common/pairs.glsl first.

// As `advance`, but of floats also beside 16-bit elements, and by one sum of 64 bits: a carry would
// be computed in every lane.
F32 after(F32 base, uint elements) {
  return F32(unpack32(joined(uvec2(base)) + 4ul * uint64_t(elements)));
}

// Element first + lane, or the last one, in each lane. `first` and `last` are constants.
float own_of(F32 from, const uint first, const uint last, uint lane) {
  float x = from.v[first];
  [[unroll]] for (uint i = 1; i < gl_WorkGroupSize.x; i++) {
    const float y = from.v[min(first + i, last)];
    x = lane == i ? y : x;
  }
  return x;
}

// Elements first + 2 lane and the next in each lane. `from` is aligned to pairs, `first` is an even
// constant.
vec2 own_pair(F32 from, const uint first, uint lane) {
  uint64_t x = Pairs(uvec2(from)).v[first / 2];
  [[unroll]] for (uint i = 1; i < gl_WorkGroupSize.x; i++) {
    const uint64_t y = Pairs(uvec2(from)).v[first / 2 + i];
    x = lane == i ? y : x;
  }
  return uintBitsToFloat(unpack32(x));
}

// True, since addresses are even, but compilers cannot know. So what this guards stays a block of
// its own, whose instructions they do not mix with others. Blocks with one address differ in
// `number`.
bool in_one_block(F32 address, const uint number) { return uvec2(address).x != 2 * number + 1; }
