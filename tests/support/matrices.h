/* What tests of matrix units share. */
#ifndef TEST_SUPPORT_MATRICES_H
#define TEST_SUPPORT_MATRICES_H

#include "ops/tuning.h"
#include "support/harness.h"

/** Whether the driver has matrix units; says why not. Asked without a validation layer, which may
 * know none. False where kernels are interpreted, which has none of its own. */
bool test_has_matrices(ft_caps *caps);
/** Caps for a shape that the adversary shall plan for, in front of `more`; skips the test where
 * there is no adversary, or where a profile is set, whose limits may leave no tile. */
const char *test_matrix_shape_caps(const char *shape, const char *more);
/** A device of such a shape whose subgroups have so many lanes, "16x8x16 by 32". How matrices
 * are divided among lanes depends on their number, which is 32 or 64 on GPUs and any in the
 * adversary. */
filtra_device *test_open_lanes(const char *shape_and_lanes, const char *more);
/** What ops of that family do from now on: a row of the table, the plainest kernel, or else what
 * the op chooses. */
void test_use_row(filtra_device *device, ft_tuning_family family, const ft_configuration *row,
                  bool plainest);
/** Whether the device has compiled a kernel whose name begins like this. */
bool test_compiled(const filtra_device *device, const char *kernel);

#endif
