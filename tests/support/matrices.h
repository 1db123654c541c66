/* Helpers for tests of matrix units. */
#ifndef TEST_SUPPORT_MATRICES_H
#define TEST_SUPPORT_MATRICES_H

#include "ops/tuning.h"
#include "support/harness.h"

/** Whether the driver has matrix units; prints why not. Queries without a validation layer, since
 * old ones do not know them. False if kernels are interpreted: the adversary has no matrix units of
 * its own. */
bool test_has_matrices(ft_caps *caps);
/** Caps for a shape that the adversary plans for, followed by `more`. Skips the test without the
 * adversary, or if a profile is set, whose limits may leave no tile. */
const char *test_matrix_shape_caps(const char *shape, const char *more);
/** A device with such a shape and subgroups of that many lanes, "16x8x16 by 32". The number of
 * lanes decides how matrices are divided among them: it is 32 or 64 on GPUs, and any number in the
 * adversary. */
filtra_device *test_open_lanes(const char *shape_and_lanes, const char *more);
/** Makes ops of the family use a row of the table, the plainest kernel, or their own choice from
 * now on. */
void test_use_row(filtra_device *device, ft_tuning_family family, const ft_configuration *row,
                  bool plainest);
/** Whether the device has compiled a kernel whose name begins with `kernel`. */
bool test_compiled(const filtra_device *device, const char *kernel);

#endif
