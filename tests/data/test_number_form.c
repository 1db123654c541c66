/* Numbers as people write them: the value of a cell, and what the cells of a column decide. */
#include "base/file.h"
#include "data/number_form.h"
#include "support/files.h"
#include "support/harness.h"

#define POINT FILTRA_DECIMAL_POINT
#define COMMA FILTRA_DECIMAL_COMMA

/* ---- cells ---- */

TEST(test_what_a_cell_means) {
  static const struct {
    const char *text;
    filtra_decimal decimal;
    float value; /* NaN: it is no number */
  } cases[] = {
      {"0.5", POINT, 0.5f},
      {"0,5", COMMA, 0.5f},
      {"0,5", POINT, NAN},
      {"0.5", COMMA, NAN},
      {"1,000.5", POINT, 1000.5f},
      {"1.000,5", COMMA, 1000.5f},
      {"1,000", POINT, 1000.0f},
      {"1,000", COMMA, 1.0f},
      {"1.000", COMMA, 1000.0f},
      {"1,000,000", POINT, 1e6f},
      {"1,00,000", POINT, NAN},
      {"0,125", POINT, NAN},
      {"12,34", POINT, NAN},
      {"1'234'567.5", POINT, 1234567.5f},
      {"1 234,5", COMMA, 1234.5f},
      {"1\xc2\xa0"
       "234,5",
       COMMA, 1234.5f},
      {"1\xe2\x80\xaf"
       "234",
       POINT, 1234.0f},
      {"1\xe2\x80\x99"
       "234",
       POINT, 1234.0f},
      {"1 23", POINT, NAN},
      {"12%", POINT, 12.0f},
      {"12,5 %", COMMA, 12.5f},
      {"%12", POINT, NAN},
      {"$3.50", POINT, 3.5f},
      {"-$3.50", POINT, -3.5f},
      {"$-3.50", POINT, -3.5f},
      {"3,50 \xe2\x82\xac", COMMA, 3.5f},
      {"\xc2\xa3"
       "1,200",
       POINT, 1200.0f},
      {"$3$", POINT, NAN},
      {"\xe2\x88\x92"
       "0.5",
       POINT, -0.5f},
      {"+7", POINT, 7.0f},
      {"--7", POINT, NAN},
      {"1e-3", POINT, 1e-3f},
      {"1,5E3", COMMA, 1500.0f},
      {"1,000e3", POINT, NAN},
      {".5", POINT, 0.5f},
      {"5.", POINT, 5.0f},
      {".", POINT, NAN},
      {"e5", POINT, NAN},
      {"1e", POINT, NAN},
      {"", POINT, NAN},
      {"2023-04-01", POINT, NAN},
      {"01.04.2023", COMMA, NAN},
      {"1/2", POINT, NAN},
      {"0x10", POINT, NAN},
      {"inf", POINT, NAN},
      {"12 kg", POINT, NAN},
      {"1e39", POINT, NAN},
      {"\xff", POINT, NAN},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *t = cases[i].text;
    float value = NAN;
    const uint32_t unit = strchr(t, '%')              ? '%'
                          : strchr(t, '$')            ? '$'
                          : strstr(t, "\xe2\x82\xac") ? 0x20ac
                          : strstr(t, "\xc2\xa3")     ? 0xa3
                                                      : 0;
    filtra_status status = ft_read_form(t, strlen(t), cases[i].decimal, unit, &value);
    if (isnan(cases[i].value) == (status == FILTRA_OK) || (!status && value != cases[i].value))
      fail_msg("\"%s\" is read as %g", cases[i].text, status ? NAN : (double)value);
  }
}

TEST(test_units_differ) {
  static const struct {
    const char *text;
    uint32_t unit;
    bool same;
  } cases[] = {{"12%", 0, false}, {"12", '%', false}, {"$3", 0, false},  {"$3", 0x20ac, false},
               {"3", '$', true},  {"$3", '$', true},  {"12%", '%', true}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    float value;
    filtra_status status =
        ft_read_form(cases[i].text, strlen(cases[i].text), POINT, cases[i].unit, &value);
    if (cases[i].same)
      assert_ok(status);
    else
      assert_fails(status, FILTRA_ERROR_INPUT, "is in another unit than the training data's");
  }
}

TEST(test_missing_cells) {
  static const char *const missing[] = {"", "?", "NaN", "nan", "NA", "n/a", "#N/A", "NULL", "None"};
  static const char *const present[] = {"0", "-", "nano", "no", "nil"};
  for (size_t i = 0; i < FT_COUNT(missing); i++)
    assert_true(ft_is_missing(missing[i], strlen(missing[i])));
  for (size_t i = 0; i < FT_COUNT(present); i++)
    assert_false(ft_is_missing(present[i], strlen(present[i])));
}

/* ---- columns ---- */

enum { CELLS = 6 };

/* A column of numbers in a file with semicolons, and what it becomes. */
static const struct {
  const char *cells[CELLS];
  float values[CELLS];
  const char *refused; /* a part of the sentence; NULL: they are the values */
  filtra_decimal decimal;
} columns[] = {
    {{"0,0", "0,1", "12,25"}, {0.0f, 0.1f, 12.25f}, NULL, 0},
    {{"-1,5", "2", "3,25"}, {-1.5f, 2.0f, 3.25f}, NULL, 0},
    {{"1.234,5", "2.345", "7"}, {1234.5f, 2345.0f, 7.0f}, NULL, 0},
    {{"1,000.5", "1,001.5", "12"}, {1000.5f, 1001.5f, 12.0f}, NULL, 0},
    {{"1,000", "2.5", "12"}, {1000.0f, 2.5f, 12.0f}, NULL, 0},
    {{"1,000,000", "1,000", "12"}, {1e6f, 1000.0f, 12.0f}, NULL, 0},
    {{"0.500", "1.125", "2.250"}, {0.5f, 1.125f, 2.25f}, NULL, 0},
    {{"1.125", "2.250", "3.5"}, {1.125f, 2.25f, 3.5f}, NULL, 0},
    {{"1'000.5", "12", "3"}, {1000.5f, 12.0f, 3.0f}, NULL, 0},
    {{"1 000,5", "12", "3"}, {1000.5f, 12.0f, 3.0f}, NULL, 0},
    {{"12%", "0.5%", "100 %"}, {12.0f, 0.5f, 100.0f}, NULL, 0},
    {{"12%", "50%", "7%"}, {12.0f, 50.0f, 7.0f}, NULL, 0},
    {{"12,5 %", "50 %", "7%"}, {12.5f, 50.0f, 7.0f}, NULL, 0},
    {{"$3.50", "$1,200.00", "-$7"}, {3.5f, 1200.0f, -7.0f}, NULL, 0},
    {{"$3", "$12", "$7"}, {3.0f, 12.0f, 7.0f}, NULL, 0},
    {{"3,50 \xe2\x82\xac", "7 \xe2\x82\xac", "12,00 \xe2\x82\xac"}, {3.5f, 7.0f, 12.0f}, NULL, 0},
    {{"\xe2\x88\x92"
      "0.50",
      "1.5",
      "\xe2\x88\x92"
      "3"},
     {-0.5f, 1.5f, -3.0f},
     NULL,
     0},
    {{"1,000", "2,000", "3,500"}, {1000.0f, 2000.0f, 3500.0f}, NULL, POINT},
    {{"1,000", "2,000", "3,500"}, {1.0f, 2.0f, 3.5f}, NULL, COMMA},
    {{"1,000", "2,000", "3,500"}, {0}, "a.csv:2: \"1,000\" may have a comma between", 0},
    {{"1.000", "900", "2.500"}, {0}, "a.csv:2: \"1.000\" may have a point between thousands", 0},
    {{"1.000", "900", "2.500"}, {1000.0f, 900.0f, 2500.0f}, NULL, COMMA},
    {{"1.000", "900", "2.500"}, {1.0f, 900.0f, 2.5f}, NULL, POINT},
    {{"1.000", "900", "2.500.000"}, {1000.0f, 900.0f, 2.5e6f}, NULL, 0},
    {{"1.125", "900", "0.500"}, {1.125f, 900.0f, 0.5f}, NULL, 0},
    {{"1.125", "2.000", "3.500"}, {1.125f, 2.0f, 3.5f}, NULL, 0}, /* with a word */
    {{"1.5", "2,5", "3"}, {0}, "a.csv:2: \"1.5\" has a decimal point, but \"2,5\" in line 3", 0},
    {{"1.5", "2,5", "3"}, {0}, "a.csv:3: column \"value\": \"2,5\" is no number with", POINT},
    {{"1.5%", "2.5", "3"}, {0}, "column \"value\": 1 of 3 numbers are per cent", 0},
    {{"$1.5",
      "\xe2\x82\xac"
      "2.5",
      "3"},
     {0},
     "column \"value\" holds amounts in more than one currency",
     0},
    {{"9007199254740993.5", "9007199254740994.5", "9007199254740999.5"},
     {0},
     "which 32-bit numbers hardly tell apart",
     0},
    {{"100000000.25", "100000000.5", "100000000.75"}, {0}, "hardly tell apart", 0},
    {{"1000001.5", "1000002.5", "1000003.5"}, {1000001.5f, 1000002.5f, 1000003.5f}, NULL, 0},
    {{"1.5", "2.5", "12 kg"}, {0}, "a.csv:4: the target \"12 kg\" is no number", 0},
    {{"1.5", "N/A", "2"}, {0}, "a.csv:3: the target \"N/A\" is no number", 0},
};

TEST(test_what_a_column_decides) {
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(columns); i++) {
    char text[512] = "text;value\n";
    size_t count = 0;
    for (; count < CELLS && columns[i].cells[count]; count++)
      snprintf(text + strlen(text), sizeof text - strlen(text), "a%zu;%s\n", count,
               columns[i].cells[count]);
    const char *path = test_write_text(folder, "a.csv", text);
    const filtra_dataset_options options = {.decimal = columns[i].decimal,
                                            .file_split = FILTRA_SPLIT_TEST};
    if (columns[i].refused) {
      test_refuse_dataset(path, &options, columns[i].refused);
      continue;
    }
    owned_dataset *ds = test_open_dataset(path, "table", &options);
    assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_VALUE);
    for (size_t k = 0; k < count; k++)
      if (test_sample(ds, FILTRA_SPLIT_TEST, k).value != columns[i].values[k])
        fail_msg("column %zu: \"%s\" is read as %g", i, columns[i].cells[k],
                 (double)test_sample(ds, FILTRA_SPLIT_TEST, k).value);
  }
}

/* Whole numbers are classes unless the option, which a run sets by its task, says values. */
TEST(test_whole_numbers) {
  const char *path = test_write_text(test_folder(), "a.csv", "text,y\na,30\nb,41\nc,30\n");
  filtra_dataset_options options = {.file_split = FILTRA_SPLIT_TEST};
  owned_dataset *ds = test_open_dataset(path, "table", &options);
  assert_int_equal(filtra_dataset_get_info(ds)->classes, 2);
  filtra_dataset_close(&ds);
  options.targets = FILTRA_TARGETS_VALUES;
  ds = test_open_dataset(path, "table", &options);
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_VALUE);
  assert_true(test_sample(ds, FILTRA_SPLIT_TEST, 1).value == 41.0f);
  filtra_dataset_close(&ds);
  path = test_write_text(test_folder(), "a.csv", "text,y\na,0.5\nb,1.0\nc,0.5\n");
  options.targets = FILTRA_TARGETS_CLASSES;
  test_refuse_dataset(path, &options, "column \"y\" is to be classes, but the data are for regr");
  path = test_write_text(test_folder(), "a.csv", "text,y\na,0.0\nb,1.0\nc,0.0\n");
  ds = test_open_dataset(path, "table", &options);
  assert_string_equal(filtra_dataset_class_name(ds, 1), "1.0");
  options.targets = FILTRA_TARGETS_VALUES;
  path = test_write_text(test_folder(), "a.csv", "text,y\na,5\nb,x\nc,7\n");
  test_refuse_dataset(path, &options, "a.csv:3: the target \"x\" is no number that can be used");
}

/* Numbers of a file beside the training file that may have another decimal sign; alone, it would be
 * refused or warned of. */
TEST(test_later_files) {
  static const struct {
    const char *train, *test, *said; /* NULL: no warning */
  } cases[] = {
      {"a;y\n1.25;x\n2.5;z\n", "a;y\n1,250;x\n2,500;z\n",
       "test.csv:2: \"1,250\" is read with a comma between thousands, since the decimal sign is a "
       "point in the training file; if it is a decimal comma, write a point"},
      {"a;y\n1,25;x\n2,5;z\n", "a;y\n900;x\n1.250;z\n",
       "test.csv:3: \"1.250\" is read with a point between thousands, since the decimal sign is a "
       "comma in the training file"},
      {"a;y\n30;x\n2500;z\n", "a;y\n1.250;x\n",
       "test.csv:2: \"1.250\" has a point before three digits"},
      {"a;y\n30;x\n2500;z\n", "a;y\n1,250;x\n",
       "\"1,250\" is read with a comma between thousands, since the decimal sign is a point; if"},
      {"a;y\n1,025.5;x\n2.5;z\n", "a;y\n1,250;x\n", NULL},
      {"a;y\n1.25;x\n2.5;z\n", "a;y\n1,250;x\n1.5;z\n", NULL},
      {"a;y\n1.25;x\n2.5;z\n", "a;y\n1.250;x\n", NULL},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_folder();
    test_write_text(folder, "train.csv", cases[i].train);
    test_write_text(folder, "test.csv", cases[i].test);
    test_open_warns(folder, NULL, cases[i].said ? "test.csv" : " read with a ", cases[i].said);
  }
  const char *folder = test_folder();
  test_write_text(folder, "train.csv", cases[2].train);
  test_write_text(folder, "test.csv", cases[2].test);
  test_open_warns(folder, &(filtra_dataset_options){.decimal = FILTRA_DECIMAL_POINT}, "test.csv",
                  NULL);
}

TEST_MAIN(NULL, test_teardown)
