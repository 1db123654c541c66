/* Puts the adversary behind every graph that a test runs. A program linked with
 * -Wl,--wrap=filtra_graph_run calls what is here; FILTRA_ADVERSARY says how:
 *
 *   FILTRA_ADVERSARY="seed=3 subgroup=16 uniform=subgroup limit=4000000 report=FILE"
 *
 * rounding=1: with the errors that Vulkan allows. uniform=subgroup: control flow reconverges in
 * subgroups, as VK_KHR_shader_subgroup_uniform_control_flow has it. linear=1: full subgroups of
 * neighbours, for tests that compare the bits of two kernels. limit: graphs with more work are left
 * to the driver. report: findings go there and a line with what was done is added; the test fails
 * on findings. */
#include "adversary/adversary.h"

#include <stdlib.h>
#include <string.h>

filtra_status __real_filtra_graph_run(filtra_graph *g);
filtra_status __wrap_filtra_graph_run(filtra_graph *g);

static adv_report report;
static unsigned runs;

/* "key=value" in the setting; 0 where it is not there. */
static uint64_t number_of(const char *setting, const char *key) {
  const char *at = strstr(setting, key);
  return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static FILE *open_report(const char *setting) {
  char path[512];
  const char *at = strstr(setting, "report=");
  if (!at || sscanf(at + strlen("report="), "%511s", path) != 1) return NULL;
  return fopen(path, "a");
}

static void finish(void) {
  const char *setting = getenv("FILTRA_ADVERSARY");
  FILE *to = setting ? open_report(setting) : NULL;
  if (to) {
    fprintf(to, "done: %lu graphs, %lu dispatches, %llu operations, %lu too large, %zu findings\n",
            report.graphs, report.dispatches, (unsigned long long)report.operations,
            report.too_large, report.count);
    adv_programs_list(to);
    adv_report_print(&report, to);
    fclose(to);
  }
  adv_report_print(&report, stderr);
  bool bad = report.count != 0;
  adv_report_clear(&report);
  adv_programs_clear();
  if (bad) _Exit(EXIT_FAILURE);
}

filtra_status __wrap_filtra_graph_run(filtra_graph *g) {
  const char *setting = getenv("FILTRA_ADVERSARY");
  if (!setting || !g || !g->compiled) return __real_filtra_graph_run(g);
  uint64_t limit = number_of(setting, "limit=");
  if (limit && adv_graph_size(g) > limit) {
    report.too_large++;
    return __real_filtra_graph_run(g);
  }
  adv_manner manner =
      adv_manner_of(number_of(setting, "seed="), (uint32_t)number_of(setting, "subgroup="),
                    number_of(setting, "rounding="));
  manner.by_subgroups = strstr(setting, "uniform=subgroup") != NULL;
  if (number_of(setting, "linear=")) manner.scattered = manner.ragged = false;
  manner.order += runs++; /* another order each time: a second run has to give the same bits */
  if (runs == 1) atexit(finish);
  adv_memory memory = {0};
  filtra_status status = adv_snapshot_take(g, &memory);
  if (!status) status = __real_filtra_graph_run(g);
  if (!status) status = adv_run_graph(g, &manner, &memory, &report);
  adv_memory_destroy(&memory);
  return status;
}
