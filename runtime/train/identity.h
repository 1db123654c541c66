/* Identity of a run: its settings and data. Checkpoint and best model carry it, so that a run does
 * not continue with the files of another. */
#ifndef FT_TRAIN_IDENTITY_H
#define FT_TRAIN_IDENTITY_H

#include "train/config.h"
#include "train/ranks.h"

/** Format of the files that a run writes. Folders of a later format are refused. */
enum { FT_RUN_FORMAT = 1 };

typedef struct ft_run_identity {
  json_t *settings; /* config.json without the keys that change no result */
  char data[17];    /* fingerprint of training and validation data, hexadecimal */
  char id[17];      /* hash of settings and data when the run began; the same for equal runs */
} ft_run_identity;

/** Identity of a new run. */
filtra_status ft_run_identify(const ft_run_config *config, const filtra_dataset *data,
                              ft_run_identity *out);
void ft_run_identity_free(ft_run_identity *identity);
/** A new object with format, id and data's fingerprint; NULL when out of memory. */
json_t *ft_run_identity_write(const ft_run_identity *identity);

/** Reads the identity from the checkpoint or model at `path`; caller releases *out. Fails with
 * INPUT if there is none, or if it has another format. */
filtra_status ft_run_identity_read(const char *path, json_t **out);
/** Copies to *now the id of the run that wrote `checkpoint`. Unless `allow_changes`, fails with
 * INPUT if settings or data differ from those of the checkpoint, and names what differs. */
filtra_status ft_run_identity_resume(ft_run_identity *now, const json_t *checkpoint,
                                     const char *path, bool allow_changes);

/** Warns if `data`, called `name`, are others than the run trained on that wrote the file `model`.
 * Models of no run are not compared. */
filtra_status ft_run_warn_changed(const char *model, const char *name, const filtra_dataset *data);

/** What ranks compare besides the identity. */
typedef struct ft_run_meeting {
  char id[17], version[16]; /* set by ft_run_identity_meet */
  char init_from[1024];     /* the model to begin with; "": none */
  uint64_t step, start;     /* start: a hash of that model's values */
} ft_run_meeting;

/** Fails with RANK, and says what differs, unless all ranks train the same run. */
filtra_status ft_run_identity_meet(const ft_run_identity *identity, const ft_ranks *ranks,
                                   ft_run_meeting *own);

#endif
