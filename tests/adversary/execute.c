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
  switch (op->code) {
    WHOLE(NARROW, uint32_t, int32_t, 32)
    WHOLE(ADV_WIDE, uint64_t, int64_t, 64)
    RULE(ADV_OP_MOVE, uint32_t, uint32_t, a[i])
    RULE(ADV_OP_MOVE64, uint64_t, uint64_t, a[i])
    RULE(ADV_OP_JOIN, uint64_t, uint32_t, a[i] | (uint64_t)b[i] << 32)
    RULE(ADV_OP_LOW, uint32_t, uint64_t, (uint32_t)a[i])
    RULE(ADV_OP_HIGH, uint32_t, uint64_t, (uint32_t)(a[i] >> 32))
    RULE(ADV_OP_WIDEN, uint64_t, uint32_t, a[i])
    RULE(ADV_OP_WIDEN_SIGNED, int64_t, int32_t, a[i])
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

static bool floats(adv_machine *m, const adv_op *op) {
  switch (op->code) {
    RULE(ADV_OP_FADD, float, float, a[i] + b[i])
    RULE(ADV_OP_FSUB, float, float, a[i] - b[i])
    RULE(ADV_OP_FMUL, float, float, a[i] * b[i])
    RULE(ADV_OP_FDIV, float, float, adv_divide(m, a[i], b[i]))
    RULE(ADV_OP_FREM, float, float, fmodf(a[i], b[i]))
    RULE(ADV_OP_FMOD, float, float, a[i] - b[i] * floorf(a[i] / b[i]))
    RULE(ADV_OP_FNEG, float, float, -a[i])
    RULE3(ADV_OP_FMA, float, float, float, adv_fma(m, a[i], b[i], c[i]))
    RULE3(ADV_OP_FUSED_ADD, float, float, float, fmaf(a[i], b[i], c[i]))
    RULE3(ADV_OP_FUSED_SUB, float, float, float, fmaf(a[i], b[i], -c[i]))
    RULE3(ADV_OP_FUSED_REVERSE, float, float, float, fmaf(-a[i], b[i], c[i]))
    RULE(ADV_OP_FMIN, float, float, b[i] < a[i] || a[i] != a[i] ? b[i] : a[i])
    RULE(ADV_OP_FMAX, float, float, a[i] < b[i] || a[i] != a[i] ? b[i] : a[i])
    RULE(ADV_OP_FEQ, uint32_t, float, a[i] == b[i])
    RULE(ADV_OP_FNE, uint32_t, float, a[i]<b[i] || a[i]> b[i])
    RULE(ADV_OP_FLT, uint32_t, float, a[i] < b[i])
    RULE(ADV_OP_FLE, uint32_t, float, a[i] <= b[i])
    RULE(ADV_OP_FEQ_UNORDERED, uint32_t, float, !(a[i] < b[i] || a[i] > b[i]))
    RULE(ADV_OP_FNE_UNORDERED, uint32_t, float, !(a[i] == b[i]))
    RULE(ADV_OP_FLT_UNORDERED, uint32_t, float, !(a[i] >= b[i]))
    RULE(ADV_OP_FLE_UNORDERED, uint32_t, float, !(a[i] > b[i]))
    RULE(ADV_OP_ISNAN, uint32_t, float, a[i] != a[i])
    RULE(ADV_OP_ISINF, uint32_t, float, fabsf(a[i]) > 3.402823466e38f)
    RULE(ADV_OP_MATH, float, float, adv_math(m, op->c, a[i], b[i]))
    RULE(ADV_OP_UTOF, float, uint32_t, (float)a[i])
    RULE(ADV_OP_STOF, float, int32_t, (float)a[i])
    /* what does not fit becomes anything */
    RULE(ADV_OP_FTOU, uint32_t, float,
         a[i] > -1.0f && a[i] < 4294967296.0f ? (uint32_t)a[i] : 0x7fffffff)
    RULE(ADV_OP_FTOS, int32_t, float,
         a[i] >= -2147483648.0f && a[i] < 2147483648.0f ? (int32_t)a[i] : -2)
  default:
    return false;
  }
}

/* ---- addresses ---- */

static void check_bound(adv_machine *m, const adv_op *op) {
  const uint32_t *a = ADV_ROW(m, uint32_t, op->a);
  const uint64_t *wide = ADV_ROW(m, uint64_t, op->a);
  for (uint32_t k = 0; k < m->active_count; k++) {
    uint32_t i = m->active[k];
    uint64_t index = op->space ? wide[i] : a[i];
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
  if (op->space)
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
    fprintf(r->trace, "line %4u  instruction %5u  code %3u  row %6u  %10u  %.9g\n",
            adv_line_of(m->p, op->at), op->at, op->code, op->d, bits, (double)number);
  }
}

void adv_execute(adv_machine *m, const adv_op *ops, uint32_t count) {
  m->steps += count;
  if (m->report) m->report->operations += (uint64_t)count * m->active_count;
  for (const adv_op *op = ops; op < ops + count && !m->stopped; op++) {
    if (whole(m, op) || floats(m, op) || addresses(m, op) || index_arithmetic(m, op))
      ;
    else if (op->code == ADV_OP_LOAD || op->code == ADV_OP_LOAD64)
      adv_load(m, op);
    else if (op->code == ADV_OP_STORE || op->code == ADV_OP_STORE64)
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
    *bits = 0;
    memcpy(bits, rows + row, 4);
  }
  free(rows);
  free(m);
  return status;
}
