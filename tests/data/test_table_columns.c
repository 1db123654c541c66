/* Columns of tables: found by the names in the training file, read as text or numbers, with a row
 * or a group of rows per sample. */
#include "base/file.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

/* ---- by name ---- */

enum { FILES = 3 };

/* Folders with a training and a test file: what the test file's first sample is. */
static const struct {
  const char *train, *test;
  const char *text;   /* NULL: refused */
  const char *target; /* class or number; NULL: unknown; where refused a part of the sentence */
  const char *name;
} named[] = {
    {"id,text,target\n7,ab,x\n8,b,y\n", "id,text\n3,ba\n", "ba", NULL, "3"},
    {"id,text,target\n7,ab,0.5\n8,b,1\n", "id,text\n3,ba\n", "ba", NULL, "3"},
    {"id,text,target\n7,ab,x\n8,b,y\n", "target,text,id\ny,ba,3\n", "ba", "y", "3"},
    {"text,label\nab,x\nb,y\n", "label,text\ny,ba\n", "ba", "y", NULL},
    {"text,label\nab,x\nb,y\n", "text,source,LABEL\nba,web,y\n", "ba", "y", NULL},
    {"index,smiles,value\n0,ab,0.5\n1,b,1.5\n", "index,smiles\n5,ba\n", "ba", NULL, "5"},
    {",text,label\n0,ab,x\n1,b,y\n", ",text\n5,ba\n", "ba", NULL, "5"},
    {"text;value\nab;0,5\nb;1,5\n", "value;text\n2,5;ba\n", "ba", "2.5", NULL},
    {"text;value\nab;0,5\nb;1,5\n", "value\ttext\n1,000\tba\n", "ba", "1", NULL},
    {"ab,x\nb,y\n", "ba,y\n", "ba", "y", NULL},
    {"ab,x\nb,y\n", "ba\n", "ba", NULL, NULL},
    {"text,label\nab,x\nb,y\n", "text,label\nba,?\n", "ba", NULL, NULL},
    {"text,label\nab,x\nb,y\n", "text,label\nba,\n", "ba", NULL, NULL},
    {"text,value\nab,0.5\nb,1\n", "text,value\nba,NA\n", "ba", NULL, NULL},
    {"text,label\nab,x\nb,y\n", "words,label\nba,y\n", NULL,
     "test.csv:1: there is no column \"text\", which the training file has; the columns are "
     "\"words\", \"label\"",
     NULL},
    {"text,label\nab,x\nb,y\n", "text,text,label\nba,b,y\n", NULL,
     "test.csv:1: two columns are called \"text\"", NULL},
    {"ab,x\nb,y\n", "ba,y,z\n", NULL, "test.csv:1: 3 fields where the training file has 2", NULL},
};

static void check_target(const filtra_dataset *ds, const filtra_sample *s, const char *target) {
  char got[32] = "unknown";
  if (filtra_dataset_get_info(ds)->target == FILTRA_TARGET_VALUE && !isnan(s->value))
    snprintf(got, sizeof got, "%g", (double)s->value);
  if (filtra_dataset_get_info(ds)->target == FILTRA_TARGET_CLASS && s->label >= 0)
    snprintf(got, sizeof got, "%s", filtra_dataset_class_name(ds, (uint32_t)s->label));
  assert_string_equal(got, target ? target : "unknown");
}

TEST(test_columns_are_those_of_the_training_file) {
  for (size_t i = 0; i < FT_COUNT(named); i++) {
    const char *folder = test_folder();
    test_write_text(folder, "train.csv", named[i].train);
    test_write_text(folder, "test.csv", named[i].test);
    const filtra_dataset_options options = {.unlabelled = true};
    if (!named[i].text) {
      test_refuse_dataset(folder, &options, named[i].target);
      continue;
    }
    owned_dataset *ds = test_open_dataset(folder, "table", &options);
    filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 0);
    assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 0), named[i].text);
    check_target(ds, &s, named[i].target);
    assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST],
                     named[i].target ? 0 : 1);
    assert_int_equal(named[i].name != NULL, s.name != NULL);
    if (s.name) assert_string_equal(s.name, named[i].name);
  }
}

TEST(test_a_file_without_targets) {
  const char *folder = test_folder();
  test_write_text(folder, "train.csv", "id,text,target\n0,ab,x\n1,b,y\n");
  test_write_text(folder, "test.csv", "id,text\n0,ab\n");
  test_refuse_dataset(folder, NULL,
                      "test.csv:1: there is no column \"target\", which the training file has; the "
                      "columns are \"id\", \"text\". Without targets a file can only be predicted");
  const char *path = test_write_text(test_folder(), "new.csv", "id,text\n0,ab\n1,b\n");
  test_refuse_dataset(path, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST},
                      "new.csv:1: set target_column to one of the 2 columns");
  owned_dataset *ds = test_open_dataset(
      path, "table",
      &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST, .unlabelled = true});
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 2);
}

TEST(test_names_of_samples) {
  const filtra_dataset_options options = {.file_split = FILTRA_SPLIT_TEST, .id_column = "key"};
  owned_dataset *ds = test_open_dataset(
      test_write_text(test_folder(), "a.csv", "key,id,text,y\nk1,1,ab,x\nk2,2,b,z\n"), "table",
      &options);
  assert_string_equal(test_sample(ds, FILTRA_SPLIT_TEST, 1).name, "k2");
  test_refuse_dataset(test_write_text(test_folder(), "a.csv", "id,text,y\n1,ab,x\n2,b,z\n"),
                      &options, "a.csv:1: id_column is \"key\"; the 3 columns are \"id\"");
}

/* ---- classes that make no sense ---- */

TEST(test_classes_of_another_encoding) {
  test_refuse_dataset(test_write_text(test_folder(), "a.csv", "text,label\nab,caf\xe9\nb,th\xe9\n"),
                      NULL, "a.csv:2: the class \"caf\\xe9\" is not named in UTF-8");
}

/* Fewer samples have a class than there are rows. */
TEST(test_classes_that_are_unknown) {
  owned_dataset *ds = test_open_dataset(
      test_write_text(test_folder(), "a.csv", "text,label\nab,z\nb,\nba,x\nb,?\n"), "table",
      &(filtra_dataset_options){.unlabelled = true, .file_split = FILTRA_SPLIT_TEST});
  static const int32_t labels[] = {1, -1, 0, -1};
  for (uint64_t i = 0; i < 4; i++)
    assert_int_equal(test_sample(ds, FILTRA_SPLIT_TEST, i).label, labels[i]);
}

static const char *rows_of(const char *header, const char *const *targets, int count) {
  static char text[1 << 16];
  char *to = text + sprintf(text, "%s\n", header);
  for (int i = 0; i < count; i++) {
    if (targets)
      to += sprintf(to, "word %c,%s\n", 'a' + i % 3, targets[i % 6]);
    else
      to += sprintf(to, "word %c,2023-%02d-%02d\n", 'a' + i % 3, 1 + i / 28, 1 + i % 28);
  }
  return text;
}

static char last_warning[1024];
static void keep_warning(void *user, filtra_log_level level, const char *message) {
  (void)user;
  if (level == FILTRA_LOG_WARNING) snprintf(last_warning, sizeof last_warning, "%s", message);
}

TEST(test_classes_that_are_none) {
  static const char *const several[][6] = {
      {"cats;sun", "sun", "cats;rain", "rain;sun", "cats", "sun;rain;cats"},
      {"a|b", "a|c", "b|c", "a|b|c", "b", "c|a"},
      {"\"red, big\"", "\"red, small\"", "\"blue, big\"", "\"blue, small\"", "red", "blue"},
      {"\"['a', 'b']\"", "\"['b', 'c']\"", "\"['a', 'b', 'c']\"", "\"['b', 'a']\"", "['a']",
       "['b']"}};
  static const char *const single[][6] = {
      {"Austin; TX", "Dallas; TX", "Houston; TX", "Waco; TX", "El Paso; TX", "Paris; TX"},
      {"yes", "no", "yes", "no", "yes", "no"},
      {"\"Smith, A\"", "\"Jones, B\"", "\"Young, C\"", "\"King, D\"", "\"Hill, E\"", "\"Wood, F\""},
      {"a;b", "c", "d", "e", "f", "g"}};
  const filtra_dataset_options comma = {.delimiter = FILTRA_DELIMITER_COMMA};
  filtra_dataset_options asked = comma;
  asked.targets = FILTRA_TARGETS_CLASSES;
  const char *folder = test_folder();
  for (size_t i = 0; i < 4; i++) {
    const char *path = test_write_text(folder, "a.csv", rows_of("text,tags", several[i], 24));
    test_refuse_dataset(path, &comma, "a.csv: column \"tags\" holds several labels a row");
    assert_ok(test_try_dataset(path, &asked));
    path = test_write_text(folder, "a.csv", rows_of("text,tags", single[i], 24));
    assert_ok(test_try_dataset(path, &comma));
  }
  const char *path = test_write_text(folder, "a.csv", rows_of("text,day", NULL, 40));
  test_refuse_dataset(path, NULL, "a.csv: column \"day\" has 40 classes in 40 samples");
  assert_ok(test_try_dataset(path, &asked));
  assert_ok(test_try_dataset(path, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST}));
  assert_ok(
      test_try_dataset(test_write_text(folder, "a.csv", rows_of("text,day", NULL, 19)), NULL));
}

TEST(test_what_is_said_of_classes) {
  filtra_log_set(keep_warning, NULL);
  const char *folder = test_folder();
  assert_ok(test_try_dataset(
      test_write_text(folder, "a.csv", "a,target,label\n1,2,x\n2,1,x\n3,3,y\n4,1,y\n"), NULL));
  assert_non_null(strstr(last_warning, "\"target\" is read as a feature, and \"label\" is the"));
  assert_ok(test_try_dataset(
      test_write_text(folder, "a.csv", "text,label\na,yes\nb,NA\nc,yes\nd,NA\n"), NULL));
  assert_non_null(strstr(last_warning, "\"NA\" is taken as a class; where it means"));
  last_warning[0] = '\0';
  assert_ok(test_try_dataset(
      test_write_text(folder, "a.csv", "text,label\na,x\nb,x\nc,y\nd,z\ne,z\n"), NULL));
  assert_non_null(strstr(last_warning, "1 of 3 classes, such as \"y\", have one sample"));
  last_warning[0] = '\0';
  assert_ok(
      test_try_dataset(test_write_text(folder, "a.csv", "text,label\na,x\nb,x\nc,y\nd,y\n"), NULL));
  assert_string_equal(last_warning, "");
  const filtra_dataset_options asked = {.targets = FILTRA_TARGETS_CLASSES};
  assert_ok(
      test_try_dataset(test_write_text(folder, "a.csv", rows_of("text,day", NULL, 40)), &asked));
  assert_non_null(strstr(last_warning, "have one sample"));
  filtra_log_set(NULL, NULL);
  char ages[1024] = "text,age\n";
  for (int i = 0; i < 30; i++)
    sprintf(ages + strlen(ages), "a,%d\n", 20 + i);
  test_refuse_dataset(
      test_write_text(folder, "a.csv", ages), NULL,
      "column \"age\" has 30 classes in 30 samples, nearly each sample one of its own; if "
      "they are numbers to predict, set task to regression");
}

TEST(test_what_is_said_of_categories) {
  static const struct {
    const char *cells[6], *said;
  } cases[] = {
      {{"1", "2", "3", "3+", "1", "2"},
       "\"a\" is read as categories: 5 of 6 cells are numbers, but \"3+\" in line 5 is none"},
      {{"2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04", "2020-01-05", "2020-01-06"},
       "\"a\" is read as categories, and each of its 6 cells is another one"},
      {{"red", "blue", "red", "", "blue", "red"}, ""},
      {{"A1", "A2", "7", "A1", "A2", "7"}, ""}};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    char text[512] = "b,a,label\n";
    for (int k = 0; k < 6; k++)
      sprintf(text + strlen(text), "%d,%s,%c\n", k * k, cases[i].cells[k], "xy"[k % 2]);
    last_warning[0] = '\0';
    filtra_log_set(keep_warning, NULL);
    assert_ok(test_try_dataset(test_write_text(folder, "a.csv", text), NULL));
    filtra_log_set(NULL, NULL);
    if (!strstr(last_warning, cases[i].said) || !*cases[i].said != !*last_warning)
      fail_msg("\"%s\" is said, not \"%s\"", last_warning, cases[i].said);
  }
}

/* What is said of a table that has this pair of rows `count` times below its header: in a cell # is
 * the pair's number. */
static void check_rows(int count, const char *header, const char *row,
                       const filtra_dataset_options *options, const char *said) {
  char text[4096] = "";
  strcat(text, header);
  for (int i = 0; i < count; i++)
    for (const char *at = row; *at; at++)
      sprintf(text + strlen(text), *at == '#' ? "%d" : "%c", *at == '#' ? i : *at);
  last_warning[0] = '\0';
  filtra_log_set(keep_warning, NULL);
  assert_ok(test_try_dataset(test_write_text(test_folder(), "a.csv", text), options));
  filtra_log_set(NULL, NULL);
  if (!strstr(last_warning, said) || !*said != !*last_warning)
    fail_msg("\"%s\" is said, not \"%s\"", last_warning, said);
}

static void check_choice(const char *header, const char *row, const filtra_dataset_options *options,
                         const char *said) {
  check_rows(60, header, row, options, said);
}

/* Whatever the first cell is, and in small tables, too. */
TEST(test_other_texts_of_several_words) {
  static const char NAMES[] = "question,sentence,label\n",
                    SAID[] =
                        "column 2, \"sentence\", is taken as the text; column 1, \"question\", "
                        "could be it, too";
  check_rows(60, "question,sentence,label\nWhy?,because #,x\n", "why so #,it is,x\nand #,so,y\n",
             NULL, SAID);
  check_rows(10, NAMES, "why so #,it is,x\nand #,so,y\n", NULL, SAID);
  check_rows(10, NAMES, "why #,it is,x\nso#,so,y\n", NULL, SAID);
  check_rows(10, NAMES, "a man,it is,x\na dog,so,y\n", NULL, "");   /* categories */
  check_rows(4, NAMES, "why so #,it is,x\nand #,so,y\n", NULL, ""); /* as many */
  check_rows(60, "code,text,label\none odd,ab,x\n", "a#,ab,x\nb#,b,y\n", NULL, "");
}

TEST(test_what_is_said_of_choices) {
  static const char BOTH[] = "text,label\n", ROW[] = "one #,x\ntwo #,y\n";
  const filtra_dataset_options text = {.text_column = "review"},
                               target = {.target_column = "class"};
  check_choice(BOTH, ROW, NULL, "");
  check_choice("review,text,label\n", "ab,b,x\nb,ab,y\n", NULL,
               "a.csv: column 2, \"text\", is taken as the text; column 1, \"review\", could be "
               "it, too; text_column names another");
  check_choice("review,text,label\n", "ab,b,x\nb,ab,y\n", &text, "");
  check_choice("text,class,label\n", "ab,1,x\nb,2,y\n", NULL,
               "a.csv: column 3, \"label\", is taken as the target; column 2, \"class\", could be "
               "it, too; target_column names another");
  check_choice("text,class,label\n", "ab,1,x\nb,2,y\n", &target, "");
  check_choice("title,text,label\n", "one #,ab,x\ntwo #,b,y\n", NULL,
               "column 1, \"title\", could be it");
  check_choice("title,code,text,label\n", "x,a#,ab,x\ny,b#,b,y\n", NULL, "");
  check_choice("text,length,label\n", "ab,#,x\nb,#,y\n", NULL, "");
}

/* ---- numbers ---- */

static const filtra_dataset_options species = {.target_column = "species"};
static const char irises[] = "length,width,colour,species\n1,10,red,a\n3,,blue,b\n5,30,red,a\n"
                             "7,20,,b\n";

/* Mean and deviation of each column are its own; a missing cell is the mean. */
TEST(test_rows_of_numbers) {
  const double length[] = {-1.161895, -0.387298, 0.387298, 1.161895};
  owned_dataset *ds = test_open_dataset(
      test_write_text(test_folder(), "a.csv", irises), "table",
      &(filtra_dataset_options){.target_column = "species", .file_split = FILTRA_SPLIT_TEST});
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_int_equal(info->input, FILTRA_INPUT_FEATURES);
  assert_int_equal(info->features, 1);
  assert_int_equal(info->classes, 2);
  float x[4];
  for (uint64_t i = 0; i < 4; i++) {
    filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, i);
    assert_int_equal(s.length, 4); /* length, width, blue, red */
    assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, i, x));
    assert_float_equal((double)x[0], length[i], 1e-5);
    const double width[] = {-1.0, 0.0, 1.0, 0.0}, red[] = {0.57735, -1.154701, 0.57735, 0.0};
    assert_float_equal((double)x[1], width[i], 1e-5);
    assert_float_equal((double)x[2], -red[i], 1e-5);
    assert_float_equal((double)x[3], red[i], 1e-5);
    assert_int_equal(s.label, i % 2);
  }
}

/* Other splits are read by the training file's columns, values of categories, and deviations. */
TEST(test_other_files_of_numbers) {
  const char *folder = test_folder();
  test_write_text(folder, "train.csv", irises);
  test_write_text(folder, "test.csv", "species,colour,note,width,length\nb,blue,x,20,4\n");
  owned_dataset *ds = test_open_dataset(
      folder, "table",
      &(filtra_dataset_options){.target_column = "species", .validation_share = 0.25f});
  float x[4];
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 0, x));
  assert_float_equal((double)x[0], (4.0 - ds->feature_mean[0]) * ds->feature_factor[0], 1e-5);
  assert_float_equal((double)x[3], (0.0 - ds->feature_mean[3]) * ds->feature_factor[3], 1e-5);
  test_write_text(folder, "test.csv", "species,colour,width,length\nb,green,20,4\n");
  test_refuse_dataset(folder, &species,
                      "test.csv:2: column \"colour\": \"green\" is none of the 2");
  test_write_text(folder, "test.csv", "species,colour,width,length\nb,red,wide,4\n");
  test_refuse_dataset(folder, &species, "test.csv:2: column \"width\": \"wide\" is not a number");
  test_write_text(folder, "test.csv", "species,colour,length\nb,red,4\n");
  test_refuse_dataset(folder, &species, "test.csv:1: there is no column \"width\"");
}

static const struct {
  const char *text;
  filtra_dataset_options options;
  uint32_t steps;
  const char *refused;
} tables[] = {
    {"1,2,a\n3,4,b\n5,6,a\n", {0}, 2, NULL}, /* as Fisher's irises */
    {"1,k,a\n3,k,b\n5,l,a\n", {0}, 0, "a.csv:1: set target_column to one of the 3 columns"},
    {"x,y\n0.5,1.5\n1,2\n2,0.5\n", {0}, 1, NULL},
    {"x,z,y\n0.5,3,1.5\n1,4,2\n2,5,0.5\n", {.feature_columns = "x"}, 1, NULL},
    {"x,z,y\n0.5,3,1.5\n1,4,2\n2,5,0.5\n", {.feature_columns = " x , 2 "}, 2, NULL},
    {"id,x,y\n0,3,1.5\n1,4,2\n2,5,0.5\n", {0}, 1, NULL},
    {",x,y\n0,3,1.5\n1,4,2\n2,5,0.5\n", {0}, 1, NULL},
    {"x;y\n0,5;1,5\n1,25;2\n2;0,5\n", {0}, 1, NULL},
    {"p,q,text\n1,2,ab\n2,1,b\n", {.target_column = "q", .feature_columns = "p,text"}, 3, NULL},
    {"x,z,w\n1,2,3\n4,5,6\n", {0}, 0, "a.csv:1: set target_column to one of the 3 columns"},
    {"1,2\n3,4\n", {0}, 0, "a.csv:1: set target_column to one of the 2 columns"},
    {"id,y\n1,2\n3,4\n", {0}, 0, "set text_column or feature_columns to one of the 2 columns"},
    {"x,y\n1,0\n2,1\n", {.feature_columns = "y"}, 0, "feature_columns has \"y\", which is the"},
    {"x,y\n1,0\n2,1\n", {.feature_columns = "z"}, 0, "feature_columns is \"z\"; the 2 columns are"},
    {"x,y\n1,0\n2,1\n",
     {.feature_columns = "x", .text_column = "x"},
     0,
     "text_column is for one text a row"},
    {"x,y\n1,0\n2,1\n", {.time_column = "x"}, 0, "time_column orders the rows of a group"},
    {"x,z,y\n1,,0\n2,,1\n", {0}, 0, "column 2, \"z\", is empty"},
    {"x,y,\n1,0,\n2,1,\n", {0}, 0, "column 3, \"\", is empty"},
    {"x,y\r1,0\r2,1\r", {0}, 0, "a.csv:1: a carriage return within the line; if all lines"},
    {"x,y\r\r\n1,0\r\r\n2,1\r\r\n", {0}, 1, NULL},
    {"x,x,y\n1,2,0\n2,3,1\n", {0}, 0, "two columns are called \"x\""},
    {"x,z,y\n1,2,0\n2,3,1\n", {.max_length = 1}, 0, "a row becomes 2 numbers, but max_length is 1"},
    {"x,z,y\n1,2,0\n2,3,1\n", {.tokenizer = "bytes"}, 0, "is read as numbers"},
};

TEST(test_which_columns_are_numbers) {
  for (size_t i = 0; i < FT_COUNT(tables); i++) {
    filtra_dataset_options options = tables[i].options;
    options.file_split = FILTRA_SPLIT_TEST;
    const char *path = test_write_text(test_folder(), "a.csv", tables[i].text);
    if (tables[i].refused) {
      assert_fails(test_try_dataset(path, &options),
                   options.tokenizer ? FILTRA_ERROR_ARGUMENT : FILTRA_ERROR_INPUT,
                   tables[i].refused);
      continue;
    }
    owned_dataset *ds = test_open_dataset(path, "table", &options);
    assert_int_equal(filtra_dataset_get_info(ds)->longest, tables[i].steps);
  }
}

/* ---- series ---- */

TEST(test_rows_of_a_group_are_a_series) {
  static const char text[] = "who,day,a,b,label\np2,3,9,1,y\np1,2,3,4,x\np1,1,1,2,x\np2,1,5,,y\n"
                             "p1,10,6,7,x\n";
  filtra_dataset_options options = {
      .file_split = FILTRA_SPLIT_TEST, .group_column = "who", .time_column = "day"};
  owned_dataset *ds =
      test_open_dataset(test_write_text(test_folder(), "a.csv", text), "table", &options);
  assert_int_equal(filtra_dataset_get_info(ds)->features, 2);
  test_counts(ds, 0, 0, 2);
  filtra_sample first = test_sample(ds, FILTRA_SPLIT_TEST, 0);
  assert_string_equal(first.name, "p2");
  assert_int_equal(first.length, 2);
  assert_int_equal(test_sample(ds, FILTRA_SPLIT_TEST, 1).length, 3);
  float x[6];
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 0, x));
  assert_float_equal((double)x[0], (5.0 - 4.8) / sqrt(9.2), 1e-5);
  assert_true(x[1] == x[3] && x[1] < 0.0f); /* missing: the nearest value, not the mean */
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 1, x));
  assert_true(x[0] < x[2] && x[2] < x[4]);
  options.time_column = NULL;
  filtra_dataset_close(&ds);
  ds = test_open_dataset(test_write_text(test_folder(), "a.csv", text), "table",
                         &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST,
                                                   .group_column = "who",
                                                   .feature_columns = "a",
                                                   .target_column = "label"});
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 1, x));
  assert_true(x[0] > x[1] && x[1] < x[2]);
}

TEST(test_series_that_are_none) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"g,t,a,y\np,1,1,x\np,2,2,z\n", "a.csv:3: lines 2 and 3 are of group \"p\": their targets"},
      {"g,t,a,y\np,1,1,x\np,1,2,x\n", "both have the same time"},
      {"g,t,a,y\np,1,1,x\np,2020-01-01,2,x\n", "one time is a number, the other a date"},
      {"g,t,a,y\np,1/2/2020,1,x\np,2,2,x\n", "\"1/2/2020\" is neither a number nor a date"},
      {"g,t,a,y\n,1,1,x\np,2,2,x\n", "a.csv:2: the group is empty"},
      {"g,t,y\np,1,x\nq,2,x\n", "set text_column or feature_columns"},
      {"g,t,a,y\np,2020-01-02,1,x\np,2020-01-01,2,x\n", NULL},
  };
  const filtra_dataset_options options = {
      .file_split = FILTRA_SPLIT_TEST, .group_column = "g", .time_column = "t"};
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    test_refuse_dataset(test_write_text(test_folder(), "a.csv", cases[i].text), &options,
                        cases[i].part);
  filtra_dataset_options cut = options;
  cut.max_length = 1;
  const char *path = test_write_text(test_folder(), "a.csv", "g,t,a,y\np,1,1,x\np,2,2,x\n");
  test_refuse_dataset(path, &cut, "group \"p\" has 2 rows where at most 1 are accepted");
  cut.truncate = true;
  test_open_warns(path, &cut, "are cut", "a.csv: 1 of 1 series are cut to max_length, 1 steps");
  assert_ok(test_try_dataset(path, &cut));
}

TEST(test_series_longer_than_training_series) {
  static const char said[] = "longer than all training series";
  filtra_dataset_options o = {.group_column = "g", .time_column = "t"};
  const char *folder = test_folder();
  test_write_text(folder, "train.csv",
                  "g,t,a,y\np,1,1,x\np,2,2,x\nq,1,3,z\nr,1,2,x\ns,1,1,z\ns,2,5,z\n");
  test_write_text(folder, "test.csv", "g,t,a,y\np,1,1,x\np,2,2,x\nq,1,3,z\n");
  test_open_warns(folder, &o, said, NULL);
  test_write_text(folder, "test.csv", "g,t,a,y\np,1,1,x\np,2,2,x\np,3,2,x\nq,1,3,z\n");
  test_open_warns(folder, &o, said,
                  "test.csv: 1 of 2 series are longer than all training series, ");
  test_open_warns(folder, &o, said, "beyond 2 are never trained; max_length=2 truncate=true cuts");
  o.max_length = 2;
  o.truncate = true;
  test_open_warns(folder, &o, said, NULL);
  test_open_warns(test_path(folder, "test.csv"),
                  &(filtra_dataset_options){.group_column = "g", .file_split = FILTRA_SPLIT_TEST},
                  said, NULL);
}

TEST(test_series_at_unequal_steps) {
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"p,1,1,x\np,2,2,x\np,4.5,2,x\nq,1,2,z\nq,9,2,z\n",
       "a.csv: 1 of 2 series have times at unequal steps, such as group \"p\", whose rows are 1 to "
       "2.5 apart"},
      {"p,2020-01-06,1,x\np,2020-01-03,2,x\np,2020-01-02,2,x\n", "are 1 to 3 days apart"},
      {"p,2020-01-01 10:00,1,x\np,2020-01-01 10:01,2,x\np,2020-01-02,2,x\n",
       "are 60 to 50340 seconds apart"},
      {"p,2020-01-31,1,x\np,2020-02-28,2,x\np,2020-03-31,2,x\n", NULL},
      {"p,3,1,x\np,1,2,x\np,5,2,x\nq,1,2,z\nq,9,2,z\n", NULL},
  };
  filtra_dataset_options o = {
      .file_split = FILTRA_SPLIT_TEST, .group_column = "g", .time_column = "t"};
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    test_open_warns(
        test_write_text(test_folder(), "a.csv", test_text("g,t,a,y\n%s", cases[i].text)), &o,
        "unequal steps", cases[i].said);
  o.time_column = NULL;
  o.feature_columns = "a";
  const char *path =
      test_write_text(test_folder(), "a.csv", test_text("g,t,a,y\n%s", cases[0].text));
  test_open_warns(path, &o, "unequal steps", NULL);
}

/* ---- names of images ---- */

TEST(test_names_of_images) {
  static const char said[] = "are names of images";
  const filtra_dataset_options chosen = {.text_column = "file", .target_column = "kind"};
  const char *folder = test_folder();
  const char *path =
      test_write_text(folder, "a.csv", "path,label\na/1.png,x\nb/2.JPG,y\nc/3.jpeg,x\n4.png,y\n");
  test_open_warns(path, NULL, said,
                  "column \"path\" is read as text, and 4 of its 4 cells are names of images");
  test_open_warns(path, NULL, said, "trainLabels.csv");
  path = test_write_text(folder, "b.csv", "n,file,kind\n1,1.png,x\n2,2.png,y\n3,3.png,x\n");
  test_open_warns(path, &chosen, said, "column \"file\"");
  path = test_write_text(folder, "c.csv", "text,label\nsee 1.png,x\nno image,y\n.png,x\nd,y\n");
  test_open_warns(path, NULL, said, NULL);
}

/* ---- damage ---- */

TEST(test_damaged_numbers) {
  static const char bytes[] = {'\0', '\xff', ' ', ',', '"', '\n', '\t', '9', '-', ';', '|', '%'};
  const filtra_dataset_options series = {.group_column = "g", .unlabelled = true};
  test_dataset_cuts("cut.csv", irises, strlen(irises), &species);
  test_dataset_damage("damaged.csv", irises, bytes, sizeof bytes);
  const char grouped[] = "g,a,y\np,1,x\nq,2,z\np,4,x\n";
  test_dataset_cuts("cut.csv", grouped, strlen(grouped), &series);
  test_dataset_memory(test_write_text(test_folder(), "a.csv", irises), &species);
  test_dataset_memory(test_write_text(test_folder(), "a.csv", grouped), &series);
  test_dataset_memory(test_write_text(test_folder(), "a.csv", "id,text,y\n1,a,x\n2,b,z\n"), NULL);
}

TEST_MAIN(NULL, test_teardown)
