/* Reads the header lines of a .ts file. Called by ts.c for each line before the data. */
#include "data/ts_header.h"

#include "base/status.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* The next word of a line; *length is 0 at the line's end. */
static const char *next_word(const char **at, size_t *length) {
  const char *word = *at + strspn(*at, " \t");
  *length = strcspn(word, " \t");
  *at = word + *length;
  return word;
}

static bool is_word(const char *word, size_t length, const char *wanted) {
  return length == strlen(wanted) && !ft_strncasecmp(word, wanted, length);
}

static filtra_status read_bool(const char *key, const char **at, bool *value) {
  size_t length;
  const char *word = next_word(at, &length);
  *value = is_word(word, length, "true");
  if (*value || is_word(word, length, "false")) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "@%s is \"%.*s\"; true and false are accepted", key,
                 (int)(length < 40 ? length : 40), word);
}

static filtra_status read_count(const char *key, const char **at, uint64_t *value) {
  size_t length;
  const char *word = next_word(at, &length);
  bool digits = length > 0 && length <= 9 && strspn(word, "0123456789") >= length;
  *value = digits ? strtoull(word, NULL, 10) : 0;
  if (*value > 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "@%s is \"%.*s\"; 1 to 999999999 are accepted", key,
                 (int)(length < 40 ? length : 40), word);
}

/* Reads "@classLabel true walking running"; without names, the samples define them. */
static filtra_status read_classes(ft_ts_header *h, const char *at, ft_labels *labels) {
  bool labelled;
  FT_TRY(read_bool("classLabel", &at, &labelled));
  h->unlabelled = !labelled;
  if (!labelled || labels->closed) return FILTRA_OK;
  for (;;) {
    size_t length, before = labels->count;
    int32_t label;
    const char *name = next_word(&at, &length);
    if (length == 0) break;
    FT_TRY(ft_labels_find(labels, name, length, &label));
    if (labels->count == before)
      return ft_fail(FILTRA_ERROR_INPUT, "@classLabel lists \"%.*s\" twice", (int)length, name);
  }
  labels->closed = labels->count > 0;
  return FILTRA_OK;
}

static filtra_status read_dimensions(ft_ts_header *h, const char *key, const char **at,
                                     bool univariate) {
  uint64_t before = h->dimensions;
  bool one = true;
  if (univariate) FT_TRY(read_bool(key, at, &one));
  if (!one) return FILTRA_OK;
  h->dimensions = 1;
  if (!univariate) FT_TRY(read_count(key, at, &h->dimensions));
  if (before == 0 || before == h->dimensions) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "@%s says %llu dimensions, an earlier line %llu", key,
                 (unsigned long long)h->dimensions, (unsigned long long)before);
}

static filtra_status complete(ft_ts_header *h, bool unlabelled) {
  h->complete = true;
  if (!h->equal_length) h->series_length = 0;
  if (!h->unlabelled || h->values || unlabelled) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the header says that there are no classes (@classLabel false) and no target "
                 "numbers (@targetLabel true); such series can be predicted, not trained with");
}

filtra_status ft_ts_header_line(ft_ts_header *h, const char *line, bool unlabelled,
                                ft_labels *labels) {
  size_t length;
  bool flag;
  if (*line != '@')
    return ft_fail(FILTRA_ERROR_INPUT, "a line of data, or of something else, before @data");
  const char *at = line + 1, *key = next_word(&at, &length);
  if (is_word(key, length, "data")) return complete(h, unlabelled);
  if (is_word(key, length, "classLabel")) return read_classes(h, at, labels);
  if (is_word(key, length, "targetLabel")) return read_bool("targetLabel", &at, &h->values);
  if (is_word(key, length, "univariate")) return read_dimensions(h, "univariate", &at, true);
  if (is_word(key, length, "dimensions") || is_word(key, length, "dimension"))
    return read_dimensions(h, "dimensions", &at, false);
  if (is_word(key, length, "equalLength")) return read_bool("equalLength", &at, &h->equal_length);
  if (is_word(key, length, "seriesLength"))
    return read_count("seriesLength", &at, &h->series_length);
  if (is_word(key, length, "missing")) {
    FT_TRY(read_bool("missing", &at, &flag));
    h->no_missing = !flag;
  } else if (is_word(key, length, "timeStamps")) {
    FT_TRY(read_bool("timeStamps", &at, &h->stamps));
  } else if (length == 0) {
    return ft_fail(FILTRA_ERROR_INPUT, "a lone @");
  }
  return FILTRA_OK; /* ignores @problemName and other keys */
}
