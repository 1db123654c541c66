/* Lowering of single instructions: constants, composites, addresses, memory, subgroups. */
#include "adversary/operations.h"
#include "adversary/program.h"

#include "base/memory.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

filtra_status adv_emit_op(adv_program *p, adv_op op) {
  FT_TRY(FT_GROW(p->ops, p->op_count, p->op_capacity));
  p->ops[p->op_count++] = op;
  return FILTRA_OK;
}

filtra_status adv_emit(adv_program *p, const adv_instruction *in, uint32_t code, uint32_t d,
                       uint32_t a, uint32_t b, uint32_t c) {
  return adv_emit_op(
      p,
      (adv_op){.code = (uint16_t)code, .bits = 32, .d = d, .a = a, .b = b, .c = c, .at = in->at});
}

/* ---- values that are other values' rows ---- */

static filtra_status make_value(adv_program *p, const adv_instruction *in) {
  adv_value *v = &p->values[in->result];
  v->type = in->type;
  v->rows = ft_calloc(p->types[in->type].cells + 1, sizeof *v->rows);
  return v->rows ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* Where in a value the part lies that literals lead to; *type becomes the part's. */
static uint32_t find_part(const adv_program *p, uint32_t *type, const uint32_t *literals,
                          uint32_t count) {
  uint32_t cell = 0;
  for (uint32_t i = 0; i < count; i++) {
    const adv_type *t = &p->types[*type];
    if (t->kind == ADV_STRUCT) {
      for (uint32_t k = 0; k < literals[i]; k++)
        cell += p->types[t->members[k]].cells;
      *type = t->members[literals[i]];
    } else {
      cell += literals[i] * p->types[t->element].cells;
      *type = t->element;
    }
  }
  return cell;
}

/* Rows of `from` from cell `first` on become those of v from `at` on. */
static void share(adv_program *p, adv_value *v, uint32_t at, uint32_t from, uint32_t first,
                  uint32_t count) {
  memcpy(v->rows + at, p->values[from].rows + first, count * sizeof *v->rows);
}

static filtra_status composite(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  FT_TRY(make_value(p, in));
  adv_value *v = &p->values[in->result];
  uint32_t cells = p->types[in->type].cells, at = 0, type;
  switch (in->opcode) {
  case SpvOpCompositeExtract:
    type = p->values[w[3]].type;
    share(p, v, 0, w[3], find_part(p, &type, w + 4, in->count - 4u), cells);
    v->offset = p->values[w[3]].offset;
    return FILTRA_OK;
  case SpvOpCompositeInsert:
    share(p, v, 0, w[4], 0, cells);
    type = in->type;
    at = find_part(p, &type, w + 5, in->count - 5u);
    share(p, v, at, w[3], 0, p->types[type].cells);
    return FILTRA_OK;
  case SpvOpVectorShuffle:
    for (uint32_t i = 0; i < cells; i++) {
      uint32_t left = p->types[p->values[w[3]].type].cells, k = w[5 + i];
      if (k == UINT32_MAX) k = 0;
      v->rows[i] = k < left ? p->values[w[3]].rows[k] : p->values[w[4]].rows[k - left];
    }
    return FILTRA_OK;
  case SpvOpCopyObject:
  case SpvOpCopyLogical:
    share(p, v, 0, w[3], 0, cells);
    v->offset = p->values[w[3]].offset;
    return FILTRA_OK;
  default: /* construct: OpConstantComposite and OpSpecConstantComposite, too */
    if (p->types[in->type].rows) { /* a matrix: of one number */
      for (uint32_t i = 0; i < cells; i++)
        share(p, v, i, w[3], 0, 1);
      return FILTRA_OK;
    }
    for (uint32_t i = 3; i < in->count; i++) {
      uint32_t part = p->types[p->values[w[i]].type].cells;
      if (p->types[p->values[w[i]].type].kind == ADV_POINTER) {
        FT_TRY(adv_address_row(p, &p->values[w[i]], &v->rows[at++]));
        continue;
      }
      share(p, v, at, w[i], 0, part);
      at += part;
    }
    return FILTRA_OK;
  }
}

/* ---- constants ---- */

/* The bits that a constant's row gets. */
static uint64_t literal(const adv_program *p, const adv_instruction *in) {
  const uint32_t id = p->spec_id[in->result];
  const adv_type *t = &p->types[in->type];
  uint64_t bits = 0;
  if (in->opcode == SpvOpConstant || in->opcode == SpvOpSpecConstant)
    bits = in->words[3] | (in->count > 4 ? (uint64_t)in->words[4] << 32 : 0);
  if (in->opcode == SpvOpConstantTrue || in->opcode == SpvOpSpecConstantTrue) bits = 1;
  if (id == 1) bits = p->source.workgroup;
  if (id >= 2 && id - 2 < p->source.spec_count) bits = p->source.spec[id - 2];
  if (in->opcode == SpvOpUndef) return 0x7fc0beef; /* as bad as it can be */
  if (t->kind == ADV_BOOL) return bits != 0;
  if (t->kind == ADV_FLOAT && t->bits == 16) return adv_float_bits(adv_half_of((uint16_t)bits));
  return t->bits < 32 ? bits & ((1u << t->bits) - 1) : bits;
}

static filtra_status constant(adv_program *p, const adv_instruction *in) {
  FT_TRY(make_value(p, in));
  const adv_cell *cells = adv_cells(p, in->type);
  const uint64_t bits = literal(p, in);
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    p->values[in->result].rows[i] = adv_constant_row(p, cells[i].type->bits == 64, bits);
  return FILTRA_OK;
}

/* ---- addresses ---- */

filtra_status adv_address_row(adv_program *p, const adv_value *pointer, uint32_t *row) {
  *row = pointer->rows[0];
  if (*row == ADV_NO_ROW) {
    *row = adv_constant_row(p, true, pointer->offset);
    return FILTRA_OK;
  }
  if (!pointer->offset) return FILTRA_OK;
  adv_op op = {.code = ADV_OP_OFFSET, .d = adv_new_row(p, true), .a = *row, .c = pointer->offset};
  *row = op.d;
  return adv_emit_op(p, op);
}

static bool is_constant(const adv_program *p, uint32_t row) {
  for (size_t i = 0; i < p->constant_count; i++)
    if (p->constants[i].row == row) return true;
  return false;
}

/* One step into an array or vector by an index that is only known at run time. */
static filtra_status step_by(adv_program *p, const adv_instruction *in, const adv_type *t,
                             uint32_t index, adv_value *v) {
  adv_op op = {.code = ADV_OP_BOUND,
               .bits = (uint8_t)adv_type_of(p, index)->bits,
               .a = p->values[index].rows[0],
               .c = t->count,
               .at = in->at};
  if (t->count) FT_TRY(adv_emit_op(p, op));
  op.code = ADV_OP_INDEX;
  op.d = adv_new_row(p, true);
  op.b = op.a;
  op.a = v->rows[0];
  op.c = t->stride;
  v->rows[0] = op.d;
  return adv_emit_op(p, op);
}

static filtra_status access_chain(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  FT_TRY(make_value(p, in));
  adv_value *v = &p->values[in->result];
  const adv_value *base = &p->values[w[3]];
  v->rows[0] = base->rows[0];
  v->offset = base->offset;
  uint32_t type = p->types[base->type].element;
  for (uint32_t i = 4; i < in->count; i++) {
    const adv_type *t = &p->types[type];
    const adv_value *index = &p->values[w[i]];
    bool known = is_constant(p, index->rows[0]);
    uint32_t number = known ? (uint32_t)adv_constant_bits(p, w[i]) : 0;
    if (t->kind == ADV_STRUCT) {
      v->offset += t->offsets[number];
      type = t->members[number];
      continue;
    }
    if (known && (!t->count || number < t->count))
      v->offset += number * t->stride;
    else
      FT_TRY(step_by(p, in, t, w[i], v));
    type = t->element;
  }
  return FILTRA_OK;
}

static filtra_status variable(adv_program *p, const adv_instruction *in) {
  const adv_type *pointer = &p->types[in->type], *t = &p->types[pointer->element];
  FT_TRY(make_value(p, in));
  adv_value *v = &p->values[in->result];
  v->rows[0] = ADV_NO_ROW;
  uint32_t *end = pointer->space == ADV_SHARED ? &p->shared_bytes : &p->private_bytes;
  if (pointer->space == ADV_PUSH) return FILTRA_OK;
  v->offset = *end;
  *end += (t->size + 7) & ~7u;
  if (!p->builtin_id[in->result]) return FILTRA_OK;
  if (!adv_builtin_known(p->builtin_id[in->result] - 1) ||
      p->builtin_count == FT_COUNT(p->builtins))
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: the adversary does not know built-in %u",
                   p->source.name, p->builtin_id[in->result] - 1);
  p->builtins[p->builtin_count++] = (adv_builtin){p->builtin_id[in->result] - 1, v->offset};
  return FILTRA_OK;
}

/* ---- memory ---- */

/* Loads or stores each scalar of a value. */
static filtra_status transfer(adv_program *p, const adv_instruction *in, uint32_t pointer_id,
                              const adv_value *value, bool store) {
  const adv_value *pointer = &p->values[pointer_id];
  const adv_type *t = &p->types[pointer->type];
  const adv_cell *cells = adv_cells(p, t->element);
  for (uint32_t i = 0; i < p->types[t->element].cells; i++) {
    adv_op op = {.code = store ? ADV_OP_STORE : ADV_OP_LOAD,
                 .space = (uint8_t)t->space,
                 .is_float = cells[i].type->kind == ADV_FLOAT,
                 .bits = (uint8_t)cells[i].type->bits,
                 .d = value->rows[i],
                 .a = pointer->rows[0],
                 .c = pointer->offset + cells[i].offset,
                 .at = in->at};
    if (store && cells[i].type->kind == ADV_POINTER && value->rows[i] == ADV_NO_ROW)
      op.d = adv_constant_row(p, true, value->offset);
    FT_TRY(adv_emit_op(p, op));
  }
  return FILTRA_OK;
}

static filtra_status load(adv_program *p, const adv_instruction *in) {
  FT_TRY(adv_define(p, in->result, in->type));
  return transfer(p, in, in->words[3], &p->values[in->result], false);
}

static filtra_status store(adv_program *p, const adv_instruction *in) {
  adv_value value = p->values[in->words[2]];
  uint32_t row;
  if (p->types[value.type].kind == ADV_POINTER) {
    FT_TRY(adv_address_row(p, &value, &row));
    value.rows = &row;
  }
  return transfer(p, in, in->words[1], &value, true);
}

static filtra_status atomic(adv_program *p, const adv_instruction *in) {
  static const struct {
    uint16_t opcode;
    uint8_t reduction;
  } known[] = {{SpvOpAtomicIAdd, ADV_SUM},          {SpvOpAtomicUMin, ADV_UNSIGNED_MIN},
               {SpvOpAtomicUMax, ADV_UNSIGNED_MAX}, {SpvOpAtomicSMin, ADV_SIGNED_MIN},
               {SpvOpAtomicSMax, ADV_SIGNED_MAX},   {SpvOpAtomicAnd, ADV_BITS_AND},
               {SpvOpAtomicOr, ADV_BITS_OR},        {SpvOpAtomicXor, ADV_BITS_XOR}};
  const uint32_t *w = in->words;
  const adv_value *pointer = &p->values[w[3]];
  if (p->types[in->type].bits != 32) return adv_unknown(p, in);
  for (size_t i = 0; i < FT_COUNT(known); i++) {
    if (known[i].opcode != in->opcode) continue;
    FT_TRY(adv_define(p, in->result, in->type));
    return adv_emit_op(p, (adv_op){.code = ADV_OP_ATOMIC,
                                   .space = (uint8_t)p->types[pointer->type].space,
                                   .is_float = known[i].reduction,
                                   .bits = 32,
                                   .d = p->values[in->result].rows[0],
                                   .a = pointer->rows[0],
                                   .b = p->values[w[6]].rows[0],
                                   .c = pointer->offset,
                                   .at = in->at});
  }
  return adv_unknown(p, in);
}

/* ---- select, bitcast, vector elements by an index ---- */

static filtra_status select_value(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result], *condition = &p->values[w[3]];
  adv_value yes = p->values[w[4]], no = p->values[w[5]];
  uint32_t address[2];
  if (p->types[in->type].kind == ADV_POINTER) {
    FT_TRY(adv_address_row(p, &yes, &address[0]));
    FT_TRY(adv_address_row(p, &no, &address[1]));
    yes.rows = &address[0];
    no.rows = &address[1];
  }
  const adv_cell *cells = adv_cells(p, in->type);
  const bool each = p->types[condition->type].kind == ADV_VECTOR;
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    FT_TRY(adv_emit(p, in, cells[i].type->bits == 64 ? ADV_OP_SELECT64 : ADV_OP_SELECT, d->rows[i],
                    condition->rows[each ? i : 0], yes.rows[i], no.rows[i]));
  return FILTRA_OK;
}

/* A row with the bits of a number as they lie in memory, or from such bits a number. */
static filtra_status as_bits(adv_program *p, const adv_instruction *in, const adv_type *t,
                             uint16_t code, uint32_t *row) {
  if (t->kind != ADV_FLOAT || t->bits != 16) return FILTRA_OK;
  uint32_t from = *row;
  *row = adv_new_row(p, false);
  return adv_emit(p, in, code, *row, from, 0, 0);
}

/* Part `k` of `bits` in a row of more. */
static filtra_status take_part(adv_program *p, const adv_instruction *in, uint32_t from,
                               uint32_t from_bits, uint32_t k, uint32_t bits, uint32_t *to) {
  *to = adv_new_row(p, bits == 64);
  return adv_emit_op(p, (adv_op){.code = from_bits == 64 ? ADV_OP_PART64 : ADV_OP_PART,
                                 .bits = (uint8_t)bits,
                                 .d = *to,
                                 .a = from,
                                 .c = k * bits,
                                 .at = in->at});
}

/* `count` rows of `bits` become one, those that come first lowest. */
static filtra_status join(adv_program *p, const adv_instruction *in, const uint32_t *rows,
                          uint32_t count, uint32_t bits, uint32_t *to) {
  if (count == 1) {
    *to = rows[0];
    return FILTRA_OK;
  }
  uint32_t low, high;
  FT_TRY(join(p, in, rows, count / 2, bits, &low));
  FT_TRY(join(p, in, rows + count / 2, count / 2, bits, &high));
  bool wide = count * bits == 64;
  *to = adv_new_row(p, wide);
  return adv_emit(p, in, wide ? ADV_OP_JOIN64 : ADV_OP_JOIN, *to, low, high, count / 2 * bits);
}

/* Same bits, other type: rows are shared unless words join or come apart. */
static filtra_status bitcast(adv_program *p, const adv_instruction *in) {
  adv_value from = p->values[in->words[3]];
  const adv_type *old = adv_scalar(p, from.type), *new = adv_scalar(p, in->type);
  uint32_t rows[16], count = p->types[from.type].cells;
  if (count > FT_COUNT(rows)) return adv_unknown(p, in);
  for (uint32_t i = 0; i < count; i++)
    rows[i] = from.rows[i];
  if (old->kind == ADV_POINTER) FT_TRY(adv_address_row(p, &from, &rows[0]));
  for (uint32_t i = 0; i < count; i++)
    FT_TRY(as_bits(p, in, old, ADV_OP_HALF_BITS, &rows[i]));
  FT_TRY(make_value(p, in));
  for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
    uint32_t *to = &p->values[in->result].rows[i];
    const uint32_t parts = new->bits > old->bits ? new->bits / old->bits : old->bits / new->bits;
    if (new->bits > old->bits)
      FT_TRY(join(p, in, rows + i * parts, parts, old->bits, to));
    else if (new->bits < old->bits)
      FT_TRY(take_part(p, in, rows[i / parts], old->bits, i % parts, new->bits, to));
    else
      *to = rows[i];
    FT_TRY(as_bits(p, in, new, ADV_OP_BITS_HALF, to));
  }
  return FILTRA_OK;
}

/* d = is row k the one that `index` names ? yes : no */
static filtra_status choose(adv_program *p, const adv_instruction *in, uint32_t index, uint32_t k,
                            uint32_t d, uint32_t yes, uint32_t no) {
  uint32_t equal = adv_new_row(p, false);
  FT_TRY(adv_emit(p, in, ADV_OP_IEQ, equal, index, adv_constant_row(p, false, k), 0));
  return adv_emit(p, in, ADV_OP_SELECT, d, equal, yes, no);
}

static filtra_status vector_dynamic(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  bool insert = in->opcode == SpvOpVectorInsertDynamic;
  const adv_value *vector = &p->values[w[3]];
  uint32_t cells = p->types[vector->type].cells, index = p->values[w[insert ? 5 : 4]].rows[0];
  if (adv_type_of(p, w[3])->bits == 64) return adv_unknown(p, in);
  FT_TRY(adv_emit(p, in, ADV_OP_BOUND, 0, index, 0, cells));
  FT_TRY(adv_define(p, in->result, in->type));
  const adv_value *d = &p->values[in->result];
  uint32_t found = vector->rows[0];
  for (uint32_t k = 0; k < cells; k++) {
    if (insert) {
      FT_TRY(choose(p, in, index, k, d->rows[k], p->values[w[4]].rows[0], vector->rows[k]));
      continue;
    }
    uint32_t to = k + 1 == cells ? d->rows[0] : adv_new_row(p, false);
    FT_TRY(choose(p, in, index, k, to, vector->rows[k], found));
    found = to;
  }
  return FILTRA_OK;
}

/* ---- subgroups and barriers ---- */

static const struct {
  uint16_t opcode, code;
  uint8_t reduction;
} group_rules[] = {
    {SpvOpGroupNonUniformAll, ADV_OP_ALL, 0},
    {SpvOpGroupNonUniformAny, ADV_OP_ANY, 0},
    {SpvOpGroupNonUniformBroadcast, ADV_OP_BROADCAST, 0},
    {SpvOpGroupNonUniformBroadcastFirst, ADV_OP_BROADCAST_FIRST, 0},
    {SpvOpGroupNonUniformShuffle, ADV_OP_SHUFFLE, 0},
    {SpvOpGroupNonUniformShuffleXor, ADV_OP_SHUFFLE_XOR, 0},
    {SpvOpGroupNonUniformShuffleUp, ADV_OP_SHUFFLE_UP, 0},
    {SpvOpGroupNonUniformShuffleDown, ADV_OP_SHUFFLE_DOWN, 0},
    {SpvOpGroupNonUniformIAdd, ADV_OP_REDUCE, ADV_SUM},
    {SpvOpGroupNonUniformFAdd, ADV_OP_REDUCE, ADV_FLOAT_SUM},
    {SpvOpGroupNonUniformFMin, ADV_OP_REDUCE, ADV_FLOAT_MIN},
    {SpvOpGroupNonUniformFMax, ADV_OP_REDUCE, ADV_FLOAT_MAX},
    {SpvOpGroupNonUniformUMin, ADV_OP_REDUCE, ADV_UNSIGNED_MIN},
    {SpvOpGroupNonUniformUMax, ADV_OP_REDUCE, ADV_UNSIGNED_MAX},
    {SpvOpGroupNonUniformSMin, ADV_OP_REDUCE, ADV_SIGNED_MIN},
    {SpvOpGroupNonUniformSMax, ADV_OP_REDUCE, ADV_SIGNED_MAX},
    {SpvOpGroupNonUniformBitwiseAnd, ADV_OP_REDUCE, ADV_BITS_AND},
    {SpvOpGroupNonUniformBitwiseOr, ADV_OP_REDUCE, ADV_BITS_OR},
    {SpvOpGroupNonUniformBitwiseXor, ADV_OP_REDUCE, ADV_BITS_XOR},
};

static filtra_status ballot(adv_program *p, const adv_instruction *in) {
  for (uint32_t i = 0; i < 4; i++)
    FT_TRY(adv_emit(p, in, ADV_OP_BALLOT_BIT, p->values[in->result].rows[i],
                    p->values[in->words[4]].rows[0], 0, i));
  return FILTRA_OK;
}

/* Numbers of fewer than 32 bits are reduced by themselves, signed ones with their sign. */
static filtra_status group_each(adv_program *p, const adv_instruction *in, adv_op op,
                                uint32_t value) {
  const adv_type *t = adv_type_of(p, value);
  const bool is_signed = op.c == ADV_SIGNED_MIN || op.c == ADV_SIGNED_MAX;
  const bool moves =
      op.code != ADV_OP_REDUCE && op.code != ADV_OP_SCAN && op.code != ADV_OP_SCAN_EXCLUSIVE;
  op.bits = t->bits == 64 ? 64 : 32;
  for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
    op.d = p->values[in->result].rows[i];
    op.a = p->values[value].rows[i];
    if (t->bits < 32 && is_signed) {
      const uint32_t row = adv_new_row(p, false);
      FT_TRY(adv_emit(p, in, ADV_OP_SIGN, row, op.a, 0, t->bits));
      op.a = row;
    }
    FT_TRY(adv_emit_op(p, op));
    if (t->bits < 32 && !moves) FT_TRY(adv_narrow(p, in, t, op.d));
  }
  return FILTRA_OK;
}

static filtra_status group(adv_program *p, const adv_instruction *in) {
  static const uint16_t codes[] = {ADV_OP_REDUCE, ADV_OP_SCAN, ADV_OP_SCAN_EXCLUSIVE,
                                   ADV_OP_REDUCE};
  const uint32_t *w = in->words;
  if (adv_constant_bits(p, w[3]) != SpvScopeSubgroup) return adv_unknown(p, in);
  FT_TRY(adv_define(p, in->result, in->type));
  if (in->opcode == SpvOpGroupNonUniformElect)
    return adv_emit(p, in, ADV_OP_ELECT, p->values[in->result].rows[0], 0, 0, 0);
  if (in->opcode == SpvOpGroupNonUniformBallot) return ballot(p, in);
  for (size_t k = 0; k < FT_COUNT(group_rules); k++) {
    if (group_rules[k].opcode != in->opcode) continue;
    adv_op op = {.code = group_rules[k].code, .c = group_rules[k].reduction, .at = in->at};
    if (op.code != ADV_OP_REDUCE) {
      op.b = in->count > 5 ? p->values[w[5]].rows[0] : 0;
      return group_each(p, in, op, w[4]);
    }
    if (w[4] > SpvGroupOperationClusteredReduce) return adv_unknown(p, in);
    op.code = codes[w[4]]; /* words: scope, operation, value, cluster size */
    if (w[4] == SpvGroupOperationClusteredReduce) op.b = (uint32_t)adv_constant_bits(p, w[6]);
    return group_each(p, in, op, w[5]);
  }
  return adv_unknown(p, in);
}

static filtra_status barrier(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  if (in->opcode == SpvOpMemoryBarrier) return FILTRA_OK; /* orders nothing without a barrier */
  uint64_t scope = adv_constant_bits(p, w[1]);
  if (scope != SpvScopeWorkgroup && scope != SpvScopeSubgroup) return adv_unknown(p, in);
  return adv_emit(p, in, ADV_OP_BARRIER, 0, (uint32_t)adv_constant_bits(p, w[3]), 0,
                  scope == SpvScopeSubgroup);
}

filtra_status adv_lower(adv_program *p, const adv_instruction *in) {
  bool done;
  filtra_status status;
  FT_TRY(adv_lower_arithmetic(p, in, &done));
  if (done) return FILTRA_OK;
  if (adv_lower_matrix(p, in, &status)) return status;
  switch (in->opcode) {
  case SpvOpConstant:
  case SpvOpConstantTrue:
  case SpvOpConstantFalse:
  case SpvOpConstantNull:
  case SpvOpSpecConstant:
  case SpvOpSpecConstantTrue:
  case SpvOpSpecConstantFalse:
  case SpvOpUndef:
    return constant(p, in);
  case SpvOpConstantComposite:
  case SpvOpSpecConstantComposite:
  case SpvOpCompositeConstruct:
  case SpvOpCompositeExtract:
  case SpvOpCompositeInsert:
  case SpvOpVectorShuffle:
  case SpvOpCopyObject:
  case SpvOpCopyLogical:
    return composite(p, in);
  case SpvOpVariable:
    return variable(p, in);
  case SpvOpAccessChain:
  case SpvOpInBoundsAccessChain:
    return access_chain(p, in);
  case SpvOpLoad:
    return load(p, in);
  case SpvOpStore:
    return store(p, in);
  case SpvOpSelect:
    return select_value(p, in);
  case SpvOpBitcast:
  case SpvOpConvertPtrToU:
  case SpvOpConvertUToPtr:
    return bitcast(p, in);
  case SpvOpVectorExtractDynamic:
  case SpvOpVectorInsertDynamic:
    return vector_dynamic(p, in);
  case SpvOpControlBarrier:
  case SpvOpMemoryBarrier:
    return barrier(p, in);
  default:
    if (in->opcode >= SpvOpGroupNonUniformElect && in->opcode <= SpvOpGroupNonUniformQuadSwap)
      return group(p, in);
    if (in->opcode >= SpvOpAtomicIAdd && in->opcode <= SpvOpAtomicXor) return atomic(p, in);
    return adv_unknown(p, in);
  }
}
