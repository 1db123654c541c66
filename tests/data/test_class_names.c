/* Warnings about names of classes, and of categories, that look alike. */
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>

static char said[1024];

static void keep(void *user, filtra_log_level level, const char *message) {
  (void)user;
  if (level == FILTRA_LOG_WARNING && strstr(message, "are called the same"))
    snprintf(said, sizeof said, "%s", message);
}

TEST(names_that_look_alike) {
  static const struct {
    const char *a, *b, *part; /* NULL: they are two */
  } cases[] = {{"yes", "Yes", "the classes \"Yes\" and \"yes\" are called the same"},
               {"x", "x\xc2\xa0", "\"x\" and \"x\\xc2\\xa0\""},
               {"x", "x\xe2\x80\x8b", "\"x\" and \"x\\xe2\\x80\\x8b\""},
               {"caf\xc3\xa9", "cafe\xcc\x81", "\"cafe\\xcc\\x81\" and \"caf\\xc3\\xa9\""},
               {"a b", "ab", "\"a b\" and \"ab\""},
               {"caf\xc3\xa9", "cafe", NULL},
               {"1", "1.0", "the classes \"1\" and \"1.0\""},
               {"01", "1", "the classes \"01\" and \"1\""},
               {"True", "1", "\"1\""},
               {"1", "-1", NULL},
               {"0001234567890123", "1234567890123", NULL}, /* too long for a double's digits */
               {"a-b", "ab", NULL}};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *path = test_write_text(
        folder, "a.csv", test_text("text,label\na,%s\nb,%s\nc,other\n", cases[i].a, cases[i].b));
    said[0] = '\0';
    filtra_log_set(keep, NULL);
    assert_ok(test_try_dataset(path, NULL));
    filtra_log_set(NULL, NULL);
    if (!strstr(said, cases[i].part ? cases[i].part : "") || (!cases[i].part && *said))
      fail_msg("case %zu: \"%s\" is said", i, said);
  }
}

TEST(categories_that_look_alike) {
  static const char *const LATER[] = {"Red", "green"};
  for (size_t i = 0; i < FT_COUNT(LATER); i++) {
    const char *path = test_write_text(
        test_folder(), "a.csv",
        test_text("colour,size,label\nred,1,a\n%s,2,b\nblue,3,a\nred,4,b\n", LATER[i]));
    said[0] = '\0';
    filtra_log_set(keep, NULL);
    assert_ok(test_try_dataset(path, NULL));
    filtra_log_set(NULL, NULL);
    const char *part = "column \"colour\" is read as categories, of which \"Red\" and \"red\" are "
                       "called the same";
    assert_true(i == 0 ? strstr(said, part) != NULL : !*said);
  }
}

TEST_MAIN(NULL, test_teardown)
