/* `filtra data` as a shell sees it. */
#include "base/file.h"
#include "support/command.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/images.h"
#include "support/run.h"

#include <jansson.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `filtra FORMAT`, %s being `folder`. */
static int run(const char *format, const char *folder) {
  return test_filtra(format, folder);
}

static void assert_number(json_t *root, const char *key, json_int_t expected) {
  assert_true(json_is_integer(json_object_get(root, key)));
  assert_int_equal(json_integer_value(json_object_get(root, key)), expected);
}

TEST(test_generate_and_inspect) {
  const char *folder = test_folder();
  assert_int_equal(run("data listops --out %s/new --train 40 --val 5 --test 6 --min-length 3 "
                       "--max-length 33 --seed 3 --json",
                       folder),
                   0);
  json_t *root = test_output_json();
  assert_number(root, "train", 40);
  assert_number(root, "max_length", 33);
  assert_number(root, "max_depth", 10);
  json_decref(root);
  assert_int_equal(run("data inspect %s/new --json", folder), 0);
  root = test_output_json();
  assert_string_equal(json_string_value(json_object_get(root, "format")), "lra-listops");
  assert_int_equal(json_array_size(json_object_get(root, "vocabulary")), 16);
  json_t *splits = json_object_get(root, "splits");
  assert_number(json_object_get(splits, "train"), "samples", 40);
  assert_number(json_object_get(splits, "test"), "samples", 6);
  json_decref(root);
  assert_int_equal(run("data inspect %s/new", folder), 0);
  assert_printed("lra-listops");
  assert_printed("first of train");
}

/* A folder of tables, which may be called as those of ListOps are; what is no split's is said. */
TEST(test_inspect_tables) {
  static const char TABLE[] = "text,label\none,a\ntwo,b\nthree,a\nfour,b\n";
  static const char *const NAMES[] = {"train.tsv", "dev.tsv", "test-labeled.csv", "notes.txt"};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, NAMES[i]);
    assert_ok(ft_file_write(path, TABLE, strlen(TABLE)));
  }
  assert_int_equal(run("data inspect %s --set delimiter=comma 2>&1", folder), 0);
  assert_printed("/test-labeled.csv is left out: its name ends with no split's");
  assert_printed("format table");
  assert_null(strstr(test_output, "notes.txt is left out"));
  assert_int_equal(run("data inspect %s --set delimiter=dot 2>&1", folder), 2);
  assert_printed("--delimiter is \"dot\", accepted are auto, comma, tab, semicolon, pipe\n");
}

/* Inspects samples of 1 to 40 tokens, the held-out ones of a run being `tokens` in all. */
TEST(test_inspect_holds_out_what_runs_do) {
  enum { ROWS = 40 };
  char text[2048] = "text,label\n";
  for (int i = 1; i <= ROWS; i++)
    sprintf(text + strlen(text), "%.*s,%c\n", i, "abababababababababababababababababababab",
            "xy"[i % 2]);
  const char *path = test_write_text(test_folder(), "a.csv", text);
  json_int_t tokens[2] = {0};
  for (uint64_t seed = 0; seed < 2; seed++) {
    const filtra_dataset_options options = {.seed = seed}; /* a run has 1 */
    owned_dataset *ds = test_open_dataset(path, "table", &options);
    for (uint64_t i = 0; i < filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_VAL]; i++)
      tokens[seed] += test_sample(ds, FILTRA_SPLIT_VAL, i).length;
  }
  assert_int_not_equal(tokens[0], tokens[1]);
  assert_int_equal(run("data inspect %s --json", path), 0);
  json_auto_t *root = test_output_json();
  assert_number(json_object_get(json_object_get(root, "splits"), "val"), "tokens", tokens[1]);
}

TEST(test_inspect_says_what_training_refuses) {
  const char *path = test_write_text(test_folder(), "a.csv", "text,y\na,0.5\nb,NA\nc,1.5\n");
  assert_int_equal(run("data inspect %s 2>&1", path), 0);
  assert_printed("\n  reads text; target y\n");
  assert_printed("(1 without target)");
  assert_printed("these data can be predicted, not trained or evaluated with: ");
  assert_printed("a.csv:3: ");
  path = test_write_text(test_folder(), "one.csv", "text,y\na,cat\nb,cat\nc,cat\n");
  assert_int_equal(run("data inspect %s 2>&1", path), 0);
  assert_printed("these data cannot be trained with: all samples of the data have one class, "
                 "\"cat\": there is nothing to tell apart");
}

/* As filtra train says it, which takes such data. */
TEST(test_inspect_of_test_data_without_targets) {
  static const char said[] = "2 of the 2 test samples of %s have no target: they can be predicted, "
                             "not evaluated";
  char folder[512];
  snprintf(folder, sizeof folder, "%s/set", test_folder());
  test_write_text(folder, "train.csv", "id,text,target\n1,aa,0\n2,bb,1\n3,ab,0\n4,ba,1\n");
  test_write_text(folder, "test.csv", "id,text\n5,aa\n6,bb\n");
  assert_int_equal(run("data inspect %s 2>&1", folder), 0);
  assert_printed(test_text(said, folder));
  assert_null(strstr(test_output, "not trained"));
  assert_int_equal(run("train --plan --data %s 2>&1", folder), 0);
  assert_printed(test_text(said, folder));
}

TEST(test_inspect_molecules) {
  static const char TABLE[] = "smiles,value\nCCO,1.5\nC1CC1,-2\nC,0.5\nC=O,1\n";
  const char *folder = test_folder();
  char path[512];
  snprintf(path, sizeof path, "%s/molecules.csv", folder);
  assert_ok(ft_file_write(path, TABLE, strlen(TABLE)));
  assert_int_equal(run("data inspect %s/molecules.csv --tokenizer smiles --json", folder), 0);
  json_t *root = test_output_json();
  assert_number(root, "edge_types", 5);
  assert_true(json_is_array(json_object_get(json_object_get(root, "first"), "edges")));
  json_decref(root);
  assert_int_equal(run("data inspect %s/molecules.csv --tokenizer smiles", folder), 0);
  assert_printed("samples are graphs: tokens are their nodes, edges have 5 types");
}

/* Nodes without names are shown as their ids. */
TEST(test_inspect_graphs) {
  static const char *const FILES[][2] = {{"T_A.txt", "1,2\n2,1\n"},
                                         {"T_graph_indicator.txt", "1\n1\n2\n3\n"},
                                         {"T_node_labels.txt", "4\n5\n6\n7\n"},
                                         {"T_graph_labels.txt", "1\n1\n1\n"}};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(FILES); i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, FILES[i][0]);
    assert_ok(ft_file_write(path, FILES[i][1], strlen(FILES[i][1])));
  }
  assert_int_equal(run("data inspect %s", folder), 0);
  assert_printed("edges have 1 type\n");
  assert_printed("first of train, class 1, ");
  assert_int_equal(run("data inspect %s --json", folder), 0);
}

TEST(test_inspect_text) {
  const char *folder = test_folder();
  char path[512];
  snprintf(path, sizeof path, "%s/notes", folder);
  assert_ok(ft_file_write(path, "one two\none two\nthree two\n", 26));
  assert_int_equal(run("data inspect %s/notes 2>&1", folder), 2);
  assert_int_equal(run("data inspect %s/notes --format text-lm --tokenizer words --json", folder),
                   0);
  json_auto_t *root = test_output_json();
  assert_int_equal(json_array_size(json_object_get(root, "vocabulary")), 6);
  assert_number(json_object_get(json_object_get(root, "splits"), "train"), "tokens", 9);
  assert_string_equal(json_string_value(json_object_get(json_object_get(root, "first"), "text")),
                      "one two <eos> one two <eos> three two");
}

TEST(test_usage) {
  static const struct {
    const char *arguments, *part;
    int code;
  } cases[] = {
      {"data 2>&1", "Usage: filtra data", 2},
      {"data --help", "listops", 0},
      {"data nothing 2>&1", "\"nothing\"", 2},
      {"data listops --help", "--min-length", 0},
      {"data listops 2>&1", "--out is missing", 2},
      {"data listops --out '' 2>&1", "--out is missing", 2},
      {"data listops --out %s/x more 2>&1", "what is \"more\"?", 2},
      {"data listops --out %s/x --train 0 2>&1", "--train is \"0\"", 2},
      {"data listops --out %s/x --train -5 2>&1", "--train is \"-5\"", 2},
      {"data listops --out %s/x --train ' 5' 2>&1", "--train is \" 5\"", 2},
      {"data listops --out %s/x --train 5k 2>&1", "--train is \"5k\"", 2},
      {"data listops --out %s/x --seed 99999999999999999999 2>&1", "--seed", 2},
      {"data listops --out %s/x --nothing 2>&1", "filtra data listops --help", 2},
      {"data listops --out %s/x --min-length 9 --max-length 10 2>&1", "no length lies", 2},
      {"data listops --out %s/x --max-depth 2 2>&1", "at most 12 tokens", 2},
      {"data inspect --help", "lra-listops", 0},
      {"data inspect 2>&1", "the path is missing", 2},
      {"data inspect %s %s 2>&1", "what is", 2},
      {"data inspect %s 2>&1", "no data set that is known", 2},
      {"data inspect %s/nothing 2>&1", "No such file", 2},
      {"data inspect %s/nothing --set max_length=4 2>&1", "accepted are KEY=VALUE with format", 2},
      {"data inspect %s/nothing --set tokenizer 2>&1", "text_column, target_column", 2},
      {"data inspect %s/nothing --set image_size=0 2>&1", "--image-size", 2},
      {"data inspect %s/nothing --set image_size=8 --set id_column=x 2>&1", "No such file", 2},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    char arguments[512];
    snprintf(arguments, sizeof arguments, cases[i].arguments, folder, folder);
    int code = test_run_command("", arguments);
    if (code != cases[i].code || !strstr(test_output, cases[i].part)) {
      print_error("filtra %s: exit code %d, wanted %d and \"%s\" in:\n%s\n", arguments, code,
                  cases[i].code, cases[i].part, test_output);
      fail();
    }
  }
}

/* Images of several sizes. */
TEST(test_inspect_images) {
  if (!test_has_png()) skip();
  const char *folder = test_folder();
  for (uint32_t i = 0; i < 6; i++) {
    ft_image image = test_picture(5 + i, 9, 3, i);
    test_write_png(folder,
                   i % 2 ? (i == 1   ? "b/1.png"
                            : i == 3 ? "b/3.png"
                                     : "b/5.png")
                         : (i == 0   ? "a/0.png"
                            : i == 2 ? "a/2.png"
                                     : "a/4.png"),
                   &image);
    free(image.pixels);
  }
  assert_int_equal(run("data inspect %s 2>&1", folder), 2);
  assert_printed("unless image_size says what they become");
  assert_int_equal(run("data inspect %s --image-size 4 --json", folder), 0);
  json_auto_t *root = test_output_json();
  json_t *first = json_object_get(root, "first");
  assert_number(first, "length", 16);
  assert_int_equal(run("data inspect %s --image-size 0 2>&1", folder), 2);
}

/* Test images without classes are there to predict: they are not said to be left out. */
TEST(test_inspect_unlabelled_images) {
  static const char *const NAMES[] = {"train/a/0.png", "train/a/1.png", "train/b/2.png",
                                      "train/b/3.png", "test/4.png",    "test/5.png"};
  if (!test_has_png()) skip();
  const char *folder = test_folder();
  for (uint32_t i = 0; i < FT_COUNT(NAMES); i++) {
    ft_image image = test_picture(8, 8, 3, i);
    test_write_png(folder, NAMES[i], &image);
    free(image.pixels);
  }
  assert_int_equal(run("data inspect %s 2>&1", folder), 0);
  assert_printed("2 of the 2 test samples of ");
  assert_printed("(2 without target)");
  assert_null(strstr(test_output, "is left out"));
}

TEST(test_inspect_finds_a_wrong_label) {
  const char *folder = test_folder();
  char path[512];
  snprintf(path, sizeof path, "%s/bad.tsv", folder);
  assert_ok(ft_file_write(path, "1\t1\n2\t[MAX 1 3 ]\n", 18));
  assert_int_equal(run("data inspect %s/bad.tsv 2>&1", folder), 2);
  assert_printed("bad.tsv:2: the label is 2 but the expression's value is 3");
}

/* Stopped while it is at work: the exit code says so and no file is there, whole or temporary. */
TEST(test_interrupt_leaves_nothing) {
  static const char *const SIGNALS[] = {"TERM", "HUP"};
  signal(SIGHUP, SIG_DFL); /* which nohup may have these tests ignore */
  for (size_t i = 0; i < FT_COUNT(SIGNALS); i++) {
    const char *folder = test_folder();
    char arguments[1280], out[512], **names;
    size_t count;
    snprintf(out, sizeof out, "%s/new", folder);
    snprintf(arguments, sizeof arguments,
             "data listops --out '%s' --train 50000000 2>&1 & pid=$!; "
             "until [ -d '%s' ]; do sleep 0.01; done; kill -%s $pid; wait $pid",
             out, out, SIGNALS[i]);
    assert_prints(test_run_command("", arguments), 1, "was stopped");
    assert_ok(ft_list_directory(folder, &names, &count));
    assert_int_equal(count, 0);
  }
}

/* What files say does not reach a terminal as commands, nor a table as more than one field. */
TEST(test_terminal) {
  static const char DATA[] = "text,label\none,\x1b[31mred\ntwo,\xc2\x9bgreen\nthree,\x1b[31mred\n"
                             "four,a\tb\nfive,\"c\nd\"\nsix\xe2\x80\xae,e\xe2\x80\xae!\n";
  char path[512], arguments[600];
  size_t size = 0;
  int terminal = -1;
  snprintf(path, sizeof path, "%s/a.csv", test_folder());
  assert_ok(ft_file_write(path, DATA, sizeof DATA - 1));
  snprintf(arguments, sizeof arguments, "data inspect %s", path);
  assert_code(test_run_command("", arguments), 0);
  static const char *const shown[] = {
      "\n  \\x1b[31mred ", "\n  \\xc2\\x9bgreen ",   "\n  a\\tb ",
      "\n  c\\nd ",        "\n  e\\xe2\\x80\\xae! ", " x \\xe2\\x80\\xae"};
  for (size_t i = 0; i < FT_COUNT(shown); i++)
    assert_printed(shown[i]);
  assert_null(strchr(test_output, '\x1b'));
  pid_t child = forkpty(&terminal, NULL, NULL, NULL);
  assert_true(child >= 0);
  if (!child) {
    execl(TEST_BINARY_DIR "/../filtra", "filtra", "data", "inspect", path, NULL);
    _exit(127);
  }
  for (ssize_t got; (got = read(terminal, test_output + size, sizeof test_output - 1 - size)) > 0;)
    size += (size_t)got;
  test_output[size] = '\0';
  close(terminal);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_printed("\\x1b[31mred");
  assert_null(strchr(test_output, '\x1b'));
}

TEST_MAIN(NULL, test_teardown)
