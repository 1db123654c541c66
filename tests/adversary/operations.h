/* The scalar operations. d, a, b, c are rows unless it says otherwise. */
#ifndef ADVERSARY_OPERATIONS_H
#define ADVERSARY_OPERATIONS_H

typedef enum adv_code {
  ADV_OP_MOVE,
  ADV_OP_MOVE64,
  ADV_OP_JOIN, /* d from a and, c bits higher, b */
  ADV_OP_JOIN64,
  ADV_OP_PART, /* `bits` of a, from bit c on */
  ADV_OP_PART64,
  ADV_OP_SIGN,      /* a, whose bits above the first c become its sign */
  ADV_OP_HALF_BITS, /* of a float of 16 bits */
  ADV_OP_BITS_HALF, /* and back */
  ADV_OP_ROUND16,   /* a float as one of 16 bits */
  ADV_OP_CONVERT,   /* from a number of kind b to one of kind c (ADV_NUMBER) */
  ADV_OP_SELECT,    /* a ? b : c */
  ADV_OP_SELECT64,
  /* whole numbers of 32 bits, then the same of 64 */
  ADV_OP_IADD,
  ADV_OP_ISUB,
  ADV_OP_IMUL,
  ADV_OP_UDIV,
  ADV_OP_SDIV,
  ADV_OP_UMOD,
  ADV_OP_SREM,
  ADV_OP_SMOD,
  ADV_OP_AND,
  ADV_OP_OR,
  ADV_OP_XOR,
  ADV_OP_SHL,
  ADV_OP_SHR,
  ADV_OP_SAR,
  ADV_OP_IEQ,
  ADV_OP_INE,
  ADV_OP_ULT,
  ADV_OP_ULE,
  ADV_OP_SLT,
  ADV_OP_SLE,
  ADV_OP_UMIN,
  ADV_OP_UMAX,
  ADV_OP_SMIN,
  ADV_OP_SMAX,
  ADV_OP_NOT,
  ADV_OP_INEG,
  ADV_OP_WHOLE64, /* not an operation: IADD + WHOLE64 - IADD and so on are of 64 bits */
  ADV_OP_LAST64 = ADV_OP_WHOLE64 + (ADV_OP_WHOLE64 - ADV_OP_IADD) - 1,
  ADV_OP_CARRY, /* of a + b */
  ADV_OP_UMULHI,
  ADV_OP_SMULHI,
  ADV_OP_LNOT,
  ADV_OP_IADD_INDEX, /* of numbers that become indices: must not wrap around */
  ADV_OP_IMUL_INDEX,
  ADV_OP_SHL_INDEX,
  /* floats of 32 bits, then the same of 64 */
  ADV_OP_FADD,
  ADV_OP_FSUB,
  ADV_OP_FMUL,
  ADV_OP_FDIV,
  ADV_OP_FMOD,
  ADV_OP_FREM,
  ADV_OP_FNEG,
  ADV_OP_FMA,           /* a b + c, by the seed in one rounding or in two */
  ADV_OP_FUSED_ADD,     /* a b + c where the source has a product and a sum, in one rounding */
  ADV_OP_FUSED_SUB,     /* a b - c */
  ADV_OP_FUSED_REVERSE, /* c - a b */
  ADV_OP_FMIN,
  ADV_OP_FMAX,
  ADV_OP_FEQ, /* ordered: false with a NaN */
  ADV_OP_FNE,
  ADV_OP_FLT,
  ADV_OP_FLE,
  ADV_OP_FEQ_UNORDERED, /* true with a NaN */
  ADV_OP_FNE_UNORDERED,
  ADV_OP_FLT_UNORDERED,
  ADV_OP_FLE_UNORDERED,
  ADV_OP_ISNAN,
  ADV_OP_ISINF,
  ADV_OP_MATH,     /* c: number of the function in GLSL.std.450 */
  ADV_OP_DOUBLE64, /* not an operation, as WHOLE64 */
  ADV_OP_LAST_DOUBLE = ADV_OP_DOUBLE64 + (ADV_OP_DOUBLE64 - ADV_OP_FADD) - 1,
  ADV_OP_INDEX,  /* address d = a + b c; a may be NO_ROW; `space` 1: b is signed. Bound behind it */
  ADV_OP_BOUND,  /* belongs to an INDEX before it: a is the index, c the number of elements */
  ADV_OP_OFFSET, /* address d = a + c */
  ADV_OP_LOAD,   /* d from a + c; `space`, `bits` */
  ADV_OP_STORE,  /* d to a + c */
  ADV_OP_ATOMIC, /* d = what was at a + c & 0xff..; b the operand; `is_float` holds which one */
  ADV_OP_BARRIER, /* a: memory semantics; c: 1 of the subgroup */
  ADV_OP_ELECT,
  ADV_OP_ALL,
  ADV_OP_ANY,
  ADV_OP_BALLOT_BIT, /* d: 32 bits of the ballot of a, word c */
  ADV_OP_BROADCAST,  /* a from the invocation b */
  ADV_OP_BROADCAST_FIRST,
  ADV_OP_SHUFFLE,
  ADV_OP_SHUFFLE_XOR,
  ADV_OP_SHUFFLE_UP,
  ADV_OP_SHUFFLE_DOWN,
  ADV_OP_REDUCE, /* c: adv_reduction, b: clusters of that many (constant), 0: the whole subgroup */
  ADV_OP_SCAN,   /* inclusive */
  ADV_OP_SCAN_EXCLUSIVE,
  ADV_OP_MATRIX_LOAD, /* c: number of the adv_matrix_op, as of the following */
  ADV_OP_MATRIX_STORE,
  ADV_OP_MATRIX_MULTIPLY
} adv_code;

typedef enum adv_reduction {
  ADV_SUM,
  ADV_FLOAT_SUM,
  ADV_FLOAT_MIN,
  ADV_FLOAT_MAX,
  ADV_UNSIGNED_MIN,
  ADV_UNSIGNED_MAX,
  ADV_SIGNED_MIN,
  ADV_SIGNED_MAX,
  ADV_BITS_AND,
  ADV_BITS_OR,
  ADV_BITS_XOR
} adv_reduction;

#define ADV_WIDE(code)   ((code) + ADV_OP_WHOLE64 - ADV_OP_IADD)
#define ADV_DOUBLE(code) ((code) + ADV_OP_DOUBLE64 - ADV_OP_FADD)

/** Kinds of numbers: the bits, and what they are. */
enum { ADV_SIGNED = 256, ADV_FLOATING = 512, ADV_BITS = 255 };

#endif
