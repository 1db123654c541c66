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

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { ADV_NO_ROW = UINT32_MAX };

/** Instructions of SPV_KHR_cooperative_matrix, which the headers of Debian 12 do not have. */
enum {
  ADV_TYPE_MATRIX = 4456,
  ADV_MATRIX_LOAD = 4457,
  ADV_MATRIX_STORE = 4458,
  ADV_MATRIX_MULTIPLY = 4459,
  ADV_MATRIX_LENGTH = 4460
};

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
  bool is_signed;
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

/** One scalar operation for all active invocations. */
typedef struct adv_op {
  uint16_t code;    /* ADV_OP_... (operations.h) */
  uint8_t space;    /* loads and stores: adv_space */
  uint8_t is_float; /* loads and stores */
  uint8_t bits;     /* of what it works on */
  uint32_t d, a, b, c;
  uint32_t at; /* number of the instruction in the function */
} adv_op;

typedef struct adv_move {
  uint32_t to, from;
  bool wide;
} adv_move;

/** A way from one block to another, with what its phis take. */
typedef struct adv_edge {
  uint32_t target;       /* block number */
  uint32_t first, count; /* moves */
  bool overlapping;      /* a move reads what another one writes */
} adv_edge;

typedef enum adv_end {
  ADV_BRANCH,
  ADV_CONDITIONAL,
  ADV_SWITCH,
  ADV_RETURN,
  ADV_UNREACHABLE
} adv_end;

enum { ADV_NO_BLOCK = UINT32_MAX };

typedef struct adv_block {
  uint32_t id, at;
  uint32_t first, count; /* operations */
  adv_end end;
  uint32_t selector;  /* row of the condition */
  adv_edge *edges;    /* CONDITIONAL: true, false; SWITCH: default, then one per literal */
  uint32_t *literals; /* SWITCH: of edges 1 and on */
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
  uint32_t runs;        /* the size where none is required */
  bool full;            /* subgroups are required to be full */
  uint64_t contraction; /* seed: which products are fused with sums; 0: none */
} adv_source;

typedef struct adv_program {
  adv_source source;
  uint32_t *spec_copy;
  uint32_t *masked;       /* the words without what SPIRV-Tools does not know */
  const uint32_t *parsed; /* as far as this */
  adv_instruction *instructions;
  size_t instruction_count, instruction_capacity;
  uint32_t bound, glsl; /* ids; the set GLSL.std.450 */
  adv_type *types;      /* by id, as the following */
  adv_value *values;
  uint32_t *block_of;
  uint32_t *spec_id;    /* + 1 */
  uint32_t *builtin_id; /* + 1 */
  bool *no_contraction;
  adv_block *blocks;
  size_t block_count, block_capacity;
  adv_op *ops;
  size_t op_count, op_capacity;
  adv_move *moves;
  size_t move_count, move_capacity;
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
  uint32_t *lines;       /* by instruction; NULL: the module has none */
  size_t line_count;
} adv_program;

/** UNSUPPORTED, with the instruction, where the module has something that is not known here. */
filtra_status adv_program_create(const adv_source *source, adv_program **out);
void adv_program_destroy(adv_program **program);

/* ---- what the parts of this share ---- */

/** module.c: types, constants' ids, decorations; fills in instructions. */
filtra_status adv_parse(adv_program *p);
filtra_status adv_make_type(adv_program *p, const adv_instruction *in);
/** The scalars of a type, `cells` of them. */
const adv_cell *adv_cells(const adv_program *p, uint32_t type);
/** The type of a vector's components, and of anything else itself. */
const adv_type *adv_scalar(const adv_program *p, uint32_t type);
const adv_type *adv_type_of(const adv_program *p, uint32_t id);
uint32_t adv_new_row(adv_program *p, bool wide);
uint32_t adv_constant_row(adv_program *p, bool wide, uint64_t bits);
uint64_t adv_constant_bits(const adv_program *p, uint32_t id);
/** Of the instruction with this number in the function: "OpIAdd". */
const char *adv_opcode_name(const adv_program *p, uint32_t at);
filtra_status adv_unknown(const adv_program *p, const adv_instruction *in);
filtra_status adv_emit_op(adv_program *p, adv_op op);
filtra_status adv_emit(adv_program *p, const adv_instruction *in, uint32_t code, uint32_t d,
                       uint32_t a, uint32_t b, uint32_t c);
/** lower.c: one instruction that computes; `in` may be rewritten from an OpSpecConstantOp. */
filtra_status adv_lower(adv_program *p, const adv_instruction *in);
/** arithmetic.c: those that work component by component; *done says whether it was one. */
filtra_status adv_lower_arithmetic(adv_program *p, const adv_instruction *in, bool *done);
/** A result of fewer than 32 bits: rounded, or with zeros above. */
filtra_status adv_narrow(adv_program *p, const adv_instruction *in, const adv_type *t,
                         uint32_t row);
/** floats.c: floats of 16 bits. */
float adv_half_of(uint16_t bits);
uint16_t adv_half_bits(float x);
float adv_round_half(double x, bool flush);
uint32_t adv_float_bits(float x);
bool adv_builtin_known(uint32_t builtin);
/** matrix.c: cooperative matrices; false: it is no instruction of theirs. */
bool adv_lower_matrix(adv_program *p, const adv_instruction *in, filtra_status *status);
void adv_matrix_clear(adv_program *p);
/** One value per cell, with rows of its own. */
filtra_status adv_define(adv_program *p, uint32_t id, uint32_t type);
/** An address as one row. */
filtra_status adv_address_row(adv_program *p, const adv_value *pointer, uint32_t *row);

#endif
