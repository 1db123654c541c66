/* Writes predictions in all forms: tab-separated lines, JSON, CSV, JSON Lines, .npy. Called by
 * predict.c. */
#include "write.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "common/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool answers_are_values(const answers *a) {
  return a->info->task == FILTRA_TASK_REGRESSION && !a->vectors;
}

bool answers_are_labels(const answers *a) {
  return a->info->task == FILTRA_TASK_MULTI_LABEL && !a->vectors;
}

const char *answers_class(const answers *a, int64_t label) {
  static char number[32];
  if (label < (int64_t)a->info->class_count) return a->info->classes[label];
  snprintf(number, sizeof number, "%lld", (long long)label);
  return number;
}

static filtra_status out_of_memory(void) {
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* Whether the data give the sample's target. */
static bool is_labelled(const answers *a, const filtra_sample *s) {
  return answers_are_values(a) ? !isnan(s->value) : s->label >= 0;
}

/* Number of classes to list. */
static size_t listed(const answers *a) {
  const size_t outputs = (size_t)a->info->outputs;
  return answers_are_values(a) || a->top < 2 ? 1 : a->top < outputs ? a->top : outputs;
}

/* The most probable class after class `last` in order of probability; of equal ones, the first
 * comes first. `last` = outputs: the most probable class. */
static size_t next_class(const answers *a, const float *probabilities, size_t last) {
  const size_t count = (size_t)a->info->outputs;
  size_t best = count;
  for (size_t i = 0; i < count; i++) {
    const bool later = last == count || probabilities[i] < probabilities[last] ||
                       (probabilities[i] == probabilities[last] && i > last);
    if (later && (best == count || probabilities[i] > probabilities[best])) best = i;
  }
  return best;
}

/* Whether label k is predicted (filtra/predictor.h): probabilities are rounded, logits are not. */
static bool is_predicted(const answer *one, int64_t k) {
  return one->logits[k] > 0.0f;
}

/* What the data say of label k. */
static filtra_label label_of(const filtra_sample *s, int64_t k) {
  for (uint32_t i = 0; i < s->label_count + s->unknown_count; i++)
    if (s->labels[i] == k) return i < s->label_count ? FILTRA_LABEL_APPLIES : FILTRA_LABEL_UNKNOWN;
  return FILTRA_LABEL_ABSENT;
}

static bool is_unknown(const answer *one, int64_t k, bool said) {
  return said && label_of(one->sample, k) == FILTRA_LABEL_UNKNOWN;
}

/* Whether label k is predicted, or the data do not exclude it (`said`). */
static bool is_listed(const answer *one, int64_t k, bool said) {
  return said ? label_of(one->sample, k) != FILTRA_LABEL_ABSENT : is_predicted(one, k);
}

/* ---- lines ---- */

/* Prints a name as a list element: escapes ; as \; and tab as \t, and where labels may be unknown ?
 * as \?. */
static void print_label(const char *name, bool said) {
  for (; *name; name++) {
    if (*name == ';' || (said && *name == '?')) command_print("\\");
    command_print_field((const char[]){*name, '\0'}, 0);
  }
}

/* Prints the predicted labels, or those of the data, separated by ; and with ? where unknown. */
static void print_labels(const answers *a, const answer *one, bool said) {
  bool any = false;
  for (int64_t k = 0; k < a->info->outputs; k++) {
    if (!is_listed(one, k, said)) continue;
    if (any) command_print(";");
    print_label(answers_class(a, k), said);
    if (is_unknown(one, k, said)) command_print("?");
    any = true;
  }
}

static void print_classes(const answers *a, const answer *one) {
  size_t k = (size_t)a->info->outputs;
  for (size_t rank = 0; rank < listed(a); rank++) {
    k = next_class(a, one->probabilities, k);
    if (rank) command_print("\t");
    command_print_field(answers_class(a, (int64_t)k), 0);
    command_print("\t%.3f", (double)one->probabilities[k]);
  }
}

/* Prints the predicted labels, then the probability of each label. */
static void print_predicted(const answers *a, const answer *one) {
  print_labels(a, one, false);
  for (int64_t k = 0; k < a->info->outputs && a->top < 2; k++)
    command_print("%c%.3f", k ? ',' : '\t', (double)one->probabilities[k]);
  if (a->top > 1) command_print("\t");
  if (a->top > 1) print_classes(a, one);
}

/* Prints a number with the digits that give the same float. */
static void print_value(float value) {
  command_print("%.9g", ft_shortest(value));
}

static void print_line(const answers *a, const answer *one) {
  if (one->sample) command_print("%llu\t", (unsigned long long)one->number);
  if (answers_are_values(a))
    print_value(one->made->value);
  else if (answers_are_labels(a))
    print_predicted(a, one);
  else
    print_classes(a, one);
  for (int64_t i = 0; i < a->info->outputs && a->logits; i++)
    command_print("%c%.6g", i ? ',' : '\t', (double)one->logits[i]);
  command_print("\t");
  if (one->text)
    command_print("%s", one->text);
  else if (is_labelled(a, one->sample) && answers_are_values(a))
    print_value(one->sample->value);
  else if (is_labelled(a, one->sample) && answers_are_labels(a))
    print_labels(a, one, true);
  else if (is_labelled(a, one->sample))
    command_print_field(answers_class(a, one->sample->label), 0);
  if (one->sample && one->sample->name) {
    command_print("\t");
    command_print_field(one->sample->name, 0);
  }
  command_print("\n");
  fflush(command_results()); /* for callers that wait for each line */
}

/* ---- JSON ---- */

static json_t *list_of(const float *numbers, int64_t count) {
  json_t *list = json_array();
  for (int64_t i = 0; i < count && list; i++)
    json_array_append_new(list, json_real(ft_shortest(numbers[i])));
  return list;
}

static json_t *top_of(const answers *a, const answer *one) {
  json_t *list = json_array();
  size_t k = (size_t)a->info->outputs;
  for (size_t rank = 0; rank < listed(a); rank++) {
    k = next_class(a, one->probabilities, k);
    json_array_append_new(list, json_pack("{ss sf}", "name", answers_class(a, (int64_t)k),
                                          "probability", ft_shortest(one->probabilities[k])));
  }
  return list;
}

/* Names of the predicted labels. */
static json_t *predicted_of(const answers *a, const answer *one) {
  json_t *list = json_array();
  for (int64_t k = 0; k < a->info->outputs; k++)
    if (is_predicted(one, k)) ft_json_append(&list, json_string(answers_class(a, k)));
  return list;
}

/* Numbers of the labels of which the data say this. */
static json_t *labels_of(const answers *a, const answer *one, filtra_label wanted) {
  json_t *list = json_array();
  for (int64_t k = 0; k < a->info->outputs; k++)
    if (label_of(one->sample, k) == wanted) ft_json_append(&list, json_integer((json_int_t)k));
  return list;
}

static filtra_status describe_input(const answers *a, const answer *one, json_t **out) {
  json_error_t error;
  const filtra_sample *s = one->sample;
  if (one->text) {
    *out = json_pack_ex(&error, 0, "{sI ss}", "line", (json_int_t)one->number, "text", one->text);
    if (*out || json_error_code(&error) != json_error_invalid_utf8) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_INPUT, "the text is not UTF-8, as JSON has to be");
  }
  if (s->name && !ft_utf8_valid(s->name, strlen(s->name)))
    return ft_fail(FILTRA_ERROR_INPUT, "the name of sample %llu is not UTF-8, as JSON has to be",
                   (unsigned long long)one->number);
  json_t *target = !is_labelled(a, s)      ? json_null()
                   : answers_are_values(a) ? json_real(ft_shortest(s->value))
                   : answers_are_labels(a) ? labels_of(a, one, FILTRA_LABEL_APPLIES)
                                           : json_integer(s->label);
  *out = json_pack("{sI so}", "sample", (json_int_t)one->number, "target", target);
  if (*out && s->unknown_count)
    json_object_set_new(*out, "unknown", labels_of(a, one, FILTRA_LABEL_UNKNOWN));
  if (*out && s->name) json_object_set_new(*out, "id", json_string(s->name));
  return FILTRA_OK;
}

static filtra_status describe(const answers *a, const answer *one, json_t **out) {
  const int64_t outputs = a->info->outputs;
  json_t *object, *more;
  FT_TRY(describe_input(a, one, &object));
  if (answers_are_values(a))
    more = json_pack("{sf}", "value", ft_shortest(one->made->value));
  else if (answers_are_labels(a))
    more = json_pack("{so so}", "labels", predicted_of(a, one), "probabilities",
                     list_of(one->probabilities, outputs));
  else
    more = json_pack("{sI ss so}", "class", (json_int_t)one->made->label, "name",
                     answers_class(a, one->made->label), "probabilities",
                     list_of(one->probabilities, outputs));
  if (a->top > 1 && more) json_object_set_new(more, "top", top_of(a, one));
  if (a->logits)
    more = ft_json_join(more, json_pack("{so}", "logits", list_of(one->logits, outputs)));
  *out = ft_json_join(object, more);
  return *out ? FILTRA_OK : out_of_memory();
}

static filtra_status write_json_line(answers *a, const answer *one) {
  json_t *object;
  FT_TRY(describe(a, one, &object));
  char *line = ft_json_line(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
  if (!line) return out_of_memory();
  fputs(line, a->stream);
  free(line);
  return FILTRA_OK;
}

/* ---- CSV (RFC 4180) ---- */

static bool is_quoted(const char *text) {
  return text[strcspn(text, ",\"\r\n")];
}

/* Writes text for use within quotes. */
static void write_quoted(FILE *to, const char *text) {
  for (; *text; text++)
    fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
}

/* Writes a field of two concatenated texts. */
static void write_both(FILE *to, const char *first, const char *text) {
  const bool quoted = is_quoted(first) || is_quoted(text);
  if (quoted) fputc('"', to);
  write_quoted(to, first);
  write_quoted(to, text);
  if (quoted) fputc('"', to);
}

static void write_field(FILE *to, const char *text) {
  write_both(to, "", text);
}

static void write_csv_header(const answers *a) {
  const bool values = answers_are_values(a);
  fputs(a->lines ? "line,text," : "sample,id,target,", a->stream);
  fputs(values ? "value" : answers_are_labels(a) ? "labels" : "class,probability", a->stream);
  for (int64_t i = 0; i < a->info->outputs && answers_are_labels(a); i++) {
    fputc(',', a->stream);
    write_both(a->stream, "probability ", answers_class(a, i));
  }
  for (size_t rank = 1; rank < listed(a) && !answers_are_labels(a); rank++)
    fprintf(a->stream, ",class_%zu,probability_%zu", rank + 1, rank + 1);
  for (int64_t i = 0; i < a->info->outputs && a->logits; i++) {
    fputc(',', a->stream);
    write_both(a->stream, "logit ", answers_class(a, i));
  }
  fputc('\n', a->stream);
}

/* Writes a name as a list element within quotes: ; as \; and \ as \\, and where labels may be
 * unknown ? as \?. */
static void write_label(FILE *to, const char *name, bool said) {
  for (; *name; name++) {
    if (*name == ';' || *name == '\\' || (said && *name == '?')) fputc('\\', to);
    write_quoted(to, (const char[]){*name, '\0'});
  }
}

/* Writes the predicted labels, or those of the data, as one field, separated by ; and with ? where
 * unknown. */
static void write_labels(const answers *a, const answer *one, bool said) {
  bool quoted = false, any = false;
  for (int64_t k = 0; k < a->info->outputs; k++)
    quoted = quoted || (is_listed(one, k, said) && is_quoted(answers_class(a, k)));
  if (quoted) fputc('"', a->stream);
  for (int64_t k = 0; k < a->info->outputs; k++) {
    if (!is_listed(one, k, said)) continue;
    if (any) fputc(';', a->stream);
    write_label(a->stream, answers_class(a, k), said);
    if (is_unknown(one, k, said)) fputc('?', a->stream);
    any = true;
  }
  if (quoted) fputc('"', a->stream);
}

/* Writes the predicted labels, then the probability of each label. */
static void write_predicted(const answers *a, const answer *one) {
  write_labels(a, one, false);
  for (int64_t i = 0; i < a->info->outputs; i++)
    fprintf(a->stream, ",%.9g", (double)one->probabilities[i]);
}

static void write_csv(answers *a, const answer *one) {
  FILE *to = a->stream;
  const filtra_sample *s = one->sample;
  const bool values = answers_are_values(a);
  if (ftell(to) == 0) write_csv_header(a);
  fprintf(to, "%llu,", (unsigned long long)one->number);
  write_field(to, one->text ? one->text : s->name ? s->name : "");
  fputc(',', to);
  if (s && is_labelled(a, s) && values) fprintf(to, "%.9g", (double)s->value);
  const bool labels = answers_are_labels(a), said = s && is_labelled(a, s);
  if (said && labels) write_labels(a, one, true);
  if (said && !values && !labels) write_field(to, answers_class(a, s->label));
  if (s) fputc(',', to);
  if (values) fprintf(to, "%.9g", (double)one->made->value);
  if (labels) write_predicted(a, one);
  size_t k = (size_t)a->info->outputs;
  for (size_t rank = 0; rank < listed(a) && !values && !labels; rank++) {
    k = next_class(a, one->probabilities, k);
    if (rank) fputc(',', to);
    write_field(to, answers_class(a, (int64_t)k));
    fprintf(to, ",%.9g", (double)one->probabilities[k]);
  }
  for (int64_t i = 0; i < a->info->outputs && a->logits; i++)
    fprintf(to, ",%.9g", (double)one->logits[i]);
  fputc('\n', to);
}

/* ---- NumPy ---- */

static filtra_status keep_row(answers *a, const float *numbers) {
  const size_t outputs = (size_t)a->info->outputs;
  for (size_t i = 0; i < outputs; i++) {
    FT_TRY(FT_GROW(a->rows, a->count, a->capacity));
    a->rows[a->count++] = numbers ? numbers[i] : NAN;
  }
  return FILTRA_OK;
}

/* Format 1.0 of numpy.lib.format: the header is padded to a multiple of 64 bytes. */
static filtra_status write_npy(const answers *a) {
  const size_t outputs = (size_t)a->info->outputs, bytes = a->count * sizeof(float);
  const uint16_t one = 1;
  char header[128] = "\x93NUMPY\x01", columns[24] = "";
  if (!answers_are_values(a)) snprintf(columns, sizeof columns, " %zu", outputs);
  header[8] = sizeof header - 10;
  int end = 10 + snprintf(header + 10, sizeof header - 10,
                          "{'descr': '%cf4', 'fortran_order': False, 'shape': (%zu,%s), }",
                          *(const char *)&one ? '<' : '>', a->count / outputs, columns);
  memset(header + end, ' ', sizeof header - (size_t)end);
  header[sizeof header - 1] = '\n';
  char *file = ft_calloc(sizeof header + bytes, 1);
  if (!file) return FILTRA_ERROR_HOST_MEMORY;
  memcpy(file, header, sizeof header);
  if (bytes) memcpy(file + sizeof header, a->rows, bytes);
  filtra_status status = ft_file_write(a->path, file, sizeof header + bytes);
  free(file);
  return status;
}

/* ---- any form ---- */

filtra_status answers_open(answers *a, const char *path) {
  static const char *const ENDINGS[] = {".csv", ".jsonl", ".npy"};
  const size_t length = strlen(path);
  a->path = path;
  for (size_t i = 0; i < FT_COUNT(ENDINGS); i++) {
    const size_t own = strlen(ENDINGS[i]);
    if (length <= own || strcmp(path + length - own, ENDINGS[i]) != 0) continue;
    a->form = ANSWERS_CSV + (answers_form)i;
    a->stream = ft_open_memstream(&a->text, &a->size);
    return a->stream ? FILTRA_OK : out_of_memory();
  }
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "--output %s: accepted are names that end with .csv, .jsonl or .npy", path);
}

filtra_status answers_add(answers *a, const answer *one) {
  json_t *object;
  switch (a->form) {
  case ANSWERS_LINES:
    print_line(a, one);
    return FILTRA_OK;
  case ANSWERS_JSON:
    FT_TRY(describe(a, one, &object));
    return json_array_append_new(a->list, object) ? out_of_memory() : FILTRA_OK;
  case ANSWERS_CSV:
    write_csv(a, one);
    return FILTRA_OK;
  case ANSWERS_JSONL:
    return write_json_line(a, one);
  case ANSWERS_NPY:
    break;
  }
  return keep_row(a, answers_are_values(a) ? &one->made->value
                     : a->logits           ? one->logits
                                           : one->probabilities);
}

filtra_status answers_add_failed(answers *a) {
  return a->form == ANSWERS_NPY ? keep_row(a, NULL) : FILTRA_OK;
}

filtra_status answers_finish(answers *a) {
  if (!a->path) return FILTRA_OK;
  if (a->form == ANSWERS_NPY) return write_npy(a);
  if (a->form == ANSWERS_CSV && ftell(a->stream) == 0) write_csv_header(a);
  const bool failed = fflush(a->stream) || ferror(a->stream);
  return failed ? out_of_memory() : ft_file_write(a->path, a->text, a->size);
}

void answers_free(answers *a) {
  if (a->stream) fclose(a->stream);
  free(a->text);
  free(a->rows);
  json_decref(a->list);
}
