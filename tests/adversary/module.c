/* Reading a module: instructions by SPIRV-Tools, then types with their layouts, decorations and
 * constants. */
#include "adversary/program.h"

#include "base/memory.h"

#include <spirv-tools/libspirv.h>
#include <spirv/unified1/spirv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void adv_unknown(adv_program *p, const adv_instruction *in) {
  if (!p->failed)
    p->failed = ft_fail(FILTRA_ERROR_UNSUPPORTED, "kernel %s: the adversary does not know Op%s",
                        p->source.name, spvOpcodeString(in->opcode));
}

size_t adv_function(const adv_program *p) {
  return p->instruction_count - p->line_count;
}

const char *adv_opcode_name(const adv_program *p, uint32_t at) {
  static _Thread_local char name[40];
  snprintf(name, sizeof name, "Op%s",
           spvOpcodeString(p->instructions[adv_function(p) + at].opcode));
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

const adv_constant *adv_constant_of(const adv_program *p, uint32_t row) {
  for (size_t i = 0; i < p->constant_count; i++)
    if (p->constants[i].row == row) return &p->constants[i];
  return NULL;
}

uint64_t adv_constant_bits(const adv_program *p, uint32_t id) {
  const adv_constant *c = p->values[id].rows ? adv_constant_of(p, p->values[id].rows[0]) : NULL;
  return c ? c->bits : 0;
}

adv_value *adv_make_value(adv_program *p, const adv_instruction *in) {
  adv_value *v = &p->values[in->result];
  v->type = in->type;
  v->rows = adv_list(p->types[in->type].cells, sizeof *v->rows);
  return v;
}

adv_value *adv_define(adv_program *p, const adv_instruction *in) {
  const adv_cell *cells = adv_cells(p, in->type);
  adv_value *v = adv_make_value(p, in);
  for (uint32_t i = 0; i < p->types[in->type].cells; i++)
    v->rows[i] = adv_new_row(p, cells[i].type->bits == 64);
  return v;
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
  t->flat = adv_list(t->cells, sizeof *t->flat);
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

/* The literal of a decoration of `id`, or of its member if there is one in `what`: OpDecorate or
 * OpMemberDecorate, id, member, decoration. Otherwise `literal` stays. */
static void find_decoration(const adv_program *p, const uint32_t *what, uint32_t count,
                            uint32_t *literal) {
  const adv_instruction *end = p->instructions + adv_function(p);
  for (const adv_instruction *in = p->instructions; in < end; in++)
    if (in->opcode == what[0] && in->count > count &&
        !memcmp(in->words + 1, what + 1, (count - 1) * sizeof *what))
      *literal = in->words[count];
}

static void make_struct(adv_program *p, const adv_instruction *in, adv_type *t) {
  t->kind = ADV_STRUCT;
  t->count = in->count - 2u;
  t->members = adv_list(t->count, sizeof *t->members);
  t->offsets = adv_list(t->count, sizeof *t->offsets);
  for (uint32_t i = 0; i < t->count; i++) {
    const adv_type *m = &p->types[in->words[2 + i]];
    const uint32_t what[] = {SpvOpMemberDecorate, in->result, i, SpvDecorationOffset};
    t->members[i] = in->words[2 + i];
    t->offsets[i] = t->size;
    find_decoration(p, what, 4, &t->offsets[i]);
    t->size = t->offsets[i] + m->size;
    t->cells += m->cells;
  }
}

static void make_sequence(adv_program *p, const adv_instruction *in, adv_type *t) {
  const adv_type *e = &p->types[in->words[2]];
  t->kind = in->opcode == SpvOpTypeVector ? ADV_VECTOR : ADV_ARRAY;
  t->element = in->words[2];
  t->stride = e->size;
  const uint32_t what[] = {SpvOpDecorate, in->result, SpvDecorationArrayStride};
  find_decoration(p, what, 3, &t->stride);
  if (in->opcode == SpvOpTypeVector) t->count = in->words[3];
  if (in->opcode == SpvOpTypeArray) t->count = (uint32_t)adv_constant_bits(p, in->words[3]);
  t->size = t->count * t->stride;
  t->cells = t->count * e->cells;
}

static void make_pointer(adv_program *p, const adv_instruction *in, adv_type *t) {
  static const struct {
    uint32_t class;
    adv_space space;
  } spaces[] = {
      {SpvStorageClassFunction, ADV_PRIVATE},  {SpvStorageClassPrivate, ADV_PRIVATE},
      {SpvStorageClassInput, ADV_PRIVATE},     {SpvStorageClassWorkgroup, ADV_SHARED},
      {SpvStorageClassPushConstant, ADV_PUSH}, {SpvStorageClassPhysicalStorageBuffer, ADV_DEVICE}};
  size_t i = 0;
  while (i < FT_COUNT(spaces) && spaces[i].class != in->words[2])
    i++;
  if (i == FT_COUNT(spaces)) {
    adv_unknown(p, in);
    return;
  }
  *t = (adv_type){.kind = ADV_POINTER, .bits = 64, .size = 8, .cells = 1};
  t->element = in->words[3];
  t->space = spaces[i].space;
}

/* Its elements are dealt to a subgroup's invocations; each holds as many as any. */
static void make_matrix(adv_program *p, const adv_instruction *in, adv_type *t) {
  const uint32_t *w = in->words;
  const uint32_t subgroup = p->source.subgroup;
  const adv_type *e = &p->types[w[2]];
  if (adv_constant_bits(p, w[3]) != SpvScopeSubgroup || !subgroup) {
    adv_unknown(p, in);
    return;
  }
  *t = (adv_type){.kind = ADV_VECTOR,
                  .element = w[2],
                  .stride = e->size,
                  .rows = (uint32_t)adv_constant_bits(p, w[4]),
                  .columns = (uint32_t)adv_constant_bits(p, w[5]),
                  .use = (uint32_t)adv_constant_bits(p, w[6])};
  t->cells = t->count = (t->rows * t->columns + subgroup - 1) / subgroup;
  t->size = t->count * t->stride;
}

void adv_make_type(adv_program *p, const adv_instruction *in) {
  const uint32_t *w = in->words;
  adv_type *t = &p->types[in->result ? in->result : w[1]];
  switch (in->opcode) {
  case SpvOpTypeVoid:
  case SpvOpTypeFunction:
    break;
  case SpvOpTypeBool:
    *t = (adv_type){.kind = ADV_BOOL, .bits = 32, .size = 4, .cells = 1};
    break;
  case SpvOpTypeInt:
  case SpvOpTypeFloat:
    *t = (adv_type){.kind = in->opcode == SpvOpTypeInt ? ADV_INT : ADV_FLOAT,
                    .bits = w[2],
                    .size = w[2] / 8,
                    .cells = 1};
    break;
  case SpvOpTypeVector:
  case SpvOpTypeArray:
  case SpvOpTypeRuntimeArray:
    make_sequence(p, in, t);
    break;
  case SpvOpTypeStruct:
    make_struct(p, in, t);
    break;
  case SpvOpTypePointer:
    make_pointer(p, in, t);
    break;
  case ADV_TYPE_MATRIX:
    make_matrix(p, in, t);
    break;
  case SpvOpTypeForwardPointer:
    *t = (adv_type){.kind = ADV_POINTER, .bits = 64, .size = 8, .cells = 1, .space = ADV_DEVICE};
    break;
  default:
    adv_unknown(p, in);
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

static void mask_newer(adv_program *p) {
  enum { HEADER_WORDS = 5, NOTHING = 1 << 16 | SpvOpNop };
  const size_t count = p->source.bytes / sizeof *p->masked;
  p->masked = adv_list(count, sizeof *p->masked);
  memcpy(p->masked, p->source.words, p->source.bytes);
  for (size_t i = HEADER_WORDS, length; i < count; i += length) {
    length = p->masked[i] >> 16;
    if (!length || length > count - i) return; /* SPIRV-Tools will say so */
    for (size_t k = 0; is_newer(p->source.words + i) && k < length; k++)
      p->masked[i + k] = NOTHING;
  }
}

static spv_result_t keep_header(void *user, spv_endianness_t endian, uint32_t magic,
                                uint32_t version, uint32_t generator, uint32_t bound,
                                uint32_t reserved) {
  (void)endian, (void)magic, (void)version, (void)generator, (void)reserved;
  adv_program *p = user;
  p->bound = bound;
  p->types = adv_list(bound, sizeof *p->types);
  p->values = adv_list(bound, sizeof *p->values);
  p->ids = adv_list(bound, sizeof *p->ids);
  return SPV_SUCCESS;
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
  if (w[2] == SpvDecorationSpecId) p->ids[w[1]].spec = w[3] + 1;
  if (w[2] == SpvDecorationBuiltIn) p->ids[w[1]].builtin = w[3] + 1;
  if (w[2] == SpvDecorationNoContraction) p->ids[w[1]].no_contraction = true;
}

/* Lines move into a table by the number of the instruction in its function. */
static void number_instructions(adv_program *p) {
  size_t function = 0;
  while (function < p->instruction_count && p->instructions[function].opcode != SpvOpFunction)
    function++;
  p->line_count = p->instruction_count - function;
  p->lines = adv_list(p->line_count, sizeof *p->lines);
  for (size_t i = function; i < p->instruction_count; i++) {
    p->lines[i - function] = p->instructions[i].at;
    p->has_lines |= p->instructions[i].at != 0;
    p->instructions[i].at = (uint32_t)(i - function);
  }
}

void adv_parse(adv_program *p) {
  mask_newer(p);
  p->parsed = p->source.words;
  spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
  spv_diagnostic diagnostic = NULL;
  if (spvBinaryParse(context, p, p->masked, p->source.bytes / sizeof *p->masked, keep_header,
                     keep_instruction, &diagnostic))
    p->failed = ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: %s", p->source.name,
                        diagnostic ? diagnostic->error : "SPIRV-Tools cannot parse it");
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  number_instructions(p);
  for (size_t i = 0; i < adv_function(p); i++) {
    const adv_instruction *in = &p->instructions[i];
    if (in->opcode == SpvOpDecorate) note_decoration(p, in);
    if (in->opcode == SpvOpExtInstImport && !strcmp((const char *)(in->words + 2), "GLSL.std.450"))
      p->glsl = in->result;
  }
}
