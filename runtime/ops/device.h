/* Opening a device that only compiles. */
#ifndef FT_OPS_DEVICE_H
#define FT_OPS_DEVICE_H

#include "gpu/gpu.h"

/** Opens a device to inspect compiled kernels; its driver needs no GPU. Pipelines are compiled by
 * ft_pipelines_compile and keep statistics; no memory is allocated, and executing a graph fails.
 * Fails with UNSUPPORTED if the driver has no statistics. Closed by filtra_device_close. */
filtra_status ft_device_open_compiler(const filtra_device_options *options, filtra_device **device);

#endif
