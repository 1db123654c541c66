// The graph filter H = w0 I + w1 A + wK (A + (K-1)(A^2 - A)) (Choi et al. 2024, equation 8) of one
// head: y = H v = w0 v + (w1 + wK) u + (K-1) wK (A u - u), where u = A v.
#include "gfsa/contract.h"

FT_CONSTANTS(gfsa_heads)
