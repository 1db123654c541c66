/* Reading a module: instructions by SPIRV-Tools, then types with their layouts, decorations and
 * constants. */
#include "adversary/program.h"

#include "base/memory.h"

#include <spirv-tools/libspirv.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

filtra_status adv_unknown(const adv_program *p, const adv_instruction *in) {
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: the adversary does not know Op%s",
                 p->source.name, spvOpcodeString(in->opcode));
}

/* ---- rows ---- */

uint32_t adv_new_row(adv_program *p, bool wide) {
  if (wide) p->row_bytes = (p->row_bytes + 7) & ~7u;
  uint32_t row = p->row_bytes;
  p->row_bytes += wide ? 8 : 4;
  return row;
}

uint32_t adv_constant_row(adv_program *p, bool wide, uint64_t bits) {
  for (size_t i = 0; i < p->constant_count; i++)
    if (p->constants[i].wide == wide && p->constants[i].bits == bits) return p->constants[i].row;
  if (FT_GROW(p->constants, p->constant_count, p->constant_capacity)) abort();
  uint32_t row = adv_new_row(p, wide);
  p->constants[p->constant_count++] = (adv_constant){row, wide, bits};
  return row;
}

uint64_t adv_constant_bits(const adv_program *p, uint32_t id) {
  for (size_t i = 0; p->values[id].rows && i < p->constant_count; i++)
    if (p->constants[i].row == p->values[id].rows[0]) return p->constants[i].bits;
  return 0;
}

filtra_status adv_define(adv_program *p, uint32_t id, uint32_t type) {
  const adv_type *t = &p->types[type];
  adv_value *v = &p->values[id];
  adv_cell *cells = ft_calloc(ADV_MAX_CELLS, sizeof *cells);
  v->type = type;
  v->rows = ft_calloc(t->cells + 1, sizeof *v->rows);
  if (!v->rows || !cells) return FILTRA_ERROR_HOST_MEMORY;
  uint32_t count = 0;
  adv_flatten(p, type, 0, cells, &count);
  for (uint32_t i = 0; i < count; i++)
    v->rows[i] = adv_new_row(p, cells[i].type->bits == 64);
  free(cells);
  return FILTRA_OK;
}

void adv_flatten(const adv_program *p, uint32_t type, uint32_t offset, adv_cell *cells,
                 uint32_t *count) {
  const adv_type *t = &p->types[type];
  if (t->kind == ADV_STRUCT)
    for (uint32_t i = 0; i < t->count; i++)
      adv_flatten(p, t->members[i], offset + t->offsets[i], cells, count);
  else if (t->kind == ADV_VECTOR || t->kind == ADV_ARRAY)
    for (uint32_t i = 0; i < t->count; i++)
      adv_flatten(p, t->element, offset + i * t->stride, cells, count);
  else
    cells[(*count)++] = (adv_cell){t, offset};
}

/* ---- types ---- */

/* The literal of a decoration of `id`; member -1: of the whole. */
static bool find_decoration(const adv_program *p, uint32_t id, int member, uint32_t which,
                            uint32_t *literal) {
  for (size_t i = 0; i < p->instruction_count; i++) {
    const adv_instruction *in = &p->instructions[i];
    const uint32_t *w = in->words;
    if (in->opcode == SpvOpFunction) return false;
    if (member < 0 && in->opcode == SpvOpDecorate && w[1] == id && w[2] == which) {
      *literal = in->count > 3 ? w[3] : 0;
      return true;
    }
    if (member >= 0 && in->opcode == SpvOpMemberDecorate && w[1] == id &&
        w[2] == (uint32_t)member && w[3] == which) {
      *literal = w[4];
      return true;
    }
  }
  return false;
}

static filtra_status make_struct(adv_program *p, const adv_instruction *in, adv_type *t) {
  t->kind = ADV_STRUCT;
  t->count = in->count - 2u;
  t->members = ft_calloc(t->count + 1, sizeof *t->members);
  t->offsets = ft_calloc(t->count + 1, sizeof *t->offsets);
  if (!t->members || !t->offsets) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t i = 0; i < t->count; i++) {
    const adv_type *m = &p->types[in->words[2 + i]];
    t->members[i] = in->words[2 + i];
    if (!find_decoration(p, in->result, (int)i, SpvDecorationOffset, &t->offsets[i]))
      t->offsets[i] = t->size;
    t->size = t->offsets[i] + m->size;
    t->cells += m->cells;
  }
  return FILTRA_OK;
}

static void make_sequence(adv_program *p, const adv_instruction *in, adv_type *t) {
  const adv_type *e = &p->types[in->words[2]];
  t->kind = in->opcode == SpvOpTypeVector ? ADV_VECTOR : ADV_ARRAY;
  t->element = in->words[2];
  t->stride = e->size;
  find_decoration(p, in->result, -1, SpvDecorationArrayStride, &t->stride);
  if (in->opcode == SpvOpTypeVector) t->count = in->words[3];
  if (in->opcode == SpvOpTypeArray) t->count = (uint32_t)adv_constant_bits(p, in->words[3]);
  t->size = t->count * t->stride;
  t->cells = t->count * e->cells;
}

static filtra_status make_pointer(adv_program *p, const adv_instruction *in, adv_type *t) {
  *t = (adv_type){.kind = ADV_POINTER, .bits = 64, .size = 8, .cells = 1};
  t->element = in->words[3];
  switch (in->words[2]) {
  case SpvStorageClassFunction:
  case SpvStorageClassPrivate:
  case SpvStorageClassInput:
    t->space = ADV_PRIVATE;
    return FILTRA_OK;
  case SpvStorageClassWorkgroup:
    t->space = ADV_SHARED;
    return FILTRA_OK;
  case SpvStorageClassPushConstant:
    t->space = ADV_PUSH;
    return FILTRA_OK;
  case SpvStorageClassPhysicalStorageBuffer:
    t->space = ADV_DEVICE;
    return FILTRA_OK;
  default:
    return adv_unknown(p, in);
  }
}

filtra_status adv_make_type(adv_program *p, const adv_instruction *in) {
  adv_type *t = &p->types[in->result ? in->result : in->words[1]];
  switch (in->opcode) {
  case SpvOpTypeVoid:
  case SpvOpTypeFunction:
    *t = (adv_type){.kind = ADV_VOID};
    return FILTRA_OK;
  case SpvOpTypeBool:
    *t = (adv_type){.kind = ADV_BOOL, .bits = 32, .size = 4, .cells = 1};
    return FILTRA_OK;
  case SpvOpTypeInt:
  case SpvOpTypeFloat:
    *t = (adv_type){.kind = in->opcode == SpvOpTypeInt ? ADV_INT : ADV_FLOAT,
                    .bits = in->words[2],
                    .size = in->words[2] / 8,
                    .cells = 1,
                    .is_signed = in->opcode == SpvOpTypeInt && in->words[3]};
    if (t->bits == 32 || (t->bits == 64 && t->kind == ADV_INT)) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: the adversary does not know %s of %u bits",
                   p->source.name, t->kind == ADV_INT ? "integers" : "floats", t->bits);
  case SpvOpTypeVector:
  case SpvOpTypeArray:
  case SpvOpTypeRuntimeArray:
    make_sequence(p, in, t);
    return FILTRA_OK;
  case SpvOpTypeStruct:
    return make_struct(p, in, t);
  case SpvOpTypePointer:
    return make_pointer(p, in, t);
  case SpvOpTypeForwardPointer:
    *t = (adv_type){.kind = ADV_POINTER, .bits = 64, .size = 8, .cells = 1, .space = ADV_DEVICE};
    return FILTRA_OK;
  default:
    return adv_unknown(p, in);
  }
}

/* ---- the whole ---- */

static spv_result_t keep_header(void *user, spv_endianness_t endian, uint32_t magic,
                                uint32_t version, uint32_t generator, uint32_t bound,
                                uint32_t reserved) {
  (void)endian, (void)magic, (void)version, (void)generator, (void)reserved;
  adv_program *p = user;
  p->bound = bound;
  p->types = ft_calloc(bound, sizeof *p->types);
  p->values = ft_calloc(bound, sizeof *p->values);
  p->block_of = ft_calloc(bound, sizeof *p->block_of);
  p->spec_id = ft_calloc(bound, sizeof *p->spec_id);
  p->builtin_id = ft_calloc(bound, sizeof *p->builtin_id);
  p->no_contraction = ft_calloc(bound, sizeof *p->no_contraction);
  bool all =
      p->types && p->values && p->block_of && p->spec_id && p->builtin_id && p->no_contraction;
  return all ? SPV_SUCCESS : SPV_ERROR_OUT_OF_MEMORY;
}

/* Lines are no instructions here: a module with them numbers the others as one without. */
static spv_result_t keep_instruction(void *user, const spv_parsed_instruction_t *from) {
  adv_program *p = user;
  static _Thread_local uint32_t line;
  if (!p->instruction_count) line = 0;
  if (from->opcode == SpvOpLine || from->opcode == SpvOpNoLine) {
    line = from->opcode == SpvOpLine ? from->words[2] : 0;
    return SPV_SUCCESS;
  }
  if (FT_GROW(p->instructions, p->instruction_count, p->instruction_capacity))
    return SPV_ERROR_OUT_OF_MEMORY;
  p->instructions[p->instruction_count++] =
      (adv_instruction){.words = from->words, /* of the source, whose byte order is ours */
                        .count = from->num_words,
                        .opcode = from->opcode,
                        .type = from->type_id,
                        .result = from->result_id,
                        .at = line};
  return SPV_SUCCESS;
}

static void note_decoration(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  if (w[2] == SpvDecorationSpecId) p->spec_id[w[1]] = w[3] + 1;
  if (w[2] == SpvDecorationBuiltIn) p->builtin_id[w[1]] = w[3] + 1;
  if (w[2] == SpvDecorationNoContraction) p->no_contraction[w[1]] = true;
}

/* Lines move into a table by the number of the instruction in its function. */
static filtra_status number_instructions(adv_program *p, size_t function) {
  p->line_count = p->instruction_count - function;
  p->lines = ft_calloc(p->line_count + 1, sizeof *p->lines);
  if (!p->lines) return FILTRA_ERROR_HOST_MEMORY;
  bool any = false;
  for (size_t i = function; i < p->instruction_count; i++) {
    p->lines[i - function] = p->instructions[i].at;
    any = any || p->instructions[i].at;
    p->instructions[i].at = (uint32_t)(i - function);
  }
  if (any) return FILTRA_OK;
  free(p->lines);
  p->lines = NULL;
  return FILTRA_OK;
}

filtra_status adv_parse(adv_program *p) {
  spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
  spv_diagnostic diagnostic = NULL;
  spv_result_t result =
      spvBinaryParse(context, p, p->source.words, p->source.bytes / sizeof *p->source.words,
                     keep_header, keep_instruction, &diagnostic);
  filtra_status status = FILTRA_OK;
  if (result)
    status = ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: %s", p->source.name,
                     diagnostic ? diagnostic->error : "SPIRV-Tools cannot parse it");
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  FT_TRY(status);
  size_t function = 0;
  while (function < p->instruction_count && p->instructions[function].opcode != SpvOpFunction)
    function++;
  FT_TRY(number_instructions(p, function));
  for (size_t i = 0; i < function; i++) {
    const adv_instruction *in = &p->instructions[i];
    if (in->opcode == SpvOpDecorate) note_decoration(p, in);
    if (in->opcode == SpvOpExtInstImport && !strcmp((const char *)(in->words + 2), "GLSL.std.450"))
      p->glsl = in->result;
  }
  return FILTRA_OK;
}
