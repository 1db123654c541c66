/* The report of a device, for whoever has one that Filtra's makers have not. */
#ifndef FILTRA_CHECK_REPORT_H
#define FILTRA_CHECK_REPORT_H

#include "base/file.h"
#include "common/command.h"

/** Default for the most seconds of tuning. */
enum { CHECK_TUNING_SECONDS = 120 };

/** Measures the device, in a list of precisions, and writes all about it to `file`, open for
 * `path`, which it commits: once before `seconds` of tuning, which may take the driver down, and
 * once after. Takes `check`, the summary of golden cases. Prints what became of it; returns the
 * exit code. */
int check_report(const filtra_device_options *device, const char *precisions, double seconds,
                 json_t *check, const char *path, ft_atomic_file *file);

#endif
