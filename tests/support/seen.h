/* Checks that need not be made again: under another profile of the same driver, a test often
 * records the very same calls of the same kernels, which give the same bits. FILTRA_TEST_SEEN names
 * a folder where checks that passed leave a file each; without it every check is made. */
#ifndef TEST_SUPPORT_SEEN_H
#define TEST_SUPPORT_SEEN_H

#include "support/harness.h"

enum { TEST_SEEN_PATH = 512 };

/** Whether the same calls on the same inputs have passed before, or no call runs a kernel of the
 * families in FILTRA_TEST_FAMILIES, which ./run test --since sets where shaders alone have changed.
 * `path` is for test_seen_add, "" where nothing is kept. The graph holds all its calls and is not
 * compiled yet. */
bool test_seen(const filtra_graph *g, const test_op *op, uint64_t seed, char path[TEST_SEEN_PATH]);
void test_seen_add(const char *path);
/** Whether a program leaves out the checks of this graph: false, but tests/adversary/wrap.c has its
 * own. */
bool test_leaves_out(const filtra_graph *g);
/** Whether kernels are interpreted, whatever the driver can do: false, but tests/adversary/wrap.c
 * has its own. */
bool test_interprets(void);
/** Says how many were not made again. */
void test_seen_report(void);

#endif
