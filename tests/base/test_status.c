/* Messages, the log sink, allocation and its fault injection. */
#include "support/harness.h"

#include <pthread.h>

TEST(test_message_is_kept) {
  assert_int_equal(ft_fail(FILTRA_ERROR_INPUT, "line %d", 3), FILTRA_ERROR_INPUT);
  assert_string_equal(filtra_error_message(), "line 3");
  assert_int_equal(ft_fail_context(FILTRA_ERROR_INPUT, "%s", "a.ts"), FILTRA_ERROR_INPUT);
  assert_string_equal(filtra_error_message(), "a.ts: line 3");
  ft_fail(FILTRA_ERROR_IO, "again: %s", filtra_error_message());
  assert_string_equal(filtra_error_message(), "again: a.ts: line 3");
}

/* A file's contents in a message do not reach the terminal as commands. */
TEST(test_no_control_characters) {
  ft_fail(FILTRA_ERROR_INPUT, "label \"%s\"",
          "\033[2J\r\n\x7f\t\xc2\x9b"
          "1mä\xc2");
  assert_string_equal(filtra_error_message(), "label \"?[2J??????1mä\xc2\"");
  ft_fail(FILTRA_ERROR_INPUT, "\x9b%s",
          "1m\xc2\x85 a\u202eg\u2028np.exe\u2066b\u2069 \xf0\x9f\x9a\x80\u200b");
  assert_string_equal(filtra_error_message(), "?1m?? a???g???np.exe???b??? \xf0\x9f\x9a\x80\u200b");
}

/* A file is named once, whoever knew its name. */
TEST(test_context_is_said_once) {
  static const struct {
    const char *text, *context, *want;
  } CASES[] = {{"a.gz: is damaged", "a.gz", "a.gz: is damaged"},
               {"a.gz: is damaged", "a.gz:3", "a.gz:3: is damaged"},
               {"a.gz: is damaged", "a.gz, record 2", "a.gz, record 2: is damaged"},
               {"a.gz: is damaged", "a.gzip", "a.gzip: a.gz: is damaged"},
               {"is damaged", "a.gz", "a.gz: is damaged"}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    ft_fail(FILTRA_ERROR_INPUT, "%s", CASES[i].text);
    ft_fail_context(FILTRA_ERROR_INPUT, "%s", CASES[i].context);
    assert_string_equal(filtra_error_message(), CASES[i].want);
  }
}

TEST(test_message_survives_cleaning_up) {
  ft_fail(FILTRA_ERROR_IO, "ours");
  ft_kept_message kept = ft_message_keep();
  assert_string_equal(filtra_error_message(), "out of host memory"); /* of a failure without text */
  ft_fail(FILTRA_ERROR_IO, "of cleaning up");
  ft_message_restore(kept);
  assert_string_equal(filtra_error_message(), "ours");
}

TEST(test_long_message_is_whole) {
  enum { LONG = 100000 };
  static char text[LONG + 1];
  memset(text, 'x', LONG);
  ft_fail(FILTRA_ERROR_INPUT, "%s, in the end", text);
  ft_fail_context(FILTRA_ERROR_INPUT, "%s", text);
  assert_int_equal(strlen(filtra_error_message()), 2 * LONG + strlen(": , in the end"));
  assert_string_equal(filtra_error_message() + 2 * LONG + 2, ", in the end");
}

static char before[64], after[64]; /* cmocka may only assert on the main thread */

static void *fail_on_thread(void *unused) {
  (void)unused;
  strcpy(before, filtra_error_message());
  ft_fail(FILTRA_ERROR_IO, "theirs");
  strcpy(after, filtra_error_message());
  return NULL;
}

TEST(test_message_is_per_thread) {
  ft_fail(FILTRA_ERROR_IO, "ours");
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, fail_on_thread, NULL), 0);
  pthread_join(thread, NULL);
  assert_string_equal(before, "");
  assert_string_equal(after, "theirs");
  assert_string_equal(filtra_error_message(), "ours");
}

TEST(test_every_status_has_a_name) {
  for (int a = FILTRA_OK; a <= FILTRA_ERROR_RANK; a++) {
    assert_string_not_equal(filtra_status_name((filtra_status)a), "unknown status");
    for (int b = FILTRA_OK; b < a; b++)
      assert_string_not_equal(filtra_status_name((filtra_status)a),
                              filtra_status_name((filtra_status)b));
  }
  assert_string_equal(filtra_status_name((filtra_status)99), "unknown status");
  assert_string_equal(filtra_version(), FILTRA_VERSION);
}

static char logged[64];
static int log_calls;

static void keep_log(void *user, filtra_log_level level, const char *text) {
  assert_ptr_equal(user, &log_calls);
  assert_int_equal(level, FILTRA_LOG_WARNING);
  strcpy(logged, text);
  log_calls++;
  ft_log(FILTRA_LOG_WARNING, "from inside"); /* dropped, and no deadlock */
  if (log_calls == 2) filtra_log_set(NULL, NULL);
}

TEST(test_log_sink) {
  ft_log(FILTRA_LOG_ERROR, "nobody listens");
  filtra_log_set(keep_log, &log_calls);
  for (int i = 0; i < 3; i++)
    ft_log(FILTRA_LOG_WARNING, "number\033 %d", i);
  assert_int_equal(log_calls, 2);
  assert_string_equal(logged, "number? 1"); /* as in messages */
}

TEST(test_held_messages) {
  filtra_log_set(keep_log, &log_calls);
  log_calls = 0;
  ft_log_hold();
  ft_log(FILTRA_LOG_WARNING, "one");
  ft_log(FILTRA_LOG_WARNING, "two");
  ft_log_release(false);
  assert_int_equal(log_calls, 0);
  ft_log_hold();
  ft_log(FILTRA_LOG_WARNING, "three");
  assert_int_equal(log_calls, 0);
  ft_log_release(true);
  assert_string_equal(logged, "three");
  ft_log(FILTRA_LOG_WARNING, "four");
  assert_string_equal(logged, "four");
  filtra_log_set(NULL, NULL);
}

TEST(test_allocation) {
  owned char *text = ft_format("%d-%s", 7, "x");
  assert_string_equal(text, "7-x");
  unsigned char *zeroed = ft_calloc(3, 5);
  for (int i = 0; i < 15; i++)
    assert_int_equal(zeroed[i], 0);
  free(zeroed);
  owned void *empty = ft_calloc(0, 8);
  assert_non_null(empty);
  assert_null(ft_calloc(SIZE_MAX / 2, 4));
  assert_null(ft_realloc(NULL, SIZE_MAX, SIZE_MAX));
  assert_non_null(strstr(filtra_error_message(), "more than can be addressed"));

  owned int *numbers = NULL;
  size_t capacity = 0;
  for (size_t count = 0; count < 1000; count++) {
    assert_ok(FT_GROW(numbers, count, capacity));
    numbers[count] = (int)count;
  }
  for (int i = 0; i < 1000; i++)
    assert_int_equal(numbers[i], i);
}

TEST(test_injected_failure) {
  ft_memory_fail_after(2);
  char *first = ft_strdup("a");
  assert_non_null(first);
  assert_null(ft_strdup("b"));
  assert_non_null(strstr(filtra_error_message(), "out of host memory"));
  owned char *third = ft_strdup("c");
  assert_non_null(third);
  ft_memory_fail_after(1);
  ft_memory_fail_after(0);
  owned char *fourth = ft_realloc(first, 10, 1);
  assert_string_equal(fourth, "a");
  ft_memory_fail_after(1);
  assert_null(ft_realloc(fourth, 20, 1));
  assert_string_equal(fourth, "a"); /* still ours */
}

TEST_MAIN(NULL, test_teardown)
