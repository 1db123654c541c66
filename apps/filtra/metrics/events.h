/* TensorBoard's event files: TFRecord framing around protocol buffers of Event. */
#ifndef FILTRA_METRICS_EVENTS_H
#define FILTRA_METRICS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Writes the record that begins a file. Failed writes show in ferror. */
void events_begin(FILE *to, double wall_time);
/** Writes one scalar; `tag` has at most 100 bytes. */
void events_scalar(FILE *to, double wall_time, int64_t step, const char *tag, float value);
/** Whether the file `old`, of which EVENTS_HEAD_BYTES are enough, begins with the first scalar of
 * `made`, whatever its time, or with none: `made` is then of the same run, later. */
enum { EVENTS_HEAD_BYTES = 512 };
bool events_of_same_run(const char *old, size_t old_size, const char *made, size_t made_size);

#endif
