/* Runs a compiled graph's calls as the worst GPU that Vulkan 1.3 allows. */
#ifndef ADVERSARY_ADVERSARY_H
#define ADVERSARY_ADVERSARY_H

#include "adversary/machine.h"
#include "graph/program.h"

/** Runs the program's calls on what its buffers hold and on the slot's inputs, in a memory that
 * begins empty. Outputs get into the slot's readback, and what was written to buffers that outlive
 * the run into these. Findings are in the report, whatever the status. */
filtra_status adv_run_program(ft_program *p, ft_slot *slot, const adv_manner *manner,
                              adv_memory *memory, adv_report *report);
/** Operations of single invocations that it would take at the least: invocations of all calls. */
uint64_t adv_graph_size(const filtra_graph *g);
/** A line for each kernel with its workgroup, required subgroup and constants. */
void adv_programs_list(FILE *to);
void adv_programs_clear(void);

#endif
