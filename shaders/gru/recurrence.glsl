// Common parts of both directions of the recurrence: a workgroup advances `rows` batch entries in
// time. A step is one product of a matrix with a vector per row, then the gates, item by item.
// Before including this, a kernel defines LENGTH and OUTPUTS: the matrix is [LENGTH, OUTPUTS].
//
// LANES: for CPU drivers. The workgroup is one subgroup, whose lanes hold the vector and broadcast
// its numbers; on GPUs it is read from shared memory, four numbers at a time. Weights that do not
// stay in registers are loaded in blocks, each block before its first use: there are too few
// invocations to hide each other's latency.
#include "gru/contract.h"

FT_CONSTANTS(gru_step)
FT_CONSTANTS(gru_resident)

const uint WIDTH = gl_WorkGroupSize.x;
#ifdef LANES
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
const uint BLOCK = WIDTH;
#define EACH_ITEM(item) for (uint item = 0; item < ITEMS; ++item)
#else
const uint BLOCK = 8;
#define EACH_ITEM(item) [[unroll]] for (uint item = 0; item < ITEMS; ++item)
#endif

const uint SLICE = (LENGTH + slices * BLOCK - 1) / (slices * BLOCK) * BLOCK;
const uint STRIDE = slices * SLICE; // of the vector, zero past LENGTH
const uint CELLS = rows * hidden;   // hidden units in the workgroup
const uint ITEMS = (CELLS + WIDTH - 1) / WIDTH; // hidden units per invocation

shared float partial[slices * rows * OUTPUTS];
#ifdef LANES
shared float vector[rows * STRIDE];
void put(uint row, uint k, float x) { vector[row * STRIDE + k] = x; }
float get(uint row, uint k) { return vector[row * STRIDE + k]; }
void rendezvous() { subgroupBarrier(); }
#else
shared vec4 vector[rows * STRIDE / 4];
void put(uint row, uint k, float x) { vector[(row * STRIDE + k) / 4][k % 4] = x; }
float get(uint row, uint k) { return vector[(row * STRIDE + k) / 4][k % 4]; }
void rendezvous() { barrier(); }
#endif

void clear_vector() {
  uint i = gl_LocalInvocationID.x;
  if (i < rows * STRIDE) {
    do {
      put(0, i, 0);
      i += WIDTH;
    } while (i < rows * STRIDE);
  }
}

#ifdef LANES
#include "common/from_lane.glsl"
#endif

float weight_at(F32 matrix, uint k, uint column) {
  return matrix.v[min(k, LENGTH - 1) * OUTPUTS + column];
}

// This invocation's weights, which stay in registers for all steps.
float own_weights[resident ? SLICE : 1][held];
void load_own_weights(F32 matrix) {
  const uint slice = gl_LocalInvocationID.x / units;
  const uint unit = gl_LocalInvocationID.x - slice * units;
  [[unroll]] for (uint k = 0; k < (resident ? SLICE : 0); ++k)
    [[unroll]] for (uint i = 0; i < held; ++i)
      own_weights[k][i] = weight_at(matrix, slice * SLICE + k, min(i * units + unit, OUTPUTS - 1));
}

// Adds the products with BLOCK numbers of the vector, from k on.
void add_block(inout float sum[held][rows], float weight[BLOCK][held], uint k) {
#ifdef LANES
  float x[rows];
  [[unroll]] for (uint row = 0; row < rows; ++row)
    x[row] = vector[row * STRIDE + k + gl_SubgroupInvocationID];
#else
  vec4 x[rows][BLOCK / 4];
  [[unroll]] for (uint row = 0; row < rows; ++row)
    [[unroll]] for (uint i = 0; i < BLOCK / 4; ++i) x[row][i] = vector[(row * STRIDE + k) / 4 + i];
#endif
  [[unroll]] for (uint kk = 0; kk < BLOCK; ++kk) {
    [[unroll]] for (uint row = 0; row < rows; ++row) {
#ifdef LANES
      const float factor = from_lane(x[row], kk);
#else
      const float factor = x[row][kk / 4][kk % 4];
#endif
      [[unroll]] for (uint i = 0; i < held; ++i) sum[i][row] += weight[kk][i] * factor;
    }
  }
}

// partial[slice, row, o] = sum over the slice's k of matrix[k, o] vector[row, k]
void multiply(F32 matrix) {
  const uint slice = gl_LocalInvocationID.x / units;
  const uint unit = gl_LocalInvocationID.x - slice * units;
  uint first = 0;
  do {
    uint column[held];
    float sum[held][rows];
    [[unroll]] for (uint i = 0; i < held; ++i) {
      column[i] = min(first + i * units + unit, OUTPUTS - 1);
      [[unroll]] for (uint row = 0; row < rows; ++row) sum[i][row] = 0;
    }
    float weight[BLOCK][held];
    if (resident) {
      [[unroll]] for (uint k = 0; k < (resident ? SLICE : 0); k += BLOCK) {
        [[unroll]] for (uint kk = 0; kk < BLOCK; ++kk)
          [[unroll]] for (uint i = 0; i < held; ++i) weight[kk][i] = own_weights[k + kk][i];
        add_block(sum, weight, slice * SLICE + k);
      }
    } else {
      uint k = slice * SLICE;
      const uint end = k + SLICE;
      do {
        [[unroll]] for (uint kk = 0; kk < BLOCK; ++kk)
          [[unroll]] for (uint i = 0; i < held; ++i)
            weight[kk][i] = weight_at(matrix, k + kk, column[i]);
        add_block(sum, weight, k);
        k += BLOCK;
      } while (k < end);
    }
    [[unroll]] for (uint i = 0; i < held; ++i) {
      const uint o = first + i * units + unit;
      if (o < OUTPUTS)
        [[unroll]] for (uint row = 0; row < rows; ++row)
          partial[(slice * rows + row) * OUTPUTS + o] = sum[i][row];
    }
    first += units * held;
  } while (first < OUTPUTS);
}

// The product's element [row, o].
float product(uint row, uint o) {
  float sum = partial[row * OUTPUTS + o];
  [[unroll]] for (uint s = 1; s < slices; ++s) sum += partial[(s * rows + row) * OUTPUTS + o];
  return sum;
}

// Item number `item` of this invocation: a hidden unit of a batch entry.
struct Cell {
  bool valid;
  uint row, unit, entry;
};

Cell cell(uint item, uint batch) {
  const uint i = item * WIDTH + gl_LocalInvocationID.x, row = i / hidden;
  const uint entry = gl_WorkGroupID.x * rows + row;
  return Cell(i < CELLS && entry < batch, row, i - row * hidden, entry);
}
