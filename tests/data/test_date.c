/* Dates as files write them, and texts that are not dates. */
#include "data/date.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>

TEST(dates_and_times) {
  static const struct {
    const char *text;
    double seconds; /* NaN: it is no date */
  } cases[] = {{"1970-01-01", 0.0},
               {"1970/1/2", 86400.0},
               {"1969-12-31 23:59:59.5", -0.5},
               {"2000-03-01", 951868800.0},
               {"2000-03", 951868800.0},
               {"2020-01-01T10:00", 1577872800.0},
               {"2020-01-01T10:00:00Z", 1577872800.0},
               {"2020-01-01 12:30:00+02:30", 1577872800.0},
               {"2020-01-01 05:00:00-0500", 1577872800.0},
               {"2020-01-01 12:00:00+02", 1577872800.0},
               {"1999-12-31T23-30-00", 946683000.0},
               {"2020-01-01T05:00-05", 1577872800.0},
               {"2020-01-01T05:00-05:00", 1577872800.0},
               {"2020-01-01T05:00-0500", 1577872800.0},
               {"2020-02-29", 1582934400.0},
               {"2023-02-29", NAN},
               {"1900-02-29", NAN},
               {"2023-04-31", NAN},
               {"2023-11-31", NAN},
               {"2000", NAN},
               {"01/02/2020", NAN},
               {"01/02/20", NAN},
               {"1.2.2020", NAN},
               {"2020-13-01", NAN},
               {"2020-00-01", NAN},
               {"2020-01-01 24:00", NAN},
               {"2020-01-01+02:00", NAN},
               {"2020-01-01 10:00 PM", NAN},
               {"2020-01-01 10:00:00+02:0", NAN},
               {"2020-01-01 10:00:00+25", NAN},
               {"2020-Q1", NAN},
               {"", NAN}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    double seconds = NAN;
    const bool found = ft_read_date(cases[i].text, &seconds);
    if (found != !isnan(cases[i].seconds) || (found && seconds != cases[i].seconds))
      fail_msg("\"%s\" is read as %.17g", cases[i].text, found ? seconds : (double)NAN);
  }
}

/* Rows of a series are in the order of their times, however these are written. */
TEST(rows_are_in_the_order_of_their_times) {
  static const char *const times[][3] = {
      {"2020-1-9", "2020-1-10", "2020-2-1"},
      {"2020-01-01T10:00:00+02:00", "2020-01-01T08:30:00Z", "2020-01-01T05:00:00-05:00"},
      {"2020-01-01T10:00+02:00", "2020-01-01T12:00+00", "2020-01-01T10:00-05"},
      {"20200101", "20200102", "20200103"},
      {"1577836800", "1577836801", "1577836802"},
      {"1577836800000.25", "1577836800000.5", "1577836800001"}};
  for (size_t i = 0; i < FT_COUNT(times); i++) {
    const char *path =
        test_write_text(test_folder(), "a.csv",
                        test_text("who,when,x,y\np,%s,3,a\np,%s,1,a\np,%s,2,a\nq,%s,0,b\n",
                                  times[i][2], times[i][0], times[i][1], times[i][0]));
    owned_dataset *ds = test_open_dataset(path, "table",
                                          &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST,
                                                                    .group_column = "who",
                                                                    .time_column = "when"});
    float x[3];
    assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 0, x));
    if (!(x[0] < x[1] && x[1] < x[2])) fail_msg("%s ... are in another order", times[i][0]);
  }
}

TEST_MAIN(NULL, test_teardown)
