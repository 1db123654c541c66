/* A tuning: the fastest configurations by key, and the answers to ops' questions. Called by ops, by
 * ops/tuner.c, and by train/ for runs and checkpoints. */
#include "ops/tuning.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

ft_tuning *ft_tuning_new(void) {
  ft_tuning *t = ft_calloc(1, sizeof *t);
  if (t) t->holders = 1;
  return t;
}

ft_tuning *ft_tuning_hold(ft_tuning *tuning) {
  if (tuning) tuning->holders++;
  return tuning;
}

void ft_tuning_release(ft_tuning **tuning) {
  ft_tuning *t = *tuning;
  *tuning = NULL;
  if (!t || --t->holders > 0) return;
  for (size_t i = 0; i < t->count; i++)
    free(t->entries[i].refused);
  free(t->entries);
  free(t->questions);
  free(t->path);
  free(t);
}

ft_tuning *ft_tuning_use(filtra_device *dev, ft_tuning *tuning) {
  return ft_device_keep_tuning(dev, tuning);
}

/* ---- entries ---- */

/* The index of the key, or where it would be inserted. */
static size_t place_of(const ft_tuning *t, const char *key, bool *found) {
  size_t low = 0, high = t->count;
  *found = false;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(t->entries[middle].key, key);
    *found = order == 0;
    if (*found) return middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const ft_tuning_entry *ft_tuning_find(const ft_tuning *tuning, const char *key) {
  bool found;
  size_t at = place_of(tuning, key, &found);
  return found ? &tuning->entries[at] : NULL;
}

ft_tuning_entry *ft_tuning_add(ft_tuning *t, const char *key, ft_tuning_family family) {
  bool found;
  size_t at = place_of(t, key, &found);
  if (found) return &t->entries[at];
  if (FT_GROW(t->entries, t->count, t->capacity)) return NULL;
  ft_tuning_entry *entry = &t->entries[at];
  memmove(entry + 1, entry, (t->count++ - at) * sizeof *entry);
  *entry = (ft_tuning_entry){.family = family};
  snprintf(entry->key, sizeof entry->key, "%s", key);
  return entry;
}

const char *ft_tuning_refused(const ft_tuning_entry *entry, const ft_configuration *c) {
  for (size_t i = 0; entry && i < entry->refused_count; i++)
    if (ft_configuration_same(&entry->refused[i].configuration, c)) return entry->refused[i].why;
  return NULL;
}

filtra_status ft_tuning_refuse(ft_tuning_entry *entry, const ft_configuration *c, const char *why) {
  if (ft_tuning_refused(entry, c)) return FILTRA_OK;
  FT_TRY(FT_GROW(entry->refused, entry->refused_count, entry->refused_capacity));
  ft_tuning_refusal *r = &entry->refused[entry->refused_count++];
  *r = (ft_tuning_refusal){.configuration = *c};
  snprintf(r->why, sizeof r->why, "%s", why);
  return FILTRA_OK;
}

filtra_status ft_tuning_replace(ft_tuning *tuning, const ft_tuning_entry *from) {
  ft_tuning_entry *to = ft_tuning_add(tuning, from->key, from->family);
  ft_tuning_refusal *refused = ft_calloc(from->refused_count + 1, sizeof *refused);
  if (!to || !refused) {
    free(refused);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  free(to->refused);
  *to = *from;
  for (size_t i = 0; i < from->refused_count; i++)
    refused[i] = from->refused[i];
  to->refused = refused;
  to->refused_capacity = from->refused_count + 1;
  return FILTRA_OK;
}

/* The next entry with a choice; NULL after the last, and for no tuning. */
static const ft_tuning_entry *next_choice(const ft_tuning *t, size_t *at) {
  while (t && *at < t->count && !t->entries[*at].chosen)
    ++*at;
  return t && *at < t->count ? &t->entries[(*at)++] : NULL;
}

size_t ft_tuning_chosen(const ft_tuning *tuning) {
  size_t count = 0, at = 0;
  while (next_choice(tuning, &at))
    count++;
  return count;
}

void ft_tuning_warn(const filtra_device *dev, const ft_tuning *tuning, const char *whose) {
  size_t count = 0, at = 0;
  if (ft_matrix_used(ft_caps_of(dev)) || ft_caps_of(dev)->matrix_use != FT_MATRIX_TUNED) return;
  for (const ft_tuning_entry *e; (e = next_choice(tuning, &at)) != NULL;)
    count += ft_configuration_on_matrices(e->family, &e->choice);
  if (count)
    ft_log(FILTRA_LOG_WARNING,
           "%s has matrix units for %zu keys, but they are off (filtra devices says why): other "
           "kernels take their place, and the last bits of results are others",
           whose, count);
}

bool ft_tuning_equal(const ft_tuning *a, const ft_tuning *b) {
  size_t at_a = 0, at_b = 0;
  for (;;) {
    const ft_tuning_entry *x = next_choice(a, &at_a), *y = next_choice(b, &at_b);
    if (!x || !y) return x == y;
    if (strcmp(x->key, y->key) || !ft_configuration_same(&x->choice, &y->choice)) return false;
  }
}

/* ---- questions ---- */

int64_t ft_tuning_bucket(int64_t size) {
  int64_t bucket = 64;
  if (size <= bucket) return size;
  while (bucket < size)
    bucket *= 2;
  return bucket;
}

/* If memory runs out here, a key is not tuned; nothing else. */
static void collect_question(ft_tuning *t, const ft_tuning_question *q) {
  for (size_t i = 0; i < t->question_count; i++)
    if (!strcmp(t->questions[i].key, q->key)) return;
  if (FT_GROW(t->questions, t->question_count, t->question_capacity)) return;
  t->questions[t->question_count++] = *q;
}

ft_configuration ft_tuning_choose(const filtra_device *dev, const ft_tuning_question *q) {
  ft_tuning *t = ft_tuning_of(dev);
  if (!t) return q->standard;
  if (t->collect) collect_question(t, q);
  const bool forced = t->forced && t->forced_family == q->family;
  const ft_tuning *known = t->forced ? t->known : t;
  const ft_tuning_entry *entry = known && !forced ? ft_tuning_find(known, q->key) : NULL;
  const ft_configuration *c = NULL;
  if (forced)
    c = &t->forced_configuration;
  else if (entry && entry->chosen && entry->family == q->family)
    c = &entry->choice;
  /* Problems with the same key differ by up to a factor of two: an answer may not fit all. */
  return c && q->usable(dev, q, c) ? *c : q->standard;
}

bool ft_tuning_reference(const filtra_device *dev) {
  return ft_tuning_of(dev) && ft_tuning_of(dev)->reference;
}
