#include "base/file.h"
#include "base/memory.h"
#include "data/listops_tree.h"
#include "reference/listops.h"
#include "support/harness.h"

#include <filtra/data.h>
#include <filtra/synthetic.h>

static const char *const names[FILTRA_SPLIT_COUNT] = {"basic_train.tsv", "basic_val.tsv",
                                                      "basic_test.tsv"};

static char *read_split(const char *folder, int split) {
  char *path = ft_path_join(folder, names[split]), *text;
  size_t size;
  assert_ok(ft_file_read(path, 1 << 28, &text, &size));
  free(path);
  return text;
}

static void assert_no_files(const char *folder) {
  char **entries;
  size_t count;
  assert_ok(ft_list_directory(folder, &entries, &count));
  assert_int_equal(count, 0);
}

/* ---- what is written ---- */

typedef struct lines {
  char *text[FILTRA_SPLIT_COUNT];
  char *line[8192];                      /* expressions, of all three files */
  size_t count, sum[FILTRA_SPLIT_COUNT]; /* sum of lengths */
} lines;

/* Reads the three files, checking every line against the reference and the bounds. */
static void read_lines(const char *folder, const filtra_listops_options *o, lines *all) {
  const uint64_t counts[FILTRA_SPLIT_COUNT] = {o->train, o->val, o->test};
  *all = (lines){0};
  for (int split = 0; split < FILTRA_SPLIT_COUNT; split++) {
    all->text[split] = read_split(folder, split);
    char *rest = all->text[split];
    assert_string_equal(strsep(&rest, "\n"), "Source\tTarget");
    for (uint64_t i = 0; i < counts[split]; i++) {
      char *label = strsep(&rest, "\n"), *expression = strsep(&label, "\t");
      reference_listops r;
      assert_true(reference_listops_read(expression, &r));
      assert_int_equal(strlen(label), 1);
      assert_int_equal(*label - '0', r.value);
      assert_between(r.length, o->min_length + 1, o->max_length - 1);
      assert_between(r.depth, 1, o->max_depth ? o->max_depth : 10);
      assert_between(r.args, 0, o->max_args ? o->max_args : 10);
      all->line[all->count++] = expression;
      all->sum[split] += r.length;
    }
    assert_string_equal(rest, "");
  }
}

static int compare_lines(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_lines(lines *all) {
  for (int split = 0; split < FILTRA_SPLIT_COUNT; split++)
    free(all->text[split]);
  free(all);
}

TEST(test_trees_are_valid_and_distinct) {
  static const filtra_listops_options cases[] = {
      {.train = 4000, .val = 300, .test = 300, .min_length = 3, .max_length = 33},
      {.train = 30, .val = 7, .test = 5, .min_length = 500, .max_length = 2000, .seed = 9},
      {.train = 900,
       .val = 1,
       .test = 1,
       .min_length = 1,
       .max_length = 30,
       .max_depth = 3,
       .max_args = 3},
      {.train = 50,
       .val = 50,
       .test = 50,
       .min_length = 3,
       .max_length = 60,
       .max_depth = 64,
       .max_args = 40},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_folder();
    assert_ok(filtra_listops_generate(folder, &cases[i]));
    lines *all = malloc(sizeof *all);
    read_lines(folder, &cases[i], all);
    qsort(all->line, all->count, sizeof *all->line, compare_lines);
    for (size_t k = 1; k < all->count; k++)
      assert_string_not_equal(all->line[k - 1], all->line[k]);
    free_lines(all);
  }
}

TEST(test_same_files_for_any_number_of_threads) {
  filtra_listops_options o = {.train = 800,
                              .val = 60,
                              .test = 50,
                              .min_length = 3,
                              .max_length = 200,
                              .seed = 77,
                              .threads = 1};
  const char *first = test_folder();
  assert_ok(filtra_listops_generate(first, &o));
  for (uint32_t threads = 0; threads <= 7; threads++) {
    const char *folder = test_folder();
    o.threads = threads == 7 ? 1 : threads;
    o.seed = threads == 7 ? 78 : 77;
    assert_ok(filtra_listops_generate(folder, &o));
    for (int split = 0; split < FILTRA_SPLIT_COUNT; split++) {
      owned char *a = read_split(first, split), *b = read_split(folder, split);
      if (threads == 7)
        assert_string_not_equal(a, b);
      else
        assert_string_equal(a, b);
    }
  }
}

/* Short trees are found first; the split must not show it. */
TEST(test_splits_are_alike) {
  const filtra_listops_options o = {
      .train = 4000, .val = 2000, .test = 2000, .min_length = 3, .max_length = 33};
  const char *folder = test_folder();
  assert_ok(filtra_listops_generate(folder, &o));
  lines *all = malloc(sizeof *all);
  read_lines(folder, &o, all);
  double train = (double)all->sum[0] / 4000, test = (double)all->sum[2] / 2000;
  assert_true(fabs(train - test) < 0.03 * train);
  free_lines(all);
}

/* ---- the distribution ---- */

/* Counts of what was drawn, over trees without bounds on the length. */
typedef struct census {
  double roots, root_operators;
  double nodes, operators; /* below the root, above the deepest level */
  double digits[10], symbols[4], args[11];
  double deepest_operators;
} census;

static size_t count_node(const ft_listops_tree *t, size_t at, uint32_t depth, uint32_t max_depth,
                         census *c) {
  int32_t id = t->ids[at++];
  bool is_operator = id >= FT_LISTOPS_MIN;
  if (depth == 1) {
    c->roots++;
    c->root_operators += is_operator;
  } else if (depth < max_depth) {
    c->nodes++;
    c->operators += is_operator;
  } else {
    c->deepest_operators += is_operator;
  }
  if (!is_operator) {
    c->digits[id - FT_LISTOPS_DIGIT]++;
    return at;
  }
  int args = 0;
  for (; t->ids[at] != FT_LISTOPS_CLOSE; args++)
    at = count_node(t, at, depth + 1, max_depth, c);
  c->symbols[id - FT_LISTOPS_MIN]++;
  c->args[args]++;
  return at + 1;
}

/* Pearson's statistic of equally likely outcomes, in standard deviations from its mean. */
static double deviation(const double *counts, int outcomes) {
  double total = 0, chi2 = 0;
  for (int i = 0; i < outcomes; i++)
    total += counts[i];
  double expected = total / outcomes;
  for (int i = 0; i < outcomes; i++)
    chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
  return (chi2 - (outcomes - 1)) / sqrt(2.0 * (outcomes - 1));
}

static bool is_quarter(double part, double whole) {
  return fabs(part - whole / 4) < 4 * sqrt(whole * 3 / 16);
}

TEST(test_distribution) {
  const ft_listops_shape shape = {0, 1 << 20, 4, 10};
  ft_listops_tree tree;
  census c = {0};
  assert_ok(ft_listops_tree_make(&shape, &tree));
  for (uint64_t i = 0; i < 60000; i++) {
    assert_true(ft_listops_draw(&shape, ft_rng_make(123, i), &tree));
    assert_int_equal(count_node(&tree, 0, 1, shape.max_depth, &c), tree.length);
  }
  ft_listops_tree_free(&tree);
  assert_true(is_quarter(c.root_operators, c.roots));
  assert_true(is_quarter(c.operators, c.nodes));
  assert_true(c.deepest_operators == 0);
  assert_true(c.args[0] + c.args[1] == 0);
  assert_true(deviation(c.digits, 10) < 4);
  assert_true(deviation(c.symbols, 4) < 4);
  assert_true(deviation(c.args + 2, 9) < 4);
}

TEST(test_number_of_distinct_trees) {
  static const struct {
    ft_listops_shape shape;
    double count;
  } cases[] = {
      {{0, 2, 1, 2}, 10},           {{0, 1000, 1, 10}, 10},
      {{3, 5, 10, 10}, 400},        {{3, 6, 10, 10}, 4400},
      {{3, 6, 10, 2}, 400},         {{4, 7, 10, 2}, 0},
      {{6, 8, 2, 10}, 400000},      {{6, 8, 3, 10}, 400000 + 2 * 4 * 10 * 400},
      {{12, 99, 2, 10}, 0},         {{11, 99, 2, 10}, 4e10},
      {{63, 66, 10, 2}, 4e44},      {{100, 102, 64, 2}, 0},
      {{1998, 2000, 10, 10}, 1e21}, {{0, 1 << 20, 64, 1000}, 1e21},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    double count = ft_listops_distinct(&cases[i].shape);
    if (cases[i].count < 1e20)
      assert_true(count == cases[i].count);
    else
      assert_true(count >= 1e20);
  }
  assert_int_equal(ft_listops_longest(&(ft_listops_shape){0, 2, 3, 10}), 122);
  assert_int_equal(ft_listops_longest(&(ft_listops_shape){0, 2, 64, 10}), UINT32_MAX);
}

/* ---- what is refused ---- */

TEST(test_exactly_all_trees) {
  filtra_listops_options o = {
      .train = 380, .val = 10, .test = 10, .min_length = 3, .max_length = 5};
  assert_ok(filtra_listops_generate(test_folder(), &o));
  o.train++;
  const char *folder = test_folder();
  assert_fails(filtra_listops_generate(folder, &o), FILTRA_ERROR_ARGUMENT,
               "400 distinct trees have more than 3 and fewer than 5 tokens");
  assert_no_files(folder);
}

TEST(test_options) {
  static const struct {
    filtra_listops_options options;
    const char *part;
  } cases[] = {
      {{.min_length = 10, .max_length = 11}, "no length lies between"},
      {{.min_length = UINT32_MAX}, "no length lies between"},
      {{.max_length = 1}, "max_length is 1"},
      {{.max_length = (1 << 20) + 1}, "max_length is 1048577"},
      {{.max_depth = 65}, "max_depth is 65; 1 to 64"},
      {{.max_args = 1}, "max_args is 1; 2 to 1000"},
      {{.train = UINT64_MAX}, "train is 18446744073709551615"},
      {{.max_depth = 3}, "has at most 122 tokens; more than 500 were asked for"},
  };
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    assert_fails(filtra_listops_generate(folder, &cases[i].options), FILTRA_ERROR_ARGUMENT,
                 cases[i].part);
  assert_no_files(folder);
}

/* Possible, but with a probability near 2^-150. */
TEST(test_lengths_too_rare) {
  const filtra_listops_options o = {
      .min_length = 1000, .max_length = 1010, .max_depth = 64, .max_args = 2};
  const char *folder = test_folder();
  assert_fails(filtra_listops_generate(folder, &o), FILTRA_ERROR_ARGUMENT, "too rare");
  assert_no_files(folder);
}

static bool stop_at(void *user, uint64_t done, uint64_t total) {
  const uint64_t *limit = user;
  assert_true(done <= total);
  return done < *limit;
}

/* While drawing, and while writing: nothing is left. A data set that is there stays as it is. */
TEST(test_cancel) {
  uint64_t limit;
  filtra_listops_options o = {.train = 3000,
                              .val = 10,
                              .test = 10,
                              .min_length = 3,
                              .max_length = 100,
                              .progress = stop_at,
                              .progress_user = &limit};
  const char *folder = test_folder();
  owned char *fresh = ft_path_join(folder, "new");
  for (limit = 0; limit <= 3020; limit += 1510) {
    assert_fails(filtra_listops_generate(fresh, &o), FILTRA_ERROR_CANCELLED, "stopped");
    assert_no_files(folder);
    assert_fails(filtra_listops_generate(folder, &o), FILTRA_ERROR_CANCELLED, "stopped");
    assert_no_files(folder);
  }
  assert_ok(filtra_listops_generate(folder, &o)); /* limit is above the total now */
  owned char *before = read_split(folder, 0);
  o.seed = 1;
  assert_fails(filtra_listops_generate(folder, &o), FILTRA_ERROR_ARGUMENT,
               "basic_train.tsv is there");
  owned char *after = read_split(folder, 0);
  assert_string_equal(before, after);
}

TEST(test_folder_cannot_be_made) {
  const filtra_listops_options o = {
      .train = 1, .val = 1, .test = 1, .min_length = 3, .max_length = 20};
  owned char *file = ft_path_join(test_folder(), "file"), *inside = ft_path_join(file, "inside");
  assert_ok(ft_file_write(file, "x", 1));
  assert_fails(filtra_listops_generate(file, &o), FILTRA_ERROR_PATH, "file");
  assert_fails(filtra_listops_generate(inside, &o), FILTRA_ERROR_PATH, "cannot make folder");
}

TEST(test_every_allocation_may_fail) {
  const filtra_listops_options o = {
      .train = 20, .val = 2, .test = 2, .min_length = 3, .max_length = 20, .threads = 1};
  const char *folder = test_folder();
  filtra_status status;
  long n = 0;
  do {
    ft_memory_fail_after(++n);
    status = filtra_listops_generate(folder, &o);
    ft_memory_fail_after(0);
    assert_true(status == FILTRA_OK || status == FILTRA_ERROR_HOST_MEMORY);
    if (n % 16 == 1) n += 5; /* blocks' lists are many and alike */
  } while (status);
  assert_true(n > 100);
}

TEST_MAIN(NULL, test_teardown)
