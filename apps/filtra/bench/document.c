/* Makes a benchmark's file: machine, date and results (docs/benchmarks.md). */
#include "bench.h"

#include "base/file.h"
#include "base/utf8.h"
#include "ops/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* The processor's name, if Linux tells it. Files in /proc report no size, so this reads lines. */
static json_t *processor_name(void) {
  static const char KEY[] = "model name";
  char line[256];
  json_t *name = NULL;
  FILE *stream = fopen("/proc/cpuinfo", "r");
  while (stream && !name && fgets(line, sizeof line, stream)) {
    const char *text = strchr(line, ':');
    if (!text || strncmp(line, KEY, sizeof KEY - 1)) continue;
    text += 1 + strspn(text + 1, " \t");
    name = json_stringn(text, strcspn(text, "\n"));
  }
  if (stream) fclose(stream);
  return name ? name : json_string("unknown");
}

static json_t *host_json(void) {
  struct utsname system;
  char text[3 * sizeof system.sysname] = "unknown";
  if (!uname(&system))
    snprintf(text, sizeof text, "%s %s %s", system.sysname, system.release, system.machine);
  return json_pack("{so si ss}", "cpu", processor_name(), "cores", (int)ft_processors(), "system",
                   text);
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
      json_pack("{ss ss ss ss sb ss sI so so so so so}", "format", "filtra-bench-1", "filtra",
                filtra_version(), "commit", filtra_commit, "date", ft_date(), "quick", a->quick,
                "caps", caps ? caps : "", "tuned", tuned, "device",
                command_device_json(filtra_device_get_info(b->device)), "host", host_json(),
                "peaks", b->peaks, "results", b->results, "losses", b->losses);
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
