/* Lowering a whole module: constants as they come, then the function's blocks with the ways between
 * them. */
#include "adversary/machine.h"
#include "adversary/operations.h"
#include "adversary/program.h"

#include "base/memory.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

/* ---- constants that are computed ---- */

/* Lowers what an OpSpecConstantOp does, runs it for one invocation and keeps what comes out. */
static filtra_status compute_constant(adv_program *p, const adv_instruction *in) {
  uint32_t words[64];
  if (in->count > 64 || in->count < 5) return adv_unknown(p, in);
  memcpy(words, in->words, 3 * sizeof *words);
  memcpy(words + 3, in->words + 4, (in->count - 4u) * sizeof *words);
  adv_instruction inner = *in;
  inner.opcode = (uint16_t)in->words[3];
  inner.words = words;
  inner.count--;
  size_t first = p->op_count;
  FT_TRY(adv_lower(p, &inner));
  if (p->op_count > first) {
    const adv_value *v = &p->values[in->result];
    for (uint32_t i = 0; i < p->types[in->type].cells; i++) {
      adv_constant c = {v->rows[i], adv_cells(p, in->type)[i].type->bits == 64, 0};
      FT_TRY(adv_evaluate(p, p->ops + first, (uint32_t)(p->op_count - first), c.row, &c.bits));
      if (!c.wide) c.bits &= UINT32_MAX;
      FT_TRY(FT_GROW(p->constants, p->constant_count, p->constant_capacity));
      p->constants[p->constant_count++] = c;
    }
  }
  p->op_count = first;
  return FILTRA_OK;
}

static void note_mode(adv_program *p, const adv_instruction *in) {
  enum { MAXIMALLY_RECONVERGES = 6023 };
  const uint32_t *w = in->words;
  for (int i = 0; i < 3 && w[2] == SpvExecutionModeLocalSize; i++)
    p->size[i] = w[3 + i];
  p->subgroup_uniform |= w[2] == SpvExecutionModeSubgroupUniformControlFlowKHR;
  p->maximal |= w[2] == MAXIMALLY_RECONVERGES;
}

static filtra_status lower_globals(adv_program *p, size_t end) {
  for (size_t i = 0; i < end; i++) {
    const adv_instruction *in = &p->instructions[i];
    if (in->opcode == SpvOpSpecConstantOp)
      FT_TRY(compute_constant(p, in));
    else if ((in->opcode >= SpvOpTypeVoid && in->opcode <= SpvOpTypeForwardPointer) ||
             in->opcode == ADV_TYPE_MATRIX)
      FT_TRY(adv_make_type(p, in));
    else if ((in->opcode >= SpvOpConstantTrue && in->opcode <= SpvOpSpecConstantComposite) ||
             in->opcode == SpvOpVariable || in->opcode == SpvOpUndef)
      FT_TRY(adv_lower(p, in));
    else if (in->opcode == SpvOpExecutionMode)
      note_mode(p, in);
  }
  for (size_t i = 0; i < end; i++) { /* modes that name constants, which come after them */
    const adv_instruction *in = &p->instructions[i];
    const uint32_t *w = in->words;
    if (in->opcode == SpvOpExecutionModeId && w[2] == SpvExecutionModeLocalSizeId)
      for (int k = 0; k < 3; k++)
        p->size[k] = (uint32_t)adv_constant_bits(p, w[3 + k]);
    if (in->opcode == SpvOpDecorate && w[2] == SpvDecorationBuiltIn &&
        w[3] == SpvBuiltInWorkgroupSize)
      for (uint32_t k = 0; k < 3; k++) {
        const adv_value *v = &p->values[w[1]];
        for (size_t c = 0; c < p->constant_count; c++)
          if (p->constants[c].row == v->rows[k]) p->size[k] = (uint32_t)p->constants[c].bits;
      }
  }
  return FILTRA_OK;
}

/* ---- which numbers become indices ---- */

static bool mark(adv_program *p, uint32_t id) {
  bool new = !p->values[id].indexes;
  p->values[id].indexes = true;
  return new;
}

/* Follows an index back through what keeps its size; a remainder, say, hides that of its operand.
 */
static bool mark_sources(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  bool new = false;
  if (in->opcode == SpvOpAccessChain || in->opcode == SpvOpInBoundsAccessChain)
    for (uint32_t i = 4; i < in->count; i++)
      new |= mark(p, w[i]);
  if (!in->result || !p->values[in->result].indexes) return new;
  switch (in->opcode) {
  case SpvOpIAdd:
  case SpvOpISub:
  case SpvOpIMul:
  case SpvOpUDiv:
    return mark(p, w[3]) | mark(p, w[4]) | new;
  case SpvOpShiftLeftLogical:
  case SpvOpCompositeExtract:
  case SpvOpCopyObject:
    return mark(p, w[3]) | new;
  case SpvOpSelect:
    return mark(p, w[4]) | mark(p, w[5]) | new;
  case SpvOpCompositeConstruct:
    for (uint32_t i = 3; i < in->count; i++)
      new |= mark(p, w[i]);
    return new;
  case SpvOpPhi:
    for (uint32_t i = 3; i < in->count; i += 2)
      new |= mark(p, w[i]);
    return new;
  default:
    return new;
  }
}

static void mark_indices(adv_program *p, size_t first) {
  for (bool again = true; again;) {
    again = false;
    for (size_t i = p->instruction_count; i-- > first;)
      again |= mark_sources(p, &p->instructions[i]);
  }
}

/* ---- blocks ---- */

static filtra_status add_move(adv_program *p, adv_edge *edge, uint32_t to, uint32_t from,
                              bool wide) {
  FT_TRY(FT_GROW(p->moves, p->move_count, p->move_capacity));
  p->moves[p->move_count++] = (adv_move){to, from, wide};
  edge->count++;
  return FILTRA_OK;
}

/* What a phi takes when control comes from `block`. */
static filtra_status move_phi(adv_program *p, const adv_instruction *phi, uint32_t from_label,
                              adv_edge *edge) {
  const adv_value *to = &p->values[phi->result];
  for (uint32_t i = 3; i + 1 < phi->count; i += 2) {
    if (phi->words[i + 1] != from_label) continue;
    const adv_value *from = &p->values[phi->words[i]];
    uint32_t address;
    if (p->types[phi->type].kind == ADV_POINTER) {
      FT_TRY(adv_address_row(p, from, &address));
      return add_move(p, edge, to->rows[0], address, true);
    }
    const adv_cell *cells = adv_cells(p, phi->type);
    for (uint32_t k = 0; k < p->types[phi->type].cells; k++)
      FT_TRY(add_move(p, edge, to->rows[k], from->rows[k], cells[k].type->bits == 64));
    return FILTRA_OK;
  }
  return FILTRA_OK;
}

static filtra_status make_edge(adv_program *p, const adv_block *from, uint32_t label,
                               adv_edge *edge) {
  *edge = (adv_edge){.target = p->block_of[label], .first = (uint32_t)p->move_count};
  const adv_block *to = &p->blocks[edge->target];
  const adv_instruction *in = &p->instructions[to->at + 1];
  for (; in->opcode == SpvOpPhi; in++)
    FT_TRY(move_phi(p, in, from->id, edge));
  const adv_move *moves = p->moves + edge->first;
  for (uint32_t i = 0; i < edge->count; i++)
    for (uint32_t k = 0; k < edge->count; k++)
      edge->overlapping |= i != k && moves[i].from == moves[k].to;
  return FILTRA_OK;
}

static filtra_status end_block(adv_program *p, adv_block *b, const adv_instruction *in) {
  const uint32_t *w = in->words;
  b->end = in->opcode == SpvOpBranch              ? ADV_BRANCH
           : in->opcode == SpvOpBranchConditional ? ADV_CONDITIONAL
           : in->opcode == SpvOpSwitch            ? ADV_SWITCH
           : in->opcode == SpvOpReturn            ? ADV_RETURN
                                                  : ADV_UNREACHABLE;
  if (b->end >= ADV_RETURN) return FILTRA_OK;
  b->edge_count = b->end == ADV_BRANCH ? 1 : b->end == ADV_CONDITIONAL ? 2 : (in->count - 1u) / 2u;
  b->edges = ft_calloc(b->edge_count, sizeof *b->edges);
  b->literals = ft_calloc(b->edge_count, sizeof *b->literals);
  if (!b->edges || !b->literals) return FILTRA_ERROR_HOST_MEMORY;
  if (b->end == ADV_BRANCH) return make_edge(p, b, w[1], &b->edges[0]);
  b->selector = p->values[w[1]].rows[0];
  for (uint32_t i = 0; i < b->edge_count; i++) {
    bool plain = b->end == ADV_CONDITIONAL || i == 0; /* a switch's are literal, label */
    if (!plain) b->literals[i] = w[1 + 2 * i];
    FT_TRY(make_edge(p, b, plain ? w[2 + i] : w[2 + 2 * i], &b->edges[i]));
  }
  return FILTRA_OK;
}

static bool ends_block(const adv_instruction *in) {
  switch (in->opcode) {
  case SpvOpBranch:
  case SpvOpBranchConditional:
  case SpvOpSwitch:
  case SpvOpReturn:
  case SpvOpUnreachable:
    return true;
  default:
    return false;
  }
}

/* Blocks get numbers, phis their rows, before anything refers to them. */
static filtra_status announce(adv_program *p, size_t first) {
  for (size_t i = first; i < p->instruction_count; i++) {
    const adv_instruction *in = &p->instructions[i];
    if (in->opcode == SpvOpPhi) FT_TRY(adv_define(p, in->result, in->type));
    if (in->opcode != SpvOpLabel) continue;
    FT_TRY(FT_GROW(p->blocks, p->block_count, p->block_capacity));
    p->block_of[in->result] = (uint32_t)p->block_count;
    p->blocks[p->block_count++] = (adv_block){
        .id = in->result, .at = (uint32_t)i, .merge = ADV_NO_BLOCK, .continues = ADV_NO_BLOCK};
  }
  return FILTRA_OK;
}

static filtra_status lower_function(adv_program *p, size_t first) {
  FT_TRY(announce(p, first));
  mark_indices(p, first);
  adv_block *block = NULL;
  for (size_t i = first + 1; i < p->instruction_count; i++) {
    const adv_instruction *in = &p->instructions[i];
    const uint32_t *w = in->words;
    switch (in->opcode) {
    case SpvOpFunctionEnd:
      if (i + 1 < p->instruction_count) return adv_unknown(p, &p->instructions[i + 1]);
      continue;
    case SpvOpPhi:
      continue;
    case SpvOpLabel:
      block = &p->blocks[p->block_of[in->result]];
      block->first = (uint32_t)p->op_count;
      continue;
    case SpvOpSelectionMerge:
      block->merge = p->block_of[w[1]];
      continue;
    case SpvOpLoopMerge:
      block->merge = p->block_of[w[1]];
      block->continues = p->block_of[w[2]];
      continue;
    default:
      break;
    }
    if (!ends_block(in))
      FT_TRY(adv_lower(p, in));
    else
      FT_TRY(end_block(p, block, in));
    block->count = (uint32_t)p->op_count - block->first;
  }
  return FILTRA_OK;
}

/* ---- the program ---- */

static filtra_status build(adv_program *p) {
  FT_TRY(adv_parse(p));
  size_t function = 0;
  while (function < p->instruction_count && p->instructions[function].opcode != SpvOpFunction)
    function++;
  FT_TRY(lower_globals(p, function));
  FT_TRY(lower_function(p, function));
  uint32_t count = p->size[0] * p->size[1] * p->size[2];
  if (!count || count > ADV_MAX_LANES)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: workgroups of %u x %u x %u invocations",
                   p->source.name, p->size[0], p->size[1], p->size[2]);
  return FILTRA_OK;
}

filtra_status adv_program_create(const adv_source *source, adv_program **out) {
  adv_program *p = *out = ft_calloc(1, sizeof *p);
  if (!p) return FILTRA_ERROR_HOST_MEMORY;
  p->source = *source;
  p->spec_copy = ft_calloc(source->spec_count + 1, sizeof *p->spec_copy);
  filtra_status status = p->spec_copy ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    if (source->spec_count)
      memcpy(p->spec_copy, source->spec, source->spec_count * sizeof *p->spec_copy);
    p->source.spec = p->spec_copy;
    status = build(p);
  }
  if (status) adv_program_destroy(out);
  return status;
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
  void *const lists[] = {p->spec_copy, p->masked,    p->instructions,   p->types,  p->values,
                         p->block_of,  p->spec_id,   p->builtin_id,     p->blocks, p->ops,
                         p->moves,     p->constants, p->no_contraction, p->lines,  p};
  *program = NULL;
  for (size_t i = 0; i < FT_COUNT(lists); i++)
    free(lists[i]);
}
