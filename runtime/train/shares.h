/* How ranks divide a batch. ft_shares_join and ft_shares_measure are collective. */
#ifndef FT_TRAIN_SHARES_H
#define FT_TRAIN_SHARES_H

#include "train/trainer.h"

/* As the configuration's value: measure the shares when the run begins; the measured ones replace
 * the value. */
#define FT_SHARES_AUTO "auto"

/** Reads colon-separated numbers, such as "9:7"; false for other text. *size: how many; *share:
 * number `rank`, unchanged if there are too few. */
bool ft_shares_read(const char *text, int rank, int *size, float *share);
/** Writes how many samples of a batch each rank takes, as in "18:14". */
filtra_status ft_shares_write(const filtra_trainer *t, int64_t batch, char *text, size_t size);

/** The samples of a batch that a rank takes: *first to *end - 1. */
void ft_shares_samples(const filtra_trainer *t, int rank, int64_t batch, int64_t *first,
                       int64_t *end);
/** Exchanges the ranks' shares. If one is FILTRA_SHARE_AUTO, all are equal until ft_shares_measure.
 */
filtra_status ft_shares_join(filtra_trainer *t, float share);
/** Times forward and backward passes on all ranks, with equal shares of a batch, and sets shares by
 * speed. */
filtra_status ft_shares_measure(filtra_trainer *t, int64_t batch, int64_t length);

#endif
