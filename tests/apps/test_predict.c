/* `filtra predict` as a shell sees it: the output for each kind of run, and what is refused. */
#include "support/command.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>
#include <jansson.h>

/* A file, NAME, of this text. */
static const char *make_data(const char *name, const char *text) {
  const char *data = test_path(test_folder(), name);
  test_write(data, text, strlen(text));
  return data;
}

/* A run of two steps on a file; `more` are further members of its configuration. */
static const char *make_run(const char *name, const char *text, const char *more) {
  const char *folder = test_new_run();
  json_auto_t *config = json_pack("{ss, si, si, si, si, si}", "data", make_data(name, text),
                                  "steps", 2, "layers", 1, "width", 8, "heads", 1, "batch_size", 2);
  json_auto_t *members = json_loads(test_text("{%s}", more), 0, NULL);
  assert_int_equal(json_object_update(config, members), 0);
  owned char *whole = json_dumps(config, 0);
  assert_ok(test_train(whole, folder, UINT64_MAX));
  return folder;
}

/* The same by the command; `more` are options. */
static const char *command_run(const char *name, const char *text, const char *more) {
  const char *folder = test_new_run();
  assert_code(test_filtra("train --device cpu --cache-dir '' --data %s --out %s "
                          "--steps 2 --set layers=1 --set width=8 --set heads=1 "
                          "--set batch_size=2 %s 2>&1",
                          make_data(name, text), folder, more),
              0);
  return folder;
}

/* What it prints for lines that printf is given, errors included. */
static int predict(const char *run, const char *lines, const char *more) {
  return test_run_command(
      test_text("printf '%s' |", lines),
      test_text("predict --device cpu --cache-dir '' --run %s %s 2>&1", run, more));
}

static const char CLASSES[] = "text,label\nsome good words,yes\nbad ones,no\ngood again,yes\n"
                              "bad again,no\n";

TEST(classes_of_lines) {
  const char *run = command_run("a.csv", CLASSES, "");
  assert_code(predict(run, "bad words\\n\\ngood\\r\\n", ""), 0);
  char first[8], second[8];
  float one, two;
  assert_int_equal(
      sscanf(test_output, "%7s\t%f\tbad words\n%7s\t%f\tgood\n", first, &one, second, &two), 4);
  assert_true(one >= 0.5f && one <= 1.0f && (!strcmp(first, "yes") || !strcmp(first, "no")));
  assert_code(predict(run, "bad words\\n", "--json"), 0);
  json_auto_t *root = test_output_json();
  json_t *entry = json_array_get(json_object_get(root, "predictions"), 0);
  assert_int_equal(json_integer_value(json_object_get(entry, "line")), 1);
  assert_int_equal(json_array_size(json_object_get(entry, "probabilities")), 2);
  assert_string_equal(json_string_value(json_object_get(entry, "name")),
                      json_integer_value(json_object_get(entry, "class")) ? "yes" : "no");
  assert_code(predict(run, "good\\nbad?\\nagain\\n", ""), 2); /* and the rest goes on */
  assert_printed("standard input:2: the character '?' U+003F at column 4");
  assert_printed("\tgood\n");
  assert_printed("\tagain\n");
  assert_code(predict(run, "good\\nb\\0d\\nagain\\n", ""), 2);
  assert_printed("standard input:2: a NUL byte; is this a text file?");
  assert_printed("\tagain\n");
  assert_code(test_run_command("printf 'good\\nb\\0d\\nagain\\n' |",
                               test_text("predict --device cpu --cache-dir '' --run %s --json "
                                         "2>/dev/null",
                                         run)),
              2);
  json_auto_t *rest = test_output_json();
  assert_int_equal(json_array_size(json_object_get(rest, "predictions")), 2);
  const char *table = test_write_text(test_folder(), "new.csv", "good\nbad\n");
  assert_code(predict(run, "", test_text("--input %s", table)), 0);
  assert_printed("new.csv is read as lines of text, with all that stands in them; --data reads");
  assert_prints(predict(run, "", "--input nowhere.txt"), 2, "cannot open nowhere.txt");
}

/* Lines of which most words are unknown are predicted, and that is said once. */
TEST(lines_of_unknown_words) {
  const char *run = make_run("a.csv", CLASSES, "\"tokenizer\": \"words\"");
  assert_code(predict(run, "bad words\\nnovel prose, again\\nanother one\\n", ""), 0);
  assert_printed("the texts of the requests: 4 of 7 words are unknown to the vocabulary of the "
                 "tokenizer \"words\", which reads them all as <unk>");
  assert_code(predict(run, "bad words\\nnovel ones\\n", ""), 0);
  assert_null(strstr(test_output, "unknown to the vocabulary"));
}

/* Blanks around a line are left out, as they were around the fields of the training table. */
TEST(blanks_around_lines) {
  const char *run = make_run("a.csv", CLASSES, "\"tokenizer\": \"bytes\"");
  float plain[2], spaced[2], inner[2];
  assert_code(predict(run, "bad words\\n \\tbad words  \\nbad  words\\n", "--logits"), 0);
  assert_int_equal(sscanf(test_output,
                          "%*s\t%*f\t%f,%f\tbad words\n%*s\t%*f\t%f,%f\t bad words \n%*s\t%*f\t"
                          "%f,%f",
                          plain, plain + 1, spaced, spaced + 1, inner, inner + 1),
                   6);
  assert_true(plain[0] == spaced[0] && plain[1] == spaced[1]);
  assert_true(plain[0] != inner[0] || plain[1] != inner[1]);
}

/* A model of two labels whose logits are 0 and just above it: probabilities of 0.5 both. */
static const char *undecided(void) {
  static const float BIAS[2] = {0, 1e-9f}, NONE[2 * 8] = {0};
  const char *run = make_run("a.csv", "text,label\na,x;y\nb,y\n",
                             "\"label_separator\": \";\", \"head\": \"linear\""),
             *file = test_path(run, "model.safetensors");
  owned_model *model = NULL;
  assert_ok(filtra_model_load(test_device(), file, &model));
  filtra_parameters *params = filtra_model_parameters(model);
  assert_ok(filtra_parameters_set(params, "head.weight", NONE, FT_COUNT(NONE)));
  assert_ok(filtra_parameters_set(params, "head.bias", BIAS, FT_COUNT(BIAS)));
  assert_ok(filtra_model_save(model, file));
  return run;
}

TEST(labels_are_predicted_by_logits_above_0) {
  const char *run = undecided();
  assert_code(predict(run, "a\\n", ""), 0);
  assert_printed("y\t0.500,0.500\ta\n");
  assert_code(predict(run, "a\\n", "--json"), 0);
  json_auto_t *root = test_output_json();
  const json_t *one = json_array_get(json_object_get(root, "predictions"), 0);
  assert_int_equal(json_array_size(json_object_get(one, "labels")), 1);
  assert_code(test_filtra("eval --device cpu --cache-dir '' %s --split train 2>&1", run), 0);
  assert_printed("\ny                               1         1    1.0000 ");
}

/* Where no label applies there is no recall, and a dash in its place. */
TEST(scores_without_any_label) {
  const char *run = make_run("a.csv", "text,x,y\na,1,0\nb,0,1\n", "\"target_column\": \"x,y\""),
             *data = test_path(test_folder(), "b.csv");
  test_write(data, "text,x,y\na,0,0\n", 15);
  assert_code(test_filtra("eval --device cpu --cache-dir '' %s --data %s 2>&1", run, data), 0);
  assert_printed("; mean recall –, macro F1 ");
  assert_null(strstr(test_output, "nan"));
}

/* ; stands between labels, and \; within the name of one. */
TEST(labels_with_the_separator_in_their_names) {
  static const char TABLE[] = "text,label\na,x;y|z\nab,z|v\\w\nb,x;y\n";
  const char *run = make_run("a.csv", TABLE, "\"label_separator\": \"|\""),
             *csv_file = test_text("%s.csv", run), *data = test_path(test_folder(), "b.csv");
  test_write(data, TABLE, sizeof TABLE - 1);
  assert_code(predict(run, "", test_text("--data %s", data)), 0);
  assert_printed("\tx\\;y;z\n");
  assert_printed("\tv\\\\w;z\n");
  assert_printed("\tx\\;y\n");
  assert_code(predict(run, "", test_text("--data %s --output %s", data, csv_file)), 0);
  owned char *csv = test_read(csv_file, NULL);
  assert_non_null(strstr(csv, ",x\\;y;z,"));
  assert_non_null(strstr(csv, ",v\\\\w;z,"));
}

/* --set says how the file of --data is written, to each command that reads one. */
TEST(files_written_otherwise) {
  const char *run = make_run("a.csv", "text,label\na,x\nab,y\nb,x\n", ""),
             *data = test_path(test_folder(), "b.csv");
  const char *other = test_text("--data %s --set text_column=body --set target_column=kind", data);
  test_write(data, "body;kind\nab;y\n", 15);
  assert_code(predict(run, "", test_text("--data %s", data)), 2);
  assert_printed("there is no column \"text\"");
  assert_code(predict(run, "", other), 0);
  assert_printed("\ty\n");
  assert_code(test_filtra("eval --device cpu --cache-dir '' %s %s 2>&1", run, other), 0);
  assert_printed("test: 1 samples");
  assert_code(
      test_filtra("analyze --device cpu --cache-dir '' %s --split test %s --json 2>&1", run, other),
      0);
  assert_code(predict(run, "", "--set text_column=body"), 2);
  assert_printed("--set says how the file of --data is written: give --data PATH");
  assert_code(predict(run, "", test_text("--data %s --set mixer=agf", data)), 2);
  assert_printed("\"mixer\" does not say how data are written");
}

/* Labels above 0.5 with ; between, and the probability of each. */
TEST(several_labels) {
  static const char TABLE[] = "text,label\nab,x;y\nb,y\na,x\nbb,\n";
  const char *run = make_run("a.csv", TABLE,
                             "\"label_separator\": \";\", \"steps\": 60, \"learning_rate\": 0.05"),
             *file = test_path(test_folder(), "a.csv"), *csv_file = test_text("%s.csv", run);
  float x = 0, y = 0;
  assert_code(predict(run, "a\\n", ""), 0);
  const char *tab = strchr(test_output, '\t');
  assert_true(tab && sscanf(tab, "\t%f,%f\ta\n", &x, &y) == 2);
  char labels[8];
  sprintf(labels, "%s%s%s\t", x > 0.5f ? "x" : "", x > 0.5f && y > 0.5f ? ";" : "",
          y > 0.5f ? "y" : "");
  assert_printed(labels);
  assert_code(predict(run, "ab\\n", "--json 2>/dev/null"), 0);
  json_auto_t *root = test_output_json();
  const json_t *one = json_array_get(json_object_get(root, "predictions"), 0);
  assert_int_equal(json_array_size(json_object_get(one, "probabilities")), 2);
  assert_true(json_is_array(json_object_get(one, "labels")) && !json_object_get(one, "class"));
  test_write(file, "label,text\n,a\ny;x,b\n", 20);
  assert_code(test_filtra("predict --device cpu --cache-dir '' %s --data %s --output %s 2>&1", run,
                          file, csv_file),
              0);
  owned char *csv = test_read(csv_file, NULL);
  assert_non_null(strstr(csv, "sample,id,target,labels,probability x,probability y\n0,,,"));
  assert_non_null(strstr(csv, "\n1,,x;y,"));
}

/* Labels that the data do not tell have a ? in lists, and numbers of their own in JSON. */
TEST(unknown_labels) {
  static const char TABLE[] = "text,x,y\na,1,0\nb,,1\nab,0,\nbb,1,1\n";
  const char *file = test_path(test_folder(), "t.csv"),
             *csv_file = test_path(test_folder(), "o.csv");
  const char *run = command_run("a.csv", TABLE, "--set target_column=x,y"),
             *command = "predict --device cpu --cache-dir '' %s --data %s %s 2>/dev/null";
  assert_printed("warning");
  assert_printed("2 of 8 labels are empty fields");
  test_write(file, TABLE, sizeof TABLE - 1);
  assert_code(test_filtra(command, run, file, test_text("--output %s", csv_file)), 0);
  owned char *csv = test_read(csv_file, NULL);
  assert_non_null(strstr(csv, "\n0,,x,"));
  assert_non_null(strstr(csv, "\n1,,x?;y,"));
  assert_non_null(strstr(csv, "\n2,,y?,"));
  assert_code(test_filtra(command, run, file, "--json"), 0);
  json_auto_t *root = test_output_json();
  const json_t *list = json_object_get(root, "predictions"), *told = json_array_get(list, 0),
               *other = json_array_get(list, 1);
  assert_true(!json_object_get(told, "unknown") &&
              json_array_size(json_object_get(other, "unknown")) == 1);
  assert_code(test_filtra("data inspect --json --target-column x,y %s 2>/dev/null", file), 0);
  json_auto_t *seen = test_output_json();
  const json_t *train = json_object_get(json_object_get(seen, "splits"), "train");
  assert_int_equal(json_array_size(json_object_get(train, "unknown_per_class")), 2);
  assert_code(test_filtra("data inspect --target-column x,y %s 2>/dev/null", file), 0);
  assert_printed(" labels unknown)");
}

/* Names with commas and quotes are within the fields of a header. */
TEST(names_in_headers) {
  const char *run = make_run("a.csv", "text,label\na,\"x, \"\"y\"\"\"\nb,z\nab,z\n",
                             "\"label_separator\": \";\", \"steps\": 1"),
             *csv_file = test_text("%s.csv", run);
  assert_code(predict(run, "a\\n", test_text("--logits --output %s 2>&1", csv_file)), 0);
  owned char *csv = test_read(csv_file, NULL);
  assert_non_null(strstr(csv, "line,text,labels,\"probability x, \"\"y\"\"\",probability z,"
                              "\"logit x, \"\"y\"\"\",logit z\n"));
}

/* Logits of two classes, from whose difference the probability follows, for lines and samples. */
static void check_logits(float probability, float first, float second) {
  assert_true(first != second);
  assert_float_equal(probability, 1 / (1 + exp(-fabs((double)first - (double)second))), 6e-4);
}

TEST(logits) {
  float probability, first, second;
  const char *run = make_run("a.csv", CLASSES, "");
  assert_code(predict(run, "bad words\\n", "--logits"), 0);
  assert_int_equal(
      sscanf(test_output, "%*s\t%f\t%f,%f\tbad words\n", &probability, &first, &second), 3);
  check_logits(probability, first, second);
  assert_code(predict(run, "", "--split train --logits"), 0);
  assert_int_equal(sscanf(test_output, "0\t%*s\t%f\t%f,%f\t", &probability, &first, &second), 3);
  check_logits(probability, first, second);
  assert_code(predict(run, "bad words\\n", "--logits --json"), 0);
  json_auto_t *root = test_output_json();
  const json_t *entry = json_array_get(json_object_get(root, "predictions"), 0);
  const json_t *list = json_object_get(entry, "logits");
  const json_t *chances = json_object_get(entry, "probabilities");
  int best = (int)json_integer_value(json_object_get(entry, "class"));
  assert_int_equal(json_array_size(list), 2);
  check_logits((float)json_real_value(json_array_get(chances, (size_t)best)),
               (float)json_real_value(json_array_get(list, (size_t)best)),
               (float)json_real_value(json_array_get(list, (size_t)!best)));
  run = make_run("a.csv", "smiles,value\nCC,0.5\nCO,1.5\nOC,-2.5\nCCO,3\n", "");
  assert_prints(predict(run, "CCO\\n", "--logits"), 2, "--logits is of classes");
}

TEST(longer_texts) {
  const char *run = make_run("a.csv", CLASSES, "\"tokenizer\": \"bytes\", \"max_length\": 16");
  assert_prints(
      predict(run, "more bytes than it takes\\n", ""), 2,
      "standard input:1: 24 tokens; the model takes at most 16: cut it, or train with a larger "
      "max_length or with truncate");
  static const char longer[] = "text,label\nmore bytes than it takes,yes\n";
  const char *b = test_path(test_folder(), "b.csv");
  test_write(b, longer, sizeof longer - 1);
  assert_prints(test_filtra("eval %s --data %s 2>&1", run, b), 2,
                "more than 16 tokens; cut it, or train with a larger max_length or with truncate");
  run = make_run("a.csv", CLASSES,
                 "\"tokenizer\": \"bytes\", \"max_length\": 16, \"truncate\": true");
  assert_prints(predict(run, "more bytes than it takes\\n", ""), 0, "\tmore bytes than it takes\n");
}

static const char VALUES[] = "smiles,value\nCC,0.5\nCO,1.5\nOC,-2.5\nCCO,3\n";

TEST(values_of_lines) {
  const char *run = make_run("a.csv", VALUES, "");
  float value;
  char text[16];
  assert_code(predict(run, "CCO\\n", ""), 0);
  assert_int_equal(sscanf(test_output, "%f\t%15s", &value, text), 2);
  assert_string_equal(text, "CCO");
  assert_code(predict(run, "CCO\\n", "--json"), 0);
  json_auto_t *root = test_output_json();
  json_t *entry = json_array_get(json_object_get(root, "predictions"), 0);
  assert_true(json_is_real(json_object_get(entry, "value")));
  assert_string_equal(json_string_value(json_object_get(entry, "text")), "CCO");
}

/* What is printed is the float that is predicted and that the data give, to its last digit. */
TEST(digits_of_values) {
  static const char LARGE[] =
      "smiles,value\nCC,1234567.5\nCO,1234571.25\nOC,1234573.5\nCCO,1234579.5\n";
  const char *run = make_run("a.csv", LARGE, "");
  assert_code(predict(run, "", "--split train --json"), 0);
  json_auto_t *root = test_output_json();
  const json_t *list = json_object_get(root, "predictions");
  const size_t count = json_array_size(list);
  assert_true(count > 0);
  assert_code(predict(run, "", "--split train"), 0);
  const char *line = test_output;
  for (size_t i = 0; i < count; i++, line = strchr(line, '\n') + 1) {
    const json_t *entry = json_array_get(list, i);
    float value, target;
    assert_int_equal(sscanf(line, "%*d\t%f\t%f", &value, &target), 2);
    assert_true(value == (float)json_number_value(json_object_get(entry, "value")));
    assert_true(target == (float)json_number_value(json_object_get(entry, "target")));
  }
}

TEST(pairs) {
  const char *run = make_run(
      "pairs.tsv", "1.0\ta\tb\tone\tother\n0.0\ta\tb\tthis\tthat\n1.0\ta\tb\tso\tso\n", "");
  assert_prints(predict(run, "one\\tthe other one\\nan other one\\tx\\n", ""), 0,
                "\tone\tthe other one\n");
  assert_printed("\tan other one\tx\n");
  assert_prints(predict(run, "one\\n", ""), 2,
                "standard input:1: a line for pairs holds two texts");
  assert_prints(predict(run, "a\\tb\\tc\\n", ""), 2, "two texts");
  assert_prints(predict(run, "a\\t\\n", ""), 2, "a text of no tokens");
}

TEST(runs_without_texts) {
  const char *run = make_run("a.txt", "a text to be modelled\nand another line of it\n", "");
  assert_prints(predict(run, "a\\n", ""), 2, "filtra generate");
  run = make_run("a.ts", "@problemName x\n@classLabel true a b\n@data\n1,2,3:a\n3,2,1:b\n1,3,2:a\n",
                 "");
  assert_prints(predict(run, "1,2,3\\n", ""), 2, "reads numbers, not text");
}

/* The run's own samples, and other files: their classes count as the training data's. */
TEST(samples_of_data) {
  static const char ONE[] = "text,label\nbad,no\nsome,no\n", OTHER[] = "text,label\nbad,maybe\n";
  const char *run = make_run("a.csv", CLASSES, "");
  char name[8], truth[8];
  float probability;
  int number;
  assert_code(predict(run, "", "--split val"), 0);
  assert_int_equal(sscanf(test_output, "%d\t%7s\t%f\t%7s\n", &number, name, &probability, truth),
                   4);
  assert_int_equal(number, 0);
  const char *file = test_path(test_folder(), "other.csv");
  test_write(file, ONE, strlen(ONE));
  assert_code(predict(run, "", test_text("--data %s --json", file)), 0);
  json_auto_t *root = test_output_json();
  json_t *list = json_object_get(root, "predictions");
  assert_int_equal(json_array_size(list), 2);
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, i), "target")), 0);
  test_write(file, OTHER, strlen(OTHER));
  assert_prints(predict(run, "", test_text("--data %s", file)), 2,
                "class \"maybe\" is none of the training data's");
  assert_code(predict(run, "", "--split all"), 2);
  assert_code(predict(run, "", "--split val --input -"), 2);
}

/* A class keeps one field of one line, in predictions and in scores, written the same way. */
TEST(names_of_classes_are_fields) {
  const char *run = make_run("a.csv",
                             "text,label\ngood,\"a\tb\"\nbad,c\\d\ngood one,\"a\tb\"\n"
                             "bad one,c\\d\n",
                             "");
  assert_code(predict(run, "", "--split train"), 0);
  assert_printed("a\\tb\t");
  assert_printed("c\\\\d\t");
  assert_code(test_filtra("eval --device cpu --cache-dir '' %s --split train 2>&1", run), 0);
  assert_printed("\na\\tb   ");
  assert_printed("\nc\\\\d   ");
}

/* Series are standardised as the training series were: the same file gives the same numbers. */
TEST(samples_of_series) {
  static const char FILE_TEXT[] = "@problemName x\n@classLabel true a b\n@data\n"
                                  "1,2,3:a\n3,2,1:b\n1,3,2:a\n9,7,8:b\n";
  static char first[TEST_OUTPUT_BYTES];
  const char *run =
      make_run("x_TRAIN.ts", FILE_TEXT, "\"pooling\": \"flatten\", \"head\": \"linear\"");
  assert_code(predict(run, "", "--split val"), 0);
  memcpy(first, test_output, sizeof first);
  const char *file = test_path(test_folder(), "y.ts");
  test_write(file, FILE_TEXT, strlen(FILE_TEXT));
  assert_code(predict(run, "", test_text("--data %s", file)), 0);
  const char *line = strchr(first, '\t');
  assert_non_null(line);
  if (!strstr(test_output, line)) fail_msg("%s is not in\n%s", line, test_output);
}

/* Runs with --output NAME in `folder` and gives the file; the caller frees. */
static char *predicted(const char *run, const char *folder, const char *name, const char *lines,
                       const char *more, int code, size_t *size) {
  const char *path = test_path(folder, name);
  assert_code(predict(run, lines, test_text("--output %s %s", path, more)), code);
  return test_read(path, size);
}

/* The three forms of a file hold the same numbers, of lines and of samples. */
TEST(files_of_answers) {
  const char *run = make_run("a.csv", CLASSES, ""), *folder = test_folder();
  const char *lines = "bad words\\n\\ngood\\n";
  size_t size;
  owned char *csv = predicted(run, folder, "a.csv", lines, "--top 2", 0, NULL);
  owned char *jsonl = predicted(run, folder, "a.jsonl", lines, "--top 2", 0, NULL);
  owned char *npy = predicted(run, folder, "a.npy", lines, "", 0, &size);
  char name[2][8];
  float p[2], array[4];
  assert_int_equal(sscanf(csv,
                          "line,text,class,probability,class_2,probability_2\n"
                          "1,bad words,%7[^,],%f,%7[^,],%f\n3,good,",
                          name[0], &p[0], name[1], &p[1]),
                   4);
  assert_int_equal(size, 128 + sizeof array);
  assert_non_null(strstr(npy + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"));
  memcpy(array, npy + 128, sizeof array);
  const int first = !strcmp(name[0], "yes"); /* classes are no, yes */
  assert_true(array[first] == p[0] && array[!first] == p[1] && p[0] >= p[1]);
  json_auto_t *object = json_loads(strtok(jsonl, "\n"), 0, NULL);
  json_t *top = json_object_get(object, "top"), *second = json_array_get(top, 1);
  assert_int_equal(json_array_size(top), 2);
  assert_string_equal(json_string_value(json_object_get(second, "name")), name[1]);
  assert_true((float)json_real_value(json_object_get(second, "probability")) == p[1]);

  owned char *samples = predicted(run, folder, "s.csv", "", "--split val --logits", 0, NULL);
  assert_int_equal(
      strncmp(samples, "sample,id,target,class,probability,logit no,logit yes\n0,,", 57), 0);
  owned char *broken = predicted(run, folder, "b.npy", "good\\nbad?\\n", "", 2, &size);
  memcpy(array, broken + 128, sizeof array);
  assert_true(isfinite(array[0]) && isnan(array[2]) && isnan(array[3]));
  owned char *values =
      predicted(make_run("v.csv", VALUES, ""), folder, "v.npy", "CC\\n", "", 0, &size);
  assert_non_null(strstr(values + 10, "'shape': (1,), }"));
  assert_prints(predict(run, lines, "--output answers.txt"), 2, ".csv, .jsonl or .npy");
  assert_prints(predict(run, lines, "--output a.csv --json"), 2, "exclude each other");
  const uint64_t files = test_snapshot(run);
  assert_prints(predict(run, lines, test_text("--output %s/metrics.jsonl", run)), 2,
                "metrics.jsonl would replace a file that this command did not write");
  assert_true(test_snapshot(run) == files);
  assert_prints(predict(run, lines, "--output /nowhere/a.csv"), 2, "/nowhere");
}

/* What the command predicts and scores is what a program gets, bit for bit: for text, numbers,
 * series, rows of numbers and pairs. That it trains as programs do, with the same kinds of data, is
 * in python/tests/test_ways.py. */
static void check_ways(const char *name, const char *text, const char *more) {
  const char *run = make_run(name, text, more), *folder = test_folder();
  filtra_run *opened = NULL;
  filtra_model *model;
  owned_dataset *data = NULL;
  filtra_evaluation e;
  assert_ok(filtra_run_open(run, &opened));
  assert_ok(filtra_run_load_model(opened, test_device(), &model));
  assert_ok(filtra_run_open_data(opened, NULL, FILTRA_SPLIT_TRAIN, NULL, &data));
  const uint32_t batch = filtra_run_get_info(opened)->batch_size;
  const bool value = filtra_model_task(model) == FILTRA_TASK_REGRESSION;
  const uint64_t count = filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TRAIN];
  const size_t bytes = count * (size_t)filtra_model_outputs(model) * sizeof(float);
  owned float *results = malloc(bytes);
  assert_ok(filtra_model_predict_split(model, data, FILTRA_SPLIT_TRAIN, batch, results));
  size_t size;
  owned char *file = predicted(run, folder, "a.npy", "",
                               value ? "--split train" : "--split train --logits", 0, &size);
  assert_int_equal(size, 128 + bytes);
  assert_memory_equal(file + 128, results, bytes);
  assert_ok(filtra_model_evaluate_split(model, data, FILTRA_SPLIT_TRAIN, batch, &e));
  assert_code(test_filtra("eval %s --split train --device cpu --cache-dir '' --json", run), 0);
  json_auto_t *said = test_output_json();
  char want[2][32];
  snprintf(want[0], sizeof want[0], "%.9g", json_real_value(json_object_get(said, "loss")));
  snprintf(want[1], sizeof want[1], "%.9g", e.loss);
  assert_string_equal(want[0], want[1]);
  filtra_model_destroy(&model);
  filtra_run_close(&opened);
}

TEST(command_and_program_agree) {
  static const char SERIES[] = "@problemName x\n@dimensions 2\n@classLabel true a b\n@data\n"
                               "1,2,3:4,5,6:a\n3,2,1:6,5,4:b\n1,3,2:4,6,5:a\n9,7,8:1,2,3:b\n";
  static const char ROWS[] = "width,length,kind,species\n1.5,20,x,a\n1.75,22,y,b\n2.5,30,x,a\n"
                             "3,33,y,b\n2,24,x,a\n1,12,y,b\n";
  static const char PAIRS[] = "1.0\ta\tb\tone\tother\n0.0\ta\tb\tthis\tthat\n"
                              "1.0\ta\tb\tso\tso\n0.0\ta\tb\ta\tlonger text\n";
  check_ways("a.csv", CLASSES, "");
  check_ways("v.csv", VALUES, "");
  check_ways("x_TRAIN.ts", SERIES, "");
  check_ways("rows.csv", ROWS, "\"target_column\": \"species\"");
  check_ways("pairs.tsv", PAIRS, "");
}

/* Names stay one field of one line, whatever they hold. */
TEST(names_with_tabs) {
  const char *run =
      make_run("a.csv", "text,label\na,\"no\tyes\"\nb,\"no\tyes\"\nc,\"x\ny\"\nd,\"x\ny\"\n", "");
  assert_code(predict(run, "a\\nb\\n", "--top 2"), 0);
  assert_printed("no\\tyes\t0.");
  assert_printed("x\\ny\t0.");
}

TEST_MAIN(NULL, test_teardown)
