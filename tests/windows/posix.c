/* POSIX functions that tests use, for Windows under Wine. */
#include "windows/posix.h"

#include "base/file.h"
#include "base/file_win32.h"
#include "base/memory.h"
#include "support/case.h"

#undef setenv
#undef unsetenv
#undef system
#undef umask
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

long test_lacks(const char *function) {
  print_message("SKIPPED: Windows has no %s\n", function);
  skip();
  return -1;
}

char *test_mkdtemp(char *pattern) {
  static unsigned serial;
  char name[16];
  snprintf(name, sizeof name, "%06lx", (ft_process() * 64 + (long)serial++) & 0xffffff);
  memcpy(pattern + strlen(pattern) - 6, name, 6);
  return ft_make_directories(pattern) ? NULL : pattern;
}

char *test_full_path(const char *path) {
  char *full = ft_full_path(path), *here = full ? ft_format("%s", full + 2) : NULL;
  free(full);
  return here;
}

/* ---- what is left out ---- */

/* Whether a line of left_out.txt, "AREA/NAME:CASE reason", is about this test's case. */
static bool is_about(const char *line, const char *name) {
  const size_t test = strlen(test_name), own = strlen(name);
  return !strncmp(line, test_name, test) && line[test] == ':' &&
         !strncmp(line + test + 1, name, own) && line[test + 1 + own] == ' ';
}

int test_run_group(const char *name, const struct CMUnitTest *cases, size_t count,
                   int (*setup)(void **state), int (*teardown)(void **state)) {
  struct CMUnitTest taken[TEST_MAX_CASES];
  char *text = NULL, *rest;
  size_t size, kept = 0;
  if (ft_file_read(TEST_SOURCE_DIR "/windows/left_out.txt", 1 << 20, &text, &size)) abort();
  for (size_t i = 0; i < count; i++) {
    char *line = NULL;
    for (rest = text; *rest && !(is_about(rest, cases[i].name) && (line = rest));) {
      rest += strcspn(rest, "\n");
      rest += *rest == '\n';
    }
    if (!line) taken[kept++] = cases[i];
    if (line) printf("SKIPPED: %.*s\n", (int)strcspn(line, "\n"), line);
  }
  free(text);
  return _cmocka_run_group_tests(name, taken, kept, setup, teardown);
}

/* ---- the environment ---- */

enum { MOST_VARIABLES = 64 };

/* Names of what a shell has to know: it gets few variables by itself. */
static const char *changed[MOST_VARIABLES] = {"MESA_SHADER_CACHE_DIR", "LP_NUM_THREADS",
                                              "GALLIVM_PERF", "FILTRA_DEVICE", "FILTRA_CAPS"};

static void note(const char *name) {
  size_t i = 0;
  while (i < MOST_VARIABLES && changed[i] && strcmp(changed[i], name) != 0)
    i++;
  if (i < MOST_VARIABLES && !changed[i]) changed[i] = ft_format("%s", name);
}

int test_setenv(const char *name, const char *value, int replace) {
  note(name);
  return ft_setenv(name, value, replace);
}

int test_unsetenv(const char *name) {
  note(name);
  return ft_unsetenv(name);
}

/* ---- the shell ---- */

static char *quoted(const char *text) {
  char *out = ft_calloc(4 * strlen(text) + 3, 1), *to = out;
  assert_non_null(out);
  *to++ = '\'';
  for (; *text; text++)
    if (*text == '\'') {
      memcpy(to, "'\\''", 4);
      to += 4;
    } else
      *to++ = *text;
  *to = '\'';
  return out;
}

/* What /bin/sh runs: the command, whose output goes to FILE.out, and then its exit code to FILE. It
 * gets no variables of this process, so that they are set in front. */
static char *script(const char *command, const char *file) {
  char *text = ft_format("%s", "");
  for (size_t i = 0; i < MOST_VARIABLES && changed[i]; i++) {
    const char *value = ft_getenv(changed[i]);
    char *in_quotes = value ? quoted(value) : NULL;
    char *more = value ? ft_format("%sexport %s=%s\n", text, changed[i], in_quotes)
                       : ft_format("%sunset %s\n", text, changed[i]);
    free(in_quotes);
    free(text);
    text = more;
  }
  char *whole = ft_format("%s( %s\n) >'%s.out'\necho $? >'%s.new' && mv '%s.new' '%s'\n", text,
                          command, file, file, file, file);
  free(text);
  return whole;
}

static int last_code;

/* Wine starts programs of the system below it, too, without telling when they end. */
static bool start_shell(const char *path) {
  wchar_t line[1100] = L"";
  STARTUPINFOW start = {.cb = sizeof start};
  PROCESS_INFORMATION made;
  swprintf(line, FT_COUNT(line), L"/bin/sh %hs", path);
  return CreateProcessW(L"Z:\\bin\\sh", line, NULL, NULL, FALSE, 0, NULL, NULL, &start, &made);
}

/* The exit code, once it is there. */
static int wait_for(const char *file) {
  char *text = NULL;
  size_t size;
  for (int i = 0; i < 60000 && !ft_file_exists(file); i++)
    Sleep(10);
  const int code = ft_file_read(file, 64, &text, &size) ? -1 : atoi(text);
  free(text);
  remove(file);
  return code;
}

/* Runs a command and gives what it printed as a file; pclose gives its exit code. */
FILE *test_popen(const char *command, const char *mode) {
  static unsigned serial;
  static char out[520];
  char path[512], file[512];
  assert_string_equal(mode, "r");
  fflush(NULL);
  snprintf(path, sizeof path, "%s/script-%ld-%u", TEST_BINARY_DIR, ft_process(), serial++);
  snprintf(file, sizeof file, "%s.code", path);
  snprintf(out, sizeof out, "%s.out", file);
  char *text = script(command, file);
  assert_false(ft_file_write(path, text, strlen(text)));
  free(text);
  assert_true(start_shell(path));
  last_code = wait_for(file);
  remove(path);
  return fopen(out, "rb");
}

int test_pclose(FILE *stream) {
  fclose(stream); /* its file goes with the build */
  return last_code;
}

int test_system(const char *command) {
  char part[4096];
  FILE *pipe = test_popen(command, "r");
  for (size_t got; pipe && (got = fread(part, 1, sizeof part, pipe));)
    fwrite(part, 1, got, stdout);
  return pipe ? test_pclose(pipe) : -1;
}
