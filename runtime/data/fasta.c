/* The format "fasta", listed in dataset.c: records of a header line that begins with > and lines of
 * sequence (Pearson & Lipman 1988); lines that begin with ; or # are comments. The class is named
 * by the file or by the header. */
#include "base/file.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/corpus.h"
#include "data/labels.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

static const char PROTEINS[] = ".faa";
static const char *const endings[] = {".fasta", ".fa", ".fas", ".fna", ".ffn", PROTEINS, NULL};

/* ---- files ---- */

typedef struct fasta_file {
  char *path;
  filtra_split split;
  size_t class_at, class_length; /* the class's name within the path; length 0: headers name it */
} fasta_file;

typedef struct fasta_files {
  fasta_file *file;
  size_t count, capacity;
  size_t with_class; /* files whose names give a class */
  size_t proteins;   /* files whose names say that they hold proteins */
  ft_labels labels;
} fasta_files;

/* Adds CLASS_SPLIT.fasta, CLASS.fasta or SPLIT.fasta; a name without a split is training data. */
static filtra_status add_file(fasta_files *files, const char *folder, const char *name) {
  size_t length = ft_stem_length(name, endings);
  fasta_file file = {.path = ft_path_join(folder, name)};
  if (!file.path) return FILTRA_ERROR_HOST_MEMORY;
  if (!ft_stem_split(name, length, &file.split, &file.class_length)) {
    file.split = FILTRA_SPLIT_TRAIN;
    file.class_length = length;
  }
  file.class_at = strlen(file.path) - strlen(name);
  filtra_status status = FT_GROW(files->file, files->count, files->capacity);
  if (status) {
    free(file.path);
    return status;
  }
  files->file[files->count++] = file;
  files->with_class += file.class_length > 0;
  files->proteins += ft_ends_with(name, PROTEINS);
  return FILTRA_OK;
}

static filtra_status find_files(fasta_files *files, const char *path) {
  char **names;
  size_t count;
  FT_TRY(ft_list_files(path, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++)
    if (ft_stem_length(names[i], endings) > 0) status = add_file(files, path, names[i]);
  ft_free_names(names, count);
  if (status) return status;
  if (files->count == 0) return ft_fail(FILTRA_ERROR_INPUT, "%s holds no FASTA files", path);
  if (files->with_class > 0 && files->with_class < files->count)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: the names of %zu of %zu FASTA files give a class; all have to, or none (then "
        "the headers do)",
        path, files->with_class, files->count);
  return FILTRA_OK;
}

static filtra_status find(fasta_files *files, const char *path, filtra_split file_split) {
  if (ft_is_directory(path)) return find_files(files, path);
  FT_TRY(FT_GROW(files->file, files->count, files->capacity));
  fasta_file file = {.path = ft_strdup(path), .split = file_split};
  if (!file.path) return FILTRA_ERROR_HOST_MEMORY;
  files->file[files->count++] = file;
  files->proteins = ft_ends_with(path, PROTEINS);
  return FILTRA_OK;
}

/* Whether a line is a comment. */
static bool is_comment(const char *line) {
  return *line == ';' || *line == '#';
}

/* ---- the alphabet ---- */

/* Letters of a file, by which its alphabet is judged. */
typedef struct survey {
  uint64_t letters, ambiguous; /* codes for several nucleotides (IUPAC 1984), but not N */
  bool seen[26];               /* which ambiguous codes occur */
  char foreign;                /* the first character that is not a code; 0: none */
  uint64_t line, column;       /* of the first ambiguous code, or of `foreign` */
} survey;

static void count_letters(survey *s, const ft_lines *lines) {
  for (const char *at = lines->line; *at; at++) {
    char c = (char)(*at & ~0x20);
    if (*at == ' ' || *at == '\t') continue;
    s->letters++;
    if (c && strchr("ACGTUN", c)) continue;
    if (!c || !strchr("RYSWKMBDHV", c)) {
      s->foreign = *at;
      s->line = lines->number;
      s->column = (uint64_t)(at - lines->line) + 1;
      return;
    }
    if (!s->ambiguous++) s->line = lines->number;
    s->seen[c - 'A'] = true;
  }
}

/* Fails if the letters are probably proteins: these can consist of nucleotide codes alone, and
 * would all become N and T. Characters other than letters and the stop codon's are left to the
 * tokenizer. */
static filtra_status judge(const survey *s, const char *path) {
  enum { RARE = 20 }; /* one letter in this many */
  char seen[3 * 26] = "", *to = seen, upper = (char)(s->foreign & ~0x20);
  if ((upper >= 'A' && upper <= 'Z') || s->foreign == '*')
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s:%llu: '%c' at column %llu is no nucleotide, nor a code for several; set "
                   "tokenizer to characters for proteins",
                   path, (unsigned long long)s->line, s->foreign, (unsigned long long)s->column);
  if (s->foreign || s->ambiguous * RARE < s->letters || !s->ambiguous) return FILTRA_OK;
  for (int i = 0; i < 26; i++)
    if (s->seen[i]) to += sprintf(to, "%s%c", to > seen ? ", " : "", 'A' + i);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s:%llu: %llu of %llu letters are %s, which stand for several nucleotides; N is "
                 "read for them where they are fewer than 5 %%. Set tokenizer to characters for "
                 "proteins, to dna for nucleotides",
                 path, (unsigned long long)s->line, (unsigned long long)s->ambiguous,
                 (unsigned long long)s->letters, seen);
}

static filtra_status survey_file(const char *path) {
  survey s = {0};
  ft_lines lines;
  bool more = true;
  FT_TRY(ft_lines_open(path, &lines));
  filtra_status status = FILTRA_OK;
  while (!status && more && !s.foreign) {
    status = ft_lines_next(&lines, &more);
    if (!status && more && *lines.line != '>' && !is_comment(lines.line)) count_letters(&s, &lines);
  }
  ft_lines_close(&lines);
  return status ? status : judge(&s, path);
}

/* Checks the letters before they are read as nucleotides, unless the options name a tokenizer. */
static filtra_status check_alphabet(const fasta_files *files,
                                    const filtra_dataset_options *options) {
  const char *fitted = filtra_tokenizer_name(options->fitted);
  bool nucleotides = fitted ? !strcmp(fitted, ft_tokenizer_dna.name) : !files->proteins;
  if (options->tokenizer || !nucleotides) return FILTRA_OK;
  for (size_t i = 0; i < files->count; i++)
    FT_TRY(survey_file(files->file[i].path));
  return FILTRA_OK;
}

/* ---- records ---- */

typedef struct fasta_reader {
  ft_lines lines;
  ft_corpus *corpus;
  ft_labels *labels;
  bool in_headers; /* headers name the classes, to be read in this pass */
  uint64_t header; /* line number of the current record's header; 0: none yet */
  int32_t label;   /* of the current record; -1: unknown */
  char *name;      /* of the current record: its header's first word */
} fasta_reader;

/* Reads the class from a header: the text after the last |; without one, the last of several
 * words. */
static filtra_status read_class(fasta_reader *r) {
  const char *name = r->lines.line + 1;
  size_t length = r->lines.length - 1;
  ft_trim(&name, &length);
  const char *bar = ft_memrchr(name, '|', length), *from = bar ? bar + 1 : name + length;
  while (!bar && from > name && from[-1] != ' ' && from[-1] != '\t')
    from--;
  r->label = -1;
  if (from == name && r->corpus->options->unlabelled) return FILTRA_OK;
  if (from == name)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "the header gives no class: neither >NAME|CLASS nor >NAME CLASS");
  return ft_labels_find(r->labels, from, (size_t)(name + length - from), &r->label);
}

static filtra_status end_record(fasta_reader *r) {
  if (!r->header) return FILTRA_OK;
  filtra_status status = ft_corpus_end_sample(r->corpus, r->label);
  if (status)
    return ft_fail_context(status, "%s:%llu", r->lines.path, (unsigned long long)r->header);
  if (r->corpus->vocabulary) return FILTRA_OK;
  return ft_samples_add_name(&r->corpus->ds->samples[r->corpus->split], r->name, strlen(r->name));
}

static filtra_status take_header(fasta_reader *r) {
  const char *name = r->lines.line + 1;
  name += strspn(name, " \t");
  free(r->name);
  r->name = ft_format("%.*s", (int)strcspn(name, " \t"), name);
  if (!r->name) return FILTRA_ERROR_HOST_MEMORY;
  return r->in_headers ? read_class(r) : FILTRA_OK;
}

/* Letters may have either case (soft masking), with the same meaning. */
static filtra_status take_line(fasta_reader *r) {
  char *line = r->lines.line;
  size_t length = r->lines.length;
  if (is_comment(line)) return FILTRA_OK;
  if (*line == '>') return take_header(r);
  for (char *at = line; *at; at++)
    if (*at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
  ft_trim((const char **)&line, &length);
  if (length > 0 && !r->header)
    return ft_fail(FILTRA_ERROR_INPUT, "a sequence without a header, a line that begins with >");
  return ft_corpus_add(r->corpus, line, length);
}

static filtra_status read_records(fasta_reader *r) {
  for (;;) {
    bool more;
    FT_TRY(ft_lines_next(&r->lines, &more));
    if (!more) break;
    bool header = *r->lines.line == '>';
    if (header) FT_TRY(end_record(r));
    filtra_status status = take_line(r);
    if (status)
      return ft_fail_context(status, "%s:%llu", r->lines.path, (unsigned long long)r->lines.number);
    if (header) r->header = r->lines.number;
  }
  FT_TRY(end_record(r));
  if (r->header) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s has no records", r->lines.path);
}

static filtra_status read_file(const fasta_file *file, ft_labels *labels, ft_corpus *corpus) {
  fasta_reader r = {.corpus = corpus, .labels = labels};
  bool wanted = !corpus->vocabulary;
  r.in_headers = wanted && file->class_length == 0;
  if (wanted && file->class_length > 0) {
    const char *name = file->path + file->class_at;
    filtra_status status = ft_labels_find(labels, name, file->class_length, &r.label);
    if (status) return ft_fail_context(status, "%s", file->path);
  }
  FT_TRY(ft_lines_open(file->path, &r.lines));
  filtra_status status = read_records(&r);
  ft_lines_close(&r.lines);
  free(r.name);
  return status;
}

static filtra_status read_split(ft_corpus *corpus, void *user) {
  fasta_files *files = user;
  for (size_t i = 0; i < files->count; i++)
    if (files->file[i].split == corpus->split)
      FT_TRY(read_file(&files->file[i], &files->labels, corpus));
  /* The first split defines all classes. */
  if (corpus->vocabulary || files->labels.closed || !files->labels.count) return FILTRA_OK;
  FT_TRY(ft_labels_close(&files->labels, true, &corpus->ds->samples[corpus->split]));
  if (files->with_class) return FILTRA_OK;
  return ft_labels_check(&files->labels, corpus->ds, corpus->options, files->file->path,
                         "the class is the text after the last |, or else the last word; set task "
                         "to classification if that is so");
}

static filtra_status open_fasta(const char *path, const filtra_dataset_options *options,
                                filtra_dataset *ds) {
  fasta_files files = {0};
  filtra_status status = find(&files, path, options->file_split);
  const char *tokenizer = files.proteins ? "characters" : ft_tokenizer_dna.name;
  if (!status) status = check_alphabet(&files, options);
  if (!status) status = ft_corpus_open(ds, path, options, tokenizer, read_split, &files);
  if (!status) ft_labels_give(&files.labels, ds);
  ds->untargeted = !status && !ds->info.classes;
  ds->guessed_classes = !files.with_class;
  for (size_t i = 0; i < files.count; i++)
    free(files.file[i].path);
  free(files.file);
  ft_labels_free(&files.labels);
  return status;
}

/* Formats whose text may begin with >, such as quoted mail. */
static const char *const tables[] = {".csv", ".tsv", NULL};

static bool probe_fasta(const ft_dataset_probe *p) {
  for (size_t i = 0; i < p->count; i++)
    if (ft_stem_length(p->names[i], endings) > 0) return true;
  if (p->directory || ft_stem_length(p->path, tables) > 0) return false;
  const char *at = p->head + strspn(p->head, "\r\n");
  while (*at == ';') { /* comments before the first header */
    at += strcspn(at, "\n");
    at += strspn(at, "\r\n");
  }
  return *at == '>' || ft_stem_length(p->path, endings) > 0;
}

const ft_dataset_format ft_format_fasta = {
    "fasta", "FASTA: a file per class, CLASS_train.fasta, CLASS_test.fasta, or classes in headers",
    probe_fasta, open_fasta};
