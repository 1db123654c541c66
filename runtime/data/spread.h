/* Whether the numbers of a feature, or targets, still differ once they are floats. */
#ifndef FT_DATA_SPREAD_H
#define FT_DATA_SPREAD_H

#include "base/status.h"

#include <filtra/data.h>

enum { FT_SPREAD_SAMPLE = 128 };

/** What is known of a feature's numbers, as the file has them. */
typedef struct ft_spread {
  double low, high;
  uint64_t count;
  /* from 2^53 on: the last one, and how many are the double of the one before but other digits */
  double twin;
  uint64_t twins;
  /* numbers that are no floats: how many, and a sample of them, each as likely as another */
  uint64_t rounded;
  double sample[FT_SPREAD_SAMPLE];
} ft_spread;

/** Adds a number; a missing one, NaN, adds nothing. */
void ft_spread_add(ft_spread *spread, double number);
/** Fails with INPUT, naming the file and the feature, where the numbers differ, but by less than
 * 64 steps of a float, or most of them do, or where all are so small that floats lose their digits.
 * Numbers that are floats lose nothing and pass. */
filtra_status ft_spread_check(const ft_spread *spread, const char *path, const char *feature);
/** The same for targets of a data set that is being opened, with a warning where all are equal,
 * unless it is read as a model's data were: what is evaluated may have few samples. */
filtra_status ft_spread_check_targets(const ft_spread *targets, const filtra_dataset *dataset,
                                      const char *path);

#endif
