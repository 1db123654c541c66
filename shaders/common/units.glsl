// Matrices as the device's units take them. Of its includer it takes Number (common/matrix.glsl),
// MATRIX_M, MATRIX_N, MATRIX_K and LANES, those of a subgroup.
#define Left coopmat<Number, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define Right coopmat<Number, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define Sums coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define AS_ROWS gl_CooperativeMatrixLayoutRowMajor
#define AS_COLUMNS gl_CooperativeMatrixLayoutColumnMajor

// Whether a lane has few registers of a matrix of sums, as on NVIDIA's units.
const bool SUMS_ARE_SMALL = MATRIX_M * MATRIX_N / LANES <= 4;

// Zeros to begin sums with. NVIDIA's compiler (NAK) puts zeros that it knows into any registers,
// but units take small sums from four that begin at a multiple of four, so it moves the sums there
// and back in each round of a loop. The result of a product lies right and stays there. The
// compiler makes equal products once, so each begins with the zeros of the `last`.
Sums zeros_behind(Sums last) {
  return SUMS_ARE_SMALL ? coopMatMulAdd(Left(0.0), Right(0.0), last) : Sums(0.0);
}
