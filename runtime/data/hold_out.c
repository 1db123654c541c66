/* Holds out validation samples from the training samples, the same fraction of each class. Called
 * by dataset.c for data that has no validation split. */
#include "data/dataset.h"

#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>

/* Counts for one class, or for all samples together if there are no classes. */
typedef struct group {
  size_t left;   /* samples not yet drawn or skipped */
  size_t wanted; /* samples of `left` still to draw */
} group;

static uint32_t group_count(const filtra_dataset *ds) {
  return ds->info.target == FILTRA_TARGET_CLASS && ds->info.classes ? ds->info.classes : 1;
}

static group *group_of(group *groups, uint32_t count, const ft_sample_row *row) {
  bool known = count > 1 && row->label >= 0 && (uint32_t)row->label < count;
  return &groups[known ? row->label : 0];
}

/* The fractional part of a group's quota of `wanted`, times `count`. */
static uint64_t remainder_of(const group *g, size_t count, size_t wanted) {
  return (uint64_t)g->left * wanted % count;
}

/* Quotas by largest remainders: each group's proportional quota, rounded down or up, so that they
 * add up to `wanted`. Of equal remainders, the first group's is rounded up first. */
static void allot(group *groups, uint32_t group_count, size_t count, size_t wanted) {
  size_t given = 0;
  for (uint32_t i = 0; i < group_count; i++) {
    groups[i].wanted = (size_t)((uint64_t)groups[i].left * wanted / count);
    given += groups[i].wanted;
  }
  for (uint64_t above = count; given < wanted && above > 0;) {
    uint64_t next = 0; /* the largest remainder below `above` */
    for (uint32_t i = 0; i < group_count; i++) {
      uint64_t r = remainder_of(&groups[i], count, wanted);
      if (r < above && r > next) next = r;
    }
    for (uint32_t i = 0; i < group_count && given < wanted && next; i++)
      if (remainder_of(&groups[i], count, wanted) == next) {
        groups[i].wanted++;
        given++;
      }
    above = next;
  }
}

/* Draws each group's quota, all choices equally likely (selection sampling, Knuth TAOCP 2, 3.4.2,
 * algorithm S); lists drawn and other samples in order. */
static void draw(const ft_samples *samples, group *groups, uint32_t group_count, uint64_t seed,
                 uint32_t *drawn, uint32_t *others) {
  ft_rng rng = ft_rng_make(seed, ft_hash_text("held-out validation"));
  for (size_t i = 0; i < samples->count; i++) {
    group *g = group_of(groups, group_count, &samples->rows[i]);
    if (ft_rng_below(&rng, g->left--) < g->wanted) {
      *drawn++ = (uint32_t)i;
      g->wanted--;
    } else {
      *others++ = (uint32_t)i;
    }
  }
}

static filtra_status draw_rows(const filtra_dataset *ds, size_t samples_count, size_t wanted,
                               uint64_t seed, uint32_t *drawn, uint32_t *others) {
  const ft_samples *samples = &ds->samples[FILTRA_SPLIT_TRAIN];
  uint32_t count = group_count(ds);
  group *groups = ft_calloc(count, sizeof *groups);
  if (!groups) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < samples->count; i++)
    group_of(groups, count, &samples->rows[i])->left++;
  allot(groups, count, samples_count, wanted);
  draw(samples, groups, count, seed, drawn, others);
  free(groups);
  return FILTRA_OK;
}

/* Takes the last rows instead of random ones. */
static void cut_rows(size_t count, size_t wanted, uint32_t *last, uint32_t *others) {
  for (size_t i = 0; i < count; i++)
    *(i < count - wanted ? others++ : last++) = (uint32_t)i;
}

filtra_status ft_check_share(float share) {
  if (share == 0.0f || (share >= 1e-6f && share <= 0.9f)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "arrays: \"validation_share\" is %g, accepted are 1e-06 to 0.9", (double)share);
}

size_t ft_hold_out_count(size_t count, float share) {
  if (count < 2) return 0;
  size_t wanted =
      (size_t)((double)count * (double)(share > 0.0f ? share : FT_VALIDATION_SHARE) + 0.5);
  return wanted < 1 ? 1 : wanted < count ? wanted : count - 1;
}

filtra_status ft_hold_out(filtra_dataset *ds, float share, uint64_t seed) {
  ft_split *train = &ds->splits[FILTRA_SPLIT_TRAIN], *val = &ds->splits[FILTRA_SPLIT_VAL];
  size_t count = train->count, wanted = ft_hold_out_count(count, share);
  if (count == 1)
    ft_log(FILTRA_LOG_WARNING, "of one training sample none is held out for validation");
  if (!wanted) return FILTRA_OK;
  val->rows = ft_calloc(wanted, sizeof *val->rows);
  train->rows = ft_calloc(count - wanted, sizeof *train->rows);
  if (!val->rows || !train->rows) return FILTRA_ERROR_HOST_MEMORY;
  if (ds->hold_out_last)
    cut_rows(count, wanted, val->rows, train->rows);
  else
    FT_TRY(draw_rows(ds, count, wanted, seed, val->rows, train->rows));
  val->samples = train->samples;
  val->count = wanted;
  train->count = count - wanted;
  ds->info.validation_held_out = true;
  return FILTRA_OK;
}
