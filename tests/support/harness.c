#include "support/harness.h"
#include "support/seen.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "gpu/plan.h"

/* FILTRA_TEST_CASE=PATTERN runs only a program's cases that match. */
__attribute__((constructor)) static void choose_cases(void) {
  const char *pattern = getenv("FILTRA_TEST_CASE");
  if (pattern) cmocka_set_test_filter(pattern);
}

/* ---- failing calls ---- */

void test_assert_ok(filtra_status status, const char *call, const char *file, int line) {
  if (!status) return;
  print_error("%s: %s: %s\n", call, filtra_status_name(status), filtra_error_message());
  _fail(file, line);
}

void test_assert_fails(filtra_status status, filtra_status expected, const char *part,
                       const char *file, int line) {
  const char *message = status ? filtra_error_message() : "";
  if (status == expected && strstr(message, part)) return;
  print_error("got \"%s\" with the message \"%s\", want \"%s\" and \"%s\" in the message\n",
              filtra_status_name(status), message, filtra_status_name(expected), part);
  _fail(file, line);
}

/* ---- devices ---- */

bool test_continues;
static filtra_device *shared_device;
static uint32_t validation_count; /* over all devices closed so far */
static uint32_t errors_logged;

static void print_log(void *user, filtra_log_level level, const char *text) {
  (void)user;
  if (level >= FILTRA_LOG_ERROR) errors_logged++;
  if (level >= FILTRA_LOG_WARNING)
    fprintf(stderr, "%s: %s\n", level >= FILTRA_LOG_ERROR ? "error" : "warning", text);
}

const char *test_chosen_device(void) {
  return getenv("FILTRA_DEVICE") ? NULL : "cpu";
}

static filtra_device *open_device(const char *caps) {
  filtra_device_options options = {.select = test_chosen_device(),
                                   .caps = caps,
                                   .cache_dir = "",
                                   .tuning = "",
                                   .validation = true};
  filtra_device *device = NULL;
  filtra_log_set(print_log, NULL);
  filtra_status status = filtra_device_open(&options, &device);
  if (status == FILTRA_ERROR_UNSUPPORTED) {
    static bool said;
    if (!said)
      print_message("NOTE: the validation layer is not installed, or does not know what is tested; "
                    "tests run without it\n");
    said = true;
    options.validation = false;
    status = filtra_device_open(&options, &device);
  }
  assert_ok(status);
  return device;
}

/* The value of FILTRA_CAPS; NULL if it is empty or not set. */
static const char *profile(void) {
  const char *text = getenv("FILTRA_CAPS");
  return text && *text ? text : NULL;
}

bool test_under_profile(void) {
  return profile() != NULL;
}

/* Whether tests may choose any kernels: with a profile only its own run, and ./run test leaves
 * those of other devices to ./run test --all. */
static bool any_kernels(void) {
  return !profile() && !getenv("FILTRA_TEST_QUICK");
}

/* Compares two plans except for how submissions are cut, which comes last and does not concern
 * kernels. */
static bool same_kernels(const char *a, const char *b) {
  const char *end = strstr(a, ", submissions ");
  assert_non_null(end);
  return !strncmp(a, b, (size_t)(end - a) + strlen(", submissions "));
}

bool test_has_variant(const char *caps) {
  const ft_caps *plain = ft_caps_of(test_device());
  ft_caps trial = *plain;
  if (ft_caps_override(&trial, caps)) {
    print_message("not tested with %s: %s\n", caps, filtra_error_message());
    return false;
  }
  if (any_kernels()) return true;
  char *usual = ft_caps_plan(plain), *plan = ft_caps_plan(&trial);
  assert_true(usual && plan);
  bool same = same_kernels(usual, plan);
  if (!same)
    print_message("not tested with %s: other kernels than %s\n", caps,
                  profile() ? profile() : "the device's own");
  free(usual);
  free(plan);
  return same;
}

char *test_caps(const char *caps) {
  char *both = profile() ? ft_format("%s,%s", profile(), caps) : ft_format("%s", caps);
  assert_non_null(both);
  return both;
}

filtra_device *test_open_variant(const char *caps) {
  if (!test_has_variant(caps)) return NULL;
  char *both = test_caps(caps);
  filtra_device *device = open_device(both);
  free(both);
  return device;
}

filtra_device *test_open_device(const char *caps) {
  if (!caps || any_kernels()) return open_device(caps);
  filtra_device *device = test_open_variant(caps);
  if (!device) skip();
  return device;
}

/* Counts what the layer has reported on a device that a test is done with, and objects that the
 * test has left on it. */
static void look_at(filtra_device *device) {
  validation_count += filtra_device_validation_count(device);
  if (!ft_device_check_unused(device)) return;
  print_error("%s\n", filtra_error_message());
  validation_count++;
}

/* Errors that closing itself provokes, such as a leaked object, appear only in the log. */
static void close_device(filtra_device **device) {
  if (!*device) return;
  look_at(*device);
  uint32_t before = errors_logged;
  filtra_device_close(device);
  validation_count += errors_logged - before;
}

bool test_stores(const filtra_device *device, filtra_dtype dtype) {
  return dtype == FILTRA_F32 || ft_caps_of(device)->storage16;
}

void test_close_device(filtra_device **device) {
  close_device(device);
  assert_int_equal(validation_count, 0);
}

filtra_device *test_device(void) {
  if (!shared_device) shared_device = test_open_device(NULL);
  return shared_device;
}

bool test_use_variant(const char *caps) {
  filtra_device *variant = test_open_variant(caps);
  if (!variant) return false;
  close_device(&shared_device);
  shared_device = variant;
  return true;
}

void test_with_device(const char *caps, void (*check)(filtra_device *device)) {
  filtra_device *device = caps ? test_open_device(caps) : test_device();
  check(device);
  if (caps) test_close_device(&device);
}

/* ---- files ---- */

static char scratch[sizeof TEST_BINARY_DIR + 32]; /* this process's folder, "" before first use */
static int folder_count;

const char *test_folder(void) {
  enum { MAX_FOLDERS = 4096 };
  static char paths[MAX_FOLDERS][sizeof scratch + 12];
  assert_true(folder_count < MAX_FOLDERS);
  if (!scratch[0]) {
    snprintf(scratch, sizeof scratch, "%s/scratch.XXXXXX", TEST_BINARY_DIR);
    assert_non_null(mkdtemp(scratch));
  }
  char *path = paths[folder_count];
  snprintf(path, sizeof paths[0], "%s/%d", scratch, folder_count++);
  assert_ok(ft_make_directories(path));
  return path;
}

const char *test_golden(const char *case_name) {
  static const char *const folders[] = {TEST_SOURCE_DIR "/../../shared/oracle/golden",
                                        TEST_SOURCE_DIR "/golden"};
  static char path[sizeof TEST_SOURCE_DIR + 256];
  for (size_t i = 0; i < FT_COUNT(folders); i++) {
    snprintf(path, sizeof path, "%s/%s.safetensors", folders[i], case_name);
    if (ft_file_exists(path)) return path;
  }
  return NULL;
}

int test_teardown(void **state) {
  (void)state;
  filtra_log_set(print_log, NULL); /* which the test may have set */
  test_seen_report();
  if (!test_continues) {
    if (scratch[0]) ft_remove_tree(scratch);
    scratch[0] = '\0';
    folder_count = 0;
    close_device(&shared_device);
  } else if (shared_device) {
    look_at(shared_device);
  }
  static bool failed;
  if (validation_count) {
    print_error("the validation layer reported %u problems\n", validation_count);
    failed = true;
    validation_count = 0;
    shared_device = NULL; /* tests that follow open another */
  }
  if (failed && !test_continues) exit(EXIT_FAILURE); /* cmocka ignores a failed group teardown */
  return 0;
}

/* ---- numbers ---- */

void test_random(uint64_t seed, double low, double high, float *out, size_t count) {
  ft_rng rng = ft_rng_make(seed, ft_hash_text("test_random"));
  for (size_t i = 0; i < count; i++) {
    out[i] = (float)(low + (high - low) * ft_rng_double(&rng));
    if (out[i] >= high) out[i] = nextafterf((float)high, (float)low); /* rounded up to the bound */
  }
}

double test_relative_error(const float *got, const double *ref, size_t count) {
  double error = 0, scale = 1e-30;
  for (size_t i = 0; i < count; i++) {
    double difference = fabs(got[i] - ref[i]);
    if (isnan(difference)) return INFINITY;
    error = fmax(error, difference);
    scale = fmax(scale, fabs(ref[i]));
  }
  return error / scale;
}
