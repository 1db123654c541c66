/* The table of docs/tables.md: what is read, and what is refused with which message. Its rows are
 * the files below, read here; with FILTRA_WRITE_DOCS, which the build target docs-tables sets, the
 * page is written. */
#include "base/file.h"
#include "support/files.h"
#include "support/harness.h"

static const struct {
  const char *title, *name, *text, *keys;
  filtra_dataset_options options;
} files[] = {
    {"text and class", "a.csv", "text,label\nwell done,good\nnot so,bad\n", "", {0}},
    {"quotes", "a.csv", "text,label\n\"well, \"\"done\"\"\",good\nnot so,bad\n", "", {0}},
    {"quotes among tabs", "a.tsv", "text\tlabel\n\"say \"\"no\"\"\"\tx\nplain\ty\n", "", {0}},
    {"a lone quote among tabs", "a.tsv", "text\tlabel\n\"lone\tx\nplain\ty\n", "", {0}},
    {"semicolons", "a.csv", "April 1, 2023;x\nMay 2, 2023;y\n", "", {0}},
    {"pipes", "a.csv", "text|label\nso, so|x\nfine|y\n", "", {0}},
    {"a line that says it", "a.csv", "sep=;\na,b;x\nc,d;y\n", "", {0}},
    {"two delimiters fit", "a.csv", "a;b,c\nd;e,f\n", "", {0}},
    {"it is said",
     "a.csv",
     "a;b,c\nd;e,f\n",
     "delimiter=comma",
     {.delimiter = FILTRA_DELIMITER_COMMA}},
    {"UTF-16", "a.csv", "\xff\xfet,y", "", {0}},
    {"carriage returns alone", "a.csv", "text,label\ra,x\rb,y\r", "", {0}},
    {"a row too short", "a.csv", "text,label\na,x\nb\n", "", {0}},
    {"decimal commas", "a.csv", "text;value\na;0,5\nb;1.000,25\n", "", {0}},
    {"thousands", "a.csv", "text;value\na;1,000.5\nb;12\n", "", {0}},
    {"a point that could be either", "a.csv", "text;value\na;1.000\nb;900\n", "", {0}},
    {"a comma that could be either", "a.csv", "text;value\na;1,000\nb;2,500\n", "", {0}},
    {"it is said",
     "a.csv",
     "text;value\na;1,000\nb;2,500\n",
     "decimal=comma",
     {.decimal = FILTRA_DECIMAL_COMMA}},
    {"points and commas", "a.csv", "text;value\na;1.5\nb;2,5\n", "", {0}},
    {"per cent", "a.csv", "text,value\na,12%\nb,0.5 %\n", "", {0}},
    {"money", "a.csv", "text,value\na,$3.50\nb,-$7\n", "", {0}},
    {"two currencies",
     "a.csv",
     "text,value\na,$3.50\nb,\xe2\x82\xac"
     "7.5\n",
     "",
     {0}},
    {"minus signs",
     "a.csv",
     "text,value\na,\xe2\x88\x92"
     "0.5\nb,1\n",
     "",
     {0}},
    {"numbers too close",
     "a.csv",
     "text,value\na,9007199254740993.5\nb,9007199254740994.5\n",
     "",
     {0}},
    {"a target that is no number", "a.csv", "text,value\na,0.5\nb,12 kg\n", "", {0}},
    {"a missing target", "a.csv", "text,value\na,0.5\nb,NA\n", "", {0}},
    {"whole numbers", "a.csv", "text,y\na,30\nb,41\n", "", {0}},
    {"whole numbers to predict",
     "a.csv",
     "text,y\na,30\nb,41\n",
     "task=regression",
     {.targets = FILTRA_TARGETS_VALUES}},
    {"several labels", "a.csv", "text,tags\na,cats;sun\nb,sun;rain\nc,cats;rain\n", "", {0}},
    {"they are said",
     "a.csv",
     "text,tags\na,cats;sun\nb,\nc,cats;rain\n",
     "task=multi_label",
     {.targets = FILTRA_TARGETS_LABELS}},
    {"labels in columns",
     "a.csv",
     "text,cats,sun\na,1,0\nb,1,1\n",
     "target_column=cats,sun",
     {.target_column = "cats,sun"}},
    {"some are unknown",
     "a.csv",
     "text,cats,sun\na,1,0\nb,,1\nc,0,NA\n",
     "target_column=cats,sun",
     {.target_column = "cats,sun"}},
    {"unknown or 0",
     "a.csv",
     "text,cats,sun\na,1,0\nb,,1\n",
     "target_column=cats,sun",
     {.target_column = "cats,sun"}},
    {"no target", "a.csv", "id,text\n1,a\n2,b\n", "", {0}},
    {"no text", "a.csv", "id,label\n1,x\n2,y\n", "", {0}},
    {"columns of numbers", "a.csv", "id,a,b,y\n1,0.5,10,x\n2,1.5,,y\n3,2.5,30,x\n", "", {0}},
    {"numbers and categories", "a.csv", "a,colour,y\n1,red,x\n2,blue,y\n3,red,x\n", "", {0}},
    {"numbers without header", "a.csv", "5.1,3.5,setosa\n7,3.2,virginica\n", "", {0}},
    {"numbers without a target's name", "a.csv", "a,b,c\n1,2,3\n4,5,6\n", "", {0}},
    {"it is said",
     "a.csv",
     "a,b,c\n1,2,3\n4,5,6\n",
     "target_column=b feature_columns=a",
     {.target_column = "b", .feature_columns = "a"}},
    {"rows of series",
     "a.csv",
     "who,day,a,y\np,2,5,x\nq,1,1,z\np,1,3,x\n",
     "group_column=who time_column=day",
     {.group_column = "who", .time_column = "day"}},
    {"a series of two targets",
     "a.csv",
     "who,a,y\np,5,x\np,3,z\n",
     "group_column=who",
     {.group_column = "who"}},
    {"JSON Lines",
     "a.jsonl",
     "{\"text\": \"well, \\\"done\\\"\", \"label\": \"good\"}\n"
     "{\"label\": \"bad\", \"text\": \"not so\"}\n",
     "",
     {0}},
    {"numbers in JSON, which have a decimal point",
     "a.jsonl",
     "{\"text\": \"a\", \"value\": 1.125}\n{\"text\": \"b\", \"value\": 2e3}\n",
     "",
     {0}},
    {"null, and a key that is missing",
     "a.jsonl",
     "{\"a\": 1, \"b\": true, \"y\": \"x\"}\n{\"a\": null, \"b\": false, \"y\": \"z\"}\n"
     "{\"b\": true, \"y\": \"x\"}\n",
     "",
     {0}},
    {"a key that the first line lacks",
     "a.jsonl",
     "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 2, \"more\": \"c\"}\n",
     "",
     {0}},
    {"values within values", "a.jsonl", "{\"text\": [\"a\", \"b\"], \"label\": 1}\n", "", {0}},
    {"a line that is cut", "a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\n", "", {0}},
    {"one array instead of lines", "a.jsonl", "[{\"text\": \"a\", \"label\": 1}]\n", "", {0}},
};

/* ---- rows ---- */

/* Writes text in a cell of a table. */
static void write_cell(FILE *to, const char *text) {
  for (; *text; text++)
    if (*text == '\n')
      fputs("\u23ce", to);
    else if (*text == '\t')
      fputs("\u21e5", to);
    else if (*text == '\r')
      fputs("\u240d", to);
    else if (*text == '|')
      fputs("\\|", to);
    else if (*text == '\xff' || *text == '\xfe')
      fprintf(to, "\\x%02x", (unsigned char)*text);
    else
      fputc(*text, to);
}

static void write_target(FILE *to, const filtra_dataset *ds, const filtra_sample *s) {
  if (filtra_dataset_get_info(ds)->target == FILTRA_TARGET_VALUE)
    fprintf(to, "%g", (double)s->value);
  else if (filtra_dataset_get_info(ds)->target == FILTRA_TARGET_CLASS)
    fprintf(to, "%s", filtra_dataset_class_name(ds, (uint32_t)s->label));
  for (uint32_t i = 0; i < s->label_count + s->unknown_count; i++)
    fprintf(to, "%s%s%s", i ? " + " : "", filtra_dataset_class_name(ds, (uint32_t)s->labels[i]),
            i < s->label_count ? "" : "?");
}

static void write_sample(FILE *to, const filtra_dataset *ds, uint64_t i) {
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, i);
  if (s.name) fprintf(to, "%s: ", s.name);
  if (s.tokens) {
    fputs("\"", to);
    write_cell(to, test_row_text(ds, FILTRA_SPLIT_TEST, i));
    fputs("\"", to);
  } else {
    const uint32_t features = filtra_dataset_get_info(ds)->features;
    fprintf(to, "%u step%s of %u", s.length, s.length == 1 ? "" : "s", features);
  }
  fputs(" \u2192 ", to);
  write_target(to, ds, &s);
}

static void write_outcome(FILE *to, const char *path, const filtra_dataset_options *o) {
  owned_dataset *ds = NULL;
  if (filtra_dataset_open(path, o, &ds)) {
    const char *message = filtra_error_message(), *slash = strrchr(path, '/');
    const char *file = strstr(message, slash);
    fputs("**refused:** ", to);
    write_cell(to, file ? file + 1 : message);
    return;
  }
  for (uint64_t i = 0; i < filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST]; i++) {
    if (i) fputs("; ", to);
    write_sample(to, ds, i);
  }
}

static void write_rows(FILE *to) {
  const char *folder = test_folder();
  fputs("\n| what | file | keys | becomes |\n|---|---|---|---|\n", to);
  for (size_t i = 0; i < FT_COUNT(files); i++) {
    filtra_dataset_options options = files[i].options;
    options.file_split = FILTRA_SPLIT_TEST;
    fprintf(to, "| %s | ", files[i].title);
    write_cell(to, files[i].text);
    fprintf(to, " | %s | ", files[i].keys);
    write_outcome(to, test_write_text(folder, files[i].name, files[i].text), &options);
    fputs(" |\n", to);
  }
}

TEST(test_page) {
  test_written_page("tables", write_rows);
}

TEST_MAIN(NULL, test_teardown)
