/* Time series of NAME_TRAIN and NAME_TEST files: finding the files, and storing samples. */
#ifndef FT_DATA_SERIES_H
#define FT_DATA_SERIES_H

#include "data/dataset.h"
#include "data/spread.h"

/** The samples of the file being read. */
typedef struct ft_series {
  const filtra_dataset_options *options;
  filtra_dataset *ds;
  ft_samples *samples;
  uint32_t cut;   /* longer series are cut here; 0: never */
  size_t longer;  /* series that were cut */
  double *values; /* one sample, [dimensions][length] */
  size_t capacity;
  bool first;         /* no split has samples yet, and no training data are known */
  ft_spread *spreads; /* [dimensions], where `first`; else NULL */
} ft_series;

/** Interpolates missing values (NaN) of [length, features] linearly along the steps; at the ends,
 * repeats the nearest value. A feature without any value stays missing; standardising then replaces
 * it by the mean. */
void ft_interpolate(float *x, size_t length, size_t features);

/** Reads a file of a split, adding its samples. */
typedef filtra_status (*ft_series_read_fn)(void *user, const char *path, filtra_split split);

/** File names of a format: NAME followed by one of these endings. */
typedef struct ft_series_ends {
  const char *train, *test;
} ft_series_ends;
typedef struct ft_series_kind {
  const ft_series_ends *ends; /* [end_count] */
  size_t end_count;
  ft_series_read_fn read;
  void *user;
} ft_series_kind;

/** Reads a folder's training and test file, or one file. Opening NAME_TRAIN also reads the test
 * file beside it; opening NAME_TEST as test data first reads the training file, which defines
 * standardisation, length of series, and classes. */
filtra_status ft_series_open(const char *path, const filtra_dataset_options *options,
                             filtra_dataset *ds, const ft_series_kind *kind);
/** Whether a name is that of a training file; sets its ending. */
bool ft_series_is_train(const ft_series_kind *kind, const char *name, const ft_series_ends **ends);

/** Begins a file. Test series are cut to the longest training series, or to max_length;
 * ft_series_end logs that. */
void ft_series_begin(ft_series *s, const filtra_dataset_options *options, filtra_dataset *ds,
                     filtra_split split);
/** Whether a text means a missing value: '?' or NaN. */
bool ft_series_is_missing(const char *text, size_t length);
/** Reads a value, without spaces around it; NaN if it is missing. Fails with INPUT. */
filtra_status ft_series_value(const char *text, size_t length, double *value);
/** Stores a value at `index`, which may be at most the number of values stored. */
filtra_status ft_series_put(ft_series *s, size_t index, double value);
/** Adds the values as a sample with the target of `row`; interpolates missing ones. Fails with
 * INPUT if the number of dimensions changes, or a series is too long. */
filtra_status ft_series_add(ft_series *s, size_t dimensions, size_t length, ft_sample_row row);
/** Fails with INPUT, naming `path`, if the values of a dimension, which the message calls `what`,
 * hardly differ as floats. Only the split that is read first is checked: others may have few
 * samples, and its means are subtracted from theirs. */
filtra_status ft_series_check(const ft_series *s, const char *path, const char *what);
void ft_series_end(ft_series *s);

#endif
