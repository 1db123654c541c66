/* Final output of `filtra train` (result.c). */
#ifndef FILTRA_TRAIN_RESULT_H
#define FILTRA_TRAIN_RESULT_H

#include <filtra/train.h>

/** Prints the results of a run in `folder`; returns the command's exit status. */
int train_print_result(const filtra_run_progress *progress, const char *folder, bool json);

#endif
