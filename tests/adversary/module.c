/* Reading a module: instructions by SPIRV-Tools, then types with their layouts, decorations and
 * constants. */
#include "adversary/program.h"

#include "base/memory.h"

#include <spirv-tools/libspirv.h>
#include <spirv/unified1/spirv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

filtra_status adv_unknown(const adv_program *p, const adv_instruction *in) {
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: the adversary does not know Op%s",
                 p->source.name, spvOpcodeString(in->opcode));
}

const char *adv_opcode_name(const adv_program *p, uint32_t at) {
  static _Thread_local char name[40];
  const size_t function = p->instruction_count - p->line_count;
  snprintf(name, sizeof name, "Op%s", spvOpcodeString(p->instructions[function + at].opcode));
  return name;
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
  const adv_cell *cells = adv_cells(p, type);
  adv_value *v = &p->values[id];
  v->type = type;
  v->rows = ft_calloc(p->types[type].cells + 1, sizeof *v->rows);
  if (!v->rows) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t i = 0; i < p->types[type].cells; i++)
    v->rows[i] = adv_new_row(p, cells[i].type->bits == 64);
  return FILTRA_OK;
}

static adv_cell *flatten(const adv_program *p, const adv_type *t, uint32_t offset, adv_cell *to) {
  if (t->kind == ADV_STRUCT) {
    for (uint32_t i = 0; i < t->count; i++)
      to = flatten(p, &p->types[t->members[i]], offset + t->offsets[i], to);
  } else if (t->kind == ADV_VECTOR || t->kind == ADV_ARRAY) {
    for (uint32_t i = 0; i < t->count; i++)
      to = flatten(p, &p->types[t->element], offset + i * t->stride, to);
  } else {
    *to++ = (adv_cell){t, offset};
  }
  return to;
}

const adv_cell *adv_cells(const adv_program *p, uint32_t type) {
  adv_type *t = &p->types[type];
  if (t->flat) return t->flat;
  t->flat = ft_calloc(t->cells + 1, sizeof *t->flat);
  if (!t->flat) abort();
  flatten(p, t, 0, t->flat);
  return t->flat;
}

const adv_type *adv_scalar(const adv_program *p, uint32_t type) {
  const adv_type *t = &p->types[type];
  return t->kind == ADV_VECTOR ? &p->types[t->element] : t;
}

const adv_type *adv_type_of(const adv_program *p, uint32_t id) {
  return adv_scalar(p, p->values[id].type);
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

/* Its elements are dealt to a subgroup's invocations; each holds as many as any. */
static filtra_status make_matrix(adv_program *p, const adv_instruction *in, adv_type *t) {
  const uint32_t *w = in->words;
  const uint32_t subgroup = p->source.subgroup ? p->source.subgroup : p->source.runs;
  const adv_type *e = &p->types[w[2]];
  if (adv_constant_bits(p, w[3]) != SpvScopeSubgroup || !subgroup) return adv_unknown(p, in);
  *t = (adv_type){.kind = ADV_VECTOR,
                  .element = w[2],
                  .stride = e->size,
                  .rows = (uint32_t)adv_constant_bits(p, w[4]),
                  .columns = (uint32_t)adv_constant_bits(p, w[5]),
                  .use = (uint32_t)adv_constant_bits(p, w[6])};
  t->cells = t->count = (t->rows * t->columns + subgroup - 1) / subgroup;
  t->size = t->count * t->stride;
  return FILTRA_OK;
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
    return FILTRA_OK;
  case SpvOpTypeVector:
  case SpvOpTypeArray:
  case SpvOpTypeRuntimeArray:
    make_sequence(p, in, t);
    return FILTRA_OK;
  case SpvOpTypeStruct:
    return make_struct(p, in, t);
  case SpvOpTypePointer:
    return make_pointer(p, in, t);
  case ADV_TYPE_MATRIX:
    return make_matrix(p, in, t);
  case SpvOpTypeForwardPointer:
    *t = (adv_type){.kind = ADV_POINTER, .bits = 64, .size = 8, .cells = 1, .space = ADV_DEVICE};
    return FILTRA_OK;
  default:
    return adv_unknown(p, in);
  }
}

/* ---- the whole ---- */

/* What is younger than Debian's SPIRV-Tools, which is given nothing in its place. */
static bool is_newer(const uint32_t *words) {
  enum { COOPERATIVE_MATRIX = 6022, MAXIMALLY_RECONVERGES = 6023 };
  switch (words[0] & 0xffff) {
  case SpvOpCapability:
    return words[1] == COOPERATIVE_MATRIX;
  case SpvOpExecutionMode:
    return words[2] == MAXIMALLY_RECONVERGES;
  default:
    return (words[0] & 0xffff) >= ADV_TYPE_MATRIX && (words[0] & 0xffff) <= ADV_MATRIX_LENGTH;
  }
}

static filtra_status mask_newer(adv_program *p) {
  enum { HEADER_WORDS = 5, NOTHING = 1 << 16 | SpvOpNop };
  const size_t count = p->source.bytes / sizeof *p->masked;
  p->masked = ft_calloc(count + 1, sizeof *p->masked);
  if (!p->masked) return FILTRA_ERROR_HOST_MEMORY;
  memcpy(p->masked, p->source.words, p->source.bytes);
  for (size_t i = HEADER_WORDS, length; i < count; i += length) {
    length = p->masked[i] >> 16;
    if (!length || length > count - i) return FILTRA_OK; /* SPIRV-Tools will say so */
    for (size_t k = 0; is_newer(p->source.words + i) && k < length; k++)
      p->masked[i + k] = NOTHING;
  }
  return FILTRA_OK;
}

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
  const uint32_t *words = p->source.words + (from->words - p->masked);
  if (words < p->parsed) return SPV_SUCCESS; /* within one that was masked */
  p->parsed = words + (words[0] >> 16);
  if (FT_GROW(p->instructions, p->instruction_count, p->instruction_capacity))
    return SPV_ERROR_OUT_OF_MEMORY;
  adv_instruction in = {.words = words,
                        .count = (uint16_t)(words[0] >> 16),
                        .opcode = (uint16_t)words[0],
                        .type = from->type_id,
                        .result = from->result_id,
                        .at = line};
  if (in.opcode == ADV_TYPE_MATRIX) in.result = words[1];
  if (in.opcode == ADV_MATRIX_LOAD || in.opcode == ADV_MATRIX_MULTIPLY ||
      in.opcode == ADV_MATRIX_LENGTH) {
    in.type = words[1];
    in.result = words[2];
  }
  p->instructions[p->instruction_count++] = in;
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
  FT_TRY(mask_newer(p));
  p->parsed = p->source.words;
  spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
  spv_diagnostic diagnostic = NULL;
  spv_result_t result = spvBinaryParse(context, p, p->masked, p->source.bytes / sizeof *p->masked,
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
