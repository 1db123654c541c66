/* Executes operations on rows: one after the other, each for all active invocations. */
#include "adversary/machine.h"

#include <math.h>
#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

#define EACH(body)                                                                                 \
  do {                                                                                             \
    if (m->full)                                                                                   \
      for (uint32_t i = 0; i < m->lanes; i++) {                                                    \
        body;                                                                                      \
      }                                                                                            \
    else                                                                                           \
      for (uint32_t k = 0; k < m->active_count; k++) {                                             \
        const uint32_t i = m->active[k];                                                           \
        body;                                                                                      \
      }                                                                                            \
  } while (0)

/* d[i] = expression of a[i], b[i] and c[i]; types of the result and of the operands. */
#define RULE(CODE, R, T, expression) RULE3(CODE, R, T, T, expression)
#define RULE3(CODE, R, A, T, expression)                                                           \
  case CODE: {                                                                                     \
    R *d = ADV_ROW(m, R, op->d);                                                                   \
    const A *a = ADV_ROW(m, A, op->a);                                                             \
    const T *b = ADV_ROW(m, T, op->b), *c = ADV_ROW(m, T, op->c);                                  \
    EACH(d[i] = (R)(expression));                                                                  \
    (void)a, (void)b, (void)c;                                                                     \
    break;                                                                                         \
  }

/* The tables: W is what is added to the code for this width. Dividing by zero gives anything; so
 * does shifting by more than there are bits. */
#define WHOLE(W, U, S)                                                                             \
  RULE(W + ADV_MOVE, U, U, a[i])                                                                   \
  RULE(W + ADV_JOIN, U, uint32_t, a[i] | (U)b[i] << op->c)                                         \
  RULE(W + ADV_PART, uint32_t, U, a[i] >> op->c & (UINT32_MAX >> (32 - op->bits)))                 \
  RULE3(W + SpvOpSelect, U, uint32_t, U, a[i] ? b[i] : c[i])                                       \
  RULE(W + SpvOpIAdd, U, U, a[i] + b[i])                                                           \
  RULE(W + SpvOpISub, U, U, a[i] - b[i])                                                           \
  RULE(W + SpvOpIMul, U, U, a[i] * b[i])                                                           \
  RULE(W + SpvOpUDiv, U, U, b[i] ? a[i] / b[i] : ~(U)0)                                            \
  RULE(W + SpvOpUMod, U, U, b[i] ? a[i] % b[i] : ~(U)0)                                            \
  RULE(W + SpvOpSDiv, S, S, b[i] == 0 ? -1 : b[i] == -1 ? (S)(0 - (U)a[i]) : a[i] / b[i])          \
  RULE(W + SpvOpSRem, S, S, b[i] == 0 || b[i] == -1 ? 0 : a[i] % b[i])                             \
  RULE(W + SpvOpSMod, S, S,                                                                        \
       b[i] == 0 || b[i] == -1                   ? 0                                               \
       : a[i] % b[i] && (a[i] % b[i] ^ b[i]) < 0 ? a[i] % b[i] + b[i]                              \
                                                 : a[i] % b[i])                                    \
  RULE(W + SpvOpSNegate, U, U, 0 - a[i])                                                           \
  RULE(W + SpvOpNot, U, U, ~a[i])                                                                  \
  RULE(W + SpvOpBitwiseAnd, U, U, a[i] & b[i])                                                     \
  RULE(W + SpvOpBitwiseOr, U, U, a[i] | b[i])                                                      \
  RULE(W + SpvOpBitwiseXor, U, U, a[i] ^ b[i])                                                     \
  RULE(W + SpvOpShiftLeftLogical, U, U, a[i] << (b[i] & (8 * sizeof(U) - 1)))                      \
  RULE(W + SpvOpShiftRightLogical, U, U, a[i] >> (b[i] & (8 * sizeof(U) - 1)))                     \
  RULE(W + SpvOpShiftRightArithmetic, S, S, a[i] >> (b[i] & (S)(8 * sizeof(U) - 1)))               \
  RULE(W + SpvOpIEqual, uint32_t, U, a[i] == b[i])                                                 \
  RULE(W + SpvOpINotEqual, uint32_t, U, a[i] != b[i])                                              \
  RULE(W + SpvOpULessThan, uint32_t, U, a[i] < b[i])                                               \
  RULE(W + SpvOpULessThanEqual, uint32_t, U, a[i] <= b[i])                                         \
  RULE(W + SpvOpUGreaterThan, uint32_t, U, a[i] > b[i])                                            \
  RULE(W + SpvOpUGreaterThanEqual, uint32_t, U, a[i] >= b[i])                                      \
  RULE(W + SpvOpSLessThan, uint32_t, S, a[i] < b[i])                                               \
  RULE(W + SpvOpSLessThanEqual, uint32_t, S, a[i] <= b[i])                                         \
  RULE(W + SpvOpSGreaterThan, uint32_t, S, a[i] > b[i])                                            \
  RULE(W + SpvOpSGreaterThanEqual, uint32_t, S, a[i] >= b[i])                                      \
  RULE(W + ADV_GLSL + GLSLstd450UMin, U, U, a[i] < b[i] ? a[i] : b[i])                             \
  RULE(W + ADV_GLSL + GLSLstd450UMax, U, U, a[i] > b[i] ? a[i] : b[i])                             \
  RULE(W + ADV_GLSL + GLSLstd450SMin, S, S, a[i] < b[i] ? a[i] : b[i])                             \
  RULE(W + ADV_GLSL + GLSLstd450SMax, S, S, a[i] > b[i] ? a[i] : b[i])

/* S is what the C library's names end with. */
#define FLOATS(W, T, S)                                                                            \
  RULE(W + SpvOpFAdd, T, T, a[i] + b[i])                                                           \
  RULE(W + SpvOpFSub, T, T, a[i] - b[i])                                                           \
  RULE(W + SpvOpFMul, T, T, a[i] * b[i])                                                           \
  RULE(W + SpvOpFDiv, T, T, adv_divide(m, op->bits, a[i], b[i]))                                   \
  RULE(W + SpvOpFRem, T, T, fmod##S(a[i], b[i]))                                                   \
  RULE(W + SpvOpFMod, T, T, a[i] - b[i] * floor##S(a[i] / b[i]))                                   \
  RULE(W + SpvOpFNegate, T, T, -a[i])                                                              \
  RULE(W + ADV_FUSED_ADD, T, T, fma##S(a[i], b[i], c[i]))                                          \
  RULE(W + ADV_FUSED_SUB, T, T, fma##S(a[i], b[i], -c[i]))                                         \
  RULE(W + ADV_FUSED_REVERSE, T, T, fma##S(-a[i], b[i], c[i]))                                     \
  RULE(W + SpvOpFOrdEqual, uint32_t, T, a[i] == b[i])                                              \
  RULE(W + SpvOpFOrdNotEqual, uint32_t, T, a[i] < b[i] || a[i] > b[i])                             \
  RULE(W + SpvOpFOrdLessThan, uint32_t, T, a[i] < b[i])                                            \
  RULE(W + SpvOpFOrdLessThanEqual, uint32_t, T, a[i] <= b[i])                                      \
  RULE(W + SpvOpFOrdGreaterThan, uint32_t, T, a[i] > b[i])                                         \
  RULE(W + SpvOpFOrdGreaterThanEqual, uint32_t, T, a[i] >= b[i])                                   \
  RULE(W + SpvOpFUnordEqual, uint32_t, T, !(a[i] < b[i] || a[i] > b[i]))                           \
  RULE(W + SpvOpFUnordNotEqual, uint32_t, T, !(a[i] == b[i]))                                      \
  RULE(W + SpvOpFUnordLessThan, uint32_t, T, !(a[i] >= b[i]))                                      \
  RULE(W + SpvOpFUnordLessThanEqual, uint32_t, T, !(a[i] > b[i]))                                  \
  RULE(W + SpvOpFUnordGreaterThan, uint32_t, T, !(a[i] <= b[i]))                                   \
  RULE(W + SpvOpFUnordGreaterThanEqual, uint32_t, T, !(a[i] < b[i]))                               \
  RULE(W + SpvOpIsNan, uint32_t, T, a[i] != a[i])                                                  \
  RULE(W + SpvOpIsInf, uint32_t, T, isinf(a[i]) != 0)                                              \
  RULE(W + ADV_GLSL + GLSLstd450FMin, T, T, b[i] < a[i] || a[i] != a[i] ? b[i] : a[i])             \
  RULE(W + ADV_GLSL + GLSLstd450FMax, T, T, a[i] < b[i] || a[i] != a[i] ? b[i] : a[i])             \
  RULE(W + ADV_GLSL + GLSLstd450FAbs, T, T, fabs##S(a[i]))                                         \
  RULE(W + ADV_GLSL + GLSLstd450Floor, T, T, floor##S(a[i]))                                       \
  RULE(W + ADV_GLSL + GLSLstd450Fma, T, T,                                                         \
       apart ? twice##S(a[i], b[i], c[i]) : fma##S(a[i], b[i], c[i]))

/* Of 32 bits only, and between widths. */
#define OTHERS                                                                                     \
  RULE(SpvOpLogicalEqual, uint32_t, uint32_t, a[i] == b[i])                                        \
  RULE(SpvOpLogicalNotEqual, uint32_t, uint32_t, a[i] != b[i])                                     \
  RULE(SpvOpLogicalOr, uint32_t, uint32_t, a[i] | b[i])                                            \
  RULE(SpvOpLogicalAnd, uint32_t, uint32_t, a[i] & b[i])                                           \
  RULE(SpvOpLogicalNot, uint32_t, uint32_t, !a[i])                                                 \
  RULE(SpvOpIAddCarry, uint32_t, uint32_t, a[i] + b[i] < a[i])                                     \
  RULE(SpvOpUMulExtended, uint32_t, uint32_t, (uint64_t)a[i] * b[i] >> 32)                         \
  RULE3(SpvOpBitFieldSExtract, int32_t, uint32_t, uint32_t,                                        \
        c[i] ? (int32_t)(a[i] << (32 - b[i] - c[i])) >> (32 - c[i]) : 0)                           \
  RULE(ADV_SIGN, int32_t, uint32_t, (int32_t)(a[i] << (32 - op->c)) >> (32 - op->c))               \
  RULE(ADV_ROUND16, float, float, adv_round_half((double)a[i], m->manner->flush))                  \
  RULE(ADV_HALF_BITS, uint32_t, float, adv_half_bits(a[i]))                                        \
  RULE(ADV_BITS_HALF, float, uint32_t, adv_half_of((uint16_t)a[i]))

bool adv_computes(uint16_t opcode) {
  return (opcode >= SpvOpSNegate && opcode <= SpvOpFMod) || opcode == SpvOpIsNan ||
         opcode == SpvOpIsInf || (opcode >= SpvOpLogicalEqual && opcode <= SpvOpLogicalNot) ||
         (opcode >= SpvOpIEqual && opcode <= SpvOpFUnordGreaterThanEqual) ||
         (opcode >= SpvOpShiftRightLogical && opcode <= SpvOpNot) ||
         opcode == SpvOpBitFieldSExtract;
}

static float twicef(float a, float b, float c) {
  volatile float product = a * b;
  return product + c;
}

static double twice(double a, double b, double c) {
  volatile double product = a * b;
  return product + c;
}

/* ---- numbers that become indices ---- */

/* Adding a small negative number is no overflow. */
static bool is_negative(uint32_t x) {
  return x >= 0xff000000;
}

static void index_arithmetic(adv_machine *m, const adv_op *op) {
  uint32_t *d = ADV_ROW(m, uint32_t, op->d);
  const uint32_t *a = ADV_ROW(m, uint32_t, op->a), *b = ADV_ROW(m, uint32_t, op->b);
  const uint16_t code = op->code & ~(uint16_t)ADV_CHECKED;
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k], x = a[i], y = b[i];
    const uint64_t exact = code == SpvOpIAdd   ? (uint64_t)x + y
                           : code == SpvOpIMul ? (uint64_t)x * y
                                               : (uint64_t)x << (y & 31);
    d[i] = (uint32_t)exact;
    if (exact >> 32 && !is_negative(x) && (code == SpvOpShiftLeftLogical || !is_negative(y)))
      adv_report_note(m->report, m->p, ADV_OVERFLOW, op->at,
                      "invocation %u of workgroup %u: %u %s %u passes 2^32 and becomes an index", i,
                      m->group[0], x,
                      code == SpvOpIAdd   ? "+"
                      : code == SpvOpIMul ? "*"
                                          : "<<",
                      y);
  }
}

/* ---- conversions ---- */

adv_number adv_get_number(const adv_machine *m, uint32_t row, uint32_t kind, uint32_t lane) {
  const uint32_t bits = kind & ADV_BITS;
  if (kind & ADV_FLOATING)
    return (adv_number){.real = bits == 64 ? ADV_ROW(m, double, row)[lane]
                                           : (double)ADV_ROW(m, float, row)[lane]};
  uint64_t whole = bits == 64 ? ADV_ROW(m, uint64_t, row)[lane] : ADV_ROW(m, uint32_t, row)[lane];
  if (kind & ADV_SIGNED) whole = (uint64_t)((int64_t)(whole << (64 - bits)) >> (64 - bits));
  return (adv_number){.whole = whole};
}

void adv_put_number(adv_machine *m, uint32_t row, uint32_t kind, uint32_t lane, adv_number n) {
  const uint32_t bits = kind & ADV_BITS;
  if (!(kind & ADV_FLOATING) && bits == 64)
    ADV_ROW(m, uint64_t, row)[lane] = n.whole;
  else if (!(kind & ADV_FLOATING))
    ADV_ROW(m, uint32_t, row)[lane] = (uint32_t)n.whole & (UINT32_MAX >> (32 - bits));
  else if (bits == 64)
    ADV_ROW(m, double, row)[lane] = n.real;
  else
    ADV_ROW(m, float, row)
  [lane] = bits == 16 ? adv_round_half(n.real, m->manner->flush) : (float)n.real;
}

/* What does not fit becomes anything. */
static uint64_t whole_of(double x, uint32_t bits, bool is_signed) {
  const double end = ldexp(1.0, (int)bits - is_signed);
  if (!(x < end) || !(x > (is_signed ? -end - 1 : -1.0))) return 0x7ffffffe;
  return is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* A whole number becomes a float in one rounding. */
static double real_of(uint64_t whole, uint32_t bits, bool is_signed) {
  if (bits == 32) return is_signed ? (double)(float)(int64_t)whole : (double)(float)whole;
  return is_signed ? (double)(int64_t)whole : (double)whole;
}

static void convert(adv_machine *m, const adv_op *op) {
  const uint32_t from = op->b, to = op->c, bits = to & ADV_BITS;
  for (uint32_t k = 0; k < m->active_count; k++) {
    adv_number n = adv_get_number(m, op->a, from, m->active[k]);
    if (from & ADV_FLOATING)
      n.whole = to & ADV_FLOATING ? 0 : whole_of(n.real, bits, to & ADV_SIGNED);
    else
      n.real = real_of(n.whole, bits, from & ADV_SIGNED);
    adv_put_number(m, op->d, to, m->active[k], n);
  }
}

/* ---- functions ---- */

static void math(adv_machine *m, const adv_op *op) {
  const uint32_t kind = op->bits | ADV_FLOATING, function = op->code & 0xff;
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const double a = adv_get_number(m, op->a, kind, i).real,
                 result = adv_math(m, function, op->bits, a);
    if (op->bits == 64)
      ADV_ROW(m, double, op->d)[i] = result;
    else
      ADV_ROW(m, float, op->d)[i] = (float)result; /* one of 16 bits is rounded behind this */
  }
}

/* ---- addresses ---- */

static void check_bound(adv_machine *m, const adv_op *op) {
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const uint64_t index = adv_get_number(m, op->a, op->bits, i).whole;
    if (index >= op->c)
      adv_report_note(m->report, m->p, ADV_OUTSIDE, op->at,
                      "invocation %u of workgroup %u: index %lld of %u elements", i, m->group[0],
                      (long long)index, op->c);
  }
}

/* Indices are signed. */
static void step(adv_machine *m, const adv_op *op) {
  static const uint64_t nothing[ADV_MAX_LANES];
  uint64_t *d = ADV_ROW(m, uint64_t, op->d);
  const uint64_t *a = op->a == ADV_NO_ROW ? nothing : ADV_ROW(m, uint64_t, op->a);
  const int32_t *b = ADV_ROW(m, int32_t, op->b);
  const uint64_t *wide = ADV_ROW(m, uint64_t, op->b), stride = op->c;
  if (op->bits == 64)
    EACH(d[i] = a[i] + wide[i] * stride);
  else
    EACH(d[i] = a[i] + (uint64_t)(int64_t)b[i] * stride);
}

/* ---- all ---- */

static void trace(const adv_machine *m, const adv_op *op) {
  adv_report *r = m->report;
  if (m->number != r->trace_group) return;
  for (uint32_t k = 0; k < m->active_count; k++) {
    if (m->active[k] != r->trace_lane) continue;
    uint32_t bits = ADV_ROW(m, uint32_t, op->d)[r->trace_lane];
    float number;
    memcpy(&number, &bits, sizeof number);
    fprintf(r->trace, "line %4u  instruction %5u  %-24s row %6u  %10u  %.9g\n",
            adv_line_of(m->p, op->at), op->at, adv_opcode_name(m->p, op->at), op->d, bits,
            (double)number);
  }
}

static void one(adv_machine *m, const adv_op *op) {
  const bool apart = adv_two_roundings(m);
  switch (op->code) {
    WHOLE(0, uint32_t, int32_t)
    WHOLE(ADV_WIDE, uint64_t, int64_t)
    FLOATS(0, float, f)
    FLOATS(ADV_WIDE, double, )
    OTHERS
    RULE(ADV_OFFSET, uint64_t, uint64_t, a[i] + op->c)
  case ADV_CHECKED | SpvOpIAdd:
  case ADV_CHECKED | SpvOpIMul:
  case ADV_CHECKED | SpvOpShiftLeftLogical:
    index_arithmetic(m, op);
    break;
  case ADV_CONVERT:
    convert(m, op);
    break;
  case ADV_BOUND:
    check_bound(m, op);
    break;
  case ADV_INDEX:
    step(m, op);
    break;
  case SpvOpLoad:
    adv_load(m, op);
    break;
  case SpvOpStore:
    adv_store(m, op);
    break;
  case SpvOpControlBarrier:
    adv_barrier(m, op);
    break;
  default:
    if (op->code & ADV_GLSL)
      math(m, op);
    else if (op->code >= SpvOpAtomicIAdd && op->code <= SpvOpAtomicXor)
      adv_atomic(m, op);
    else
      adv_subgroups(m, op);
  }
}

void adv_execute(adv_machine *m, const adv_op *ops, uint32_t count) {
  m->steps += count;
  if (m->report) m->report->operations += (uint64_t)count * m->active_count;
  for (const adv_op *op = ops; op < ops + count && !m->stopped; op++) {
    one(m, op);
    if (m->report && m->report->trace && op->code != SpvOpControlBarrier && op->code != ADV_BOUND)
      trace(m, op);
  }
}

uint64_t adv_evaluate(const adv_program *p, const adv_op *ops, uint32_t count, uint32_t row) {
  static const adv_manner plain;
  adv_machine *m = adv_list(1, sizeof *m);
  uint8_t *rows = adv_list(p->row_bytes + 8u, 1);
  *m = (adv_machine){
      .p = p, .manner = &plain, .lanes = 1, .rows = rows, .active_count = 1, .full = true};
  for (size_t i = 0; i < p->constant_count; i++)
    memcpy(rows + p->constants[i].row, &p->constants[i].bits, p->constants[i].wide ? 8 : 4);
  adv_execute(m, ops, count);
  uint64_t bits;
  memcpy(&bits, rows + row, sizeof bits);
  free(rows);
  free(m);
  return bits;
}
