/* Driver bugs, each shown by a module of a few lines with a known result; the failing drivers are
 * listed here and in docs/devices.md. A bug that is not listed fails the test, and so does a listed
 * one that no longer occurs: remove it then. Each module runs in its own process, since a driver
 * may crash on it. */
#include "support/harness.h"

#include "gpu/gpu.h"

#include <filtra/filtra.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ELEMENTS = 64 };

static const uint32_t value_after_loop[] =
#include "drivers/value_after_loop.inc"
    ;
static const uint32_t long_loops[] =
#include "drivers/long_loops.inc"
    ;
static const uint32_t reference_choice[] =
#include "drivers/reference_choice.inc"
    ;
static const uint32_t reference_cast[] =
#include "drivers/reference_cast.inc"
    ;
static const uint32_t reference_in_struct[] =
#include "drivers/reference_in_struct.inc"
    ;

enum outcome { RIGHT, WRONG, CRASH };

struct fault {
  const char *name;
  const uint32_t *words;
  size_t bytes;
  float (*expected)(int lane); /* of x[i] = i */
  enum outcome swiftshader, older_lavapipe;
};

static float same(int lane) {
  return (float)lane;
}

static float every_fourth_of_five(int lane) {
  return lane % 4 ? (float)(lane % 4) : 4;
}

static float seventy_thousand(int lane) {
  (void)lane;
  return 70000;
}

static const struct fault faults[] = {
    {"long_loops", long_loops, sizeof long_loops, seventy_thousand, RIGHT, WRONG},
    {"value_after_loop", value_after_loop, sizeof value_after_loop, every_fourth_of_five, WRONG},
    {"reference_choice", reference_choice, sizeof reference_choice, same, CRASH},
    {"reference_cast", reference_cast, sizeof reference_cast, same, CRASH},
    {"reference_in_struct", reference_in_struct, sizeof reference_in_struct, same, CRASH}};

static filtra_status compute(filtra_graph *g, const struct fault *f, float out[ELEMENTS]) {
  const int64_t shape[] = {ELEMENTS};
  const uint32_t five = 5;
  float in[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++)
    in[i] = (float)i;
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 1, shape);
  filtra_tensor *y = filtra_kernel_output(g, "y", FILTRA_F32, 1, shape);
  const filtra_kernel_argument arguments[] = {{x, FILTRA_ACCESS_READ}, {y, FILTRA_ACCESS_WRITE}};
  filtra_status status = filtra_kernel_record(g, &(filtra_kernel){.name = f->name,
                                                                  .words = f->words,
                                                                  .word_count = f->bytes / 4,
                                                                  .arguments = arguments,
                                                                  .argument_count = 2,
                                                                  .push = &five,
                                                                  .push_size = sizeof five,
                                                                  .workgroup = ELEMENTS,
                                                                  .groups = {1}});
  filtra_graph_output(g, y);
  if (!status) status = filtra_graph_compile(g);
  if (!status) status = filtra_graph_set(g, x, in);
  if (!status) status = filtra_graph_execute(g);
  return status ? status : filtra_graph_get(g, y, out);
}

/* The child: its exit status says whether the numbers are right; a driver's crash needs no word. */
static int try(const struct fault *f) {
  filtra_device *dev = test_device();
  filtra_graph *g = NULL;
  float out[ELEMENTS];
  if (filtra_graph_create(dev, NULL, &g) || compute(g, f, out)) {
    fprintf(stderr, "%s: %s\n", f->name, filtra_error_message());
    return 2;
  }
  for (int i = 0; i < ELEMENTS; i++) {
    if (out[i] != f->expected(i)) return 1;
  }
  return 0;
}

static enum outcome outcome_of(const struct fault *f) {
  int state = 0;
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    static const int crashes[] = {SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
      signal(crashes[i], SIG_DFL); /* cmocka's handlers would go on with the tests */
    _exit(try(f));
  }
  assert_int_equal(waitpid(child, &state, 0), child);
  if (WIFSIGNALED(state)) return CRASH;
  assert_between(WEXITSTATUS(state), 0, 1);
  return WEXITSTATUS(state) ? WRONG : RIGHT;
}

static bool is_named(const char *name) {
  return strstr(filtra_device_get_info(test_device())->driver, name);
}
static bool warns_of_short_loops(const char *name) {
  (void)name;
  return ft_caps_of(test_device())->short_loops;
}

/* Asked in a child, too: a driver's threads do not survive a fork. */
static bool driver(bool (*answer)(const char *), const char *name) {
  int state = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(answer(name));
  assert_int_equal(waitpid(child, &state, 0), child);
  assert_true(WIFEXITED(state));
  return WEXITSTATUS(state) == 1;
}

TEST(test_faults) {
  static const char *const words[] = {"right", "wrong numbers", "a crash"};
  const bool swiftshader = driver(is_named, "SwiftShader");
  const bool older_lavapipe = driver(is_named, "Mesa 22.3");
  int surprises = 0;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    const enum outcome expected = swiftshader      ? faults[i].swiftshader
                                  : older_lavapipe ? faults[i].older_lavapipe
                                                   : RIGHT;
    const enum outcome found = outcome_of(&faults[i]);
    print_message("%-20s %s\n", faults[i].name, words[found]);
    if (found != expected) {
      print_error("%s: %s, while this driver was known for: %s\n", faults[i].name, words[found],
                  words[expected]);
      surprises++;
    }
  }
  assert_int_equal(surprises, 0);
}

/* A device is opened with a warning where results can be wrong, and nowhere else. */
TEST(test_warning) {
  assert_string_equal(faults[0].name, "long_loops");
  assert_int_equal(driver(warns_of_short_loops, NULL), outcome_of(&faults[0]) == WRONG);
}

TEST_MAIN(NULL, NULL)
