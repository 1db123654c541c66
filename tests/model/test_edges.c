/* Models of graphs against golden files of tests/golden/graphormer.py: equal logits, loss and
 * gradients; invalid graphs give errors that name the fault. */

#include "support/golden_model.h"
#include "support/harness.h"

#include <filtra/filtra.h>

static const char *const FILES[] = {"graphormer", "graphormer_mean_gfsa", "graphormer_contra_norm"};

static filtra_model *load(const char *name) {
  return test_golden_model("edges", name);
}

/* The batch of three graphs with room for one more node than the largest has. */
static void open_golden(const char *name, test_golden_batch *g) {
  test_golden_open("edges", name, g);
}

TEST(logits_and_loss_are_the_reference_s) {
  for (size_t i = 0; i < FT_COUNT(FILES); i++)
    test_golden_logits("edges", FILES[i]);
}

TEST(gradients_are_the_reference_s) {
  for (size_t i = 0; i < FT_COUNT(FILES); i++)
    test_golden_gradients("edges", FILES[i]);
}

/* Nodes have no order: with their numbers exchanged, a graph in which each two nodes have one
 * shortest path has the same logits. */
TEST(the_order_of_nodes_does_not_matter) {
  test_golden_batch g;
  int32_t tokens[21], edges[30];
  float logits[9], turned[9];
  owned_model *model = load(FILES[0]);
  open_golden(FILES[0], &g);
  assert_ok(filtra_model_predict_batch(model, &g.batch, logits));
  memcpy(tokens, g.batch.tokens, sizeof tokens);
  memcpy(edges, g.batch.edges, sizeof edges);
  for (int n = 0; n < 7; n++)
    tokens[n] = g.batch.tokens[6 - n];
  for (uint32_t e = 0; e < g.batch.edge_counts[0]; e++)
    for (int k = 0; k < 2; k++)
      edges[3 * e + (uint32_t)k] = 6 - edges[3 * e + (uint32_t)k];
  g.batch.tokens = tokens;
  g.batch.edges = edges;
  assert_ok(filtra_model_predict_batch(model, &g.batch, turned));
  for (int i = 0; i < 9; i++)
    assert_float_equal(logits[i], turned[i], 1e-5);
  ft_safetensors_close(&g.file);
}

TEST(batches_that_are_no_graphs_are_named) {
  test_golden_batch g;
  float logits[9];
  owned_model *model = load(FILES[0]);
  open_golden(FILES[0], &g);
  const filtra_batch whole = g.batch;
  g.batch.edges = NULL;
  assert_fails(filtra_model_predict_batch(model, &g.batch, logits), FILTRA_ERROR_ARGUMENT,
               "needs edge_counts and edges");
  g.batch.edge_counts = (uint32_t[]){0, 0, 0};
  assert_ok(filtra_model_predict_batch(model, &g.batch, logits));
  static const int32_t both[] = {0, 1, 0, 2, 3, 1, 1, 0, 0};
  const uint32_t three[] = {3, 0, 0};
  g.batch = whole;
  g.batch.edge_counts = three;
  g.batch.edges = both;
  assert_fails(filtra_model_predict_batch(model, &g.batch, logits), FILTRA_ERROR_INPUT,
               "batch: sample 0: nodes 0 and 1 are joined twice");
  static const int32_t BAD[][3] = {{0, 7, 0}, {-1, 0, 0}, {2, 2, 0}, {0, 1, 3}, {0, 1, -1}};
  for (size_t i = 0; i < FT_COUNT(BAD); i++) {
    const uint32_t one[] = {1, 0, 0};
    g.batch.edge_counts = one;
    g.batch.edges = BAD[i];
    assert_fails(filtra_model_predict_batch(model, &g.batch, logits), FILTRA_ERROR_INPUT,
                 "batch: sample 0: edge 0 is from node");
  }
  ft_safetensors_close(&g.file);
}

TEST(they_are_not_exported) {
  assert_fails(filtra_model_export(test_golden_path("edges", FILES[0], ".safetensors"), "out"),
               FILTRA_ERROR_ARGUMENT, "the model reads graphs (\"edge_types\")");
}

static void refuse(filtra_model_config config, const char *text) {
  filtra_model *model;
  config.vocabulary = 9;
  config.classes = 2;
  assert_fails(filtra_model_create(test_device(), &config, &model), FILTRA_ERROR_INPUT, text);
}

TEST(options_that_do_not_fit_graphs_are_named) {
  const filtra_positions none = FILTRA_POSITIONS_NONE;
  refuse((filtra_model_config){.edge_hops = 2}, "\"edge_hops\" is for graphs");
  refuse((filtra_model_config){.edge_types = 65}, "edge_types");
  refuse((filtra_model_config){.edge_types = 2}, "\"positions\" must be none");
  refuse((filtra_model_config){.edge_types = 2, .positions = none, .mixer = "agf"},
         "mixer \"agf\" takes no bias of attention");
  refuse((filtra_model_config){.edge_types = 2, .positions = none, .token_types = 2},
         "\"token_types\" must be 0");
  refuse(
      (filtra_model_config){.edge_types = 2, .positions = none, .pooling = FILTRA_POOLING_FLATTEN},
      "\"pooling\" must be");
}

TEST_MAIN(NULL, test_teardown)
