/* One hundred tables that a seeded generator writes as people and programs do: delimiters, quotes,
 * blanks, byte order marks, numbers of other countries, columns in any order or missing. The
 * generator knows what each table means, as pandas reads it with the right options: Filtra must
 * read it so, or refuse it. FILTRA_TEST_SEED draws other tables. FILTRA_TEST_KEEP writes them below
 * a folder, with what was read of each, which compare_pandas.py compares with what pandas reads. */
#include "base/file.h"
#include "base/rng.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <jansson.h>

enum { TABLES = 100, ROWS = 24, COLUMNS = 5, FIELD = 96 };

typedef enum kind { TEXT_CLASS, TEXT_VALUE, NUMBERS } kind;

/* A cell's text, before it is quoted. */
typedef struct cell {
  char text[FIELD];
} cell;

/* How a file is written. */
typedef struct style {
  char delimiter;
  bool comma, grouped, percent, money, minus; /* of numbers */
  bool mark, crlf, blank_lines, spaces, quote_all, no_end, said;
  int order[COLUMNS];
} style;

/* What the file means. */
typedef struct truth {
  kind kind;
  int rows;
  char texts[ROWS][FIELD], names[ROWS][16], classes[ROWS][16];
  double values[ROWS], numbers[ROWS][2];
  bool missing[ROWS];  /* numbers[.][1] is not known */
  const char *refused; /* why the table cannot be read; NULL: it can */
  bool without_targets;
} truth;

static const char *const HEADERS[3][COLUMNS] = {{"id", "text", "label", "note", "source"},
                                                {"id", "text", "value", "note", "source"},
                                                {"id", "length", "label", "width", "index"}};

static bool chance(ft_rng *rng, uint32_t of) {
  return ft_rng_below(rng, of) == 0;
}

/* ---- what a table means ---- */

/* Words with what readers trip over: delimiters, quotes, line ends, letters of other languages. */
static void draw_text(ft_rng *rng, int row, bool lines, char text[FIELD]) {
  static const char *const parts[] = {"good",       "bad, really", "so; so",    "a|b",
                                      "5\" nails",  "caf\xc3\xa9", "tab\there", "x,y;z",
                                      "say \"no\"", "1,5"};
  *text = '\0';
  for (int i = 0; i < 3; i++)
    snprintf(text + strlen(text), FIELD - strlen(text), "%s%s", i ? " " : "",
             parts[ft_rng_below(rng, FT_COUNT(parts))]);
  snprintf(text + strlen(text), FIELD - strlen(text), "%s%d", lines ? "\n" : " ", row);
}

static void draw_truth(ft_rng *rng, truth *t) {
  static const char *const classes[] = {"yes", "no", "may be"};
  t->rows = 8 + (int)ft_rng_below(rng, ROWS - 8);
  for (int i = 0; i < t->rows; i++) {
    draw_text(rng, i, chance(rng, 6), t->texts[i]);
    snprintf(t->names[i], sizeof t->names[i], "%d", 100 + i);
    snprintf(t->classes[i], sizeof t->classes[i], "%s",
             classes[i < 6 ? i / 2 : (int)ft_rng_below(rng, 3)]);
    t->values[i] = i == 0 ? 0.5 : ((double)ft_rng_below(rng, 20000) - 10000.0) / 4.0;
    t->numbers[i][0] = i == 0 ? 1.25 : (double)ft_rng_below(rng, 4000000) / 8.0;
    t->numbers[i][1] = i == 0 ? -0.5 : (double)ft_rng_below(rng, 100) - 50.0;
    t->missing[i] = i > 2 && chance(rng, 5);
  }
}

/* ---- how it is written ---- */

static void draw_style(ft_rng *rng, style *s) {
  s->delimiter = ",;\t|"[ft_rng_below(rng, 4)];
  s->comma = chance(rng, 2);
  s->grouped = chance(rng, 3);
  s->percent = chance(rng, 4);
  s->money = !s->percent && chance(rng, 4);
  s->minus = chance(rng, 3);
  s->mark = chance(rng, 4);
  s->crlf = chance(rng, 3);
  s->blank_lines = chance(rng, 4);
  s->spaces = s->delimiter != '\t' && chance(rng, 4);
  s->quote_all = chance(rng, 3);
  s->no_end = chance(rng, 4);
  s->said = chance(rng, 6);
  for (int i = 0; i < COLUMNS; i++)
    s->order[i] = i;
  for (uint32_t i = COLUMNS - 1; i > 0 && chance(rng, 2) == 0; i--) {
    uint32_t k = ft_rng_below(rng, i + 1);
    int kept = s->order[i];
    s->order[i] = s->order[k];
    s->order[k] = kept;
  }
}

/* A number as the style writes it, for example -1.234,5 %. */
static void write_number(const style *s, double value, char text[FIELD]) {
  char plain[64], whole[64] = "";
  snprintf(plain, sizeof plain, "%.3f", fabs(value));
  size_t digits = strcspn(plain, ".");
  for (size_t i = 0; i < digits; i++) {
    size_t rest = digits - i;
    if (s->grouped && i > 0 && rest % 3 == 0) strcat(whole, s->comma ? "." : ",");
    strncat(whole, plain + i, 1);
  }
  size_t end = strlen(plain);
  while (plain[end - 1] == '0')
    end--;
  if (plain[end - 1] == '.') end--;
  plain[end] = '\0';
  snprintf(text, FIELD, "%s%s%s%s%s%s", value < 0.0 ? s->minus ? "\xe2\x88\x92" : "-" : "",
           s->money ? "$" : "", whole, plain[digits] ? s->comma ? "," : "." : "",
           plain[digits] ? plain + digits + 1 : "", s->percent ? "%" : "");
}

static void cell_of(const truth *t, const style *s, int row, int column, char text[FIELD]) {
  const char *fixed = column == 0 ? t->names[row] : column == 3 ? "some note" : "web";
  if (t->kind == NUMBERS && column == 3 && t->missing[row])
    *text = '\0';
  else if (t->kind == NUMBERS && (column == 1 || column == 3))
    write_number(s, t->numbers[row][column == 3], text);
  else if (column == 2 && t->kind == TEXT_VALUE)
    write_number(s, t->values[row], text);
  else
    snprintf(text, FIELD, "%s",
             column == 1   ? t->texts[row]
             : column == 2 ? t->classes[row]
                           : fixed);
}

/* Writes a field as pandas does: quoted where that is needed, or always. */
static char *write_field(const style *s, const char *text, char *to) {
  const char needs[] = {s->delimiter, '"', '\n', '\0'};
  const bool quoted = s->quote_all || strpbrk(text, needs);
  if (s->spaces) *to++ = ' ';
  if (quoted) *to++ = '"';
  for (; *text; text++) {
    if (*text == '"') *to++ = '"';
    *to++ = *text;
  }
  if (quoted) *to++ = '"';
  if (s->spaces && !quoted) *to++ = ' '; /* pandas reads no numbers otherwise */
  return to;
}

/* What is left out, or broken. */
typedef struct fault {
  int missing_column;     /* -1: none */
  int short_row, bad_row; /* a row without its last field; one with a number that is none; or -1 */
} fault;

static void write_table(const truth *t, const style *s, const fault *f, char *to) {
  const char *line = s->crlf ? "\r\n" : "\n";
  if (s->mark) to += sprintf(to, "\xef\xbb\xbf");
  if (s->said) to += sprintf(to, "sep=%c%s", s->delimiter, line);
  for (int row = -1; row < t->rows; row++) {
    bool first = true;
    for (int i = 0; i < COLUMNS - (row == f->short_row && row >= 0); i++) {
      char text[FIELD];
      if (s->order[i] == f->missing_column) continue;
      if (row < 0)
        snprintf(text, sizeof text, "%s", HEADERS[t->kind][s->order[i]]);
      else
        cell_of(t, s, row, s->order[i], text);
      bool bad = row >= 0 && row == f->bad_row && s->order[i] == (t->kind == NUMBERS ? 1 : 2);
      if (!first) *to++ = s->delimiter;
      to = write_field(s, bad ? "no number" : text, to);
      first = false;
    }
    if (row + 1 < t->rows || !s->no_end) to += sprintf(to, "%s", line);
    if (s->blank_lines && row % 5 == 1) to += sprintf(to, "%s", line);
  }
  *to = '\0';
}

/* ---- what is read ---- */

static void check_features(const truth *t, const filtra_dataset *ds, int table) {
  for (int k = 0; k < 2; k++) {
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (int i = 0; i < t->rows; i++)
      if (!k || !t->missing[i]) {
        sum += t->numbers[i][k];
        count += 1.0;
      }
    for (int i = 0; i < t->rows; i++)
      if (!k || !t->missing[i]) squares += pow(t->numbers[i][k] - sum / count, 2.0);
    for (int i = 0; i < t->rows; i++) {
      float x[8];
      const bool missing = k && t->missing[i];
      double wanted =
          missing ? 0.0 : (t->numbers[i][k] - sum / count) / sqrt(squares / (count - 1));
      assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, (uint64_t)i, x));
      if (fabs(fmin(fabs((double)x[0] - wanted), fabs((double)x[1] - wanted))) > 1e-4)
        fail_msg("table %d: row %d: %g is read as %g, %g", table, i, wanted, (double)x[0],
                 (double)x[1]);
    }
  }
}

static void check_target(const truth *t, const filtra_dataset *ds, int table, int i) {
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, (uint64_t)i);
  if (t->without_targets) {
    assert_true(s.label == -1 || isnan(s.value));
    return;
  }
  if (t->kind == TEXT_VALUE && s.value != (float)t->values[i])
    fail_msg("table %d: row %d: %g is read as %g", table, i, t->values[i], (double)s.value);
  if (t->kind != TEXT_VALUE)
    assert_string_equal(filtra_dataset_class_name(ds, (uint32_t)s.label), t->classes[i]);
}

static void check_table(const truth *t, const char *path, const filtra_dataset_options *o,
                        int table) {
  owned_dataset *ds = NULL;
  filtra_status status = filtra_dataset_open(path, o, &ds);
  if (status != (t->refused ? FILTRA_ERROR_INPUT : FILTRA_OK))
    fail_msg("table %d, %s: %s: %s", table, path, t->refused ? t->refused : "it can be read",
             status ? filtra_error_message() : "it is read");
  if (t->refused) {
    assert_non_null(strstr(filtra_error_message(), path));
    return;
  }
  test_counts(ds, 0, 0, (uint64_t)t->rows);
  for (int i = 0; i < t->rows; i++) {
    check_target(t, ds, table, i);
    if (t->kind == NUMBERS) continue;
    if (strcmp(test_row_text(ds, FILTRA_SPLIT_TEST, (size_t)i), t->texts[i]) != 0)
      fail_msg("table %d: row %d: \"%s\" is read as \"%s\"", table, i, t->texts[i],
               test_row_text(ds, FILTRA_SPLIT_TEST, (size_t)i));
    assert_string_equal(test_sample(ds, FILTRA_SPLIT_TEST, (uint64_t)i).name, t->names[i]);
  }
  if (t->kind == NUMBERS) check_features(t, ds, table);
}

/* ---- what is kept for pandas ---- */

static json_t *sample_read(const filtra_dataset *ds, size_t i) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  const filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, i);
  json_t *sample = json_object(), *numbers = json_array();
  float x[8];
  json_object_set_new(sample, "name", s.name ? json_string(s.name) : json_null());
  if (info->target == FILTRA_TARGET_VALUE)
    json_object_set_new(sample, "value", isnan(s.value) ? json_null() : json_real(s.value));
  else
    json_object_set_new(
        sample, "label",
        s.label < 0 ? json_null() : json_string(filtra_dataset_class_name(ds, (uint32_t)s.label)));
  if (info->features) {
    assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, i, x));
    for (uint32_t k = 0; k < s.length * info->features; k++)
      json_array_append_new(numbers, json_real(x[k]));
  } else
    json_object_set_new(sample, "text", json_string(test_row_text(ds, FILTRA_SPLIT_TEST, i)));
  json_object_set_new(sample, "numbers", numbers);
  return sample;
}

/* Writes read.json beside a table. */
static void keep_reading(const style *s, const filtra_dataset_options *o, const char *path) {
  filtra_dataset *ds = NULL;
  json_t *samples = json_array();
  const filtra_status status = filtra_dataset_open(path, o, &ds);
  for (size_t i = 0; !status && i < filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST]; i++)
    json_array_append_new(samples, sample_read(ds, i));
  filtra_dataset_close(&ds);
  json_auto_t *root = json_pack("{ss ss# ss sb sb sb so}", "path", path, "delimiter", &s->delimiter,
                                1, "decimal", s->comma ? "," : ".", "blanks", (int)s->spaces,
                                "said", (int)s->said, "refused", status != 0, "samples", samples);
  const char *slash = strrchr(path, '/');
  const char *to = test_text("%.*s/read.json", (int)(slash - path), path);
  assert_int_equal(json_dump_file(root, to, JSON_INDENT(1)), 0);
}

/* ---- one hundred ---- */

static fault draw_fault(ft_rng *rng, truth *t, bool unlabelled) {
  fault f = {-1, -1, -1};
  const int row = 3 + (int)ft_rng_below(rng, (uint32_t)t->rows - 3);
  switch (ft_rng_below(rng, 6)) {
  case 0:
    f.missing_column = 2;
    t->without_targets = unlabelled;
    if (!unlabelled) t->refused = "there is no target";
    break;
  case 1:
    f.missing_column = 1;
    if (t->kind != NUMBERS) t->refused = "there is no text";
    break;
  case 2:
    f.short_row = row;
    t->refused = "a row is short";
    break;
  case 3:
    f.bad_row = row;
    if (t->kind == TEXT_VALUE) t->refused = "a target is no number";
  }
  return f;
}

TEST(test_mutated_tables) {
  const char *seed = getenv("FILTRA_TEST_SEED"), *keep = getenv("FILTRA_TEST_KEEP");
  ft_rng rng = ft_rng_make(seed && *seed ? strtoull(seed, NULL, 10) : 20261126, 31);
  static char text[ROWS * COLUMNS * FIELD * 3];
  static truth t;
  int read = 0;
  for (int i = 0; i < TABLES; i++) {
    style s = {0};
    memset(&t, 0, sizeof t);
    t.kind = (kind)(i % 3);
    draw_truth(&rng, &t);
    draw_style(&rng, &s);
    const bool unlabelled = chance(&rng, 2);
    fault f = chance(&rng, 3) ? draw_fault(&rng, &t, unlabelled) : (fault){-1, -1, -1};
    if (t.kind == NUMBERS && (f.missing_column == 1 || f.bad_row >= 0)) f = (fault){-1, -1, -1};
    if (f.bad_row >= 0 && t.kind == TEXT_CLASS) strcpy(t.classes[f.bad_row], "no number");
    write_table(&t, &s, &f, text);
    const char *name = s.delimiter == '\t' && i % 2 ? "t.tsv" : "t.csv";
    const char *folder = keep ? test_text("%s/%d", keep, i) : test_folder();
    const filtra_dataset_options o = {.file_split = FILTRA_SPLIT_TEST,
                                      .unlabelled = unlabelled,
                                      .text_column = f.missing_column == 1 ? "text" : NULL,
                                      .feature_columns = t.kind == NUMBERS ? "length,width" : NULL};
    owned char *path = strdup(test_write_text(folder, name, text));
    if (keep) keep_reading(&s, &o, path);
    check_table(&t, path, &o, i);
    read += !t.refused;
  }
  assert_between(read, TABLES / 2, TABLES - 5);
}

TEST_MAIN(NULL, test_teardown)
