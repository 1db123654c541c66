/* Creates objects that a test relies on, and refuses or runs graphs in one call each. */
#ifndef TEST_SUPPORT_OBJECTS_H
#define TEST_SUPPORT_OBJECTS_H

#include <filtra/filtra.h>

filtra_graph *test_graph(filtra_device *device, const filtra_graph_options *options);
filtra_parameters *test_parameters(filtra_device *device);
filtra_model *test_model(filtra_device *device, const filtra_model_config *config);
filtra_trainer *test_trainer(filtra_model *model, const filtra_train_options *options);
filtra_dataset *test_dataset(const filtra_dataset_arrays *arrays);
filtra_loader *test_loader(const filtra_dataset *ds, const filtra_loader_options *options);
/** An F32 input with these dimensions. */
#define test_input(g, name, ...)                                                                   \
  filtra_graph_input(g, name, FILTRA_F32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),      \
                     (int64_t[]){__VA_ARGS__})
/** Number of values in parameter `index`. */
int64_t test_scalars(const filtra_parameters *parameters, size_t index);
/** Zeroed memory. */
void *test_alloc(size_t bytes);

/** Expects that `result` is NULL and that compiling fails with ARGUMENT, or `status`, and a message
 * that contains `part`. Destroys the graph. */
#define test_refuse(g, result, part) test_refuse_as(g, result, FILTRA_ERROR_ARGUMENT, part)
#define test_refuse_as(g, result, status, part)                                                    \
  test_graph_refused(g, result, status, part, __FILE__, __LINE__)
void test_graph_refused(filtra_graph **g, const filtra_tensor *result, filtra_status status,
                        const char *part, const char *file, int line);

typedef struct test_set {
  filtra_tensor *tensor;
  const void *data;
} test_set;
typedef struct test_get {
  filtra_tensor *tensor;
  void *data;
} test_get;

/** TEST_SET({x, values}, ...) and TEST_GET({y, result}, ...): inputs and outputs of a run. */
#define TEST_SET(...) ((const test_set[]){__VA_ARGS__, {NULL, NULL}})
#define TEST_GET(...) ((const test_get[]){__VA_ARGS__, {NULL, NULL}})

/** Sets inputs, runs once and fetches outputs; either list may be NULL. */
#define test_run_graph(g, sets, gets) test_graph_run(g, sets, gets, __FILE__, __LINE__)
void test_graph_run(filtra_graph *g, const test_set *sets, const test_get *gets, const char *file,
                    int line);
/** As test_run_graph, after compiling and checking the plan. */
#define test_compile_and_run(g, sets, gets) test_graph_compiled(g, sets, gets, __FILE__, __LINE__)
void test_graph_compiled(filtra_graph *g, const test_set *sets, const test_get *gets,
                         const char *file, int line);
/** As test_compile_and_run; then destroys the graph. */
#define test_evaluate(g, sets, gets) test_graph_evaluated(g, sets, gets, __FILE__, __LINE__)
void test_graph_evaluated(filtra_graph **g, const test_set *sets, const test_get *gets,
                          const char *file, int line);

#endif
