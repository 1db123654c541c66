/* The format "tu", listed in dataset.c: graphs as the collection of TU Dortmund (Morris et al.
 * 2020) distributes them. NAME_A.txt has an edge a line, as two nodes that are counted from 1 over
 * all graphs; NAME_graph_indicator.txt has each node's graph; NAME_graph_labels.txt or
 * NAME_graph_attributes.txt each graph's class or number; NAME_node_labels.txt and
 * NAME_edge_labels.txt, which may be missing, the types of nodes and edges. */
#include "base/file.h"
#include "base/lines.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/labels.h"
#include "data/names.h"
#include "data/number.h"
#include "data/number_form.h"
#include "data/spread.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char EDGES[] = "_A.txt";

/* Whole numbers of a file's lines. */
typedef struct numbers {
  int32_t *list; /* [count] */
  size_t count, capacity;
} numbers;

typedef struct edge {
  int32_t first, second, type; /* nodes, first < second, from 0 over all graphs */
} edge;

typedef struct reader {
  const char *path;
  char *stem; /* the files' path up to the underscore */
  filtra_dataset *ds;
  const filtra_dataset_options *options;
  numbers graphs, nodes, ends, types; /* graph of each node; its label; two nodes an edge; labels */
  edge *edges;
  size_t edge_count;
  ft_labels classes;
  ft_spread values; /* targets that are numbers */
  bool has_classes, has_values;
} reader;

/* ---- files ---- */

/* A file's path; the compressed one if only that exists. */
static char *file_of(const reader *r, const char *what) {
  char *plain = ft_format("%s_%s.txt", r->stem, what);
  char *packed = plain && !ft_data_file_exists(plain) ? ft_format("%s.gz", plain) : NULL;
  if (!packed || !ft_data_file_exists(packed)) {
    free(packed);
    return plain;
  }
  free(plain);
  return packed;
}

static bool is_between(char c) {
  return c == ' ' || c == '\t' || c == ',';
}

/* Adds the `columns` whole numbers of a line, separated by commas or spaces. */
static filtra_status add_numbers(const ft_lines *l, int columns, numbers *to) {
  const char *at = l->line;
  for (int i = 0; i < columns; i++) {
    char *end;
    while (i && is_between(*at))
      at++;
    const long long number = strtoll(at, &end, 10);
    if (end == at || number < INT_MIN || number > INT_MAX) break;
    FT_TRY(FT_GROW(to->list, to->count, to->capacity));
    to->list[to->count++] = (int32_t)number;
    at = end;
    if (i == columns - 1 && at[strspn(at, " \t")] == '\0') return FILTRA_OK;
  }
  return ft_fail(FILTRA_ERROR_INPUT, "\"%.40s\" is not %s", l->line,
                 columns == 1 ? "a whole number" : "two whole numbers with a comma between");
}

typedef filtra_status (*read_line)(reader *r, const ft_lines *l, void *to);

static filtra_status read_pair(reader *r, const ft_lines *l, void *to) {
  (void)r;
  return add_numbers(l, 2, to);
}

static filtra_status read_one(reader *r, const ft_lines *l, void *to) {
  (void)r;
  return add_numbers(l, 1, to);
}

static filtra_status read_class(reader *r, const ft_lines *l, void *to) {
  ft_sample_row *row = to;
  const char *name = l->line;
  size_t length = l->length;
  double number;
  ft_trim(&name, &length);
  if (!ft_read_double(name, length, &number) && number != floor(number))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "the class is %.*s; numbers of classes are whole ones, and numbers to be "
                   "predicted are in NAME_graph_attributes.txt",
                   (int)(length < 40 ? length : 40), name);
  if (memchr(name, ',', length))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "\"%.*s\" is several labels; graphs of this format have one class each",
                   (int)(length < 40 ? length : 40), name);
  if (length && !ft_is_missing(name, length))
    return ft_labels_find(&r->classes, name, length, &row->label);
  row->label = -1;
  if (r->options->unlabelled) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the class is missing (\"%.*s\"); such graphs can be predicted, not trained or "
                 "evaluated with",
                 (int)length, name);
}

static filtra_status read_value(reader *r, const ft_lines *l, void *to) {
  ft_sample_row *row = to;
  double value;
  FT_TRY(ft_read_double(l->line, l->length, &value));
  row->value = (float)value;
  ft_spread_add(&r->values, value);
  return FILTRA_OK;
}

/* Reads all lines that are not empty. `step` is the size of the element that a line fills; 0: all
 * lines fill the same one. */
static filtra_status read_lines(reader *r, ft_lines *l, read_line read, void *to, size_t step,
                                size_t expected) {
  size_t count = 0;
  for (;;) {
    bool more;
    FT_TRY(ft_lines_next(l, &more));
    if (!more) break;
    if (!l->length) continue;
    filtra_status status =
        expected && count == expected
            ? ft_fail(FILTRA_ERROR_INPUT, "more lines than the %zu that belong here", expected)
            : read(r, l, (char *)to + count * step);
    if (status) return ft_fail_context(status, "%s:%llu", l->path, (unsigned long long)l->number);
    count++;
  }
  if (!expected || count == expected) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s has %zu lines, %zu belong here", l->path, count, expected);
}

/* `expected` lines; 0: any number. */
static filtra_status read_file(reader *r, const char *what, read_line read, void *to, size_t step,
                               size_t expected) {
  ft_lines lines;
  char *path = file_of(r, what);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_lines_open(path, &lines);
  if (!status) {
    status = read_lines(r, &lines, read, to, step, expected);
    ft_lines_close(&lines);
  }
  free(path);
  return status;
}

static filtra_status has_file(const reader *r, const char *what, bool *found) {
  char *path = file_of(r, what);
  *found = path && ft_data_file_exists(path);
  free(path);
  return path ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* Length of NAME in the name of a file, NAME and `end`, which may be compressed; 0: another. */
static size_t name_length(const char *name, const char *end) {
  size_t length = strlen(name);
  if (ft_ends_with(name, ".gz")) length -= 3;
  const size_t tail = strlen(end);
  return length > tail && !memcmp(name + length - tail, end, tail) ? length - tail : 0;
}

/* What follows `stem` and an underscore in a name; NULL: the name begins otherwise. */
static const char *own_part(const char *name, const char *stem) {
  const size_t length = strlen(stem);
  return !strncmp(name, stem, length) && name[length] == '_' ? name + length + 1 : NULL;
}

/* Whether a file of the folder is read, or has no name as files of graphs have. */
static bool is_expected(const char *name, const char *stem) {
  static const char *const READ[] = {
      "A", "graph_indicator", "graph_labels", "graph_attributes", "node_labels", "edge_labels"};
  const char *part = own_part(name, stem);
  if (!name_length(name, ".txt")) return true;
  if (!part) return !strstr(name, "_labels.") && !strstr(name, "_attributes.");
  const size_t length = name_length(part, ".txt");
  for (size_t i = 0; i < FT_COUNT(READ); i++)
    if (length == strlen(READ[i]) && !memcmp(part, READ[i], length)) return true;
  return false;
}

static filtra_status warn_of_unread(const reader *r) {
  const char *stem = ft_path_name(r->stem);
  char **names;
  size_t count;
  FT_TRY(ft_list_data(r->path, &names, &count));
  for (size_t i = 0; i < count; i++)
    if (!is_expected(names[i], stem))
      ft_log(FILTRA_LOG_WARNING, "%s/%s is left out: %s", r->path, names[i],
             own_part(names[i], stem) && strstr(names[i], "_attributes.")
                 ? "models read labels of nodes and edges, not numbers"
                 : "its name is none of this data set's (docs/graphs.md)");
  ft_free_names(names, count);
  return FILTRA_OK;
}

/* ---- graphs ---- */

/* Makes a sample of each graph; its nodes must be consecutive. */
static filtra_status make_rows(reader *r, ft_samples *to) {
  const numbers *g = &r->graphs;
  for (size_t i = 0; i < g->count; i++) {
    const int32_t number = g->list[i], last = i ? g->list[i - 1] : 0;
    if (number != last + 1 && (i == 0 || number != last))
      return ft_fail(FILTRA_ERROR_INPUT,
                     i ? "%s_graph_indicator.txt: node %zu is of graph %d, the node before it of "
                         "graph %d; nodes of a graph follow each other, and graphs count from 1"
                       : "%s_graph_indicator.txt: node %zu is of graph %d; graphs count from 1",
                     r->stem, i + 1, number, last);
    if (number != last) {
      FT_TRY(FT_GROW(to->rows, to->count, to->capacity));
      to->rows[to->count++] = (ft_sample_row){.first = i};
    }
    to->rows[to->count - 1].length++;
  }
  const uint32_t most = r->options->max_length;
  for (size_t i = 0; i < to->count; i++)
    if (most && to->rows[i].length > most)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: graph %zu has %u nodes, more than max_length %u; leave it out, or raise "
                     "max_length",
                     r->path, i + 1, to->rows[i].length, most);
  return FILTRA_OK;
}

static int by_nodes(const void *a, const void *b) {
  const edge *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->second > y->second) - (x->second < y->second);
}

/* Checks an edge of the file. */
static filtra_status take_edge(reader *r, size_t i) {
  const int32_t a = r->ends.list[2 * i], b = r->ends.list[2 * i + 1];
  const int32_t type = r->types.count ? r->types.list[i] : 0;
  const bool known =
      a >= 1 && b >= 1 && (size_t)a <= r->graphs.count && (size_t)b <= r->graphs.count;
  if (!known || r->graphs.list[a - 1] != r->graphs.list[b - 1])
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s%s: edge %zu joins nodes %d and %d, which are no two of one "
                   "graph",
                   r->stem, EDGES, i + 1, a, b);
  if (type < 0 || type >= FT_MOST_EDGE_TYPES)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s_edge_labels.txt: edge %zu has the label %d, accepted are 0 to %d", r->stem,
                   i + 1, type, FT_MOST_EDGE_TYPES - 1);
  if (a == b) return FILTRA_OK;
  if ((uint32_t)type >= r->ds->info.edge_types) r->ds->info.edge_types = (uint32_t)type + 1;
  r->edges[r->edge_count++] = (edge){(a < b ? a : b) - 1, (a < b ? b : a) - 1, type};
  return FILTRA_OK;
}

/* Lists each edge once, in the order of its nodes; files contain both directions. */
static filtra_status take_edges(reader *r) {
  const size_t count = r->ends.count / 2;
  size_t kept = 0;
  r->ds->info.edge_types = 1;
  r->edges = ft_calloc(count + 1, sizeof *r->edges);
  if (!r->edges) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++)
    FT_TRY(take_edge(r, i));
  if (r->edge_count < count)
    ft_log(FILTRA_LOG_WARNING, "%s: %zu edges from a node to itself are left out", r->path,
           count - r->edge_count);
  qsort(r->edges, r->edge_count, sizeof *r->edges, by_nodes);
  for (size_t i = 0; i < r->edge_count; i++) {
    const edge *e = &r->edges[i], *last = kept ? &r->edges[kept - 1] : NULL;
    if (!last || by_nodes(e, last) != 0) {
      r->edges[kept++] = *e;
    } else if (e->type != last->type) {
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s%s: nodes %d and %d are joined by edges of different labels; edges have no "
                     "direction",
                     r->stem, EDGES, e->first + 1, e->second + 1);
    }
  }
  r->edge_count = kept;
  return FILTRA_OK;
}

static filtra_status add_nodes(reader *r, const ft_sample_row *row, size_t from, ft_tokens *to) {
  FT_TRY(ft_tokens_reserve(to, row->length));
  for (size_t i = from; i < from + row->length; i++) {
    const int32_t label = r->nodes.count ? r->nodes.list[i] : 0;
    if (label < 0 || label >= FT_MOST_IDS - 1)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s_node_labels.txt: node %zu has the label %d, accepted are 0 to %d", r->stem,
                     i + 1, label, FT_MOST_IDS - 2);
    to->ids[to->count++] = label + 1;
  }
  return FILTRA_OK;
}

/* Stores each graph's nodes, followed by its edges. */
static filtra_status put_graphs(reader *r, ft_samples *to) {
  size_t at = 0; /* index in the edges */
  for (size_t i = 0; i < to->count; i++) {
    ft_sample_row *row = &to->rows[i];
    const size_t from = row->first, end = from + row->length;
    row->first = to->tokens.count;
    FT_TRY(add_nodes(r, row, from, &to->tokens));
    for (; at < r->edge_count && (size_t)r->edges[at].first < end; at++, row->edges++) {
      FT_TRY(ft_tokens_reserve(&to->tokens, FT_EDGE_WORDS));
      to->tokens.ids[to->tokens.count++] = r->edges[at].first - (int32_t)from;
      to->tokens.ids[to->tokens.count++] = r->edges[at].second - (int32_t)from;
      to->tokens.ids[to->tokens.count++] = r->edges[at].type;
    }
  }
  return FILTRA_OK;
}

/* Whether there are the targets that the options ask for. */
static filtra_status check_targets(const reader *r) {
  const filtra_targets asked = r->options->targets;
  const bool values = asked == FILTRA_TARGETS_VALUES;
  if (asked == FILTRA_TARGETS_AUTO) return FILTRA_OK;
  if (asked == FILTRA_TARGETS_LABELS)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: a graph of this format has one target, not labels",
                   r->path);
  if (values ? r->has_values : r->has_classes) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s_graph_%s.txt is not there, and targets shall be %s",
                 r->stem, values ? "attributes" : "labels", values ? "numbers" : "classes");
}

/* Finds out which targets exist; graphs without any can only be predicted. */
static filtra_status find_targets(reader *r) {
  FT_TRY(has_file(r, "graph_labels", &r->has_classes));
  FT_TRY(has_file(r, "graph_attributes", &r->has_values));
  r->ds->untargeted = !r->has_classes && !r->has_values;
  const ft_data_fit *fit = r->ds->fit; /* of a trained model, which needs no targets to predict */
  const bool fitted = fit->values || fit->labels || fit->class_count;
  if (r->options->unlabelled && (r->ds->untargeted || fitted)) return FILTRA_OK;
  if (!r->ds->untargeted) return check_targets(r);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: neither %s_graph_labels.txt nor %s_graph_attributes.txt is there", r->path,
                 r->stem, r->stem);
}

static filtra_status read_values(reader *r, ft_samples *to) {
  r->ds->info.target = FILTRA_TARGET_VALUE;
  FT_TRY(read_file(r, "graph_attributes", read_value, to->rows, sizeof *to->rows, to->count));
  char *path = file_of(r, "graph_attributes");
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_spread_check_targets(&r->values, r->ds, path);
  free(path);
  return status;
}

static filtra_status read_targets(reader *r, ft_samples *to) {
  if (r->ds->untargeted) return FILTRA_OK;
  if (r->has_values && (!r->has_classes || r->options->targets == FILTRA_TARGETS_VALUES))
    return read_values(r, to);
  FT_TRY(read_file(r, "graph_labels", read_class, to->rows, sizeof *to->rows, to->count));
  FT_TRY(ft_labels_close(&r->classes, true, to));
  ft_labels_give(&r->classes, r->ds);
  return FILTRA_OK;
}

static filtra_status read_all(reader *r) {
  bool labelled;
  FT_TRY(find_targets(r));
  ft_samples *to = &r->ds->samples[r->ds->untargeted ? FILTRA_SPLIT_TEST : r->options->file_split];
  FT_TRY(read_file(r, "graph_indicator", read_one, &r->graphs, 0, 0));
  if (!r->graphs.count)
    return ft_fail(FILTRA_ERROR_INPUT, "%s_graph_indicator.txt has no nodes", r->stem);
  FT_TRY(make_rows(r, to));
  FT_TRY(read_file(r, "A", read_pair, &r->ends, 0, 0));
  FT_TRY(has_file(r, "node_labels", &labelled));
  if (labelled) FT_TRY(read_file(r, "node_labels", read_one, &r->nodes, 0, r->graphs.count));
  FT_TRY(has_file(r, "edge_labels", &labelled));
  if (labelled && r->ends.count)
    FT_TRY(read_file(r, "edge_labels", read_one, &r->types, 0, r->ends.count / 2));
  FT_TRY(warn_of_unread(r));
  FT_TRY(take_edges(r));
  FT_TRY(put_graphs(r, to));
  return read_targets(r, to);
}

/* ---- the format ---- */

static filtra_status find_stem(const char *path, char **stem) {
  char **names;
  size_t count, found = 0;
  *stem = NULL;
  if (!ft_is_directory(path))
    return ft_fail(FILTRA_ERROR_INPUT, "%s is one of several files of graphs: give their folder",
                   path);
  FT_TRY(ft_list_data(path, &names, &count));
  for (size_t i = 0; i < count; i++) {
    const size_t length = name_length(names[i], EDGES);
    if (!length) continue;
    names[i][length] = '\0';
    if (!found++) *stem = ft_path_join(path, names[i]);
  }
  ft_free_names(names, count);
  if (found == 1) return *stem ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: %zu files are called NAME%s, one data set has one", path,
                 found, EDGES);
}

static filtra_status open_tu(const char *path, const filtra_dataset_options *options,
                             filtra_dataset *ds) {
  reader r = {.path = path, .ds = ds, .options = options};
  filtra_status status = find_stem(path, &r.stem);
  if (!status) status = read_all(&r);
  ft_labels_free(&r.classes);
  free(r.stem);
  free(r.graphs.list);
  free(r.nodes.list);
  free(r.ends.list);
  free(r.types.list);
  free(r.edges);
  return status;
}

static const char INDICATOR[] = "_graph_indicator.txt";

/* Whether a path is one of the files, with the indicator beside it. */
static bool is_part(const ft_dataset_probe *p) {
  static const char *const ENDS[] = {EDGES, "_graph_labels.txt", "_graph_attributes.txt",
                                     "_node_labels.txt", "_edge_labels.txt"};
  const char *name = ft_path_name(p->path);
  bool found = name_length(name, INDICATOR) > 0;
  for (size_t i = 0; i < FT_COUNT(ENDS) && !found && !*p->failed; i++) {
    const size_t length = name_length(name, ENDS[i]);
    if (!length) continue;
    char *beside =
        ft_format("%.*s%s", (int)(name - p->path + (ptrdiff_t)length), p->path, INDICATOR);
    found = beside && ft_data_file_exists(beside);
    if (!beside) *p->failed = FILTRA_ERROR_HOST_MEMORY;
    free(beside);
  }
  return found;
}

/* A folder that lacks edges, or has labels of graphs and lacks the indicator, is one, too: reading
 * it says what is missing. */
static bool probe_tu(const ft_dataset_probe *p) {
  bool edges = false, indicator = false, labels = false;
  if (!p->directory) return is_part(p);
  for (size_t i = 0; i < p->count; i++) {
    edges = edges || name_length(p->names[i], EDGES);
    indicator = indicator || name_length(p->names[i], INDICATOR);
    labels = labels || name_length(p->names[i], "_graph_labels.txt") ||
             name_length(p->names[i], "_node_labels.txt");
  }
  return indicator || (edges && labels);
}

const ft_dataset_format ft_format_tu = {
    "tu", "graphs: NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt, and more", probe_tu,
    open_tu};
