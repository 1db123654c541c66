/* Samples that are graphs: molecules of a table, and graphs in an application's arrays, in data
 * sets, batches and predictions; invalid ones are refused. */
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>

static const char MOLECULES[] = "smiles,value\nCCO,1.5\nC1CC1,-2\nC,0.5\nc1ccccc1O,3\nC=O,1\n";
static const filtra_dataset_options SMILES = {.tokenizer = "smiles",
                                              .file_split = FILTRA_SPLIT_TEST};

static filtra_dataset *open_molecules(const filtra_dataset_options *options) {
  const char *path = test_write_text(test_folder(), "molecules.csv", MOLECULES);
  return test_open_dataset(path, NULL, options);
}

TEST(molecules_of_a_table_are_graphs) {
  static const int32_t ring[] = {0, 1, 0, 1, 2, 0, 0, 2, 0};
  filtra_sample sample;
  owned_dataset *ds = open_molecules(&SMILES);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_int_equal(info->edge_types, 5);
  assert_int_equal(info->longest, 7);
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TEST, 1, &sample));
  assert_int_equal(sample.length, 3);
  assert_int_equal(sample.edge_count, 3);
  assert_memory_equal(sample.edges, ring, sizeof ring);
  assert_string_equal(filtra_tokenizer_symbol(info->tokenizer, (uint32_t)sample.tokens[0]), "C");
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TEST, 3, &sample));
  assert_string_equal(filtra_tokenizer_symbol(info->tokenizer, (uint32_t)sample.tokens[0]), "c");
  assert_int_equal(sample.edges[2], 4);
  assert_true(sample.value == 3.0f);
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TEST, 2, &sample));
  assert_int_equal(sample.edge_count, 0);
}

TEST(batches_have_the_edges_of_their_rows) {
  filtra_batch batch;
  filtra_loader *loader;
  owned_dataset *ds = open_molecules(&SMILES);
  assert_ok(filtra_loader_create(
      ds, &(filtra_loader_options){.batch_size = 6, .split = FILTRA_SPLIT_TEST}, &loader));
  assert_ok(filtra_loader_next(loader, &batch));
  const uint32_t counts[] = {2, 3, 0, 7, 1, 2}; /* the last row fills up */
  assert_memory_equal(batch.edge_counts, counts, sizeof counts);
  assert_memory_equal(batch.edges + 3 * 13, batch.edges, 6 * sizeof *batch.edges);
  assert_int_equal(batch.edges[3 * 12 + 2], 1);
  filtra_loader_destroy(&loader);
}

TEST(a_bond_changes_the_fingerprint) {
  filtra_dataset_options options = SMILES;
  options.file_split = FILTRA_SPLIT_TRAIN;
  static const char *const texts[] = {"smiles,value\nCCC,1\nCC,2\nCO,1\n",
                                      "smiles,value\nC1CC1,1\nCC,2\nCO,1\n",
                                      "smiles,value\nC=CC,1\nCC,2\nCO,1\n"};
  uint64_t fingerprints[3];
  for (int i = 0; i < 3; i++) {
    owned_dataset *ds =
        test_open_dataset(test_write_text(test_folder(), "a.csv", texts[i]), NULL, &options);
    fingerprints[i] = ft_dataset_fingerprint(ds);
  }
  assert_true(fingerprints[0] != fingerprints[1] && fingerprints[0] != fingerprints[2]);
}

TEST(what_is_no_molecule_is_named) {
  filtra_dataset_options options = SMILES;
  const char *path = test_write_text(test_folder(), "b.csv", "smiles,value\nCCO,1\nC1CC,2\n");
  test_refuse_dataset(path, &options, "b.csv:3: column 2: ring 1 is not closed");
  options.max_length = 2;
  options.truncate = true; /* graphs are not cut */
  path = test_write_text(test_folder(), "c.csv", "smiles,value\nCC,1\nCCO,2\n");
  test_refuse_dataset(path, &options, "leave it out, or raise max_length");
  path = test_write_text(test_folder(), "text.txt", "CCO\nCCC\n");
  const filtra_dataset_options lines = {.format = "text-lm", .tokenizer = "smiles"};
  filtra_dataset *ds;
  assert_fails(filtra_dataset_open(path, &lines, &ds), FILTRA_ERROR_ARGUMENT,
               "the tokenizer \"smiles\" reads graphs");
}

TEST(molecules_without_memory) {
  test_dataset_memory(test_write_text(test_folder(), "molecules.csv", MOLECULES), &SMILES);
}

static char said[512];

static void keep(void *user, filtra_log_level level, const char *message) {
  (void)user;
  (void)level;
  snprintf(said, sizeof said, "%s", message);
}

/* Molecules that nobody said are molecules are read as text, and that is said. */
TEST(molecules_read_as_text_are_said) {
  const char *path = test_write_text(test_folder(), "a.csv", MOLECULES);
  filtra_log_set(keep, NULL);
  assert_ok(test_try_dataset(path, NULL));
  assert_non_null(strstr(said, "column \"smiles\" is read as text; tokenizer smiles reads"));
  said[0] = '\0';
  assert_ok(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "smiles"}));
  assert_ok(test_try_dataset(path, &(filtra_dataset_options){.tokenizer = "bytes"}));
  filtra_log_set(NULL, NULL);
  assert_string_equal(said, "");
}

/* ---- arrays ---- */

static int32_t nodes[] = {1, 2, 3, 4, 5}, edges[] = {0, 1, 0, 1, 2, 1, 0, 1, 1};
static uint32_t lengths[] = {3, 2}, edge_counts[] = {2, 1};
static int32_t labels[] = {0, 1};

static filtra_dataset_arrays graphs(void) {
  return (filtra_dataset_arrays){.splits[FILTRA_SPLIT_TRAIN] = {.count = 2,
                                                                .tokens = nodes,
                                                                .lengths = lengths,
                                                                .edges = edges,
                                                                .edge_counts = edge_counts,
                                                                .labels = labels},
                                 .classes = 2,
                                 .edge_types = 2};
}

TEST(graphs_of_arrays_are_copied) {
  filtra_sample sample;
  filtra_dataset_arrays arrays = graphs();
  owned_dataset *ds = test_dataset(&arrays);
  assert_int_equal(filtra_dataset_get_info(ds)->edge_types, 2);
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TRAIN, 1, &sample));
  assert_int_equal(sample.tokens[1], 5);
  assert_int_equal(sample.edge_count, 1);
  assert_memory_equal(sample.edges, edges + 6, 3 * sizeof *edges);
}

static void refuse(const filtra_dataset_arrays *arrays, filtra_status status, const char *part) {
  filtra_dataset *ds;
  assert_fails(filtra_dataset_create(arrays, &ds), status, part);
}

TEST(arrays_that_are_no_graphs_are_named) {
  filtra_dataset_arrays arrays = graphs();
  arrays.edge_types = 65;
  refuse(&arrays, FILTRA_ERROR_ARGUMENT, "edge_types is 65, accepted are 0 to 64");
  arrays.edge_types = 1;
  refuse(&arrays, FILTRA_ERROR_INPUT,
         "sample 0 of train: edge 1 is from node 1 to node 2, of type 1");
  arrays.edge_types = 0;
  refuse(&arrays, FILTRA_ERROR_ARGUMENT, "has edges where edge_types is 0");
  arrays = graphs();
  arrays.splits[FILTRA_SPLIT_TRAIN].edges = NULL;
  refuse(&arrays, FILTRA_ERROR_ARGUMENT, "needs edge_counts and edges");
  arrays.splits[FILTRA_SPLIT_TRAIN].edge_counts = (uint32_t[]){0, 0};
  filtra_dataset_close(&(filtra_dataset *){test_dataset(&arrays)});
  arrays = graphs();
  static const int32_t both[] = {0, 1, 0, 1, 0, 0, 0, 1, 1};
  arrays.splits[FILTRA_SPLIT_TRAIN].edges = both;
  refuse(&arrays, FILTRA_ERROR_INPUT, "nodes 0 and 1 are joined twice");
  arrays = graphs();
  arrays.target = FILTRA_TARGET_NEXT;
  arrays.classes = 0;
  refuse(&arrays, FILTRA_ERROR_ARGUMENT, "of graphs of tokens with classes or values");
}

/* ---- predictions ---- */

/* A molecule's text gives what its row of a batch gives; a model of graphs wants them. */
TEST(predictors_read_molecules) {
  filtra_batch batch;
  filtra_loader *loader;
  filtra_predictor *predictor;
  filtra_model *model;
  filtra_prediction made[2];
  float values[5];
  void *bytes;
  size_t size;
  owned_dataset *ds = open_molecules(&SMILES);
  assert_ok(filtra_model_create(
      test_device(), &(filtra_model_config){.data = ds, .layers = 1, .width = 8, .target_scale = 1},
      &model));
  assert_ok(filtra_loader_create(
      ds, &(filtra_loader_options){.batch_size = 5, .split = FILTRA_SPLIT_TEST}, &loader));
  assert_ok(filtra_loader_next(loader, &batch));
  assert_ok(filtra_model_predict_batch(model, &batch, values));
  filtra_loader_destroy(&loader);
  assert_ok(filtra_model_save_to_memory(model, &bytes, &size));
  assert_ok(filtra_model_destroy(&model));
  assert_ok(filtra_predictor_create_from_memory(test_device(), bytes, size, NULL, &predictor));
  filtra_free(bytes);
  const filtra_request requests[] = {{.text = "C1CC1", .text_length = 5},
                                     {.text = "C1=CC=CC=C1O", .text_length = 12}};
  assert_ok(filtra_predictor_predict(predictor, 2, requests, made));
  assert_float_equal((double)made[0].value, (double)values[1], 1e-6);
  assert_float_equal((double)made[1].value, (double)values[3], 1e-6);
  assert_fails(filtra_predictor_predict(predictor, 1,
                                        &(filtra_request){.text = "C1CC", .text_length = 4}, made),
               FILTRA_ERROR_INPUT, "column 2: ring 1 is not closed");
  assert_fails(
      filtra_predictor_predict(
          predictor, 1, &(filtra_request){.text = "CCCCCCCCCCCCCCCCC", .text_length = 17}, made),
      FILTRA_ERROR_INPUT, "a graph of 17 nodes; the model takes at most 16");
  assert_fails(
      filtra_predictor_predict(predictor, 1, &(filtra_request){.tokens = nodes, .length = 5}, made),
      FILTRA_ERROR_INPUT, "the model reads graphs");
  filtra_predictor_destroy(&predictor);
}

/* Data are not said of a model that reads the other kind. */
TEST(models_and_data_are_of_one_kind) {
  filtra_dataset_arrays arrays = graphs();
  owned_dataset *ds = test_dataset(&arrays);
  owned_model *sequences =
      test_model(test_device(),
                 &(filtra_model_config){.vocabulary = 9, .classes = 2, .width = 8, .layers = 1});
  assert_fails(filtra_model_set_data(sequences, ds), FILTRA_ERROR_INPUT,
               "model: reads sequences, the data are graphs");
  owned_model *model = test_model(
      test_device(), &(filtra_model_config){.data = ds, .edge_types = 9, .width = 8, .layers = 1});
  assert_ok(filtra_model_set_data(model, ds));
}

TEST_MAIN(NULL, test_teardown)
