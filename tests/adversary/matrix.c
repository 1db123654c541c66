/* Cooperative matrices by their definition (SPV_KHR_cooperative_matrix). Which invocation of a
 * subgroup holds which element is nobody's business: the seed deals them out, differently for each
 * shape and use. What is done element by element is done as on vectors (arithmetic.c). */
#include "adversary/machine.h"
#include "adversary/operations.h"

#include "base/memory.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

/* A matrix in an operation: what it is, and the rows of what each invocation holds. */
typedef struct matrix {
  const adv_type *type, *element;
  uint32_t *rows;
  bool is_signed; /* whole numbers of 8 and 16 bits: with their sign */
} matrix;

/* A load or store (pointer, layout, stride) of the first, or d = a b + c. */
typedef struct adv_matrix_op {
  matrix d, a, b, c;
  uint32_t pointer, offset, layout, stride; /* rows, but the offset; a stride of NO_ROW: none */
  uint32_t unit;                            /* bytes that the stride counts */
} adv_matrix_op;

enum { ROW_MAJOR = 0, COLUMN_MAJOR = 1 };

/* ---- lowering ---- */

static filtra_status emit(adv_program *p, const adv_instruction *in, uint16_t code,
                          const adv_matrix_op *mo, adv_space space) {
  FT_TRY(FT_GROW(p->matrix_ops, p->matrix_count, p->matrix_capacity));
  p->matrix_ops[p->matrix_count] = *mo;
  return adv_emit_op(p, (adv_op){.code = code,
                                 .space = (uint8_t)space,
                                 .is_float = mo->d.element->kind == ADV_FLOAT,
                                 .bits = (uint8_t)mo->d.element->bits,
                                 .c = (uint32_t)p->matrix_count++,
                                 .at = in->at});
}

static matrix matrix_of(const adv_program *p, uint32_t id, bool is_signed) {
  const adv_value *v = &p->values[id];
  return (matrix){&p->types[v->type], adv_scalar(p, v->type), v->rows, is_signed};
}

/* Words: pointer, layout and stride from `at` on, of which a store has its object behind the
 * first. */
static filtra_status transfer(adv_program *p, const adv_instruction *in, uint32_t id,
                              uint32_t pointer, uint32_t at, uint16_t code) {
  const adv_value *v = &p->values[pointer];
  const adv_type *t = &p->types[v->type];
  const adv_type *to = &p->types[t->element]; /* an array's element is pointed to, or the array */
  if (to->kind == ADV_ARRAY) to = &p->types[to->element];
  const adv_matrix_op mo = {.d = matrix_of(p, id, false),
                            .pointer = v->rows[0],
                            .offset = v->offset,
                            .layout = p->values[in->words[at]].rows[0],
                            .stride = in->count > at + 1 ? p->values[in->words[at + 1]].rows[0]
                                                         : ADV_NO_ROW,
                            .unit = to->size};
  if (t->space != ADV_DEVICE && t->space != ADV_SHARED) return adv_unknown(p, in);
  return emit(p, in, code, &mo, t->space);
}

static filtra_status multiply(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words, operands = in->count > 6 ? w[6] : 0;
  enum { SIGNED_A = 1, SIGNED_B = 2, SIGNED_C = 4, SIGNED_RESULT = 8 };
  if (operands & ~(uint32_t)(SIGNED_A | SIGNED_B | SIGNED_C | SIGNED_RESULT))
    return adv_unknown(p, in); /* saturating sums */
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_matrix_op mo = {.d = matrix_of(p, in->result, operands & SIGNED_RESULT),
                            .a = matrix_of(p, w[3], operands & SIGNED_A),
                            .b = matrix_of(p, w[4], operands & SIGNED_B),
                            .c = matrix_of(p, w[5], operands & SIGNED_C)};
  return emit(p, in, ADV_OP_MATRIX_MULTIPLY, &mo, ADV_PRIVATE);
}

static filtra_status length(adv_program *p, const adv_instruction *in) {
  FT_TRY(adv_define(p, in->result, in->type));
  p->values[in->result].rows[0] = adv_constant_row(p, false, p->types[in->words[3]].count);
  return FILTRA_OK;
}

bool adv_lower_matrix(adv_program *p, const adv_instruction *in, filtra_status *status) {
  switch (in->opcode) {
  case ADV_MATRIX_LOAD:
    *status = adv_define(p, in->result, in->type);
    if (!*status) *status = transfer(p, in, in->result, in->words[3], 4, ADV_OP_MATRIX_LOAD);
    return true;
  case ADV_MATRIX_STORE:
    *status = transfer(p, in, in->words[2], in->words[1], 3, ADV_OP_MATRIX_STORE);
    return true;
  case ADV_MATRIX_MULTIPLY:
    *status = multiply(p, in);
    return true;
  case ADV_MATRIX_LENGTH:
    *status = length(p, in);
    return true;
  default:
    return false;
  }
}

void adv_matrix_clear(adv_program *p) {
  free(p->matrix_ops);
}

/* ---- who holds what ---- */

static uint32_t greatest_divisor(uint32_t a, uint32_t b) {
  return b ? greatest_divisor(b, a % b) : a;
}

/* The invocation that holds an element, and in which of its rows. */
static uint32_t holder(const adv_machine *m, const adv_together *t, const matrix *x, uint32_t row,
                       uint32_t column, uint32_t *cell) {
  const uint32_t count = x->type->rows * x->type->columns;
  const uint64_t drawn = adv_mix(m->manner->seed, x->type->use, count + x->type->rows);
  uint32_t step = m->manner->seed ? (uint32_t)(drawn % count) : 1;
  while (greatest_divisor(step, count) != 1)
    step = (step + 1) % count;
  const uint64_t from = m->manner->seed ? drawn >> 32 : 0;
  const uint32_t place =
      (uint32_t)(((uint64_t)(row * x->type->columns + column) * step + from) % count);
  *cell = x->rows[place / m->subgroup_size];
  return t->lanes[place % m->subgroup_size];
}

static double real(const adv_machine *m, const adv_together *t, const matrix *x, uint32_t row,
                   uint32_t column) {
  uint32_t cell, lane = holder(m, t, x, row, column, &cell);
  return x->element->bits == 64 ? ADV_ROW(m, double, cell)[lane]
                                : (double)ADV_ROW(m, float, cell)[lane];
}

static uint64_t whole(const adv_machine *m, const adv_together *t, const matrix *x, uint32_t row,
                      uint32_t column) {
  uint32_t cell, lane = holder(m, t, x, row, column, &cell);
  const uint32_t bits = x->element->bits;
  if (bits == 64) return ADV_ROW(m, uint64_t, cell)[lane];
  const uint64_t n = ADV_ROW(m, uint32_t, cell)[lane];
  return x->is_signed ? (uint64_t)((int64_t)(n << (64 - bits)) >> (64 - bits)) : n;
}

/* ---- operations ---- */

/* A sum in the result's precision or a higher one, in any order. */
static double real_sum(const adv_machine *m, const adv_together *t, const adv_matrix_op *mo,
                       uint32_t row, uint32_t column) {
  const uint32_t count = mo->a.type->columns, bits = mo->d.element->bits;
  const bool each = m->manner->loose && bits != 64; /* rounded after each step */
  const bool backwards = m->manner->seed & 1, late = m->manner->seed & 2;
  double sum = late ? 0.0 : real(m, t, &mo->c, row, column);
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t k = backwards ? count - 1 - i : i;
    sum += real(m, t, &mo->a, row, k) * real(m, t, &mo->b, k, column);
    if (each) sum = bits == 16 ? (double)adv_round_half(sum, false) : (double)(float)sum;
  }
  return late ? sum + real(m, t, &mo->c, row, column) : sum;
}

static void multiply_one(adv_machine *m, const adv_together *t, const adv_matrix_op *mo,
                         uint32_t row, uint32_t column) {
  const uint32_t bits = mo->d.element->bits;
  uint32_t cell, lane = holder(m, t, &mo->d, row, column, &cell);
  if (mo->d.element->kind == ADV_FLOAT) {
    const double sum = real_sum(m, t, mo, row, column);
    if (bits == 64)
      ADV_ROW(m, double, cell)[lane] = sum;
    else
      ADV_ROW(m, float, cell)
    [lane] = bits == 16 ? adv_round_half(sum, m->manner->flush) : (float)sum;
    return;
  }
  uint64_t sum = whole(m, t, &mo->c, row, column);
  for (uint32_t k = 0; k < mo->a.type->columns; k++)
    sum += whole(m, t, &mo->a, row, k) * whole(m, t, &mo->b, k, column);
  if (bits == 64)
    ADV_ROW(m, uint64_t, cell)[lane] = sum;
  else
    ADV_ROW(m, uint32_t, cell)[lane] = (uint32_t)sum & (uint32_t)((UINT64_C(1) << bits) - 1);
}

/* Whether all say the same; what they say of it must not differ in a subgroup. */
static bool agree(adv_machine *m, const adv_op *op, const adv_together *t,
                  const adv_matrix_op *mo) {
  for (uint32_t k = 1; k < t->count; k++) {
    const uint32_t a = t->lanes[0], b = t->lanes[k];
    const bool same = (mo->pointer == ADV_NO_ROW || ADV_ROW(m, uint64_t, mo->pointer)[a] ==
                                                        ADV_ROW(m, uint64_t, mo->pointer)[b]) &&
                      ADV_ROW(m, uint32_t, mo->layout)[a] == ADV_ROW(m, uint32_t, mo->layout)[b] &&
                      (mo->stride == ADV_NO_ROW ||
                       ADV_ROW(m, uint32_t, mo->stride)[a] == ADV_ROW(m, uint32_t, mo->stride)[b]);
    if (same) continue;
    adv_who_is_there(m, op, b, "a matrix elsewhere than invocation %u's", a);
    return false;
  }
  return true;
}

static void move(adv_machine *m, const adv_op *op, const adv_together *t, const adv_matrix_op *mo) {
  const uint32_t first = t->lanes[0], columns = mo->d.type->columns;
  const uint64_t base = mo->pointer == ADV_NO_ROW ? 0 : ADV_ROW(m, uint64_t, mo->pointer)[first];
  const uint64_t stride =
      mo->stride == ADV_NO_ROW ? 0 : (uint64_t)ADV_ROW(m, uint32_t, mo->stride)[first] * mo->unit;
  const bool by_rows = ADV_ROW(m, uint32_t, mo->layout)[first] == ROW_MAJOR;
  adv_bytes *at = NULL;
  for (uint32_t i = 0; i < mo->d.type->rows * columns; i++) {
    const uint32_t row = i / columns, column = i % columns;
    const uint64_t line = by_rows ? row : column, along = by_rows ? column : row;
    const uint64_t address = base + mo->offset + line * stride + along * mo->d.element->size;
    uint32_t cell, lane = holder(m, t, &mo->d, row, column, &cell);
    if (op->code == ADV_OP_MATRIX_LOAD)
      adv_put_bits(m, op, cell, lane, adv_read(m, op, lane, address, &at));
    else
      adv_write(m, op, lane, address, adv_get_bits(m, op, cell, lane), &at);
  }
}

void adv_matrix(adv_machine *m, const adv_op *op, const adv_together *t) {
  const adv_matrix_op *mo = &m->p->matrix_ops[op->c];
  if (t->count != m->subgroup_size) {
    adv_who_is_there(m, op, t->lanes[0], "a matrix by %u invocations, which are not all", t->count);
    return;
  }
  if (op->code != ADV_OP_MATRIX_MULTIPLY) {
    if (agree(m, op, t, mo)) move(m, op, t, mo);
    return;
  }
  for (uint32_t i = 0; i < mo->d.type->rows * mo->d.type->columns; i++)
    multiply_one(m, t, mo, i / mo->d.type->columns, i % mo->d.type->columns);
}
