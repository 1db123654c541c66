// Matrices as the device's units take them. Of its includer it takes Number (common/matrix.glsl),
// MATRIX_M, MATRIX_N, MATRIX_K and LANES, those of a subgroup.
#define Left coopmat<Number, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define Right coopmat<Number, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define Sums coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define AS_ROWS gl_CooperativeMatrixLayoutRowMajor
#define AS_COLUMNS gl_CooperativeMatrixLayoutColumnMajor

// Whether a lane has few registers of a matrix of sums, as on NVIDIA's units.
const bool SUMS_ARE_SMALL = MATRIX_M * MATRIX_N / LANES <= 4;

// Zeros to begin sums with. Where these are small, NVIDIA's compiler (NAK) has zeros that it knows
// in registers where no matrix may begin, and moves sums from there and back in each round of a
// loop. What a product leaves lies right and stays there. Of equal products the compiler makes one,
// so each takes the zeros of the `last`.
Sums zeros_behind(Sums last) {
  return SUMS_ARE_SMALL ? coopMatMulAdd(Left(0.0), Right(0.0), last) : Sums(0.0);
}
