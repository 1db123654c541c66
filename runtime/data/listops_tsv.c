/* The formats "lra-listops" and "listops", listed in dataset.c: ListOps as tab-separated text, in
 * the layout of Long Range Arena (Tay et al. 2021) and in the original one (Nangia & Bowman
 * 2018). */
#include "base/file.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/source.h"
#include "data/dataset.h"
#include "data/listops.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

static const char *const digits[10] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

/* The differences of the two layouts. */
typedef struct tsv_layout {
  const char *header; /* NULL: none */
  bool label_first;
  const filtra_tokenizer *tokenizer;
} tsv_layout;

static const tsv_layout lra_layout = {"Source\tTarget", false, &ft_tokenizer_listops};
static const tsv_layout original_layout = {NULL, true, &ft_tokenizer_listops_original};

/* State of the file being read. */
typedef struct tsv_reader {
  ft_lines lines;
  ft_listops_evaluator evaluator;
  const tsv_layout *layout;
  const filtra_dataset *ds;
  const filtra_tokenizer *tokenizer;
  const filtra_dataset_options *options;
  size_t cut; /* samples that `truncate` cut */
} tsv_reader;

typedef struct tsv_fields {
  const char *expression;
  size_t length;
  int label;
} tsv_fields;

static filtra_status check_header(const tsv_reader *r) {
  if (!strcmp(r->lines.line, r->layout->header)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "the header \"Source<TAB>Target\" is missing");
}

static filtra_status cut_fields(const tsv_reader *r, tsv_fields *f) {
  const char *line = r->lines.line, *end = line + r->lines.length;
  const char *tab = strchr(line, '\t');
  size_t count = 1;
  for (const char *c = tab; c; c = strchr(c + 1, '\t'))
    count++;
  if (count != 2)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu field%s where 2 separated by a tab are expected", count,
                   count == 1 ? "" : "s");
  const char *label = r->layout->label_first ? line : tab + 1;
  size_t label_length = (size_t)(r->layout->label_first ? tab - line : end - label);
  if (label_length != 1 || *label < '0' || *label > '9')
    return ft_fail(FILTRA_ERROR_INPUT, "the label is not one digit 0 to 9");
  f->label = *label - '0';
  f->expression = r->layout->label_first ? tab + 1 : line;
  f->length = (size_t)(r->layout->label_first ? end - f->expression : tab - line);
  return FILTRA_OK;
}

static filtra_status read_sample(tsv_reader *r, ft_samples *samples) {
  tsv_fields f = {0};
  FT_TRY(cut_fields(r, &f));
  FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
  ft_tokens *tokens = &samples->tokens;
  size_t first = tokens->count;
  int value;
  FT_TRY(
      ft_listops_parse(&r->evaluator, r->tokenizer->size, f.expression, f.length, tokens, &value));
  if (r->options->verify_labels && value != f.label)
    return ft_fail(FILTRA_ERROR_INPUT, "the label is %d but the expression's value is %d", f.label,
                   value);
  size_t length = tokens->count - first, limit = r->options->max_length;
  if (limit && length > limit) {
    if (!r->options->truncate)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "a sequence of %zu tokens where at most %zu are accepted; %s", length, limit,
                     ft_length_advice(r->ds));
    length = limit;
    tokens->count = first + limit;
    r->cut++;
  }
  samples->rows[samples->count++] =
      (ft_sample_row){.first = first, .length = (uint32_t)length, .label = f.label};
  return FILTRA_OK;
}

static filtra_status read_lines(tsv_reader *r, ft_samples *samples) {
  bool header = r->layout->header != NULL;
  for (;;) {
    bool more;
    FT_TRY(ft_lines_next(&r->lines, &more));
    if (!more) break;
    filtra_status status = header ? check_header(r) : read_sample(r, samples);
    if (status)
      return ft_fail_context(status, "%s:%llu", r->lines.path, (unsigned long long)r->lines.number);
    header = false;
  }
  if (samples->count == 0) return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", r->lines.path);
  return FILTRA_OK;
}

static filtra_status read_file(const char *path, const tsv_layout *layout,
                               const filtra_dataset_options *options, filtra_dataset *ds,
                               filtra_split split) {
  tsv_reader r = {.layout = layout, .ds = ds, .tokenizer = ds->info.tokenizer, .options = options};
  FT_TRY(ft_lines_open(path, &r.lines));
  filtra_status status = read_lines(&r, &ds->samples[split]);
  if (!status && r.cut)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %zu of %zu expressions are cut to max_length, %u tokens: what comes later is left "
           "out, and labels are those of the whole expressions",
           path, r.cut, ds->samples[split].count, options->max_length);
  ft_listops_free(&r.evaluator);
  ft_lines_close(&r.lines);
  return status;
}

/* ---- folders ---- */

static bool starts_with(const char *text, const char *prefix) {
  return !strncmp(text, prefix, strlen(prefix));
}

/* Recognises basic_train.tsv, or train*.tsv in the original layout; `user` is the layout. */
static bool names_split(const void *user, const char *name, filtra_split *split) {
  const tsv_layout *layout = user;
  if (layout == &lra_layout) {
    if (!starts_with(name, "basic_")) return false;
    name += strlen("basic_");
  }
  for (*split = FILTRA_SPLIT_TRAIN; *split <= FILTRA_SPLIT_TEST; ++*split) {
    if (!starts_with(name, filtra_split_name(*split))) continue;
    const char *rest = name + strlen(filtra_split_name(*split));
    return ft_ends_with(rest, ".tsv") && (layout == &original_layout || strlen(rest) == 4);
  }
  return false;
}

static filtra_status read_files(const ft_split_files *files, const tsv_layout *layout,
                                const filtra_dataset_options *options, filtra_dataset *ds) {
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++)
    if (files->path[split]) FT_TRY(read_file(files->path[split], layout, options, ds, split));
  return FILTRA_OK;
}

static filtra_status open_with(const tsv_layout *layout, const char *path,
                               const filtra_dataset_options *options, filtra_dataset *ds) {
  ds->info.classes = 10;
  ds->class_names = digits;
  ds->info.tokenizer = layout->tokenizer;
  if (options->tokenizer) {
    const filtra_tokenizer *chosen = filtra_tokenizer_find(options->tokenizer);
    if (!chosen) return FILTRA_ERROR_ARGUMENT;
    if (chosen != &ft_tokenizer_listops && chosen != &ft_tokenizer_listops_original)
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "the tokenizer \"%s\" reads no expressions; for %s it is listops or "
                     "listops-original",
                     chosen->name, ds->info.format);
    ds->info.tokenizer = chosen;
  }
  ft_split_files files;
  const bool lra = layout == &lra_layout;
  filtra_status status = ft_split_files_find(path, options->file_split,
                                             lra ? &ft_format_lra_listops : &ft_format_listops,
                                             names_split, layout, &files);
  if (!status) status = read_files(&files, layout, options, ds);
  ft_split_files_free(&files);
  return status;
}

static filtra_status open_lra(const char *path, const filtra_dataset_options *options,
                              filtra_dataset *ds) {
  return open_with(&lra_layout, path, options, ds);
}

static filtra_status open_original(const char *path, const filtra_dataset_options *options,
                                   filtra_dataset *ds) {
  return open_with(&original_layout, path, options, ds);
}

/* ---- probing ---- */

/* Whether a text begins as an expression: an operator after parentheses. A text of parentheses
 * alone counts too. */
static bool is_expression(const char *text) {
  static const char *const operators[] = {"[MIN", "[MAX", "[MED", "[SM", "[FIRST", "[LAST"};
  const char *at = text + strspn(text, "( ");
  bool found = !*at && *text == '(';
  for (size_t i = 0; i < FT_COUNT(operators); i++)
    found = found || starts_with(at, operators[i]);
  return found;
}

/* Also accepts a file that begins with an expression, so that the error can say that its header is
 * missing. */
static bool probe_lra(const ft_dataset_probe *p) {
  if (p->directory) return ft_any_names_split(p->names, p->count, names_split, &lra_layout);
  return starts_with(p->head, lra_layout.header) || is_expression(p->head);
}

/* Whether a text is a label and the beginning of an expression, or the label's digit. */
static bool is_original(const char *head) {
  if (!(*head >= '0' && *head <= '9') || head[1] != '\t') return false;
  return is_expression(head + 2) || (head[2] == *head && strchr("\r\n", head[3]));
}

/* Whether a file of the folder begins in the original layout: tables may be called train.tsv
 * too. */
static bool holds_original(const ft_dataset_probe *p) {
  for (size_t i = 0; i < p->count; i++) {
    filtra_split split;
    char head[64] = "";
    size_t got;
    ft_source *source = NULL;
    if (!names_split(&original_layout, p->names[i], &split)) continue;
    char *path = ft_path_join(p->path, p->names[i]);
    filtra_status status = path ? ft_source_open(path, &source) : FILTRA_ERROR_HOST_MEMORY;
    if (!status) status = ft_source_fill(source, head, sizeof head - 1, &got);
    ft_source_close(&source);
    free(path);
    if (status == FILTRA_ERROR_HOST_MEMORY) *p->failed = status;
    if (!status && is_original(head)) return true;
  }
  return false;
}

static bool probe_original(const ft_dataset_probe *p) {
  return p->directory ? holds_original(p) : is_original(p->head);
}

const ft_dataset_format ft_format_lra_listops = {
    "lra-listops", "basic_train.tsv, basic_val.tsv, basic_test.tsv (Source<TAB>Target), or one",
    probe_lra, open_lra};
const ft_dataset_format ft_format_listops = {
    "listops", "original ListOps, label<TAB>expression: train*.tsv, val*.tsv, test*.tsv, or one",
    probe_original, open_original};
