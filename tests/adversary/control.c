/* Lowering a whole module: constants in order, then the function's blocks and the branches between
 * them. */
#include "adversary/machine.h"
#include "adversary/program.h"

#include "base/memory.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants that are computed ---- */

/* Lowers what an OpSpecConstantOp does, runs it for one invocation and keeps what comes out. */
static void compute_constant(adv_program *p, const adv_instruction *in) {
  uint32_t words[64];
  const size_t first = p->op_count;
  if (in->count > FT_COUNT(words)) {
    adv_unknown(p, in);
    return;
  }
  memcpy(words, in->words, 3 * sizeof *words);
  memcpy(words + 3, in->words + 4, (in->count - 4u) * sizeof *words);
  adv_instruction inner = *in;
  inner.opcode = (uint16_t)in->words[3];
  inner.words = words;
  inner.count--;
  adv_lower(p, &inner);
  const adv_cell *cells = adv_cells(p, in->type);
  for (uint32_t i = 0; p->op_count > first && i < p->types[in->type].cells; i++) {
    adv_constant c = {p->values[in->result].rows[i], cells[i].type->bits == 64, 0};
    c.bits = adv_evaluate(p, p->ops + first, (uint32_t)(p->op_count - first), c.row);
    if (!c.wide) c.bits &= UINT32_MAX;
    if (FT_GROW(p->constants, p->constant_count, p->constant_capacity)) abort();
    p->constants[p->constant_count++] = c;
  }
  p->op_count = first;
}

static void note_mode(adv_program *p, const adv_instruction *in) {
  enum { MAXIMALLY_RECONVERGES = 6023 };
  const uint32_t *w = in->words;
  for (int i = 0; i < 3 && w[2] == SpvExecutionModeLocalSize; i++)
    p->size[i] = w[3 + i];
  p->subgroup_uniform |= w[2] == SpvExecutionModeSubgroupUniformControlFlowKHR;
  p->maximal |= w[2] == MAXIMALLY_RECONVERGES;
}

static void lower_globals(adv_program *p, size_t end) {
  for (size_t i = 0; i < end && !p->failed; i++) {
    const adv_instruction *in = &p->instructions[i];
    if (in->opcode == SpvOpSpecConstantOp)
      compute_constant(p, in);
    else if ((in->opcode >= SpvOpTypeVoid && in->opcode <= SpvOpTypeForwardPointer) ||
             in->opcode == ADV_TYPE_MATRIX)
      adv_make_type(p, in);
    else if ((in->opcode >= SpvOpConstantTrue && in->opcode <= SpvOpSpecConstantComposite) ||
             in->opcode == SpvOpVariable || in->opcode == SpvOpUndef)
      adv_lower(p, in);
    else if (in->opcode == SpvOpExecutionMode)
      note_mode(p, in);
  }
  for (size_t i = 0; i < end && !p->failed; i++) { /* modes that name constants come before them */
    const adv_instruction *in = &p->instructions[i];
    if (in->opcode == SpvOpExecutionModeId && in->words[2] == SpvExecutionModeLocalSizeId)
      for (int k = 0; k < 3; k++)
        p->size[k] = (uint32_t)adv_constant_bits(p, in->words[3 + k]);
  }
}

/* ---- which numbers become indices ---- */

/* Instructions through which an index is followed back, since they keep its size: their operands
 * from word `first` on, `last` at most (0: all), each `step`. A remainder, say, hides that of its
 * operand. */
static const struct {
  uint16_t opcode;
  uint8_t first, last, step;
} followed[] = {{SpvOpIAdd, 3, 4, 1},
                {SpvOpISub, 3, 4, 1},
                {SpvOpIMul, 3, 4, 1},
                {SpvOpUDiv, 3, 4, 1},
                {SpvOpShiftLeftLogical, 3, 3, 1},
                {SpvOpCompositeExtract, 3, 3, 1},
                {SpvOpSelect, 4, 5, 1},
                {SpvOpCompositeConstruct, 3, 0, 1},
                {SpvOpPhi, 3, 0, 2},
                {SpvOpAccessChain, 4, 0, 1},
                {SpvOpInBoundsAccessChain, 4, 0, 1}};

/* Whether that is new of one of them. */
static bool mark_sources(adv_program *p, const adv_instruction *in) {
  const bool uses = in->opcode == SpvOpAccessChain || in->opcode == SpvOpInBoundsAccessChain;
  bool new = false;
  if (!uses && !(in->result && p->values[in->result].indexes)) return false;
  for (size_t k = 0; k < FT_COUNT(followed); k++)
    for (uint32_t i = followed[k].first; in->opcode == followed[k].opcode && i < in->count &&
                                         (!followed[k].last || i <= followed[k].last);
         i += followed[k].step) {
      new |= !p->values[in->words[i]].indexes;
      p->values[in->words[i]].indexes = true;
    }
  return new;
}

static void mark_indices(adv_program *p, size_t first) {
  for (bool again = true; again;) {
    again = false;
    for (size_t i = p->instruction_count; i-- > first;)
      again |= mark_sources(p, &p->instructions[i]);
  }
}

/* ---- blocks ---- */

/* What the phis of a block take when control comes from `label`, in `list` if there is one; returns
 * how many there are. */
static uint32_t moves_of(adv_program *p, const adv_block *to, uint32_t label, adv_op *list) {
  uint32_t count = 0;
  for (const adv_instruction *in = &p->instructions[to->at + 1]; in->opcode == SpvOpPhi; in++) {
    const adv_cell *cells = adv_cells(p, in->type);
    uint32_t i = 3;
    while (i + 1 < in->count && in->words[i + 1] != label)
      i += 2;
    const adv_value *from = &p->values[in->words[i]], *d = &p->values[in->result];
    const bool address = p->types[in->type].kind == ADV_POINTER;
    for (uint32_t k = 0; k < p->types[in->type].cells; k++, count++)
      if (list)
        list[count] = (adv_op){.code = ADV_MOVE | (cells[k].type->bits == 64 ? ADV_WIDE : 0),
                               .d = d->rows[k],
                               .a = address ? adv_address_row(p, from) : from->rows[k],
                               .at = in->at};
  }
  return count;
}

/* Phis take their values at once: where one reads what another one writes, by way of other rows. */
static void make_edge(adv_program *p, const adv_block *from, uint32_t label, adv_edge *edge) {
  *edge = (adv_edge){.target = p->ids[label].block, .first = (uint32_t)p->op_count};
  const adv_block *to = &p->blocks[edge->target];
  adv_op *moves = adv_list(moves_of(p, to, from->id, NULL), sizeof *moves);
  const uint32_t count = moves_of(p, to, from->id, moves);
  bool overlapping = false;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < count; k++)
      overlapping |= i != k && moves[i].a == moves[k].d;
  for (uint32_t i = 0; i < count && overlapping; i++) {
    adv_op aside = moves[i];
    aside.d = moves[i].a = adv_new_row(p, aside.code & ADV_WIDE);
    adv_emit_op(p, aside);
  }
  for (uint32_t i = 0; i < count; i++)
    adv_emit_op(p, moves[i]);
  edge->count = (uint32_t)p->op_count - edge->first;
  free(moves);
}

/* Edge i of a branch is word 1, of a condition words 2 and 3, of a switch, whose literals stand
 * before the labels, words 2, 4, 6 and so on. */
static bool end_block(adv_program *p, adv_block *b, const adv_instruction *in) {
  const uint32_t *w = in->words;
  const uint32_t step = in->opcode == SpvOpSwitch ? 2 : 1, first = in->count > 2 ? 2 : 1;
  switch (in->opcode) {
  case SpvOpBranch:
    b->edge_count = 1;
    break;
  case SpvOpBranchConditional:
    b->edge_count = 2;
    break;
  case SpvOpSwitch:
    b->edge_count = (in->count - 1u) / 2u;
    break;
  case SpvOpReturn:
  case SpvOpUnreachable:
    return true;
  default:
    return false;
  }
  b->edges = adv_list(b->edge_count, sizeof *b->edges);
  b->literals = adv_list(b->edge_count, sizeof *b->literals);
  if (b->edge_count > 1) b->selector = p->values[w[1]].rows[0];
  for (uint32_t i = 0; i < b->edge_count; i++) {
    if (in->opcode == SpvOpSwitch && i) b->literals[i] = w[1 + 2 * i];
    make_edge(p, b, w[first + step * i], &b->edges[i]);
  }
  return true;
}

/* Blocks get numbers, phis their rows, before anything refers to them. */
static void announce(adv_program *p, size_t first) {
  for (size_t i = first; i < p->instruction_count; i++) {
    const adv_instruction *in = &p->instructions[i];
    if (in->opcode == SpvOpPhi) adv_define(p, in);
    if (in->opcode != SpvOpLabel) continue;
    if (FT_GROW(p->blocks, p->block_count, p->block_capacity)) abort();
    p->ids[in->result].block = (uint32_t)p->block_count;
    p->blocks[p->block_count++] = (adv_block){
        .id = in->result, .at = (uint32_t)i, .merge = ADV_NO_BLOCK, .continues = ADV_NO_BLOCK};
  }
}

static void lower_function(adv_program *p, size_t first) {
  announce(p, first);
  mark_indices(p, first);
  adv_block *block = NULL;
  for (size_t i = first + 1; i < p->instruction_count && !p->failed; i++) {
    const adv_instruction *in = &p->instructions[i];
    const uint32_t *w = in->words;
    switch (in->opcode) {
    case SpvOpFunctionEnd:
      if (i + 1 < p->instruction_count) adv_unknown(p, &p->instructions[i + 1]);
      continue;
    case SpvOpPhi:
      continue;
    case SpvOpLabel:
      block = &p->blocks[p->ids[in->result].block];
      block->first = (uint32_t)p->op_count;
      continue;
    case SpvOpSelectionMerge:
      block->merge = p->ids[w[1]].block;
      continue;
    case SpvOpLoopMerge:
      block->merge = p->ids[w[1]].block;
      block->continues = p->ids[w[2]].block;
      continue;
    default:
      block->count = (uint32_t)p->op_count - block->first;
      if (!end_block(p, block, in)) adv_lower(p, in);
    }
  }
}

/* ---- the program ---- */

filtra_status adv_program_create(const adv_source *source, adv_program **out) {
  adv_program *p = *out = adv_list(1, sizeof *p);
  uint32_t *spec = adv_list(source->spec_count, sizeof *spec);
  if (source->spec_count) memcpy(spec, source->spec, source->spec_count * sizeof *spec);
  p->source = *source;
  p->source.spec = p->spec_copy = spec;
  adv_parse(p);
  lower_globals(p, adv_function(p));
  const uint32_t count = p->size[0] * p->size[1] * p->size[2];
  if (!p->failed && (!count || count > ADV_MAX_LANES))
    p->failed = ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: workgroups of %u x %u x %u",
                        p->source.name, p->size[0], p->size[1], p->size[2]);
  if (!p->failed) lower_function(p, adv_function(p));
  const filtra_status failed = p->failed;
  if (failed) adv_program_destroy(out);
  return failed;
}

void adv_program_destroy(adv_program **program) {
  adv_program *p = *program;
  if (!p) return;
  for (uint32_t i = 0; i < p->bound; i++) {
    free(p->types[i].members);
    free(p->types[i].offsets);
    free(p->types[i].flat);
    free(p->values[i].rows);
  }
  for (size_t i = 0; i < p->block_count; i++) {
    free(p->blocks[i].edges);
    free(p->blocks[i].literals);
  }
  adv_matrix_clear(p);
  void *const lists[] = {p->spec_copy, p->masked, p->instructions, p->types, p->values, p->ids,
                         p->blocks,    p->ops,    p->constants,    p->lines, p};
  *program = NULL;
  for (size_t i = 0; i < FT_COUNT(lists); i++)
    free(lists[i]);
}
