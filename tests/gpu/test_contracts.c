/* The build's comparison of kernels with their contracts: it must reject a module that differs in
 * one place. */
#include "check.h"
#include "support/harness.h"

/* Of the SPIR-V specification. */
enum { HEADER_WORDS = 5, DECORATE = 71, MEMBER_DECORATE = 72, SPEC_ID = 1, OFFSET = 35 };
enum { TYPE_FLOAT = 22, SPEC_CONSTANT_FALSE = 49, SPEC_CONSTANT = 50 };

/* x, y; count, scale, offset; constants accumulate and WHOLE. */
static const char KERNEL[] = "elementwise/affine";

static uint32_t *module(size_t *count) {
  const ft_kernel_source *s = ft_kernel_sources;
  while (strcmp(s->name, KERNEL) != 0)
    s++;
  uint32_t *copy = test_alloc(s->bytes);
  memcpy(copy, s->words, s->bytes);
  *count = s->bytes / sizeof *copy;
  return copy;
}

/* The first instruction with that opcode, that word at `place` and, unless it is ANY, that last
 * word. The module has one. */
static const uint32_t ANY = UINT32_MAX;

static uint32_t *find(uint32_t *words, uint32_t op, uint32_t place, uint32_t word, uint32_t last) {
  uint32_t *at = words + HEADER_WORDS;
  while ((at[0] & 0xffff) != op || at[place] != word ||
         (last != ANY && at[(at[0] >> 16) - 1] != last))
    at += at[0] >> 16;
  return at;
}

static void expect(const char *name, uint32_t *words, size_t count, const char *wrong) {
  char message[256] = "";
  assert_false(contract_holds(name, words, count, message, sizeof message));
  if (!strstr(message, wrong)) fail_msg("%s, expected: %s", message, wrong);
  free(words);
}

TEST(test_all) {
  char message[256];
  for (const ft_kernel_source *s = ft_kernel_sources; s->name; s++)
    if (!contract_holds(s->name, s->words, s->bytes / sizeof *s->words, message, sizeof message))
      fail_msg("%s %s", s->name, message);
  if (!contracts_are_used(ft_kernel_sources, message, sizeof message)) fail_msg("%s", message);
}

TEST(test_offset) {
  size_t count;
  uint32_t *words = module(&count);
  find(words, MEMBER_DECORATE, 3, OFFSET, 20)[4] = 24;
  expect(KERNEL, words, count, "has argument scale at byte 24, C has it at 20");
}

TEST(test_type) {
  size_t count;
  uint32_t *words = module(&count);
  find(words, TYPE_FLOAT, 2, 32, ANY)[2] = 64;
  expect(KERNEL, words, count, "has argument scale of another type than float");
}

TEST(test_constants) {
  size_t count;
  uint32_t *words = module(&count);
  find(words, DECORATE, 2, SPEC_ID, 2)[3] = 3;
  expect(KERNEL, words, count, "has a constant 3, which the contract has not");
  words = module(&count);
  const uint32_t id = find(words, DECORATE, 2, SPEC_ID, 2)[1];
  uint32_t *at = find(words, SPEC_CONSTANT_FALSE, 2, id, ANY);
  at[0] = (at[0] & 0xffff0000u) | SPEC_CONSTANT;
  expect(KERNEL, words, count, "has constant 2, WHOLE, of another type than bool");
}

/* The block of another kernel: one member less, and one more. */
TEST(test_other_block) {
  static const char *const others[][2] = {
      {"complex/unit_phase_gradient", "has argument dx of another type than an address"},
      {"reduce/columns", "has argument columns of another type than uint"},
      {"elementwise/activate", "has argument y of another type than an address"},
      {"elementwise/none", "has no contract"}};
  for (size_t i = 0; i < FT_COUNT(others); i++) {
    size_t count;
    uint32_t *words = module(&count);
    expect(others[i][0], words, count, others[i][1]);
  }
}

TEST(test_no_module) {
  size_t count;
  uint32_t *words = module(&count);
  words[0] = 0;
  expect(KERNEL, words, count, "is no SPIR-V");
  words = module(&count);
  words[count - 1] += 1 << 16; /* words of the last instruction */
  expect(KERNEL, words, count, "is cut short");
  char message[256] = "";
  assert_false(contracts_are_used(&(const ft_kernel_source){0}, message, sizeof message));
  assert_non_null(strstr(message, "there is a contract, and no kernel"));
}

TEST_MAIN(NULL, NULL)
