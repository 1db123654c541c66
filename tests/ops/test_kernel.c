/* Kernels of an application: dispatches, gradients, and what is refused. Modules that the build
 * embeds serve as the application's SPIR-V. */
#include "support/harness.h"

#include "base/memory.h"
#include "gpu/kernels.h"

#include <filtra/filtra.h>

static const ft_kernel_source *module(const char *name) {
  const ft_kernel_source *s = ft_kernel_sources;
  while (s->name && strcmp(s->name, name) != 0)
    s++;
  assert_non_null(s->name);
  return s;
}

/* y = scale x + offset by elementwise/affine. */
struct affine {
  filtra_tensor *x, *y;
  float scale;
};

struct affine_push {
  uint32_t count;
  float scale, offset;
};

static filtra_status record_affine(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, float scale,
                                   float offset, filtra_backward_fn backward) {
  const ft_kernel_source *spirv = module("elementwise/affine");
  const filtra_kernel_argument arguments[] = {{x, FILTRA_ACCESS_READ}, {y, FILTRA_ACCESS_WRITE}};
  const struct affine_push push = {(uint32_t)filtra_tensor_elements(x), scale, offset};
  const uint32_t constants[] = {0};
  const struct affine context = {x, y, scale};
  return filtra_kernel_record(g, &(filtra_kernel){.name = "my affine",
                                                  .words = spirv->words,
                                                  .word_count = spirv->bytes / 4,
                                                  .arguments = arguments,
                                                  .argument_count = 2,
                                                  .push = &push,
                                                  .push_size = sizeof push,
                                                  .workgroup = 64,
                                                  .constants = constants,
                                                  .constant_count = 1,
                                                  .groups = {3},
                                                  .backward = backward,
                                                  .context = &context,
                                                  .context_size = sizeof context});
}

/* dx = scale dy, by the same kernel. */
static void affine_backward(filtra_graph *g, const void *context) {
  const struct affine *c = context;
  filtra_tensor *dy = filtra_kernel_gradient(g, c->y);
  if (!dy || !filtra_kernel_wants_gradient(c->x)) return;
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_tensor_shape(c->x, shape);
  filtra_tensor *dx = filtra_kernel_output(g, "my gradient", FILTRA_F32, ndim, shape);
  record_affine(g, dy, dx, c->scale, 0, NULL);
  filtra_kernel_add_gradient(g, c->x, dx);
}

static filtra_tensor *affine(filtra_graph *g, filtra_tensor *x, float scale, float offset,
                             filtra_backward_fn backward) {
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_tensor_shape(x, shape);
  filtra_tensor *y = filtra_kernel_output(g, "mine", FILTRA_F32, ndim, shape);
  assert_ok(record_affine(g, x, y, scale, offset, backward));
  return y;
}

/* ---- values and gradients ---- */

/* Between ops, and twice on one tensor, so that its gradient is added to. */
TEST_BUILD(build) {
  filtra_tensor *y = affine(g, in[0], 3, -1, affine_backward);
  out[0] = filtra_multiply(g, y, affine(g, in[0], -2, 0.5f, affine_backward));
  out[1] = affine(g, out[0], 2, 0, NULL); /* no gradient leads through this one */
}

TEST_REFERENCE(reference) {
  for (int64_t i = 0; i < op->out_elements[0]; i++) {
    out[0][i] = (3 * in[0][i] - 1) * (-2 * in[0][i] + 0.5);
    out[1][i] = 2 * out[0][i];
  }
}

TEST(values_and_gradients) {
  static const int64_t SHAPES[][2] = {{1, 1}, {7, 29}, {65, 33}};
  for (size_t i = 0; i < FT_COUNT(SHAPES); i++) {
    int64_t count = SHAPES[i][0] * SHAPES[i][1];
    test_op op = {.name = "kernel",
                  .in = {{.name = "x", .ndim = 2, .gradient = true}},
                  .build = build,
                  .reference = reference,
                  .out_elements = {count, count}};
    memcpy(op.in[0].shape, SHAPES[i], sizeof SHAPES[i]);
    test_check_op(test_device(), &op);
  }
}

/* ---- buffers: what a kernel leaves is there in the next run ---- */

TEST(buffers_are_updated) {
  const int64_t three = 3;
  owned_parameters *params = test_parameters(test_device());
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *total = filtra_graph_parameter(g, params, "total", 1, &three,
                                                &(filtra_parameter_options){.buffer = true});
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 1, &three);
  const ft_kernel_source *spirv = module("elementwise/affine");
  const filtra_kernel_argument arguments[] = {{x, FILTRA_ACCESS_READ},
                                              {total, FILTRA_ACCESS_UPDATE}};
  const struct affine_push push = {3, 1, 0};
  assert_ok(filtra_kernel_record(g, &(filtra_kernel){.name = "add up",
                                                     .words = spirv->words,
                                                     .word_count = spirv->bytes / 4,
                                                     .arguments = arguments,
                                                     .argument_count = 2,
                                                     .push = &push,
                                                     .push_size = sizeof push,
                                                     .workgroup = 8,
                                                     .constants = (uint32_t[]){1},
                                                     .constant_count = 1}));
  assert_ok(filtra_parameters_commit(params, 1, FILTRA_FIXED));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  const float values[] = {1, -2, 0.5f};
  assert_ok(filtra_graph_set(g, x, values));
  for (int i = 0; i < 4; i++)
    assert_ok(filtra_graph_execute(g));
  float got[3];
  assert_ok(filtra_parameters_get(params, "total", got, 3));
  for (int i = 0; i < 3; i++)
    assert_true(got[i] == 4 * values[i]);
}

/* ---- what is refused ---- */

typedef struct attempt {
  filtra_kernel kernel;
  filtra_kernel_argument arguments[3];
  struct affine_push push;
  uint32_t words[4096];
} attempt;

/* A kernel that would be accepted, x read and y written. */
static attempt *prepare(filtra_graph **g) {
  const int64_t count = 5;
  const ft_kernel_source *spirv = module("elementwise/affine");
  attempt *a = calloc(1, sizeof *a);
  assert_true(a && spirv->bytes <= sizeof a->words);
  memcpy(a->words, spirv->words, spirv->bytes);
  assert_ok(filtra_graph_create(test_device(), NULL, g));
  a->arguments[0] = (filtra_kernel_argument){filtra_graph_input(*g, "x", FILTRA_F32, 1, &count),
                                             FILTRA_ACCESS_READ};
  a->arguments[1] = (filtra_kernel_argument){filtra_kernel_output(*g, "y", FILTRA_F32, 1, &count),
                                             FILTRA_ACCESS_WRITE};
  a->push = (struct affine_push){5, 1, 0};
  a->kernel = (filtra_kernel){.name = "attempt",
                              .words = a->words,
                              .word_count = spirv->bytes / 4,
                              .arguments = a->arguments,
                              .argument_count = 2,
                              .push = &a->push,
                              .push_size = sizeof a->push,
                              .workgroup = 64};
  return a;
}

/* Puts a number into one field, which breaks one rule. */
#define BREAK(member, number, part)                                                                \
  { offsetof(attempt, member), sizeof(((attempt *)0)->member), number, part }

static const struct {
  size_t offset, size;
  uint64_t number;
  const char *part;
} RULES[] = {
    BREAK(kernel.name, 0, "needs a name"),
    BREAK(kernel.words, 0, "words is NULL"),
    BREAK(words[0], 0x03022307, "no SPIR-V (magic number)"),
    BREAK(words[1], 0x00020000, "SPIR-V 2.0, accepted are 1.0 to 1.6"),
    BREAK(words[5], 0xffff0011, "the SPIR-V instruction at word 5 has 65535 words"),
    BREAK(words[6], 2, "SPIR-V capability 2 is not among"),
    BREAK(kernel.word_count, 5, "no compute entry point \"main\""),
    BREAK(kernel.argument_count, 0, "0 arguments, accepted are 1 to 13"),
    BREAK(kernel.argument_count, 14, "14 arguments"),
    BREAK(kernel.push_size, 3, "3 bytes of push constants"),
    BREAK(kernel.push_size, 116, "multiples of 4 up to 112"),
    BREAK(kernel.workgroup, 0, "a workgroup of 0"),
    BREAK(kernel.workgroup, 1 << 20, "a workgroup of 1048576"),
    BREAK(kernel.subgroup, 12, "subgroups of 12, accepted are powers of two"),
    BREAK(kernel.constant_count, 14, "14 constants, accepted are 0 to 13"),
    BREAK(kernel.reserved[0], 1, "filtra_kernel: reserved[0]"),
    BREAK(kernel.groups[1], 0x7fffffff, "workgroups in dimension 1"), /* of 0 some GPUs take it */
    BREAK(kernel.context_size, 8, "context is NULL"),
    BREAK(arguments[1].access, 4, "there is no access 4"),
    BREAK(arguments[0].access, FILTRA_ACCESS_WRITE, "writes x; accepted are"),
};

static void refuse(attempt *a, filtra_graph *g, const char *part) {
  filtra_status status = filtra_kernel_record(g, &a->kernel);
  if (!status || !strstr(filtra_error_message(), part))
    fail_msg("\"%s\" was expected, not \"%s\"", part, filtra_error_message());
  assert_fails(filtra_graph_compile(g), status, part);
  filtra_graph_destroy(&g);
  free(a);
}

TEST(broken_fields) {
  filtra_graph *g = NULL;
  for (size_t i = 0; i < FT_COUNT(RULES); i++) {
    attempt *a = prepare(&g);
    memcpy((char *)a + RULES[i].offset, &RULES[i].number, RULES[i].size);
    refuse(a, g, RULES[i].part);
  }
  attempt *a = prepare(&g);
  a->kernel.word_count--;
  refuse(a, g, "the SPIR-V ends within a function");
}

TEST(arguments_that_do_not_fit) {
  filtra_graph *g = NULL;
  attempt *a = prepare(&g);
  a->arguments[0].tensor = a->arguments[1].tensor;
  refuse(a, g, "reads y, which no kernel has written");
  a = prepare(&g);
  a->arguments[1].tensor = filtra_affine(g, a->arguments[0].tensor, 1, 0);
  refuse(a, g, "writes affine; accepted are");
  a = prepare(&g);
  filtra_tensor *h = test_input(g, "h", 1, 5, 6);
  a->arguments[0].tensor = filtra_split_heads(g, h, 2);
  refuse(a, g, "must be dense");
  a = prepare(&g);
  a->kernel.backward = affine_backward;
  a->arguments[1].access = FILTRA_ACCESS_UPDATE;
  refuse(a, g, "updates y; a kernel with a gradient");
  a = prepare(&g);
  assert_ok(filtra_kernel_record(g, &a->kernel));
  a->arguments[0].tensor = a->arguments[1].tensor;
  a->arguments[1].access = FILTRA_ACCESS_UPDATE;
  refuse(a, g, "arguments 0 and 1 share y, and one writes");
}

/* A tensor is written once, read only then, and by an op neither before. */
TEST(order_of_calls) {
  owned_graph *g = NULL;
  attempt *a = prepare(&g);
  assert_ok(filtra_kernel_record(g, &a->kernel));
  assert_fails(filtra_kernel_record(g, &a->kernel), FILTRA_ERROR_ARGUMENT, "writes y");
  filtra_graph_destroy(&g);
  free(a);
  a = prepare(&g);
  test_refuse(&g, filtra_affine(g, a->arguments[1].tensor, 1, 0),
              "y is read, but no kernel has written it");
  free(a);
  a = prepare(&g);
  assert_ok(filtra_kernel_record(g, &a->kernel));
  filtra_graph_output(g, a->arguments[1].tensor);
  assert_ok(filtra_graph_compile(g));
  assert_fails(filtra_kernel_record(g, &a->kernel), FILTRA_ERROR_ARGUMENT, "is compiled");
  free(a);
}

/* A required subgroup size: one that the device runs is taken, others are refused by compile. */
TEST(subgroup_sizes) {
  for (uint32_t size = 1; size <= 1024; size *= 2) {
    owned_graph *g = NULL;
    owned attempt *a = prepare(&g);
    a->kernel.subgroup = size;
    assert_ok(filtra_kernel_record(g, &a->kernel));
    if (ft_caps_runs(ft_caps_of(test_device()), size, a->kernel.workgroup))
      assert_ok(filtra_graph_compile(g));
    else
      assert_fails(filtra_graph_compile(g), FILTRA_ERROR_UNSUPPORTED,
                   "kernel attempt: subgroups of");
  }
}

/* Each allocation in turn fails: the kernel is refused, or all is well. */
TEST(without_memory) {
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  for (long n = 1; status; n++) {
    owned_graph *g = NULL;
    owned attempt *a = prepare(&g);
    a->kernel.name = "hungry"; /* a module of its own, to be copied */
    ft_memory_fail_after(n);
    status = filtra_kernel_record(g, &a->kernel);
    ft_memory_fail_after(0);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
  }
}

/* A shader that gets another number of arguments would read numbers as addresses. */
TEST(arguments_are_those_of_the_module) {
  static const struct {
    uint32_t arguments, push;
    const char *part;
  } CASES[] = {{1, 12, "1 arguments, its SPIR-V takes 2 addresses"},
               {3, 12, "3 arguments, its SPIR-V takes 2 addresses"},
               {2, 8, "24 bytes of push constants with the addresses, its SPIR-V reads 28"},
               {2, 0, "its SPIR-V reads 28"}};
  const ft_kernel_source *spirv = module("elementwise/affine");
  const int64_t four = 4;
  const uint32_t push[3] = {4}, constants[] = {0};
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    owned_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 1, &four);
    filtra_tensor *y = filtra_kernel_output(g, "y", FILTRA_F32, 1, &four);
    const filtra_kernel_argument arguments[] = {
        {x, FILTRA_ACCESS_READ}, {y, FILTRA_ACCESS_WRITE}, {NULL, FILTRA_ACCESS_READ}};
    assert_fails(filtra_kernel_record(g, &(filtra_kernel){.name = "mine",
                                                          .words = spirv->words,
                                                          .word_count = spirv->bytes / 4,
                                                          .arguments = arguments,
                                                          .argument_count = CASES[i].arguments,
                                                          .push = push,
                                                          .push_size = CASES[i].push,
                                                          .workgroup = 64,
                                                          .constants = constants,
                                                          .constant_count = 1,
                                                          .groups = {1}}),
                 FILTRA_ERROR_ARGUMENT, CASES[i].part);
  }
}

TEST_MAIN(NULL, test_teardown)
