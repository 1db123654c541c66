/* Delimiters and quotes: which character separates fields, and what a quote means. */
#include "base/file.h"
#include "data/rows.h"
#include "support/files.h"
#include "support/harness.h"

enum { ROWS = 4 };

/* Files, the fields of whose second row are known. */
static const struct {
  const char *name, *text;
  const char *fields; /* with | between */
} files[] = {
    /* semicolons, with commas in the text */
    {"a.csv", "April 1, 2023;0\nApril 2, 2023;1\nMay 12, 2023;0\n", "April 2, 2023|1"},
    {"a.csv", "text;label\nWell, it is bad, really;0\nGood;1\n", "Well, it is bad, really|0"},
    {"a.csv", "\"text, raw\";label\nWell, bad;0\nWell, good;1\n", "Well, bad|0"},
    {"a.csv", "Well, bad, really;0\nWell, good, really;1\n", "Well, good, really|1"},
    {"a.csv", "x;y\n0,5;1\n0,25;2\n", "0,5|1"},
    {"a.csv", "0,5;1,5\n0,25;2,5\n", "0,25|2,5"},
    {"a.csv", "a,b;c,d\n1,2;3,4\n5;6,7\n", "1,2|3,4"},
    {"a.txt", "text;label\nfine;1\nso, so;0\n", "fine|1"},
    /* commas, with semicolons in the text */
    {"a.csv", "text,label\na; b,0\nc; d,1\n", "a; b|0"},
    {"a.csv", "one; two,0\nthree; four,1\n", "three; four|1"},
    {"a.csv", "\"a;b\",0\n\"c;d\",1\n", "c;d|1"},
    {"a.csv", "text,label\n\"a;\nb\",0\n\"c\",1\n", "a;\nb|0"},
    {"a.csv", "text, label\na, 0\nb, 1\n", "a| 0"},
    /* pipes and tabs */
    {"a.csv", "text|label\nso, so|0\nfine|1\n", "so, so|0"},
    {"a.txt", "text|label\nso; so|0\nfine|1\n", "so; so|0"},
    {"a.dat", "1|2|3\n4|5|6\n", "4|5|6"},
    {"a.csv", "text\tlabel\nso, so\t0\nfine\t1\n", "so, so|0"},
    {"a.tsv", "text\tlabel\nso, so\t0\nfine, fine\t1\n", "so, so|0"},
    {"a.txt", "a, b\t0\nc, d\t1\n", "c, d|1"},
    /* what a first line says */
    {"a.csv", "sep=;\na,b;0\nc,d;1\n", "c,d|1"},
    {"a.csv", "\xef\xbb\xbfsep=,\r\na;b,0\r\nc;d,1\r\n", "c;d|1"},
    {"a.csv", "SEP=|\na;b,x|0\nc;d,y|1\n", "c;d,y|1"},
    {"a.csv", "sep=\t\na,b\t0\nc,d\t1\n", "c,d|1"},
    {"a.csv", "sep=;x\na;b\n", "a|b"}, /* a row like others */
    /* quotes */
    {"a.csv", "text,label\n\"He said \"\"no\"\"\",0\n", "He said \"no\"|0"},
    {"a.csv", "text,label\nHe said \"no\",0\n", "He said \"no\"|0"},
    {"a.tsv", "text\tlabel\n\"He said \"\"no\"\" 0\"\t0\n\"x\"\t1\n", "He said \"no\" 0|0"},
    {"a.tsv", "text\tlabel\n\"a\tb\"\t0\nplain\t1\n", "a\tb|0"},
    {"a.tsv", "text\tlabel\n\"two\nlines\"\t0\n\"\"\"x\"\"\"\t1\n", "two\nlines|0"},
    {"a.tsv", "text\tlabel\n\"\"\"quoted\"\"\"\t0\nplain\t1\n", "\"quoted\"|0"},
    {"a.tsv", "text\tlabel\n\"lone\t0\nplain\t1\n", "\"lone|0"},
    {"a.tsv", "text\tlabel\n\"He\" said\t0\nplain\t1\n", "\"He\" said|0"},
    {"a.tsv", "text\tlabel\n\"whole\"\t0\n\"lone\t1\n", "\"whole\"|0"},
    {"a.tsv", "text\tlabel\n5\" nails\t0\nplain\t1\n", "5\" nails|0"},
    /* blanks around quotes, as pandas' skipinitialspace reads them */
    {"a.csv", "text, label\n\"a, b\", \"x\"\n\"c\", \"y\"\n", "a, b|x"},
    {"a.csv", "label, text\nx, \"a, b\"\ny, \"c\"\n", "x|a, b"},
    {"a.csv", "label; text\nx ;  \"a; b\" \ny; \"c\"\n", "x |a; b"},
    {"a.csv", "label, text\nx, \"two\nlines\"\ny, \"c\"\n", "x|two\nlines"},
    {"a.csv", "label, text\nx, \"no\" again\ny, c\n", "x| \"no\" again"},
    {"a.tsv", "text\tlabel\n \"a\"\t0\nplain\t1\n", " \"a\"|0"},
};

static void join_row(const ft_row_reader *rows, char *text, size_t size) {
  *text = '\0';
  for (size_t i = 0; i < rows->count; i++)
    snprintf(text + strlen(text), size - strlen(text), "%s%s", i ? "|" : "", rows->fields[i]);
}

TEST(test_which_delimiter) {
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(files); i++) {
    ft_row_reader rows;
    bool more;
    char got[256];
    assert_ok(ft_rows_open(test_write_text(folder, files[i].name, files[i].text), (ft_row_form){0},
                           &rows));
    assert_ok(ft_rows_next(&rows, &more));
    assert_ok(ft_rows_next(&rows, &more));
    if (more) join_row(&rows, got, sizeof got);
    ft_rows_close(&rows);
    if (!more || strcmp(got, files[i].fields) != 0)
      fail_msg("file %zu, \"%s\", is read as \"%s\"", i, files[i].text, more ? got : "nothing");
  }
}

TEST(test_a_delimiter_can_be_given) {
  ft_row_reader rows;
  bool more;
  const char *path = test_write_text(test_folder(), "a.csv", "a;b,c|d\ne;f,g|h\n");
  static const char given[] = ",;|";
  static const char *const first[] = {"a;b", "a", "a;b,c"};
  for (size_t i = 0; i < 3; i++) {
    assert_ok(ft_rows_open(path, (ft_row_form){.delimiter = given[i]}, &rows));
    assert_ok(ft_rows_next(&rows, &more));
    assert_string_equal(rows.fields[0], first[i]);
    ft_rows_close(&rows);
  }
  assert_fails(ft_rows_open(path, (ft_row_form){0}, &rows), FILTRA_ERROR_INPUT,
               "a.csv: a comma gives each row equally many fields, and so does a semicolon");
  owned_dataset *ds =
      test_open_dataset(test_write_text(test_folder(), "b.csv", "a;b,0\nc;d,1\n"), "table",
                        &(filtra_dataset_options){.delimiter = FILTRA_DELIMITER_COMMA,
                                                  .file_split = FILTRA_SPLIT_TEST});
  assert_string_equal(test_row_text(ds, FILTRA_SPLIT_TEST, 1), "c;d");
}

/* Only the first rows decide: a quoted field may continue after them. */
TEST(test_long_files) {
  enum { LINES = 600 };
  owned char *text = calloc(LINES, 32);
  char *to = text + sprintf(text, "text;label\n");
  for (int i = 0; i < LINES; i++) /* fields of 100 lines */
    to += sprintf(to, i % 100 ? "a, %d\n" : i ? "\";1\n\"b, %d\n" : "\"b, %d\n", i);
  strcpy(to, "\";1\n");
  ft_row_reader rows;
  bool more;
  assert_ok(ft_rows_open(test_write_text(test_folder(), "a.csv", text), (ft_row_form){0}, &rows));
  assert_int_equal(rows.delimiter.character, ';');
  assert_ok(ft_rows_next(&rows, &more));
  ft_rows_close(&rows);
}

/* Rows of the first field and the second, with commas between. */
static const char *fields_of(const char *name, const char *text, ft_row_form form) {
  static char all[256];
  ft_row_reader rows;
  bool more = true;
  *all = '\0';
  assert_ok(ft_rows_open(test_write_text(test_folder(), name, text), form, &rows));
  for (assert_ok(ft_rows_next(&rows, &more)); more; assert_ok(ft_rows_next(&rows, &more)))
    snprintf(all + strlen(all), sizeof all - strlen(all), "[%s|%s]", rows.fields[0],
             rows.fields[1]);
  ft_rows_close(&rows);
  return all;
}

/* As pandas' QUOTE_NONE and its default read them. */
TEST(test_quoting_that_is_said) {
  const ft_row_form none = {.quoting = FILTRA_QUOTING_NONE},
                    full = {.quoting = FILTRA_QUOTING_FULL};
  static const char quoted[] = "\"a\"\tx\n\"b\tc\"\ty\n";
  assert_string_equal(fields_of("a.tsv", quoted, none), "[\"a\"|x][\"b|c\"]");
  assert_string_equal(fields_of("a.tsv", quoted, full), "[a|x][b\tc|y]");
  assert_string_equal(fields_of("a.csv", "\"a,x\nb\",y\n", none), "[\"a|x][b\"|y]");
  assert_string_equal(fields_of("a.tsv", "\"a\nb\"\tx\nplain\ty\n", full), "[a\nb|x][plain|y]");
}

static void keep_message(void *user, filtra_log_level level, const char *message) {
  (void)level;
  snprintf(user, 256, "%s", message);
}

/* What goes wrong by quotes says how to read the file line by line, and so it is read. */
TEST(test_quoting_is_advised) {
  static const struct {
    const char *name, *text, *part;
  } wrong[] = {{"a.csv", "text,label\n\"a,x\n",
                "a.csv:2: a quote that is not closed; where quotes are text"},
               {"a.csv", "text,label\n\"a\" b,x\n", "where quotes are text, set quoting to none"}};
  filtra_dataset_options o = {.file_split = FILTRA_SPLIT_TEST};
  for (size_t i = 0; i < 2; i++)
    test_refuse_dataset(test_write_text(test_folder(), wrong[i].name, wrong[i].text), &o,
                        wrong[i].part);
  owned char *late = calloc(400, 16); /* behind the rows that decide */
  strcpy(late, "\"a\"\tb\tx\n");
  for (int i = 0; i < 300; i++)
    strcat(late, "a\tb\ty\n");
  strcat(late, "\"a\tb\"\tx\n");
  const char *path = test_write_text(test_folder(), "a.tsv", late);
  o.text_column = "2";
  o.target_column = "3";
  test_refuse_dataset(path, &o, "a.tsv:302: 2 fields where the first row has 3; where quotes are");
  o.quoting = FILTRA_QUOTING_NONE;
  assert_ok(test_try_dataset(path, &o));
  path = test_write_text(test_folder(), "a.tsv", "a\tb\tx\na\tb\ty\tmore\n");
  o.quoting = FILTRA_QUOTING_AUTO;
  test_refuse_dataset(path, &o, "4 fields where the first row has 3; quoting none leaves out");
  o.quoting = FILTRA_QUOTING_NONE;
  char warned[256] = "";
  filtra_log_set(keep_message, warned);
  filtra_status status = test_try_dataset(path, &o);
  filtra_log_set(NULL, NULL);
  assert_ok(status);
  assert_non_null(strstr(warned, "1 row has more fields than the first, as in line 2"));
}

TEST(test_other_encodings) {
  const char *folder = test_folder();
  test_refuse_dataset(test_write_bytes(folder, "a.csv", "\xff\xfet\0e\0x\0t\0,\0y\0\n\0", 16), NULL,
                      "a.csv: text in UTF-16; save it as UTF-8");
  test_refuse_dataset(test_write_bytes(folder, "a.csv", "\xfe\xff\0t\0e\0x\0t\0,\0y\0\n", 16), NULL,
                      "a.csv: text in UTF-16; save it as UTF-8");
  test_refuse_dataset(test_write_bytes(folder, "a.csv", "t\0e\0x\0t\0,\0y\0\n\0", 14), NULL,
                      "a.csv:1: a NUL byte; is this a text file?");
  test_refuse_dataset(test_write_text(folder, "a.csv",
                                      "te\xe9xt,l\xe9"
                                      "bel,label\na,1,x\nb,2,y\n"),
                      NULL, "a.csv:1: the name of column 1 is no UTF-8");
}

TEST_MAIN(NULL, test_teardown)
