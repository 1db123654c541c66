/* The header of a .ts file: lines "@key value...", with comments in between, up to "@data". */
#ifndef FT_DATA_TS_HEADER_H
#define FT_DATA_TS_HEADER_H

#include "data/labels.h"

typedef struct ft_ts_header {
  uint64_t dimensions;    /* 0: not given */
  uint64_t series_length; /* of all series; 0: it differs or is not given */
  bool no_missing;        /* "@missing false": a missing value is an error */
  bool values;            /* "@targetLabel true": the last field is a number */
  bool stamps;            /* "@timeStamps true": values are (time,value) */
  bool equal_length, unlabelled, complete;
} ft_ts_header;

/** Reads one line. If `labels` is open and empty, @classLabel adds its classes. Do not call it
 * after @data, which ends the header. Data with neither classes nor target numbers are refused
 * unless `unlabelled` is set. */
filtra_status ft_ts_header_line(ft_ts_header *header, const char *line, bool unlabelled,
                                ft_labels *labels);

#endif
