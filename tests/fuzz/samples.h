/* Opening a data set and walking over its samples. */
#ifndef FUZZ_SAMPLES_H
#define FUZZ_SAMPLES_H

#include <filtra/data.h>

/** Opens it; what opens must hold together. */
void fuzz_dataset(const char *path, const filtra_dataset_options *options);

#endif
