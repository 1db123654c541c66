/* Skips checks that have passed before: under another profile of the same driver, a test often
 * records exactly the same calls of the same kernels, which give the same bits. FILTRA_TEST_SEEN
 * names a folder where each passed check leaves a file; without it no check is skipped. */
#ifndef TEST_SUPPORT_SEEN_H
#define TEST_SUPPORT_SEEN_H

#include "support/harness.h"

enum { TEST_SEEN_PATH = 512 };

/** Whether the same calls on the same inputs have passed before, or no call runs a kernel of the
 * families in FILTRA_TEST_FAMILIES, which ./run test --since sets if only shaders changed. `path`
 * is for test_seen_add, "" if nothing is stored. The graph has all its calls and is not compiled
 * yet. */
bool test_seen(const filtra_graph *g, const test_op *op, uint64_t seed, char path[TEST_SEEN_PATH]);
void test_seen_add(const char *path);
/** Whether a program skips the checks of this graph: false; tests/adversary/wrap.c overrides
 * this. */
bool test_leaves_out(const filtra_graph *g);
/** Whether kernels are interpreted, whatever the driver can do: false; tests/adversary/wrap.c
 * overrides this. */
bool test_interprets(void);
/** Prints how many checks were skipped. */
void test_seen_report(void);

#endif
