// The token that link k of token i < length leads to in a ring of `length` tokens: i itself, then
// those 1, 2, 4, .. tokens on; against the links, those so many tokens before.
uint linked(uint i, uint k, uint length, bool against) {
  if (k == 0) return i;
  const uint distance = (1u << (k - 1)) % length;
  const uint at = i + (against ? length - distance : distance);
  return at < length ? at : at - length;
}
