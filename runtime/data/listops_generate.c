/* filtra_listops_generate: generates ListOps as Long Range Arena does (Tay et al. 2021, "Long Range
 * Arena: A benchmark for efficient transformers"; generator after Nangia & Bowman 2018). Draws
 * trees until enough distinct ones have a length within bounds, then splits them at random.
 *
 * Candidate i depends only on (seed, i). So threads draw candidates in parallel, and they are
 * accepted in order of i. An accepted tree is stored as 16 bytes, its index and its hash, and drawn
 * again when it is written. */
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "data/listops_tree.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <filtra/synthetic.h>

enum {
  MAX_TREES = 100000000,
  MAX_LENGTH = 1 << 20,
  MAX_ARGS = 1000,
  MAX_THREADS = 256,
  BLOCK = 512,        /* candidates that a thread takes at a time */
  ROUND_BLOCKS = 128, /* blocks per round, between two checks of what was found */
  PATIENCE = 1 << 24, /* candidates without a new tree before giving up */
};

/* ---- drawing in parallel ---- */

typedef struct found_tree {
  uint64_t index, hash;
} found_tree;

typedef struct found_list {
  found_tree *trees;
  size_t count, capacity;
} found_list;

/* One round: ROUND_BLOCKS blocks of candidates, the first of index `first`. */
typedef struct search {
  ft_listops_shape shape;
  uint64_t seed, first;
  uint32_t threads;
  found_list blocks[ROUND_BLOCKS]; /* trees of accepted length, in order of index */
  atomic_uint next_block;
  atomic_bool failed;
} search;

/* FNV-1a over the ids. Equal trees have equal hashes. If two different trees collide, one of them
 * is lost, without further harm. */
static uint64_t hash_tree(const ft_listops_tree *t) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < t->length; i++)
    hash = (hash ^ t->ids[i]) * 0x100000001b3u;
  return hash ^ hash >> 32;
}

static filtra_status search_block(search *s, unsigned block, ft_listops_tree *t) {
  found_list *list = &s->blocks[block];
  list->count = 0;
  for (uint64_t i = 0; i < BLOCK; i++) {
    uint64_t index = s->first + (uint64_t)block * BLOCK + i;
    if (!ft_listops_draw(&s->shape, ft_rng_make(s->seed, index), t)) continue;
    FT_TRY(FT_GROW(list->trees, list->count, list->capacity));
    list->trees[list->count++] = (found_tree){index, hash_tree(t)};
  }
  return FILTRA_OK;
}

static void *search_blocks(void *user) {
  search *s = user;
  ft_listops_tree t;
  bool failed = ft_listops_tree_make(&s->shape, &t) != FILTRA_OK;
  for (unsigned block; !failed && (block = atomic_fetch_add(&s->next_block, 1)) < ROUND_BLOCKS;)
    failed = search_block(s, block, &t) != FILTRA_OK;
  if (failed) atomic_store(&s->failed, true);
  ft_listops_tree_free(&t);
  return NULL;
}

/* Also works in the calling thread; fewer threads than asked for only take longer. */
static filtra_status search_round(search *s) {
  ft_thread threads[MAX_THREADS];
  atomic_store(&s->next_block, 0);
  unsigned started = ft_threads_start(threads, s->threads - 1, search_blocks, s);
  search_blocks(s);
  ft_threads_join(threads, started);
  if (atomic_load(&s->failed))
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory while drawing trees");
  return FILTRA_OK;
}

/* ---- collecting distinct trees ---- */

typedef struct collection {
  uint64_t *indices; /* [wanted] indices of the trees found */
  size_t count, wanted;
  uint64_t *hashes; /* open addressing; 0: free */
  size_t mask;
} collection;

/* Adds a hash; false: it is there already. */
static bool insert_hash(collection *c, uint64_t hash) {
  if (hash == 0) hash = 1;
  size_t at = hash & c->mask;
  for (; c->hashes[at]; at = (at + 1) & c->mask)
    if (c->hashes[at] == hash) return false;
  c->hashes[at] = hash;
  return true;
}

static filtra_status make_collection(collection *c, size_t wanted) {
  size_t size = 16;
  while (size < 2 * wanted)
    size *= 2;
  *c = (collection){.wanted = wanted, .mask = size - 1};
  c->indices = ft_calloc(wanted, sizeof *c->indices);
  c->hashes = ft_calloc(size, sizeof *c->hashes);
  return c->indices && c->hashes ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static void free_collection(collection *c) {
  free(c->indices);
  free(c->hashes);
}

static void accept_found(collection *c, const search *s) {
  for (unsigned block = 0; block < ROUND_BLOCKS; block++) {
    const found_list *list = &s->blocks[block];
    for (size_t i = 0; i < list->count && c->count < c->wanted; i++)
      if (insert_hash(c, list->trees[i].hash)) c->indices[c->count++] = list->trees[i].index;
  }
}

static filtra_status report(const filtra_listops_options *o, size_t done, size_t total) {
  if (!o->progress || o->progress(o->progress_user, done, total)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_CANCELLED, "generating ListOps was stopped");
}

static filtra_status collect_rounds(const filtra_listops_options *o, search *s, collection *c) {
  uint64_t last_found = 0;
  while (c->count < c->wanted) {
    FT_TRY(report(o, c->count, c->wanted));
    FT_TRY(search_round(s));
    size_t before = c->count;
    accept_found(c, s);
    s->first += (uint64_t)ROUND_BLOCKS * BLOCK;
    if (c->count > before) last_found = s->first;
    if (s->first - last_found > PATIENCE)
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "%zu of %zu trees found, none of them among the last %d candidates: lengths "
                     "between %u and %u are too rare; widen them or ask for fewer trees",
                     c->count, c->wanted, PATIENCE, s->shape.min_length, s->shape.max_length);
  }
  return FILTRA_OK;
}

static filtra_status collect(const filtra_listops_options *o, const ft_listops_shape *shape,
                             collection *c) {
  search *s = ft_calloc(1, sizeof *s);
  if (!s) return FILTRA_ERROR_HOST_MEMORY;
  s->shape = *shape;
  s->seed = o->seed;
  s->threads = o->threads ? o->threads : ft_processors();
  if (s->threads > MAX_THREADS) s->threads = MAX_THREADS;
  filtra_status status = collect_rounds(o, s, c);
  for (unsigned block = 0; block < ROUND_BLOCKS; block++)
    free(s->blocks[block].trees);
  free(s);
  return status;
}

/* Shuffles the trees: frequent trees are found early, so without shuffling the training file would
 * hold the common ones and the others the rare ones. */
static void shuffle(collection *c, uint64_t seed) {
  ft_rng rng = ft_rng_make(seed, ft_hash_text("ListOps split"));
  for (size_t i = c->count; i > 1; i--) {
    size_t j = ft_rng_below(&rng, i);
    uint64_t swapped = c->indices[i - 1];
    c->indices[i - 1] = c->indices[j];
    c->indices[j] = swapped;
  }
}

/* ---- writing ---- */

typedef struct writer {
  const filtra_listops_options *options;
  const ft_listops_shape *shape;
  const uint64_t *indices; /* of the trees not yet written */
  size_t total;
  ft_listops_tree tree;
  ft_listops_evaluator evaluator;
  char *text;
} writer;

static filtra_status evaluate(writer *w, int *value) {
  ft_listops_begin(&w->evaluator);
  for (size_t i = 0; i < w->tree.length; i++)
    FT_TRY(ft_listops_feed(&w->evaluator, w->tree.ids[i], i + 1));
  return ft_listops_end(&w->evaluator, value);
}

static filtra_status write_trees(writer *w, size_t count, FILE *stream) {
  fputs("Source\tTarget\n", stream);
  for (size_t i = 0; i < count && !ferror(stream); i++) { /* commit reports a failed write */
    int value;
    if (i % 256 == 0) FT_TRY(report(w->options, w->total, w->total));
    ft_listops_draw(w->shape, ft_rng_make(w->options->seed, *w->indices++), &w->tree);
    FT_TRY(evaluate(w, &value));
    fwrite(w->text, 1, ft_listops_text(&w->tree, w->text), stream);
    fprintf(stream, "\t%d\n", value);
  }
  return FILTRA_OK;
}

/* Calls `step` with the path of each file. */
static filtra_status each_file(const char *directory, ft_atomic_file files[FILTRA_SPLIT_COUNT],
                               filtra_status (*step)(const char *path, ft_atomic_file *file)) {
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++) {
    char *path = ft_format("%s/basic_%s.tsv", directory, filtra_split_name(split));
    if (!path) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = step(path, files ? &files[split] : NULL);
    free(path);
    if (status) return status;
  }
  return FILTRA_OK;
}

static filtra_status refuse_existing(const char *path, ft_atomic_file *file) {
  (void)file;
  if (!ft_file_exists(path)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "%s is there already; remove it, or choose another folder",
                 path);
}

static filtra_status remove_file(const char *path, ft_atomic_file *file) {
  (void)file;
  remove(path); /* may not exist */
  return FILTRA_OK;
}

/* Commits the largest file first, so that the three renames follow each other closely. */
static filtra_status write_files(writer *w, const char *directory, const size_t *counts) {
  ft_atomic_file files[FILTRA_SPLIT_COUNT] = {0};
  filtra_status status = each_file(directory, files, ft_atomic_open);
  for (int i = 0; i < FILTRA_SPLIT_COUNT && !status; i++)
    status = write_trees(w, counts[i], files[i].stream);
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++) {
    if (!status)
      status = ft_atomic_commit(&files[i]);
    else
      ft_atomic_abort(&files[i]);
  }
  if (status) each_file(directory, files, remove_file); /* all three files, or none */
  return status;
}

static filtra_status write_collection(const filtra_listops_options *o,
                                      const ft_listops_shape *shape, const collection *c,
                                      const size_t *counts, const char *directory) {
  writer w = {.options = o, .shape = shape, .indices = c->indices, .total = c->count};
  filtra_status status = ft_listops_tree_make(shape, &w.tree);
  w.text = ft_calloc(shape->max_length, FT_LISTOPS_TEXT);
  if (!w.text) status = FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = write_files(&w, directory, counts);
  ft_listops_tree_free(&w.tree);
  ft_listops_free(&w.evaluator);
  free(w.text);
  return status;
}

/* ---- options ---- */

static filtra_status check_range(const char *name, uint64_t value, uint64_t low, uint64_t high) {
  if (value >= low && value <= high) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "%s is %llu; %llu to %llu are accepted", name,
                 (unsigned long long)value, (unsigned long long)low, (unsigned long long)high);
}

static filtra_status check_shape(const ft_listops_shape *s) {
  FT_TRY(check_range("max_length", s->max_length, 2, MAX_LENGTH));
  FT_TRY(check_range("max_depth", s->max_depth, 1, FT_LISTOPS_MAX_DEPTH));
  FT_TRY(check_range("max_args", s->max_args, 2, MAX_ARGS));
  if (s->min_length >= s->max_length - 1)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "no length lies between min_length %u and max_length %u, both exclusive",
                   s->min_length, s->max_length);
  return FILTRA_OK;
}

static filtra_status check_supply(const ft_listops_shape *s, size_t wanted) {
  double distinct = ft_listops_distinct(s);
  if (distinct >= (double)wanted) return FILTRA_OK;
  uint32_t longest = ft_listops_longest(s);
  if (s->min_length >= longest)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "a tree of depth %u with at most %u arguments has at most %u tokens; more than "
                   "%u were asked for",
                   s->max_depth, s->max_args, longest, s->min_length);
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%.0f distinct trees have more than %u and fewer than %u tokens, a depth of at "
                 "most %u and at most %u arguments; %zu were asked for",
                 distinct, s->min_length, s->max_length, s->max_depth, s->max_args, wanted);
}

static uint32_t or_default(uint64_t value, uint32_t otherwise) {
  return value ? (uint32_t)value : otherwise;
}

filtra_status filtra_listops_generate(const char *directory,
                                      const filtra_listops_options *options) {
  static const filtra_listops_options defaults;
  const filtra_listops_options *o = options ? options : &defaults;
  FT_NEED(directory);
  FT_TRY(FT_CHECK_RESERVED(filtra_listops_options, o));
  ft_listops_shape shape = {or_default(o->min_length, 500), or_default(o->max_length, 2000),
                            or_default(o->max_depth, 10), or_default(o->max_args, 10)};
  FT_TRY(check_range("train", o->train, 0, MAX_TREES));
  FT_TRY(check_range("val", o->val, 0, MAX_TREES));
  FT_TRY(check_range("test", o->test, 0, MAX_TREES));
  const size_t counts[FILTRA_SPLIT_COUNT] = {or_default(o->train, 96000), or_default(o->val, 2000),
                                             or_default(o->test, 2000)};
  size_t wanted = counts[0] + counts[1] + counts[2];
  FT_TRY(check_shape(&shape));
  FT_TRY(check_supply(&shape, wanted));
  FT_TRY(each_file(directory, NULL, refuse_existing));
  bool made = !ft_file_exists(directory);
  FT_TRY(ft_make_directories(directory));
  collection c;
  filtra_status status = make_collection(&c, wanted);
  if (!status) status = collect(o, &shape, &c);
  if (!status) {
    shuffle(&c, o->seed);
    status = write_collection(o, &shape, &c, counts, directory);
  }
  free_collection(&c);
  if (status && made) remove(directory);
  return status;
}
