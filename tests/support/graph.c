#include "support/graph.h"

#include "support/harness.h"

filtra_graph *test_graph(filtra_device *device, const filtra_graph_options *options) {
  filtra_graph *g = NULL;
  assert_ok(filtra_graph_create(device, options, &g));
  return g;
}

void test_graph_refused(filtra_graph **g, const filtra_tensor *result, filtra_status status,
                        const char *part, const char *file, int line) {
  _assert_true(!result, "no tensor is given", file, line);
  test_assert_fails(filtra_graph_compile(*g), status, part, file, line);
  filtra_graph_destroy(g);
}

void test_graph_run(filtra_graph *g, const test_set *sets, const test_get *gets, const char *file,
                    int line) {
  for (; sets && sets->tensor; sets++)
    test_assert_ok(filtra_graph_set(g, sets->tensor, sets->data), "set", file, line);
  test_assert_ok(filtra_graph_execute(g), "execute", file, line);
  for (; gets && gets->tensor; gets++)
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
