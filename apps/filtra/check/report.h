/* The report of a device, for devices that Filtra's developers do not have. */
#ifndef FILTRA_CHECK_REPORT_H
#define FILTRA_CHECK_REPORT_H

#include "base/file.h"
#include "common/command.h"

/** Default limit of tuning, in seconds. */
enum { CHECK_TUNING_SECONDS = 120 };

/** The beginning of the name of a report's format; its version follows. */
#define CHECK_FORMAT "filtra-check-"
/** Measures the device in a list of precisions and writes the report to `file`, open for `path`:
 * once before up to `seconds` of tuning, which may crash the driver, and once after. Commits the
 * file, takes ownership of `check`, the summary of golden cases, prints the outcome, and returns
 * the exit code. */
int check_report(const filtra_device_options *device, const char *precisions, double seconds,
                 json_t *check, const char *path, ft_atomic_file *file);

#endif
