/* Lowering of single instructions: constants, composites, addresses, memory, subgroups. */
#include "adversary/program.h"

#include "base/memory.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

void adv_emit_op(adv_program *p, adv_op op) {
  if (FT_GROW(p->ops, p->op_count, p->op_capacity)) abort();
  p->ops[p->op_count++] = op;
}

void adv_emit(adv_program *p, const adv_instruction *in, uint32_t code, uint32_t d, uint32_t a,
              uint32_t b, uint32_t c) {
  adv_emit_op(p, (adv_op){.code = (uint16_t)code,
                          .bits = code & ADV_WIDE ? 64 : 32,
                          .d = d,
                          .a = a,
                          .b = b,
                          .c = c,
                          .at = in->at});
}

/* ---- values that are other values' rows ---- */

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

/* Also of OpConstantComposite and OpSpecConstantComposite. */
static void construct(adv_program *p, const adv_instruction *in, adv_value *v) {
  const uint32_t *w = in->words;
  uint32_t at = 0, cells = p->types[in->type].cells;
  for (uint32_t i = 0; p->types[in->type].rows && i < cells; i++) /* a matrix: of one number */
    share(p, v, i, w[3], 0, 1);
  for (uint32_t i = 3; at < cells && i < in->count && !p->types[in->type].rows; i++) {
    const adv_type *part = &p->types[p->values[w[i]].type];
    if (part->kind == ADV_POINTER)
      v->rows[at] = adv_address_row(p, &p->values[w[i]]);
    else
      share(p, v, at, w[i], 0, part->cells);
    at += part->cells;
  }
}

static void composite(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  adv_value *v = adv_make_value(p, in);
  uint32_t cells = p->types[in->type].cells, at = 0, type;
  switch (in->opcode) {
  case SpvOpCompositeExtract:
    type = p->values[w[3]].type;
    share(p, v, 0, w[3], find_part(p, &type, w + 4, in->count - 4u), cells);
    v->offset = p->values[w[3]].offset;
    break;
  case SpvOpCompositeInsert:
    share(p, v, 0, w[4], 0, cells);
    type = in->type;
    at = find_part(p, &type, w + 5, in->count - 5u);
    share(p, v, at, w[3], 0, p->types[type].cells);
    break;
  case SpvOpVectorShuffle:
    for (uint32_t i = 0; i < cells; i++) {
      uint32_t left = p->types[p->values[w[3]].type].cells, k = w[5 + i];
      if (k == UINT32_MAX) k = 0;
      v->rows[i] = k < left ? p->values[w[3]].rows[k] : p->values[w[4]].rows[k - left];
    }
    break;
  case SpvOpCopyLogical:
    share(p, v, 0, w[3], 0, cells);
    break;
  default:
    construct(p, in, v);
  }
}

/* ---- constants ---- */

/* The bits that a constant's row gets. */
static uint64_t literal(const adv_program *p, const adv_instruction *in) {
  const uint32_t id = p->ids[in->result].spec;
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

static void constant(adv_program *p, const adv_instruction *in) {
  const adv_value *v = adv_make_value(p, in);
  const adv_cell *cells = adv_cells(p, in->type);
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    v->rows[i] = adv_constant_row(p, cells[i].type->bits == 64, literal(p, in));
}

/* ---- addresses ---- */

uint32_t adv_address_row(adv_program *p, const adv_value *pointer) {
  if (pointer->rows[0] == ADV_NO_ROW) return adv_constant_row(p, true, pointer->offset);
  if (!pointer->offset) return pointer->rows[0];
  const uint32_t row = adv_new_row(p, true);
  adv_emit_op(p,
              (adv_op){.code = ADV_OFFSET, .d = row, .a = pointer->rows[0], .c = pointer->offset});
  return row;
}

/* One step into an array or vector by an index that is only known at run time. */
static void step_by(adv_program *p, const adv_instruction *in, const adv_type *t, uint32_t index,
                    adv_value *v) {
  adv_op op = {.code = ADV_BOUND,
               .bits = (uint8_t)adv_type_of(p, index)->bits,
               .a = p->values[index].rows[0],
               .c = t->count,
               .at = in->at};
  if (t->count) adv_emit_op(p, op);
  op.code = ADV_INDEX;
  op.d = adv_new_row(p, true);
  op.b = op.a;
  op.a = v->rows[0];
  op.c = t->stride;
  v->rows[0] = op.d;
  adv_emit_op(p, op);
}

static void access_chain(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  adv_value *v = adv_make_value(p, in);
  const adv_value *base = &p->values[w[3]];
  v->rows[0] = base->rows[0];
  v->offset = base->offset;
  uint32_t type = p->types[base->type].element;
  for (uint32_t i = 4; i < in->count; i++) {
    const adv_type *t = &p->types[type];
    const adv_constant *known = adv_constant_of(p, p->values[w[i]].rows[0]);
    const uint32_t number = known ? (uint32_t)known->bits : 0;
    type = t->kind == ADV_STRUCT ? t->members[number] : t->element;
    if (t->kind == ADV_STRUCT)
      v->offset += t->offsets[number];
    else if (known && (!t->count || number < t->count))
      v->offset += number * t->stride;
    else
      step_by(p, in, t, w[i], v);
  }
}

static void variable(adv_program *p, const adv_instruction *in) {
  const adv_type *pointer = &p->types[in->type], *t = &p->types[pointer->element];
  const uint32_t builtin = p->ids[in->result].builtin;
  adv_value *v = adv_make_value(p, in);
  v->rows[0] = ADV_NO_ROW;
  uint32_t *end = pointer->space == ADV_SHARED ? &p->shared_bytes : &p->private_bytes;
  if (pointer->space == ADV_PUSH) return;
  v->offset = *end;
  *end += (t->size + 7) & ~7u;
  if (builtin && adv_builtin_known(builtin - 1) && p->builtin_count < FT_COUNT(p->builtins))
    p->builtins[p->builtin_count++] = (adv_builtin){builtin - 1, v->offset};
  else if (builtin)
    p->failed =
        ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: the adversary does not know built-in %u",
                p->source.name, builtin - 1);
}

/* ---- memory ---- */

/* Loads or stores each scalar of a value. */
static void transfer(adv_program *p, const adv_instruction *in, uint32_t pointer_id,
                     const uint32_t *rows) {
  const adv_value *pointer = &p->values[pointer_id];
  const adv_type *t = &p->types[pointer->type];
  const adv_cell *cells = adv_cells(p, t->element);
  for (uint32_t i = 0; i < p->types[t->element].cells; i++)
    adv_emit_op(p, (adv_op){.code = in->opcode,
                            .space = (uint8_t)t->space,
                            .is_float = cells[i].type->kind == ADV_FLOAT,
                            .bits = (uint8_t)cells[i].type->bits,
                            .d = rows[i],
                            .a = pointer->rows[0],
                            .c = pointer->offset + cells[i].offset,
                            .at = in->at});
}

static void store(adv_program *p, const adv_instruction *in) {
  const adv_value *value = &p->values[in->words[2]];
  const bool address = p->types[value->type].kind == ADV_POINTER;
  const uint32_t row = address ? adv_address_row(p, value) : 0;
  transfer(p, in, in->words[1], address ? &row : value->rows);
}

static void atomic(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  const adv_value *pointer = &p->values[w[3]];
  if (p->types[in->type].bits != 32) {
    adv_unknown(p, in);
    return;
  }
  adv_emit_op(p, (adv_op){.code = in->opcode,
                          .space = (uint8_t)p->types[pointer->type].space,
                          .bits = 32,
                          .d = adv_define(p, in)->rows[0],
                          .a = pointer->rows[0],
                          .b = p->values[w[6]].rows[0],
                          .c = pointer->offset,
                          .at = in->at});
}

/* ---- select, bitcast, vector elements by an index ---- */

static void select_value(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  const adv_value *d = adv_define(p, in), *condition = &p->values[w[3]];
  const adv_value *yes = &p->values[w[4]], *no = &p->values[w[5]];
  if (p->types[in->type].kind == ADV_POINTER) {
    const uint32_t a = adv_address_row(p, yes), b = adv_address_row(p, no);
    adv_emit(p, in, SpvOpSelect | ADV_WIDE, d->rows[0], condition->rows[0], a, b);
    return;
  }
  const adv_cell *cells = adv_cells(p, in->type);
  const bool each = p->types[condition->type].kind == ADV_VECTOR;
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    adv_emit(p, in, SpvOpSelect | (cells[i].type->bits == 64 ? ADV_WIDE : 0), d->rows[i],
             condition->rows[each ? i : 0], yes->rows[i], no->rows[i]);
}

/* A row with the bits of a number as they lie in memory, or from such bits a number. */
static uint32_t as_bits(adv_program *p, const adv_instruction *in, const adv_type *t, uint16_t code,
                        uint32_t row) {
  if (t->kind != ADV_FLOAT || t->bits != 16) return row;
  const uint32_t to = adv_new_row(p, false);
  adv_emit(p, in, code, to, row, 0, 0);
  return to;
}

/* Part `k` of `bits` in a row of more. */
static uint32_t take_part(adv_program *p, const adv_instruction *in, uint32_t from,
                          uint32_t from_bits, uint32_t k, uint32_t bits) {
  const uint32_t to = adv_new_row(p, bits == 64);
  adv_emit_op(p, (adv_op){.code = ADV_PART | (from_bits == 64 ? ADV_WIDE : 0),
                          .bits = (uint8_t)bits,
                          .d = to,
                          .a = from,
                          .c = k * bits,
                          .at = in->at});
  return to;
}

/* `count` rows of `bits` become one, those that come first lowest. */
static uint32_t join(adv_program *p, const adv_instruction *in, const uint32_t *rows,
                     uint32_t count, uint32_t bits) {
  if (count == 1) return rows[0];
  const uint32_t low = join(p, in, rows, count / 2, bits),
                 high = join(p, in, rows + count / 2, count / 2, bits);
  const bool wide = count * bits == 64;
  const uint32_t to = adv_new_row(p, wide);
  adv_emit(p, in, ADV_JOIN | (wide ? ADV_WIDE : 0), to, low, high, count / 2 * bits);
  return to;
}

/* Same bits, other type: rows are shared unless words join or come apart. */
static void bitcast(adv_program *p, const adv_instruction *in) {
  const adv_value *from = &p->values[in->words[3]];
  const adv_type *old = adv_scalar(p, from->type), *new = adv_scalar(p, in->type);
  uint32_t rows[16], count = p->types[from->type].cells;
  if (count > FT_COUNT(rows)) {
    adv_unknown(p, in);
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    rows[i] = old->kind == ADV_POINTER ? adv_address_row(p, from)
                                       : as_bits(p, in, old, ADV_HALF_BITS, from->rows[i]);
  const adv_value *v = adv_make_value(p, in);
  for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
    const uint32_t parts = new->bits > old->bits ? new->bits / old->bits : old->bits / new->bits;
    const uint32_t row = new->bits > old->bits ? join(p, in, rows + i * parts, parts, old->bits)
                         : new->bits < old->bits
                             ? take_part(p, in, rows[i / parts], old->bits, i % parts, new->bits)
                             : rows[i];
    v->rows[i] = as_bits(p, in, new, ADV_BITS_HALF, row);
  }
}

/* An element of a vector by an index that is only known at run time. */
static void extract(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  const adv_value *vector = &p->values[w[3]];
  const uint32_t cells = p->types[vector->type].cells, index = p->values[w[4]].rows[0];
  const uint32_t wide = adv_type_of(p, w[3])->bits == 64 ? ADV_WIDE : 0;
  adv_emit(p, in, ADV_BOUND, 0, index, 0, cells);
  const uint32_t d = adv_define(p, in)->rows[0], equal = adv_new_row(p, false);
  adv_emit(p, in, ADV_MOVE | wide, d, vector->rows[0], 0, 0);
  for (uint32_t k = 1; k < cells; k++) {
    adv_emit(p, in, SpvOpIEqual, equal, index, adv_constant_row(p, false, k), 0);
    adv_emit(p, in, SpvOpSelect | wide, d, equal, vector->rows[k], d);
  }
}

/* ---- subgroups and barriers ---- */

static bool reduces(uint16_t opcode) {
  return (opcode >= SpvOpGroupNonUniformIAdd && opcode <= SpvOpGroupNonUniformBitwiseXor) &&
         opcode != SpvOpGroupNonUniformIMul && opcode != SpvOpGroupNonUniformFMul;
}

/* Numbers of fewer than 32 bits are reduced by themselves, signed ones with their sign. */
static void group(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words, opcode = in->opcode; /* words: scope, operation, value, number */
  const bool reduction = reduces(in->opcode), elect = opcode == SpvOpGroupNonUniformElect,
             is_signed = opcode == SpvOpGroupNonUniformSMin || opcode == SpvOpGroupNonUniformSMax;
  const bool known =
      elect || opcode == SpvOpGroupNonUniformAll || opcode == SpvOpGroupNonUniformAny ||
      opcode == SpvOpGroupNonUniformBroadcast || opcode == SpvOpGroupNonUniformShuffle ||
      opcode == SpvOpGroupNonUniformShuffleXor || (reduction && w[4] == SpvGroupOperationReduce);
  if (!known || adv_constant_bits(p, w[3]) != SpvScopeSubgroup) {
    adv_unknown(p, in);
    return;
  }
  const adv_value *d = adv_define(p, in), *value = &p->values[elect ? 0 : w[reduction ? 5 : 4]];
  const adv_type *t = elect ? &p->types[in->type] : adv_scalar(p, value->type);
  adv_op op = {.code = in->opcode, .bits = t->bits == 64 ? 64 : 32, .at = in->at};
  if (!reduction && in->count > 5) op.b = p->values[w[5]].rows[0];
  for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
    op.d = d->rows[i];
    op.a = elect ? 0 : value->rows[i];
    if (t->bits < 32 && is_signed) {
      op.a = adv_new_row(p, false);
      adv_emit(p, in, ADV_SIGN, op.a, value->rows[i], 0, t->bits);
    }
    adv_emit_op(p, op);
    if (reduction) adv_narrow(p, in, t, op.d);
  }
}

static void barrier(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  const uint64_t scope = adv_constant_bits(p, w[1]);
  if (scope == SpvScopeWorkgroup || scope == SpvScopeSubgroup)
    adv_emit(p, in, in->opcode, 0, (uint32_t)adv_constant_bits(p, w[3]), 0,
             scope == SpvScopeSubgroup);
  else
    adv_unknown(p, in);
}

/* ---- any ---- */

/* What lowers an instruction; the ranges of opcodes are those of the specification. */
static const struct {
  uint16_t first, last;
  void (*lower)(adv_program *p, const adv_instruction *in);
} rules[] = {
    {SpvOpUndef, SpvOpUndef, constant},
    {SpvOpConstantTrue, SpvOpConstant, constant},
    {SpvOpConstantComposite, SpvOpConstantComposite, composite},
    {SpvOpConstantNull, SpvOpConstantNull, constant},
    {SpvOpSpecConstantTrue, SpvOpSpecConstant, constant},
    {SpvOpSpecConstantComposite, SpvOpSpecConstantComposite, composite},
    {SpvOpVariable, SpvOpVariable, variable},
    {SpvOpStore, SpvOpStore, store},
    {SpvOpAccessChain, SpvOpInBoundsAccessChain, access_chain},
    {SpvOpVectorExtractDynamic, SpvOpVectorExtractDynamic, extract},
    {SpvOpVectorShuffle, SpvOpCompositeInsert, composite},
    {SpvOpCopyLogical, SpvOpCopyLogical, composite},
    {SpvOpConvertPtrToU, SpvOpConvertPtrToU, bitcast},
    {SpvOpConvertUToPtr, SpvOpConvertUToPtr, bitcast},
    {SpvOpBitcast, SpvOpBitcast, bitcast},
    {SpvOpSelect, SpvOpSelect, select_value},
    {SpvOpControlBarrier, SpvOpControlBarrier, barrier},
    {SpvOpAtomicIAdd, SpvOpAtomicIAdd, atomic},
    {SpvOpAtomicSMin, SpvOpAtomicXor, atomic},
    {SpvOpGroupNonUniformElect, SpvOpGroupNonUniformQuadSwap, group},
};

void adv_lower(adv_program *p, const adv_instruction *in) {
  if (p->failed || adv_lower_arithmetic(p, in) || adv_lower_matrix(p, in)) return;
  if (in->opcode == SpvOpMemoryBarrier) return; /* orders nothing without a barrier */
  if (in->opcode == SpvOpLoad) {
    transfer(p, in, in->words[3], adv_define(p, in)->rows);
    return;
  }
  for (size_t i = 0; i < FT_COUNT(rules); i++)
    if (in->opcode >= rules[i].first && in->opcode <= rules[i].last) {
      rules[i].lower(p, in);
      return;
    }
  adv_unknown(p, in);
}
