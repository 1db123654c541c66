/* Runs on tables: other files are read by the columns of the training file, whatever their order;
 * rows of numbers train, and a model file reads them in the same way. */
#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>

/* A run of a few steps on FOLDER/train.csv; `more` begins with a comma or is empty. */
static const char *trained(const char *data, const char *more) {
  const char *folder = test_new_run();
  assert_ok(filtra_run_train(
      test_device(),
      &(filtra_run_options){.config = test_text("{\"data\": \"%s\", \"width\": 8, \"layers\": 1, "
                                                "\"heads\": 1, \"steps\": 4, \"batch_size\": 4%s}",
                                                data, more),
                            .folder = folder}));
  return folder;
}

static filtra_dataset *open_by_run(const char *folder, const char *path) {
  owned_run *run = NULL;
  filtra_dataset *ds;
  assert_ok(filtra_run_open(folder, &run));
  assert_ok(filtra_run_open_data(run, path, FILTRA_SPLIT_TEST, NULL, &ds));
  return ds;
}

static void refuse_by_run(const char *folder, const char *path, const char *part) {
  owned_run *run;
  filtra_dataset *ds = NULL;
  filtra_status status = filtra_run_open(folder, &run);
  if (!status) status = filtra_run_open_data(run, path, FILTRA_SPLIT_TEST, NULL, &ds);
  assert_fails(status, FILTRA_ERROR_INPUT, part);
}

static const char *text_table(int rows) {
  static char text[4096];
  char *to = text + sprintf(text, "id,comment,mood\n");
  for (int i = 0; i < rows; i++)
    to += sprintf(to, "%d,word %c,%s\n", i % 2, 'a' + i % 7, i % 2 ? "good" : "bad");
  return text;
}

static char said[1024];
static void keep_warning(void *user, filtra_log_level level, const char *message) {
  (void)user;
  if (level == FILTRA_LOG_WARNING && strstr(message, "targets of all"))
    snprintf(said, sizeof said, "%s", message);
}

TEST(equal_values_are_said) {
  test_device(); /* which has a log of its own when it is opened */
  filtra_log_set(keep_warning, NULL);
  trained(test_write_text(test_folder(), "train.csv",
                          "text,value\na,1.5\nb,1.5\nc,1.5\nd,1.5\ne,1.5\n"),
          "");
  filtra_log_set(NULL, NULL);
  assert_non_null(strstr(said, "the targets of all training samples are 1.5: there is nothing"));
}

static const char COLUMNS[] = ", \"text_column\": \"comment\", \"target_column\": \"mood\"";

TEST(other_files_have_the_columns_of_the_training_file) {
  const char *folder = test_folder();
  const char *run = trained(test_write_text(folder, "train.csv", text_table(20)), COLUMNS);
  const char *path = test_write_text(folder, "x.csv",
                                     "mood,label,text,comment,id\n"
                                     "good,bad,no,word a,7\n");
  owned_dataset *ds = open_by_run(run, path);
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 0);
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), "word a");
  assert_string_equal(filtra_dataset_class_name(ds, (uint32_t)s.label), "good");
  assert_string_equal(s.name, "7");
  filtra_dataset_close(&ds);
  ds = open_by_run(run, test_write_text(folder, "x.csv", "id;comment\n1;word b\n0;word c\n"));
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 2);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 2);
  refuse_by_run(run, test_write_text(folder, "x.csv", "id,text,mood\n1,word,bad\n"),
                "x.csv:1: there is no column \"comment\", which the training file has; the columns "
                "are \"id\", \"text\", \"mood\"");
  refuse_by_run(run, test_write_text(folder, "x.csv", "id,comment,mood\n1,word a,so\n"),
                "class \"so\" is none of the training data's: \"");
}

/* Settings say how another file is written, which then gives the same samples. */
TEST(other_files_may_be_written_otherwise) {
  static const struct {
    const char *settings, *part;
  } wrong[] = {{"{\"text_column\": \"body\"", "not valid JSON"},
               {"[1]", "settings: must be a JSON object"},
               {"{\"mixer\": \"agf\"}", "\"mixer\" does not say how data are written"},
               {"{\"delimiter\": \"star\"}", "settings: \"delimiter\""},
               {"{\"group_column\": \"id\"}", "the run reads no such column"},
               {"{\"label_separator\": \";\"}", "the run's targets are not lists of labels"},
               {"{\"text_column\": \"other\"}", "there is no column \"other\""}};
  const char *folder = test_folder();
  const char *run = trained(test_write_text(folder, "train.csv", text_table(20)), COLUMNS);
  const char *path = test_write_text(folder, "x.csv",
                                     "name|body|comment|feeling\n"
                                     "7|word a|no|bad\n");
  static const char SETTINGS[] =
      "{\"text_column\": \"body\", \"target_column\": \"feeling\", \"id_column\": \"name\", "
      "\"delimiter\": \"pipe\"}";
  owned_run *opened = NULL;
  owned_dataset *ds = NULL;
  filtra_evaluation e;
  assert_ok(filtra_run_open(run, &opened));
  for (size_t i = 0; i < FT_COUNT(wrong); i++)
    assert_fails(filtra_run_open_data(opened, path, FILTRA_SPLIT_TEST, wrong[i].settings, &ds),
                 FILTRA_ERROR_INPUT, wrong[i].part);
  assert_fails(filtra_run_open_data(opened, NULL, FILTRA_SPLIT_TEST, SETTINGS, &ds),
               FILTRA_ERROR_ARGUMENT, "settings are for other data than the run's");
  assert_ok(filtra_run_open_data(opened, path, FILTRA_SPLIT_TEST, SETTINGS, &ds));
  const filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 0);
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), "word a");
  assert_string_equal(filtra_dataset_class_name(ds, (uint32_t)s.label), "bad");
  assert_string_equal(s.name, "7");
  assert_ok(filtra_run_evaluate(test_device(), run, "test", path, SETTINGS, NULL, &e, NULL));
  assert_int_equal(e.samples, 1);
}

/* Labels may have another character between them. */
TEST(other_files_may_separate_labels_otherwise) {
  const char *folder = test_folder();
  owned_run *run = NULL;
  owned_dataset *ds = NULL;
  const char *labels =
      trained(test_write_text(folder, "l.csv", "text,label\na,x;y\nb,y\nc,x\nd,x;y\n"),
              ", \"task\": \"multi_label\"");
  const char *path = test_write_text(folder, "x.csv", "text,label\nb,x y\n");
  assert_ok(filtra_run_open(labels, &run));
  assert_fails(filtra_run_open_data(run, path, FILTRA_SPLIT_TEST, NULL, &ds), FILTRA_ERROR_INPUT,
               "x y");
  assert_fails(
      filtra_run_open_data(run, path, FILTRA_SPLIT_TEST, "{\"label_separator\": \"::\"}", &ds),
      FILTRA_ERROR_INPUT, "label_separator is \"::\", accepted are one character");
  assert_ok(
      filtra_run_open_data(run, path, FILTRA_SPLIT_TEST, "{\"label_separator\": \"space\"}", &ds));
  assert_int_equal(test_sample(ds, FILTRA_SPLIT_TEST, 0).label_count, 2);
}

/* Numbers may have a point where the run had commas. */
TEST(other_files_may_have_another_decimal) {
  const char *folder = test_folder();
  owned_run *run = NULL;
  owned_dataset *ds = NULL;
  const char *numbers = trained(
      test_write_text(folder, "n.csv", "a;value\n1,5;2,5\n2,5;3,5\n3,5;1,5\n4,5;2,0\n"), "");
  const char *path = test_write_text(folder, "x.csv", "a,price\n1.250,2.250\n");
  assert_ok(filtra_run_open(numbers, &run));
  assert_ok(filtra_run_open_data(
      run, path, FILTRA_SPLIT_TEST,
      "{\"target_column\": \"price\", \"decimal\": \"point\", \"delimiter\": \"comma\"}", &ds));
  assert_float_equal(test_sample(ds, FILTRA_SPLIT_TEST, 0).value, 2.25f, 0.0f);
}

/* An earlier run's folder has no "table" in its data.json. */
struct counted {
  const char *part;
  int count;
};
static void count_messages(void *user, filtra_log_level level, const char *message) {
  struct counted *c = user;
  (void)level;
  c->count += strstr(message, c->part) != NULL;
}

/* A contest's folder: test.csv has no targets. It trains; its test samples are predicted, never
 * scored. Unknown targets among the training samples are refused as ever. */
TEST(test_files_without_targets_train) {
  const char *folder = test_folder();
  filtra_evaluation e;
  test_write_text(folder, "test.csv", "id,comment\n8,word a\n9,word b\n");
  owned char *table = ft_format("%s21,word z,odd\n", text_table(20)); /* of which it is warned */
  test_write_text(folder, "train.csv", table);
  struct counted seen = {"have one sample", 0};
  filtra_log_set(count_messages, &seen);
  const char *run = trained(folder, COLUMNS);
  filtra_log_set(NULL, NULL);
  assert_int_equal(seen.count, 1);
  owned_dataset *ds = open_by_run(run, NULL);
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 2);
  assert_string_equal(test_sample(ds, FILTRA_SPLIT_TEST, 1).name, "9");
  assert_fails(filtra_run_evaluate(test_device(), run, "test", NULL, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "of 2 samples of the test split 2 have no target");
  const char *alone = test_write_text(test_folder(), "x.csv", "id,comment,feeling\n8,word,good\n");
  assert_fails(filtra_run_evaluate(test_device(), run, "test", alone, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "there is no column \"mood\", the target of the training file");
  assert_ok(filtra_run_evaluate(test_device(), run, "val", NULL, NULL, NULL, &e, NULL));
  test_write_text(folder, "train.csv", "id,comment,mood\n1,word a,good\n2,word b,\n3,word c,bad\n");
  assert_fails(test_train(test_text("{\"data\": \"%s\"%s}", folder, COLUMNS), test_new_run(), 9),
               FILTRA_ERROR_INPUT, "training and validation samples without a target");
}

TEST(runs_without_columns_find_them_as_before) {
  const char *folder = test_folder();
  const char *run = trained(test_write_text(folder, "train.csv", text_table(20)), COLUMNS);
  test_patch(test_path(run, "data.json"), "\"table\"", "\"other\"");
  owned_dataset *ds =
      open_by_run(run, test_write_text(folder, "x.csv", "mood,comment\ngood,word a\n"));
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), "word a");
}

/* Counts and ages are values where the task is regression. */
TEST(whole_numbers_train_as_values) {
  const char *folder = test_folder();
  char text[2048] = "text,age\n";
  for (int i = 0; i < 30; i++)
    sprintf(text + strlen(text), "word %c,%d\n", 'a' + i % 7, 20 + i);
  const char *path = test_write_text(folder, "train.csv", text);
  const char *run = trained(path, ", \"task\": \"regression\"");
  owned_dataset *ds = open_by_run(run, test_write_text(folder, "x.csv", "age,text\n7,word a\n"));
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_VALUE);
  assert_true(test_sample(ds, FILTRA_SPLIT_TEST, 0).value == 7.0f);
  filtra_dataset_close(&ds);
  ds = open_by_run(run, test_write_text(folder, "x.csv", "text\nword a\nword b\n"));
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 2);
}

/* ---- rows of numbers ---- */

enum { ROWS = 40 };

/* Four columns whose means and deviations lie far apart; the third is of categories. */
static void number_row(int i, float row[5], const char **colour) {
  static const char *const colours[] = {"red", "blue"};
  *colour = colours[i % 3 == 0];
  row[0] = (float)(i % 7) * 0.125f;
  row[1] = 1000.0f + (float)(i % 5) * 64.0f;
  row[2] = i % 3 == 0 ? 1.0f : 0.0f; /* blue */
  row[3] = 1.0f - row[2];
  row[4] = (float)(i * i % 11) - 5.0f;
}

static const char *number_table(const char *header) {
  static char text[1 << 14];
  char *to = text + sprintf(text, "%s\n", header);
  for (int i = 0; i < ROWS; i++) {
    float r[5];
    const char *colour;
    number_row(i, r, &colour);
    to += *header == 'a'
              ? sprintf(to, "%g,%g,%s,%g,%s\n", r[0], r[1], colour, r[4], i % 2 ? "odd" : "even")
              : sprintf(to, "%s,%g,%s,%g,%g\n", i % 2 ? "odd" : "even", r[4], colour, r[1], r[0]);
  }
  return text;
}

/* The same rows, with columns in another order, give the same evaluation; and so does a predictor
 * that is given each row as it is in the table. */
TEST(rows_of_numbers_are_read_alike_everywhere) {
  const char *folder = test_folder();
  const char *run = trained(test_write_text(folder, "train.csv", number_table("a,b,colour,c,kind")),
                            ", \"target_column\": \"kind\"");
  const char *path = test_write_text(folder, "x.csv", number_table("kind,c,colour,b,a"));
  owned_dataset *ds = open_by_run(run, path), *same = NULL;
  same = open_by_run(run, test_write_text(folder, "y.csv", number_table("a,b,colour,c,kind")));
  owned_predictor *p;
  assert_ok(filtra_predictor_create(test_device(), test_path(run, "model.safetensors"), NULL, &p));
  for (int i = 0; i < ROWS; i++) {
    float x[5], y[5], row[5], first[2], second[2];
    const char *colour;
    assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, (uint64_t)i, x));
    assert_ok(filtra_dataset_sample_features(same, FILTRA_SPLIT_TEST, (uint64_t)i, y));
    assert_memory_equal(x, y, sizeof x);
    number_row(i, row, &colour);
    filtra_prediction answer;
    filtra_request request = {.series = row, .length = 5, .logits = first};
    assert_ok(filtra_predictor_predict(p, 1, &request, &answer));
    for (int k = 0; k < 5; k++)
      assert_true(x[k] == ft_standard(ds->feature_mean[k], ds->feature_factor[k], row[k]));
    request.logits = second;
    assert_ok(filtra_predictor_predict(p, 1, &request, &answer));
    assert_memory_equal(first, second, sizeof first);
  }
  filtra_dataset_close(&ds); /* ids are names, though the training file has none */
  ds = open_by_run(run, test_write_text(folder, "z.csv", "c,b,a,id,colour\n1,2,3,k7,red\n"));
  assert_string_equal(test_sample(ds, FILTRA_SPLIT_TEST, 0).name, "k7");
  filtra_prediction answer;
  const float few[3] = {0};
  assert_fails(
      filtra_predictor_predict(p, 1, &(filtra_request){.series = few, .length = 3}, &answer),
      FILTRA_ERROR_INPUT, "3 numbers; a row of the training data has 5");
  refuse_by_run(run, test_write_text(folder, "x.csv", "a,b,colour,kind\n1,2,red,odd\n"),
                "x.csv:1: there is no column \"c\"");
}

/* Per cents stay per cents: 0.4 in a later file is no 40 %. */
TEST(units_of_other_files_are_those_of_training) {
  const char *run = trained(
      test_write_text(test_folder(), "p.csv", "a,share\n$1,12%\n$2,13%\n$3,14.5%\n$4,15%\n"),
      ", \"target_column\": \"share\"");
  const char *folder = test_folder();
  refuse_by_run(run, test_write_text(folder, "x.csv", "a,share\n$1,0.12\n"),
                "x.csv:2: the target: \"0.12\" is in another unit");
  refuse_by_run(run, test_write_text(folder, "x.csv", "a,share\n1%,12%\n"),
                "x.csv:2: column \"a\": \"1%\" is in another unit");
  owned_dataset *ds = open_by_run(run, test_write_text(folder, "x.csv", "a,share\n$1,12%\n"));
  assert_float_equal(test_sample(ds, FILTRA_SPLIT_TEST, 0).value, 12, 0);
}

/* A resumed run describes its data as one that never stopped. */
TEST(resumed_runs_know_their_columns) {
  char text[2048], *to = text + sprintf(text, "width,kind,species\n");
  for (int i = 0; i < 24; i++)
    to += sprintf(to, "%d.5,%c,%s\n", i, 'p' + i % 3, i % 2 ? "a" : "b");
  const char *data = test_write_text(test_folder(), "rows.csv", text);
  const char *config = test_text("{\"data\": \"%s\", \"width\": 8, \"layers\": 1, \"heads\": 1, "
                                 "\"steps\": 8, \"batch_size\": 4, \"eval_every\": 2, "
                                 "\"target_column\": \"species\", \"log_every\": 1}",
                                 data);
  const char *whole = test_new_run(), *stopped = test_new_run();
  assert_ok(test_train(config, whole, UINT64_MAX));
  assert_fails(test_train(config, stopped, 3), FILTRA_ERROR_CANCELLED, "of 8");
  assert_ok(test_train(NULL, stopped, UINT64_MAX));
  test_same_run(whole, stopped);
}

TEST(series_of_rows_train) {
  const char *folder = test_folder();
  char text[4096] = "who,when,a,b,kind\n";
  for (int i = 0; i < 60; i++)
    sprintf(text + strlen(text), "p%d,%d,%d,%d,%s\n", i % 12, 60 - i, i % 5, i % 7,
            i % 2 ? "odd" : "even");
  const char *run = trained(test_write_text(folder, "train.csv", text),
                            ", \"group_column\": \"who\", \"time_column\": \"when\"");
  owned_dataset *ds = open_by_run(
      run, test_write_text(folder, "x.csv", "b,a,when,who\n1,2,2,n\n3,4,1,n\n5,6,1,m\n"));
  test_counts(ds, 0, 0, 2);
  assert_int_equal(filtra_dataset_get_info(ds)->features, 2);
  assert_string_equal(test_sample(ds, FILTRA_SPLIT_TEST, 0).name, "n");
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 2);
}

/* ---- damage ---- */

/* Classes that only the model has are called by their numbers, by words where that is a name. */
TEST(further_classes_have_names) {
  static const char *const NAMES[] = {"3", "7", "2", "class number 3", "4"};
  const char *run = trained(test_write_text(test_folder(), "train.csv",
                                            "x,label\n1,7\n2,3\n3,7\n4,3\n5,7\n6,3\n7,7\n8,3\n"),
                            ", \"classes\": 5, \"class_weights\": \"1:2\"");
  owned_predictor *p = NULL;
  owned_run *opened = NULL;
  filtra_dataset *ds;
  assert_ok(filtra_predictor_create(test_device(), test_path(run, "model.safetensors"), NULL, &p));
  assert_ok(filtra_run_open(run, &opened));
  assert_ok(filtra_run_open_data(opened, NULL, FILTRA_SPLIT_VAL, NULL, &ds));
  assert_int_equal(filtra_predictor_get_info(p)->class_count, 5);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 5);
  for (uint32_t i = 0; i < FT_COUNT(NAMES); i++) {
    assert_string_equal(filtra_predictor_get_info(p)->classes[i], NAMES[i]);
    assert_string_equal(filtra_dataset_class_name(ds, i), NAMES[i]);
  }
  filtra_dataset_close(&ds);
}

TEST(damaged_columns_are_refused) {
  static const struct {
    const char *from, *to, *part;
  } cases[] = {
      {"\"name\"", "\"nome\"", "data.json: \"table\": a column needs a \"name\""},
      {"\"columns\"", "\"colomns\"", "data.json: \"table\" names no column to read"},
      {"\"values\": [", "\"values\": {", NULL},
      {"\"header\": true", "\"header\": null", "must be a number from 1, as there is no header"},
  };
  const char *folder = test_folder();
  const char *run = trained(test_write_text(folder, "train.csv", number_table("a,b,colour,c,kind")),
                            ", \"target_column\": \"kind\"");
  size_t size;
  owned char *kept = test_read(test_path(run, "data.json"), &size);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    test_write(test_path(run, "data.json"), kept, size);
    test_patch(test_path(run, "data.json"), cases[i].from, cases[i].to);
    refuse_by_run(run, test_path(folder, "train.csv"), cases[i].part ? cases[i].part : "data.json");
  }
}

TEST(reading_columns_may_fail_anywhere) {
  const char *folder = test_folder();
  const char *path = test_write_text(folder, "train.csv", number_table("a,b,colour,c,kind"));
  const char *run = trained(path, ", \"target_column\": \"kind\"");
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  for (long n = 1; status; n++) {
    filtra_run *opened = NULL;
    filtra_dataset *ds = NULL;
    ft_memory_fail_after(n);
    status = filtra_run_open(run, &opened);
    if (!status) status = filtra_run_open_data(opened, NULL, FILTRA_SPLIT_TEST, NULL, &ds);
    ft_memory_fail_after(0);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
    filtra_dataset_close(&ds);
    filtra_run_close(&opened);
  }
}

TEST_MAIN(NULL, test_teardown)
