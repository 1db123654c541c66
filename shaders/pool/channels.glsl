// The channels that adaptive average pooling puts into bin i: floor(i C / bins) ..
// ceil((i+1) C / bins) - 1.
#include "pool/contract.h"

FT_CONSTANTS(pool_bins)

uint bin_begin(uint i) { return i * channels / bins; }
uint bin_end(uint i) { return ((i + 1) * channels + bins - 1) / bins; }
