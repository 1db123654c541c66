// What the matrix product kernels share: arguments, batch entries, epilogue.
//
// C[b,m,n] (+)= residual + dropout(activation(scale * sum_k A[b,m,k] B[b,k,n] + bias[n]))
//
// or, as the gradient of what such a product stored as z, with GEMM_SLOPE
//
// C[b,m,n] = dropout(activation'(z[b,m,n]) * scale * sum_k A[b,m,k] B[b,k,n])
//
// One stride of A and of B is 1: element (m,k) of A lies at m*lda + k, or at k*lda + m when
// GEMM_TRANSPOSED_A; (k,n) of B at k*ldb + n, or at n*ldb + k when GEMM_TRANSPOSED_B; (m,n) of C at
// m*ldc + n. A batch entry is a pair (outer, inner) with a stride each. K may be split in parts,
// whose sums go to dense slices of C, [part, batch, m, n]. Indices fit in 31 bits (checked on the
// host). A and B have the kernel's element type, C and z that or F32, all else is F32.
#include "common/elements.glsl"
#include "common/activation.glsl"
#include "common/philox.glsl"
#include "gemm/contract.h"

FT_VALUES(gemm_shape)
FT_VALUES(gemm_epilogue)
FT_CONSTANTS(gemm)
FT_SEQUENCE_CONSTANT(SEQUENCE)

const uint ACTIVATION = EPILOGUE >> GEMM_ACTIVATION_SHIFT;

bool shape(uint bit) { return (SHAPE & bit) != 0; }
bool epilogue(uint bit) { return (EPILOGUE & bit) != 0; }

#if FT_F16 || FT_BF16
const bool narrow_c = (SHAPE & GEMM_NARROW_C) != 0;
#else
const bool narrow_c = false;
#endif

FT_ARGUMENTS(gemm)

struct Place {
  uint a, b, c;        // first element of the batch entry
  uint k_first, k_end; // the part of K
  uint dense;          // first element in a dense [batch, m, n], for dropout
};

// Element i of A or B.
float load_operand(F32 t, uint i) { return load_one(NARROW_ELEMENTS, t, i); }

// x / y for x < 2^16, by floats: vector integer division is slow on CPU drivers. The quotient of
// x + 1/2 keeps farther from whole numbers than rounding reaches.
uint quotient(uint x, uint y) { return uint((float(x) + 0.5) / float(y)); }

// The tile of C that this workgroup computes: its row and its column.
uvec2 tile_of_c() { return shape(GEMM_ACROSS_FIRST) ? gl_WorkGroupID.yx : gl_WorkGroupID.xy; }

// Workgroup z computes entry z % batches of part z / batches.
Place place(uint z) {
  Place at = Place(0, 0, 0, 0, p.k, 0);
  if (!shape(GEMM_BATCHED)) return at;
  uint part = quotient(z, p.batches), entry = z - part * p.batches;
  uint outer = quotient(entry, p.inner), inner = entry - outer * p.inner;
  at.a = outer * p.a_outer + inner * p.a_inner;
  at.b = outer * p.b_outer + inner * p.b_inner;
  at.c = outer * p.c_outer + inner * p.c_inner + part * p.batches * p.m * p.n;
  at.k_first = part * p.chunk;
  at.k_end = min(p.k, at.k_first + p.chunk);
  at.dense = entry * p.m * p.n;
  return at;
}

uvec4 random_state() {
  if (!epilogue(GEMM_DROPOUT)) return uvec4(0);
  return uvec4(p.random.v[0], p.random.v[1], p.random.v[2], p.random.v[3]);
}

// The number of element (m,n) that dropout goes by. Where n is a multiple of 2 or 4, and so are all
// rows' first elements, it is one, too.
uint dropout_element(Place at, uint m, uint n) {
  return whole_element(p.random, SEQUENCE, at.dense + m * p.n + n);
}

// Stores the sum over k of row m of A.
void store_row_sum(uint m, float x) {
  if (m >= p.m) return;
  const uint i = gl_WorkGroupID.z * p.m + m;
  if (shape(GEMM_ADD_ROW_SUMS)) x += p.bias.v[i];
  p.bias.v[i] = x;
}

float bias(uint n) { return epilogue(GEMM_BIAS) ? p.bias.v[n] : 0.0; }

// What the activation is applied to: z as it is read back, since the backward pass and linear/again
// know no other.
float as_stored(float z) {
#if FT_F16 || FT_BF16
  if (narrow_c && ACTIVATION != ACTIVATION_NONE) return element_pair(half_narrow(z)).x;
#endif
  return z;
}

// What is stored as z, where x is the activation's argument.
float kept_of(float x) {
  return epilogue(GEMM_KEEP_SLOPE) ? activate_derivative(ACTIVATION, x) : x;
}

// The activation of x, or x times its derivative, which is z or that at z.
float activated(float x, float z) {
  if (epilogue(GEMM_SLOPE))
    return x * (ACTIVATION == ACTIVATION_NONE ? z : activate_derivative(ACTIVATION, z));
  return activate(ACTIVATION, as_stored(x));
}

// Stores element (m,n), given the sum over k and the bias.
void store(Place at, uvec4 random, uint m, uint n, float sum, float bias) {
  uint i = at.c + m * p.ldc + n;
  float x = p.scale * sum + bias;
  if (epilogue(GEMM_STORE_Z)) store_one(narrow_c, p.z, i, kept_of(x));
  x = activated(x, epilogue(GEMM_SLOPE) ? load_one(narrow_c, p.z, i) : 0.0);
  if (epilogue(GEMM_DROPOUT)) {
    uint element = dropout_element(at, m, n);
    x *= dropout_factor(dropout_words(random, p.op_id, element / 4)[element % 4], p.rate);
  }
  if (epilogue(GEMM_RESIDUAL)) x += p.residual.v[i];
  if (epilogue(GEMM_ACCUMULATE)) x += load_one(narrow_c, p.c, i);
  store_one(narrow_c, p.c, i, x);
}
