/* Series whose values have time stamps: (t,v),(t,v), where t is a number or a date. */
#ifndef FT_DATA_TS_STAMPS_H
#define FT_DATA_TS_STAMPS_H

#include "data/series.h"

typedef struct ft_ts_stamps {
  double *times; /* of the current dimension, in seconds or as numbers */
  size_t capacity;
  double start; /* of the sample's first dimension */
  double all;   /* the step of all earlier series; 0: none yet */
} ft_ts_stamps;

/** Reads a dimension into `series` from index `first` on. Its stamps must be equally spaced, to a
 * twentieth of a step since they may be rounded, and equal those of the sample's other dimensions.
 * Fails with INPUT otherwise; *length is then the index of the value, else the number of values. */
filtra_status ft_ts_stamps_read(ft_ts_stamps *stamps, ft_series *series, const char *text,
                                const char *end, size_t first, size_t *length);
void ft_ts_stamps_end(ft_ts_stamps *stamps);

#endif
