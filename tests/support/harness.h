/* Helpers for every test: a device with validation on, random data, and one harness that checks an
 * op's forward pass against a float64 reference and each gradient against central differences of
 * that reference. */
#ifndef TEST_SUPPORT_HARNESS_H
#define TEST_SUPPORT_HARNESS_H

#include "graph/graph.h"
#include "support/case.h"
#include "support/objects.h"

#include <filtra/ops.h>

/** Fails the running test with filtra_error_message() when `call` does not return FILTRA_OK. */
#define assert_ok(call) test_assert_ok((call), #call, __FILE__, __LINE__)
void test_assert_ok(filtra_status status, const char *call, const char *file, int line);
/** Expects `call` to fail with `status` and a message that contains `part`. */
#define assert_fails(call, status, part) test_assert_fails((call), status, part, __FILE__, __LINE__)
void test_assert_fails(filtra_status status, filtra_status expected, const char *part,
                       const char *file, int line);

/** The shared device: opened on first use with validation (prints a note if the layer is not
 * installed), FILTRA_DEVICE or "cpu" by default, no pipeline cache. */
filtra_device *test_device(void);
/** A second device handle with a caps override, closed by test_close_device. If FILTRA_CAPS names a
 * profile, `caps` overrides that; if this changes the planned kernels, the test is skipped, since
 * it checks the same under every profile. FILTRA_TEST_QUICK skips tests with other kernels than the
 * device's own. */
filtra_device *test_open_device(const char *caps);
/** As test_open_device, but returns NULL instead of skipping, and if the device does not support
 * the caps. */
filtra_device *test_open_variant(const char *caps);
/** Whether the caps give a device. */
bool test_has_variant(const char *caps);
/** Whether FILTRA_CAPS names a profile. */
bool test_under_profile(void);
/** `caps` added to FILTRA_CAPS, for a device that a test opens itself; the caller frees. */
char *test_caps(const char *caps);
/** Whether the device's kernels read and write that type: F32 always, others with 16-bit
 * storage. */
bool test_stores(const filtra_device *device, filtra_dtype dtype);
void test_close_device(filtra_device **device);
/** The device that tests select: NULL, so that FILTRA_DEVICE decides, or a CPU driver if that is
 * not set. */
const char *test_chosen_device(void);
/** Makes a device with these caps the shared one until test_teardown; false if they give none. */
bool test_use_variant(const char *caps);
/** Calls `check` with the shared device if `caps` is NULL, else with test_open_device's. */
void test_with_device(const char *caps, void (*check)(filtra_device *device));
/** Whether another test of this process follows: the shared device and folders stay for it. */
extern bool test_continues;
/** cmocka group teardown: closes the shared device unless another test follows, and fails if the
 * validation layer reported anything or the test left objects on it. Use as
 * TEST_MAIN(NULL, test_teardown). */
int test_teardown(void **state);

/** A new empty folder below the build tree on each call, removed with the process's last test. */
const char *test_folder(void);
/** Path of CASE_NAME.safetensors in ../shared/oracle/golden if it exists, else in tests/golden;
 * NULL if neither has it. */
const char *test_golden(const char *case_name);

enum { TEST_MAX_TENSORS = 10 };

/** One tensor of an op under test. */
typedef struct test_tensor {
  const char *name;
  filtra_dtype dtype; /* F16, BF16: build gets F32 numbers that the type can hold, cast to it */
  int ndim;
  int64_t shape[FILTRA_MAX_DIMS];
  double low, high;   /* uniform range; both 0: -1 to 1 (F32). I32: low..high inclusive */
  bool gradient;      /* check this input's gradient */
  const float *fixed; /* these F32 values instead of random ones */
} test_tensor;

typedef struct test_op test_op;
struct test_op {
  const char *name;
  int inputs, outputs; /* 0: the number of tensors named below, which `build` uses */
  test_tensor in[TEST_MAX_TENSORS];
  /** Builds the op; in[i] are graph inputs (or views of them, see `heads`); fills out[]. */
  void (*build)(filtra_graph *g, filtra_tensor **in, filtra_tensor **out, const test_op *op);
  /** Float64 reference. in[i] and out[i] are dense; I32 inputs are given as doubles too. */
  void (*reference)(double *const *in, double *const *out, const test_op *op);
  int64_t out_elements[TEST_MAX_TENSORS];
  /** Settings for build and reference. */
  const void *settings;
  int64_t dims[8];
  /** Training graph (dropout active), at this step. */
  bool training;
  uint64_t seed, step;
  /** Relative to the largest absolute reference value; 0: forward 2e-5, gradient 2e-4. With 16-bit
   * inputs at least 2 and 4 times their rounding error. */
  double forward_tolerance, gradient_tolerance;
};

/** Heads of functions that build an op and compute its reference; parameters are g, in, out, op. */
#define TEST_BUILD(name)                                                                           \
  static void name(filtra_graph *g, filtra_tensor **in __attribute__((unused)),                    \
                   filtra_tensor **out, const test_op *op __attribute__((unused)))
#define TEST_REFERENCE(name)                                                                       \
  static void name(double *const *in, double *const *out, const test_op *op __attribute__((unused)))

/** Runs the op on the device (also ft_graph_check on its plan), runs it again for the same bits,
 * and compares. Prints the seed on failure; FILTRA_TEST_SEED draws other data. Every gradient entry
 * of small inputs is checked, 16 drawn entries of large ones and the derivative in a random
 * direction. F32 outputs that depend on no input with a gradient, and I32 outputs, are compared in
 * the forward pass only. */
void test_check_op(filtra_device *device, const test_op *op);

/** Deterministic uniform numbers in [low, high). */
void test_random(uint64_t seed, double low, double high, float *out, size_t count);
/** Largest |got - ref| divided by the largest |ref| (at least 1e-30). */
double test_relative_error(const float *got, const double *ref, size_t count);

#endif
