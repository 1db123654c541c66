#include "support/objects.h"

#include "support/harness.h"

filtra_graph *test_graph(filtra_device *device, const filtra_graph_options *options) {
  filtra_graph *g = NULL;
  assert_ok(filtra_graph_create(device, options, &g));
  return g;
}

filtra_parameters *test_parameters(filtra_device *device) {
  filtra_parameters *parameters = NULL;
  assert_ok(filtra_parameters_create(device, &parameters));
  return parameters;
}

filtra_model *test_model(filtra_device *device, const filtra_model_config *config) {
  filtra_model *model = NULL;
  assert_ok(filtra_model_create(device, config, &model));
  return model;
}

filtra_trainer *test_trainer(filtra_model *model, const filtra_train_options *options) {
  filtra_trainer *trainer = NULL;
  assert_ok(filtra_trainer_create(model, options, &trainer));
  return trainer;
}

filtra_dataset *test_dataset(const filtra_dataset_arrays *arrays) {
  filtra_dataset *ds = NULL;
  assert_ok(filtra_dataset_create(arrays, &ds));
  return ds;
}

filtra_loader *test_loader(const filtra_dataset *ds, const filtra_loader_options *options) {
  filtra_loader *loader = NULL;
  assert_ok(filtra_loader_create(ds, options, &loader));
  return loader;
}

int64_t test_scalars(const filtra_parameters *parameters, size_t index) {
  int64_t shape[FILTRA_MAX_DIMS], count = 1;
  for (int i = filtra_parameters_shape(parameters, index, shape); i-- > 0;)
    count *= shape[i];
  return count;
}

void *test_alloc(size_t bytes) {
  void *data = calloc(1, bytes ? bytes : 1);
  assert_non_null(data);
  return data;
}

void test_graph_refused(filtra_graph **g, const filtra_tensor *result, filtra_status status,
                        const char *part, const char *file, int line) {
  _assert_true(!result, "no tensor is given", file, line);
  test_assert_fails(filtra_graph_compile(*g), status, part, file, line);
  filtra_graph_destroy(g);
}

void test_graph_run(filtra_graph *g, const test_set *sets, const test_get *gets, const char *file,
                    int line) {
  for (; sets && (sets->tensor || sets->data); sets++)
    test_assert_ok(filtra_graph_set(g, sets->tensor, sets->data), "set", file, line);
  test_assert_ok(filtra_graph_execute(g), "execute", file, line);
  for (; gets && (gets->tensor || gets->data); gets++)
    test_assert_ok(filtra_graph_get(g, gets->tensor, gets->data), "get", file, line);
}

void test_graph_compiled(filtra_graph *g, const test_set *sets, const test_get *gets,
                         const char *file, int line) {
  test_assert_ok(filtra_graph_compile(g), "compile", file, line);
  test_assert_ok(ft_graph_check(g), "check", file, line);
  test_graph_run(g, sets, gets, file, line);
}

void test_graph_evaluated(filtra_graph **g, const test_set *sets, const test_get *gets,
                          const char *file, int line) {
  test_graph_compiled(*g, sets, gets, file, line);
  filtra_graph_destroy(g);
}
