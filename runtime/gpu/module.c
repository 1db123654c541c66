/* Checks an application's SPIR-V modules as far as possible without compiling, and keeps them while
 * the device is open. Also adapts all modules to the device, for pipeline.c. Called by ops/kernel.c
 * and pipeline.c. */
#include "gpu/internal.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the SPIR-V specification, sections 2.3 and 3. */
enum {
  MAGIC = 0x07230203,
  HEADER_WORDS = 5,
  NEWEST_VERSION = 0x00010600,
  OP_EXTENSION = 10,
  OP_ENTRY_POINT = 15,
  OP_EXECUTION_MODE = 16,
  OP_FUNCTION = 54,
  OP_FUNCTION_END = 56,
  OP_CAPABILITY = 17,
  OP_DECORATE = 71,
  MODEL_GL_COMPUTE = 5,
  DECORATION_BINDING = 33,
  MAIN = 0x6e69616d /* "main" */
};

/* Whether the device has a capability, by SPIR-V's number. */
static bool capable(const ft_caps *caps, uint32_t capability) {
  switch (capability) {
  case 0:    /* Matrix */
  case 1:    /* Shader */
  case 5347: /* PhysicalStorageBufferAddresses */
    return true;
  case 11: /* Int64 */
    return caps->info.int64;
  case 9: /* Float16 */
    return caps->info.fp16;
  case 4433: /* StorageBuffer16BitAccess */
    return caps->storage16;
  case 61: /* GroupNonUniform, Vote, Arithmetic, Ballot, Shuffle, ShuffleRelative */
  case 62:
  case 63:
  case 64:
  case 65:
  case 66:
    return caps->subgroup;
  default:
    return false;
  }
}

static filtra_status check_instruction(const filtra_device *dev, const char *name,
                                       const uint32_t *at, uint32_t length, bool *main) {
  uint32_t op = at[0] & 0xffff;
  if (op == OP_CAPABILITY && length > 1 && !capable(&dev->caps, at[1]))
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "kernel %s: SPIR-V capability %u is not among what is offered on %s", name,
                   at[1], dev->caps.info.name);
  if (op == OP_DECORATE && length > 2 && at[2] == DECORATION_BINDING)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "kernel %s: has a descriptor; tensors are addresses in push constants", name);
  if (op == OP_ENTRY_POINT && length > 4 && at[1] == MODEL_GL_COMPUTE && at[3] == MAIN && !at[4])
    *main = true;
  return FILTRA_OK;
}

static filtra_status check(const filtra_device *dev, const char *name, const uint32_t *words,
                           size_t count) {
  if (count < HEADER_WORDS || words[0] != MAGIC)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: %zu words that are no SPIR-V (magic number)",
                   name, count);
  if (words[1] > NEWEST_VERSION)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: SPIR-V %u.%u, accepted are 1.0 to 1.6", name,
                   words[1] >> 16 & 0xff, words[1] >> 8 & 0xff);
  bool main = false;
  uint32_t last = 0;
  for (size_t i = HEADER_WORDS; i < count; i += words[i] >> 16) {
    uint32_t length = words[i] >> 16;
    if (!length || length > count - i)
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "kernel %s: the SPIR-V instruction at word %zu has %u words, %zu are left",
                     name, i, length, count - i);
    FT_TRY(check_instruction(dev, name, words + i, length, &main));
    last = words[i] & 0xffff;
  }
  if (main && last != OP_FUNCTION_END)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: the SPIR-V ends within a function", name);
  return main ? FILTRA_OK
              : ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: has no compute entry point \"main\"",
                        name);
}

/* ---- push constants ---- */

/* From the SPIR-V specification, sections 3.7, 3.20 and 3.49. */
enum {
  OP_TYPE_INT = 21,
  OP_TYPE_FLOAT = 22,
  OP_TYPE_STRUCT = 30,
  OP_TYPE_POINTER = 32,
  OP_VARIABLE = 59,
  OP_MEMBER_DECORATE = 72,
  DECORATION_OFFSET = 35,
  CLASS_PUSH_CONSTANT = 9,
  CLASS_BUFFER = 5349 /* PhysicalStorageBuffer: an address */
};

/* The next instruction `op` after `at` (NULL: the first) that has at least `least` words and
 * `value` as its word `index`; NULL: none. */
static const uint32_t *next_of(const ft_module *m, const uint32_t *at, uint32_t op, uint32_t least,
                               uint32_t index, uint32_t value) {
  const uint32_t *end = m->words + m->bytes / sizeof *m->words;
  at = at ? at + (at[0] >> 16) : m->words + HEADER_WORDS;
  for (; at < end; at += at[0] >> 16)
    if ((at[0] & 0xffff) == op && at[0] >> 16 >= least && at[index] == value) return at;
  return NULL;
}

/* Bytes of a member's type; 0: it is neither a number nor an address. */
static uint32_t member_bytes(const ft_module *m, uint32_t type, bool *address) {
  const uint32_t *at = next_of(m, NULL, OP_TYPE_POINTER, 4, 1, type);
  *address = at && at[2] == CLASS_BUFFER;
  if (*address) return sizeof(uint64_t);
  at = next_of(m, NULL, OP_TYPE_INT, 3, 1, type);
  if (!at) at = next_of(m, NULL, OP_TYPE_FLOAT, 3, 1, type);
  return at ? at[2] / 8 : 0;
}

ft_push_block ft_module_push(const ft_module *m) {
  ft_push_block block = {.known = true};
  const uint32_t *variable = next_of(m, NULL, OP_VARIABLE, 4, 3, CLASS_PUSH_CONSTANT);
  const uint32_t *pointer = variable ? next_of(m, NULL, OP_TYPE_POINTER, 4, 1, variable[1]) : NULL;
  const uint32_t *type = pointer ? next_of(m, NULL, OP_TYPE_STRUCT, 2, 1, pointer[3]) : NULL;
  if (!type) return (ft_push_block){0};
  const uint32_t *at = NULL;
  while ((at = next_of(m, at, OP_MEMBER_DECORATE, 4, 1, type[1]))) {
    if (at[3] != DECORATION_OFFSET || at[0] >> 16 < 5 || at[2] >= (type[0] >> 16) - 2) continue;
    bool address;
    uint32_t bytes = member_bytes(m, type[2 + at[2]], &address), end = at[4] + bytes;
    block.addresses += address;
    block.known = block.known && (address || bytes == sizeof(uint32_t));
    if (bytes && end > block.bytes) block.bytes = end;
  }
  return block;
}

/* ---- modules of applications ---- */

filtra_status ft_module_get(filtra_device *dev, const char *name, const uint32_t *words,
                            size_t count, const ft_module **out) {
  struct ft_pipeline_store *store = dev->pipelines;
  for (size_t i = 0; i < store->module_count; i++) {
    const ft_module *m = *out = store->modules[i];
    if (m->bytes == count * sizeof *words && !memcmp(m->words, words, m->bytes) &&
        !strcmp(m->name, name))
      return FILTRA_OK;
  }
  FT_TRY(check(dev, name, words, count));
  FT_TRY(FT_GROW(store->modules, store->module_count, store->module_capacity));
  size_t bytes = count * sizeof *words, length = strlen(name) + 1;
  ft_module *m = ft_calloc(1, sizeof *m + bytes + length);
  if (!m) return FILTRA_ERROR_HOST_MEMORY;
  uint32_t *copy = (uint32_t *)(m + 1);
  char *text = (char *)(copy + count);
  memcpy(copy, words, bytes);
  memcpy(text, name, length);
  *m = (ft_module){.name = text, .words = copy, .bytes = bytes};
  *out = store->modules[store->module_count++] = m;
  return FILTRA_OK;
}

const char *ft_module_name(const ft_module *module) {
  return module->name;
}

void ft_modules_destroy(struct ft_pipeline_store *store) {
  for (size_t i = 0; i < store->module_count; i++)
    free(store->modules[i]);
  free(store->modules);
}

/* ---- convergence ---- */

/* Offset of the memory operands in a load or store, in words; 0 for other instructions. Those of
 * matrices come after a stride. */
static size_t memory_operands(uint32_t opcode) {
  enum { OP_LOAD = 61, OP_STORE = 62, OP_MATRIX_LOAD = 4457, OP_MATRIX_STORE = 4458 };
  switch (opcode) {
  case OP_LOAD:
    return 4;
  case OP_STORE:
    return 3;
  case OP_MATRIX_LOAD:
    return 6;
  case OP_MATRIX_STORE:
    return 5;
  default:
    return 0;
  }
}

uint32_t *ft_module_relaxed(const uint32_t *words, size_t *bytes) {
  enum { MAKE_AVAILABLE = 8, MAKE_VISIBLE = 16 };
  const size_t count = *bytes / sizeof *words;
  uint32_t *copy = ft_calloc(count, sizeof *copy), *to = copy;
  if (!copy) return NULL;
  memcpy(copy, words, HEADER_WORDS * sizeof *words);
  to += HEADER_WORDS;
  for (size_t i = HEADER_WORDS, length; i < count && words[i] >> 16; i += length) {
    length = words[i] >> 16;
    const size_t at = memory_operands(words[i] & 0xffff);
    const uint32_t mask = at && at < length ? words[i + at] : 0;
    const uint32_t made = mask & (MAKE_AVAILABLE | MAKE_VISIBLE);
    memcpy(to, words + i, length * sizeof *words);
    if (made) { /* removes the scope, the last operand */
      to[0] -= 1u << 16;
      to[at] = mask & ~made;
    }
    to += length - (made ? 1 : 0);
  }
  *bytes = (size_t)(to - copy) * sizeof *copy;
  return copy;
}

/* Where ft_module_converging inserts: after the capabilities, and after the entry points. */
typedef struct instructions {
  size_t extension, mode; /* offsets in words */
  uint32_t main;          /* id of the entry point "main" */
  bool asks;              /* the module has the mode already */
} instructions;

static instructions find_instructions(const uint32_t *words, size_t count, ft_convergence mode) {
  instructions p = {0};
  for (size_t i = HEADER_WORDS; i < count && words[i] >> 16; i += words[i] >> 16) {
    const size_t next = i + (words[i] >> 16);
    switch (words[i] & 0xffff) {
    case OP_CAPABILITY:
      p.extension = next;
      break;
    case OP_ENTRY_POINT:
      p.mode = next;
      if (words[i + 3] == MAIN && !words[i + 4]) p.main = words[i + 2];
      break;
    case OP_EXECUTION_MODE:
      p.asks = p.asks || (words[i + 1] == p.main && words[i + 2] == (uint32_t)mode);
      break;
    case OP_FUNCTION:
      return p;
    default:
      break;
    }
  }
  return p;
}

uint32_t *ft_module_converging(const uint32_t *words, size_t *bytes, ft_convergence mode) {
  char name[48] = {0};
  snprintf(name, sizeof name, "%s",
           mode == FT_CONVERGENCE_SUBGROUP ? "SPV_KHR_subgroup_uniform_control_flow"
                                           : "SPV_KHR_maximal_reconvergence");
  const uint32_t name_words = (uint32_t)strlen(name) / 4 + 1; /* a NUL follows */
  const size_t count = *bytes / sizeof *words;
  const instructions p = find_instructions(words, count, mode);
  const size_t more = p.asks ? 0 : 1 + name_words + 3;
  uint32_t *copy = ft_calloc(count + more, sizeof *copy), *to = copy;
  if (!copy) return NULL;
  *bytes = (count + more) * sizeof *copy;
  for (size_t i = 0; i < count; i++) {
    if (i == p.extension && more) {
      *to++ = (1 + name_words) << 16 | OP_EXTENSION;
      memcpy(to, name, name_words * sizeof *to);
      to += name_words;
    }
    if (i == p.mode && more) {
      *to++ = 3u << 16 | OP_EXECUTION_MODE;
      *to++ = p.main;
      *to++ = (uint32_t)mode;
    }
    *to++ = words[i];
  }
  return copy;
}
