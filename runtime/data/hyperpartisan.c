/* The format "hyperpartisan", listed in dataset.c: news articles and whether they argue for one
 * side only (Kiesel et al. 2019, SemEval-2019 task 4). Articles are in articles-NAME.xml; their
 * labels in ground-truth-NAME.xml, joined by id. */
#include "base/file.h"
#include "base/memory.h"
#include "data/corpus.h"
#include "data/names.h"
#include "data/xml.h"

#include <stdlib.h>
#include <string.h>

static const char articles_prefix[] = "articles-", labels_prefix[] = "ground-truth-";
static const char *const endings[] = {".xml", NULL};
static const char *const classes[2] = {"false", "true"};

/* ---- labels ---- */

typedef struct article_label {
  uint64_t id;
  int32_t label;
  bool used;
} article_label;

typedef struct article_labels {
  article_label *list; /* ascending by id */
  size_t count, capacity;
} article_labels;

static filtra_status read_id(const ft_xml *xml, uint64_t *id) {
  const char *text = ft_xml_attribute(xml, "id");
  if (!text || !*text || strlen(text) > 18 || strspn(text, "0123456789") != strlen(text))
    return ft_fail(FILTRA_ERROR_INPUT, "an article needs an id of 1 to 18 digits");
  *id = strtoull(text, NULL, 10);
  return FILTRA_OK;
}

static filtra_status add_label(const ft_xml *xml, article_labels *labels) {
  article_label label = {0};
  const char *text = ft_xml_attribute(xml, "hyperpartisan");
  FT_TRY(read_id(xml, &label.id));
  label.label = text && !strcmp(text, classes[1]);
  if (!text || strcmp(text, classes[label.label]))
    return ft_fail(FILTRA_ERROR_INPUT, "\"hyperpartisan\" must be true or false");
  FT_TRY(FT_GROW(labels->list, labels->count, labels->capacity));
  labels->list[labels->count++] = label;
  return FILTRA_OK;
}

static int compare_labels(const void *a, const void *b) {
  const article_label *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

static filtra_status sort_labels(article_labels *labels, const char *path) {
  if (labels->count == 0) return ft_fail(FILTRA_ERROR_INPUT, "%s has no labels", path);
  qsort(labels->list, labels->count, sizeof *labels->list, compare_labels);
  for (size_t i = 1; i < labels->count; i++)
    if (labels->list[i].id == labels->list[i - 1].id)
      return ft_fail(FILTRA_ERROR_INPUT, "%s has two labels of article %llu", path,
                     (unsigned long long)labels->list[i].id);
  return FILTRA_OK;
}

static filtra_status read_labels(const char *path, article_labels *labels) {
  ft_xml *xml;
  ft_xml_event event = FT_XML_TEXT;
  FT_TRY(ft_xml_open(path, &xml));
  filtra_status status = FILTRA_OK;
  while (!status && event != FT_XML_DONE) {
    status = ft_xml_next(xml, &event);
    if (status || event != FT_XML_START || strcmp(ft_xml_name(xml, event), "article")) continue;
    status = add_label(xml, labels);
    if (status) ft_xml_fail(xml, status);
  }
  ft_xml_close(&xml);
  return status ? status : sort_labels(labels, path);
}

/* ---- articles ---- */

typedef struct article_reader {
  ft_corpus *corpus;
  article_labels labels;
  article_label *present; /* of the article being read; NULL: outside of articles */
  char *text;
  size_t length, capacity;
} article_reader;

static filtra_status begin_article(article_reader *r, const ft_xml *xml) {
  article_label wanted = {0};
  if (r->present) return ft_fail(FILTRA_ERROR_INPUT, "an article within an article");
  FT_TRY(read_id(xml, &wanted.id));
  const article_labels *labels = &r->labels;
  if (labels->list)
    r->present = bsearch(&wanted, labels->list, labels->count, sizeof wanted, compare_labels);
  if (!r->present || r->present->used)
    return ft_fail(FILTRA_ERROR_INPUT, "article %llu %s", (unsigned long long)wanted.id,
                   r->present ? "comes twice" : "has no label");
  r->present->used = true;
  r->length = 0;
  return FILTRA_OK;
}

/* Appends text; a space replaces the tag before it. */
static filtra_status add_text(article_reader *r, const ft_xml *xml) {
  if (xml->length >= FT_XML_LIMIT - r->length) /* one more byte for the space */
    return ft_fail(FILTRA_ERROR_INPUT, "an article of more than %d MiB", FT_XML_LIMIT >> 20);
  size_t wanted = r->length + xml->length + 1;
  if (wanted > r->capacity) {
    char *text = ft_realloc(r->text, 2 * wanted, 1);
    if (!text) return FILTRA_ERROR_HOST_MEMORY;
    r->text = text;
    r->capacity = 2 * wanted;
  }
  if (r->length > 0) r->text[r->length++] = ' ';
  memcpy(r->text + r->length, xml->text, xml->length);
  r->length += xml->length;
  return FILTRA_OK;
}

static filtra_status end_article(article_reader *r) {
  int32_t label = r->present->label;
  r->present = NULL;
  if (r->length > 0) FT_TRY(ft_corpus_add(r->corpus, r->text, r->length));
  return ft_corpus_end_sample(r->corpus, label);
}

static filtra_status take_event(article_reader *r, const ft_xml *xml, ft_xml_event event) {
  if (event == FT_XML_TEXT) return r->present ? add_text(r, xml) : FILTRA_OK;
  if (event == FT_XML_DONE || strcmp(ft_xml_name(xml, event), "article")) return FILTRA_OK;
  return event == FT_XML_START ? begin_article(r, xml) : end_article(r);
}

static filtra_status read_articles(article_reader *r, const char *path) {
  ft_xml *xml;
  ft_xml_event event = FT_XML_TEXT;
  FT_TRY(ft_xml_open(path, &xml));
  filtra_status status = FILTRA_OK;
  while (!status && event != FT_XML_DONE) {
    status = ft_xml_next(xml, &event);
    if (status) break;
    status = take_event(r, xml, event);
    if (status) ft_xml_fail(xml, status);
  }
  ft_xml_close(&xml);
  for (size_t i = 0; i < r->labels.count && !status; i++)
    if (!r->labels.list[i].used)
      status = ft_fail(FILTRA_ERROR_INPUT, "%s lacks article %llu, which has a label", path,
                       (unsigned long long)r->labels.list[i].id);
  return status;
}

/* ---- files ---- */

typedef struct article_files {
  char *articles[FILTRA_SPLIT_COUNT], *labels[FILTRA_SPLIT_COUNT]; /* NULL: no such file */
} article_files;

static filtra_status read_split(ft_corpus *corpus, void *user) {
  const article_files *files = user;
  article_reader r = {.corpus = corpus};
  if (!files->articles[corpus->split]) return FILTRA_OK;
  filtra_status status = read_labels(files->labels[corpus->split], &r.labels);
  if (!status) status = read_articles(&r, files->articles[corpus->split]);
  free(r.labels.list);
  free(r.text);
  return status;
}

/* Whether a name is that of an articles file, and of which split: articles-training-... */
static bool names_articles(const char *name, filtra_split *split) {
  static const char *const words[FILTRA_SPLIT_COUNT] = {"training", "validation", "test"};
  const char *rest = name + strlen(articles_prefix);
  if (strncmp(name, articles_prefix, strlen(articles_prefix))) return false;
  for (*split = FILTRA_SPLIT_TRAIN; *split <= FILTRA_SPLIT_TEST; ++*split)
    if (!strncmp(rest, words[*split], strlen(words[*split])))
      return ft_stem_length(name, endings) > 0;
  return false;
}

static filtra_status add_file(article_files *files, const char *folder, const char *name,
                              filtra_split split) {
  if (files->articles[split])
    return ft_fail(FILTRA_ERROR_INPUT, "%s holds more than one file of %s articles", folder,
                   filtra_split_name(split));
  char *labels = ft_format("%s%s", labels_prefix, name + strlen(articles_prefix));
  files->articles[split] = ft_path_join(folder, name);
  files->labels[split] = labels ? ft_path_join(folder, labels) : NULL;
  free(labels);
  return files->articles[split] && files->labels[split] ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status find_files(article_files *files, const char *path) {
  char **names;
  size_t count;
  bool any = false;
  FT_TRY(ft_list_files(path, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    filtra_split split;
    if (!names_articles(names[i], &split)) continue;
    any = true;
    status = add_file(files, path, names[i], split);
  }
  ft_free_names(names, count);
  if (status || any) return status;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds no articles-training-*.xml", path);
}

static filtra_status open_articles(const char *path, const filtra_dataset_options *options,
                                   filtra_dataset *ds) {
  article_files files = {0};
  ds->info.classes = 2;
  ds->class_names = classes;
  filtra_status status = find_files(&files, path);
  if (!status) status = ft_corpus_open(ds, path, options, "characters", read_split, &files);
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++) {
    free(files.articles[i]);
    free(files.labels[i]);
  }
  return status;
}

static bool probe_articles(const ft_dataset_probe *p) {
  filtra_split split;
  for (size_t i = 0; i < p->count; i++)
    if (names_articles(p->names[i], &split)) return true;
  return false;
}

const ft_dataset_format ft_format_hyperpartisan = {
    "hyperpartisan", "SemEval-2019 news: articles-training-*.xml, ground-truth-training-*.xml, ...",
    probe_articles, open_articles};
