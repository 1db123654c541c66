/* The self-test of matrix units, and its verdict. */
#ifndef FILTRA_MATRICES_H
#define FILTRA_MATRICES_H

#include "gpu/matrix.h"

/** Default time limit of the self-test, in seconds. */
enum { MATRIX_TEST_SECONDS = 300 };

/** Runs the self-test in a child process and stores the verdict in the cache folder. Skips the test
 * if the folder has a verdict for this device, driver and library version, unless `again`. Prints
 * to standard error if matrix units failed, which turns them off, or could not be tested. Call it
 * before opening a device. Returns the exit code: nonzero if they failed now, or if `again` is set
 * and they were not tested. */
int matrices_test(const char *name, const filtra_device_options *options, bool again,
                  unsigned seconds);

/** Describes an open device's matrix units; NULL: there are none, or out of memory. */
char *matrices_text(const filtra_device *dev);
/** As matrices_text, as JSON. */
json_t *matrices_json(const filtra_device *dev);

/** Tests a device with matrix=force (matrix_test.c): products and attention, for each usable tile.
 * Products use numbers whose sums are exact in any order, so they must equal the naive kernel's.
 * `why` describes a difference; "": none. Fails for other errors. */
filtra_status matrix_test(filtra_device *dev, char why[FT_MATRIX_REASON]);
/** The test of attention (matrix_attention.c). */
filtra_status matrix_test_attention(filtra_device *dev, filtra_dtype type,
                                    char why[FT_MATRIX_REASON]);

#endif
