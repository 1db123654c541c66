// C = A B for GPUs: a workgroup computes a tile of C, each invocation ROWS x COLUMNS elements of it
// in registers, from slices of A and B, TILE_K long along K, that pass through shared memory. The
// next slices are loaded to registers while the current ones are used.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "gemm/gemm.glsl"
#include "gemm/quad.glsl"

FT_CONSTANTS(gemm_tiled_own)

const uint INVOCATIONS = gl_WorkGroupSize.x;
const uint TILE_M = INVOCATIONS / ACROSS * ROWS, TILE_N = ACROSS * COLUMNS;
const uint QUADS_M = TILE_M / 4, QUADS_N = TILE_N / 4, QUADS_K = TILE_K / 4;
const uint LOADS_A = (QUADS_M * TILE_K + INVOCATIONS - 1) / INVOCATIONS; // quads per invocation
// Quads that an invocation loads of A at a time in lines of their own, if A is dense across them.
const uint LINES_A = INVOCATIONS % QUADS_M == 0 ? 1 : LOADS_A;
const uint LOADS_B = (QUADS_N * TILE_K + INVOCATIONS - 1) / INVOCATIONS;

// [k][m / 4] and [k][n / 4]; one quad of padding spreads the transposing stores over the banks.
shared vec4 slice_a[TILE_K * (QUADS_M + 1)], slice_b[TILE_K * (QUADS_N + 1)];

// A and B are treated alike: rows of A and columns of B are lines of K elements. An operand is
// dense either along k or across its lines.
struct Operand {
  F32 from;
  uint base, stride;     // first element; elements between dense rows
  uint first, lines;     // first line of the tile; lines of the operand
  uint quads;            // quads of lines in the tile
  bool along_k, wide;
};

// Position of quad i of the slice: 4 steps of k in one line, or 4 lines at one k.
void locate(Operand o, uint i, out uint line, out uint k) {
  if (o.along_k) {
    line = i / QUADS_K;
    k = i % QUADS_K * 4;
  } else {
    line = i % o.quads * 4;
    k = i / o.quads;
  }
}

// Four elements of an operand in their stored type. They are converted to floats when stored to
// shared memory, so that nothing waits for the loads earlier.
#if FT_F16 || FT_BF16
#define Quad uvec2
vec4 floats(Quad x) { return vec4(element_pair(x.x), element_pair(x.y)); }
Quad load_wide(Elements t, uint i) { return Elements4(uvec2(t)).v[i]; }
Quad load_some(F32 t, uint at, uint count) {
  Elements from = Elements(uvec2(t));
  Quad x = Quad(uint(from.v[at]), 0);
  if (count > 1) x.x |= uint(from.v[at + 1]) << 16;
  if (count > 2) x.y = uint(from.v[at + 2]);
  if (count > 3) x.y |= uint(from.v[at + 3]) << 16;
  return x;
}
#else
#define Quad vec4
vec4 floats(Quad x) { return x; }
Quad load_wide(Elements t, uint i) { return by_fours(t).v[i]; }
Quad load_some(F32 t, uint at, uint count) {
  Quad x = Quad(0);
  x.x = t.v[at];
  if (count > 1) x.y = t.v[at + 1];
  if (count > 2) x.z = t.v[at + 2];
  if (count > 3) x.w = t.v[at + 3];
  return x;
}
#endif

// Whether the slice has a quad i: the last invocations may have none.
bool exists(Operand o, uint i) {
  return o.quads * TILE_K % INVOCATIONS == 0 || i < o.quads * TILE_K;
}

// Quad i of the slice that begins at `k_base`. Wide loads have no branch, so that all are in flight
// together: indices past the operand's end are clamped. Lines past the end only affect rows and
// columns of C that are not stored; steps of k past the end are zeroed after the load. A lane's
// index is the same in each slice; only the base address, common to all lanes, advances.
Quad load_quad(Operand o, uint i, uint k_base, uint k_end) {
  uint line, k;
  locate(o, i, line, k);
  line += o.first;
  if (!exists(o, i)) return Quad(0);
  if (o.wide) {
    if (shape(GEMM_K_TAIL))
      k = min(k_base + k, k_end - (o.along_k ? 4 : 1));
    else
      k_base = min(k_base, k_end - TILE_K); // past the end: the last slice again
    const uint steps = shape(GEMM_K_TAIL) ? 0 : k_base;
    Elements from = advance(Elements(uvec2(o.from)), o.along_k ? steps : steps * o.stride);
    return load_wide(from, (o.along_k ? o.base + min(line, o.lines - 1) * o.stride + k
                                      : o.base + k * o.stride + min(line, o.lines - 4)) / 4);
  }
  k += k_base;
  if (line >= o.lines || k >= k_end) return Quad(0);
  uint at = o.base + (o.along_k ? line * o.stride + k : k * o.stride + line);
  return load_some(o.from, at, min(4, o.along_k ? k_end - k : o.lines - line));
}

// Quad i as floats.
vec4 kept(Operand o, uint i, Quad x, uint k_base, uint k_end) {
  uint line, k;
  locate(o, i, line, k);
  return shape(GEMM_K_TAIL) && k_base + k >= k_end ? vec4(0) : floats(x);
}

void keep_a(Operand o, uint i, vec4 x) {
  uint line, k;
  locate(o, i, line, k);
  uint to = k * (QUADS_M + 1) + line / 4;
  if (!exists(o, i)) return;
  if (o.along_k)
    [[unroll]] for (uint j = 0; j < 4; j++) slice_a[to + j * (QUADS_M + 1)][line % 4] = x[j];
  else
    slice_a[to] = x;
}

void keep_b(Operand o, uint i, vec4 x) {
  uint line, k;
  locate(o, i, line, k);
  uint to = k * (QUADS_N + 1) + line / 4;
  if (!exists(o, i)) return;
  if (o.along_k)
    [[unroll]] for (uint j = 0; j < 4; j++) slice_b[to + j * (QUADS_N + 1)][line % 4] = x[j];
  else
    slice_b[to] = x;
}

// Stores the sums of A's rows. Each invocation brings those of the quads that it has loaded, which
// have met in no other.
void store_row_sums(uint m0, uint t, vec4 own[LINES_A]) {
  const uint quads = LINES_A * INVOCATIONS, slice = QUADS_M * TILE_K;
  barrier();
  [[unroll]] for (uint i = 0; i < LINES_A; i++)
    if (t + i * INVOCATIONS < slice) slice_a[t + i * INVOCATIONS] = own[i];
  barrier();
  for (uint line = t; line < QUADS_M; line += INVOCATIONS) {
    vec4 sum = slice_a[line];
    for (uint i = line + QUADS_M; i < min(quads, slice); i += QUADS_M) sum += slice_a[i];
    [[unroll]] for (uint l = 0; l < 4; l++) store_row_sum(m0 + line * 4 + l, sum[l]);
  }
}

void main() {
  uint t = gl_LocalInvocationID.x, tx = t % ACROSS, ty = t / ACROSS, down = INVOCATIONS / ACROSS;
  uvec2 tile = tile_of_c();
  uint m0 = tile.x * TILE_M, n0 = tile.y * TILE_N;
  Place at = place(gl_WorkGroupID.z);
  Operand a = Operand(p.a, at.a, p.lda, m0, p.m, QUADS_M,
                      !shape(GEMM_TRANSPOSED_A), shape(GEMM_WIDE_A));
  Operand b = Operand(p.b, at.b, p.ldb, n0, p.n, QUADS_N,
                      shape(GEMM_TRANSPOSED_B), shape(GEMM_WIDE_B));

  // Workgroups of the first columns sum the rows of A, a part in each invocation.
  const bool sums_rows = shape(GEMM_ROW_SUMS) && tile.y == 0;
  vec4 row_sum[LINES_A];
  [[unroll]] for (uint i = 0; i < LINES_A; i++) row_sum[i] = vec4(0);
  vec4 sum[ROWS][COLUMNS / 4];
  Quad next_a[LOADS_A], next_b[LOADS_B];
  [[unroll]] for (uint i = 0; i < ROWS; i++)
    [[unroll]] for (uint j = 0; j < COLUMNS / 4; j++) sum[i][j] = vec4(0);
  uint k = at.k_first;
  [[unroll]] for (uint i = 0; i < LOADS_A; i++)
    next_a[i] = load_quad(a, t + i * INVOCATIONS, k, at.k_end);
  [[unroll]] for (uint i = 0; i < LOADS_B; i++)
    next_b[i] = load_quad(b, t + i * INVOCATIONS, k, at.k_end);
  do {
    barrier();
    [[unroll]] for (uint i = 0; i < LOADS_A; i++) {
      const vec4 x = kept(a, t + i * INVOCATIONS, next_a[i], k, at.k_end);
      keep_a(a, t + i * INVOCATIONS, x);
      if (sums_rows) row_sum[i % LINES_A] += x;
    }
    [[unroll]] for (uint i = 0; i < LOADS_B; i++)
      keep_b(b, t + i * INVOCATIONS, kept(b, t + i * INVOCATIONS, next_b[i], k, at.k_end));
    barrier();
    k += TILE_K;
    [[unroll]] for (uint i = 0; i < LOADS_A; i++)
      next_a[i] = load_quad(a, t + i * INVOCATIONS, k, at.k_end);
    [[unroll]] for (uint i = 0; i < LOADS_B; i++)
      next_b[i] = load_quad(b, t + i * INVOCATIONS, k, at.k_end);
    [[unroll]] for (uint kk = 0; kk < TILE_K; kk++) {
      // The vector that is used first is loaded last, so that one wait covers all loads.
      vec4 row[ROWS / 4], column[COLUMNS / 4];
      [[unroll]] for (uint j = 0; j < COLUMNS / 4; j++)
        column[j] = slice_b[kk * (QUADS_N + 1) + tx + j * ACROSS];
      [[unroll]] for (uint i = 0; i < ROWS / 4; i++) {
        const uint from_last = ROWS / 4 - 1 - i;
        row[from_last] = slice_a[kk * (QUADS_M + 1) + ty + from_last * down];
      }
      [[unroll]] for (uint i = 0; i < ROWS; i++)
        [[unroll]] for (uint j = 0; j < COLUMNS / 4; j++)
          sum[i][j] = fma(vec4(row[i / 4][i % 4]), column[j], sum[i][j]);
    }
  } while (k < at.k_end);
  if (sums_rows) store_row_sums(m0, t, row_sum);

  // The invocation's quads lie `down` and ACROSS quads apart. NVIDIA's compiler does not unroll a
  // loop with a `continue`, or one that would copy `store` too often; if the index of such a loop
  // indexed `sum`, all of `sum` would go to memory, which is 20 times slower. So the outer loop is
  // not unrolled, and selects from `sum` by comparisons.
  uvec4 random = random_state();
  [[dont_unroll]] for (uint j = 0; j < COLUMNS / 4; j++) {
    uint n = n0 + (tx + j * ACROSS) * 4;
    vec4 bias_quad;
    [[unroll]] for (uint l = 0; l < 4; l++) bias_quad[l] = bias(min(n + l, p.n - 1));
    [[unroll]] for (uint i = 0; i < ROWS; i++) {
      uint m = m0 + (ty + i / 4 * down) * 4 + i % 4;
      vec4 x = sum[i][0];
      [[unroll]] for (uint l = 1; l < COLUMNS / 4; l++)
        if (l == j) x = sum[i][l];
      if (m < p.m && n < p.n) {
        if (shape(GEMM_WIDE_C)) {
          store_quad(at, random, m, n, x, bias_quad);
        } else {
          [[unroll]] for (uint l = 0; l < 4; l++)
            if (n + l < p.n) store(at, random, m, n + l, x[l], bias_quad[l]);
        }
      }
    }
  }
}
