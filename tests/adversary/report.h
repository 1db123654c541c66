/* What was found, and what was done: each finding once for a kernel and an instruction, with the
 * first place where it was seen. */
#ifndef ADVERSARY_REPORT_H
#define ADVERSARY_REPORT_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum adv_fault {
  ADV_RACE_SHARED,
  ADV_RACE_DEVICE,
  ADV_UNWRITTEN,    /* a read of what nobody wrote */
  ADV_OUTSIDE,      /* of the call's tensors, shared memory, or an array */
  ADV_MODE,         /* a read of what is only to be written, or the other way round */
  ADV_BARRIER_LEFT, /* a barrier that not all reach, or not together */
  ADV_WHO_IS_THERE, /* a subgroup operation whose result depends on that */
  ADV_OVERFLOW,     /* of a number that becomes an index */
  ADV_ENDLESS,
  ADV_NONFINITE, /* made from finite numbers */
  ADV_FAULTS
} adv_fault;

/** A few words for each kind. */
const char *adv_fault_name(adv_fault fault);

typedef struct adv_finding {
  adv_fault fault;
  const char *kernel;
  uint32_t at, line;
  unsigned long count;
  bool fresh, sure; /* seen in this run; wrong in one that is over */
  char text[400];
} adv_finding;

/** A tensor of a call, for messages. */
typedef struct adv_tensor {
  const char *name;
  uint64_t low, high; /* addresses */
  uint32_t element;   /* bytes */
} adv_tensor;

typedef struct adv_report {
  adv_finding *findings;
  size_t count, capacity;
  unsigned long dispatches, graphs, too_large;
  uint64_t operations; /* of single invocations */
  const adv_tensor *tensors;
  uint32_t tensor_count;
  FILE *trace; /* NULL: none */
  uint32_t trace_lane, trace_group;
} adv_report;

struct adv_program;
/** Notes a finding at instruction `at`, with a text if it is a new one. */
void adv_report_note(adv_report *r, const struct adv_program *p, adv_fault fault, uint32_t at,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));
/** "v[12] (tensor of 64 elements)"; valid to the next call. */
const char *adv_report_place(const adv_report *r, uint64_t address);
void adv_report_print(const adv_report *r, FILE *to);
/** Ends a run. Where a NaN is for others to judge, those of this run are not sure to be wrong. */
void adv_report_end(adv_report *r, bool nonfinite);
/** How many are. */
size_t adv_report_sure(const adv_report *r);
void adv_report_clear(adv_report *r);

/** The line of an instruction of an embedded kernel, by compiling its source once more with line
 * numbers; 0: not known. */
uint32_t adv_line_of(const struct adv_program *p, uint32_t at);

#endif
