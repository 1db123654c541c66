/* How ranks share a batch. Collective but for what only reads. */
#ifndef FT_TRAIN_SHARES_H
#define FT_TRAIN_SHARES_H

#include "train/trainer.h"

/* In a configuration: measured, and replaced by what that led to. */
#define FT_SHARES_AUTO "auto"

/** Numbers with colons between them, such as "9:7"; false where it is not. *size: how many there
 * are; *share: that of the rank, untouched where there are fewer. */
bool ft_shares_read(const char *text, int rank, int *size, float *share);
/** What ranks have of a batch, in samples. */
filtra_status ft_shares_write(const filtra_trainer *t, int64_t batch, char *text, size_t size);

/** The samples of a batch that a rank takes, [*first, *end). */
void ft_shares_samples(const filtra_trainer *t, int rank, int64_t batch, int64_t *first,
                       int64_t *end);
/** Every rank says its share; where one says FILTRA_SHARE_AUTO, all will be measured. */
filtra_status ft_shares_join(filtra_trainer *t, float share);
/** Measures forward and backward passes of equal shares of a batch, and shares it by speed. */
filtra_status ft_shares_measure(filtra_trainer *t, int64_t batch, int64_t length);

#endif
