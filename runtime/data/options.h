/* The keys of a run's data over the public structs that have them. */
#ifndef FT_DATA_OPTIONS_H
#define FT_DATA_OPTIONS_H

#include "base/keys.h"

/** Over filtra_dataset_options; its texts are the run's. */
extern const ft_keys ft_dataset_keys;
/** Over filtra_augmentation. */
extern const ft_keys ft_augmentation_keys;

#endif
