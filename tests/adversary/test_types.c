/* Numbers of 8 to 64 bits and cooperative matrices, compared with results computed in C. */
#include "adversary/single.h"
#include "base/element.h"
#include "support/harness.h"

#define kDefaultMaxIdBound another_bound /* the header defines it in each file that includes it */
#include <spirv-tools/libspirv.h>

enum { LANES = 32, RESULTS = 28, SEEDS = 12 };

static const float *tensor(const adv_memory *memory, const adv_single *s, int i) {
  return (const float *)(const void *)adv_memory_of(memory, &s->tensors[i])->data;
}

static bool reports(const adv_report *r, adv_fault fault) {
  for (size_t i = 0; i < r->count; i++)
    if (r->findings[i].fault == fault) return true;
  return false;
}

/* ---- numbers ---- */

static uint32_t float_word(float x) {
  uint32_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

/* x rounded to 16 bits, ties to even. clang 14 has no _Float16 for x86. Not that of
 * adversary/floats.c, which this test checks. */
static double half(double x) {
  int exponent;
  if (!isfinite(x) || fabs(frexp(x, &exponent)) < 0.5) return x;
  const double unit = ldexp(1, exponent - 11 < -24 ? -24 : exponent - 11);
  const double rounded = nearbyint(x / unit) * unit;
  return fabs(rounded) > 65504 ? copysign(INFINITY, x) : rounded;
}

/* The word of an x that has 16 bits. */
static uint16_t half_word(double x) {
  uint16_t word;
  ft_element_set(FILTRA_F16, &word, 0, (float)x);
  return word;
}

static uint32_t half_result(double x) {
  return float_word((float)half(x));
}

/* What invocation i of types/numbers.comp gives. */
static void expect(const float *x, int i, uint32_t w[RESULTS]) {
  const float a = x[i], b = x[(i + 1) % LANES];
  const double h = half(a), g = half(b);
  const int16_t s = (int16_t)(a * 20000.0f), t = (int16_t)(b * 20000.0f);
  const uint8_t c = (uint8_t)(a * 100.0f + 128.0f), d = (uint8_t)(b * 100.0f + 128.0f);
  double least = half(x[0]);
  for (int k = 0; k < LANES; k++)
    least = fmin(least, half(x[k]));
  int n = 0;
  w[n++] = half_result(h + g);
  w[n++] = half_result(h * g);
  w[n++] = half_result(h / g);
  w[n++] = half_result(sqrtf(fabsf((float)h)));
  w[n++] = half_result(100000.0f * a);
  w[n++] = half_result(1.0e-5f * a);
  w[n++] = half_result(1.0 + 0.00048828125 + 9.31322574615e-10 * i);
  w[n++] = half_word(h) | (uint32_t)half_word(g) << 16;
  w[n++] = half_result(h);
  w[n++] = half_result(g);
  w[n++] = (uint32_t)(int16_t)(s * t);
  w[n++] = (uint32_t)(int16_t)(s / t);
  w[n++] = (uint32_t)(s >> 3);
  w[n++] = s < t;
  w[n++] = (uint32_t)(s < t ? s : t);
  w[n++] = (uint8_t)(c * d);
  w[n++] = (uint32_t)(int8_t)c;
  w[n++] = (c | (uint32_t)d << 8) * 0x10001;
  const double exact = (double)a * (double)b + 1.0e-9;
  memcpy(w + n, &exact, sizeof exact);
  n += 2;
  w[n++] = float_word((float)((int64_t)(a * 1.0e6f) * 16777217));
  w[n++] = half_result(g);
  w[n++] = (uint32_t)(int8_t)t;
  w[n++] = half_result(least);
  w[n++] = 0;
  w[n++] = (uint32_t)(((int64_t)s * (INT64_C(1) << 40)) >> 32);
  w[n++] = LANES * (LANES - 1) / 2;
  w[n++] = 1;
  assert_int_equal(n, RESULTS);
}

static adv_single numbers(const char *path) {
  adv_single s = {
      .groups = {1, 1, 1},
      .source = {.name = "numbers", .workgroup = LANES, .subgroup = LANES, .full = true},
      .tensor_count = 4,
      .tensors = {{"x", LANES, true, false},
                  {"y", LANES * RESULTS, false, true},
                  {"halves", LANES / 2, false, true},
                  {"bytes", LANES / 4, false, true}}};
  s.source.words = adv_read_file(path, &s.source.bytes);
  assert_non_null(s.source.words);
  return s;
}

TEST(test_numbers) {
  adv_single s = numbers(PLANTED_DIR "/numbers.correct.spv");
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    const adv_manner manner = adv_manner_of(seed, LANES, false);
    adv_memory memory = {0};
    adv_report report = {0};
    uint32_t expected[RESULTS];
    assert_ok(adv_single_run(&s, &manner, &memory, &report));
    adv_report_print(&report, stderr);
    assert_int_equal(report.count, 0);
    const float *x = tensor(&memory, &s, 0);
    for (int i = 0; i < LANES; i++) {
      const uint32_t *got = (const uint32_t *)(const void *)tensor(&memory, &s, 1) + i * RESULTS;
      expect(x, i, expected);
      for (int k = 0; k < RESULTS; k++)
        if (got[k] != expected[k])
          fail_msg("invocation %d, result %d: %#x, not %#x", i, k, got[k], expected[k]);
      const uint16_t *halves = (const uint16_t *)(const void *)tensor(&memory, &s, 2);
      assert_int_equal(halves[i], half_word(-half(x[i])));
      const int8_t *bytes = (const int8_t *)(const void *)tensor(&memory, &s, 3);
      assert_int_equal(bytes[i], (int8_t)(int16_t)(x[i] * 20000.0f));
    }
    adv_memory_destroy(&memory);
    adv_report_clear(&report);
  }
  free((void *)(uintptr_t)s.source.words);
}

/* The neighbour's half of a word without a barrier. */
TEST(test_narrow_race) {
  adv_single s = numbers(PLANTED_DIR "/numbers.planted.spv");
  const adv_manner manner = adv_manner_of(1, LANES, false);
  adv_memory memory = {0};
  adv_report report = {0};
  assert_ok(adv_single_run(&s, &manner, &memory, &report));
  assert_true(reports(&report, ADV_RACE_SHARED));
  adv_memory_destroy(&memory);
  adv_report_clear(&report);
  free((void *)(uintptr_t)s.source.words);
}

/* ---- matrices ---- */

enum { M = 6, K = 7, N = 5, STRIDE = N + 2, FACTOR = 3 };

/* d = half(a b + 0.5) * 3 + c, and then each element plus 1, where a lies by rows, b by columns and
 * c by rows of STRIDE; whole numbers of 8 a times 8 b behind it. Debian's assembler does not know
 * the extension: its instructions are given as words. %s: before and behind the loads. */
static const char matrices[] = "OpCapability Shader\n"
                               "OpCapability Float16\n"
                               "OpCapability PhysicalStorageBufferAddresses\n"
                               "OpCapability !6022\n"
                               "OpExtension \"SPV_KHR_cooperative_matrix\"\n"
                               "OpMemoryModel PhysicalStorageBuffer64 GLSL450\n"
                               "OpEntryPoint GLCompute %main \"main\" %push %id\n"
                               "OpExecutionMode %main LocalSize 32 1 1\n"
                               "OpDecorate %id BuiltIn LocalInvocationIndex\n"
                               "OpDecorate %floats ArrayStride 4\n"
                               "OpMemberDecorate %Push 0 Offset 0\n"
                               "OpMemberDecorate %Push 1 Offset 8\n"
                               "OpDecorate %Push Block\n"
                               "OpMemberDecorate %Buffer 0 Offset 0\n"
                               "OpDecorate %Buffer Block\n"
                               "%void = OpTypeVoid\n"
                               "%function = OpTypeFunction %void\n"
                               "%bool = OpTypeBool\n"
                               "%u32 = OpTypeInt 32 0\n"
                               "%s32 = OpTypeInt 32 1\n"
                               "%s8 = OpTypeInt 8 1\n"
                               "%f32 = OpTypeFloat 32\n"
                               "%f16 = OpTypeFloat 16\n"
                               "%zero = OpConstant %u32 0\n"
                               "%one = OpConstant %u32 1\n"
                               "%two = OpConstant %u32 2\n"
                               "%three = OpConstant %u32 3\n"
                               "%m = OpConstant %u32 6\n"
                               "%k = OpConstant %u32 7\n"
                               "%n = OpConstant %u32 5\n"
                               "%from_b = OpConstant %u32 42\n"
                               "%from_c = OpConstant %u32 77\n"
                               "%from_whole = OpConstant %u32 42\n"
                               "%half = OpConstant %f32 0.5\n"
                               "%eight = OpConstant %f32 8\n"
                               "%unit = OpConstant %f32 1\n"
                               "%factor = OpConstant %f32 3\n"
                               "!0x00071168 %A %f32 %three %m %k %zero\n"
                               "!0x00071168 %B %f32 %three %k %n %one\n"
                               "!0x00071168 %C %f32 %three %m %n %two\n"
                               "!0x00071168 %H %f16 %three %m %n %two\n"
                               "!0x00071168 %A8 %s8 %three %m %k %zero\n"
                               "!0x00071168 %B8 %s8 %three %k %n %one\n"
                               "!0x00071168 %C32 %s32 %three %m %n %two\n"
                               "%bias = OpConstantComposite %C %half\n"
                               "%none = OpConstantNull %C32\n"
                               "%floats = OpTypeRuntimeArray %f32\n"
                               "%Buffer = OpTypeStruct %floats\n"
                               "%pointer = OpTypePointer PhysicalStorageBuffer %Buffer\n"
                               "%element = OpTypePointer PhysicalStorageBuffer %f32\n"
                               "%Push = OpTypeStruct %pointer %pointer\n"
                               "%push_pointer = OpTypePointer PushConstant %Push\n"
                               "%push_member = OpTypePointer PushConstant %pointer\n"
                               "%push = OpVariable %push_pointer PushConstant\n"
                               "%input = OpTypePointer Input %u32\n"
                               "%id = OpVariable %input Input\n"
                               "%variable = OpTypePointer Function %C\n"
                               "%member = OpTypePointer Function %f32\n"
                               "%index = OpTypePointer Function %u32\n"
                               "%main = OpFunction %void None %function\n"
                               "%begin = OpLabel\n"
                               "%d_variable = OpVariable %variable Function\n"
                               "%i_variable = OpVariable %index Function\n"
                               "%x_member = OpAccessChain %push_member %push %zero\n"
                               "%x = OpLoad %pointer %x_member\n"
                               "%y_member = OpAccessChain %push_member %push %one\n"
                               "%y = OpLoad %pointer %y_member\n"
                               "%at_a = OpAccessChain %element %x %zero %zero\n"
                               "%at_b = OpAccessChain %element %x %zero %from_b\n"
                               "%at_c = OpAccessChain %element %x %zero %from_c\n"
                               "%at_d = OpAccessChain %element %y %zero %zero\n"
                               "%at_whole = OpAccessChain %element %y %zero %from_whole\n"
                               "%lane = OpLoad %u32 %id\n"
                               "%first = OpIEqual %bool %lane %zero\n"
                               "%s"
                               "!0x00061169 %A %a %at_a %zero %k\n"
                               "!0x00061169 %B %b %at_b %one %k\n"
                               "!0x00061169 %C %c %at_c %zero %k\n"
                               "!0x0006116b %C %product %a %b %bias\n"
                               "%rounded = OpFConvert %H %product\n"
                               "%widened = OpFConvert %C %rounded\n"
                               "%scaled = OpMatrixTimesScalar %C %widened %factor\n"
                               "%d = OpFAdd %C %scaled %c\n"
                               "!0x0004116c %u32 %length %C\n"
                               "OpStore %d_variable %d\n"
                               "OpStore %i_variable %zero\n"
                               "OpBranch %header\n"
                               "%header = OpLabel\n"
                               "%i = OpLoad %u32 %i_variable\n"
                               "%more = OpULessThan %bool %i %length\n"
                               "OpLoopMerge %behind %next None\n"
                               "OpBranchConditional %more %body %behind\n"
                               "%body = OpLabel\n"
                               "%one_of = OpAccessChain %member %d_variable %i\n"
                               "%before = OpLoad %f32 %one_of\n"
                               "%after = OpFAdd %f32 %before %unit\n"
                               "OpStore %one_of %after\n"
                               "OpBranch %next\n"
                               "%next = OpLabel\n"
                               "%i_next = OpIAdd %u32 %i %one\n"
                               "OpStore %i_variable %i_next\n"
                               "OpBranch %header\n"
                               "%behind = OpLabel\n"
                               "%result = OpLoad %C %d_variable\n"
                               "%a_scaled = OpMatrixTimesScalar %A %a %eight\n"
                               "!0x0005116a %at_d %result %zero %k\n"
                               "%b_scaled = OpMatrixTimesScalar %B %b %eight\n"
                               "%a8 = OpConvertFToS %A8 %a_scaled\n"
                               "%b8 = OpConvertFToS %B8 %b_scaled\n"
                               "!0x0007116b %C32 %whole %a8 %b8 %none !15\n"
                               "%whole_real = OpConvertSToF %C %whole\n"
                               "!0x0005116a %at_whole %whole_real %one %m\n"
                               "%s"
                               "OpReturn\n"
                               "OpFunctionEnd\n";

static spv_binary assemble(bool planted) {
  char text[sizeof matrices + 200];
  /* %%s are not format's: names of the assembler begin like that */
  const char *const before = planted ? "OpSelectionMerge %end None\n"
                                       "OpBranchConditional %first %there %end\n%there = OpLabel\n"
                                     : "";
  const char *const behind = planted ? "OpBranch %end\n%end = OpLabel\n" : "";
  const char *one = strstr(matrices, "%s!"), *two = strstr(one + 2, "%sOpReturn");
  snprintf(text, sizeof text, "%.*s%s%.*s%s%s", (int)(one - matrices), matrices, before,
           (int)(two - one - 2), one + 2, behind, two + 2);
  spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
  spv_binary binary = NULL;
  spv_diagnostic diagnostic = NULL;
  if (spvTextToBinary(context, text, strlen(text), &binary, &diagnostic))
    fail_msg("line %zu: %s", diagnostic->position.line, diagnostic->error);
  spvContextDestroy(context);
  return binary;
}

static adv_single matrix_run(spv_binary binary, uint32_t subgroup) {
  return (adv_single){.groups = {1, 1, 1},
                      .source = {.name = "matrices",
                                 .words = binary->code,
                                 .bytes = binary->wordCount * sizeof *binary->code,
                                 .workgroup = LANES,
                                 .subgroup = subgroup,
                                 .full = true},
                      .tensor_count = 2,
                      .tensors = {{"x", 128, true, false}, {"y", 80, false, true}}};
}

static void check_matrices(const float *x, const float *y) {
  for (int r = 0; r < M; r++)
    for (int c = 0; c < N; c++) {
      double sum = 0.5;
      int whole = 0;
      for (int k = 0; k < K; k++) {
        const float a = x[r * K + k], b = x[42 + c * K + k];
        sum += (double)a * (double)b;
        whole += (int8_t)(a * 8.0f) * (int8_t)(b * 8.0f);
      }
      const double expected = half(sum) * FACTOR + (double)x[77 + r * STRIDE + c] + 1.0;
      assert_true(fabs((double)y[r * STRIDE + c] - expected) < 1e-2);
      assert_true(y[42 + c * M + r] == (float)whole);
    }
}

TEST(test_matrices) {
  spv_binary binary = assemble(false);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    adv_single s = matrix_run(binary, 4u << seed % 4);
    s.source.workgroup = LANES;
    const adv_manner manner = adv_manner_of(seed, 0, seed % 2);
    adv_memory memory = {0};
    adv_report report = {0};
    assert_ok(adv_single_run(&s, &manner, &memory, &report));
    check_matrices(tensor(&memory, &s, 0), tensor(&memory, &s, 1));
    adv_memory_destroy(&memory);
    adv_report_clear(&report);
  }
  spvBinaryDestroy(binary);
}

/* One invocation alone cannot: all of a subgroup have to come. */
TEST(test_matrices_alone) {
  spv_binary binary = assemble(true);
  const adv_single s = matrix_run(binary, 8);
  const adv_manner manner = adv_manner_of(1, 0, false);
  adv_memory memory = {0};
  adv_report report = {0};
  assert_ok(adv_single_run(&s, &manner, &memory, &report));
  assert_true(reports(&report, ADV_WHO_IS_THERE));
  adv_memory_destroy(&memory);
  adv_report_clear(&report);
  spvBinaryDestroy(binary);
}

TEST_MAIN(NULL, NULL)
