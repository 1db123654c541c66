/* Lowering of what works component by component. */
#include "adversary/machine.h"
#include "adversary/operations.h"

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

/* What an instruction becomes on 32 bits; 64 where it has that form. */
typedef struct rule {
  uint16_t opcode, code;
  bool wide;    /* whole numbers: also on 64 bits */
  bool swapped; /* the operands change places */
} rule;

static const rule binary[] = {
    {SpvOpIAdd, ADV_OP_IADD, true, false},
    {SpvOpISub, ADV_OP_ISUB, true, false},
    {SpvOpIMul, ADV_OP_IMUL, true, false},
    {SpvOpUDiv, ADV_OP_UDIV, true, false},
    {SpvOpSDiv, ADV_OP_SDIV, true, false},
    {SpvOpUMod, ADV_OP_UMOD, true, false},
    {SpvOpSRem, ADV_OP_SREM, true, false},
    {SpvOpSMod, ADV_OP_SMOD, true, false},
    {SpvOpBitwiseAnd, ADV_OP_AND, true, false},
    {SpvOpBitwiseOr, ADV_OP_OR, true, false},
    {SpvOpBitwiseXor, ADV_OP_XOR, true, false},
    {SpvOpShiftLeftLogical, ADV_OP_SHL, true, false},
    {SpvOpShiftRightLogical, ADV_OP_SHR, true, false},
    {SpvOpShiftRightArithmetic, ADV_OP_SAR, true, false},
    {SpvOpIEqual, ADV_OP_IEQ, true, false},
    {SpvOpINotEqual, ADV_OP_INE, true, false},
    {SpvOpULessThan, ADV_OP_ULT, true, false},
    {SpvOpUGreaterThan, ADV_OP_ULT, true, true},
    {SpvOpULessThanEqual, ADV_OP_ULE, true, false},
    {SpvOpUGreaterThanEqual, ADV_OP_ULE, true, true},
    {SpvOpSLessThan, ADV_OP_SLT, true, false},
    {SpvOpSGreaterThan, ADV_OP_SLT, true, true},
    {SpvOpSLessThanEqual, ADV_OP_SLE, true, false},
    {SpvOpSGreaterThanEqual, ADV_OP_SLE, true, true},
    {SpvOpLogicalAnd, ADV_OP_AND, false, false},
    {SpvOpLogicalOr, ADV_OP_OR, false, false},
    {SpvOpLogicalEqual, ADV_OP_IEQ, false, false},
    {SpvOpLogicalNotEqual, ADV_OP_INE, false, false},
    {SpvOpFAdd, ADV_OP_FADD, false, false},
    {SpvOpFSub, ADV_OP_FSUB, false, false},
    {SpvOpFMul, ADV_OP_FMUL, false, false},
    {SpvOpFDiv, ADV_OP_FDIV, false, false},
    {SpvOpFMod, ADV_OP_FMOD, false, false},
    {SpvOpFRem, ADV_OP_FREM, false, false},
    {SpvOpFOrdEqual, ADV_OP_FEQ, false, false},
    {SpvOpFOrdNotEqual, ADV_OP_FNE, false, false},
    {SpvOpFOrdLessThan, ADV_OP_FLT, false, false},
    {SpvOpFOrdGreaterThan, ADV_OP_FLT, false, true},
    {SpvOpFOrdLessThanEqual, ADV_OP_FLE, false, false},
    {SpvOpFOrdGreaterThanEqual, ADV_OP_FLE, false, true},
    {SpvOpFUnordEqual, ADV_OP_FEQ_UNORDERED, false, false},
    {SpvOpFUnordNotEqual, ADV_OP_FNE_UNORDERED, false, false},
    {SpvOpFUnordLessThan, ADV_OP_FLT_UNORDERED, false, false},
    {SpvOpFUnordGreaterThan, ADV_OP_FLT_UNORDERED, false, true},
    {SpvOpFUnordLessThanEqual, ADV_OP_FLE_UNORDERED, false, false},
    {SpvOpFUnordGreaterThanEqual, ADV_OP_FLE_UNORDERED, false, true},
};

static const rule unary[] = {
    {SpvOpSNegate, ADV_OP_INEG, true, false},      {SpvOpNot, ADV_OP_NOT, true, false},
    {SpvOpLogicalNot, ADV_OP_LNOT, false, false},  {SpvOpFNegate, ADV_OP_FNEG, false, false},
    {SpvOpIsNan, ADV_OP_ISNAN, false, false},      {SpvOpIsInf, ADV_OP_ISINF, false, false},
    {SpvOpConvertUToF, ADV_OP_UTOF, false, false}, {SpvOpConvertSToF, ADV_OP_STOF, false, false},
    {SpvOpConvertFToU, ADV_OP_FTOU, false, false}, {SpvOpConvertFToS, ADV_OP_FTOS, false, false},
};

/* Of GLSL.std.450, those with two operands; those with one become ADV_OP_MATH. */
static const rule pairs[] = {
    {GLSLstd450FMin, ADV_OP_FMIN, false, false}, {GLSLstd450FMax, ADV_OP_FMAX, false, false},
    {GLSLstd450NMin, ADV_OP_FMIN, false, false}, {GLSLstd450NMax, ADV_OP_FMAX, false, false},
    {GLSLstd450UMin, ADV_OP_UMIN, true, false},  {GLSLstd450UMax, ADV_OP_UMAX, true, false},
    {GLSLstd450SMin, ADV_OP_SMIN, true, false},  {GLSLstd450SMax, ADV_OP_SMAX, true, false},
};

static const rule *find(const rule *rules, size_t count, uint32_t opcode) {
  for (size_t i = 0; i < count; i++)
    if (rules[i].opcode == opcode) return &rules[i];
  return NULL;
}

/* Whether row k of a value is of 64 bits; values have scalars of one width here. */
static bool is_wide(const adv_program *p, uint32_t id) {
  const adv_type *t = &p->types[p->values[id].type];
  while (t->kind == ADV_VECTOR)
    t = &p->types[t->element];
  return t->bits == 64;
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
  if (left)
    *op = (adv_op){
        sum ? ADV_OP_FUSED_ADD : ADV_OP_FUSED_SUB, 0, 0, op->d, left->a, left->b, op->b, op->at};
  else if (right)
    *op = (adv_op){sum ? ADV_OP_FUSED_ADD : ADV_OP_FUSED_REVERSE,
                   0,
                   0,
                   op->d,
                   right->a,
                   right->b,
                   op->a,
                   op->at};
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
  uint16_t code = r->code;
  if (is_wide(p, a)) {
    if (!r->wide) return adv_unknown(p, in);
    code = (uint16_t)ADV_WIDE(code);
  } else if (d->indexes) {
    code = index_code(code);
  }
  for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
    adv_op op = {.code = code,
                 .d = d->rows[i],
                 .a = p->values[a].rows[i],
                 .b = b ? p->values[b].rows[i] : 0,
                 .at = in->at};
    if (code == ADV_OP_FMUL) op.c = !p->no_contraction[in->result];
    /* shift counts may have another width than what is shifted */
    if (b && is_wide(p, a) && !is_wide(p, b)) {
      op.b = adv_new_row(p, true);
      FT_TRY(adv_emit(
          p, (adv_op){.code = ADV_OP_WIDEN, .d = op.b, .a = p->values[b].rows[i], .at = in->at}));
    }
    contract(p, in, &op);
    FT_TRY(adv_emit(p, op));
  }
  return FILTRA_OK;
}

/* Vector times scalar, dot product. */
static filtra_status products(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  const adv_value *a = &p->values[w[3]], *b = &p->values[w[4]];
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result];
  uint32_t cells = p->types[a->type].cells, sum = ADV_NO_ROW;
  for (uint32_t i = 0; i < cells; i++) {
    bool dot = in->opcode == SpvOpDot;
    uint32_t product = dot ? adv_new_row(p, false) : d->rows[i];
    FT_TRY(adv_emit(p, (adv_op){.code = ADV_OP_FMUL,
                                .d = product,
                                .a = a->rows[i],
                                .b = b->rows[dot ? i : 0],
                                .at = in->at}));
    if (!dot) continue;
    uint32_t before = sum;
    sum = i + 1 == cells ? d->rows[0] : adv_new_row(p, false);
    FT_TRY(
        before == ADV_NO_ROW
            ? adv_emit(p, (adv_op){.code = ADV_OP_MOVE, .d = sum, .a = product, .at = in->at})
            : adv_emit(
                  p, (adv_op){
                         .code = ADV_OP_FADD, .d = sum, .a = before, .b = product, .at = in->at}));
  }
  return FILTRA_OK;
}

/* A pair of results: low and high halves of a product, sum and carry. */
static filtra_status extended(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result];
  uint32_t half = p->types[in->type].cells / 2;
  if (is_wide(p, w[3])) return adv_unknown(p, in);
  uint16_t low = in->opcode == SpvOpIAddCarry ? ADV_OP_IADD : ADV_OP_IMUL;
  uint16_t high = in->opcode == SpvOpIAddCarry      ? ADV_OP_CARRY
                  : in->opcode == SpvOpUMulExtended ? ADV_OP_UMULHI
                                                    : ADV_OP_SMULHI;
  for (uint32_t i = 0; i < 2 * half; i++)
    FT_TRY(adv_emit(p, (adv_op){.code = i < half ? low : high,
                                .d = d->rows[i],
                                .a = p->values[w[3]].rows[i % half],
                                .b = p->values[w[4]].rows[i % half],
                                .at = in->at}));
  return FILTRA_OK;
}

/* Any and all of a vector of bools. */
static filtra_status fold(adv_program *p, const adv_instruction *in) {
  const adv_value *a = &p->values[in->words[3]];
  FT_TRY(adv_define(p, in->result, in->type));
  uint32_t sum = a->rows[0], cells = p->types[a->type].cells;
  for (uint32_t i = 1; i < cells; i++) {
    uint32_t to = i + 1 == cells ? p->values[in->result].rows[0] : adv_new_row(p, false);
    FT_TRY(adv_emit(p, (adv_op){.code = in->opcode == SpvOpAny ? ADV_OP_OR : ADV_OP_AND,
                                .d = to,
                                .a = sum,
                                .b = a->rows[i],
                                .at = in->at}));
    sum = to;
  }
  return FILTRA_OK;
}

/* Whole numbers of one width as those of another. */
static filtra_status convert(adv_program *p, const adv_instruction *in) {
  uint32_t a = in->words[3];
  bool from = is_wide(p, a);
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result];
  bool to = is_wide(p, in->result);
  uint16_t code = from == to                    ? (to ? ADV_OP_MOVE64 : ADV_OP_MOVE)
                  : from                        ? ADV_OP_LOW
                  : in->opcode == SpvOpUConvert ? ADV_OP_WIDEN
                                                : ADV_OP_WIDEN_SIGNED;
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    FT_TRY(adv_emit(
        p, (adv_op){.code = code, .d = d->rows[i], .a = p->values[a].rows[i], .at = in->at}));
  return FILTRA_OK;
}

/* min(max(x, low), high), or a fused product and sum. */
static filtra_status glsl_three(adv_program *p, const adv_instruction *in, uint32_t function) {
  const uint32_t *w = in->words;
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
      FT_TRY(adv_emit(
          p, (adv_op){.code = ADV_OP_FMA, .d = d->rows[i], .a = a, .b = b, .c = c, .at = in->at}));
      continue;
    }
    uint32_t between = adv_new_row(p, false);
    FT_TRY(adv_emit(p, (adv_op){.code = lower, .d = between, .a = a, .b = b, .at = in->at}));
    FT_TRY(
        adv_emit(p, (adv_op){.code = upper, .d = d->rows[i], .a = between, .b = c, .at = in->at}));
  }
  return FILTRA_OK;
}

static filtra_status glsl(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words, function = w[4];
  if (w[3] != p->glsl) return adv_unknown(p, in);
  if (is_wide(p, w[5]) && p->types[p->values[w[5]].type].kind == ADV_FLOAT)
    return adv_unknown(p, in);
  const rule *r = find(pairs, sizeof pairs / sizeof *pairs, function);
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
    FT_TRY(adv_emit(p, (adv_op){.code = ADV_OP_MATH,
                                .d = p->values[in->result].rows[i],
                                .a = p->values[w[5]].rows[i],
                                .b = two ? p->values[w[6]].rows[i] : p->values[w[5]].rows[i],
                                .c = function,
                                .at = in->at}));
  return FILTRA_OK;
}

filtra_status adv_lower_arithmetic(adv_program *p, const adv_instruction *in, bool *done) {
  const rule *r = find(binary, sizeof binary / sizeof *binary, in->opcode);
  *done = true;
  if (r) return apply(p, in, r, in->words[3], in->words[4]);
  r = find(unary, sizeof unary / sizeof *unary, in->opcode);
  if (r) return apply(p, in, r, in->words[3], 0);
  switch (in->opcode) {
  case SpvOpVectorTimesScalar:
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
    return convert(p, in);
  case SpvOpExtInst:
    return glsl(p, in);
  default:
    *done = false;
    return FILTRA_OK;
  }
}
