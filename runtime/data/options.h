/* Tables of keys for a run's data options, over the public structs. */
#ifndef FT_DATA_OPTIONS_H
#define FT_DATA_OPTIONS_H

#include "base/keys.h"

/** Keys of filtra_dataset_options; help texts are written for runs. */
extern const ft_keys ft_dataset_keys;
/** Keys of filtra_augmentation. */
extern const ft_keys ft_augmentation_keys;

#endif
