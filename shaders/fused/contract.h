/* Several elementwise calls and copies as one, for runtime/graph/fusion.c. All results have one
 * shape, along which inputs may be repeated. Tensors are stored dense or, those of copies, in one
 * of two other layouts. With the kernel `rows` results may be sums along the last axis, and what is
 * computed from them: such a result of rows lacks that axis. */
#ifndef FT_FUSED_CONTRACT_H
#define FT_FUSED_CONTRACT_H

#include "common/contract.h"

/* What a step computes of its operands a and b. */
#define fused_step_VALUES(VALUE)                                                                   \
  VALUE(STEP_NONE, 0)                                                                              \
  VALUE(STEP_ADD, 1)                                                                               \
  VALUE(STEP_MULTIPLY, 2)                                                                          \
  VALUE(STEP_SUBTRACT, 3)                                                                          \
  VALUE(STEP_DIVIDE, 4)                                                                            \
  VALUE(STEP_MINUS_PRODUCT, 5)                                                                     \
  VALUE(STEP_AFFINE, 6) /* scale a + offset */                                                     \
  VALUE(STEP_SCALE, 7)  /* scale a */                                                              \
  VALUE(STEP_COPY, 8)   /* a */                                                                    \
  VALUE(STEP_ACTIVATE, 9)                                                                          \
  VALUE(STEP_DERIVATIVE, 10) /* activation'(a) b */                                                \
  VALUE(STEP_SUM, 11)        /* the sum of a along the last axis */                                \
  VALUE(STEP_SUM_AFFINE, 12) /* scale times that + offset */
FT_DECLARE_VALUES(fused_step)

#define FUSED_INPUTS  5
#define FUSED_OUTPUTS 3
#define FUSED_STEPS   8
#define FUSED_NUMBERS 6 /* scales and offsets of all steps */
/* The steps that may be activations, bit k for step k: drivers compile the code of all activations
 * for each, before they leave out what it does not need. */
#define FUSED_ACTIVATIONS 0x24

/* A step is a word of bit fields, each given by its lowest bit. Operands count inputs first, then
 * the results of earlier steps. */
#define FUSED_OPERATION  0  /* 4 bits: STEP_... */
#define FUSED_ACTIVATION 4  /* 4 bits */
#define FUSED_A          8  /* 4 bits: operand */
#define FUSED_B          12 /* 4 bits: operand */
#define FUSED_NUMBER     16 /* 3 bits: its first number */
#define FUSED_TARGET     20 /* 2 bits: output that receives the result; 3: none */
#define FUSED_SUM        24 /* 4 bits: operand that is added to the result; FUSED_NONE: none */
#define FUSED_NONE       15

#define FUSED_ALL_AXES 15 /* an input's four bits of the constant `axes` that is not repeated */

/* The constant `layouts`: two bits for each input, then for each output, 0 for a dense tensor, else
 * the number of its layout. */
#define FUSED_LAYOUTS        2
#define FUSED_LAYOUT(tensor) (2 * (tensor)) /* lowest bit; outputs follow inputs */
#define FUSED_SWAPPED        16             /* bit of the first layout: see below */
#define FUSED_INPUT_COUNT    18             /* 3 bits */
#define FUSED_OF_ROWS        21             /* bit of the first output: it is of rows */
#define FUSED_ROW            64             /* most elements of a row */

#define fused_elements_TENSORS(TENSOR)                                                             \
  TENSOR(F32, in0)                                                                                 \
  TENSOR(F32, in1)                                                                                 \
  TENSOR(F32, in2)                                                                                 \
  TENSOR(F32, in3)                                                                                 \
  TENSOR(F32, in4)                                                                                 \
  TENSOR(F32, out0)                                                                                \
  TENSOR(F32, out1)                                                                                \
  TENSOR(F32, out2)
#define fused_elements_SCALARS(SCALAR)                                                             \
  SCALAR(uint, count)     /* elements, or groups of four */                                        \
  SCALAR(uint, shape[3])  /* without the outermost axis; groups of four along the last */          \
  SCALAR(uint, factor[3]) /* division by shape: common/quotient.glsl */                            \
  SCALAR(uint, shifts)    /* of the same, five bits each */                                        \
  SCALAR(uint, row[FUSED_LAYOUTS])                                                                 \
  SCALAR(float, number[FUSED_NUMBERS])
/* axes: bit k of input i's four bits, bit 4 i + k of the word, says that the input has axis k;
 * where it has not, it is repeated. In layout m the last axis is contiguous and one element of the
 * last axis but one is row[m - 1] after the one before it: rows lie in the order of the axes or, if
 * swapped, those of the second axis side by side, as the heads of a token do. */
#define fused_elements_CONSTANTS(CONSTANT)                                                         \
  CONSTANT(1, uint, step0, 0)                                                                      \
  CONSTANT(2, uint, step1, 0)                                                                      \
  CONSTANT(3, uint, step2, 0)                                                                      \
  CONSTANT(4, uint, step3, 0)                                                                      \
  CONSTANT(5, uint, step4, 0)                                                                      \
  CONSTANT(6, uint, step5, 0)                                                                      \
  CONSTANT(7, uint, step6, 0)                                                                      \
  CONSTANT(8, uint, step7, 0)                                                                      \
  CONSTANT(9, uint, axes, 0)                                                                       \
  CONSTANT(10, uint, layouts, 0)                                                                   \
  CONSTANT(11, bool, SPREAD, false) /* an input is repeated */                                     \
  CONSTANT(12, bool, WHOLE, false)  /* groups of four; "uniform": parts of several rows */
FT_CONTRACT(fused_elements)

FT_KERNEL(fused_rows, fused_elements, fused_elements)

#endif
