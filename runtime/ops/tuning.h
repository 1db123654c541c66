/* Configurations: the ways in which a kernel can be cut for a device, and which of them was
 * measured to be the fastest.
 *
 * An op that has a table of configurations asks ft_tuning_choose with a question: what it would
 * take by itself, and a key for the class of its problem. The answer is what `filtra tune` found
 * for that key on this device and driver, or what the op would take. Answers are rows of the table,
 * all of which tests cover: no file can make a kernel run in any other way.
 */
#ifndef FT_OPS_TUNING_H
#define FT_OPS_TUNING_H

#include "gpu/gpu.h"

#include <jansson.h>

enum {
  FT_CONFIGURATION_FIELDS = 6,
  FT_TUNING_KEY = 112,
  FT_TUNING_NUMBERS = 24,
  FT_TUNING_REASON = 160
};

/* ---- the tables (ops/tuning_table.c) ---- */

typedef enum ft_tuning_family {
  FT_TUNE_GEMM_TILED,
  FT_TUNE_GEMM_S64,
  FT_TUNE_GEMM_MATRIX,
  FT_TUNE_ATTENTION_TILED,
  FT_TUNE_ATTENTION_LANES,
  FT_TUNE_ATTENTION_MATRIX,
  FT_TUNE_CHAIN,
  FT_TUNING_FAMILIES
} ft_tuning_family;

/** The fields of a row, in order; then `parts` where the family has them; unused ones are 0. */
typedef struct ft_configuration {
  uint32_t value[FT_CONFIGURATION_FIELDS];
} ft_configuration;

typedef struct ft_configuration_table {
  const char *name; /* the first word of keys */
  const char *const *fields;
  uint32_t field_count; /* "parts", the last one, included */
  const ft_configuration *rows;
  uint32_t row_count;
  uint32_t most_parts; /* the work is cut into 1, 2, 4 .. so many; 0: no such field */
} ft_configuration_table;

const ft_configuration_table *ft_configurations(ft_tuning_family family);
/** Rows with every number of parts. */
size_t ft_configuration_count(ft_tuning_family family);
ft_configuration ft_configuration_at(ft_tuning_family family, size_t index);
bool ft_configuration_known(ft_tuning_family family, const ft_configuration *c);
/** Whether it takes matrix units. */
bool ft_configuration_on_matrices(ft_tuning_family family, const ft_configuration *c);
bool ft_configuration_same(const ft_configuration *a, const ft_configuration *b);
/** {"rows": 16, ...}; NULL when out of memory. */
json_t *ft_configuration_json(ft_tuning_family family, const ft_configuration *c);
/** "rows 16, parts 2" */
const char *ft_configuration_text(ft_tuning_family family, const ft_configuration *c,
                                  char text[FT_TUNING_KEY]);

/* ---- questions ---- */

typedef struct ft_tuning_question ft_tuning_question;

struct ft_tuning_question {
  ft_tuning_family family;
  char key[FT_TUNING_KEY];
  ft_configuration standard;         /* the op's own choice; need not be in the table */
  int64_t number[FT_TUNING_NUMBERS]; /* the problem, as `usable` and ft_trial_build read it */
  /** Whether device and problem can use a row of the table. */
  bool (*usable)(const filtra_device *dev, const ft_tuning_question *q, const ft_configuration *c);
};

/** A size as keys have it: exact up to 64, then rounded up to a power of two. */
int64_t ft_tuning_bucket(int64_t size);

ft_configuration ft_tuning_choose(const filtra_device *dev, const ft_tuning_question *q);
/** Whether ops shall take their plainest way, which others are compared with. */
bool ft_tuning_reference(const filtra_device *dev);

/* ---- what was found (ops/tuning.c) ---- */

/** A configuration that may not be used, and why: "differs from the reference by ...". */
typedef struct ft_tuning_refusal {
  ft_configuration configuration;
  char why[FT_TUNING_REASON];
} ft_tuning_refusal;

typedef struct ft_tuning_entry {
  char key[FT_TUNING_KEY];
  ft_tuning_family family;
  bool chosen; /* else the op's own choice was not beaten */
  ft_configuration choice;
  double standard_seconds, seconds; /* of the op's own choice and of the winner; 0: not measured */
  uint32_t runs;                    /* times that they are medians of */
  ft_tuning_refusal *refused;
  size_t refused_count, refused_capacity;
} ft_tuning_entry;

/** Counted: several devices' users hold the same. Entries are in order of their keys. One thread at
 * a time per device. */
typedef struct ft_tuning {
  uint32_t holders;
  char *path; /* the file it came from; NULL: none */
  ft_tuning_entry *entries;
  size_t count, capacity;

  /* Of the tuner. */
  bool collect; /* keep a copy of each question, the first of its key */
  ft_tuning_question *questions;
  size_t question_count, question_capacity;
  bool reference; /* see ft_tuning_reference */
  bool forced;    /* questions of this family get this answer, if it fits; others are answered */
  ft_tuning_family forced_family;
  ft_configuration forced_configuration;
  const struct ft_tuning *known; /* from here; NULL: from nowhere */
} ft_tuning;

/** Empty, with one holder; NULL when out of memory. */
ft_tuning *ft_tuning_new(void);
ft_tuning *ft_tuning_hold(ft_tuning *tuning);
/** Sets *tuning to NULL; the last holder frees it. Safe on NULL. */
void ft_tuning_release(ft_tuning **tuning);
/** Answers questions from `tuning`, which the device then holds; returns the one before, which the
 * caller then holds. */
ft_tuning *ft_tuning_use(filtra_device *dev, ft_tuning *tuning);

const ft_tuning_entry *ft_tuning_find(const ft_tuning *tuning, const char *key);
/** The entry of that key, made if need be; NULL when out of memory. */
ft_tuning_entry *ft_tuning_add(ft_tuning *tuning, const char *key, ft_tuning_family family);
/** Makes the entry of that key, which may be missing, a copy of `from`. */
filtra_status ft_tuning_replace(ft_tuning *tuning, const ft_tuning_entry *from);
filtra_status ft_tuning_refuse(ft_tuning_entry *entry, const ft_configuration *c, const char *why);
/** Why a configuration is refused; NULL: it is not. */
const char *ft_tuning_refused(const ft_tuning_entry *entry, const ft_configuration *c);
/** Keys with a choice. */
size_t ft_tuning_chosen(const ft_tuning *tuning);
/** Logs a warning where choices take matrix units, but the device may not; `whose` begins it. */
void ft_tuning_warn(const filtra_device *dev, const ft_tuning *tuning, const char *whose);
/** Whether questions get the same answers from both. */
bool ft_tuning_equal(const ft_tuning *a, const ft_tuning *b);

/* ---- files (ops/tuning_file.c) ---- */

/** Reads a document, of which everything is checked. Fails with INPUT; *foreign then says that it
 * is whole, but another device's, driver's or library version's. `context` goes before errors. */
filtra_status ft_tuning_parse(const filtra_device *dev, const char *text, size_t size,
                              const char *context, bool *foreign, ft_tuning **out);
filtra_status ft_tuning_load(const filtra_device *dev, const char *path, bool *foreign,
                             ft_tuning **out);
/** All that was found, with times, refusals and the date; atomic. */
filtra_status ft_tuning_save(const filtra_device *dev, const ft_tuning *tuning, const char *path);
/** One entry as files have it; NULL when out of memory. */
json_t *ft_tuning_entry_json(const ft_tuning_entry *entry);
/** The choices alone, as checkpoints have them: the same bytes for the same choices. Caller frees;
 * NULL when out of memory. */
char *ft_tuning_choices(const filtra_device *dev, const ft_tuning *tuning);

/** This device's file below `folder`; caller frees; NULL without a folder, or on failure (message
 * set). */
char *ft_tuning_path(const filtra_device *dev, const char *folder);
/** Takes the device's file in the cache folder over where there is one; what is wrong with it is
 * only logged. */
void ft_tuning_open_cached(filtra_device *dev);

#endif
