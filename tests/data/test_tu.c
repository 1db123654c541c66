/* Graphs as TU Dortmund distributes them: what is read, and what is refused. */
#include "data/dataset.h"
#include "model/model.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>

/* A path of three nodes, a triangle and a node alone; both directions of each edge. */
static const char *const FILES[][2] = {
    {"T_graph_indicator.txt", "1\n1\n1\n2\n2\n2\n3\n"},
    {"T_A.txt", "1, 2\n2, 1\n3, 2\n2, 3\n4,5\n5,4\n5,6\n6,5\n6,4\n4,6\n"},
    {"T_node_labels.txt", "0\n2\n0\n1\n1\n1\n2\n"},
    {"T_edge_labels.txt", "0\n0\n2\n2\n1\n1\n1\n1\n0\n0\n"},
    {"T_graph_labels.txt", "-1\n1\n-1\n"},
    {"T_graph_attributes.txt", "0.5\n-2\n3e1\n"}};
enum { INDICATOR, EDGES, NODE_LABELS, EDGE_LABELS, CLASSES, VALUES, COUNT };

/* Writes the files, but `changed` with another text; NULL: without it. */
static const char *folder_with(int changed, const char *text) {
  const char *folder = test_folder();
  for (int i = 0; i < COUNT; i++) {
    const char *content = i == changed ? text : FILES[i][1];
    if (content) test_write_text(folder, FILES[i][0], content);
  }
  return folder;
}

static filtra_dataset *open_ok(const char *folder, const filtra_dataset_options *options) {
  filtra_dataset *ds = test_open_dataset(folder, NULL, options);
  assert_string_equal(filtra_dataset_get_info(ds)->format, "tu");
  return ds;
}

/* Samples of the training split and those held out of it. */
static filtra_sample sample_of(const filtra_dataset *ds, uint32_t length, int32_t token) {
  filtra_sample s;
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_VAL; split++)
    for (uint64_t i = 0; i < filtra_dataset_get_info(ds)->count[split]; i++) {
      assert_ok(filtra_dataset_sample(ds, split, i, &s));
      if (s.length == length && s.tokens[0] == token) return s;
    }
  fail_msg("no sample of %u nodes that begin with %d", length, token);
  return s;
}

TEST(graphs_with_classes) {
  static const int32_t path[] = {0, 1, 0, 1, 2, 2}, triangle[] = {0, 1, 1, 0, 2, 0, 1, 2, 1};
  owned_dataset *ds = open_ok(folder_with(COUNT, NULL), &(filtra_dataset_options){0});
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_int_equal(info->edge_types, 3);
  assert_int_equal(info->classes, 2);
  assert_int_equal(info->longest, 3);
  filtra_sample s = sample_of(ds, 3, 1);
  assert_int_equal(s.edge_count, 2);
  assert_memory_equal(s.edges, path, sizeof path);
  assert_int_equal(s.tokens[1], 3);
  assert_string_equal(filtra_dataset_class_name(ds, (uint32_t)s.label), "-1");
  s = sample_of(ds, 3, 2);
  assert_int_equal(s.edge_count, 3);
  assert_memory_equal(s.edges, triangle, sizeof triangle);
  assert_int_equal(sample_of(ds, 1, 3).edge_count, 0);
}

TEST(graphs_with_values_and_without_labels) {
  owned_dataset *ds = open_ok(folder_with(COUNT, NULL),
                              &(filtra_dataset_options){.targets = FILTRA_TARGETS_VALUES});
  assert_true(sample_of(ds, 1, 3).value == 30.0f);
  filtra_dataset_close(&ds);
  ds = open_ok(folder_with(NODE_LABELS, NULL), &(filtra_dataset_options){0});
  assert_int_equal(sample_of(ds, 1, 1).length, 1);
  filtra_dataset_close(&ds);
  ds = open_ok(folder_with(EDGE_LABELS, NULL), &(filtra_dataset_options){0});
  assert_int_equal(filtra_dataset_get_info(ds)->edge_types, 1);
  filtra_dataset_close(&ds);
  ds = open_ok(folder_with(CLASSES, NULL), &(filtra_dataset_options){0});
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_VALUE);
}

static void count_missing(void *user, filtra_log_level level, const char *message) {
  *(int *)user += level == FILTRA_LOG_WARNING && strstr(message, "are their labels missing?");
}

/* Numbers at nodes and edges are left out aloud, and so are labels that a model knows. */
TEST(what_is_left_out_is_said) {
  const char *folder = folder_with(COUNT, NULL);
  test_write_text(folder, "T_node_attributes.txt", "1\n");
  test_open_warns(folder, &(filtra_dataset_options){0}, "left out", "T_node_attributes.txt");
  owned_dataset *whole = open_ok(folder_with(COUNT, NULL), &(filtra_dataset_options){0});
  folder = folder_with(NODE_LABELS, NULL);
  assert_int_equal(remove(test_path(folder, "T_edge_labels.txt")), 0);
  owned_dataset *plain = open_ok(folder, &(filtra_dataset_options){0});
  filtra_model_config model = {.width = 8};
  int missing = 0;
  filtra_log_set(count_missing, &missing);
  assert_ok(ft_model_fit(&model, "whole", whole));
  assert_int_equal(missing, 0);
  assert_ok(ft_model_fit(&model, "plain", plain));
  filtra_log_set(NULL, NULL);
  assert_int_equal(missing, 2);
}

/* In evaluations and predictions a folder is one split, in its order. */
TEST(folders_are_one_split_elsewhere) {
  owned_dataset *ds =
      open_ok(folder_with(COUNT, NULL), &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST});
  static const uint32_t lengths[] = {3, 3, 1};
  test_counts(ds, 0, 0, 3);
  for (uint64_t i = 0; i < 3; i++)
    assert_int_equal(test_sample(ds, FILTRA_SPLIT_TEST, i).length, lengths[i]);
}

static char noted[1024];

static void note(void *user, filtra_log_level level, const char *message) {
  (void)user;
  (void)level;
  strncat(noted, message, sizeof noted - strlen(noted) - 1);
}

TEST(files_that_nothing_reads_are_said) {
  static const char *const UNREAD[] = {"T_node_label.txt", "U_node_labels.txt",
                                       "T_edge_attributes.txt.gz"};
  const char *folder = folder_with(COUNT, NULL);
  test_write_text(folder, "README.txt", "about");
  for (size_t i = 0; i < FT_COUNT(UNREAD); i++)
    test_write_text(folder, UNREAD[i], "1\n");
  noted[0] = '\0';
  filtra_log_set(note, NULL);
  owned_dataset *ds = open_ok(folder, &(filtra_dataset_options){0});
  filtra_log_set(NULL, NULL);
  for (size_t i = 0; i < FT_COUNT(UNREAD); i++)
    assert_non_null(strstr(noted, test_text("/%s is left out: ", UNREAD[i])));
  assert_null(strstr(noted, "README"));
  test_refuse_dataset(test_path(folder, FILES[EDGES][0]), &(filtra_dataset_options){0},
                      "T_A.txt is one of several files of graphs: give their folder");
}

TEST(equal_targets_are_said) {
  noted[0] = '\0';
  filtra_log_set(note, NULL);
  owned_dataset *ds = open_ok(folder_with(VALUES, "2.5\n2.5\n2.5\n"),
                              &(filtra_dataset_options){.targets = FILTRA_TARGETS_VALUES});
  filtra_log_set(NULL, NULL);
  assert_non_null(strstr(noted, "the target is 2.5 in all 3 samples: there is nothing to learn"));
}

TEST(what_is_refused) {
  static const struct {
    int file;
    const char *text, *part;
  } CASES[] = {
      {INDICATOR, "1\n1\n1\n3\n3\n3\n4\n", "node 4 is of graph 3, the node before it of graph 1"},
      {INDICATOR, "0\n0\n0\n1\n1\n1\n2\n", "node 1 is of graph 0; graphs count from 1"},
      {INDICATOR, "\n", "has no nodes"},
      {INDICATOR, "1\nx\n", "T_graph_indicator.txt:2: \"x\" is not a whole number"},
      {EDGES, "1 2 3\n", "T_A.txt:1: \"1 2 3\" is not two whole numbers"},
      {EDGES, "1\n", "is not two whole numbers"},
      {EDGES, "1,99999999999\n", "is not two whole numbers"},
      {EDGES, "1,4\n2,1\n3,2\n2,3\n4,5\n5,4\n5,6\n6,5\n6,4\n4,6\n",
       "edge 1 joins nodes 1 and 4, which are no two of one graph"},
      {EDGES, "1,2\n2,1\n3,2\n2,3\n4,5\n5,4\n5,6\n6,5\n6,4\n4,8\n", "joins nodes 4 and 8"},
      {EDGE_LABELS, "0\n1\n2\n2\n1\n1\n1\n1\n0\n0\n",
       "nodes 1 and 2 are joined by edges of different labels"},
      {EDGE_LABELS, "0\n", "has 1 lines, 10 belong here"},
      {EDGE_LABELS, "64\n64\n2\n2\n1\n1\n1\n1\n0\n0\n", "has the label 64, accepted are 0 to 63"},
      {NODE_LABELS, "0\n2\n0\n1\n1\n1\n-1\n", "node 7 has the label -1"},
      {CLASSES, "0.5\n1.5\n2.5\n",
       "T_graph_labels.txt:1: the class is 0.5; numbers of classes are whole ones"},
      {CLASSES, "1, 0\n0, 1\n1, 0\n", "T_graph_labels.txt:1: \"1, 0\" is several labels"},
      {EDGES, NULL, "0 files are called NAME_A.txt"},
      {CLASSES, "1\nnan\n1\n", "T_graph_labels.txt:2: the class is missing (\"nan\")"},
      {CLASSES, "1\n1\n1\n1\n", "T_graph_labels.txt:4: more lines than the 3 that belong here"}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    test_refuse_dataset(folder_with(CASES[i].file, CASES[i].text), &(filtra_dataset_options){0},
                        CASES[i].part);
  test_refuse_dataset(folder_with(VALUES, "1e9\n1000000000.1\n1e9\n"),
                      &(filtra_dataset_options){.targets = FILTRA_TARGETS_VALUES},
                      "T_graph_attributes.txt: the target holds numbers from 1000000000 to "
                      "1000000000.1, which 32-bit numbers hardly tell apart");
  const char *folder = folder_with(COUNT, NULL);
  test_refuse_dataset(folder, &(filtra_dataset_options){.max_length = 2},
                      "graph 1 has 3 nodes, more than max_length 2");
  filtra_dataset *ds;
  assert_fails(filtra_dataset_open(folder_with(INDICATOR, NULL), NULL, &ds), FILTRA_ERROR_PATH,
               "T_graph_indicator.txt");
  test_write_text(folder, "U_A.txt", "1,2\n");
  test_refuse_dataset(folder, &(filtra_dataset_options){0}, "2 files are called NAME_A.txt");
}

/* Targets are refused if their file is missing. */
TEST(targets_that_are_not_there) {
  static const filtra_dataset_options VALUES_ASKED = {.targets = FILTRA_TARGETS_VALUES},
                                      CLASSES_ASKED = {.targets = FILTRA_TARGETS_CLASSES},
                                      LABELS_ASKED = {.targets = FILTRA_TARGETS_LABELS};
  const char *folder = folder_with(COUNT, NULL);
  test_refuse_dataset(folder, &LABELS_ASKED, "has one target, not labels");
  filtra_dataset *ds = open_ok(folder, &VALUES_ASKED);
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_VALUE);
  filtra_dataset_close(&ds);
  assert_int_equal(remove(test_path(folder, FILES[VALUES][0])), 0);
  test_refuse_dataset(folder, &VALUES_ASKED,
                      "T_graph_attributes.txt is not there, and targets shall be numbers");
  static const filtra_dataset_options INSPECTED = {.targets = FILTRA_TARGETS_VALUES,
                                                   .unlabelled = true};
  test_refuse_dataset(folder, &INSPECTED, "T_graph_attributes.txt is not there");
  const ft_data_fit fit = {.values = true}; /* predictions need none */
  assert_ok(ft_dataset_open_fitted(folder, &INSPECTED, &fit, &ds));
  filtra_dataset_close(&ds);
  folder = folder_with(CLASSES, NULL);
  test_refuse_dataset(folder, &CLASSES_ASKED,
                      "T_graph_labels.txt is not there, and targets shall be classes");
}

/* Packed files, and graphs that are to be predicted. */
TEST(packed_and_without_targets) {
  static const filtra_dataset_options UNLABELLED = {.unlabelled = true};
  const char *folder = folder_with(CLASSES, NULL);
  assert_int_equal(remove(test_path(folder, FILES[VALUES][0])), 0);
  test_refuse_dataset(folder, &(filtra_dataset_options){0}, "neither");
  filtra_dataset *ds;
  const ft_data_fit fit = {.values = true};
  assert_ok(ft_dataset_open_fitted(folder, &UNLABELLED, &fit, &ds));
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 3);
  filtra_dataset_close(&ds);
  folder = folder_with(EDGES, NULL);
  test_write_gzip(folder, "T_A.txt.gz", FILES[EDGES][1], strlen(FILES[EDGES][1]), 1);
  ds = open_ok(folder, &(filtra_dataset_options){0});
  assert_int_equal(sample_of(ds, 3, 2).edge_count, 3);
  filtra_dataset_close(&ds);
  filtra_status status =
      filtra_dataset_open(folder, &(filtra_dataset_options){.tokenizer = "bytes"}, &ds);
  assert_fails(status, FILTRA_ERROR_ARGUMENT, "tokenizer is for text");
}

TEST(graphs_without_memory) {
  test_dataset_memory(folder_with(COUNT, NULL), &(filtra_dataset_options){0});
}

TEST_MAIN(NULL, test_teardown)
