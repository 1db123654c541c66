// How many of its n rows a sequence has: lengths[b], or all of them.
uint length_of(F32 lengths, uint b, uint n) {
  if (!present(lengths)) return n;
  const float length = lengths.v[b];
  return length >= 1.0 ? uint(min(length, float(n))) : 0; // not a number: none
}
