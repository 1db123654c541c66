/* Configurations: the ways in which a kernel can be adapted to a device, and which of them was
 * measured to be the fastest.
 *
 * An op that has a table of configurations asks ft_tuning_choose a question: its own choice, and a
 * key for the class of its problem. The answer is what `filtra tune` found for that key on this
 * device and driver, or else the op's own choice. Answers are rows of the table, all of which tests
 * cover: no file can make a kernel run in any other way. */
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
  FT_TUNE_ATTENTION_UNIFORM,
  FT_TUNE_ATTENTION_MATRIX,
  FT_TUNE_CHAIN,
  FT_TUNING_FAMILIES
} ft_tuning_family;

/** The fields of a row, in order, followed by `parts` if the family has it; unused ones are 0. */
typedef struct ft_configuration {
  uint32_t value[FT_CONFIGURATION_FIELDS];
} ft_configuration;

typedef struct ft_configuration_table {
  const char *name; /* the first word of keys */
  const char *const *fields;
  uint32_t field_count; /* including "parts", the last one */
  const ft_configuration *rows;
  uint32_t row_count;
  uint32_t most_parts; /* the work is cut into 1, 2, 4 .. most_parts parts; 0: no such field */
} ft_configuration_table;

const ft_configuration_table *ft_configurations(ft_tuning_family family);
/** Number of configurations: each row with each number of parts. */
size_t ft_configuration_count(ft_tuning_family family);
ft_configuration ft_configuration_at(ft_tuning_family family, size_t index);
bool ft_configuration_known(ft_tuning_family family, const ft_configuration *c);
/** Whether the configuration uses matrix units. */
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
  /** Whether a configuration is usable for device and problem. */
  bool (*usable)(const filtra_device *dev, const ft_tuning_question *q, const ft_configuration *c);
};

/** A size as it appears in keys: exact up to 64, then rounded up to a power of two. */
int64_t ft_tuning_bucket(int64_t size);

ft_configuration ft_tuning_choose(const filtra_device *dev, const ft_tuning_question *q);
/** Whether ops must use their plainest kernels, with which others are compared. */
bool ft_tuning_reference(const filtra_device *dev);

/* ---- results (ops/tuning.c) ---- */

/** A configuration that must not be used, and why: "differs from the reference by ...". */
typedef struct ft_tuning_refusal {
  ft_configuration configuration;
  char why[FT_TUNING_REASON];
} ft_tuning_refusal;

typedef struct ft_tuning_entry {
  char key[FT_TUNING_KEY];
  ft_tuning_family family;
  bool chosen; /* false: the op's own choice was not beaten */
  ft_configuration choice;
  /* Medians of the op's own choice and of the winner; 0: not measured. */
  double standard_seconds, seconds;
  uint32_t runs; /* number of times in each median */
  ft_tuning_refusal *refused;
  size_t refused_count, refused_capacity;
} ft_tuning_entry;

/** Reference-counted, as devices and trainers share it. Entries are sorted by key. One thread at a
 * time per device. */
typedef struct ft_tuning {
  uint32_t holders;
  char *path; /* of the file; NULL: none */
  ft_tuning_entry *entries;
  size_t count, capacity;

  /* For the tuner. */
  bool collect; /* keep a copy of each question, the first with its key */
  ft_tuning_question *questions;
  size_t question_count, question_capacity;
  bool reference; /* see ft_tuning_reference */
  bool forced;    /* questions of forced_family get forced_configuration, if usable */
  ft_tuning_family forced_family;
  ft_configuration forced_configuration;
  /* With `forced`, answers other questions; NULL: the ops' own choices. */
  const struct ft_tuning *known;
} ft_tuning;

/** Creates an empty tuning with one holder; NULL when out of memory. */
ft_tuning *ft_tuning_new(void);
ft_tuning *ft_tuning_hold(ft_tuning *tuning);
/** Sets *tuning to NULL; the last holder frees it. NULL is accepted. */
void ft_tuning_release(ft_tuning **tuning);
/** Lets `tuning` answer the device's questions; the device then holds it. Returns the previous one,
 * which the caller then holds. */
ft_tuning *ft_tuning_use(filtra_device *dev, ft_tuning *tuning);

const ft_tuning_entry *ft_tuning_find(const ft_tuning *tuning, const char *key);
/** The entry with that key, created if needed; NULL when out of memory. */
ft_tuning_entry *ft_tuning_add(ft_tuning *tuning, const char *key, ft_tuning_family family);
/** Replaces the entry with that key, or adds one, by a copy of `from`. */
filtra_status ft_tuning_replace(ft_tuning *tuning, const ft_tuning_entry *from);
filtra_status ft_tuning_refuse(ft_tuning_entry *entry, const ft_configuration *c, const char *why);
/** Why a configuration is refused; NULL: it is not. */
const char *ft_tuning_refused(const ft_tuning_entry *entry, const ft_configuration *c);
/** Number of keys with a choice. */
size_t ft_tuning_chosen(const ft_tuning *tuning);
/** Logs a warning if choices use matrix units that the device must not use; `whose` begins it. */
void ft_tuning_warn(const filtra_device *dev, const ft_tuning *tuning, const char *whose);
/** Whether both give the same answers. */
bool ft_tuning_equal(const ft_tuning *a, const ft_tuning *b);

/* ---- files (ops/tuning_file.c) ---- */

/** Reads a document and checks all of it. Fails with INPUT; *foreign is then true if the document
 * is complete but of another device, driver or library version. `context` precedes errors. */
filtra_status ft_tuning_parse(const filtra_device *dev, const char *text, size_t size,
                              const char *context, bool *foreign, ft_tuning **out);
filtra_status ft_tuning_load(const filtra_device *dev, const char *path, bool *foreign,
                             ft_tuning **out);
/** Writes all results, with times, refusals and the date; atomic. */
filtra_status ft_tuning_save(const filtra_device *dev, const ft_tuning *tuning, const char *path);
/** An entry as in files; NULL when out of memory. */
json_t *ft_tuning_entry_json(const ft_tuning_entry *entry);
/** The choices only, as in checkpoints: the same bytes for the same choices. Caller frees; NULL
 * when out of memory. */
char *ft_tuning_choices(const filtra_device *dev, const ft_tuning *tuning);

/** Path of this device's file in `folder`; caller frees; NULL without a folder, or on failure
 * (message set). */
char *ft_tuning_path(const filtra_device *dev, const char *folder);
/** Uses the device's file in the cache folder, if there is one; its errors are only logged. */
void ft_tuning_open_cached(filtra_device *dev);

#endif
