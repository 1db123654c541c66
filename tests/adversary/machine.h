/* A workgroup at work. All its invocations go through the program side by side, those that take
 * another way waiting; who is guaranteed to be together is kept apart from who happens to be
 * (schedule.c). */
#ifndef ADVERSARY_MACHINE_H
#define ADVERSARY_MACHINE_H

#include "adversary/memory.h"
#include "adversary/program.h"
#include "adversary/report.h"

enum { ADV_MAX_LANES = 1024, ADV_LANE_WORDS = ADV_MAX_LANES / 64 };

/** How adversely it runs; all from a seed, of which 0 is the kindest. */
typedef struct adv_manner {
  uint64_t seed;     /* of rounding: the same numbers give the same results */
  uint64_t order;    /* of everything else, which must not change a bit */
  uint32_t subgroup; /* invocations; a pipeline's required size goes before */
  int loose;         /* of operations with an error allowed: 0 none, -1 below, 1 above, 2 either */
  int rounding;      /* of the exact ones, FE_TONEAREST and so on: Vulkan leaves it open */
  bool flush;        /* denormal numbers to zero */
  bool contracts; /* products and sums in one rounding, or an fma in two, where that is allowed */
  bool scattered; /* invocations in subgroups in any order */
  bool ragged;    /* subgroups that are not full, and more of them */
  bool by_subgroups; /* control flow reconverges by subgroups where it was uniform in one */
  uint64_t steps;    /* operations that an invocation may take; 0: 2^24 */
} adv_manner;
/** `rounds`: also with the errors that are allowed. */
adv_manner adv_manner_of(uint64_t seed, uint32_t subgroup, bool rounds);
/** Of settings "seed=3 subgroup=16 rounding=1 uniform=subgroup linear=1", any of them: rounding:
 * with the errors that Vulkan allows. uniform=subgroup: control flow reconverges in subgroups, as
 * VK_KHR_shader_subgroup_uniform_control_flow has it. linear: full subgroups of neighbours, for
 * tests that compare the bits of two kernels. */
adv_manner adv_manner_read(const char *text);
/** What follows "key=" in a text; NULL, or 0: it is not there. */
const char *adv_setting(const char *text, const char *key);
uint64_t adv_setting_number(const char *text, const char *key);

typedef struct adv_lanes {
  uint64_t bits[ADV_LANE_WORDS];
} adv_lanes;

typedef struct adv_frame adv_frame;

typedef struct adv_machine {
  const adv_program *p;
  const adv_manner *manner;
  adv_memory *memory;
  adv_report *report;
  uint32_t lanes, lane_words;
  uint8_t *rows;
  uint32_t active[ADV_MAX_LANES], active_count;
  bool full; /* all are active */
  adv_lanes all;
  uint8_t *private_memory, *private_written;
  adv_region shared, *last; /* of the device, where the last access was */
  const uint8_t *push;
  uint32_t push_size;
  uint32_t group[3], groups[3], number; /* this workgroup, how many, its number in the run */
  uint16_t shared_epoch, device_epoch;
  uint16_t inner_of[ADV_MAX_LANES]; /* barriers of its subgroup that each has passed */
  uint32_t subgroup_size, subgroups;
  uint16_t subgroup_of[ADV_MAX_LANES], place_of[ADV_MAX_LANES];
  uint16_t *lane_at; /* [subgroup][place]; 0xffff: nobody */
  uint32_t class_of[ADV_MAX_LANES], next_class, splits;
  adv_frame *frame;
  uint64_t steps, step_limit;
  bool stopped;        /* it went on too long, or left what is known */
  bool nonfinite_read; /* the call read a NaN or an infinity */
} adv_machine;

/** Runs all workgroups of one call. */
void adv_machine_run(const adv_program *p, const adv_manner *manner, adv_memory *memory,
                     adv_report *report, const void *push, uint32_t push_size,
                     const uint32_t groups[3]);

/* ---- what the parts of it share ---- */

#define ADV_ROW(m, type, row) ((type *)((m)->rows + (size_t)(row) * (m)->lanes))

/** execute.c: whether the opcode is itself an operation on components. */
bool adv_computes(uint16_t opcode);
/** Operations for the active invocations. */
void adv_execute(adv_machine *m, const adv_op *ops, uint32_t count);
/** For one invocation alone, with constants as operands: the bits of a row behind it. */
uint64_t adv_evaluate(const adv_program *p, const adv_op *ops, uint32_t count, uint32_t row);
/** A row's number of some kind. */
typedef struct adv_number {
  double real;
  uint64_t whole; /* with the sign above */
} adv_number;
adv_number adv_get_number(const adv_machine *m, uint32_t row, uint32_t kind, uint32_t lane);
void adv_put_number(adv_machine *m, uint32_t row, uint32_t kind, uint32_t lane, adv_number n);
/** access.c */
void adv_load(adv_machine *m, const adv_op *op);
void adv_store(adv_machine *m, const adv_op *op);
void adv_atomic(adv_machine *m, const adv_op *op);
/** An access of op's `space`, `bits` and `is_float`. */
uint64_t adv_read(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address);
void adv_write(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address, uint64_t bits);
uint64_t adv_get_bits(const adv_machine *m, const adv_op *op, uint32_t row, uint32_t lane);
void adv_put_bits(adv_machine *m, const adv_op *op, uint32_t row, uint32_t lane, uint64_t bits);
/** groups.c: two numbers by an operation of subgroups, or by an atomic one. */
uint64_t adv_combined(const adv_op *op, uint64_t x, uint64_t y);
void adv_subgroups(adv_machine *m, const adv_op *op);
void adv_make_subgroups(adv_machine *m);
void adv_who_is_there(adv_machine *m, const adv_op *op, uint32_t lane, const char *what,
                      uint32_t number);
/** Whom an operation of a subgroup works among: those who are sure to be together there. */
typedef struct adv_together {
  uint16_t lanes[ADV_MAX_LANES]; /* by place in the subgroup */
  uint32_t count;
  bool here[ADV_MAX_LANES]; /* by lane */
} adv_together;
/** matrix.c: of one subgroup. */
void adv_matrix(adv_machine *m, const adv_op *op, const adv_together *t);
/** schedule.c: a barrier for the active invocations. */
void adv_barrier(adv_machine *m, const adv_op *op);
/** floats.c: functions of GLSL.std.450, and results with the error that is allowed. */
double adv_math(const adv_machine *m, uint32_t function, uint32_t bits, double a);
bool adv_math_known(uint32_t function);
double adv_divide(const adv_machine *m, uint32_t bits, double a, double b);
bool adv_two_roundings(const adv_machine *m);

#endif
