/* What makes a run the run that it is: settings and data. Checkpoint and best model carry it, so
 * that no run goes on with what is another's. */
#ifndef FT_TRAIN_IDENTITY_H
#define FT_TRAIN_IDENTITY_H

#include "train/config.h"

/** Of what a run writes. A folder of a later one is refused. */
enum { FT_RUN_FORMAT = 1 };

typedef struct ft_run_identity {
  json_t *settings; /* config.json, but for what changes no number */
  char data[17];    /* fingerprint of training and validation data, hexadecimal */
  char id[17];      /* of both when the run began: equal runs have equal ones */
} ft_run_identity;

/** Of a new run. */
filtra_status ft_run_identify(const ft_run_config *config, const filtra_dataset *data,
                              ft_run_identity *out);
void ft_run_identity_free(ft_run_identity *identity);
/** A new object with format, id and data; NULL when out of memory. */
json_t *ft_run_identity_write(const ft_run_identity *identity);

/** Reads the object that a checkpoint or a model at `path` carries; the caller releases it. Fails
 * with INPUT where there is none, or one of another format. */
filtra_status ft_run_identity_read(const char *path, json_t **out);
/** Takes the id of the run that wrote `checkpoint`. Fails with INPUT, naming what differs, unless
 * settings and data are those of now, or `allow_changes`. */
filtra_status ft_run_identity_resume(ft_run_identity *now, const json_t *checkpoint,
                                     const char *path, bool allow_changes);

#endif
