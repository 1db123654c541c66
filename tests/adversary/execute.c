/* Operations on rows: one after the other, each for all active invocations. */
#include "adversary/machine.h"
#include "adversary/operations.h"

#include <math.h>
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
#define RULE(CODE, R, T, expression)                                                               \
  case CODE: {                                                                                     \
    R *restrict d = ADV_ROW(m, R, op->d);                                                          \
    const T *a = ADV_ROW(m, T, op->a), *b = ADV_ROW(m, T, op->b);                                  \
    EACH(d[i] = (expression));                                                                     \
    (void)b;                                                                                       \
    return true;                                                                                   \
  }
#define RULE3(CODE, R, A, T, expression)                                                           \
  case CODE: {                                                                                     \
    R *restrict d = ADV_ROW(m, R, op->d);                                                          \
    const A *a = ADV_ROW(m, A, op->a);                                                             \
    const T *b = ADV_ROW(m, T, op->b), *c = ADV_ROW(m, T, op->c);                                  \
    EACH(d[i] = (expression));                                                                     \
    return true;                                                                                   \
  }

/* ---- whole numbers ---- */

/* Dividing by zero gives anything; so does shifting by more than there are bits. */
#define WHOLE(W, U, S, BITS)                                                                       \
  RULE(W(ADV_OP_IADD), U, U, a[i] + b[i])                                                          \
  RULE(W(ADV_OP_ISUB), U, U, a[i] - b[i])                                                          \
  RULE(W(ADV_OP_IMUL), U, U, a[i] * b[i])                                                          \
  RULE(W(ADV_OP_UDIV), U, U, b[i] ? a[i] / b[i] : ~(U)0)                                           \
  RULE(W(ADV_OP_UMOD), U, U, b[i] ? a[i] % b[i] : ~(U)0)                                           \
  RULE(W(ADV_OP_SDIV), S, S, b[i] == 0 ? -1 : b[i] == -1 ? (S)(0 - (U)a[i]) : a[i] / b[i])         \
  RULE(W(ADV_OP_SREM), S, S, b[i] == 0 || b[i] == -1 ? 0 : a[i] % b[i])                            \
  RULE(W(ADV_OP_SMOD), S, S,                                                                       \
       b[i] == 0 || b[i] == -1                   ? 0                                               \
       : a[i] % b[i] && (a[i] % b[i] ^ b[i]) < 0 ? a[i] % b[i] + b[i]                              \
                                                 : a[i] % b[i])                                    \
  RULE(W(ADV_OP_AND), U, U, a[i] & b[i])                                                           \
  RULE(W(ADV_OP_OR), U, U, a[i] | b[i])                                                            \
  RULE(W(ADV_OP_XOR), U, U, a[i] ^ b[i])                                                           \
  RULE(W(ADV_OP_SHL), U, U, a[i] << (b[i] & (BITS - 1)))                                           \
  RULE(W(ADV_OP_SHR), U, U, a[i] >> (b[i] & (BITS - 1)))                                           \
  RULE(W(ADV_OP_SAR), S, S, a[i] >> (b[i] & (BITS - 1)))                                           \
  RULE(W(ADV_OP_IEQ), uint32_t, U, a[i] == b[i])                                                   \
  RULE(W(ADV_OP_INE), uint32_t, U, a[i] != b[i])                                                   \
  RULE(W(ADV_OP_ULT), uint32_t, U, a[i] < b[i])                                                    \
  RULE(W(ADV_OP_ULE), uint32_t, U, a[i] <= b[i])                                                   \
  RULE(W(ADV_OP_SLT), uint32_t, S, a[i] < b[i])                                                    \
  RULE(W(ADV_OP_SLE), uint32_t, S, a[i] <= b[i])                                                   \
  RULE(W(ADV_OP_UMIN), U, U, a[i] < b[i] ? a[i] : b[i])                                            \
  RULE(W(ADV_OP_UMAX), U, U, a[i] > b[i] ? a[i] : b[i])                                            \
  RULE(W(ADV_OP_SMIN), S, S, a[i] < b[i] ? a[i] : b[i])                                            \
  RULE(W(ADV_OP_SMAX), S, S, a[i] > b[i] ? a[i] : b[i])                                            \
  RULE(W(ADV_OP_NOT), U, U, ~a[i])                                                                 \
  RULE(W(ADV_OP_INEG), U, U, 0 - a[i])

#define NARROW(code) (code)

static bool whole(adv_machine *m, const adv_op *op) {
  const uint32_t mask = op->bits < 32 ? (1u << op->bits) - 1 : UINT32_MAX;
  switch (op->code) {
    WHOLE(NARROW, uint32_t, int32_t, 32)
    WHOLE(ADV_WIDE, uint64_t, int64_t, 64)
    RULE(ADV_OP_MOVE, uint32_t, uint32_t, a[i])
    RULE(ADV_OP_MOVE64, uint64_t, uint64_t, a[i])
    RULE(ADV_OP_JOIN, uint32_t, uint32_t, a[i] | b[i] << op->c)
    RULE(ADV_OP_JOIN64, uint64_t, uint32_t, a[i] | (uint64_t)b[i] << op->c)
    RULE(ADV_OP_PART, uint32_t, uint32_t, a[i] >> op->c & mask)
    RULE(ADV_OP_PART64, uint32_t, uint64_t, (uint32_t)(a[i] >> op->c) & mask)
    RULE(ADV_OP_SIGN, int32_t, uint32_t, (int32_t)(a[i] << (32 - op->c)) >> (32 - op->c))
    RULE3(ADV_OP_SELECT, uint32_t, uint32_t, uint32_t, a[i] ? b[i] : c[i])
    RULE3(ADV_OP_SELECT64, uint64_t, uint32_t, uint64_t, a[i] ? b[i] : c[i])
    RULE(ADV_OP_CARRY, uint32_t, uint32_t, a[i] + b[i] < a[i])
    RULE(ADV_OP_UMULHI, uint32_t, uint32_t, (uint32_t)((uint64_t)a[i] * b[i] >> 32))
    RULE(ADV_OP_SMULHI, uint32_t, int32_t, (uint32_t)((int64_t)a[i] * b[i] >> 32))
    RULE(ADV_OP_LNOT, uint32_t, uint32_t, !a[i])
  default:
    return false;
  }
}

/* ---- numbers that become indices ---- */

static void overflow(adv_machine *m, const adv_op *op, const char *what, uint32_t lane, uint32_t a,
                     uint32_t b) {
  adv_finding *f = adv_report_note(m->report, m->p, ADV_OVERFLOW, op->at);
  if (f)
    snprintf(f->text, sizeof f->text,
             "invocation %u of workgroup %u: %u %s %u passes 2^32 and becomes an index", lane,
             m->group[0], a, what, b);
}

/* Adding a small negative number is no overflow. */
static bool is_negative(uint32_t x) {
  return x >= 0xff000000;
}

static bool wraps(uint16_t code, uint32_t a, uint32_t b) {
  if (code == ADV_OP_IADD_INDEX) return a + b < a && !is_negative(a) && !is_negative(b);
  if (code == ADV_OP_SHL_INDEX) return (uint64_t)a << (b & 31) >> 32 && !is_negative(a);
  return (uint64_t)a * b >> 32 && !is_negative(a) && !is_negative(b);
}

static bool index_arithmetic(adv_machine *m, const adv_op *op) {
  uint32_t *d = ADV_ROW(m, uint32_t, op->d);
  const uint32_t *a = ADV_ROW(m, uint32_t, op->a), *b = ADV_ROW(m, uint32_t, op->b);
  const char *what = op->code == ADV_OP_IADD_INDEX   ? "+"
                     : op->code == ADV_OP_IMUL_INDEX ? "*"
                                                     : "<<";
  bool any = false;
  switch (op->code) {
  case ADV_OP_IADD_INDEX:
    EACH(any |= a[i] + b[i] < a[i]; d[i] = a[i] + b[i]);
    break;
  case ADV_OP_IMUL_INDEX:
    EACH(uint64_t x = (uint64_t)a[i] * b[i]; any |= x >> 32 != 0; d[i] = (uint32_t)x);
    break;
  case ADV_OP_SHL_INDEX:
    EACH(uint64_t x = (uint64_t)a[i] << (b[i] & 31); any |= x >> 32 != 0; d[i] = (uint32_t)x);
    break;
  default:
    return false;
  }
  for (uint32_t k = 0; any && k < m->active_count; k++) {
    uint32_t i = m->active[k];
    if (wraps(op->code, a[i], b[i])) overflow(m, op, what, i, a[i], b[i]);
  }
  return true;
}

/* ---- floats ---- */

/* S is what the C library's names end with. */
#define FLOATS(W, T, S)                                                                            \
  RULE(W(ADV_OP_FADD), T, T, a[i] + b[i])                                                          \
  RULE(W(ADV_OP_FSUB), T, T, a[i] - b[i])                                                          \
  RULE(W(ADV_OP_FMUL), T, T, a[i] * b[i])                                                          \
  RULE(W(ADV_OP_FDIV), T, T, (T)adv_divide(m, op->bits, a[i], b[i]))                               \
  RULE(W(ADV_OP_FREM), T, T, fmod##S(a[i], b[i]))                                                  \
  RULE(W(ADV_OP_FMOD), T, T, a[i] - b[i] * floor##S(a[i] / b[i]))                                  \
  RULE(W(ADV_OP_FNEG), T, T, -a[i])                                                                \
  RULE3(W(ADV_OP_FMA), T, T, T,                                                                    \
        adv_two_roundings(m) ? twice##S(a[i], b[i], c[i]) : fma##S(a[i], b[i], c[i]))              \
  RULE3(W(ADV_OP_FUSED_ADD), T, T, T, fma##S(a[i], b[i], c[i]))                                    \
  RULE3(W(ADV_OP_FUSED_SUB), T, T, T, fma##S(a[i], b[i], -c[i]))                                   \
  RULE3(W(ADV_OP_FUSED_REVERSE), T, T, T, fma##S(-a[i], b[i], c[i]))                               \
  RULE(W(ADV_OP_FMIN), T, T, b[i] < a[i] || a[i] != a[i] ? b[i] : a[i])                            \
  RULE(W(ADV_OP_FMAX), T, T, a[i] < b[i] || a[i] != a[i] ? b[i] : a[i])                            \
  RULE(W(ADV_OP_FEQ), uint32_t, T, a[i] == b[i])                                                   \
  RULE(W(ADV_OP_FNE), uint32_t, T, a[i]<b[i] || a[i]> b[i])                                        \
  RULE(W(ADV_OP_FLT), uint32_t, T, a[i] < b[i])                                                    \
  RULE(W(ADV_OP_FLE), uint32_t, T, a[i] <= b[i])                                                   \
  RULE(W(ADV_OP_FEQ_UNORDERED), uint32_t, T, !(a[i] < b[i] || a[i] > b[i]))                        \
  RULE(W(ADV_OP_FNE_UNORDERED), uint32_t, T, !(a[i] == b[i]))                                      \
  RULE(W(ADV_OP_FLT_UNORDERED), uint32_t, T, !(a[i] >= b[i]))                                      \
  RULE(W(ADV_OP_FLE_UNORDERED), uint32_t, T, !(a[i] > b[i]))                                       \
  RULE(W(ADV_OP_ISNAN), uint32_t, T, a[i] != a[i])                                                 \
  RULE(W(ADV_OP_ISINF), uint32_t, T, isinf(a[i]) != 0)                                             \
  RULE(W(ADV_OP_MATH), T, T, (T)adv_math(m, op->c, op->bits, a[i], b[i]))

static float twicef(float a, float b, float c) {
  volatile float product = a * b;
  return product + c;
}

static double twice(double a, double b, double c) {
  volatile double product = a * b;
  return product + c;
}

static bool floats(adv_machine *m, const adv_op *op) {
  switch (op->code) {
    FLOATS(NARROW, float, f)
    FLOATS(ADV_DOUBLE, double, )
    RULE(ADV_OP_ROUND16, float, float, adv_round_half((double)a[i], m->manner->flush))
    RULE(ADV_OP_HALF_BITS, uint32_t, float, adv_half_bits(a[i]))
    RULE(ADV_OP_BITS_HALF, float, uint32_t, adv_half_of((uint16_t)a[i]))
  default:
    return false;
  }
}

/* ---- conversions ---- */

typedef struct quantity {
  double real;
  uint64_t whole; /* with the sign above */
} quantity;

static quantity read_number(const adv_machine *m, uint32_t row, uint32_t kind, uint32_t lane) {
  quantity n = {0};
  const uint32_t bits = kind & ADV_BITS;
  if (kind & ADV_FLOATING) {
    n.real = bits == 64 ? ADV_ROW(m, double, row)[lane] : (double)ADV_ROW(m, float, row)[lane];
    return n;
  }
  n.whole = bits == 64 ? ADV_ROW(m, uint64_t, row)[lane] : ADV_ROW(m, uint32_t, row)[lane];
  if (kind & ADV_SIGNED) n.whole = (uint64_t)((int64_t)(n.whole << (64 - bits)) >> (64 - bits));
  return n;
}

/* What does not fit becomes anything. */
static uint64_t whole_of(double x, uint32_t bits, bool is_signed) {
  const double end = ldexp(1.0, (int)bits - is_signed);
  if (!(x < end) || !(x > (is_signed ? -end - 1 : -1.0))) return 0x7ffffffe;
  return is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static void convert(adv_machine *m, const adv_op *op) {
  const uint32_t from = op->b, to = op->c, bits = to & ADV_BITS;
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const quantity n = read_number(m, op->a, from, i);
    const bool is_real = from & ADV_FLOATING, is_signed = from & ADV_SIGNED;
    const double real = is_real ? n.real : is_signed ? (double)(int64_t)n.whole : (double)n.whole;
    const uint64_t whole = is_real ? whole_of(n.real, bits, to & ADV_SIGNED) : n.whole;
    if (!(to & ADV_FLOATING) && bits == 64)
      ADV_ROW(m, uint64_t, op->d)[i] = whole;
    else if (!(to & ADV_FLOATING))
      ADV_ROW(m, uint32_t, op->d)[i] = (uint32_t)whole & (uint32_t)((UINT64_C(1) << bits) - 1);
    else if (bits == 64)
      ADV_ROW(m, double, op->d)[i] = real;
    else if (bits == 16)
      ADV_ROW(m, float, op->d)[i] = adv_round_half(real, m->manner->flush);
    else /* whole numbers are rounded once */
      ADV_ROW(m, float, op->d)
    [i] = is_real ? (float)real : is_signed ? (float)(int64_t)n.whole : (float)n.whole;
  }
}

/* ---- addresses ---- */

static void check_bound(adv_machine *m, const adv_op *op) {
  const uint32_t *a = ADV_ROW(m, uint32_t, op->a);
  const uint64_t *wide = ADV_ROW(m, uint64_t, op->a);
  for (uint32_t k = 0; k < m->active_count; k++) {
    uint32_t i = m->active[k];
    uint64_t index = op->bits == 64 ? wide[i] : a[i];
    if (index < op->c) continue;
    adv_finding *f = adv_report_note(m->report, m->p, ADV_OUTSIDE, op->at);
    if (f)
      snprintf(f->text, sizeof f->text, "invocation %u of workgroup %u: index %lld of %u elements",
               i, m->group[0], (long long)index, op->c);
  }
}

static bool addresses(adv_machine *m, const adv_op *op) {
  if (op->code == ADV_OP_BOUND) {
    check_bound(m, op);
    return true;
  }
  uint64_t *restrict d = ADV_ROW(m, uint64_t, op->d);
  const uint64_t *a = op->a == ADV_NO_ROW ? NULL : ADV_ROW(m, uint64_t, op->a);
  if (op->code == ADV_OP_OFFSET) {
    EACH(d[i] = a[i] + op->c);
    return true;
  }
  if (op->code != ADV_OP_INDEX) return false;
  const uint32_t *b = ADV_ROW(m, uint32_t, op->b);
  const uint64_t *wide = ADV_ROW(m, uint64_t, op->b);
  const uint64_t stride = op->c;
  if (op->bits == 64)
    EACH(d[i] = (a ? a[i] : 0) + wide[i] * stride);
  else if (a)
    EACH(d[i] = a[i] + (uint64_t)(int64_t)(int32_t)b[i] * stride); /* indices are signed */
  else
    EACH(d[i] = (uint64_t)(int64_t)(int32_t)b[i] * stride);
  return true;
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

void adv_execute(adv_machine *m, const adv_op *ops, uint32_t count) {
  m->steps += count;
  if (m->report) m->report->operations += (uint64_t)count * m->active_count;
  for (const adv_op *op = ops; op < ops + count && !m->stopped; op++) {
    if (whole(m, op) || floats(m, op) || addresses(m, op) || index_arithmetic(m, op))
      ;
    else if (op->code == ADV_OP_CONVERT)
      convert(m, op);
    else if (op->code == ADV_OP_LOAD)
      adv_load(m, op);
    else if (op->code == ADV_OP_STORE)
      adv_store(m, op);
    else if (op->code == ADV_OP_ATOMIC)
      adv_atomic(m, op);
    else if (op->code == ADV_OP_BARRIER)
      adv_barrier(m, op);
    else
      adv_subgroups(m, op);
    if (m->report && m->report->trace && op->code != ADV_OP_BARRIER && op->code != ADV_OP_BOUND)
      trace(m, op);
  }
}

filtra_status adv_evaluate(const adv_program *p, const adv_op *ops, uint32_t count, uint32_t row,
                           uint64_t *bits) {
  static const adv_manner plain;
  adv_machine *m = calloc(1, sizeof *m);
  uint8_t *rows = calloc(1, p->row_bytes + 8u);
  filtra_status status = m && rows ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    *m = (adv_machine){
        .p = p, .manner = &plain, .lanes = 1, .rows = rows, .active_count = 1, .full = true};
    for (size_t i = 0; i < p->constant_count; i++)
      memcpy(rows + p->constants[i].row, &p->constants[i].bits, p->constants[i].wide ? 8 : 4);
    adv_execute(m, ops, count);
    memcpy(bits, rows + row, sizeof *bits);
  }
  free(rows);
  free(m);
  return status;
}
