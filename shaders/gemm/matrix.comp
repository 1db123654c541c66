// C = A B on matrix units: a workgroup computes a tile of C, each of its subgroups ROWS x COLUMNS
// cooperative matrices of it, from slices of A and B of TILE_K along K that pass through shared
// memory. The next slice is on its way to registers while the present one is used. A and B have 16
// bits, sums are floats.
//
// In shared memory both operands lie along k, as lines of 16-bit numbers: rows of A, columns of B.
// Matrices are then loaded in whole groups of 8 numbers. An operand that memory has the other way
// is transposed on its way, 4 x 4 numbers at a time.
//@types f16 bf16
//@kept
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/matrix.glsl"
#include "gemm/gemm.glsl"
#include "gemm/quad.glsl"

FT_CONSTANTS(gemm_matrix_own)
#include "common/units.glsl"

const uint INVOCATIONS = gl_WorkGroupSize.x, SUBGROUPS = INVOCATIONS / LANES;
const uint PART_M = ROWS * MATRIX_M, PART_N = COLUMNS * MATRIX_N; // of a subgroup
const uint TILE_M = SUBGROUPS / ACROSS * PART_M, TILE_N = ACROSS * PART_N;
const uint BLOCKS_A = TILE_M * TILE_K / 16, BLOCKS_B = TILE_N * TILE_K / 16; // of 16 numbers
const uint LOADS_A = (BLOCKS_A + INVOCATIONS - 1) / INVOCATIONS;
const uint LOADS_B = (BLOCKS_B + INVOCATIONS - 1) / INVOCATIONS;

// In groups of 8 numbers: the lines of A, then those of B. One group of padding spreads the lines
// over the banks. Afterwards each subgroup has a row of its matrices there, as floats.
const uint PITCH = TILE_K / 8 + 1, START_B = TILE_M * PITCH;
const uint SLICES = (TILE_M + TILE_N) * PITCH;
const uint SUMS = MATRIX_M * PART_N; // floats of a subgroup
shared uvec4 groups[SLICES > SUBGROUPS * SUMS / 4 ? SLICES : SUBGROUPS * SUMS / 4];

layout(buffer_reference, std430, buffer_reference_align = 8) buffer By4 { uvec2 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer By8 { uvec4 v[]; };

// A and B look alike from here: an operand is either dense along k or along its lines.
struct Operand {
  uvec2 from;
  uint base, stride; // first element; elements between dense rows
  uint first, lines; // the tile's first line, and how many there are
  uint height;       // lines of the tile
  uint start;        // in shared memory
  bool along_k, wide;
};

// 16 numbers: two groups of 8 along k, in lines `height / 2` apart; or 4 lines at each of 4 k.
struct Block { uvec2 quad[4]; };

void locate_group(Operand o, uint i, uint half_, out uint line, out uint k) {
  line = i / (TILE_K / 8) + half_ * (o.height / 2);
  k = i % (TILE_K / 8) * 8;
}

// Neighbours have neighbouring k, so that their stores do not meet in a bank.
void locate_square(Operand o, uint i, out uint line, out uint k) {
  line = i / (TILE_K / 4) * 4;
  k = i % (TILE_K / 4) * 4;
}

// 4 elements, of which `count` are there.
uvec2 load_some(Operand o, uint at, uint count) {
  Elements from = Elements(o.from);
  uint x[4] = {0, 0, 0, 0};
  [[unroll]] for (uint j = 0; j < 4; j++)
    if (j < count) x[j] = uint(from.v[at + j]);
  return uvec2(x[0] | x[1] << 16, x[2] | x[3] << 16);
}

// What is left of `count` behind `used`.
uint rest(uint count, uint used) { return count > used ? count - used : 0; }

// Block i of the slice that begins at `k_base`. Wide loads have no branch, so that all are on their
// way together: what lies outside the operand is replaced by what lies at its end, and made zero
// when it has come (keep_block). Their indices are a lane's own part, the same in each slice, and
// one that all lanes share.
Block load_block(Operand o, uint i, uint k_base, uint k_end) {
  Block block;
  uint line, k;
  if (!shape(GEMM_K_TAIL)) k_base = min(k_base, k_end - TILE_K); // the last slice once more
  if (o.along_k) {
    [[unroll]] for (uint h = 0; h < 2; h++) {
      locate_group(o, i, h, line, k);
      line = min(line + o.first, o.lines - 1);
      if (o.wide) {
        const uint at = o.base + line * o.stride;
        const uvec4 eight = shape(GEMM_K_TAIL)
                                ? By8(o.from).v[(at + min(k_base + k, k_end - 8)) / 8]
                                          : By8(o.from).v[(at + k) / 8 + k_base / 8];
        block.quad[2 * h] = eight.xy;
        block.quad[2 * h + 1] = eight.zw;
      } else {
        k += k_base;
        const uint at = o.base + line * o.stride + k;
        block.quad[2 * h] = load_some(o, at, rest(k_end, k));
        block.quad[2 * h + 1] = load_some(o, at + 4, rest(k_end, k + 4));
      }
    }
  } else {
    locate_square(o, i, line, k);
    line += o.first;
    [[unroll]] for (uint j = 0; j < 4; j++) {
      if (o.wide && !shape(GEMM_K_TAIL)) {
        const uint at = (o.base + k * o.stride + min(line, o.lines - 4)) / 4;
        block.quad[j] = By4(o.from).v[at + (k_base + j) * (o.stride / 4)];
      } else {
        const uint row = o.base + min(k_base + k + j, k_end - 1) * o.stride;
        if (o.wide)
          block.quad[j] = By4(o.from).v[(row + min(line, o.lines - 4)) / 4];
        else
          block.quad[j] = load_some(o, row + line, rest(o.lines, line));
      }
    }
  }
  return block;
}

// The block with zeros for steps of k that are not there. Lines that are not there need none: they
// add to rows and columns of C, and to sums of rows, that nobody stores.
Block cleared(Operand o, uint i, Block block, uint k_base, uint k_end) {
  uint line, k;
  if (!shape(GEMM_K_TAIL)) return block;
  [[unroll]] for (uint j = 0; j < 4; j++) {
    if (o.along_k)
      locate_group(o, i, j / 2, line, k);
    else
      locate_square(o, i, line, k);
    if (k_base + k + (o.along_k ? 0 : j) >= k_end) block.quad[j] = uvec2(0);
  }
  return block;
}

void keep_block(Operand o, uint i, Block block) {
  uint line, k;
  if (o.along_k) {
    [[unroll]] for (uint h = 0; h < 2; h++) {
      locate_group(o, i, h, line, k);
      groups[o.start + line * PITCH + k / 8] = uvec4(block.quad[2 * h], block.quad[2 * h + 1]);
    }
    return;
  }
  locate_square(o, i, line, k);
  const uvec2 lines[4] = turned(block.quad[0], block.quad[1], block.quad[2], block.quad[3]);
  const uint to = o.start + line * PITCH + k / 8;
  [[unroll]] for (uint j = 0; j < 4; j++) {
    groups[to + j * PITCH][(k & 4) / 2] = lines[j].x;
    groups[to + j * PITCH][(k & 4) / 2 + 1] = lines[j].y;
  }
}

// Sums over k of the four lines of an operand that is dense along them.
vec4 line_sums(Block block) {
  vec4 sum = vec4(0);
  [[unroll]] for (uint j = 0; j < 4; j++)
    sum += vec4(element_pair(block.quad[j].x), element_pair(block.quad[j].y));
  return sum;
}

bool loads(uint i, uint blocks) { return blocks % INVOCATIONS == 0 || i < blocks; }

// Stores the sums of A's rows. Each invocation brings those of the blocks that it has loaded, which
// have met in no other.
void store_row_sums(uint m0, uint t, vec4 own[LOADS_A]) {
  const uint each = TILE_K / 4; // blocks of the same lines, one after the other
  meet();
  [[unroll]] for (uint i = 0; i < LOADS_A; i++)
    if (loads(t + i * INVOCATIONS, BLOCKS_A))
      groups[t + i * INVOCATIONS] = floatBitsToUint(own[i]);
  meet();
  for (uint line = t; line < TILE_M / 4; line += INVOCATIONS) {
    vec4 sum = vec4(0);
    for (uint i = 0; i < each; i++) sum += uintBitsToFloat(groups[line * each + i]);
    [[unroll]] for (uint l = 0; l < 4; l++) store_row_sum(m0 + line * 4 + l, sum[l]);
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uvec2 tile = tile_of_c();
  const uint m0 = tile.x * TILE_M, n0 = tile.y * TILE_N;
  const uint part_m = gl_SubgroupID / ACROSS * PART_M, part_n = gl_SubgroupID % ACROSS * PART_N;
  Place at = place(gl_WorkGroupID.z);
  Operand a = Operand(uvec2(p.a), at.a, p.lda, m0, p.m, TILE_M, 0, !shape(GEMM_TRANSPOSED_A),
                      shape(GEMM_WIDE_A));
  Operand b = Operand(uvec2(p.b), at.b, p.ldb, n0, p.n, TILE_N, START_B, shape(GEMM_TRANSPOSED_B),
                      shape(GEMM_WIDE_B));

  Block next_a[LOADS_A], next_b[LOADS_B];
  uint k = at.k_first;
  [[unroll]] for (uint i = 0; i < LOADS_A; i++)
    if (loads(t + i * INVOCATIONS, BLOCKS_A))
      next_a[i] = load_block(a, t + i * INVOCATIONS, k, at.k_end);
  [[unroll]] for (uint i = 0; i < LOADS_B; i++)
    if (loads(t + i * INVOCATIONS, BLOCKS_B))
      next_b[i] = load_block(b, t + i * INVOCATIONS, k, at.k_end);
  // Workgroups of the first columns sum the rows of A, a part in each invocation.
  const bool sums_rows = shape(GEMM_ROW_SUMS) && tile.y == 0;
  vec4 row_sum[LOADS_A];
  [[unroll]] for (uint i = 0; i < LOADS_A; i++) row_sum[i] = vec4(0);
  Sums sum[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++)
    sum[i] = zeros_behind(i > 0 ? sum[i - 1] : Sums(0.0));
  do {
    meet();
    [[unroll]] for (uint i = 0; i < LOADS_A; i++)
      if (loads(t + i * INVOCATIONS, BLOCKS_A)) {
        const Block block = cleared(a, t + i * INVOCATIONS, next_a[i], k, at.k_end);
        keep_block(a, t + i * INVOCATIONS, block);
        if (sums_rows) row_sum[i] += line_sums(block);
      }
    [[unroll]] for (uint i = 0; i < LOADS_B; i++)
      if (loads(t + i * INVOCATIONS, BLOCKS_B))
        keep_block(b, t + i * INVOCATIONS,
                   cleared(b, t + i * INVOCATIONS, next_b[i], k, at.k_end));
    meet();
    k += TILE_K;
    [[unroll]] for (uint i = 0; i < LOADS_A; i++)
      if (loads(t + i * INVOCATIONS, BLOCKS_A))
        next_a[i] = load_block(a, t + i * INVOCATIONS, k, at.k_end);
    [[unroll]] for (uint i = 0; i < LOADS_B; i++)
      if (loads(t + i * INVOCATIONS, BLOCKS_B))
        next_b[i] = load_block(b, t + i * INVOCATIONS, k, at.k_end);
    [[unroll]] for (uint kk = 0; kk < TILE_K; kk += MATRIX_K) {
      Right column[COLUMNS];
      [[unroll]] for (uint j = 0; j < COLUMNS; j++)
        coopMatLoad(column[j], groups, START_B + (part_n + j * MATRIX_N) * PITCH + kk / 8, PITCH,
                    AS_COLUMNS);
      [[unroll]] for (uint i = 0; i < ROWS; i++) {
        Left row;
        coopMatLoad(row, groups, (part_m + i * MATRIX_M) * PITCH + kk / 8, PITCH, AS_ROWS);
        [[unroll]] for (uint j = 0; j < COLUMNS; j++)
          sum[i * COLUMNS + j] = coopMatMulAdd(row, column[j], sum[i * COLUMNS + j]);
      }
    }
  } while (k < at.k_end);
  if (sums_rows) store_row_sums(m0, t, row_sum);

  // Row by row of its matrices, each subgroup puts the sums where all lanes find whole elements.
  const uvec4 random = random_state();
  const uint own = gl_SubgroupID * (SUMS / 4);
  [[unroll]] for (uint i = 0; i < ROWS; i++) {
    meet();
    [[unroll]] for (uint j = 0; j < COLUMNS; j++)
      coopMatStore(sum[i * COLUMNS + j], groups, own + j * (MATRIX_N / 4), PART_N / 4, AS_ROWS);
    meet();
    for (uint q = gl_SubgroupInvocationID; q < SUMS / 4; q += LANES) {
      const uint m = m0 + part_m + i * MATRIX_M + q / (PART_N / 4);
      const uint n = n0 + part_n + q % (PART_N / 4) * 4;
      if (m >= p.m || n >= p.n) continue;
      const vec4 x = uintBitsToFloat(groups[own + q]);
      vec4 bias_quad;
      [[unroll]] for (uint l = 0; l < 4; l++) bias_quad[l] = bias(min(n + l, p.n - 1));
      if (shape(GEMM_WIDE_C)) {
        store_quad(at, random, m, n, x, bias_quad);
      } else {
        [[unroll]] for (uint l = 0; l < 4; l++)
          if (n + l < p.n) store(at, random, m, n + l, x[l], bias_quad[l]);
      }
    }
  }
}
