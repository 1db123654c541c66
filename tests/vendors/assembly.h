/* What a program does in its hot loop, read from a driver's assembly text: Mesa's RADV, ANV and
 * NVK. */
#ifndef ASSEMBLY_H
#define ASSEMBLY_H

/** Of one iteration of the hot loop: the outermost one with the most multiply-adds, or else
 * instructions, what is nested in it as often as it runs where that is a constant; the whole
 * program where there is no loop. */
typedef struct hot_loop {
  double instructions, multiply_adds; /* hints to the scheduler left out; a dual issue is two */
  double slots;                       /* to issue them in; a dual issue takes one */
  double matrix; /* of all three, those of matrix units: as many as one keeps others waiting */
  double shared_loads, global_loads; /* however wide */
  double shared_bytes;               /* that a lane reads from shared memory */
  double drains;                     /* waits behind which no load is under way */
  double barriers;
  double in_flight; /* most global loads under way at once */
} hot_loop;

/** Whether the text was understood. matrix_rate: multiply-adds of 16-bit numbers that a matrix unit
 * makes for each instruction that could be issued meanwhile. */
int assembly_hot_loop(const char *text, double matrix_rate, hot_loop *out);

#endif
