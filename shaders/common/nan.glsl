// By the bits: compilers need not keep isnan, nor do all exponentials keep a NaN.
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
