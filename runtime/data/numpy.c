/* The format "numpy", listed in dataset.c: arrays X and y as NumPy saves them, in one .npz file or
 * as .npy files of a folder. npy.c reads arrays, zip.c the .npz archive. */
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/image.h"
#include "data/labels.h"
#include "data/names.h"
#include "data/npy.h"
#include "data/series.h"
#include "data/zip.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const NPY[] = {".npy", NULL};
static const char *const NPZ[] = {".npz", NULL};
static const uint64_t FILE_LIMIT = (uint64_t)1 << 34;

enum { INPUTS, TARGETS, ROLES };
enum { MOST_LABELS = 10000 };

/* An array that was found. */
typedef struct array {
  char *name; /* "x_train.npy"; NULL: no array */
  ft_npy npy;
} array;

typedef struct numpy_set {
  const filtra_dataset_options *options;
  filtra_dataset *ds;
  array arrays[FILTRA_SPLIT_COUNT][ROLES];
  char **memory; /* [count], which arrays point into */
  size_t count, capacity;
  ft_labels labels;
} numpy_set;

/* ---- names ---- */

/* The role that a word in a name gives an array: inputs or targets. */
static bool find_role(const char *word, size_t length, int *role) {
  static const char *const WORDS[ROLES][8] = {
      {"x", "data", "features", "inputs", "images", "series"},
      {"y", "labels", "label", "targets", "target", "classes"}};
  for (*role = 0; *role < ROLES; ++*role)
    for (size_t i = 0; WORDS[*role][i]; i++)
      if (length == strlen(WORDS[*role][i]) && !ft_strncasecmp(word, WORDS[*role][i], length))
        return true;
  return false;
}

/* Whether a name is that of an array: X, y, x_train, train_images, y_val ..., ignoring case. */
static bool find_place(const char *name, size_t length, filtra_split otherwise, filtra_split *split,
                       int *role) {
  const char *mark = memchr(name, '_', length);
  size_t rest, first = mark ? (size_t)(mark - name) : length;
  *split = otherwise;
  if (!mark) return find_role(name, length, role);
  if (ft_stem_split(mark + 1, length - first - 1, split, &rest) && rest == 0)
    return find_role(name, first, role);
  return ft_stem_split(name, first, split, &rest) && rest == 0 &&
         find_role(mark + 1, length - first - 1, role);
}

/* ---- finding ---- */

/* Keeps memory until the dataset is built; frees it at once on failure. */
static filtra_status keep(numpy_set *s, char *memory) {
  filtra_status status = FT_GROW(s->memory, s->count, s->capacity);
  if (status)
    free(memory);
  else
    s->memory[s->count++] = memory;
  return status;
}

/* Takes the array in `bytes`, and keeps them. */
static filtra_status take(numpy_set *s, const char *name, char *bytes, size_t size,
                          filtra_split split, int role) {
  array *a = &s->arrays[split][role];
  FT_TRY(keep(s, bytes));
  if (a->name)
    return ft_fail(FILTRA_ERROR_INPUT, "%s and %s are both %s of the %s split", a->name, name,
                   role == INPUTS ? "inputs" : "targets", filtra_split_name(split));
  a->name = ft_strdup(name);
  if (!a->name) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_npy_read((const uint8_t *)bytes, size, &a->npy);
  return status ? ft_fail_context(status, "%s", name) : FILTRA_OK;
}

static filtra_status take_file(numpy_set *s, const char *path, filtra_split split, int role) {
  char *bytes;
  size_t size;
  FT_TRY(ft_file_read(path, FILE_LIMIT, &bytes, &size));
  return take(s, ft_path_name(path), bytes, size, split, role);
}

static filtra_status take_entry(numpy_set *s, const ft_zip_entry *e) {
  filtra_split split;
  int role;
  uint8_t *bytes;
  if (!find_place(e->name, ft_stem_length(e->name, NPY), s->options->file_split, &split, &role)) {
    ft_log(FILTRA_LOG_WARNING, "the array %s is left out: it is called neither X nor y", e->name);
    return FILTRA_OK;
  }
  FT_TRY(ft_zip_unpack(e, &bytes));
  return take(s, e->name, (char *)bytes, e->size, split, role);
}

static filtra_status find_in_archive(numpy_set *s, const char *path) {
  char *bytes;
  size_t size;
  ft_zip zip;
  ft_zip_entry e;
  FT_TRY(ft_file_read(path, (uint64_t)UINT32_MAX, &bytes, &size));
  filtra_status status = ft_zip_open((const uint8_t *)bytes, size, &zip);
  while (!status && zip.left > 0) {
    status = ft_zip_next(&zip, &e);
    if (!status) status = take_entry(s, &e);
  }
  free(bytes);
  return status;
}

/* Takes a folder's arrays, of all splits or of one. */
static filtra_status find_in_folder(numpy_set *s, const char *folder, const filtra_split *only) {
  char **names;
  size_t count;
  FT_TRY(ft_list_files(folder, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    filtra_split split;
    int role;
    size_t length = ft_stem_length(names[i], NPY);
    if (!length || !find_place(names[i], length, s->options->file_split, &split, &role)) continue;
    if (only && (split != *only || role == INPUTS)) continue;
    char *path = ft_path_join(folder, names[i]);
    status = path ? take_file(s, path, only ? s->options->file_split : split, role)
                  : FILTRA_ERROR_HOST_MEMORY;
    free(path);
  }
  ft_free_names(names, count);
  return status;
}

/* Takes one array, and the targets beside it if its name tells which these are. */
static filtra_status find_beside(numpy_set *s, const char *path) {
  const char *name = ft_path_name(path);
  filtra_split split;
  int role;
  FT_TRY(take_file(s, path, s->options->file_split, INPUTS));
  if (!find_place(name, ft_stem_length(name, NPY), s->options->file_split, &split, &role) ||
      role != INPUTS)
    return FILTRA_OK;
  char *folder = ft_path_folder(path);
  if (!folder) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = find_in_folder(s, folder, &split);
  free(folder);
  return status;
}

/* ---- inputs ---- */

static bool is_image(const ft_npy *x) {
  return x->kind == 'u' && x->size == 1 && x->dimensions >= 3;
}

static filtra_status check_inputs(const ft_npy *x) {
  char shown[96];
  ft_npy_describe(x, shown);
  bool image = is_image(x), text = x->kind == 'U' || x->kind == 'S';
  if (image && x->dimensions == 4 && x->shape[3] != 1 && x->shape[3] != 3)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: images are uint8 (n, height, width, 3) or (n, height, width, 1)%s", shown,
                   x->shape[1] == 1 || x->shape[1] == 3 ? "; save X.transpose(0, 2, 3, 1)" : "");
  if (!image && x->dimensions == 3 && x->shape[1] < x->shape[2])
    ft_log(FILTRA_LOG_WARNING,
           "%s is read as (n, steps, features), of few steps with many features; where it is (n, "
           "features, steps), save X.transpose(0, 2, 1)",
           shown);
  if (!text && (image || x->dimensions == 2 || x->dimensions == 3)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: inputs are numbers (n, steps) or (n, steps, features), or images, uint8 (n, "
                 "height, width) or (n, height, width, 3)",
                 shown);
}

static filtra_status add_image(numpy_set *s, const ft_npy *x, uint64_t i, filtra_split split,
                               int32_t label) {
  ft_image image = {(uint32_t)x->shape[1], (uint32_t)x->shape[2], (uint32_t)x->shape[3], NULL};
  FT_TRY(ft_image_check_size(image.height, image.width));
  image.pixels = ft_calloc((size_t)image.height * image.width, image.channels);
  if (!image.pixels) return FILTRA_ERROR_HOST_MEMORY;
  uint8_t *to = image.pixels;
  for (uint64_t y = 0; y < image.height; y++)
    for (uint64_t k = 0; k < image.width; k++)
      for (uint64_t c = 0; c < image.channels; c++)
        *to++ = x->data[ft_npy_at(x, (uint64_t[]){i, y, k, c})];
  filtra_status status = ft_images_add(s->ds, s->options, split, &image, label);
  free(image.pixels);
  return status;
}

static filtra_status read_number(const ft_npy *x, uint64_t i, uint64_t step, uint64_t feature,
                                 double *value) {
  const double number = ft_npy_number(x, ft_npy_at(x, (uint64_t[]){i, step, feature, 0}));
  *value = number;
  if (isnan(number) || fabs(number) <= (double)FLT_MAX) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "step %llu: %g; numbers up to 3.4e38 are accepted, and NaN where one is missing",
                 (unsigned long long)step, number);
}

/* Whether all features of a step are missing: at the end, such steps pad shorter series. */
static bool is_filler(const ft_npy *x, uint64_t i, uint64_t step) {
  for (uint64_t k = 0; k < x->shape[2]; k++)
    if (!isnan(ft_npy_number(x, ft_npy_at(x, (uint64_t[]){i, step, k, 0})))) return false;
  return true;
}

static filtra_status add_series(ft_series *series, const ft_npy *x, uint64_t i, ft_sample_row row) {
  uint64_t length = x->shape[1], at = 0;
  while (length > 0 && x->kind == 'f' && is_filler(x, i, length - 1))
    length--;
  if (!length) return ft_fail(FILTRA_ERROR_INPUT, "all values are missing");
  for (uint64_t k = 0; k < x->shape[2]; k++)
    for (uint64_t step = 0; step < length; step++) {
      double value;
      FT_TRY(read_number(x, i, step, k, &value));
      FT_TRY(ft_series_put(series, at++, value));
    }
  return ft_series_add(series, x->shape[2], length, row);
}

/* ---- targets ---- */

/* Whether whole numbers are values: if the task says so, or the training data's were. */
static bool are_values(const numpy_set *s, const ft_npy *y) {
  const bool whole = y->kind == 'i' || y->kind == 'u';
  return y->kind == 'f' || (whole && (s->options->targets == FILTRA_TARGETS_VALUES ||
                                      s->ds->info.target == FILTRA_TARGET_VALUE));
}

/* Reads whether label k applies to sample i, or is unknown. */
static filtra_status read_flag(const ft_npy *y, uint64_t i, uint64_t k, uint8_t *flag) {
  const uint64_t at = ft_npy_at(y, (uint64_t[]){i, k, 0, 0});
  const double number = y->kind == 'S' || y->kind == 'U' ? -1 : ft_npy_number(y, at);
  *flag = isnan(number) ? FILTRA_LABEL_UNKNOWN : number != 0;
  if (isnan(number) || number == 0 || number == 1) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "sample %llu, column %llu: targets are one a sample, (n,) or (n, 1), or several "
                 "labels, (n, labels), of which each is 0 or 1, or NaN where it is unknown",
                 (unsigned long long)i, (unsigned long long)k);
}

/* Counts the ones of a sample's labels, and the known labels. */
static filtra_status count_flags(const ft_npy *y, uint64_t i, uint64_t *ones, uint64_t *known) {
  uint8_t flag;
  *ones = 0;
  for (uint64_t k = 0; k < y->shape[1]; k++) {
    FT_TRY(read_flag(y, i, k, &flag));
    *ones += flag == 1;
    *known += flag != FILTRA_LABEL_UNKNOWN;
  }
  return FILTRA_OK;
}

/* Rows with a single 1 may be classes, each as a column. */
static filtra_status check_flags(const numpy_set *s, const ft_npy *y) {
  uint64_t ones, known = 0, single = 0;
  for (uint64_t i = 0; i < y->shape[0]; i++) {
    FT_TRY(count_flags(y, i, &ones, &known));
    single += ones == 1;
  }
  if (known == 0 && !s->options->unlabelled)
    return ft_fail(FILTRA_ERROR_INPUT, "no label of any sample is known");
  if (single < y->shape[0] || s->ds->fit->labels || s->options->targets == FILTRA_TARGETS_LABELS)
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "each sample has a single 1: if the columns are classes, save y.argmax(axis=1), "
                 "and if they are labels, of which a sample may have any number, set task to "
                 "multi_label");
}

/* Checks labels, [samples, labels], and names them: as the training data do, or by number. */
static filtra_status check_labels(numpy_set *s, const ft_npy *y, const char *shown) {
  const ft_data_fit *fit = s->ds->fit;
  const uint32_t before = fit->labels ? fit->class_count : s->ds->info.classes;
  if (y->shape[1] > MOST_LABELS || (before && y->shape[1] != before))
    return ft_fail(
        FILTRA_ERROR_INPUT, "%s: %llu labels, %s %u", shown, (unsigned long long)y->shape[1],
        before ? "the training data have" : "accepted are up to", before ? before : MOST_LABELS);
  const filtra_status status = check_flags(s, y);
  if (status) return ft_fail_context(status, "%s", shown);
  return s->ds->info.classes
             ? FILTRA_OK
             : ft_name_classes(s->ds, (uint32_t)y->shape[1], fit->labels ? fit->classes : NULL);
}

static filtra_target target_of(const numpy_set *s, const ft_npy *y) {
  if (y->dimensions == 2 && y->shape[1] > 1) return FILTRA_TARGET_LABELS;
  return are_values(s, y) ? FILTRA_TARGET_VALUE : FILTRA_TARGET_CLASS;
}

static filtra_status check_targets(numpy_set *s, const ft_npy *x, const ft_npy *y) {
  static const char *const KINDS[] = {[FILTRA_TARGET_CLASS] = "classes",
                                      [FILTRA_TARGET_VALUE] = "numbers",
                                      [FILTRA_TARGET_LABELS] = "several labels a sample"};
  char shown[96];
  ft_npy_describe(y, shown);
  const filtra_target target = target_of(s, y);
  if (y->dimensions > 2 ||
      (target == FILTRA_TARGET_LABELS && s->options->targets != FILTRA_TARGETS_AUTO &&
       s->options->targets != FILTRA_TARGETS_LABELS))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: targets are one a sample, (n,) or (n, 1): whole numbers or text for "
                   "classes, floats for values",
                   shown);
  if (y->shape[0] != x->shape[0])
    return ft_fail(FILTRA_ERROR_INPUT, "%s: %llu targets for %llu samples", shown,
                   (unsigned long long)y->shape[0], (unsigned long long)x->shape[0]);
  const ft_data_fit *fit = s->ds->fit;
  const bool known = s->labels.closed || s->ds->info.target != FILTRA_TARGET_CLASS;
  const bool fitted = fit->class_count || fit->values;
  if ((known && target != s->ds->info.target) ||
      (fitted && fit->labels != (target == FILTRA_TARGET_LABELS)))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: targets are %s, those of the training data are not",
                   shown, KINDS[target]);
  s->ds->info.target = target;
  return target == FILTRA_TARGET_LABELS ? check_labels(s, y, shown) : FILTRA_OK;
}

/* Fails where targets that are numbers hardly differ as floats. */
static filtra_status check_spread(const numpy_set *s, const array *y) {
  ft_spread spread = {0};
  if (s->ds->info.target != FILTRA_TARGET_VALUE) return FILTRA_OK;
  for (uint64_t i = 0; i < y->npy.shape[0]; i++)
    ft_spread_add(&spread, ft_npy_number(&y->npy, i));
  return ft_spread_check_targets(&spread, s->ds, y->name);
}

static filtra_status read_labels(const ft_npy *y, uint64_t i, ft_samples *samples, int32_t *set) {
  for (uint64_t k = 0; k < y->shape[1]; k++) {
    uint8_t flag;
    FT_TRY(read_flag(y, i, k, &flag));
    if (flag) FT_TRY(ft_samples_add_label(samples, (int32_t)k, flag == 1));
  }
  return ft_samples_end_set(samples, set);
}

/* A sample's target; without `y` it is unknown. */
static filtra_status read_target(numpy_set *s, const ft_npy *y, uint64_t i, filtra_split split,
                                 ft_sample_row *row) {
  char name[FT_NPY_TEXT];
  bool values = s->ds->info.target == FILTRA_TARGET_VALUE;
  if (!y && values)
    row->value = NAN;
  else if (!y)
    row->label = -1;
  if (!y) return FILTRA_OK;
  if (s->ds->info.target == FILTRA_TARGET_LABELS)
    return read_labels(y, i, &s->ds->samples[split], &row->label);
  if (!values) {
    FT_TRY(ft_npy_text(y, i, name));
    return ft_labels_find(&s->labels, name, strlen(name), &row->label);
  }
  double number = ft_npy_number(y, i);
  row->value = (float)number;
  bool missing = isnan(number) && s->options->unlabelled;
  if (missing || fabs(number) <= (double)FLT_MAX) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "target %g; finite numbers are accepted, and NaN for samples "
                 "that are only predicted",
                 number);
}

/* ---- samples ---- */

static filtra_status add_sample(numpy_set *s, const ft_npy *x, const ft_npy *y, uint64_t i,
                                filtra_split split, ft_series *series) {
  ft_sample_row row = {0};
  FT_TRY(read_target(s, y, i, split, &row));
  if (!is_image(x)) return add_series(series, x, i, row);
  FT_TRY(add_image(s, x, i, split, row.label));
  ft_samples *samples = &s->ds->samples[split];
  samples->rows[samples->count - 1].value = row.value; /* shares its bytes with the label */
  return FILTRA_OK;
}

static filtra_status add_samples(numpy_set *s, filtra_split split, const ft_npy *x, const ft_npy *y,
                                 ft_series *series) {
  for (uint64_t i = 0; i < x->shape[0]; i++) {
    filtra_status status = add_sample(s, x, y, i, split, series);
    if (status)
      return ft_fail_context(status, "%s: sample %llu", s->arrays[split][INPUTS].name,
                             (unsigned long long)i);
  }
  return FILTRA_OK;
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The standard deviation of a column of (n, steps). */
static double deviation_of(const ft_npy *x, uint64_t step) {
  double count = 0, mean = 0, squares = 0;
  for (uint64_t i = 0; i < x->shape[0]; i++) {
    const double value = ft_npy_number(x, ft_npy_at(x, (uint64_t[]){i, step, 0, 0}));
    if (!isfinite(value)) continue;
    const double apart = value - mean;
    mean += apart / ++count;
    squares += apart * (value - mean);
  }
  return count > 1 ? sqrt(squares / (count - 1)) : 0;
}

/* Steps of a series share a mean and a deviation. Warns where the columns are rather those of a
 * table: where one varies far more than most. */
static filtra_status check_columns(const numpy_set *s, const array *x) {
  enum { APART = 50 };
  const uint64_t count = x->npy.dimensions == 2 ? x->npy.shape[1] : 0;
  if (count < 2 || s->ds->fit->features) return FILTRA_OK;
  double *deviations = ft_calloc(count, sizeof *deviations);
  if (!deviations) return FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t k = 0; k < count; k++)
    deviations[k] = deviation_of(&x->npy, k);
  qsort(deviations, count, sizeof *deviations, compare_doubles);
  const double usual = deviations[(count - 1) / 2], most = deviations[count - 1];
  free(deviations);
  if (usual > 0 && most > APART * usual)
    ft_log(
        FILTRA_LOG_WARNING,
        "%s is read as series (n, steps), whose steps have one scale, but a column varies %.0f "
        "times as much as most; if the columns are those of a table, divide each by its deviation, "
        "or save them as CSV",
        x->name, most / usual);
  return FILTRA_OK;
}

/* Whether inputs are of the same kind as the training data's. */
static filtra_status check_kind(const numpy_set *s, const array *x) {
  const array *train = &s->arrays[FILTRA_SPLIT_TRAIN][INPUTS];
  if (!train->name || is_image(&train->npy) == is_image(&x->npy)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s and %s: one holds images, the other series", train->name,
                 x->name);
}

static filtra_status read_split(numpy_set *s, filtra_split split) {
  const array *x = &s->arrays[split][INPUTS], *y = &s->arrays[split][TARGETS];
  ft_series series;
  if (!x->name && y->name)
    return ft_fail(FILTRA_ERROR_INPUT, "%s are targets without inputs, an array X", y->name);
  if (!x->name) return FILTRA_OK;
  filtra_status status = check_inputs(&x->npy);
  if (status) return ft_fail_context(status, "%s", x->name);
  FT_TRY(check_kind(s, x));
  if (!y->name && !s->options->unlabelled)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s has no targets beside it, an array y; without them it can be predicted",
                   x->name);
  if (y->name) status = check_targets(s, &x->npy, &y->npy);
  if (status) return ft_fail_context(status, "%s", y->name);
  if (s->options->tokenizer && !is_image(&x->npy))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "tokenizer is \"%.64s\", but %s holds numbers",
                   s->options->tokenizer, x->name);
  if (split == FILTRA_SPLIT_TRAIN && !is_image(&x->npy)) FT_TRY(check_columns(s, x));
  ft_series_begin(&series, s->options, s->ds, split);
  status = add_samples(s, split, &x->npy, y->name ? &y->npy : NULL, &series);
  if (!status) status = ft_series_check(&series, x->name, "feature");
  if (!status && y->name && series.first) status = check_spread(s, y);
  ft_series_end(&series);
  bool classes =
      !status && y->name && s->ds->info.target == FILTRA_TARGET_CLASS && !s->labels.closed;
  if (!classes) return status;
  FT_TRY(ft_labels_close(&s->labels, true, &s->ds->samples[split]));
  return ft_labels_check(&s->labels, s->ds, s->options, y->name,
                         y->npy.kind == 'i' || y->npy.kind == 'u' ? FT_NUMBERS_ADVICE
                                                                  : "set task to classification");
}

static filtra_status read_set(numpy_set *s) {
  bool any = false, targets = false, images = false;
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++) {
    const array *x = &s->arrays[split][INPUTS];
    FT_TRY(read_split(s, split));
    any = any || x->name;
    targets = targets || s->arrays[split][TARGETS].name;
    images = images || (x->name && is_image(&x->npy));
  }
  if (!any)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "there is no array X (or x_train, X_test, train_images ...); save it by "
                   "numpy.savez(FILE, X=X, y=y)");
  s->ds->untargeted = !targets;
  if (images) return FILTRA_OK; /* image.c decides what pixels become */
  s->ds->info.input = FILTRA_INPUT_FEATURES;
  s->ds->standardise = true;
  return FILTRA_OK;
}

/* ---- the format ---- */

static filtra_status open_numpy(const char *path, const filtra_dataset_options *options,
                                filtra_dataset *ds) {
  numpy_set s = {.options = options, .ds = ds};
  bool archive = ft_stem_length(path, NPZ) > 0;
  filtra_status status = ft_is_directory(path) ? find_in_folder(&s, path, NULL)
                         : archive             ? find_in_archive(&s, path)
                                               : find_beside(&s, path);
  if (!status) status = read_set(&s);
  if (status) ft_fail_context(status, "%s", path);
  if (!status && s.labels.count) ft_labels_give(&s.labels, ds);
  ft_labels_free(&s.labels);
  for (size_t i = 0; i < FILTRA_SPLIT_COUNT * ROLES; i++)
    free(s.arrays[i / ROLES][i % ROLES].name);
  ft_free_names(s.memory, s.count);
  return status;
}

static bool probe_numpy(const ft_dataset_probe *p) {
  filtra_split split;
  int role;
  if (!p->directory) return ft_stem_length(p->path, NPZ) > 0 || !memcmp(p->head, "\x93NUMPY", 6);
  for (size_t i = 0; i < p->count; i++) {
    size_t length = ft_stem_length(p->names[i], NPY);
    if (length && find_place(p->names[i], length, FILTRA_SPLIT_TRAIN, &split, &role) &&
        role == INPUTS)
      return true;
  }
  return false;
}

const ft_dataset_format ft_format_numpy = {
    "numpy", "NumPy's arrays X and y: one .npz file, or a folder with X.npy or x_train.npy ...",
    probe_numpy, open_numpy};
