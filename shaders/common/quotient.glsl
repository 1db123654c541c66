// n / length for n below 2^31 (Granlund and Montgomery 1994, figure 4.1): devices have no fast
// instruction for division. runtime/graph/axes.c makes the factor and the shift.
uint quotient(uint n, uint factor, uint shift) {
  uint high, low;
  umulExtended(n, factor, high, low);
  return (high + n) >> shift;
}
