/* Runs a compiled graph's calls as the worst GPU that Vulkan 1.3 allows. */
#ifndef ADVERSARY_ADVERSARY_H
#define ADVERSARY_ADVERSARY_H

#include "adversary/machine.h"
#include "graph/internal.h"

/** Before the driver runs the graph: copies what its buffers hold, parameters and states, into a
 * memory that begins empty. */
filtra_status adv_snapshot_take(const filtra_graph *g, adv_memory *memory);
/** After it: the same calls on the same inputs; the outputs, and what was written to buffers that
 * outlive the run, take the place of the driver's. Findings are in the report, whatever the status.
 */
filtra_status adv_run_graph(filtra_graph *g, const adv_manner *manner, adv_memory *memory,
                            adv_report *report);
/** Operations of single invocations that it would take at the least: invocations of all calls. */
uint64_t adv_graph_size(const filtra_graph *g);
/** A line for each kernel with its workgroup, required subgroup and constants. */
void adv_programs_list(FILE *to);
void adv_programs_clear(void);

#endif
