/* Execution modes that kernels need for reconvergence after divergent control flow: modules with
 * the mode inserted, and which pipelines get it. */
#include "gpu/internal.h"
#include "support/harness.h"

enum { HEADER_WORDS = 5, EXTENSION = 10, ENTRY_POINT = 15, EXECUTION_MODE = 16, CAPABILITY = 17 };

static const ft_convergence modes[] = {FT_CONVERGENCE_SUBGROUP, FT_CONVERGENCE_MAXIMAL};

/* Walks through both modules: `asking` has two instructions more, each in its place. */
static void check_module(const ft_kernel_source *s, const uint32_t *asking, size_t bytes,
                         ft_convergence mode) {
  const size_t count = bytes / sizeof *asking;
  size_t plain = HEADER_WORDS, extensions = 0, asked = 0;
  uint32_t before = CAPABILITY, main = 0;
  assert_memory_equal(asking, s->words, HEADER_WORDS * sizeof *asking);
  for (size_t i = HEADER_WORDS; i < count; i += asking[i] >> 16) {
    const uint32_t length = asking[i] >> 16, op = asking[i] & 0xffff;
    assert_between(length, 1, count - i);
    if (op == ENTRY_POINT) main = asking[i + 2];
    if (op == EXTENSION && (strstr((const char *)(asking + i + 1), "_control_flow") ||
                            strstr((const char *)(asking + i + 1), "_reconvergence"))) {
      assert_int_equal(before, CAPABILITY);
      extensions++;
    } else if (op == EXECUTION_MODE && asking[i + 2] == (uint32_t)mode) {
      assert_int_equal(before, ENTRY_POINT);
      assert_int_equal(asking[i + 1], main);
      asked++;
    } else {
      assert_memory_equal(asking + i, s->words + plain, length * sizeof *asking);
      plain += length;
    }
    before = op;
  }
  assert_int_equal(plain * sizeof *asking, s->bytes);
  assert_int_equal(extensions, 1);
  assert_int_equal(asked, 1);
}

TEST(test_modules) {
  for (const ft_kernel_source *s = ft_kernel_sources; s->name; s++)
    for (size_t m = 0; m < FT_COUNT(modes); m++) {
      size_t bytes = s->bytes;
      owned uint32_t *asking = ft_module_converging(s->words, &bytes, modes[m]);
      assert_non_null(asking);
      check_module(s, asking, bytes, modes[m]);
      size_t again_bytes = bytes; /* one that asks by itself stays as it is */
      owned uint32_t *again = ft_module_converging(asking, &again_bytes, modes[m]);
      assert_non_null(again);
      assert_int_equal(again_bytes, bytes);
      assert_memory_equal(again, asking, bytes);
    }
}

static ft_convergence convergence_of(filtra_device *dev, const char *kernel) {
  ft_kernel_key key = {.kernel = ft_kernel_name(dev, kernel), .workgroup = 32};
  ft_pipeline *pipeline = NULL;
  assert_ok(ft_pipelines_get(dev, &key, 1, &pipeline));
  assert_non_null(pipeline->handle);
  return pipeline->convergence;
}

/* Without the validation layer, which may be older than what the driver offers. */
static filtra_device *open_with(const char *caps) {
  filtra_device *dev = NULL;
  assert_ok(filtra_device_open(&(filtra_device_options){.caps = caps, .cache_dir = ""}, &dev));
  return dev;
}

TEST(test_pipelines) {
  static const char *const masks[] = {"", "subgroup_uniform=0", "maximal_reconvergence=0",
                                      "subgroup_uniform=0,maximal_reconvergence=0"};
  filtra_device *whole = open_with(NULL);
  const ft_caps *caps = ft_caps_of(whole);
  for (size_t i = 0; i < FT_COUNT(masks); i++) {
    const bool uniform = caps->subgroup_uniform && !strstr(masks[i], "uniform=0");
    const bool maximal = caps->maximal_reconvergence && !strstr(masks[i], "reconvergence=0");
    const ft_convergence expected = !caps->subgroup ? FT_CONVERGENCE_PLAIN
                                    : uniform       ? FT_CONVERGENCE_SUBGROUP
                                    : maximal       ? FT_CONVERGENCE_MAXIMAL
                                                    : FT_CONVERGENCE_PLAIN;
    filtra_device *dev = open_with(masks[i]);
    assert_int_equal(convergence_of(dev, "scale_norm/forward"), expected);
    assert_int_equal(convergence_of(dev, "elementwise/binary"), FT_CONVERGENCE_PLAIN);
    filtra_device_close(&dev);
  }
  filtra_device_close(&whole);
  assert_int_equal(convergence_of(test_device(), "elementwise/binary"), FT_CONVERGENCE_PLAIN);
}

TEST_MAIN(NULL, test_teardown)
