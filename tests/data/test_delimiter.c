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
    assert_ok(ft_rows_open(test_write_text(folder, files[i].name, files[i].text), 0, &rows));
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
    assert_ok(ft_rows_open(path, given[i], &rows));
    assert_ok(ft_rows_next(&rows, &more));
    assert_string_equal(rows.fields[0], first[i]);
    ft_rows_close(&rows);
  }
  assert_fails(ft_rows_open(path, 0, &rows), FILTRA_ERROR_INPUT,
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
  assert_ok(ft_rows_open(test_write_text(test_folder(), "a.csv", text), 0, &rows));
  assert_int_equal(rows.delimiter.character, ';');
  assert_ok(ft_rows_next(&rows, &more));
  ft_rows_close(&rows);
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
