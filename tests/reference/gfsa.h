/* Float64 reference of graph-filter self-attention, which does form the square of its matrix. */
#ifndef TEST_REFERENCE_GFSA_H
#define TEST_REFERENCE_GFSA_H

#include "reference/attention.h"

/** y [batches,heads,queries,value_columns] = H v with H = w0 I + w1 A + wK (A + (K-1)(A^2 - A)), A
 * the matrix of attention `p`; w0, w1, wK [heads]. As many queries as keys. */
void reference_gfsa(const reference_attention_problem *p, int order, const double *q,
                    const double *k, const double *v, const double *w0, const double *w1,
                    const double *wK, double *y);

#endif
