/* The options by which every subcommand chooses and sets up its device. */
#include "command.h"

const char device_options_help[] =
    "  --device SEL      index, part of the name or driver, UUID, or cpu (default: the best)\n"
    "  --caps LIST       mask features or shrink limits: int64, fp16, subgroup, timestamps,\n"
    "                    pipeline_cache (=0), shared, allocation (=BYTES), invocations (=N),\n"
    "                    gemm (=naive, tiled or s64), attention (=tiled or lanes),\n"
    "                    registers (=few or many: what tiles are cut for),\n"
    "                    submission_ms (=N: the most one submission should take; 0: no\n"
    "                    limit), as key=value,...\n"
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
