// The token that link k of token i < length leads to in a ring of `length` tokens: i itself, then
// the tokens 1, 2, 4, .. further; with `against`, the same distances backwards.
uint linked(uint i, uint k, uint length, bool against) {
  if (k == 0) return i;
  const uint distance = (1u << (k - 1)) % length;
  const uint at = i + (against ? length - distance : distance);
  return at < length ? at : at - length;
}
