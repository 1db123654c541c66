// The channels that adaptive average pooling puts into bin i: floor(i C / bins) ..
// ceil((i+1) C / bins) - 1.
layout(constant_id = 1) const uint channels = 1;
layout(constant_id = 2) const uint bins = 1;
layout(constant_id = 3) const bool accumulate = false;

uint bin_begin(uint i) { return i * channels / bins; }
uint bin_end(uint i) { return ((i + 1) * channels + bins - 1) / bins; }
