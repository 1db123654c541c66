/* Makes a benchmark's file: machine, date and results (docs/benchmarks.md). */
#include "bench.h"

#include "base/file.h"
#include "base/utf8.h"
#include "common/system.h"
#include "ops/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *host_json(void) {
  char system[256], *processor = system_processor();
  system_describe(system, sizeof system);
  json_t *host = json_pack("{ss si ss}", "cpu", processor ? processor : "unknown", "cores",
                           (int)ft_processors(), "system", system);
  free(processor);
  return host;
}

/* lavapipe's threads as --driver-threads counts them; 0: one a core. NULL: another driver. */
static json_t *driver_threads(const bench *b) {
  const char *threads = getenv("LP_NUM_THREADS");
  if (!device_is_lavapipe(filtra_device_get_info(b->device))) return NULL;
  const long count = threads ? strtol(threads, NULL, 10) : 0;
  return json_integer(threads && count < 1 ? 1 : count);
}

filtra_status bench_document(bench *b) {
  const bench_arguments *a = b->arguments;
  const char *caps = a->device.caps ? a->device.caps : getenv("FILTRA_CAPS");
  const ft_tuning *tuning = ft_tuning_of(b->device);
  json_int_t tuned = tuning ? (json_int_t)ft_tuning_chosen(tuning) : 0;
  b->peaks = json_object();
  b->results = json_array();
  b->losses = json_array();
  b->document =
      json_pack("{ss ss ss ss sb ss sI so* so so so so so}", "format", "filtra-bench-1", "filtra",
                filtra_version(), "commit", filtra_commit, "date", ft_date(), "quick", a->quick,
                "caps", caps ? caps : "", "tuned", tuned, "driver_threads", driver_threads(b),
                "device", command_device_json(filtra_device_get_info(b->device)), "host",
                host_json(), "peaks", b->peaks, "results", b->results, "losses", b->losses);
  if (b->document) return FILTRA_OK;
  if (!caps || ft_utf8_valid(caps, strlen(caps)))
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return ft_fail(FILTRA_ERROR_INPUT, "--caps \"%s\" is not UTF-8 text", caps);
}

void bench_keep(bench *b, const bench_task *task) {
  if (task->part == BENCH_PEAK)
    bench_keep_peak(b, task);
  else
    json_array_append(task->part == BENCH_LOSSES ? b->losses : b->results, task->entry);
}
