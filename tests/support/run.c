#include "support/run.h"

#include "base/file.h"
#include "base/rng.h"
#include "support/harness.h"

#include <filtra/data.h>
#include <filtra/synthetic.h>
#include <filtra/train.h>
#include <jansson.h>

const char *test_text(const char *format, ...) {
  static char texts[16][4096];
  static int next;
  char *text = texts[next++ % 16];
  va_list list;
  va_start(list, format);
  int length = vsnprintf(text, sizeof texts[0], format, list);
  va_end(list);
  assert_between(length, 0, sizeof texts[0] - 1);
  return text;
}

const char *test_path(const char *folder, const char *name) {
  return test_text("%s/%s", folder, name);
}

const char *test_new_run(void) {
  static char paths[2048][512];
  static size_t count;
  assert_true(count < FT_COUNT(paths));
  snprintf(paths[count], sizeof paths[0], "%s/run", test_folder());
  return paths[count++];
}

char *test_read(const char *path, size_t *size) {
  char *data;
  size_t unused;
  assert_ok(ft_file_read(path, UINT64_MAX, &data, size ? size : &unused));
  return data;
}

void test_write(const char *path, const void *data, size_t size) {
  FILE *stream = fopen(path, "wb"); /* not atomically: syncing each file takes long */
  assert_non_null(stream);
  assert_int_equal(fwrite(data, 1, size, stream), size);
  assert_int_equal(fclose(stream), 0);
}

void test_write_images(const char *folder, int side, int count, int classes) {
  const uint8_t edge = (uint8_t)side, of = (uint8_t)count;
  const uint8_t image_head[16] = {0, 0, 8, 3, 0, 0, 0, of, 0, 0, 0, edge, 0, 0, 0, edge};
  const uint8_t label_head[8] = {0, 0, 8, 1, 0, 0, 0, of};
  uint8_t labels[8 + UINT8_MAX];
  const size_t size = sizeof image_head + (size_t)(count * side * side);
  uint8_t *images = malloc(size);
  assert_non_null(images);
  assert_true(side <= UINT8_MAX && count <= UINT8_MAX);
  memcpy(images, image_head, sizeof image_head);
  memcpy(labels, label_head, sizeof label_head);
  for (int i = 0; i < count * side * side; i++)
    images[sizeof image_head + (size_t)i] = (uint8_t)(i * 7 % 251 + i / side);
  for (int i = 0; i < count; i++)
    labels[8 + i] = (uint8_t)(i % classes);
  test_write(test_path(folder, "train-images-idx3-ubyte"), images, size);
  test_write(test_path(folder, "train-labels-idx1-ubyte"), labels, 8 + (size_t)count);
  free(images);
}

void test_patch(const char *path, const char *from, const char *to) {
  size_t size, length = strlen(from);
  char *data = test_read(path, &size), *at = memmem(data, size, from, length);
  assert_non_null(at);
  assert_int_equal(strlen(to), length);
  memcpy(at, to, length);
  char *sum = memmem(data, size, "\"filtra.crc32\"", 14); /* the sum is that of the old content */
  if (sum) memcpy(sum, "\"filtra.crc-0\"", 14);
  test_write(path, data, size);
  free(data);
}

const char *test_listops(void) {
  static const char *folder;
  if (folder) return folder;
  folder = test_folder();
  assert_ok(filtra_listops_generate(folder, &(filtra_listops_options){.train = 48,
                                                                      .val = 16,
                                                                      .test = 16,
                                                                      .min_length = 5,
                                                                      .max_length = 29,
                                                                      .max_depth = 5,
                                                                      .max_args = 4,
                                                                      .seed = 4}));
  return folder;
}

/* ---- folders ---- */

typedef void (*visit_fn)(const char *path, void *user);

static void visit(const char *path, visit_fn file, void *user) {
  char **names;
  size_t count;
  if (!ft_is_directory(path)) {
    file(path, user);
    return;
  }
  assert_ok(ft_list_directory(path, &names, &count));
  for (size_t i = 0; i < count; i++) {
    owned char *inner = ft_path_join(path, names[i]);
    visit(inner, file, user);
    free(names[i]);
  }
  free(names);
}

static void add_hash(const char *path, void *user) {
  uint64_t *hash = user;
  size_t size;
  owned char *data = test_read(path, &size);
  *hash = *hash * 31 + ft_hash_text(path);
  for (size_t i = 0; i < size; i++)
    *hash = (*hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
}

uint64_t test_snapshot(const char *folder) {
  uint64_t hash = 1;
  if (!ft_file_exists(folder)) return 0;
  visit(folder, add_hash, &hash);
  return hash;
}

static void refuse_temporary(const char *path, void *user) {
  (void)user;
  if (strstr(path, ".tmp")) fail_msg("%s was left behind", path);
}

void test_no_leftovers(const char *folder) {
  if (ft_file_exists(folder)) visit(folder, refuse_temporary, NULL);
}

/* ---- runs ---- */

static void same_file(const char *a, const char *b, const char *name) {
  size_t size[2];
  char *data[2] = {test_read(test_path(a, name), &size[0]),
                   test_read(test_path(b, name), &size[1])};
  if (size[0] != size[1] || memcmp(data[0], data[1], size[0]))
    fail_msg("%s/%s and %s/%s differ", a, name, b, name);
  free(data[0]);
  free(data[1]);
}

/* The next line without the fields that depend on time; NULL at the end. */
static json_t *next_line(char **rest) {
  static const char *const TIMES[] = {"tokens_per_second", "milliseconds", "device_memory_bytes",
                                      "exchange_milliseconds", "exchange_hidden"};
  char *line = strsep(rest, "\n");
  if (!line || !*line) return NULL;
  json_t *object = json_loads(line, 0, NULL);
  if (!object) fail_msg("a line of the metrics is not JSON: %s", line);
  for (size_t i = 0; i < FT_COUNT(TIMES); i++)
    json_object_del(object, TIMES[i]);
  return object;
}

void test_same_metrics(const char *a, const char *b) {
  char *text[2] = {test_read(test_path(a, "metrics.jsonl"), NULL),
                   test_read(test_path(b, "metrics.jsonl"), NULL)};
  char *rest[2] = {text[0], text[1]};
  for (json_t *one, *other; one = next_line(&rest[0]), other = next_line(&rest[1]), one || other;) {
    if (!one || !other || !json_equal(one, other))
      fail_msg("%s and %s: the metrics differ at step %lld", a, b,
               (long long)json_integer_value(json_object_get(one ? one : other, "step")));
    json_decref(one);
    json_decref(other);
  }
  free(text[0]);
  free(text[1]);
}

void test_same_run(const char *a, const char *b) {
  same_file(a, b, "model.safetensors");
  same_file(a, b, "checkpoint/state.safetensors");
  same_file(a, b, "config.json");
  test_same_metrics(a, b);
  test_no_leftovers(b);
}

void test_progress_is_true(const char *printed, const char *folder) {
  enum { STEPS = 20 };
  double loss[STEPS] = {0}, hit[STEPS] = {0}, shown[2], mean[2] = {0};
  size_t count = 0;
  char *text = test_read(test_path(folder, "metrics.jsonl"), NULL), *rest = text;
  for (json_t *line; (line = next_line(&rest));) {
    if (json_object_get(line, "loss")) {
      loss[count % STEPS] = json_real_value(json_object_get(line, "loss"));
      hit[count++ % STEPS] = json_real_value(json_object_get(line, "accuracy"));
    }
    json_decref(line);
  }
  free(text);
  const size_t seen = count < STEPS ? count : STEPS;
  for (size_t i = 0; i < seen; i++) {
    mean[0] += loss[i] / (double)seen;
    mean[1] += 100.0 * hit[i] / (double)seen;
  }
  const char *last = NULL;
  for (const char *at = printed; (at = strstr(at, "step ")); at++)
    if (strstr(at, "  loss ")) last = at;
  if (!last || sscanf(strstr(last, "  loss "), "  loss %lf  acc %lf%%", &shown[0], &shown[1]) != 2)
    fail_msg("no progress in:\n%s", printed);
  if (fabs(shown[0] - mean[0]) > 6e-5 || fabs(shown[1] - mean[1]) > 0.06)
    fail_msg("shown are loss %.4f and accuracy %.1f%%, the metrics have %.6f and %.3f%%", shown[0],
             shown[1], mean[0], mean[1]);
}

/* ---- training ---- */

static bool stop_at(void *user, const filtra_run_progress *progress) {
  return progress->step < *(const uint64_t *)user;
}

filtra_status test_train(const char *config, const char *folder, uint64_t stop) {
  return filtra_run_train(
      test_device(), &(filtra_run_options){
                         .config = config, .folder = folder, .progress = stop_at, .user = &stop});
}
