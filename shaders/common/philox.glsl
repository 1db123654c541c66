// Philox4x32-10 (Salmon et al. 2011, section 3.3), word for word the host's ft_philox.
// Include common/types.glsl first.
uvec4 philox(uvec4 x, uvec2 key) {
  for (int i = 0; i < 10; i++) {
    uint high0, low0, high1, low1;
    umulExtended(0xd2511f53u, x.x, high0, low0);
    umulExtended(0xcd9e8d57u, x.z, high1, low1);
    x = uvec4(high1 ^ x.y ^ key.x, low1, high0 ^ x.w ^ key.y, low0);
    key += uvec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return x;
}

// Whether dropout keeps what a random word is drawn for: its upper 24 bits, as a fraction of 1, are
// at least `rate`. Compared as whole numbers, of which the bound is made once: both are exact.
bool dropout_keeps(uint word, float rate) {
  return word >= uint(ceil(rate * 16777216.0)) << 8;
}

// Inverted dropout's factor for a random word: 0 with probability `rate`, else 1/(1-rate).
float dropout_factor(uint word, float rate) {
  return dropout_keeps(word, rate) ? 1.0 / (1.0 - rate) : 0.0;
}

// The number that element i has in the whole batch when this graph's sequences are a part of it, so
// that no mask depends on how a batch is divided. `sequence`: elements of one sequence; 0: the
// batch is whole. state.v[4..6]: number of the part's first sample; the part's samples; the whole
// batch's other samples, which lie between the first and second sequences of pairs.
uint whole_element(U32 state, uint sequence, uint i) {
  if (sequence == 0) return i;
  const uint between = i / sequence >= state.v[5] ? state.v[6] : 0;
  return i + (state.v[4] + between) * sequence;
}

// The words of elements 4*block .. 4*block+3 of op `op_id`. A function of its arguments only, so
// backward draws the mask again instead of keeping it. state: the content of
// ft_graph_random_state, {seed low, seed high, step low, step high}.
uvec4 dropout_words(uvec4 state, uint op_id, uint block) {
  return philox(uvec4(block, op_id, state.zw), state.xy);
}

// The factor of element `index`.
float dropout_scale(U32 state, uint op_id, uint index, float rate) {
  uvec4 content = uvec4(state.v[0], state.v[1], state.v[2], state.v[3]);
  return dropout_factor(dropout_words(content, op_id, index / 4)[index % 4], rate);
}
