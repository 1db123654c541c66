/* Opens and closes devices together with the tuning of their kernels, which only ops know. */
#include "ops/device.h"

#include "ops/tuning.h"

#include <filtra/vulkan.h>
#include <stdlib.h>

/* Loads the tuning. Errors in a named file are errors of the call; those in a cached file are
 * logged. */
static filtra_status open_tuning(filtra_device *dev, const filtra_device_options *options) {
  const char *file = options->tuning ? options->tuning : getenv("FILTRA_TUNING");
  if (file && *file) {
    ft_tuning *tuning;
    bool foreign;
    FT_TRY(ft_tuning_load(dev, file, &foreign, &tuning));
    ft_tuning_use(dev, tuning);
  } else if (!file && !ft_compiles_only(dev)) {
    ft_tuning_open_cached(dev);
  }
  ft_tuning_warn(dev, ft_tuning_of(dev), "the device's tuning");
  return FILTRA_OK;
}

filtra_status filtra_device_close(filtra_device **device) {
  FT_NEED(device);
  if (!*device) return FILTRA_OK;
  FT_TRY(ft_device_check_unused(*device));
  ft_tuning *tuning = ft_tuning_of(*device);
  ft_kept_message kept = ft_message_keep();
  ft_device_destroy(device);
  ft_message_restore(kept);
  ft_tuning_release(&tuning);
  return FILTRA_OK;
}

static filtra_status with_tuning(filtra_device **device, const filtra_device_options *options) {
  filtra_status status = open_tuning(*device, options);
  if (status) filtra_device_close(device);
  return status;
}

static filtra_status open_device(const filtra_device_options *options, ft_device_purpose purpose,
                                 filtra_device **device) {
  static const filtra_device_options defaults;
  if (!options) options = &defaults;
  FT_TRY(ft_device_create(options, purpose, device));
  return with_tuning(device, options);
}

filtra_status filtra_device_open(const filtra_device_options *options, filtra_device **device) {
  FT_NEED(device);
  *device = NULL;
  FT_TRY(FT_CHECK_RESERVED(filtra_device_options, options));
  return open_device(options, FT_DEVICE_EXECUTES, device);
}

static filtra_status refuse(const char *option) {
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "filtra_vulkan_open: option %s is set, which the application decides by what it "
                 "gives",
                 option);
}

filtra_status filtra_vulkan_open(const filtra_vulkan_device *vulkan,
                                 const filtra_device_options *options, filtra_device **device) {
  static const filtra_device_options defaults;
  FT_NEED(device);
  *device = NULL;
  FT_NEED(vulkan);
  FT_TRY(FT_CHECK_RESERVED(filtra_vulkan_device, vulkan));
  FT_TRY(FT_CHECK_RESERVED(filtra_device_options, options));
  if (!options) options = &defaults;
  if (options->select) return refuse("select");
  if (options->validation) return refuse("validation");
  FT_TRY(ft_device_create_on(vulkan, options, device));
  return with_tuning(device, options);
}

filtra_status ft_device_open_compiler(const filtra_device_options *options,
                                      filtra_device **device) {
  return open_device(options, FT_DEVICE_COMPILES, device);
}
