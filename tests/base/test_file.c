/* Files: atomic replacement under failures, reading limits, folders. */
#include "support/harness.h"

#include "base/file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_content(const char *path, const char *want) {
  owned char *data = NULL;
  size_t size;
  assert_ok(ft_file_read(path, 1 << 20, &data, &size));
  assert_int_equal(size, strlen(want));
  assert_string_equal(data, want);
}

static void assert_entries(const char *folder, size_t want) {
  char **names;
  size_t count;
  assert_ok(ft_list_directory(folder, &names, &count));
  assert_int_equal(count, want);
  for (size_t i = 0; i < count; i++)
    free(names[i]);
  free(names);
}

TEST(test_write_and_replace) {
  const char *folder = test_folder();
  owned char *path = ft_path_join(folder, "a.txt");
  assert_ok(ft_file_write(path, "old", 3));
  assert_content(path, "old");
  assert_ok(ft_file_write(path, "newer", 5));
  assert_content(path, "newer");
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  mode_t mask = umask(0);
  umask(mask);
  assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
  assert_ok(ft_file_write(path, "", 0));
  assert_content(path, "");
  assert_entries(folder, 1);
}

/* What others may not read stays so; nobody may do more than with a new file. */
TEST(test_replaced_files_stay_private) {
  owned char *path = ft_path_join(test_folder(), "private.txt");
  const mode_t mask = umask(0022);
  static const mode_t MODES[][2] = {{0640, 0640}, {0600, 0600}, {0666, 0644}, {0444, 0644}};
  struct stat info;
  for (size_t i = 0; i < FT_COUNT(MODES); i++) {
    assert_ok(ft_file_write(path, "old", 3));
    assert_int_equal(chmod(path, MODES[i][0]), 0);
    assert_ok(ft_file_write(path, "new", 3));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, MODES[i][1]);
  }
  umask(mask);
  remove(path);
}

TEST(test_abort_leaves_the_old_file) {
  const char *folder = test_folder();
  owned char *path = ft_path_join(folder, "a.txt");
  assert_ok(ft_file_write(path, "old", 3));
  ft_atomic_file file;
  assert_ok(ft_atomic_open(path, &file));
  fputs("half", file.stream);
  fflush(file.stream);
  assert_content(path, "old");
  ft_atomic_abort(&file);
  ft_atomic_abort(&file); /* harmless twice */
  assert_content(path, "old");
  assert_entries(folder, 1);
}

/* A limit on file sizes stands for a full disk: write(2) first falls short, then fails. */
TEST(test_failed_writes_leave_the_old_file) {
  const char *folder = test_folder();
  owned char *path = ft_path_join(folder, "a.txt");
  assert_ok(ft_file_write(path, "old", 3));
  enum { BIG = 1 << 20, LIMIT = 100000 };
  owned char *data = ft_calloc(BIG, 1);
  struct rlimit before = {0}, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = LIMIT;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  filtra_status at_once = ft_file_write(path, data, BIG);
  char message[512];
  snprintf(message, sizeof message, "%s", filtra_error_message());
  ft_atomic_file file;
  filtra_status opened = ft_atomic_open(path, &file);
  for (int i = 0; !opened && i < 1000; i++) /* failures long before the end are not forgotten */
    fwrite(data, 1, 1000, file.stream);
  filtra_status piecewise = ft_atomic_commit(&file);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(at_once, FILTRA_ERROR_IO);
  assert_non_null(strstr(message, path));
  assert_non_null(strstr(message, "File too large"));
  assert_ok(opened);
  assert_int_equal(piecewise, FILTRA_ERROR_IO);
  assert_content(path, "old");
  assert_entries(folder, 1);
}

/* A line is added whole or not at all. */
TEST(test_failed_appending_adds_nothing) {
  char *path = ft_path_join(test_folder(), "a.txt"), line[1000] = {0};
  struct rlimit before = {0}, small;
  FILE *stream;
  assert_ok(ft_append_open(path, &stream));
  assert_ok(ft_append_write(stream, path, "old\n", 4));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 100;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  filtra_status status = ft_append_write(stream, path, line, sizeof line);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(status, FILTRA_ERROR_IO);
  fclose(stream);
  assert_content(path, "old\n");
  free(path);
}

/* Killed while writing at any moment, the file is one of the whole versions. */
TEST(test_kill_leaves_a_whole_file) {
  enum { SIZE = 200000, ROUNDS = 10 };
  const char *folder = test_folder();
  owned char *path = ft_path_join(folder, "a.bin");
  owned char *data = ft_calloc(SIZE, 1);
  assert_ok(ft_file_write(path, data, SIZE));
  for (int round = 0; round < ROUNDS; round++) {
    pid_t child = fork();
    if (child == 0) {
      for (int i = 0;; i++) {
        memset(data, i, SIZE);
        if (ft_file_write(path, data, SIZE)) _exit(1);
      }
    }
    usleep(3000 + 700 * (unsigned)round);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    owned char *got = NULL;
    size_t size;
    assert_ok(ft_file_read(path, SIZE, &got, &size));
    assert_int_equal(size, SIZE);
    for (int i = 1; i < SIZE; i++)
      assert_int_equal(got[i], got[0]);
  }
}

/* Below a folder that may be a stranger's, a link anywhere on the way is refused, and what it leads
 * to stays as it is; the folder itself may be reached through one. */
TEST(test_links_within) {
  const char *folder = test_folder();
  owned char *within = ft_path_join(folder, "given"), *real = ft_path_join(folder, "real");
  owned char *below = ft_path_join(within, "a/b"), *there = ft_path_join(folder, "there");
  owned char *good = ft_path_join(within, "a//b/file"), *link = ft_path_join(within, "a/b/link");
  owned char *way = ft_path_join(within, "a/way"), *past = ft_path_join(within, "a/way/file");
  FILE *stream;
  assert_int_equal(mkdir(real, 0700), 0);
  assert_int_equal(symlink("real", within), 0);
  assert_ok(ft_make_directories(below));
  assert_ok(ft_make_folder_in(within, below)); /* it is there */
  assert_ok(ft_file_write_in(within, good, "old", 3));
  assert_ok(ft_append_open_in(within, good, &stream));
  assert_ok(ft_append_write(stream, good, "er", 2));
  assert_true(ft_is_locked(good));
  fclose(stream);
  assert_false(ft_is_locked(good));
  assert_content(good, "older");
  assert_ok(ft_check_in(within, good));
  assert_ok(ft_check_tree(within));
  assert_fails(ft_make_folder_in(within, good), FILTRA_ERROR_PATH, "Not a directory");
  assert_fails(ft_file_write_in(within, below, "x", 1), FILTRA_ERROR_PATH, "not a regular file");

  assert_ok(ft_file_write(there, "theirs", 6));
  assert_int_equal(symlink(there, link), 0);
  assert_fails(ft_file_write_in(within, link, "x", 1), FILTRA_ERROR_PATH, link);
  assert_fails(ft_append_open_in(within, link, &stream), FILTRA_ERROR_PATH, "is a symbolic link");
  assert_null(stream);
  assert_fails(ft_make_folder_in(within, link), FILTRA_ERROR_PATH, "is a symbolic link");
  assert_fails(ft_check_in(within, link), FILTRA_ERROR_PATH, link);
  assert_fails(ft_check_tree(within), FILTRA_ERROR_PATH, "a/b/link is a symbolic link");
  assert_content(there, "theirs");
  assert_int_equal(unlink(link), 0);

  assert_int_equal(symlink(folder, way), 0); /* a folder on the way */
  assert_fails(ft_file_write_in(within, past, "x", 1), FILTRA_ERROR_PATH, "a/way is a symbolic");
  assert_fails(ft_append_open_in(within, past, &stream), FILTRA_ERROR_PATH, "a/way is a symbolic");
  assert_fails(ft_make_folder_in(within, past), FILTRA_ERROR_PATH, "a/way is a symbolic");
  assert_fails(ft_check_in(within, past), FILTRA_ERROR_PATH, "a/way is a symbolic");
  assert_entries(folder, 3);
  assert_entries(below, 1);
  assert_true(ft_lies_in("/a/b", "/a/b/c") && ft_lies_in("/a/b//", "/a/b/c") &&
              ft_lies_in("/", "/a"));
  assert_false(ft_lies_in("/a/b", "/a/bc") || ft_lies_in("/a/b", "/a/b"));
}

/* Appending to another name of a file elsewhere would change that file; replacing does not. */
TEST(test_hard_links_within) {
  const char *folder = test_folder();
  owned char *within = ft_path_join(folder, "given"), *there = ft_path_join(folder, "there");
  owned char *hard = ft_path_join(within, "hard");
  FILE *stream;
  assert_int_equal(mkdir(within, 0700), 0);
  assert_ok(ft_file_write(there, "theirs", 6));
  assert_int_equal(link(there, hard), 0);
  assert_fails(ft_append_open_in(within, hard, &stream), FILTRA_ERROR_PATH, "(a hard link)");
  assert_null(stream);
  assert_ok(ft_file_write_in(within, hard, "new", 3));
  assert_ok(ft_append_open_in(within, hard, &stream));
  fclose(stream);
  assert_content(there, "theirs");
}

TEST(test_links_and_special_files) {
  const char *folder = test_folder();
  owned char *target = ft_path_join(folder, "target"), *link = ft_path_join(folder, "link");
  assert_ok(ft_file_write(target, "old", 3));
  assert_int_equal(symlink("target", link), 0);
  assert_ok(ft_file_write(link, "new", 3));
  assert_content(target, "new");
  struct stat info;
  assert_int_equal(lstat(link, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_fails(ft_file_write("/dev/null", "x", 1), FILTRA_ERROR_PATH, "not a regular file");
  assert_fails(ft_file_write(folder, "x", 1), FILTRA_ERROR_PATH, "not a regular file");
  FILE *stream;
  assert_fails(ft_append_open("/dev/null", &stream), FILTRA_ERROR_PATH, "not a regular file");
  assert_int_equal(unlink(target), 0); /* the link leads nowhere now */
  assert_fails(ft_file_write(link, "x", 1), FILTRA_ERROR_PATH, "cannot resolve");
  char *fifo = ft_path_join(folder, "fifo"), *data;
  size_t size;
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_fails(ft_file_read(fifo, 10, &data, &size), FILTRA_ERROR_PATH, "not a regular file");
  assert_fails(ft_file_read(folder, 10, &data, &size), FILTRA_ERROR_PATH, "not a regular file");
  free(fifo);
}

TEST(test_read_errors) {
  const char *folder = test_folder();
  char *path = ft_path_join(folder, "a"), *missing = ft_path_join(folder, "no/b"), *data;
  size_t size;
  assert_ok(ft_file_write(path, "12345", 5));
  assert_fails(ft_file_read(path, 4, &data, &size), FILTRA_ERROR_INPUT, "5 bytes, at most 4");
  assert_null(data);
  assert_fails(ft_file_read(missing, 4, &data, &size), FILTRA_ERROR_PATH, "No such file");
  assert_fails(ft_file_write(missing, "", 0), FILTRA_ERROR_PATH, missing);
  free(path);
  free(missing);
}

TEST(test_allocation_failures) {
  const char *folder = test_folder();
  char *path = ft_path_join(folder, "a"), *data = NULL;
  size_t size;
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  for (long n = 1; status; n++) {
    ft_memory_fail_after(n);
    status = ft_file_write(path, "x", 1);
    if (!status) status = ft_file_read(path, 1, &data, &size);
    ft_memory_fail_after(0);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
  }
  free(data);
  assert_content(path, "x");
  assert_entries(folder, 1);
  free(path);
}

TEST(test_making_folders) {
  owned char *deep = ft_path_join(test_folder(), "a/b//c/"), *file = ft_path_join(deep, "f");
  assert_ok(ft_make_directories(deep));
  assert_ok(ft_make_directories(deep));
  assert_true(ft_is_directory(deep));
  assert_ok(ft_file_write(file, "x", 1));
  assert_true(ft_file_exists(file));
  assert_false(ft_is_directory(file));
  assert_fails(ft_make_directories(file), FILTRA_ERROR_PATH, file);
  owned char *below = ft_path_join(deep, "more/g");
  assert_ok(ft_file_write_below(below, "y", 1));
  owned char *made = ft_strdup(below);
  *strrchr(made, '/') = '\0';
  struct stat info;
  assert_true(ft_is_private(made));
  if (ft_is_separator('\\')) skip(); /* Windows has no modes */
  assert_true(!stat(made, &info) && (info.st_mode & 0777) == 0700);
  assert_true(!chmod(made, 0770) && !ft_is_private(made));
  assert_int_equal(chmod(made, 0700), 0);
  const bool root = !geteuid(); /* in some containers one that can give nothing away */
  if (!root || !chown(made, 1, (gid_t)-1)) assert_false(ft_is_private(root ? made : "/"));
  assert_content(below, "y");
}

TEST(test_listing_folders) {
  static const char *const unsorted[] = {"b", "a10", ".hidden", "a9"};
  static const char *const sorted[] = {".hidden", "a10", "a9", "b"};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(unsorted); i++) {
    owned char *path = ft_path_join(folder, unsorted[i]);
    assert_ok(ft_file_write(path, "", 0));
  }
  char **names;
  size_t count;
  assert_ok(ft_list_directory(folder, &names, &count));
  assert_int_equal(count, FT_COUNT(sorted));
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(names[i], sorted[i]);
    free(names[i]);
  }
  free(names);
  assert_fails(ft_list_directory("/dev/null/none", &names, &count), FILTRA_ERROR_PATH,
               "/dev/null/none");
  for (long n = 1; n < 6; n++) { /* one for the list, one for each name */
    ft_memory_fail_after(n);
    assert_fails(ft_list_directory(folder, &names, &count), FILTRA_ERROR_HOST_MEMORY, "memory");
  }
  ft_memory_fail_after(0);
}

static void set_or_unset(const char *name, const char *value) {
  assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

TEST(test_cache_directory_of_windows) {
  if (!ft_is_separator('\\')) skip();
  set_or_unset("LOCALAPPDATA", "C:\\Users\\Zo\xc3\xab\\AppData\\Local");
  owned char *got = ft_cache_directory();
  assert_string_equal(got, "C:\\Users\\Zo\xc3\xab\\AppData\\Local/filtra/cache");
  set_or_unset("LOCALAPPDATA", "relative");
  assert_null(ft_cache_directory());
}

TEST(test_cache_directory) {
  if (ft_is_separator('\\')) skip();
  static const struct {
    const char *cache, *home, *want;
  } cases[] = {{"/c", "/h", "/c/filtra"},
               {NULL, "/h", "/h/.cache/filtra"},
               {"relative", "/h", "/h/.cache/filtra"},
               {"", NULL, NULL}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    set_or_unset("XDG_CACHE_HOME", cases[i].cache);
    set_or_unset("HOME", cases[i].home);
    owned char *got = ft_cache_directory();
    if (cases[i].want)
      assert_string_equal(got, cases[i].want);
    else
      assert_null(got);
  }
}

TEST(test_paths) {
  static const struct {
    const char *path, *name, *folder;
    bool absolute;
  } cases[] = {{"a", "a", ".", false},        {"a/b", "b", "a", false},  {"/a", "a", "/", true},
               {"/a/b.c", "b.c", "/a", true}, {"a//b", "b", "a", false}, {"a/", "", "a", false},
               {"/", "", "/", true},          {"", "", ".", false}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    owned char *folder = ft_path_folder(cases[i].path);
    assert_string_equal(ft_path_name(cases[i].path), cases[i].name);
    assert_string_equal(folder, cases[i].folder);
    assert_int_equal(ft_path_is_absolute(cases[i].path), cases[i].absolute);
  }
  assert_int_equal(ft_path_length("a/b//"), 3);
  assert_int_equal(ft_path_length("//"), 1);
  assert_true(ft_is_name("a.b") && !ft_is_name("a/b") && !ft_is_name("/a"));
  assert_null(ft_full_path("/none/at all"));
}

/* A run that was begun on Windows under Wine names its data with a drive. */
TEST(test_paths_of_windows) {
  const char *folder = test_folder();
  const char *absolute = folder + (folder[0] == '/' ? 0 : 2);
  owned char *path = ft_format("Z:%s", absolute);
  assert_string_equal(ft_path_here(path), ft_is_separator('\\') ? path : absolute);
  assert_string_equal(ft_path_here("Z:/none"), "Z:/none");
  assert_string_equal(ft_path_here(absolute), absolute);
}

TEST(test_machine) {
  int number[6];
  assert_int_equal(sscanf(ft_date(), "%4d-%2d-%2dT%2d:%2d:%2dZ", &number[0], &number[1], &number[2],
                          &number[3], &number[4], &number[5]),
                   6);
  assert_true(number[0] >= 2024 && strlen(ft_date()) == strlen("2026-11-21T09:00:00Z"));
  assert_true(ft_process_runs(ft_process()));
  assert_false(ft_process_runs(0));
  pid_t child = fork();
  if (!child) _exit(0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_false(ft_process_runs(child));
  double before = ft_seconds();
  usleep(2000);
  assert_true(ft_seconds() - before >= 0.002);
  assert_true(ft_processors() >= 1);
}

TEST_MAIN(NULL, test_teardown)
