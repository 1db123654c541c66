/* TensorBoard's event files: TFRecord framing around protocol buffers of Event. */
#ifndef FILTRA_METRICS_EVENTS_H
#define FILTRA_METRICS_EVENTS_H

#include <stdint.h>
#include <stdio.h>

/** Writes the record that begins a file. Failed writes show in ferror. */
void events_begin(FILE *to, double wall_time);
/** Writes one scalar; `tag` has at most 100 bytes. */
void events_scalar(FILE *to, double wall_time, int64_t step, const char *tag, float value);

#endif
