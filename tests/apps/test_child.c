/* Work in a child process: what it writes comes back, however it ends. */
#include "common/child_posix.c" /* the command is no library */
#include "support/harness.h"

static void write_all_of_it(FILE *to, const void *user) {
  printf("nobody sees this");
  for (int i = 0; i < 30000; i++) /* more than a pipe holds */
    fprintf(to, "%s\n", (const char *)user);
}

static void crash(FILE *to, const void *user) {
  (void)user;
  fputs("begun\n", to);
  fflush(to);
  fputs("lost\n", to);
  raise(SIGKILL);
}

static void hang(FILE *to, const void *user) {
  (void)user;
  fputs("begun\n", to);
  fflush(to);
  for (;;)
    pause();
}

/* Its end of the pipe is closed, and it goes on. */
static void linger(FILE *to, const void *user) {
  (void)user;
  close(fileno(to));
  for (;;)
    pause();
}

static void leave(FILE *to, const void *user) {
  (void)to, (void)user;
  _exit(7);
}

TEST(test_ends) {
  static const struct {
    void (*work)(FILE *to, const void *user);
    const char *text, *end;
  } cases[] = {{crash, "begun\n", "crashed (Killed)"},
               {hang, "begun\n", "took longer than 1 s"},
               {linger, "", "took longer than 1 s"},
               {leave, "", "ended early, with exit code 7"}};
  command_child child;
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_ok(command_run_child(cases[i].work, NULL, 1, &child));
    assert_string_equal(child.text, cases[i].text);
    assert_string_equal(child.end, cases[i].end);
    free(child.text);
  }
  assert_ok(command_run_child(write_all_of_it, "four", 60, &child));
  assert_int_equal(strlen(child.text), 30000 * 5);
  assert_string_equal(child.end, "");
  free(child.text);
}

TEST_MAIN(NULL, test_teardown)
