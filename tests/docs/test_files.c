/* The tables of docs/files.md: which images, series, sequences and arrays are read, and which are
 * refused with which message. Its rows are the files below, opened here; with FILTRA_WRITE_DOCS,
 * which the build target docs-files sets, the page is written. */
#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

enum { MOST_FILES = 4, SHOWN = 2 };

/* A file of a text, or of the bytes of a seed in tests/fuzz/readers. */
typedef struct file {
  const char *name, *text, *seed;
} file;

typedef struct row {
  const char *title;
  file files[MOST_FILES]; /* one is opened by its path, more as a folder */
  bool folder;            /* opens the folder of one, too */
  filtra_dataset_options options;
} row;

#define RGB                                                                                        \
  { .pixels = FILTRA_PIXELS_RGB, .normalize = FILTRA_NORMALIZE_IMAGENET }
#define PREDICT                                                                                    \
  { .unlabelled = true }
#define GREY(path)                                                                                 \
  { path, NULL, "png/grey" }
#define TS(head) "@timeStamps true\n@data\n" head

static const row images[] = {
    {"PNG, a folder per class", {GREY("a/0.png"), GREY("b/0.png")}},
    {"splits by other names", {GREY("Training/a/0.png"), GREY("TEST/a/0.png")}},
    {"splits without classes", {GREY("test1/0.png"), GREY("train/0.png")}},
    {"two folders of a split", {GREY("train/a/0.png"), GREY("training/a/0.png")}},
    {"images beside the splits", {GREY("train/a/0.png"), GREY("more/0.png")}},
    {"files that systems add",
     {GREY("a/0.png"), {"a/Thumbs.db", "x"}, {"__MACOSX/a/._0.png", "x"}, {".DS_Store", "x"}}},
    {"another kind of file", {GREY("a/0.png"), {"a/1.gif", "GIF89a"}}},
    {"a class name in Latin-1", {GREY("caf\xe9/0.png"), GREY("a/0.png")}},
    {"JPEG in CMYK", {{"a/0.jpg", NULL, "jpeg/cmyk"}}, .folder = true, .options = RGB},
    {"JPEG turned by EXIF", {{"a/0.jpg", NULL, "jpeg/turned"}}, .folder = true, .options = RGB},
    {"a file that is no image", {{"a/0.png", "no image"}}, .folder = true, .options = RGB},
    {"a PNG that is cut", {{"a/0.png", "\x89PNG\r\n\x1a\n"}}, .folder = true, .options = RGB},
    {"images without classes", {GREY("0.png"), GREY("1.png")}},
    {"the same, to be predicted", {GREY("0.png"), GREY("1.png")}, .options = PREDICT},
    {"one image, to be predicted", {GREY("0.png")}, .options = PREDICT},
};

static const row sequences[] = {
    {"the class in the header", {{"a.fasta", ">s1|x\nACGT\n>s2 y\nGGn\n"}}},
    {"the class in the file's name", {{"x_train.fa", ">s1\nACGT\n"}, {"y_train.fa", ">s2\nGG\n"}}},
    {"comments, a blank line, lower case",
     {{"a.fa", "\n; by hand\n>s1 x\nac\n#\ngt\n>s2 y\nGG\n"}}},
    {"proteins", {{"a.fa", ">s1 x\nMKTAYIAK\n>s2 y\nGHSL\n"}}},
    {"proteins in letters of nucleotides", {{"a.fa", ">s1 x\nACGHKM\n>s2 y\nRSTV\n"}}},
    {"the same, `tokenizer` characters",
     {{"a.fa", ">s1 x\nACGHKM\n>s2 y\nRSTV*\n"}},
     .options = {.tokenizer = "characters"}},
    {"no class", {{"a.fa", ">s1\nACGT\n"}}},
    {"no class, to be predicted", {{"a.fa", ">s1\nACGT\n"}}, .options = PREDICT},
};

static const row series[] = {
    {".ts: values and class", {{"a.ts", "@data\n1,2,?:a\n3,4:b\n"}}},
    {".ts: target numbers", {{"a.ts", "@targetlabel true\n@data\n1,2:0.5\n"}}},
    {".ts: time stamps at equal steps", {{"a.ts", TS("(0,5),(2,6),(4,7):a\n")}}},
    {".ts: dates", {{"a.ts", TS("(2004-10-01 12:00:00,5),(2004-10-01 12:30:00,6):a\n")}}},
    {".ts: numbers too close for 32 bits", {{"a.ts", "@data\n1e9,1000000003:a\n1000000001:b\n"}}},
    {".ts: unequal steps", {{"a.ts", TS("(0,5),(1,6),(4,7):a\n")}}},
    {".ts: no classes", {{"a.ts", "@classLabel false\n@data\n1,2\n"}}},
    {".ts: no classes, to be predicted",
     {{"a.ts", "@classLabel false\n@data\n1,2\n"}},
     .options = PREDICT},
    {".ts: an unknown class", {{"a.ts", "@data\n1,2:a\n1,2:?\n"}}},
    {".ts: an unknown class, to be predicted",
     {{"a.ts", "@data\n1,2:a\n1,2:?\n"}},
     .options = PREDICT},
    {"UCR, tabs", {{"N_TRAIN.tsv", "1\t0.5\t2\t3\n2\t1\tNaN\tNaN\n"}}},
    {"UCR, spaces", {{"N_TRAIN.txt", "  1.0000000e+00  0.5  2\n -1.0000000e+00  1 3\n"}}},
    {"UCR, commas", {{"N_TRAIN.csv", "1,0.5,2\n2,1,3\n"}}},
    {"UCR, a class that is no whole number", {{"N_TRAIN.tsv", "1\t2\t3\n1.5\t2\t3\n"}}},
};

static const row arrays[] = {
    {"X float32 (2, 2), y int16", {{"X.npy", NULL, "npy/X-float"}, {"y.npy", NULL, "npy/y-int"}}},
    {"X_train, y_train, X_test, y_test",
     {{"X_train.npy", NULL, "npy/X-float"},
      {"y_train.npy", NULL, "npy/y-int"},
      {"X_test.npy", NULL, "npy/X-float"},
      {"y_test.npy", NULL, "npy/y-int"}}},
    {".npz", {{"a.npz", NULL, "npz/deflated"}}},
    {"float targets", {{"X.npy", NULL, "npy/X-float"}, {"y.npy", NULL, "npy/X-column"}}},
    {"X without y", {{"X.npy", NULL, "npy/X-float"}}},
    {"X without y, to be predicted", {{"X.npy", NULL, "npy/X-float"}}, .options = PREDICT},
    {"Python objects", {{"X.npy", NULL, "npy/X-float"}, {"y.npy", NULL, "npy/y-object"}}},
    {"labels float32 (2, 3) of 0, 1 and NaN",
     {{"X.npy", NULL, "npy/X-float"}, {"y.npy", NULL, "npy/y-labels"}}},
    {"two target values a sample",
     {{"X.npy", NULL, "npy/X-float"}, {"y.npy", NULL, "npy/X-float"}}},
    {"more targets than samples",
     {{"X.npy", NULL, "npy/X-column"}, {"y.npy", NULL, "npy/y-three"}}},
};

/* ---- rows ---- */

static const char *write_files(const row *r) {
  const char *folder = test_folder(), *path = NULL;
  size_t count = 0;
  for (; count < MOST_FILES && r->files[count].name; count++) {
    const file *f = &r->files[count];
    size_t size = f->text ? strlen(f->text) : 0;
    owned char *seed =
        f->text ? NULL : test_read(test_text(TEST_SOURCE_DIR "/fuzz/readers/%s", f->seed), &size);
    test_write_bytes(folder, f->name, f->text ? f->text : seed, size);
    path = test_path(folder, f->name);
  }
  return count == 1 && !r->folder ? path : folder;
}

/* Writes text without the folder's name, in a cell of a table. */
static void write_cell(FILE *to, const char *text, const char *folder) {
  size_t length = strlen(folder);
  for (; *text; text++) {
    if (!strncmp(text, folder, length)) {
      text += length;
      if (*text != '/') fputs("the folder", to);
      if (*text != '/') text--;
    } else if (*text == '|') {
      fputs("\\|", to);
    } else {
      fputc(*text, to);
    }
  }
}

static void write_target(FILE *to, const filtra_dataset *ds, const filtra_sample *s) {
  if (filtra_dataset_get_info(ds)->target == FILTRA_TARGET_VALUE)
    fprintf(to, "%g", (double)s->value);
  else if (s->label < 0)
    fputs("unknown", to);
  else if (filtra_dataset_get_info(ds)->target == FILTRA_TARGET_CLASS)
    fputs(filtra_dataset_class_name(ds, (uint32_t)s->label), to);
  for (uint32_t i = 0; i < s->label_count + s->unknown_count; i++)
    fprintf(to, "%s%s%s", i ? " + " : "", filtra_dataset_class_name(ds, (uint32_t)s->labels[i]),
            i < s->label_count ? "" : "?");
}

static void write_tokens(FILE *to, const filtra_tokenizer *tokenizer, const filtra_sample *s) {
  char text[64];
  size_t length;
  assert_ok(filtra_tokenizer_decode(tokenizer, s->tokens, s->length, text, sizeof text, &length));
  fprintf(to, "\"%s\"", text);
}

static void write_sample(FILE *to, const filtra_dataset *ds, filtra_split split, uint64_t i) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  filtra_sample s = test_sample(ds, split, i);
  const char *slash = s.name ? strrchr(s.name, '/') : NULL;
  if (s.name) write_cell(to, slash ? slash + 1 : s.name, "/");
  if (s.name) fputs(": ", to);
  if (info->height)
    fprintf(to, "%u x %u pixels", info->width, info->height);
  else if (s.tokens)
    write_tokens(to, info->tokenizer, &s);
  else
    fprintf(to, "%u step%s", s.length, s.length == 1 ? "" : "s");
  fputs(" \u2192 ", to);
  write_target(to, ds, &s);
}

static void write_outcome(FILE *to, const char *path, const row *r) {
  filtra_dataset_options options = r->options;
  options.file_split = FILTRA_SPLIT_TEST;
  owned_dataset *ds = NULL;
  bool folder = r->folder || r->files[1].name;
  owned char *root =
      ft_format("%.*s", folder ? (int)strlen(path) : (int)(strrchr(path, '/') - path), path);
  if (filtra_dataset_open(path, &options, &ds)) {
    fputs("**refused:** ", to);
    write_cell(to, filtra_error_message(), root);
    return;
  }
  bool any = false;
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++)
    for (uint64_t i = 0; i < ds->splits[split].count && i < SHOWN; i++, any = true) {
      fprintf(to, "%s%s ", any ? "; " : "", filtra_split_name(split));
      write_sample(to, ds, split, i);
    }
}

static void write_rows(FILE *to, const char *title, const row *rows, size_t count) {
  fprintf(to, "\n## %s\n\n| what | becomes |\n|---|---|\n", title);
  for (size_t i = 0; i < count; i++) {
    fprintf(to, "| %s | ", rows[i].title);
    write_outcome(to, write_files(&rows[i]), &rows[i]);
    fputs(" |\n", to);
  }
}

static void write_all(FILE *to) {
  write_rows(to, "Images", images, FT_COUNT(images));
  write_rows(to, "FASTA", sequences, FT_COUNT(sequences));
  write_rows(to, "Time series", series, FT_COUNT(series));
  write_rows(to, "NumPy's arrays", arrays, FT_COUNT(arrays));
}

TEST(test_page) {
#if !defined(FT_WITH_PNG) || !defined(FT_WITH_JPEG)
  print_message("SKIPPED: built without libpng or libjpeg\n");
  skip();
#endif
  test_written_page("files", write_all);
}

TEST_MAIN(NULL, test_teardown)
