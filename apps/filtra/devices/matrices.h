/* The self-test of matrix units: who makes it, and what it came to. */
#ifndef FILTRA_MATRICES_H
#define FILTRA_MATRICES_H

#include "gpu/matrix.h"

/** Seconds that the self-test may take, unless somebody says otherwise. */
enum { MATRIX_TEST_SECONDS = 300 };

/** Makes the self-test in a process of its own and keeps the verdict in the cache folder, unless
 * there is one of this device, driver and library version (`again`: also then). Says on standard
 * error where matrix units failed, and are off from then on, and where they could not be tested. To
 * be called before the first device is opened. Returns the exit code: not 0 where they failed now
 * or were not tested although it is `again`. */
int matrices_test(const char *name, const filtra_device_options *options, bool again,
                  unsigned seconds);

/** What becomes of the matrix units of an open device, for people; NULL: it has none, or out of
 * memory. */
char *matrices_text(const filtra_device *dev);
/** The same for programs. */
json_t *matrices_json(const filtra_device *dev);

/** What the test computes (matrix_test.c), on a device with matrix=force: in each of the tiles that
 * it can do with, products of numbers whose sums are exact in whatever order they are added, which
 * have to be the plainest kernel's, and attention. `why` says what is wrong with them; "": nothing.
 * Fails where something else does. */
filtra_status matrix_test(filtra_device *dev, char why[FT_MATRIX_REASON]);
/** The part about attention (matrix_attention.c). */
filtra_status matrix_test_attention(filtra_device *dev, filtra_dtype type,
                                    char why[FT_MATRIX_REASON]);

#endif
