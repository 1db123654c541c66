/* Columns and targets whose numbers are equal or zero once they are floats. */
#include "data/spread.h"
#include "model/model.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <math.h>

enum { ROWS = 80 };

/* Columns of ROWS numbers that a format and the row's index make; `odd` is the last row's. */
static const struct {
  const char *format, *odd;
  double first, step;
  const char *refused; /* NULL: it is read */
} columns[] = {
    {"%.1f", "0", 1.7e9, 0.5,
     "holds numbers, most of them from 1700000000.5 to 1700000039, which 32-bit numbers hardly"},
    {"%.1f", "-5.25", 1.7e9, 0.5, "hardly tell apart"},
    {"%.1f", "1700000100", 1.7e9, 0.5, "holds numbers from 1700000000 to 1700000100, which"},
    {"%.1f", "0", 1.7e9, 0, NULL},
    {"%.1f", "0", 1.7e9, 3600.5, NULL},
    {"%.17g", "2", 0.1, 1e-17, NULL},
    {"%.12f", "2", 0.1, 0.0123456789, NULL},
    {"123456789012345%04.0f", "0", 1000, 1,
     "holds numbers of so many digits, as ids have, that different ones are equal as 64-bit"},
    {"123456789012345%04.0f", "1234567890123451001", 1000, 1, "equal as 64-bit numbers"},
    {"123456789012345%04.0f", "1234567890123451000", 1000, 0, NULL},
    {"123456789012345%04.0f.0", "1234567890123451000", 1000, 0, NULL},
    {"%.3ge-200", "0", 5, 1, "holds numbers from 0 to 8.3e-199, which are too small"},
    {"%.3ge-40", "0", 1, 1, "which are too small; 32-bit numbers need one of at least 1.2e-38"},
    {"%.3ge-200", "0.5", 5, 1, NULL},
};

/* As a feature and as a target. */
TEST(test_columns_that_floats_do_not_tell_apart) {
  const filtra_dataset_options values = {.file_split = FILTRA_SPLIT_TRAIN,
                                         .targets = FILTRA_TARGETS_VALUES};
  for (size_t i = 0; i < 2 * FT_COUNT(columns); i++) {
    char text[ROWS * 96] = "", cell[40];
    snprintf(text, sizeof text, "%s", i % 2 ? "y,value\n" : "value,y\n");
    for (int k = 0; k < ROWS; k++) {
      snprintf(cell, sizeof cell, columns[i / 2].format,
               columns[i / 2].first + k * columns[i / 2].step);
      const char *number = k == ROWS - 1 ? columns[i / 2].odd : cell,
                 *other = k % 2 ? "0.5" : "1.5";
      snprintf(text + strlen(text), 96, "%s,%s\n", i % 2 ? other : number, i % 2 ? number : other);
    }
    const char *path = test_write_text(test_folder(), "a.csv", text);
    const filtra_dataset_options options = {.file_split = values.file_split,
                                            .targets = values.targets,
                                            .feature_columns = i % 2 ? "y" : "value",
                                            .target_column = i % 2 ? "value" : "y"};
    if (columns[i / 2].refused)
      test_refuse_dataset(path, &options, columns[i / 2].refused);
    else
      assert_ok(test_try_dataset(path, &options));
  }
}

/* Of many numbers a sample decides, also where the odd ones come first or last. */
TEST(test_many_numbers) {
  static ft_spread close, hours, levels, digits;
  for (int i = 0; i < 100000; i++) {
    ft_spread_add(&close, i % 1000 ? 1.7e9 + i % 2000 * 0.5 : i);
    ft_spread_add(&hours, i ? 1.7e9 + i : 0);
    ft_spread_add(&levels, 20 + i % 3 + 1e-9 * (i % 97));
    ft_spread_add(&digits, 0.5 + sin(i));
  }
  assert_int_equal(ft_spread_check(&close, "a.csv", "x"), FILTRA_ERROR_INPUT);
  assert_ok(ft_spread_check(&hours, "a.csv", "x"));
  assert_ok(ft_spread_check(&levels, "a.csv", "x"));
  assert_ok(ft_spread_check(&digits, "a.csv", "x"));
}

/* One cell makes no text of a column of numbers, unless it is named as text. */
TEST(test_a_cell_among_numbers) {
  static const char *const cells[] = {"Total", "1.5 kg"};
  for (size_t i = 0; i < FT_COUNT(cells); i++) {
    char text[512] = "size,kind\n";
    for (int k = 0; k < 20; k++)
      snprintf(text + strlen(text), 20, "%d.5,%s\n", k, k % 2 ? "a" : "b");
    snprintf(text + strlen(text), 20, "%s,a\n", cells[i]);
    const char *path = test_write_text(test_folder(), "a.csv", text);
    filtra_dataset_options options = {.file_split = FILTRA_SPLIT_TRAIN};
    test_refuse_dataset(path, &options, "column \"size\" holds 20 numbers and, in line 22, \"");
    options.text_column = "size";
    test_open_warns(path, &options, "is read as text", "a.csv:22: column \"size\"");
  }
}

TEST(test_times_of_19_digits) {
  const char *path =
      test_write_text(test_folder(), "a.csv",
                      "group,time,x,y\na,1672531200000000001,1,u\na,1672531200000000003,2,u\n"
                      "b,1,1,v\nb,2,1,v\n");
  const filtra_dataset_options options = {
      .target_column = "y", .group_column = "group", .time_column = "time"};
  test_refuse_dataset(path, &options, "or times too close for 64-bit numbers to tell apart");
}

/* 1 / target_scale would be infinite. */
TEST(test_targets_of_tiny_deviation) {
  static int32_t tokens[] = {1, 2, 3, 4};
  static uint32_t lengths[] = {2, 2};
  static float values[] = {0.0f, 3e-39f};
  const filtra_dataset_arrays arrays = {
      .target = FILTRA_TARGET_VALUE,
      .splits[FILTRA_SPLIT_TRAIN] = {
          .count = 2, .tokens = tokens, .lengths = lengths, .values = values}};
  owned_dataset *ds = test_dataset(&arrays);
  filtra_model_config config = {.task = FILTRA_TASK_REGRESSION};
  assert_fails(ft_model_fit_target(&config, "config", ds), FILTRA_ERROR_INPUT,
               "config: the targets' standard deviation, \"target_scale\", is 1.5e-39");
}

TEST_MAIN(NULL, test_teardown)
