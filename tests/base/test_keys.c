/* Option structs by their tables of keys: from and to JSON, completed from a program, in words. */
#include "support/harness.h"

#include <locale.h>

#include "base/keys.h"

enum color { RED, GREEN, BLUE };
static const char *const color_names[] = {"red", "green", "blue", NULL};

struct config {
  int64_t layers, offset;
  uint32_t window;
  float learning_rate, dropout;
  bool causal;
  char name[8];
  char column[8];
  int color;
  ft_floats slopes;
};

static const float default_slopes[] = {1.5f, -2, NAN};

static const ft_key list[] = {
    FT_INT_KEY(struct config, layers, "layers", 2, 1, 64, NULL),
    FT_INT_KEY(struct config, offset, "offset", 0, -9e15, 9e15, NULL),
    FT_INT_KEY(struct config, window, "window", 5, 1, 4e9, "Steps.", .usual = "some"),
    FT_FLOAT_KEY(struct config, learning_rate, "learning_rate", 1e-3, 1e-9, 10, NULL),
    FT_FLOAT_KEY(struct config, dropout, "dropout", 0, 0, 0.99, NULL),
    FT_BOOL_KEY(struct config, causal, "causal", true, NULL),
    FT_STRING_KEY(struct config, name, "name", NULL),
    FT_STRING_KEY(struct config, column, "column", NULL, .numbered = true),
    FT_ENUM_KEY(struct config, color, "color", GREEN, color_names, NULL),
    FT_FLOATS_KEY(struct config, slopes, "slopes", default_slopes, -3, 3, NULL),
    {.name = "mixer", .type = FT_KEY_OTHER},
};
static const ft_keys keys = FT_KEYS(list);

static filtra_status parse(const char *text, struct config *config) {
  json_auto_t *object = NULL;
  FT_TRY(ft_json_parse(text, strlen(text), "c.json", &object));
  filtra_status status = ft_keys_read(object, &keys, config, "c.json");
  return status;
}

TEST(test_absent_keys_are_defaults) {
  struct config c;
  memset(&c, 0xff, sizeof c);
  assert_ok(parse("{}", &c));
  assert_int_equal(c.layers, 2);
  assert_int_equal(c.offset, 0);
  assert_int_equal(c.window, 5);
  assert_true(c.learning_rate == 1e-3f && c.dropout == 0);
  assert_true(c.causal);
  assert_string_equal(c.name, "");
  assert_int_equal(c.color, GREEN);
  assert_int_equal(c.slopes.count, 2);
  assert_true(c.slopes.values[0] == 1.5f && c.slopes.values[1] == -2);
}

/* A column's number is text as well, but not a number of another kind. */
TEST(test_numbers_of_columns) {
  struct config c;
  assert_ok(parse("{\"column\": 4}", &c));
  assert_string_equal(c.column, "4");
  assert_fails(parse("{\"column\": 4.5}", &c), FILTRA_ERROR_INPUT, "\"column\" must be a string");
}

TEST(test_reading) {
  struct config c;
  assert_ok(
      parse("{\"layers\": 64, \"window\": 3000000000, \"offset\": -8999999999999999, "
            "\"learning_rate\": 1,"
            " \"dropout\": 0.99, \"causal\": false, \"name\": \"seven77\","
            " \"color\": \"blue\", \"slopes\": [1, 2.5, 0], \"mixer\": {\"anything\": [1, 2]}}",
            &c));
  assert_int_equal(c.layers, 64);
  assert_int_equal(c.window, 3000000000);
  assert_true(c.offset == -8999999999999999);
  assert_true(c.learning_rate == 1 && c.dropout == 0.99f);
  assert_false(c.causal);
  assert_string_equal(c.name, "seven77");
  assert_int_equal(c.color, BLUE);
  assert_int_equal(c.slopes.count, 3);
  assert_true(c.slopes.values[1] == 2.5f && c.slopes.values[2] == 0);
  assert_ok(parse("{\"slopes\": 2}", &c));
  assert_int_equal(c.slopes.count, 1);
  assert_true(c.slopes.values[0] == 2);
}

TEST(test_rejected) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"{\"layers\": 65}", "c.json: \"layers\" is 65, accepted are 1 to 64"},
      {"{\"layers\": 0}", "\"layers\" is 0, "},
      {"{\"layers\": 1.0}", "\"layers\" must be a whole number"},
      {"{\"layers\": \"2\"}", "\"layers\" must be a whole number"},
      {"{\"layers\": null}", "\"layers\" must be a whole number"},
      {"{\"window\": 4000000001}", "\"window\" is 4000000001, accepted are 1 to 4000000000"},
      {"{\"color\": \"\"}", "\"color\" must be one of red, green, blue"},
      {"{\"learning_rate\": 0}", "\"learning_rate\" is 0, accepted are 1e-09 to 10"},
      {"{\"learning_rate\": 1e60}", "\"learning_rate\" is 1e+60, "},
      {"{\"dropout\": 1}", "\"dropout\" is 1, "},
      {"{\"dropout\": true}", "\"dropout\" must be a number"},
      {"{\"causal\": 1}", "\"causal\" must be true or false"},
      {"{\"name\": \"eight888\"}", "\"name\" is longer than 7"},
      {"{\"name\": 1}", "\"name\" must be a string"},
      {"{\"color\": \"grey\"}", "\"color\" must be one of red, green, blue"},
      {"{\"color\": 1}", "\"color\" must be one of"},
      {"{\"slopes\": 4}", "\"slopes\" is 4, accepted are -3 to 3"},
      {"{\"slopes\": [1, 4]}", "\"slopes\" is 4, accepted are -3 to 3"},
      {"{\"slopes\": [1, \"2\"]}", "\"slopes\" must be a number"},
      {"{\"slopes\": []}", "\"slopes\" must be a number, or a list of 1 to 256 numbers"},
      {"{\"slopes\": \"1\"}", "\"slopes\" must be a number, or a list"},
      {"{\"lerning_rate\": 1}", "unknown key \"lerning_rate\" (did you mean \"learning_rate\"?)"},
      {"{\"Layer\": 1}", "(did you mean \"layers\"?)"},
      {"{\"quaternions\": 1}", "unknown key \"quaternions\""},
      {"{\"\": 1}", "unknown key \"\""},
      {"[1]", "c.json: must be a JSON object"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    struct config c = {0};
    assert_fails(parse(cases[i].text, &c), FILTRA_ERROR_INPUT, cases[i].message);
  }
}

TEST(test_written_structs_read_back) {
  struct config c, back;
  assert_ok(parse("{\"layers\": 3, \"offset\": -7, \"learning_rate\": 0.1, \"dropout\": 0.3333333,"
                  " \"name\": \"h\\\"\xc3\xa9\", \"slopes\": [0.1, 0.2, -0.3]}",
                  &c));
  json_auto_t *object = ft_keys_write(&keys, &c);
  assert_non_null(object);
  assert_int_equal(json_object_size(object), keys.count - 1);
  assert_true(json_real_value(json_object_get(object, "learning_rate")) == 0.1);
  owned char *text = json_dumps(object, 0);
  assert_ok(parse(text, &back));
  assert_true(back.layers == c.layers && back.offset == c.offset);
  assert_true(back.learning_rate == c.learning_rate && back.dropout == c.dropout);
  assert_true(back.causal == c.causal && back.color == c.color);
  assert_string_equal(back.name, c.name);
  assert_int_equal(back.slopes.count, 3);
  assert_memory_equal(back.slopes.values, c.slopes.values, 3 * sizeof(float));
}

static filtra_status complete(struct config *c) {
  return ft_keys_complete(&keys, c, "options");
}

TEST(test_zeros_are_defaults) {
  struct config c = {.offset = -3, .name = "n"};
  assert_ok(complete(&c));
  assert_int_equal(c.layers, 2);
  assert_int_equal(c.offset, -3);
  assert_int_equal(c.window, 5);
  assert_true(c.learning_rate == 1e-3f && c.dropout == 0);
  assert_int_equal(c.color, GREEN);
  assert_false(c.causal); /* false is a value */
  assert_string_equal(c.name, "n");
  struct config given = {.layers = 64, .window = 7, .learning_rate = 10, .dropout = 0.99f};
  given.color = BLUE;
  assert_ok(complete(&given));
  assert_true(given.layers == 64 && given.window == 7 && given.learning_rate == 10);
  assert_true(given.dropout == 0.99f && given.color == BLUE);
}

TEST(test_programs_are_refused) {
  const struct {
    struct config config;
    const char *message;
  } cases[] = {
      {{.layers = 65}, "options: \"layers\" is 65, accepted are 1 to 64"},
      {{.layers = -1}, "\"layers\" is -1, "},
      {{.window = UINT32_MAX}, "\"window\" is 4294967295, accepted are 1 to 4000000000"},
      {{.learning_rate = NAN}, "\"learning_rate\" is nan, "},
      {{.learning_rate = -INFINITY}, "\"learning_rate\" is -inf, "},
      {{.dropout = 0.991f}, "\"dropout\" is 0.991, accepted are 0 to 0.99"},
      {{.color = 3}, "\"color\" must be one of red, green, blue"},
      {{.color = -1}, "\"color\" must be one of red, green, blue"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    struct config c = cases[i].config;
    assert_fails(complete(&c), FILTRA_ERROR_ARGUMENT, cases[i].message);
  }
}

TEST(test_defaults_are_recognized) {
  struct config usual, other;
  assert_ok(parse("{\"dropout\": -0.0}", &usual));
  assert_ok(parse(
      "{\"layers\": 3, \"offset\": 1, \"window\": 6, \"learning_rate\": 1,"
      " \"dropout\": 0.1, \"causal\": false, \"name\": \"n\", \"column\": 2, \"color\": \"red\","
      " \"slopes\": [1.5, -2, 1]}",
      &other));
  for (size_t i = 0; i < keys.count; i++) {
    assert_true(ft_key_is_default(&list[i], &usual));
    assert_int_equal(ft_key_is_default(&list[i], &other), list[i].type == FT_KEY_OTHER);
  }
}

TEST(test_words) {
  static const char *const WORDS[][2] = {{"whole number, 1 to 64", "2"},
                                         {"whole number, -9e15 to 9e15", "0"},
                                         {"whole number, 1 to 4000000000", "some"},
                                         {"number, 1e-9 to 10", "0.001"},
                                         {"number, 0 to 0.99", "0"},
                                         {"true or false", "true"},
                                         {"text", ""},
                                         {"text", ""},
                                         {"red, green, blue", "green"},
                                         {"number or list of numbers, -3 to 3", "[1.5, -2]"},
                                         {"a name, or an object with options", ""}};
  char text[FT_KEY_TEXT];
  for (size_t i = 0; i < keys.count; i++) {
    ft_key_accepted(&list[i], text);
    assert_string_equal(text, WORDS[i][0]);
    ft_key_default(&list[i], text);
    assert_string_equal(text, WORDS[i][1]);
  }
}

/* Sentences have decimal points in locales that write commas. */
TEST(test_numbers_in_a_locale_with_commas) {
  static const ft_key KEY = {.name = "dropout", .type = FT_KEY_FLOAT, .low = 0.0, .high = 0.999};
  char text[FT_KEY_TEXT], own[32];
  const char *folder = test_folder();
  char make[512];
  snprintf(make, sizeof make, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
  if (system(make)) print_message("localedef cannot make de_DE.UTF-8\n");
  setenv("LOCPATH", folder, 1);
  const char *found = setlocale(LC_NUMERIC, "de_DE.UTF-8");
  unsetenv("LOCPATH");
  if (!found) {
    print_message("SKIPPED: there is no locale with decimal commas\n");
    skip();
  }
  ft_key_accepted(&KEY, text);
  ft_fail(FILTRA_ERROR_INPUT, "%g", 0.5);
  owned char *made = ft_format("%g", 1.25);
  snprintf(own, sizeof own, "%g", 0.5); /* the program's numbers stay as it wants them */
  setlocale(LC_NUMERIC, "C");
  assert_string_equal(text, "number, 0 to 0.999");
  assert_string_equal(filtra_error_message(), "0.5");
  assert_string_equal(made, "1.25");
  assert_string_equal(own, "0,5");
}

TEST_MAIN(NULL, test_teardown)
