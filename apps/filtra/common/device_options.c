/* The options with which every subcommand chooses and configures its device. */
#include "common/command.h"

const char device_options_help[] =
    "  --device SEL      index, part of the name or driver, UUID, or cpu (default: the best)\n"
    "  --caps LIST       key=value,...: mask features, shrink limits, plan as for another kind\n"
    "                    of device; @NAME or @FILE: a profile of such lines. filtra devices\n"
    "                    --list-caps has the keys, --list-profiles the profiles\n"
    "  --cache-dir DIR   folder of the pipeline cache and of what filtra tune finds; \"\" keeps\n"
    "                    none\n"
    "  --tuning FILE     what filtra tune --export wrote for this device; \"\" uses none\n"
    "  --validation      check every call with the Khronos validation layer\n";

bool take_device_option(int code, const char *value, filtra_device_options *options) {
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
  case OPTION_VALIDATION:
    options->validation = true;
    return true;
  default:
    return false;
  }
}
