/* The end of `filtra train` (result.c). */
#ifndef FILTRA_TRAIN_RESULT_H
#define FILTRA_TRAIN_RESULT_H

#include <filtra/train.h>

/** Prints what a run in `folder` has come to; returns the command's exit status. */
int train_print_result(const filtra_run_progress *progress, const char *folder, bool json);

#endif
