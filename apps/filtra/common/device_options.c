/* The options with which every subcommand chooses and configures its device. */
#include "common/command.h"
#include "common/system.h"

#include <stdio.h>
#include <string.h>

const char device_options_help[] =
    "  --device SEL      index, part of the name or driver, UUID, or cpu (default: the best)\n"
    "  --caps LIST       key=value,...: mask features, shrink limits, plan as for another kind\n"
    "                    of device; @NAME or @FILE: a profile of such lines. filtra devices\n"
    "                    --list-caps has the keys, --list-profiles the profiles\n"
    "  --cache-dir DIR   folder of the pipeline cache and of what filtra tune finds; \"\" keeps\n"
    "                    none\n"
    "  --tuning FILE     what filtra tune --export wrote for this device; \"\" uses none\n"
    "  --driver-threads N  threads of lavapipe, the CPU driver (default: one for each core).\n"
    "                    With 1 none is woken for each kernel, so that steps of a few\n"
    "                    milliseconds take less\n"
    "  --validation      check every call with the Khronos validation layer\n";

bool device_is_lavapipe(const filtra_device_info *info) {
  return !strncmp(info->driver, "llvmpipe", strlen("llvmpipe"));
}

/* lavapipe reads its variable when a device is opened. With 0 it has no threads for kernels: the
 * one that takes submitted work from its queue runs them. */
static bool take_driver_threads(const char *command, const char *value) {
  enum { MOST = 1024 };
  char text[24];
  uint64_t count;
  if (!command_number(command, "--driver-threads", value, 1, MOST, &count)) return false;
  snprintf(text, sizeof text, "%llu", count == 1 ? 0ULL : (unsigned long long)count);
  system_set_variable("LP_NUM_THREADS", text);
  return true;
}

bool take_device_option(const char *command, int code, const char *value,
                        filtra_device_options *options) {
  switch (code) {
  case OPTION_DEVICE:
    options->select = value;
    return true;
  case OPTION_CAPS:
    options->caps = value;
    return true;
  case OPTION_CACHE_DIR:
    options->cache_dir = value;
    return true;
  case OPTION_TUNING:
    options->tuning = value;
    return true;
  case OPTION_DRIVER_THREADS:
    return take_driver_threads(command, value);
  default:
    options->validation = true;
    return true;
  }
}
