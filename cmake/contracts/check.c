#include "check.h"

#include "common/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the contracts ---- */

typedef enum kind { KIND_tensor, KIND_uint, KIND_int, KIND_float, KIND_bool } kind;
static const char *const KINDS[] = {"an address", "uint", "int", "float", "bool"};

typedef struct member {
  const char *name; /* as declared: an array with its length */
  kind kind;
  uint32_t bytes;
} member;

typedef struct constant {
  const char *name;
  kind kind;
  uint32_t id;
} constant;

typedef struct contract {
  const char *kernel; /* "folder_file" */
  const member *members;
  const constant *constants; /* both end with a name that is NULL */
} contract;

#undef FT_DECLARE_ARGUMENTS
#undef FT_DECLARE_CONSTANTS
#undef FT_DECLARE_VALUES
#undef FT_KERNEL
#define FT_DECLARE_ARGUMENTS(name)
#define FT_DECLARE_CONSTANTS(name)
#define FT_DECLARE_VALUES(name)
#define TENSOR_ROW(type, name)              {#name, KIND_tensor, sizeof(uint64_t)},
#define BYTES(type, name)                   sizeof(struct { FT_C_##type name; })
#define SCALAR_ROW(type, name)              {#name, KIND_##type, BYTES(type, name)},
#define CONSTANT_ROW(id, type, name, value) {#name, KIND_##type, id},
#define FT_KERNEL(kernel, arguments, constants)                                                    \
  {#kernel, (const member[]){arguments##_TENSORS(TENSOR_ROW) arguments##_SCALARS(SCALAR_ROW){0}},  \
   (const constant[]){constants##_CONSTANTS(CONSTANT_ROW){0}}},

static const contract contracts[] = {
#include "shaders/contracts.inc"
};

/* Whether a module's name, up to its variant, is the kernel's. */
static bool is_of(const contract *c, const char *name) {
  const size_t length = strcspn(name, ".");
  if (strlen(c->kernel) != length) return false;
  for (size_t i = 0; i < length; i++)
    if (c->kernel[i] != (name[i] == '/' ? '_' : name[i])) return false;
  return true;
}

static const contract *contract_of(const char *name) {
  for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++)
    if (is_of(&contracts[i], name)) return &contracts[i];
  return NULL;
}

/* ---- a module: the numbers are those of the SPIR-V specification ---- */

enum {
  MAGIC = 0x07230203,
  HEADER_WORDS = 5,
  OP_TYPE_INT = 21,
  OP_TYPE_FLOAT = 22,
  OP_TYPE_ARRAY = 28,
  OP_TYPE_STRUCT = 30,
  OP_TYPE_POINTER = 32,
  OP_CONSTANT = 43,
  OP_SPEC_CONSTANT_TRUE = 48,
  OP_SPEC_CONSTANT_FALSE = 49,
  OP_SPEC_CONSTANT = 50,
  OP_VARIABLE = 59,
  OP_DECORATE = 71,
  OP_MEMBER_DECORATE = 72,
  SPEC_ID = 1,
  ARRAY_STRIDE = 6,
  OFFSET = 35,
  PUSH_CONSTANT = 9,
  PHYSICAL_STORAGE_BUFFER = 5349
};

typedef struct module {
  const uint32_t *words;
  size_t count;
  const uint32_t **of; /* by id: the instruction that makes it */
  const contract *contract;
  char *message;
  size_t size;
} module;

#define FAIL(m, ...) (snprintf((m)->message, (m)->size, __VA_ARGS__), false)

static uint32_t opcode(const uint32_t *at) {
  return at ? at[0] & 0xffff : 0;
}

static const uint32_t *next(const module *m, const uint32_t *at) {
  at += at[0] >> 16;
  return at < m->words + m->count ? at : NULL;
}

/* Where an instruction has the id that it makes; 0: none, or none that is asked for. */
static uint32_t result_of(uint32_t op) {
  if (op >= OP_TYPE_INT && op <= OP_TYPE_POINTER) return 1;
  return op == OP_CONSTANT || op == OP_VARIABLE ||
                 (op >= OP_SPEC_CONSTANT_TRUE && op <= OP_SPEC_CONSTANT)
             ? 2
             : 0;
}

static bool read_ids(module *m) {
  if (m->count <= HEADER_WORDS || m->words[0] != MAGIC) return FAIL(m, "is no SPIR-V");
  m->of = calloc(m->words[3], sizeof *m->of);
  if (!m->of) return FAIL(m, "out of memory");
  for (const uint32_t *at = m->words + HEADER_WORDS; at; at = next(m, at)) {
    const uint32_t length = at[0] >> 16, result = result_of(opcode(at));
    if (!length || length > m->words + m->count - at) return FAIL(m, "is cut short");
    if (result && result < length && at[result] < m->words[3]) m->of[at[result]] = at;
  }
  return true;
}

/* The value of a decoration of an id; UINT32_MAX: there is none. */
static uint32_t decoration(const module *m, uint32_t id, uint32_t which) {
  for (const uint32_t *at = m->words + HEADER_WORDS; at; at = next(m, at))
    if (opcode(at) == OP_DECORATE && at[1] == id && at[2] == which) return at[3];
  return UINT32_MAX;
}

static uint32_t offset_of(const module *m, uint32_t structure, uint32_t i) {
  for (const uint32_t *at = m->words + HEADER_WORDS; at; at = next(m, at))
    if (opcode(at) == OP_MEMBER_DECORATE && at[1] == structure && at[2] == i && at[3] == OFFSET)
      return at[4];
  return UINT32_MAX;
}

static bool is_kind(const module *m, uint32_t type, kind wanted) {
  const uint32_t *t = m->of[type];
  switch (wanted) {
  case KIND_tensor:
    return opcode(t) == OP_TYPE_POINTER && t[2] == PHYSICAL_STORAGE_BUFFER;
  case KIND_uint:
    return opcode(t) == OP_TYPE_INT && t[2] == 32 && !t[3];
  case KIND_int:
    return opcode(t) == OP_TYPE_INT && t[2] == 32 && t[3];
  case KIND_float:
    return opcode(t) == OP_TYPE_FLOAT && t[2] == 32;
  default:
    return false;
  }
}

/* Of 4 bytes each, where it is an array. */
static bool is_member(const module *m, uint32_t type, const member *x) {
  const uint32_t *t = m->of[type];
  if (!strchr(x->name, '[')) return is_kind(m, type, x->kind);
  if (opcode(t) != OP_TYPE_ARRAY || decoration(m, type, ARRAY_STRIDE) != 4) return false;
  const uint32_t *length = m->of[t[3]];
  return opcode(length) == OP_CONSTANT && 4 * length[3] == x->bytes && is_kind(m, t[2], x->kind);
}

/* The block of push constants, or the structure that is all of it (FT_ARGUMENTS_COPIED). */
static const uint32_t *block_of(const module *m) {
  for (const uint32_t *at = m->words + HEADER_WORDS; at; at = next(m, at)) {
    if (opcode(at) != OP_VARIABLE || at[3] != PUSH_CONSTANT) continue;
    const uint32_t *pointer = m->of[at[1]];
    const uint32_t *block = opcode(pointer) == OP_TYPE_POINTER ? m->of[pointer[3]] : NULL;
    if (opcode(block) != OP_TYPE_STRUCT) return NULL;
    const uint32_t *only = block[0] >> 16 == 3 ? m->of[block[2]] : NULL;
    return opcode(only) == OP_TYPE_STRUCT && offset_of(m, block[1], 0) == 0 ? only : block;
  }
  return NULL;
}

static bool check_block(const module *m) {
  const uint32_t *block = block_of(m);
  if (!block) return FAIL(m, "has no block of arguments");
  const uint32_t count = (block[0] >> 16) - 2;
  uint32_t i = 0, offset = 0;
  for (const member *x = m->contract->members; x->name; x++, i++) {
    if (i >= count) return FAIL(m, "has no argument %s, which the contract has", x->name);
    const uint32_t there = offset_of(m, block[1], i);
    if (there != offset)
      return FAIL(m, "has argument %s at byte %u, C has it at %u", x->name, there, offset);
    if (!is_member(m, block[2 + i], x))
      return FAIL(m, "has argument %s of another type than %s", x->name, KINDS[x->kind]);
    offset += x->bytes;
  }
  return i == count || FAIL(m, "has %u arguments, the contract %u", count, i);
}

static bool check_constant(const module *m, const uint32_t *at, uint32_t id) {
  const uint32_t op = opcode(at);
  const constant *x = m->contract->constants;
  while (x->name && x->id != id)
    x++;
  if (!x->name && (id == 0 || id == FT_SEQUENCE_ID))
    return op == OP_SPEC_CONSTANT || FAIL(m, "has constant %u of another type than uint", id);
  if (!x->name) return FAIL(m, "has a constant %u, which the contract has not", id);
  const bool fits = x->kind == KIND_bool
                        ? op == OP_SPEC_CONSTANT_TRUE || op == OP_SPEC_CONSTANT_FALSE
                        : op == OP_SPEC_CONSTANT && is_kind(m, at[1], x->kind);
  return fits ||
         FAIL(m, "has constant %u, %s, of another type than %s", id, x->name, KINDS[x->kind]);
}

static bool check_constants(const module *m) {
  for (const uint32_t *at = m->words + HEADER_WORDS; at; at = next(m, at))
    if (opcode(at) == OP_DECORATE && at[2] == SPEC_ID && !check_constant(m, m->of[at[1]], at[3]))
      return false;
  return true;
}

bool contract_holds(const char *name, const uint32_t *words, size_t count, char *message,
                    size_t size) {
  module m = {words, count, NULL, contract_of(name), message, size};
  const bool holds = (m.contract || FAIL(&m, "has no contract")) && read_ids(&m) &&
                     check_block(&m) && check_constants(&m);
  free((void *)m.of);
  return holds;
}

bool contracts_are_used(const ft_kernel_source *modules, char *message, size_t size) {
  for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++) {
    const contract *c = &contracts[i];
    uint32_t id = 1;
    for (const constant *x = c->constants; x->name; x++, id++)
      if (x->id != id) {
        snprintf(message, size, "%s: constant %s has id %u, and is number %u of the contract",
                 c->kernel, x->name, x->id, id);
        return false;
      }
    const ft_kernel_source *source = modules;
    while (source->name && !is_of(c, source->name))
      source++;
    if (source->name) continue;
    snprintf(message, size, "%s: there is a contract, and no kernel", c->kernel);
    return false;
  }
  return true;
}
