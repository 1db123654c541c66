/* The memory that a run is said to need, and the advice where it does not fit. */
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/run.h>

static char warned[512];

static void keep(void *user, filtra_log_level level, const char *message) {
  (void)user;
  (void)level;
  snprintf(warned, sizeof warned, "%s", message);
}

/* 40 graphs of 10 nodes, except for the first, which has 400. */
static const char *write_graphs(void) {
  const char *folder = test_folder();
  FILE *edges = fopen(test_path(folder, "X_A.txt"), "w"),
       *graphs = fopen(test_path(folder, "X_graph_indicator.txt"), "w"),
       *labels = fopen(test_path(folder, "X_graph_labels.txt"), "w");
  for (int graph = 1, node = 1; graph <= 40; graph++) {
    const int end = node + (graph == 1 ? 400 : 10);
    fprintf(labels, "%d\n", graph % 2);
    fprintf(edges, "%d, %d\n", node, node + 1);
    for (; node < end; node++)
      fprintf(graphs, "%d\n", graph);
  }
  fclose(edges);
  fclose(graphs);
  fclose(labels);
  return folder;
}

/* Batches of 32 with the large graph need a buffer that the device lacks, single graphs do not;
 * validation has 4 small graphs, whatever the size of a batch. */
TEST(advice_knows_the_batches_of_validation) {
  owned_device *device = test_open_device("allocation=33554432");
  const char *data = write_graphs(), *texts[2];
  filtra_run_memory_use plan;
  for (int parts = 0; parts < 2; parts++)
    texts[parts] = test_text("{\"data\": \"%s\", \"batch_size\": 32, \"width\": 8, \"layers\": 1, "
                             "\"heads\": 1, \"steps\": 1, \"accumulate\": %d}",
                             data, parts ? 32 : 1);
  filtra_log_set(keep, NULL);
  assert_ok(filtra_run_measure(device, &(filtra_run_options){.config = texts[0]}, &plan));
  assert_non_null(strstr(warned, "the sums lack what does not fit: "));
  assert_false(plan.fits);
  assert_non_null(strstr(plan.advice, "accumulate="));
  warned[0] = '\0';
  assert_ok(filtra_run_measure(device, &(filtra_run_options){.config = texts[1]}, &plan));
  assert_string_equal(warned, "");
  assert_true(plan.fits);
}

TEST_MAIN(NULL, test_teardown)
