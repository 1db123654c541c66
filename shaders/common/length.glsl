// Number of rows of a sequence: lengths[b], at most n; without lengths, n.
uint length_of(F32 lengths, uint b, uint n) {
  if (!present(lengths)) return n;
  const float length = lengths.v[b];
  return length >= 1.0 ? uint(min(length, float(n))) : 0; // NaN: no rows
}
