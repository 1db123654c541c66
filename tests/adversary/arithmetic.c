/* Lowering of component-wise instructions. */
#include "adversary/machine.h"

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

/* ---- one operation, on numbers of any width ---- */

void adv_narrow(adv_program *p, const adv_instruction *in, const adv_type *t, uint32_t row) {
  if (t->bits < 32)
    adv_emit_op(p, (adv_op){.code = t->kind == ADV_FLOAT ? ADV_ROUND16 : ADV_PART,
                            .bits = (uint8_t)t->bits,
                            .d = row,
                            .a = row,
                            .at = in->at});
}

static bool reads_signs(uint32_t code) {
  static const uint16_t those[] = {
      SpvOpSDiv,      SpvOpSRem,           SpvOpSMod,         SpvOpShiftRightArithmetic,
      SpvOpSLessThan, SpvOpSLessThanEqual, SpvOpSGreaterThan, SpvOpSGreaterThanEqual};
  for (size_t i = 0; i < FT_COUNT(those); i++)
    if (those[i] == code) return true;
  return code == (ADV_GLSL | GLSLstd450SMin) || code == (ADV_GLSL | GLSLstd450SMax);
}

/* A row of the number with its sign above it. */
static uint32_t with_sign(adv_program *p, const adv_instruction *in, const adv_type *t,
                          uint32_t row) {
  const uint32_t to = adv_new_row(p, false);
  adv_emit(p, in, ADV_SIGN, to, row, 0, t->bits);
  return to;
}

/* The products that sums may be fused with: by row, found among the operations so far. */
static const adv_op *product_of(const adv_program *p, uint32_t row) {
  for (size_t i = p->op_count, seen = 0; i-- > 0 && seen < 64; seen++)
    if (p->ops[i].d == row) return p->ops[i].code == SpvOpFMul && p->ops[i].c ? &p->ops[i] : NULL;
  return NULL;
}

/* The specification lets a product and a sum be rounded once unless one has NoContraction. By the
 * seed, each place where that can be is or is not. */
static void contract(const adv_program *p, const adv_instruction *in, adv_op *op) {
  const bool sum = op->code == SpvOpFAdd, difference = op->code == SpvOpFSub;
  const uint64_t bits = (p->source.contraction ^ in->result) * UINT64_C(0x9e3779b97f4a7c15);
  if ((!sum && !difference) || !p->source.contraction || p->ids[in->result].no_contraction ||
      bits >> 63)
    return;
  const adv_op *left = product_of(p, op->a), *right = product_of(p, op->b);
  const adv_op *product = left ? left : right;
  if (!product) return;
  op->c = left ? op->b : op->a;
  op->code = sum ? ADV_FUSED_ADD : left ? ADV_FUSED_SUB : ADV_FUSED_REVERSE;
  op->a = product->a;
  op->b = product->b;
}

/* d = code(a, b, c) on numbers of type t. */
static void compute(adv_program *p, const adv_instruction *in, uint32_t code, const adv_type *t,
                    uint32_t d, uint32_t a, uint32_t b, uint32_t c) {
  if (t->kind == ADV_INT && t->bits < 32 && reads_signs(code)) {
    a = with_sign(p, in, t, a);
    if (code != SpvOpShiftRightArithmetic) b = with_sign(p, in, t, b);
  }
  adv_op op = {.code = (uint16_t)(code | (t->bits == 64 ? ADV_WIDE : 0)),
               .bits = (uint8_t)t->bits,
               .d = d,
               .a = a,
               .b = b,
               .c = c,
               .at = in->at};
  contract(p, in, &op);
  adv_emit_op(p, op);
  const adv_type *result = adv_scalar(p, in->type);
  if (result->kind == t->kind) adv_narrow(p, in, result, d);
}

/* `code` of the components of up to three operands. */
static void apply(adv_program *p, const adv_instruction *in, uint32_t code, const uint32_t *ids,
                  uint32_t count) {
  const adv_value *d = adv_define(p, in);
  const adv_type *t = adv_type_of(p, ids[0]);
  const bool widens =
      count > 1 && t->bits == 64 && adv_type_of(p, ids[1])->bits != 64; /* a shift's count */
  const bool can_wrap = code == SpvOpIAdd || code == SpvOpIMul || code == SpvOpShiftLeftLogical;
  const bool fuses = code == SpvOpFMul && !p->ids[in->result].no_contraction;
  if (d->indexes && t->bits == 32 && can_wrap) code |= ADV_CHECKED;
  for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
    uint32_t rows[3] = {0, 0, fuses};
    for (uint32_t k = 0; k < count; k++)
      rows[k] = p->values[ids[k]].rows[i];
    if (widens) {
      const uint32_t narrow = rows[1];
      rows[1] = adv_new_row(p, true);
      adv_emit(p, in, ADV_JOIN | ADV_WIDE, rows[1], narrow, adv_constant_row(p, false, 0), 32);
    }
    compute(p, in, code, t, d->rows[i], rows[0], rows[1], rows[2]);
  }
}

/* ---- others than one component of each operand ---- */

/* Vector or matrix times scalar, dot product. */
static void products(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  const adv_value *a = &p->values[w[3]], *b = &p->values[w[4]], *d = adv_define(p, in);
  const adv_type *t = adv_type_of(p, w[3]);
  const bool dot = in->opcode == SpvOpDot;
  const uint32_t times = t->kind == ADV_FLOAT ? SpvOpFMul : SpvOpIMul;
  for (uint32_t i = 0; i < p->types[a->type].cells; i++) {
    const uint32_t product = dot && i ? adv_new_row(p, t->bits == 64) : d->rows[dot ? 0 : i];
    compute(p, in, times, t, product, a->rows[i], b->rows[dot ? i : 0], 0);
    if (dot && i) compute(p, in, SpvOpFAdd, t, d->rows[0], d->rows[0], product, 0);
  }
}

/* A pair of results: low and high halves of a product, sum and carry. */
static void extended(adv_program *p, const adv_instruction *in) {
  const adv_value *a = &p->values[in->words[3]], *b = &p->values[in->words[4]];
  const adv_value *d = adv_define(p, in);
  const uint32_t half = p->types[in->type].cells / 2;
  const uint16_t low = in->opcode == SpvOpIAddCarry ? SpvOpIAdd : SpvOpIMul;
  if (adv_type_of(p, in->words[3])->bits != 32) adv_unknown(p, in);
  for (uint32_t i = 0; i < 2 * half; i++)
    adv_emit(p, in, i < half ? low : in->opcode, d->rows[i], a->rows[i % half], b->rows[i % half],
             0);
}

/* Any and all of a vector of bools. */
static void fold(adv_program *p, const adv_instruction *in) {
  const adv_value *a = &p->values[in->words[3]], *d = adv_define(p, in);
  const uint16_t code = in->opcode == SpvOpAny ? SpvOpBitwiseOr : SpvOpBitwiseAnd;
  for (uint32_t i = 1; i < p->types[a->type].cells; i++)
    adv_emit(p, in, code, d->rows[0], i > 1 ? d->rows[0] : a->rows[0], a->rows[i], 0);
}

/* What a conversion takes a type for. */
static uint32_t number_kind(const adv_type *t, bool is_signed) {
  return t->bits | (t->kind == ADV_FLOAT ? ADV_FLOATING : is_signed ? ADV_SIGNED : 0);
}

static void convert(adv_program *p, const adv_instruction *in) {
  const uint32_t a = in->words[3];
  const bool is_signed = in->opcode == SpvOpSConvert || in->opcode == SpvOpConvertSToF ||
                         in->opcode == SpvOpConvertFToS;
  const uint32_t from = number_kind(adv_type_of(p, a), is_signed),
                 to = number_kind(adv_scalar(p, in->type), is_signed);
  const adv_value *d = adv_define(p, in);
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    adv_emit(p, in, ADV_CONVERT, d->rows[i], p->values[a].rows[i], from, to);
}

/* The two floats of 16 bits in a word. */
static void unpack_halves(adv_program *p, const adv_instruction *in) {
  enum { BITS = 16 };
  const uint32_t word = p->values[in->words[5]].rows[0], part = adv_new_row(p, false);
  const adv_value *d = adv_define(p, in);
  for (uint32_t i = 0; i < 2; i++) {
    adv_emit_op(
        p, (adv_op){
               .code = ADV_PART, .bits = BITS, .d = part, .a = word, .c = i * BITS, .at = in->at});
    adv_emit(p, in, ADV_BITS_HALF, d->rows[i], part, 0, 0);
    adv_emit(p, in, ADV_ROUND16, d->rows[i], d->rows[i], 0, 0); /* denormals may become 0 */
  }
}

static void glsl(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words, function = w[4];
  if (w[3] != p->glsl) {
    adv_unknown(p, in);
    return;
  }
  const bool known = function == GLSLstd450Fma || adv_math_known(function);
  if (function == GLSLstd450UnpackDouble2x32) { /* another name for the same bits */
    const uint32_t words[] = {w[0], in->type, in->result, w[5]};
    adv_instruction cast = *in;
    cast.opcode = SpvOpBitcast;
    cast.words = words;
    adv_lower(p, &cast);
  } else if (function == GLSLstd450UnpackHalf2x16) {
    unpack_halves(p, in);
  } else if (known) {
    apply(p, in, ADV_GLSL | function, w + 5, in->count - 5u);
  } else {
    p->failed = ft_fail(FILTRA_ERROR_UNSUPPORTED,
                        "kernel %s: the adversary does not know GLSL.std.450's function %u",
                        p->source.name, function);
  }
}

bool adv_lower_arithmetic(adv_program *p, const adv_instruction *in) {
  if (adv_computes(in->opcode)) { /* the operation is the opcode */
    apply(p, in, in->opcode, in->words + 3, in->count - 3u);
    return true;
  }
  switch (in->opcode) {
  case SpvOpVectorTimesScalar:
  case SpvOpMatrixTimesScalar:
  case SpvOpDot:
    products(p, in);
    return true;
  case SpvOpIAddCarry:
  case SpvOpUMulExtended:
    extended(p, in);
    return true;
  case SpvOpAny:
  case SpvOpAll:
    fold(p, in);
    return true;
  case SpvOpUConvert:
  case SpvOpSConvert:
  case SpvOpFConvert:
  case SpvOpConvertUToF:
  case SpvOpConvertSToF:
  case SpvOpConvertFToU:
  case SpvOpConvertFToS:
    convert(p, in);
    return true;
  case SpvOpExtInst:
    glsl(p, in);
    return true;
  default:
    return false;
  }
}
