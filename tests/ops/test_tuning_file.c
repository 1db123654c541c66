/* Tuning: tables, answers to questions, and files that may be damaged or another device's. */
#include "ops/tuning.h"

#include "base/file.h"
#include "base/memory.h"
#include "support/harness.h"

#include "gpu/internal.h"
#include "support/run.h"

#include <sys/wait.h>
#include <unistd.h>

/* ---- tables ---- */

TEST(test_tables) {
  for (int f = 0; f < FT_TUNING_FAMILIES; f++) {
    const ft_tuning_family family = (ft_tuning_family)f;
    const ft_configuration_table *t = ft_configurations(family);
    size_t count = ft_configuration_count(family);
    assert_true(t->field_count <= FT_CONFIGURATION_FIELDS && count >= t->row_count);
    for (size_t i = 0; i < count; i++) {
      ft_configuration a = ft_configuration_at(family, i);
      assert_true(ft_configuration_known(family, &a));
      for (size_t k = 0; k < i; k++) {
        ft_configuration b = ft_configuration_at(family, k);
        assert_false(ft_configuration_same(&a, &b));
      }
    }
    ft_configuration none = {{999}};
    assert_false(ft_configuration_known(family, &none));
  }
  ft_configuration c = {{16, 1, 3, 2}};
  char text[FT_TUNING_KEY];
  assert_string_equal(ft_configuration_text(FT_TUNE_GEMM_S64, &c, text),
                      "rows 16, pairs 1, pack 3, parts 2");
}

/* ---- answers ---- */

static bool usable_below_8(const filtra_device *dev, const ft_tuning_question *q,
                           const ft_configuration *c) {
  (void)dev;
  (void)q;
  return c->value[0] < 8;
}

static ft_tuning *one_choice(const char *key, uint32_t rows) {
  ft_tuning *t = ft_tuning_new();
  ft_tuning_entry *e = ft_tuning_add(t, key, FT_TUNE_ATTENTION_LANES);
  assert_non_null(e);
  e->chosen = true;
  e->choice = (ft_configuration){{rows}};
  return t;
}

TEST(test_answers) {
  filtra_device *dev = test_device();
  ft_tuning_question q = {.family = FT_TUNE_ATTENTION_LANES,
                          .key = "attention.lanes a",
                          .standard = {{7}},
                          .usable = usable_below_8};
  assert_int_equal(ft_tuning_choose(dev, &q).value[0], 7);
  ft_tuning *t = one_choice("attention.lanes a", 4), *before = ft_tuning_use(dev, t);
  assert_int_equal(ft_tuning_choose(dev, &q).value[0], 4);
  t->entries[0].choice.value[0] = 16; /* the problem cannot do with it */
  assert_int_equal(ft_tuning_choose(dev, &q).value[0], 7);
  t->entries[0].chosen = false;
  assert_int_equal(ft_tuning_choose(dev, &q).value[0], 7);
  snprintf(q.key, sizeof q.key, "attention.lanes b");
  assert_int_equal(ft_tuning_choose(dev, &q).value[0], 7);
  /* While one family is forced, others are answered by what is known. */
  ft_tuning forced = {.forced = true, .forced_family = FT_TUNE_CHAIN, .known = t};
  t->entries[0].chosen = true;
  t->entries[0].choice.value[0] = 4;
  snprintf(q.key, sizeof q.key, "attention.lanes a");
  ft_tuning_use(dev, &forced);
  assert_int_equal(ft_tuning_choose(dev, &q).value[0], 4);
  forced.known = NULL;
  assert_int_equal(ft_tuning_choose(dev, &q).value[0], 7);
  ft_tuning_use(dev, t);
  t->collect = true;
  ft_tuning_choose(dev, &q);
  ft_tuning_choose(dev, &q);
  assert_int_equal(t->question_count, 1);
  ft_tuning_use(dev, before);
  ft_tuning_release(&t);
  assert_null(t);
}

TEST(test_entries_keep_order) {
  static const char *const keys[] = {"chain m", "chain a", "chain z", "chain b", "chain a"};
  ft_tuning *t = ft_tuning_new();
  for (size_t i = 0; i < FT_COUNT(keys); i++)
    assert_non_null(ft_tuning_add(t, keys[i], FT_TUNE_CHAIN));
  assert_int_equal(t->count, 4);
  for (size_t i = 1; i < t->count; i++)
    assert_true(strcmp(t->entries[i - 1].key, t->entries[i].key) < 0);
  assert_null(ft_tuning_find(t, "chain c"));
  ft_configuration c = {{1, 1, 1}};
  assert_ok(ft_tuning_refuse(&t->entries[0], &c, "it is wrong"));
  assert_ok(ft_tuning_refuse(&t->entries[0], &c, "again"));
  assert_string_equal(ft_tuning_refused(&t->entries[0], &c), "it is wrong");
  assert_int_equal(t->entries[0].refused_count, 1);
  ft_tuning *held = ft_tuning_hold(t);
  ft_tuning_release(&t);
  assert_int_equal(held->count, 4);
  ft_tuning_release(&held);
}

TEST(test_sizes_in_keys) {
  static const int64_t cases[][2] = {{1, 1},     {64, 64},   {65, 128},
                                     {128, 128}, {129, 256}, {4097, 8192}};
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    assert_int_equal(ft_tuning_bucket(cases[i][0]), cases[i][1]);
}

/* ---- files ---- */

static ft_tuning *sample(void) {
  ft_tuning *t = one_choice("attention.lanes w8 x", 4);
  t->entries[0].standard_seconds = 2e-3;
  t->entries[0].seconds = 1e-3;
  t->entries[0].runs = 9;
  ft_configuration c = {{16}};
  assert_ok(ft_tuning_refuse(&t->entries[0], &c, "differs"));
  assert_non_null(ft_tuning_add(t, "chain w8 y", FT_TUNE_CHAIN));
  return t;
}

/* The sample's file, and its text. */
static const char *sample_file(char **text, size_t *size) {
  const char *path = test_path(test_folder(), "deep/tuning.json");
  ft_tuning *t = sample();
  assert_ok(ft_tuning_save(test_device(), t, path));
  ft_tuning_release(&t);
  *text = test_read(path, size);
  return path;
}

TEST(test_round_trip) {
  owned char *text = NULL;
  size_t size;
  bool foreign;
  const char *path = sample_file(&text, &size);
  ft_tuning *want = sample(), *got;
  assert_ok(ft_tuning_load(test_device(), path, &foreign, &got));
  assert_true(ft_tuning_equal(want, got));
  assert_int_equal(got->count, 2);
  assert_string_equal(got->path, path);
  const ft_tuning_entry *e = ft_tuning_find(got, "attention.lanes w8 x");
  assert_true(e->standard_seconds == 2e-3 && e->seconds == 1e-3 && e->runs == 9);
  assert_string_equal(ft_tuning_refused(e, &(ft_configuration){{16}}), "differs");
  assert_false(ft_tuning_find(got, "chain w8 y")->chosen);
  /* Choices alone: the same bytes, and nothing of times. */
  char *a = ft_tuning_choices(test_device(), want), *b = ft_tuning_choices(test_device(), got);
  assert_string_equal(a, b);
  assert_null(strstr(a, "seconds"));
  ft_tuning *choices;
  assert_ok(ft_tuning_parse(test_device(), a, strlen(a), "choices", &foreign, &choices));
  assert_true(ft_tuning_equal(want, choices));
  assert_int_equal(ft_tuning_chosen(choices), 1);
  got->entries[0].choice.value[0] = 8;
  assert_false(ft_tuning_equal(want, got));
  assert_false(ft_tuning_equal(want, NULL));
  got->entries[0].chosen = false;
  assert_true(ft_tuning_equal(NULL, got));
  free(a);
  free(b);
  ft_tuning_release(&want);
  ft_tuning_release(&got);
  ft_tuning_release(&choices);
}

TEST(test_truncated) {
  owned char *text = NULL;
  size_t size;
  bool foreign;
  ft_tuning *t;
  sample_file(&text, &size);
  for (size_t length = 0; length + 2 < size; length += 7) {
    assert_fails(ft_tuning_parse(test_device(), text, length, "cut", &foreign, &t),
                 FILTRA_ERROR_INPUT, "cut");
    assert_null(t);
    assert_false(foreign);
  }
}

/* The sample with one thing changed. */
static void assert_refused(const char *from, const char *to, bool want_foreign, const char *part) {
  char *text, changed[8192];
  size_t size;
  bool foreign;
  ft_tuning *t;
  sample_file(&text, &size);
  char *at = strstr(text, from);
  assert_non_null(at);
  snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  free(text);
  assert_fails(ft_tuning_parse(test_device(), changed, strlen(changed), "f.json", &foreign, &t),
               FILTRA_ERROR_INPUT, part);
  assert_null(t);
  assert_int_equal(foreign, want_foreign);
}

TEST(test_foreign) {
  char uuid[64];
  snprintf(uuid, sizeof uuid, "\"%s\"", filtra_device_get_info(test_device())->uuid);
  assert_refused(uuid, "\"00000000-0000-0000-0000-000000000000\"", true, "another device");
  assert_refused("\"driver_version\": ", "\"driver_version\": 1", true, "another driver");
  assert_refused("\"driver_uuid\": \"", "\"driver_uuid\": \"0", true, "another driver");
  assert_refused("\"filtra\": \"", "\"filtra\": \"9", true, "filtra 9");
}

TEST(test_damaged) {
  assert_refused("filtra-tuning-1", "filtra-tuning-0", false, "is not a tuning file");
  assert_refused("\"device\"", "\"gadget\"", false, "\"device\" is missing");
  assert_refused("\"entries\"", "\"exits\"", false, "\"entries\" is missing");
  assert_refused("attention.lanes w8", "attention.tiles w8", false, "no key");
  assert_refused("chain w8 y", "attention.lanes w8 x", false, "is there twice");
  assert_refused("\"own_rows\": 4", "\"own_rows\": 5", false, "a configuration that");
  assert_refused("\"own_rows\": 4", "\"own_rows\": -4", false, "a configuration that");
  assert_refused("\"own_rows\": 4", "\"own_rows\": 4294967300", false, "a configuration that");
  assert_refused("\"own_rows\": 4", "\"own_rows\": \"4\"", false, "a configuration that");
  assert_refused("\"own_rows\": 4", "\"rows\": 4", false, "a configuration that");
  assert_refused("\"own_rows\": 4", "\"own_rows\": 4, \"more\": 1", false, "a configuration that");
  assert_refused("\"own_rows\": 16", "\"own_rows\": 17", false, "a configuration that");
  bool foreign;
  ft_tuning *t;
  assert_fails(ft_tuning_parse(test_device(), "[]", 2, "f", &foreign, &t), FILTRA_ERROR_INPUT,
               "is not a tuning file");
}

TEST(test_allocation_failures) {
  owned char *text = NULL;
  size_t size;
  bool foreign;
  ft_tuning *t = NULL;
  sample_file(&text, &size);
  for (long n = 1;; n++) {
    ft_memory_fail_after(n);
    filtra_status status = ft_tuning_parse(test_device(), text, size, "f", &foreign, &t);
    ft_memory_fail_after(0);
    if (!status) break;
    assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
    assert_null(t);
    assert_true(n < 100);
  }
  ft_tuning_release(&t);
}

/* Whoever reads while others write sees a whole file, of one of them. */
TEST(test_writers_at_once) {
  enum { WRITERS = 3, WRITES = 20 };
  const char *path = test_path(test_folder(), "t.json");
  ft_tuning *t = sample();
  filtra_device *dev = test_device();
  pid_t child[WRITERS];
  assert_ok(ft_tuning_save(dev, t, path));
  for (int w = 0; w < WRITERS; w++) {
    child[w] = fork();
    if (child[w]) continue;
    t->entries[0].runs = 100 + (uint32_t)w;
    for (int i = 0; i < WRITES; i++)
      if (ft_tuning_save(dev, t, path)) _exit(1);
    _exit(0);
  }
  int running = WRITERS, result;
  while (running) {
    bool foreign;
    ft_tuning *seen;
    assert_ok(ft_tuning_load(dev, path, &foreign, &seen));
    assert_true(ft_tuning_equal(seen, t));
    ft_tuning_release(&seen);
    pid_t ended = waitpid(-1, &result, WNOHANG);
    if (ended > 0) {
      assert_int_equal(result, 0);
      running--;
    }
  }
  ft_tuning_release(&t);
}

/* ---- opening a device ---- */

static int warnings;

static void count_warnings(void *user, filtra_log_level level, const char *message) {
  (void)user;
  warnings += level == FILTRA_LOG_WARNING && strstr(message, "tuning is ignored");
}

static filtra_status open_with(const char *tuning, const char *cache, filtra_device **dev) {
  return filtra_device_open(&(filtra_device_options){.select = test_chosen_device(),
                                                     .tuning = tuning,
                                                     .cache_dir = cache,
                                                     .caps = "pipeline_cache=0"},
                            dev);
}

TEST(test_opening) {
  filtra_device *dev;
  owned char *text = NULL;
  size_t size;
  const char *path = sample_file(&text, &size), *cache = test_path(test_folder(), "cache");
  owned char *cached = ft_tuning_path(test_device(), cache);
  unsetenv("FILTRA_TUNING");
  assert_ok(open_with(NULL, cache, &dev));
  assert_null(dev->tuning);
  assert_string_equal(ft_cache_folder_of(dev), cache);
  filtra_device_close(&dev);

  assert_ok(ft_file_write_below(cached, text, size));
  assert_ok(open_with(NULL, cache, &dev));
  assert_int_equal(ft_tuning_chosen(dev->tuning), 1);
  filtra_device_close(&dev);
  assert_ok(open_with("", cache, &dev));
  assert_null(dev->tuning);
  filtra_device_close(&dev);

  /* Found damaged: ignored with a warning. Named: an error. */
  assert_ok(ft_file_write(cached, text, size / 2));
  filtra_log_set(count_warnings, NULL);
  assert_ok(open_with(NULL, cache, &dev));
  filtra_log_set(NULL, NULL);
  assert_int_equal(warnings, 1);
  assert_null(dev->tuning);
  filtra_device_close(&dev);
  assert_fails(open_with(cached, cache, &dev), FILTRA_ERROR_INPUT, cached);
  assert_fails(open_with("/dev/null/none", "", &dev), FILTRA_ERROR_PATH, "/dev/null/none");

  assert_ok(open_with(path, "", &dev));
  assert_int_equal(ft_tuning_chosen(dev->tuning), 1);
  assert_null(ft_cache_folder_of(dev));
  filtra_device_close(&dev);
  assert_int_equal(setenv("FILTRA_TUNING", path, 1), 0);
  assert_ok(open_with(NULL, cache, &dev));
  assert_string_equal(dev->tuning->path, path);
  filtra_device_close(&dev);
  assert_ok(open_with("", cache, &dev));
  assert_null(dev->tuning);
  filtra_device_close(&dev);
  unsetenv("FILTRA_TUNING");
}

TEST_MAIN(NULL, test_teardown)
