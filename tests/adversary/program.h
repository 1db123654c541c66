/* A SPIR-V module made ready to run: parsed by SPIRV-Tools, specialized, and lowered to scalar
 * operations on rows.
 *
 * A row holds one number of every invocation of a workgroup, 4 or 8 bytes each; it is named by its
 * byte offset per invocation. Vectors and structs are lists of rows, so that taking one apart or
 * building it costs nothing. Constants are rows that are filled once. Whole numbers of 8 and 16
 * bits have zeros above them in rows of 32; floats of 16 bits are floats of 32 whose bits are few.
 */
#ifndef ADVERSARY_PROGRAM_H
#define ADVERSARY_PROGRAM_H

#include "adversary/memory.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define ADV_NO_ROW UINT32_MAX

/** Instructions of SPV_KHR_cooperative_matrix, which the headers of Debian 12 do not have. */
enum {
  ADV_TYPE_MATRIX = 4456,
  ADV_MATRIX_LOAD = 4457,
  ADV_MATRIX_STORE = 4458,
  ADV_MATRIX_MULTIPLY = 4459,
  ADV_MATRIX_LENGTH = 4460
};

/** What an operation does: the opcode of the instruction that does just that for one component, or
 * ADV_GLSL and the number of a function of GLSL.std.450, or one of these. */
enum {
  ADV_MOVE = 0x1000,
  ADV_JOIN,          /* d from a and, c bits higher, b */
  ADV_PART,          /* `bits` of a, from bit c on */
  ADV_SIGN,          /* a, whose bits above the first c become its sign */
  ADV_HALF_BITS,     /* of a float of 16 bits */
  ADV_BITS_HALF,     /* and back */
  ADV_ROUND16,       /* a float as one of 16 bits */
  ADV_CONVERT,       /* from a number of kind b to one of kind c */
  ADV_FUSED_ADD,     /* a b + c where the source has a product and a sum, in one rounding */
  ADV_FUSED_SUB,     /* a b - c */
  ADV_FUSED_REVERSE, /* c - a b */
  ADV_INDEX,         /* address d = a + b c; a may be NO_ROW */
  ADV_BOUND,         /* before an INDEX: a is the index, c the number of elements */
  ADV_OFFSET,        /* address d = a + c */
  ADV_GLSL = 0x2000,
  ADV_WIDE = 0x4000,   /* added to these: on numbers of 64 bits */
  ADV_CHECKED = 0x8000 /* of numbers that become indices: must not wrap around */
};

/** Kinds of numbers: the bits, and what they are. */
enum { ADV_SIGNED = 256, ADV_FLOATING = 512, ADV_BITS = 255 };

/** Where a pointer points to. */
typedef enum adv_space {
  ADV_PRIVATE, /* of each invocation: variables of functions, and what is built in */
  ADV_SHARED,
  ADV_PUSH,
  ADV_DEVICE
} adv_space;

typedef enum adv_kind {
  ADV_VOID,
  ADV_BOOL,
  ADV_INT,
  ADV_FLOAT,
  ADV_VECTOR,
  ADV_ARRAY,
  ADV_STRUCT,
  ADV_POINTER
} adv_kind;

typedef struct adv_type {
  adv_kind kind;
  uint32_t bits;    /* of a scalar: 8 to 64; a bool is 32 */
  uint32_t element; /* of vectors and arrays; of pointers what they point to: type ids */
  uint32_t count;   /* elements or members; 0: runtime array */
  uint32_t size;    /* bytes in memory */
  uint32_t stride;  /* bytes from element to element */
  uint32_t cells;   /* scalars in a value */
  adv_space space;
  uint32_t *members, *offsets;
  struct adv_cell *flat; /* adv_cells */
  /* A cooperative matrix is a vector of what one invocation holds of it; rows 0: it is none. */
  uint32_t rows, columns, use;
} adv_type;

/** A scalar of a composite, and where it lies in memory. */
typedef struct adv_cell {
  const adv_type *type;
  uint32_t offset;
} adv_cell;

typedef struct adv_value {
  uint32_t type;
  uint32_t *rows;  /* one a cell; a pointer's is its address, NO_ROW: 0 */
  uint32_t offset; /* of pointers: bytes to add to the row */
  bool indexes;    /* an index is computed from it */
} adv_value;

/** One scalar operation for all active invocations: rows d, a, b and c. A load takes d from a + c,
 * a store brings it there; an atomic operation finds d at a + c and combines it with b. A barrier
 * has its memory semantics in a, and in c whether it is one of subgroups. */
typedef struct adv_op {
  uint16_t code;
  uint8_t space;    /* loads and stores: adv_space */
  uint8_t is_float; /* loads and stores */
  uint8_t bits;     /* of what it works on */
  uint32_t d, a, b, c;
  uint32_t at; /* number of the instruction in the function */
} adv_op;

/** A way from one block to another, with the operations by which phis take their values. */
typedef struct adv_edge {
  uint32_t target, first, count;
} adv_edge;

#define ADV_NO_BLOCK UINT32_MAX

/** Ends with a choice: edge 0 unless the selector is one of the literals, which are of edges 1 and
 * on. A condition is 0 or leads to edge 0; a branch has one edge, a return none. */
typedef struct adv_block {
  uint32_t id, at;
  uint32_t first, count; /* operations */
  uint32_t selector;     /* row */
  adv_edge *edges;
  uint32_t *literals;
  uint32_t edge_count;
  uint32_t merge, continues; /* blocks; NO_BLOCK without */
} adv_block;

typedef struct adv_instruction {
  const uint32_t *words;
  uint16_t count, opcode;
  uint32_t type, result;
  uint32_t at;
} adv_instruction;

/** A constant: the bits that every invocation's place in a row gets. */
typedef struct adv_constant {
  uint32_t row;
  bool wide;
  uint64_t bits;
} adv_constant;

typedef struct adv_builtin {
  uint32_t builtin, offset; /* number in the specification; place in private memory */
} adv_builtin;

/** What a program is made from. */
typedef struct adv_source {
  const char *name;
  const uint32_t *words;
  size_t bytes;
  uint32_t workgroup; /* constant 0 */
  uint32_t spec_count;
  const uint32_t *spec; /* constants 1, 2, ... */
  uint32_t subgroup;    /* required size; 0: any */
  bool full;            /* subgroups are required to be full */
  uint64_t contraction; /* seed: which products are fused with sums; 0: none */
} adv_source;

typedef struct adv_program {
  adv_source source;
  filtra_status failed; /* at what is not known; the rest is left out */
  uint32_t *spec_copy;
  uint32_t *masked;       /* the words without what SPIRV-Tools does not know */
  const uint32_t *parsed; /* as far as this */
  adv_instruction *instructions;
  size_t instruction_count, instruction_capacity;
  uint32_t bound, glsl; /* ids; the set GLSL.std.450 */
  adv_type *types;      /* by id, as the following */
  adv_value *values;
  struct adv_id {
    uint32_t block;
    uint32_t spec, builtin; /* + 1; 0: none */
    bool no_contraction;
  } * ids;
  adv_block *blocks;
  size_t block_count, block_capacity;
  adv_op *ops;
  size_t op_count, op_capacity;
  struct adv_matrix_op *matrix_ops;
  size_t matrix_count, matrix_capacity;
  adv_constant *constants;
  size_t constant_count, constant_capacity;
  adv_builtin builtins[16];
  uint32_t builtin_count;
  uint32_t row_bytes;
  uint32_t private_bytes, shared_bytes;
  uint32_t size[3];      /* of a workgroup */
  bool subgroup_uniform; /* the module declares SPV_KHR_subgroup_uniform_control_flow's mode */
  bool maximal;          /* or SPV_KHR_maximal_reconvergence's */
  uint32_t *lines;       /* by instruction of the function */
  size_t line_count;
  bool has_lines;
} adv_program;

/** UNSUPPORTED, with the instruction, where the module has something that is not known here. */
filtra_status adv_program_create(const adv_source *source, adv_program **out);
void adv_program_destroy(adv_program **program);

/* ---- what the parts of this share; where memory ends, they abort ---- */

/** module.c: types, constants' ids, decorations; fills in instructions. */
void adv_parse(adv_program *p);
void adv_make_type(adv_program *p, const adv_instruction *in);
/** The number of the first instruction of the function. */
size_t adv_function(const adv_program *p);
/** The scalars of a type, `cells` of them. */
const adv_cell *adv_cells(const adv_program *p, uint32_t type);
/** The type of a vector's components, and of anything else itself. */
const adv_type *adv_scalar(const adv_program *p, uint32_t type);
const adv_type *adv_type_of(const adv_program *p, uint32_t id);
uint32_t adv_new_row(adv_program *p, bool wide);
uint32_t adv_constant_row(adv_program *p, bool wide, uint64_t bits);
/** NULL: the row is none of a constant. */
const adv_constant *adv_constant_of(const adv_program *p, uint32_t row);
uint64_t adv_constant_bits(const adv_program *p, uint32_t id);
/** Of the instruction with this number in the function: "OpIAdd". */
const char *adv_opcode_name(const adv_program *p, uint32_t at);
/** Ends the lowering with the instruction's name. */
void adv_unknown(adv_program *p, const adv_instruction *in);
void adv_emit_op(adv_program *p, adv_op op);
void adv_emit(adv_program *p, const adv_instruction *in, uint32_t code, uint32_t d, uint32_t a,
              uint32_t b, uint32_t c);
/** lower.c: one instruction that computes; `in` may be rewritten from an OpSpecConstantOp. */
void adv_lower(adv_program *p, const adv_instruction *in);
/** arithmetic.c: those that work component by component; false: it is none of these. */
bool adv_lower_arithmetic(adv_program *p, const adv_instruction *in);
/** A result of fewer than 32 bits: rounded, or with zeros above. */
void adv_narrow(adv_program *p, const adv_instruction *in, const adv_type *t, uint32_t row);
/** floats.c: floats of 16 bits. */
float adv_half_of(uint16_t bits);
uint16_t adv_half_bits(float x);
float adv_round_half(double x, bool flush);
uint32_t adv_float_bits(float x);
bool adv_builtin_known(uint32_t builtin);
/** matrix.c: cooperative matrices; false: it is no instruction of theirs. */
bool adv_lower_matrix(adv_program *p, const adv_instruction *in);
void adv_matrix_clear(adv_program *p);
/** One value per cell, with rows of its own, or to be filled with others'. */
adv_value *adv_define(adv_program *p, const adv_instruction *in);
adv_value *adv_make_value(adv_program *p, const adv_instruction *in);
/** An address as one row. */
uint32_t adv_address_row(adv_program *p, const adv_value *pointer);

#endif
