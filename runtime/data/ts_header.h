/* The header of a .ts file: lines "@key value..." between comments, up to "@data". */
#ifndef FT_DATA_TS_HEADER_H
#define FT_DATA_TS_HEADER_H

#include "data/labels.h"

typedef struct ft_ts_header {
  uint64_t dimensions;    /* 0: not said */
  uint64_t series_length; /* of every series; 0: they differ, or it is not said */
  bool no_missing;        /* "@missing false": a missing value is an error */
  bool values;            /* "@targetLabel true": the last field is a number */
  bool equal_length, unlabelled, complete;
} ft_ts_header;

/** Takes one line; `labels`, while open and empty, receives the classes that @classLabel lists.
 * After @data, which completes the header, there must not be another. */
filtra_status ft_ts_header_line(ft_ts_header *header, const char *line, ft_labels *labels);

#endif
