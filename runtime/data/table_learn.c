/* Decides from a table's first file which columns are read, and as what: one text, or numbers and
 * categories; the target; names of samples. Called by table.c unless a run has decided it
 * already. */
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "data/alike.h"
#include "data/table_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Accepted column names if no option names the column; the first in the list that exists is
 * used. */
static const char *const text_names[] = {"smiles",
                                         "canonical_smiles",
                                         "isomeric_smiles",
                                         "CanonicalSMILES",
                                         "IsomericSMILES",
                                         "sequence",
                                         "seq",
                                         "text",
                                         "sentence",
                                         "review",
                                         "document",
                                         NULL};
static const char *const target_names[] = {"label",     "class", "target", "category", "measured",
                                           "sentiment", "value", "y",      NULL};
/* What has been found so far. */
typedef struct learner {
  ft_table *table;
  const filtra_dataset_options *o;
  ft_table_survey survey;
  bool header;
  bool guessed; /* the target was chosen by position alone */
  long text, second, target, id, group, time;
  /* [survey.count]: a column's place in the list of those that are read as numbers, or that are 0
   * or 1 and name a label; from 1, 0: it is not listed. */
  size_t *features, *labels;
  size_t label_count;
  ft_table_fit *fit;
} learner;

/* ---- columns by name ---- */

static bool is_called(const char *field, const char *name) {
  size_t length = strlen(field);
  if (length == strlen(name)) return !ft_strcasecmp(field, name);
  /* such as "measured log solubility in mols per litre" */
  return !strcmp(name, "measured") && length > 9 && !ft_strncasecmp(field, "measured ", 9);
}

static bool is_any(const char *field, const char *const *names) {
  size_t length = strlen(field);
  ft_trim(&field, &length);
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)length, field);
  bool found = false;
  for (; *names; names++)
    found = found || is_called(name, *names);
  return found;
}

bool ft_names_text(const char *field) {
  return is_any(field, text_names);
}

bool ft_names_target(const char *field) {
  return is_any(field, target_names);
}

static long find_called(const learner *l, const char *name) {
  for (size_t i = 0; i < l->survey.count; i++)
    if (is_called(l->survey.first[i], name)) return (long)i;
  return FT_NOWHERE;
}

static long find_any(const learner *l, const char *const *names) {
  long found = FT_NOWHERE;
  for (; *names && found == FT_NOWHERE; names++)
    found = find_called(l, *names);
  return found;
}

static filtra_status fail_columns(const learner *l, const char *key, const char *given) {
  const ft_table_survey *s = &l->survey;
  char list[FT_LISTED];
  ft_list_quoted((const char *const *)s->first, s->count, list);
  if (given)
    return ft_fail(FILTRA_ERROR_INPUT, "%s is \"%.64s\"; the %zu columns are %s", key, given,
                   s->count, list);
  return ft_fail(FILTRA_ERROR_INPUT, "set %s to one of the %zu columns, by name or number: %s", key,
                 s->count, list);
}

/* Finds the column that an option names or numbers, from 1. */
static filtra_status find_given(learner *l, const char *key, const char *given, long *found) {
  bool twice = false;
  *found = FT_NOWHERE;
  if (!given) return FILTRA_OK;
  bool digits = *given && strlen(given) < 7 && strspn(given, "0123456789") == strlen(given);
  if (digits)
    *found = atol(given) - 1;
  else
    *found = ft_find_column((const char *const *)l->survey.first, l->survey.count, given, &twice);
  if (twice) return ft_fail(FILTRA_ERROR_INPUT, "two columns are called \"%.64s\"", given);
  if (*found == FT_NOWHERE && !digits) *found = find_called(l, given);
  if (*found != FT_NOWHERE && !digits) l->header = true;
  if (*found >= 0 && *found < (long)l->survey.count) return FILTRA_OK;
  return fail_columns(l, key, given);
}

/* Finds the column of text_column, or two: names or numbers, comma-separated. A name may contain a
 * comma itself. */
static filtra_status find_texts(learner *l) {
  const char *given = l->o->text_column, *comma = given ? strchr(given, ',') : NULL;
  bool twice;
  const char *const *first = (const char *const *)l->survey.first;
  if (!comma || strchr(comma + 1, ',') ||
      ft_find_column(first, l->survey.count, given, &twice) != FT_NOWHERE)
    return find_given(l, "text_column", given, &l->text);
  const char *part[2] = {given, comma + 1};
  size_t length[2] = {(size_t)(comma - given), strlen(comma + 1)};
  for (int i = 0; i < 2; i++) {
    ft_trim(&part[i], &length[i]);
    char *name = ft_format("%.*s", (int)length[i], part[i]);
    if (!name) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = find_given(l, "text_column", name, i ? &l->second : &l->text);
    free(name);
    FT_TRY(status);
  }
  if (l->text != l->second) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "text_column names \"%.64s\" twice", first[l->text]);
}

/* Gives the columns of a comma-separated list of names or numbers their places. */
static filtra_status find_list(learner *l, const char *key, const char *list, size_t *places,
                               size_t *listed) {
  for (size_t length; list; list = list[length] ? list + length + 1 : NULL) {
    const char *start = list;
    length = strcspn(list, ",");
    size_t count = length;
    long found;
    ft_trim(&start, &count);
    char *name = ft_format("%.*s", (int)count, start);
    if (!name) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = find_given(l, key, name, &found);
    free(name);
    FT_TRY(status);
    if (!places[found]) places[found] = ++*listed;
  }
  return FILTRA_OK;
}

/* Finds the column of target_column, or several, which name labels. A name may contain a comma. */
static filtra_status find_target(learner *l) {
  const char *given = l->o->target_column;
  bool twice;
  if (!given || !strchr(given, ',') ||
      ft_find_column((const char *const *)l->survey.first, l->survey.count, given, &twice) !=
          FT_NOWHERE)
    return find_given(l, "target_column", given, &l->target);
  FT_TRY(find_list(l, "target_column", given, l->labels, &l->label_count));
  for (size_t i = l->survey.count; i-- > 0;)
    if (l->labels[i]) l->target = (long)i;
  return FILTRA_OK;
}

static bool is_target(const learner *l, long column) {
  return column != FT_NOWHERE && (column == l->target || l->labels[column]);
}

static filtra_status find_all_given(learner *l) {
  FT_TRY(find_texts(l));
  FT_TRY(find_target(l));
  FT_TRY(find_given(l, "id_column", l->o->id_column, &l->id));
  FT_TRY(find_given(l, "group_column", l->o->group_column, &l->group));
  FT_TRY(find_given(l, "time_column", l->o->time_column, &l->time));
  size_t features = 0;
  FT_TRY(find_list(l, "feature_columns", l->o->feature_columns, l->features, &features));
  if (l->text != FT_NOWHERE && (l->o->feature_columns || l->o->group_column))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "text_column is for one text a row, feature_columns and group_column are for "
                   "numbers; leave one out");
  if (is_target(l, l->text) || is_target(l, l->second))
    return ft_fail(FILTRA_ERROR_INPUT, "text_column and target_column are the same column");
  if (l->time != FT_NOWHERE && l->group == FT_NOWHERE)
    return ft_fail(FILTRA_ERROR_INPUT, "time_column orders the rows of a group; set group_column");
  return FILTRA_OK;
}

/* ---- header ---- */

/* Whether the first row is a header: some column has numbers below it, but none in it. */
static bool stands_above_numbers(const ft_table_survey *s) {
  for (size_t i = 0; i < s->count; i++) {
    ft_number_forms first = {0};
    ft_forms_add(&first, s->first[i], strlen(s->first[i]), 1);
    if (first.total > 0 && first.numbers == 0 && ft_column_is_numbers(&s->columns[i])) return true;
  }
  return false;
}

static filtra_status check_names(const learner *l) {
  if (l->header && l->survey.again)
    return ft_fail(FILTRA_ERROR_INPUT, "line %llu names the columns again; take it out",
                   (unsigned long long)l->survey.again);
  for (size_t i = 0; i < l->survey.count && l->header; i++)
    if (!ft_utf8_valid(l->survey.first[i], strlen(l->survey.first[i])))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "the name of column %zu is no UTF-8; save the file as that", i + 1);
  return FILTRA_OK;
}

/* ---- text and target ---- */

static bool is_numbers(const learner *l, long column) {
  const ft_column_survey *c = &l->survey.columns[column];
  return ft_column_is_numbers(c) && !c->codes;
}

/* In a table of two columns: the one not chosen takes the other role; if no name tells either,
 * their fields decide. */
static void choose_of_two(learner *l) {
  const bool by_place = l->text == FT_NOWHERE && l->target == FT_NOWHERE;
  char *const *first = l->survey.first;
  if (by_place && l->id != FT_NOWHERE)
    l->text = 1 - l->id;
  else if (by_place && is_numbers(l, 0) != is_numbers(l, 1))
    l->text = is_numbers(l, 0);
  else if (by_place) /* the longer field */
    l->text = strlen(first[1]) > strlen(first[0]);
  if (l->text == FT_NOWHERE && 1 - l->target != l->id) l->text = 1 - l->target;
  if (l->target == FT_NOWHERE && 1 - l->text != l->id) l->target = 1 - l->text;
  l->guessed = by_place;
}

static void choose_text(learner *l) {
  long text = find_any(l, text_names), target = find_any(l, target_names);
  const bool numbers = l->o->feature_columns || l->o->group_column;
  const bool two = l->survey.count == 2 && !numbers;
  l->header = l->header || l->survey.named || text != FT_NOWHERE || target != FT_NOWHERE ||
              stands_above_numbers(&l->survey);
  if (l->header && l->id == FT_NOWHERE)
    l->id = ft_find_id((const char *const *)l->survey.first, l->survey.count);
  if (l->id == l->text || l->id == l->second || l->id == l->target) l->id = FT_NOWHERE;
  if (l->text == FT_NOWHERE && text != l->target && !numbers) l->text = text;
  if (l->target == FT_NOWHERE && target != l->text) l->target = target;
  const bool told = l->text != FT_NOWHERE;
  if (two && (l->text == FT_NOWHERE || l->target == FT_NOWHERE)) choose_of_two(l);
  if (!told && l->text != FT_NOWHERE && is_numbers(l, l->text)) {
    l->text = FT_NOWHERE;
    if (l->guessed) l->target = FT_NOWHERE;
  }
}

/* Whether a column is read as numbers in a table without text. */
static bool is_feature(const learner *l, size_t i) {
  const long at = (long)i;
  if (l->o->feature_columns) return l->features[i] > 0;
  return !is_target(l, at) && at != l->id && at != l->group && at != l->time;
}

/* The last column is the target if it alone holds categories, as in Fisher's irises. */
static void guess_target(learner *l) {
  size_t last = l->survey.count - 1;
  if (!ft_column_is_categories(&l->survey, last) || !is_feature(l, last)) return;
  for (size_t i = 0; i < last; i++)
    if (is_feature(l, i) && !ft_column_is_numbers(&l->survey.columns[i])) return;
  l->target = (long)last;
  ft_log(FILTRA_LOG_WARNING,
         "%s: column %zu, \"%s\", is taken as the target, as it alone holds no numbers; "
         "target_column names another",
         l->table->first, last + 1, l->survey.first[last]);
}

static filtra_status choose_target(learner *l) {
  if (l->text == FT_NOWHERE && l->target == FT_NOWHERE && l->survey.count > 2) guess_target(l);
  if (l->target != FT_NOWHERE || l->o->unlabelled) return FILTRA_OK;
  for (size_t i = 0; i < l->survey.count && l->text == FT_NOWHERE; i++)
    if (is_feature(l, i) && l->survey.columns[i].many &&
        !ft_column_is_numbers(&l->survey.columns[i]))
      return fail_columns(l, "text_column", NULL);
  return fail_columns(l, "target_column", NULL);
}

/* ---- choices between several columns ---- */

/* Whether a column holds texts: not few that come again, and a tenth of them of several words. */
static bool holds_texts(const learner *l, size_t i) {
  const ft_column_survey *c = &l->survey.columns[i];
  return !ft_column_is_numbers(c) && !ft_column_is_categories(&l->survey, i) && c->spaced > 0 &&
         c->spaced * 10 >= c->forms.total;
}

/* Whether a column that is not read could be the text, or the target, by its name or, as a text, by
 * what it holds. */
static bool is_rival(const learner *l, size_t i, bool text) {
  const long at = (long)i;
  const bool other_side = is_target(l, at) && !(text && l->guessed);
  if (other_side || at == l->text || at == l->second || at == l->id) return false;
  if (!text) return l->header && ft_names_target(l->survey.first[i]);
  if (ft_column_is_numbers(&l->survey.columns[i])) return false;
  return (l->header && ft_names_text(l->survey.first[i])) || holds_texts(l, i);
}

/* Says which of several columns was taken, and how to take another. */
static void warn_of_choice(const learner *l, bool text) {
  const long taken = text ? l->text : l->target;
  char others[FT_LISTED] = "";
  size_t count = 0;
  for (size_t i = 0; i < l->survey.count; i++) {
    const size_t used = strlen(others);
    if (!is_rival(l, i, text)) continue;
    snprintf(others + used, sizeof others - used, "%scolumn %zu, \"%.40s\",", count ? " " : "",
             i + 1, l->survey.first[i]);
    count++;
  }
  if (count)
    ft_log(FILTRA_LOG_WARNING,
           "%s: column %ld, \"%.40s\", is taken as the %s; %s could be it, too; %s names another",
           l->table->first, taken + 1, l->survey.first[taken], text ? "text" : "target", others,
           text ? "text_column" : "target_column");
}

static void warn_of_choices(const learner *l) {
  if (l->text == FT_NOWHERE) return; /* of numbers, warn_of_leak says it */
  if (!l->o->text_column) warn_of_choice(l, true);
  if (!l->o->target_column && l->target != FT_NOWHERE) warn_of_choice(l, false);
}

/* ---- features ---- */

static filtra_status fail_feature(const learner *l, size_t i) {
  const ft_column_survey *c = &l->survey.columns[i];
  char list[FT_LISTED];
  ft_list_quoted((const char *const *)l->survey.first, l->survey.count, list);
  if (!c->forms.total)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "column %zu, \"%.64s\", is empty; name others by "
                   "feature_columns: %s",
                   i + 1, l->survey.first[i], list);
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "set text_column to one of the %zu columns, or feature_columns to some, by name or "
      "number: column %zu, \"%.40s\", holds neither numbers (\"%.40s\" in line %llu is "
      "none) nor few different texts; the columns are %s",
      l->survey.count, i + 1, l->survey.first[i], c->forms.other,
      (unsigned long long)c->forms.other_line, list);
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The name of a column, or its number in a file without header. */
static filtra_status name_column(const learner *l, long column, char **name) {
  if (column == FT_NOWHERE) return FILTRA_OK;
  *name = l->header ? ft_strdup(l->survey.first[column]) : ft_format("%ld", column + 1);
  return *name ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* Two spellings of one category would be two features. */
static filtra_status warn_of_spellings(const learner *l, const ft_table_column *c) {
  char *what = ft_format("column \"%.64s\" is read as categories, of which", c->name);
  if (!what) return FILTRA_ERROR_HOST_MEMORY;
  const filtra_status status =
      ft_warn_of_alike_names(l->table->first, what, (const char *const *)c->values, c->value_count);
  free(what);
  return status;
}

static filtra_status add_feature(learner *l, size_t i) {
  ft_column_survey *from = &l->survey.columns[i];
  if (!ft_column_is_numbers(from)) {
    if (!ft_column_is_categories(&l->survey, i)) return fail_feature(l, i);
    FT_TRY(ft_survey_check_categories(&l->survey, i, l->table->first));
  }
  ft_table_column *c = &l->fit->columns[l->fit->column_count++];
  FT_TRY(name_column(l, (long)i, &c->name));
  c->unit = ft_forms_unit(&from->forms);
  if (ft_column_is_numbers(from)) return FILTRA_OK;
  c->unit = 0;
  qsort(from->values, from->value_count, sizeof *from->values, compare_texts);
  for (size_t k = 0; k < from->value_count; k++)
    if (!ft_utf8_valid(from->values[k], strlen(from->values[k])))
      return ft_fail(FILTRA_ERROR_INPUT, "column \"%s\" holds text that is no UTF-8", c->name);
  c->values = from->values;
  c->value_count = from->value_count;
  from->values = NULL;
  from->value_count = 0;
  return warn_of_spellings(l, c);
}

/* Warns of a feature with a target's name, which may leak the target. */
static void warn_of_leak(const learner *l, size_t i) {
  if (l->o->target_column || l->o->feature_columns || l->target == FT_NOWHERE || !l->header) return;
  if (ft_names_target(l->survey.first[i]))
    ft_log(FILTRA_LOG_WARNING,
           "%s: column \"%s\" is read as a feature, and \"%s\" is the target; set target_column or "
           "feature_columns if that is not meant",
           l->table->first, l->survey.first[i], l->survey.first[l->target]);
}

static filtra_status choose_features(learner *l) {
  l->fit->columns = ft_calloc(l->survey.count, sizeof *l->fit->columns);
  if (!l->fit->columns) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < l->survey.count; i++)
    if (is_feature(l, i)) {
      FT_TRY(add_feature(l, i));
      warn_of_leak(l, i);
    }
  for (size_t i = 0; i < l->survey.count; i++)
    if (l->features[i] && (is_target(l, (long)i) || (long)i == l->group))
      return ft_fail(FILTRA_ERROR_INPUT, "feature_columns has \"%s\", which is the %s",
                     l->survey.first[i], is_target(l, (long)i) ? "target" : "group");
  if (l->fit->column_count > 0) return FILTRA_OK;
  return fail_columns(l, "text_column or feature_columns", NULL);
}

/* ---- all ---- */

/* Finds the decimal sign of all columns that are read as numbers. */
static filtra_status choose_decimal(learner *l) {
  const ft_table_survey *s = &l->survey;
  const ft_number_forms **forms = ft_calloc(s->count, sizeof *forms);
  size_t count = 0;
  if (!forms) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < s->count; i++) {
    bool read =
        ((long)i == l->target && !l->label_count) || (l->text == FT_NOWHERE && is_feature(l, i));
    if (read && ft_column_is_numbers(&s->columns[i])) forms[count++] = &s->columns[i].forms;
  }
  filtra_status status =
      ft_forms_decide(forms, count, l->table->first, l->o->decimal, &l->fit->decimal);
  l->fit->decimal_seen = l->o->decimal != FILTRA_DECIMAL_AUTO;
  for (size_t i = 0; i < count; i++) {
    const ft_number_forms *f = forms[i];
    l->fit->decimal_seen = l->fit->decimal_seen || f->sure_line[0] || f->sure_line[1];
    l->fit->thousands_seen =
        l->fit->thousands_seen || f->grouped[l->fit->decimal == FILTRA_DECIMAL_COMMA];
  }
  free(forms);
  return status;
}

static filtra_status check_columns(const learner *l) {
  for (size_t i = 0; i < l->survey.count; i++)
    if (l->text == FT_NOWHERE && is_feature(l, i) && ft_column_is_numbers(&l->survey.columns[i]))
      FT_TRY(ft_forms_check(&l->survey.columns[i].forms, l->table->first, l->survey.first[i],
                            l->fit->decimal));
  return FILTRA_OK;
}

/* Targets are values if all are numbers and some cannot be classes, since they are not whole or are
 * written as amounts; or if the option says so. */
static filtra_status choose_kind(learner *l) {
  const ft_number_forms *f = &l->survey.columns[l->target].forms;
  const int way = l->fit->decimal == FILTRA_DECIMAL_COMMA;
  const bool all = ft_forms_are_numbers(f);
  const bool most = f->numbers * 2 > f->total;
  const bool amounts = f->percents || f->currencies || f->grouped[way] || f->fractions[!way];
  ft_table *t = l->table;
  t->values = l->o->targets == FILTRA_TARGETS_VALUES ||
              (l->o->targets == FILTRA_TARGETS_AUTO && (f->fractions[way] || (amounts && most)));
  t->numbered = !t->values && all;
  l->fit->unit = t->values ? ft_forms_unit(f) : 0;
  if (all && f->fractions[way] && !t->values)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: column \"%s\" is to be classes, but the data are for regression: not all "
                   "of its numbers are whole",
                   t->first, l->survey.first[l->target]);
  if (!t->values) return FILTRA_OK;
  const bool gap = f->missing && !l->o->unlabelled;
  if (gap || f->numbers < f->total)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s:%llu: the target \"%s\" is no number that can be used, though the column "
                   "has %llu",
                   t->first, (unsigned long long)(gap ? f->missing_line : f->other_line),
                   gap ? f->gap : f->other, (unsigned long long)f->numbers);
  return ft_forms_check(f, t->first, l->survey.first[l->target], l->fit->decimal);
}

static filtra_status name_labels(learner *l) {
  l->fit->labels = ft_calloc(l->label_count, sizeof *l->fit->labels);
  if (!l->fit->labels) return FILTRA_ERROR_HOST_MEMORY;
  l->fit->label_count = l->label_count;
  for (size_t i = 0; i < l->survey.count; i++)
    if (l->labels[i]) FT_TRY(name_column(l, (long)i, &l->fit->labels[l->labels[i] - 1]));
  return FILTRA_OK;
}

/* Targets are any number of labels if an option says so. */
static filtra_status choose_labels(learner *l) {
  const filtra_targets kind = l->o->targets;
  ft_table *t = l->table;
  t->several = kind == FILTRA_TARGETS_LABELS || l->o->label_separator || l->label_count;
  if (!t->several) return choose_kind(l);
  if (kind != FILTRA_TARGETS_AUTO && kind != FILTRA_TARGETS_LABELS)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: %s is for several labels a row, and the targets are to be one %s", t->first,
                   l->label_count ? "a target_column of several columns" : "label_separator",
                   kind == FILTRA_TARGETS_VALUES ? "number" : "class");
  if (l->label_count && l->o->label_separator)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: label_separator is for a target_column of one column; leave one out",
                   t->first);
  return l->label_count ? FILTRA_OK : ft_table_find_separator(t, &l->fit->separator);
}

/* Refuses a column of numbers of which a few cells are none as a text: warns where it was named. */
static filtra_status check_text(const learner *l) {
  if (l->text == FT_NOWHERE) return FILTRA_OK;
  const ft_number_forms *f = &l->survey.columns[l->text].forms;
  const char *name = l->survey.first[l->text];
  if (l->survey.columns[l->text].codes || f->numbers == f->total || f->numbers * 10 < f->total * 9)
    return FILTRA_OK;
  if (l->o->text_column || (l->header && ft_names_text(name))) {
    ft_log(FILTRA_LOG_WARNING,
           "%s:%llu: column \"%.64s\" is read as text, though %llu of %llu cells are numbers; "
           "\"%s\" is none",
           l->table->first, (unsigned long long)f->other_line, name, (unsigned long long)f->numbers,
           (unsigned long long)f->total, f->other);
    return FILTRA_OK;
  }
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "column \"%.64s\" holds %llu numbers and, in line %llu, \"%s\"; mend that cell, or "
      "set text_column if it is text",
      name, (unsigned long long)f->numbers, (unsigned long long)f->other_line, f->other);
}

/* Images that a table names are not read. */
static void warn_of_images(const learner *l, long column) {
  if (column == FT_NOWHERE) return;
  const ft_column_survey *c = &l->survey.columns[column];
  if (c->images == 0 || c->images * 10 < c->forms.total * 9) return;
  ft_log(FILTRA_LOG_WARNING,
         "%s: column \"%.64s\" is read as text, and %llu of its %llu cells are names of images, "
         "which are not read: only the names are learnt from; to learn from the images, put them "
         "in a folder per class, or call the table trainLabels.csv, with the columns id and label, "
         "and put ID.png into a folder train beside it",
         l->table->first, l->survey.first[column], (unsigned long long)c->images,
         (unsigned long long)c->forms.total);
}

static filtra_status decide(learner *l) {
  if (l->survey.count < 2 && !l->o->unlabelled)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "one column where two are needed; language models read texts of .txt");
  FT_TRY(find_all_given(l));
  choose_text(l);
  FT_TRY(check_names(l));
  if (!l->header) FT_TRY(ft_survey_add_first(&l->survey));
  FT_TRY(choose_target(l));
  warn_of_choices(l);
  FT_TRY(check_text(l));
  warn_of_images(l, l->text);
  warn_of_images(l, l->second);
  if (l->text == FT_NOWHERE && l->survey.rows > 0) FT_TRY(choose_features(l));
  l->fit->header = l->header;
  l->fit->count = l->survey.count;
  FT_TRY(name_column(l, l->text, &l->fit->text));
  FT_TRY(name_column(l, l->second, &l->fit->second));
  FT_TRY(l->label_count ? name_labels(l) : name_column(l, l->target, &l->fit->target));
  FT_TRY(name_column(l, l->id, &l->fit->id));
  FT_TRY(name_column(l, l->group, &l->fit->group));
  return name_column(l, l->time, &l->fit->time);
}

static filtra_status learn(learner *l) {
  filtra_status status = decide(l);
  if (status)
    return ft_fail_context(status, "%s:%llu", l->table->first, (unsigned long long)l->survey.line);
  if (!l->survey.rows) return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", l->table->first);
  FT_TRY(choose_decimal(l));
  FT_TRY(check_columns(l));
  return l->target == FT_NOWHERE ? FILTRA_OK : choose_labels(l);
}

filtra_status ft_table_learn(ft_table *table) {
  learner l = {.table = table, .o = table->options};
  l.text = l.second = l.target = l.id = l.group = l.time = FT_NOWHERE;
  table->ds->table = l.fit = ft_calloc(1, sizeof *l.fit);
  table->fit = l.fit;
  table->learnt = true;
  if (!l.fit) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_table_look(table, table->first, &l.survey);
  if (!status) {
    l.features = ft_calloc(l.survey.count, sizeof *l.features);
    l.labels = ft_calloc(l.survey.count, sizeof *l.labels);
    if (!l.features || !l.labels) status = FILTRA_ERROR_HOST_MEMORY;
  }
  if (!status) status = learn(&l);
  ft_survey_free(&l.survey);
  free(l.features);
  free(l.labels);
  return status;
}
