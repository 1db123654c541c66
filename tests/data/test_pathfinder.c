/* Pathfinder: the generator, and the reader of its files and of Long Range Arena's. */
#include "base/file.h"
#include "base/memory.h"
#include "data/pathfinder_draw.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>
#include <filtra/synthetic.h>
#include <sys/stat.h>

enum { SIDE = FT_PATHFINDER_SIDE, PIXELS = FT_PATHFINDER_PIXELS };

/* ---- drawing ---- */

/* Discs of the brightness that only markers have: their middle and its four neighbours. */
static int count_markers(const uint8_t pixels[PIXELS]) {
  int count = 0;
  for (int y = 1; y < SIDE - 1; y++)
    for (int x = 1; x < SIDE - 1; x++) {
      const uint8_t *p = pixels + y * SIDE + x;
      int least = 255, around[] = {0, 1, -1, SIDE, -SIDE};
      for (int i = 0; i < 5; i++)
        least = p[around[i]] < least ? p[around[i]] : least;
      count += least > 150;
    }
  return count;
}

TEST(test_images) {
  const ft_pathfinder_shape shape = {14, 4, 5};
  ft_pathfinder_style *style = ft_pathfinder_style_make(&shape);
  int connected = 0, marked = 0;
  for (uint64_t i = 0; i < 200; i++) {
    uint8_t pixels[PIXELS], again[PIXELS];
    int label, same;
    assert_true(ft_pathfinder_draw(style, ft_rng_make(5, i), pixels, &label));
    connected += label;
    int markers = count_markers(pixels), lit = 0, brightest = 0;
    marked += markers > 0;
    for (int k = 0; k < PIXELS; k++) {
      lit += pixels[k] > 60;
      brightest = pixels[k] > brightest ? pixels[k] : brightest;
    }
    assert_int_equal(brightest, 255);
    assert_between(lit, 90, 420); /* two contours of 14 dashes of about 3 pixels at least */
    if (i % 40) continue;
    assert_true(ft_pathfinder_draw(style, ft_rng_make(5, i), again, &same));
    assert_memory_equal(pixels, again, sizeof pixels);
    assert_int_equal(label, same);
  }
  assert_between(connected, 70, 130);
  assert_true(marked > 185); /* markers may lie at the window's rim */
  ft_pathfinder_style_free(style);
}

/* ---- generating ---- */

static void generate(const char *folder, uint32_t threads, uint64_t seed, uint64_t count) {
  assert_ok(filtra_pathfinder_generate(
      folder, &(filtra_pathfinder_options){.count = count, .seed = seed, .threads = threads}));
}

static bool same_file(const char *a, const char *b, const char *name) {
  size_t size[2];
  char *data[2] = {test_read(test_path(a, name), &size[0]),
                   test_read(test_path(b, name), &size[1])};
  bool same = size[0] == size[1] && !memcmp(data[0], data[1], size[0]);
  free(data[0]);
  free(data[1]);
  return same;
}

TEST(test_any_number_of_threads) {
  const char *one = test_folder(), *three = test_folder(), *other = test_folder();
  int same = 0;
  generate(one, 1, 7, 70);
  generate(three, 3, 7, 70);
  generate(other, 2, 8, 70);
  for (int i = 0; i < 70; i++) {
    const char *name = test_text("curv_contour_length_14/imgs/0/sample_%d.png", i);
    assert_true(same_file(one, three, name));
    same += same_file(one, other, name);
  }
  assert_int_equal(same, 0);
  assert_true(same_file(one, three, "curv_contour_length_14/metadata/0.npy"));
  assert_false(same_file(one, other, "curv_contour_length_14/metadata/0.npy"));
}

#ifdef FT_WITH_PNG /* what was written can be read */

TEST(test_layout) {
  const char *folder = test_folder();
  generate(folder, 0, 1, 1010); /* one folder and the beginning of a second one */
  const char *root = test_path(folder, "curv_contour_length_14");
  assert_true(ft_file_exists(test_path(root, "imgs/0/sample_999.png")));
  assert_true(ft_file_exists(test_path(root, "imgs/1/sample_9.png")));
  assert_false(ft_file_exists(test_path(root, "imgs/1/sample_10.png")));
  owned char *text = test_read(test_path(root, "metadata/1.npy"), NULL);
  int label, end = 0;
  assert_int_equal(sscanf(text, "imgs/1 sample_0.png 0 %d 1.0 14 4 2 0.5 1 1%n", &label, &end), 1);
  assert_true(end > 0 && text[end] == '\n' && label >= 0 && label <= 1);
  for (int above = 0; above < 2; above++) {
    owned_dataset *ds = test_open_dataset(above ? folder : root, NULL, NULL);
    const filtra_dataset_info *info = filtra_dataset_get_info(ds);
    assert_string_equal(info->format, "pathfinder");
    assert_int_equal(info->classes, 2);
    assert_int_equal(info->height, 32);
    assert_int_equal(info->width, 32);
    test_counts(ds, 808, 101, 101);
  }
}

/* What is read is what was drawn, with its label, whatever the run's seed. */
TEST(test_images_come_back) {
  const char *folder = test_folder();
  generate(folder, 0, 11, 20);
  const ft_pathfinder_shape shape = {14, 4, 5};
  ft_pathfinder_style *style = ft_pathfinder_style_make(&shape);
  int found = 0;
  filtra_dataset *ds, *other;
  assert_ok(filtra_dataset_open(folder, NULL, &ds));
  assert_ok(filtra_dataset_open(folder, &(filtra_dataset_options){.seed = 99}, &other));
  for (uint64_t i = 0; i < 20; i++) {
    uint8_t pixels[PIXELS];
    int label;
    assert_true(ft_pathfinder_draw(style, ft_rng_make(11, i), pixels, &label));
    for (int split = 0; split < FILTRA_SPLIT_COUNT; split++)
      for (uint64_t k = 0; k < filtra_dataset_get_info(ds)->count[split]; k++) {
        filtra_sample s, t;
        assert_ok(filtra_dataset_sample(ds, (filtra_split)split, k, &s));
        assert_ok(filtra_dataset_sample(other, (filtra_split)split, k, &t));
        assert_memory_equal(s.tokens, t.tokens, PIXELS * sizeof *s.tokens);
        bool same = s.label == label;
        for (int p = 0; p < PIXELS && same; p++)
          same = s.tokens[p] == pixels[p];
        found += same;
      }
  }
  assert_int_equal(found, 20);
  filtra_dataset_close(&ds);
  filtra_dataset_close(&other);
  ft_pathfinder_style_free(style);
}

#endif

static bool stop_soon(void *user, uint64_t done, uint64_t total) {
  (void)total;
  *(uint64_t *)user = done;
  return done < 30;
}

TEST(test_refusals) {
  const char *folder = test_folder();
  uint64_t done = 0, empty = test_snapshot(folder);
  assert_fails(
      filtra_pathfinder_generate(folder, &(filtra_pathfinder_options){.count = 5000,
                                                                      .progress = stop_soon,
                                                                      .progress_user = &done}),
      FILTRA_ERROR_CANCELLED, "stopped");
  assert_true(done >= 30 && done < 5000);
  assert_true(test_snapshot(folder) == empty);
  assert_fails(
      filtra_pathfinder_generate(folder, &(filtra_pathfinder_options){.contour_length = 2}),
      FILTRA_ERROR_ARGUMENT, "contour_length is 2; 3 to 20");
  assert_fails(
      filtra_pathfinder_generate(folder, &(filtra_pathfinder_options){.contour_length = 21}),
      FILTRA_ERROR_ARGUMENT, "contour_length is 21");
  assert_fails(filtra_pathfinder_generate(folder, &(filtra_pathfinder_options){.count = 1u << 30}),
               FILTRA_ERROR_ARGUMENT, "count is");
  generate(folder, 1, 1, 3);
  uint64_t before = test_snapshot(folder);
  assert_fails(filtra_pathfinder_generate(folder, &(filtra_pathfinder_options){.count = 3}),
               FILTRA_ERROR_ARGUMENT, "is there already");
  assert_true(test_snapshot(folder) == before);
  const char *file = test_path(folder, "file");
  test_write(file, "x", 1);
  assert_fails(filtra_pathfinder_generate(file, &(filtra_pathfinder_options){.count = 3}),
               FILTRA_ERROR_PATH, "file");
}

#ifdef FT_WITH_PNG

/* ---- reading ---- */

static void write_metadata(const char *root, const char *text) {
  test_write(test_path(root, "metadata/0.npy"), text, strlen(text));
}

TEST(test_metadata) {
  static const struct {
    const char *text, *part; /* NULL: fine */
  } cases[] = {
      {"imgs/0 sample_0.png 0 1 1.0 14\nimgs/0 sample_1.png 1 0 1.0 14\n", NULL},
      {"imgs/0 sample_0.png 0 1\r\nimgs/0  sample_1.png 1 0", NULL},
      {"", "0.npy is empty"},
      {"imgs/0 sample_0.png 0\n", "0.npy:1: 3 fields"},
      {"\n", "0.npy:1: 0 fields"},
      {"imgs/0 sample_0.png 0 1 1.0\nimgs/0 sample_1.png 1 0\n",
       "0.npy:2: 4 fields where the lines before have 5"},
      {"imgs/0 sample_0.png 0 2\n", "0.npy:1: label \"2\" where 0 and 1"},
      {"imgs/0 sample_0.png 0 1.0\n", "0.npy:1: label \"1.0\""},
      {"imgs/0 sample_0.png 0 nan\n", "0.npy:1: label \"nan\""},
      {"imgs/.. sample_0.png 0 1\n", "name no file of imgs/K"},
      {"imgs/0/.. sample_0.png 0 1\n", "name no file of imgs/K"},
      {"/etc passwd 0 1\n", "name no file of imgs/K"},
      {"imgs/0 ../0/sample_0.png 0 1\n", "name no file of imgs/K"},
      {"\x93NUMPY\x01\n", "0.npy:1: a binary NumPy array"},
      {"imgs/0 sample_2.png 2 1\n", "all images are empty"},
  };
  const char *folder = test_folder();
  char root[512];
  snprintf(root, sizeof root, "%s/curv_contour_length_14", folder);
  generate(folder, 1, 1, 3);
  test_write(test_path(root, "imgs/0/sample_2.png"), "", 0);
  owned_dataset *ds = test_open_dataset(folder, NULL, NULL); /* without the empty file */
  const uint64_t *count = filtra_dataset_get_info(ds)->count;
  assert_int_equal(count[0] + count[1] + count[2], 2);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    write_metadata(root, cases[i].text);
    test_refuse_dataset(root, NULL, cases[i].part);
  }
  write_metadata(root, "imgs/0 sample_3.png 3 1\n");
  assert_fails(test_try_dataset(root, NULL), FILTRA_ERROR_PATH, "sample_3.png");
  write_metadata(root, "imgs/0 sample_1.png 1 1\n");
  test_write(test_path(root, "imgs/0/sample_1.png"), "no image", 8);
  test_refuse_dataset(root, NULL, "sample_1.png: neither PNG nor JPEG");
  remove(test_path(root, "metadata/0.npy"));
  test_refuse_dataset(root, NULL, "holds no metadata");
}

TEST(test_several_difficulties) {
  const char *folder = test_folder();
  generate(folder, 1, 1, 3);
  assert_int_equal(mkdir(test_path(folder, "curv_contour_length_9.77-0.tmp"), 0700), 0);
  assert_ok(test_try_dataset(folder, NULL));
  assert_ok(filtra_pathfinder_generate(
      folder, &(filtra_pathfinder_options){.count = 3, .contour_length = 9}));
  test_refuse_dataset(
      folder, NULL,
      "curv_contour_length_14 and curv_contour_length_9 among them; give the path of one");
  assert_ok(test_try_dataset(test_path(folder, "curv_contour_length_9"), NULL));
  const char *empty = test_folder();
  assert_int_equal(mkdir(test_path(empty, "curv_baseline"), 0700), 0);
  test_refuse_dataset(empty, NULL, "curv_baseline holds no folders imgs");
}

TEST(test_every_allocation_may_fail) {
  const char *folder = test_folder();
  generate(folder, 1, 1, 3);
  test_dataset_memory(folder, &(filtra_dataset_options){.format = "pathfinder"});
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  for (long n = 1; status; n++) {
    const char *to = test_folder();
    ft_memory_fail_after(n);
    status = filtra_pathfinder_generate(to, &(filtra_pathfinder_options){.count = 2, .threads = 1});
    ft_memory_fail_after(0);
    assert_true(n < 300);
  }
}

#endif

TEST_MAIN(NULL, test_teardown)
