/* Lowering of what works component by component. */
#include "adversary/machine.h"
#include "adversary/operations.h"

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

/* What an instruction becomes; operations have forms for each width. */
typedef struct rule {
  uint16_t opcode, code;
  bool swapped; /* the operands change places */
} rule;

static const rule rules[] = {
    {SpvOpIAdd, ADV_OP_IADD},
    {SpvOpISub, ADV_OP_ISUB},
    {SpvOpIMul, ADV_OP_IMUL},
    {SpvOpUDiv, ADV_OP_UDIV},
    {SpvOpSDiv, ADV_OP_SDIV},
    {SpvOpUMod, ADV_OP_UMOD},
    {SpvOpSRem, ADV_OP_SREM},
    {SpvOpSMod, ADV_OP_SMOD},
    {SpvOpBitwiseAnd, ADV_OP_AND},
    {SpvOpBitwiseOr, ADV_OP_OR},
    {SpvOpBitwiseXor, ADV_OP_XOR},
    {SpvOpShiftLeftLogical, ADV_OP_SHL},
    {SpvOpShiftRightLogical, ADV_OP_SHR},
    {SpvOpShiftRightArithmetic, ADV_OP_SAR},
    {SpvOpIEqual, ADV_OP_IEQ},
    {SpvOpINotEqual, ADV_OP_INE},
    {SpvOpULessThan, ADV_OP_ULT},
    {SpvOpUGreaterThan, ADV_OP_ULT, true},
    {SpvOpULessThanEqual, ADV_OP_ULE},
    {SpvOpUGreaterThanEqual, ADV_OP_ULE, true},
    {SpvOpSLessThan, ADV_OP_SLT},
    {SpvOpSGreaterThan, ADV_OP_SLT, true},
    {SpvOpSLessThanEqual, ADV_OP_SLE},
    {SpvOpSGreaterThanEqual, ADV_OP_SLE, true},
    {SpvOpLogicalAnd, ADV_OP_AND},
    {SpvOpLogicalOr, ADV_OP_OR},
    {SpvOpLogicalEqual, ADV_OP_IEQ},
    {SpvOpLogicalNotEqual, ADV_OP_INE},
    {SpvOpFAdd, ADV_OP_FADD},
    {SpvOpFSub, ADV_OP_FSUB},
    {SpvOpFMul, ADV_OP_FMUL},
    {SpvOpFDiv, ADV_OP_FDIV},
    {SpvOpFMod, ADV_OP_FMOD},
    {SpvOpFRem, ADV_OP_FREM},
    {SpvOpFOrdEqual, ADV_OP_FEQ},
    {SpvOpFOrdNotEqual, ADV_OP_FNE},
    {SpvOpFOrdLessThan, ADV_OP_FLT},
    {SpvOpFOrdGreaterThan, ADV_OP_FLT, true},
    {SpvOpFOrdLessThanEqual, ADV_OP_FLE},
    {SpvOpFOrdGreaterThanEqual, ADV_OP_FLE, true},
    {SpvOpFUnordEqual, ADV_OP_FEQ_UNORDERED},
    {SpvOpFUnordNotEqual, ADV_OP_FNE_UNORDERED},
    {SpvOpFUnordLessThan, ADV_OP_FLT_UNORDERED},
    {SpvOpFUnordGreaterThan, ADV_OP_FLT_UNORDERED, true},
    {SpvOpFUnordLessThanEqual, ADV_OP_FLE_UNORDERED},
    {SpvOpFUnordGreaterThanEqual, ADV_OP_FLE_UNORDERED, true},
    {SpvOpSNegate, ADV_OP_INEG},
    {SpvOpNot, ADV_OP_NOT},
    {SpvOpLogicalNot, ADV_OP_LNOT},
    {SpvOpFNegate, ADV_OP_FNEG},
    {SpvOpIsNan, ADV_OP_ISNAN},
    {SpvOpIsInf, ADV_OP_ISINF},
};

/* Of GLSL.std.450, those with two operands; the others become ADV_OP_MATH. */
static const rule pairs[] = {
    {GLSLstd450FMin, ADV_OP_FMIN}, {GLSLstd450FMax, ADV_OP_FMAX}, {GLSLstd450NMin, ADV_OP_FMIN},
    {GLSLstd450NMax, ADV_OP_FMAX}, {GLSLstd450UMin, ADV_OP_UMIN}, {GLSLstd450UMax, ADV_OP_UMAX},
    {GLSLstd450SMin, ADV_OP_SMIN}, {GLSLstd450SMax, ADV_OP_SMAX},
};

static const rule *find(const rule *list, size_t count, uint32_t opcode) {
  for (size_t i = 0; i < count; i++)
    if (list[i].opcode == opcode) return &list[i];
  return NULL;
}

/* ---- one operation, on numbers of any width ---- */

static bool reads_signs(uint16_t code) {
  return code == ADV_OP_SDIV || code == ADV_OP_SREM || code == ADV_OP_SMOD || code == ADV_OP_SAR ||
         code == ADV_OP_SLT || code == ADV_OP_SLE || code == ADV_OP_SMIN || code == ADV_OP_SMAX;
}

filtra_status adv_narrow(adv_program *p, const adv_instruction *in, const adv_type *t,
                         uint32_t row) {
  if (t->bits >= 32) return FILTRA_OK;
  return adv_emit_op(p, (adv_op){.code = t->kind == ADV_FLOAT ? ADV_OP_ROUND16 : ADV_OP_PART,
                                 .bits = (uint8_t)t->bits,
                                 .d = row,
                                 .a = row,
                                 .at = in->at});
}

/* The products that sums may be fused with: by row, found among the operations so far. */
static const adv_op *product_of(const adv_program *p, uint32_t row) {
  for (size_t i = p->op_count, seen = 0; i-- > 0 && seen < 64; seen++)
    if (p->ops[i].d == row) return p->ops[i].code == ADV_OP_FMUL && p->ops[i].c ? &p->ops[i] : NULL;
  return NULL;
}

/* The specification lets a product and a sum be rounded once unless one has NoContraction. By the
 * seed, each place where that can be is or is not. */
static void contract(const adv_program *p, const adv_instruction *in, adv_op *op) {
  bool sum = op->code == ADV_OP_FADD, difference = op->code == ADV_OP_FSUB;
  uint64_t bits = (p->source.contraction ^ in->result) * UINT64_C(0x9e3779b97f4a7c15);
  if ((!sum && !difference) || !p->source.contraction || p->no_contraction[in->result] ||
      bits >> 63)
    return;
  const adv_op *left = product_of(p, op->a), *right = product_of(p, op->b);
  const adv_op *product = left ? left : right;
  if (!product) return;
  op->c = left ? op->b : op->a;
  op->code = sum ? ADV_OP_FUSED_ADD : left ? ADV_OP_FUSED_SUB : ADV_OP_FUSED_REVERSE;
  op->a = product->a;
  op->b = product->b;
}

/* d = code(a, b, c) on numbers of type t. */
static filtra_status compute(adv_program *p, const adv_instruction *in, uint16_t code,
                             const adv_type *t, uint32_t d, uint32_t a, uint32_t b, uint32_t c) {
  adv_op op = {
      .code = code, .bits = (uint8_t)t->bits, .d = d, .a = a, .b = b, .c = c, .at = in->at};
  if (t->kind == ADV_INT && t->bits < 32 && reads_signs(code)) {
    op.a = adv_new_row(p, false);
    op.b = code == ADV_OP_SAR ? b : adv_new_row(p, false);
    FT_TRY(adv_emit(p, in, ADV_OP_SIGN, op.a, a, 0, t->bits));
    if (op.b != b) FT_TRY(adv_emit(p, in, ADV_OP_SIGN, op.b, b, 0, t->bits));
  }
  if (t->bits == 64 && code >= ADV_OP_IADD && code < ADV_OP_WHOLE64)
    op.code = (uint16_t)ADV_WIDE(code);
  else if (t->bits == 64 && code >= ADV_OP_FADD && code < ADV_OP_DOUBLE64)
    op.code = (uint16_t)ADV_DOUBLE(code);
  contract(p, in, &op);
  FT_TRY(adv_emit_op(p, op));
  const adv_type *result = adv_scalar(p, in->type);
  return result->kind == t->kind ? adv_narrow(p, in, result, d) : FILTRA_OK;
}

static uint16_t index_code(uint16_t code) {
  return code == ADV_OP_IADD   ? ADV_OP_IADD_INDEX
         : code == ADV_OP_IMUL ? ADV_OP_IMUL_INDEX
         : code == ADV_OP_SHL  ? ADV_OP_SHL_INDEX
                               : code;
}

/* Applies `r` to the components of two operands, or of one (b 0). */
static filtra_status apply(adv_program *p, const adv_instruction *in, const rule *r, uint32_t a,
                           uint32_t b) {
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result];
  if (r->swapped) {
    uint32_t kept = a;
    a = b;
    b = kept;
  }
  const adv_type *t = adv_type_of(p, a);
  const uint16_t code = d->indexes && t->bits == 32 ? index_code(r->code) : r->code;
  const bool widens = b && t->bits == 64 && adv_type_of(p, b)->bits != 64; /* a shift's count */
  for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
    uint32_t right = b ? p->values[b].rows[i] : 0;
    if (widens) {
      const uint32_t narrow = right;
      right = adv_new_row(p, true);
      FT_TRY(adv_emit(p, in, ADV_OP_JOIN64, right, narrow, adv_constant_row(p, false, 0), 32));
    }
    FT_TRY(compute(p, in, code, t, d->rows[i], p->values[a].rows[i], right,
                   code == ADV_OP_FMUL && !p->no_contraction[in->result]));
  }
  return FILTRA_OK;
}

/* Vector or matrix times scalar, dot product. */
static filtra_status products(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  const adv_value *a = &p->values[w[3]], *b = &p->values[w[4]];
  const adv_type *t = adv_type_of(p, w[3]);
  const bool dot = in->opcode == SpvOpDot, is_float = t->kind == ADV_FLOAT;
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result];
  uint32_t cells = p->types[a->type].cells, sum = ADV_NO_ROW;
  for (uint32_t i = 0; i < cells; i++) {
    uint32_t product = dot ? adv_new_row(p, t->bits == 64) : d->rows[i];
    FT_TRY(compute(p, in, is_float ? ADV_OP_FMUL : ADV_OP_IMUL, t, product, a->rows[i],
                   b->rows[dot ? i : 0], 0));
    if (!dot) continue;
    uint32_t before = sum;
    sum = i + 1 == cells ? d->rows[0] : adv_new_row(p, t->bits == 64);
    FT_TRY(before == ADV_NO_ROW
               ? adv_emit(p, in, t->bits == 64 ? ADV_OP_MOVE64 : ADV_OP_MOVE, sum, product, 0, 0)
               : compute(p, in, ADV_OP_FADD, t, sum, before, product, 0));
  }
  return FILTRA_OK;
}

/* A pair of results: low and high halves of a product, sum and carry. */
static filtra_status extended(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result];
  uint32_t half = p->types[in->type].cells / 2;
  if (adv_type_of(p, w[3])->bits != 32) return adv_unknown(p, in);
  uint16_t low = in->opcode == SpvOpIAddCarry ? ADV_OP_IADD : ADV_OP_IMUL;
  uint16_t high = in->opcode == SpvOpIAddCarry      ? ADV_OP_CARRY
                  : in->opcode == SpvOpUMulExtended ? ADV_OP_UMULHI
                                                    : ADV_OP_SMULHI;
  for (uint32_t i = 0; i < 2 * half; i++)
    FT_TRY(adv_emit(p, in, i < half ? low : high, d->rows[i], p->values[w[3]].rows[i % half],
                    p->values[w[4]].rows[i % half], 0));
  return FILTRA_OK;
}

/* Any and all of a vector of bools. */
static filtra_status fold(adv_program *p, const adv_instruction *in) {
  const adv_value *a = &p->values[in->words[3]];
  FT_TRY(adv_define(p, in->result, in->type));
  uint32_t sum = a->rows[0], cells = p->types[a->type].cells;
  for (uint32_t i = 1; i < cells; i++) {
    uint32_t to = i + 1 == cells ? p->values[in->result].rows[0] : adv_new_row(p, false);
    FT_TRY(
        adv_emit(p, in, in->opcode == SpvOpAny ? ADV_OP_OR : ADV_OP_AND, to, sum, a->rows[i], 0));
    sum = to;
  }
  return FILTRA_OK;
}

/* What a conversion takes a type for (ADV_NUMBER). */
static uint32_t number_kind(const adv_type *t, bool is_signed) {
  return t->bits | (t->kind == ADV_FLOAT ? ADV_FLOATING : is_signed ? ADV_SIGNED : 0);
}

static filtra_status convert(adv_program *p, const adv_instruction *in) {
  const uint32_t a = in->words[3];
  const bool is_signed = in->opcode == SpvOpSConvert || in->opcode == SpvOpConvertSToF ||
                         in->opcode == SpvOpConvertFToS;
  const uint32_t from = number_kind(adv_type_of(p, a), is_signed);
  adv_type to = *adv_scalar(p, in->type);
  if (in->opcode == SpvOpQuantizeToF16) to.bits = 16;
  FT_TRY(adv_define(p, in->result, in->type));
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    FT_TRY(adv_emit(p, in, ADV_OP_CONVERT, p->values[in->result].rows[i], p->values[a].rows[i],
                    from, number_kind(&to, is_signed)));
  return FILTRA_OK;
}

/* min(max(x, low), high), or a fused product and sum. */
static filtra_status glsl_three(adv_program *p, const adv_instruction *in, uint32_t function) {
  const uint32_t *w = in->words;
  const adv_type *t = adv_scalar(p, in->type);
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result];
  uint16_t lower = function == GLSLstd450UClamp   ? ADV_OP_UMAX
                   : function == GLSLstd450SClamp ? ADV_OP_SMAX
                                                  : ADV_OP_FMAX;
  uint16_t upper = function == GLSLstd450UClamp   ? ADV_OP_UMIN
                   : function == GLSLstd450SClamp ? ADV_OP_SMIN
                                                  : ADV_OP_FMIN;
  for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
    uint32_t a = p->values[w[5]].rows[i], b = p->values[w[6]].rows[i], c = p->values[w[7]].rows[i];
    if (function == GLSLstd450Fma) {
      FT_TRY(compute(p, in, ADV_OP_FMA, t, d->rows[i], a, b, c));
      continue;
    }
    uint32_t between = adv_new_row(p, t->bits == 64);
    FT_TRY(compute(p, in, lower, t, between, a, b, 0));
    FT_TRY(compute(p, in, upper, t, d->rows[i], between, c, 0));
  }
  return FILTRA_OK;
}

/* Two floats of 16 bits in a word, and a float of 64 as two: other names for the same bits. */
static filtra_status glsl_pack(adv_program *p, const adv_instruction *in, uint32_t function) {
  const adv_value *a = &p->values[in->words[5]];
  if (function == GLSLstd450PackDouble2x32 || function == GLSLstd450UnpackDouble2x32) {
    const uint32_t words[] = {in->words[0], in->type, in->result, in->words[5]};
    adv_instruction cast = *in;
    cast.opcode = SpvOpBitcast;
    cast.words = words;
    return adv_lower(p, &cast);
  }
  FT_TRY(adv_define(p, in->result, in->type));
  const uint32_t *d = p->values[in->result].rows,
                 half[] = {adv_new_row(p, false), adv_new_row(p, false)};
  for (uint32_t i = 0; i < 2; i++) {
    adv_op op = {.code = ADV_OP_PART, .bits = 16, .d = half[i], .at = in->at};
    op.a = a->rows[0];
    op.c = 16 * i;
    if (function == GLSLstd450UnpackHalf2x16) {
      FT_TRY(adv_emit_op(p, op));
      FT_TRY(adv_emit(p, in, ADV_OP_BITS_HALF, d[i], half[i], 0, 0));
    } else {
      FT_TRY(adv_emit(p, in, ADV_OP_ROUND16, half[i], a->rows[i], 0, 0));
      FT_TRY(adv_emit(p, in, ADV_OP_HALF_BITS, half[i], half[i], 0, 0));
    }
  }
  return function == GLSLstd450UnpackHalf2x16
             ? FILTRA_OK
             : adv_emit(p, in, ADV_OP_JOIN, d[0], half[0], half[1], 16);
}

static filtra_status glsl(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words, function = w[4];
  if (w[3] != p->glsl) return adv_unknown(p, in);
  if (function == GLSLstd450PackDouble2x32 || function == GLSLstd450UnpackDouble2x32 ||
      function == GLSLstd450PackHalf2x16 || function == GLSLstd450UnpackHalf2x16)
    return glsl_pack(p, in, function);
  const rule *r = find(pairs, FT_COUNT(pairs), function);
  if (r) return apply(p, in, r, w[5], w[6]);
  if (function == GLSLstd450Fma || function == GLSLstd450FClamp || function == GLSLstd450NClamp ||
      function == GLSLstd450UClamp || function == GLSLstd450SClamp)
    return glsl_three(p, in, function);
  if (!adv_math_known(function))
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "kernel %s: the adversary does not know GLSL.std.450's function %u",
                   p->source.name, function);
  FT_TRY(adv_define(p, in->result, in->type));
  bool two = function == GLSLstd450Pow || function == GLSLstd450Step;
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    FT_TRY(compute(p, in, ADV_OP_MATH, adv_scalar(p, in->type), p->values[in->result].rows[i],
                   p->values[w[5]].rows[i], p->values[two ? w[6] : w[5]].rows[i], function));
  return FILTRA_OK;
}

filtra_status adv_lower_arithmetic(adv_program *p, const adv_instruction *in, bool *done) {
  const rule *r = find(rules, FT_COUNT(rules), in->opcode);
  *done = true;
  if (r) return apply(p, in, r, in->words[3], in->count > 4 ? in->words[4] : 0);
  switch (in->opcode) {
  case SpvOpVectorTimesScalar:
  case SpvOpMatrixTimesScalar:
  case SpvOpDot:
    return products(p, in);
  case SpvOpIAddCarry:
  case SpvOpUMulExtended:
  case SpvOpSMulExtended:
    return extended(p, in);
  case SpvOpAny:
  case SpvOpAll:
    return fold(p, in);
  case SpvOpUConvert:
  case SpvOpSConvert:
  case SpvOpFConvert:
  case SpvOpConvertUToF:
  case SpvOpConvertSToF:
  case SpvOpConvertFToU:
  case SpvOpConvertFToS:
  case SpvOpQuantizeToF16:
    return convert(p, in);
  case SpvOpExtInst:
    return glsl(p, in);
  default:
    *done = false;
    return FILTRA_OK;
  }
}
