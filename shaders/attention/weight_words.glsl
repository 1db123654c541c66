// The random words of attention's dropout. Include common/philox.glsl first.

// Those of keys 4 group .. 4 group + 3 for row `row` of [B,H,Nq] in the whole batch: the words of
// the four elements of block row * ceil(keys / 4) + group. The upper 32 bits of the block's number
// go into the upper half of the op's, which is a small number.
uvec4 weight_words(uvec4 state, uint op_id, uint row, uint keys, uint group) {
  uint high, low, carry;
  umulExtended(row, (keys + 3) / 4, high, low);
  low = uaddCarry(low, group, carry);
  return dropout_words(state, op_id ^ ((high + carry) << 16), low);
}
