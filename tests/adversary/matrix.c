/* Cooperative matrices by their definition (SPV_KHR_cooperative_matrix). The specification leaves
 * open which invocation of a subgroup holds which element: the seed distributes them, differently
 * for each shape and use. Element-wise operations are those on vectors (arithmetic.c). */
#include "adversary/machine.h"

#include "base/memory.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

/* A matrix in an operation: what it is, and the rows of what each invocation holds. */
typedef struct matrix {
  const adv_type *type;
  uint32_t *rows;
  uint32_t kind; /* of its numbers */
} matrix;

/* A load or store (pointer, layout, stride) of the first, or d = a b + c. */
typedef struct adv_matrix_op {
  matrix d, a, b, c;
  uint32_t pointer, layout, stride; /* rows */
  uint32_t unit;                    /* bytes that the stride counts */
} adv_matrix_op;

enum { ROW_MAJOR = 0, COLUMN_MAJOR = 1 };

/* ---- lowering ---- */

static void emit(adv_program *p, const adv_instruction *in, const adv_matrix_op *mo,
                 adv_space space) {
  if (FT_GROW(p->matrix_ops, p->matrix_count, p->matrix_capacity)) abort();
  p->matrix_ops[p->matrix_count] = *mo;
  adv_emit_op(p, (adv_op){.code = in->opcode,
                          .space = (uint8_t)space,
                          .is_float = (mo->d.kind & ADV_FLOATING) != 0,
                          .bits = (uint8_t)mo->d.kind,
                          .c = (uint32_t)p->matrix_count++,
                          .at = in->at});
}

static matrix matrix_of(const adv_program *p, uint32_t id, bool is_signed) {
  const adv_value *v = &p->values[id];
  const adv_type *element = adv_scalar(p, v->type);
  return (matrix){&p->types[v->type], v->rows,
                  element->bits | (element->kind == ADV_FLOAT ? ADV_FLOATING
                                   : is_signed                ? ADV_SIGNED
                                                              : 0)};
}

/* Words: pointer, layout and stride from `at` on, of which a store has its object behind the
 * first. Without a stride it is 0. */
static void transfer(adv_program *p, const adv_instruction *in, uint32_t id, uint32_t pointer,
                     uint32_t at) {
  const adv_value *v = &p->values[pointer];
  const adv_type *t = &p->types[v->type];
  const adv_type *to = &p->types[t->element]; /* an array's element is pointed to, or the array */
  if (to->kind == ADV_ARRAY) to = &p->types[to->element];
  const adv_matrix_op mo = {.d = matrix_of(p, id, false),
                            .pointer = adv_address_row(p, v),
                            .layout = p->values[in->words[at]].rows[0],
                            .stride = in->count > at + 1 ? p->values[in->words[at + 1]].rows[0]
                                                         : adv_constant_row(p, false, 0),
                            .unit = to->size};
  if (t->space == ADV_DEVICE || t->space == ADV_SHARED)
    emit(p, in, &mo, t->space);
  else
    adv_unknown(p, in);
}

static void multiply(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words, operands = in->count > 6 ? w[6] : 0;
  enum { SIGNED_A = 1, SIGNED_B = 2, SIGNED_C = 4, SIGNED_RESULT = 8 };
  adv_define(p, in);
  const adv_matrix_op mo = {.d = matrix_of(p, in->result, operands & SIGNED_RESULT),
                            .a = matrix_of(p, w[3], operands & SIGNED_A),
                            .b = matrix_of(p, w[4], operands & SIGNED_B),
                            .c = matrix_of(p, w[5], operands & SIGNED_C)};
  if (operands < 2 * SIGNED_RESULT)
    emit(p, in, &mo, ADV_PRIVATE);
  else
    adv_unknown(p, in); /* saturating sums */
}

bool adv_lower_matrix(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  switch (in->opcode) {
  case ADV_MATRIX_LOAD:
    adv_define(p, in);
    transfer(p, in, in->result, w[3], 4);
    return true;
  case ADV_MATRIX_STORE:
    transfer(p, in, w[2], w[1], 3);
    return true;
  case ADV_MATRIX_MULTIPLY:
    multiply(p, in);
    return true;
  case ADV_MATRIX_LENGTH:
    adv_make_value(p, in)->rows[0] = adv_constant_row(p, false, p->types[w[3]].count);
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

static adv_number element(const adv_machine *m, const adv_together *t, const matrix *x,
                          uint32_t row, uint32_t column) {
  uint32_t cell, lane = holder(m, t, x, row, column, &cell);
  return adv_get_number(m, cell, x->kind, lane);
}

/* ---- operations ---- */

/* Real sums in the result's precision or a higher one, in any order. */
static void multiply_one(adv_machine *m, const adv_together *t, const adv_matrix_op *mo,
                         uint32_t row, uint32_t column) {
  const uint32_t count = mo->a.type->columns, bits = mo->d.kind & ADV_BITS;
  const bool each = m->manner->loose && bits != 64; /* rounded after each step */
  const bool backwards = m->manner->seed & 1, late = m->manner->seed & 2;
  const adv_number first = element(m, t, &mo->c, row, column);
  adv_number sum = {late ? 0.0 : first.real, first.whole};
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t k = backwards ? count - 1 - i : i;
    const adv_number a = element(m, t, &mo->a, row, k), b = element(m, t, &mo->b, k, column);
    sum.whole += a.whole * b.whole;
    sum.real += a.real * b.real;
    if (each) sum.real = (double)(bits == 16 ? adv_round_half(sum.real, false) : (float)sum.real);
  }
  if (late) sum.real += first.real;
  uint32_t cell, lane = holder(m, t, &mo->d, row, column, &cell);
  adv_put_number(m, cell, mo->d.kind, lane, sum);
}

/* Whether all say the same; what they say of it must not differ in a subgroup. */
static bool agree(adv_machine *m, const adv_op *op, const adv_together *t,
                  const adv_matrix_op *mo) {
  for (uint32_t k = 1; k < t->count; k++) {
    const uint32_t a = t->lanes[0], b = t->lanes[k];
    const uint64_t *pointer = ADV_ROW(m, uint64_t, mo->pointer);
    const uint32_t *layout = ADV_ROW(m, uint32_t, mo->layout),
                   *stride = ADV_ROW(m, uint32_t, mo->stride);
    if (pointer[a] == pointer[b] && layout[a] == layout[b] && stride[a] == stride[b]) continue;
    adv_who_is_there(m, op, b, "a matrix elsewhere than invocation", a);
    return false;
  }
  return true;
}

static void move(adv_machine *m, const adv_op *op, const adv_together *t, const adv_matrix_op *mo) {
  const uint32_t lane0 = t->lanes[0], columns = mo->d.type->columns;
  const uint64_t base = ADV_ROW(m, uint64_t, mo->pointer)[lane0];
  const uint64_t stride = (uint64_t)ADV_ROW(m, uint32_t, mo->stride)[lane0] * mo->unit;
  const bool by_rows = ADV_ROW(m, uint32_t, mo->layout)[lane0] == ROW_MAJOR;
  for (uint32_t i = 0; i < mo->d.type->rows * columns; i++) {
    const uint32_t row = i / columns, column = i % columns;
    const uint64_t line = by_rows ? row : column, along = by_rows ? column : row;
    const uint64_t address = base + line * stride + along * (op->bits / 8);
    uint32_t cell, lane = holder(m, t, &mo->d, row, column, &cell);
    if (op->code == ADV_MATRIX_LOAD)
      adv_put_bits(m, op, cell, lane, adv_read(m, op, lane, address));
    else
      adv_write(m, op, lane, address, adv_get_bits(m, op, cell, lane));
  }
}

void adv_matrix(adv_machine *m, const adv_op *op, const adv_together *t) {
  const adv_matrix_op *mo = &m->p->matrix_ops[op->c];
  if (t->count != m->subgroup_size)
    adv_who_is_there(m, op, t->lanes[0], "not all work on a matrix, but", t->count);
  else if (op->code == ADV_MATRIX_MULTIPLY)
    for (uint32_t i = 0; i < mo->d.type->rows * mo->d.type->columns; i++)
      multiply_one(m, t, mo, i / mo->d.type->columns, i % mo->d.type->columns);
  else if (agree(m, op, t, mo))
    move(m, op, t, mo);
}
