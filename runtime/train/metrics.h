/* metrics.jsonl: one JSON object a line, and how fast the run is. */
#ifndef FT_TRAIN_METRICS_H
#define FT_TRAIN_METRICS_H

#include <filtra/train.h>

/** NULL: of a rank that writes nothing; the calls below then do nothing. */
typedef struct ft_metrics ft_metrics;

/** Opens the folder's metrics file to append to. Only one process can have it open: this is also
 * the lock on the run. */
filtra_status ft_metrics_open(const char *folder, ft_metrics **out);
void ft_metrics_close(ft_metrics **metrics);
/** Brings what was written to disk. */
filtra_status ft_metrics_sync(ft_metrics *metrics);
/** Forgets the lines of steps after `step`, which a resumed run takes again. */
filtra_status ft_metrics_rewind(ft_metrics *metrics, uint64_t step);

/** Counts a batch that was submitted. */
void ft_metrics_count(ft_metrics *metrics, const filtra_batch *batch);
/** Fills in tokens_per_second and seconds_left. */
void ft_metrics_speed(const ft_metrics *metrics, filtra_run_progress *progress);

/** A line for progress->last, every `every` steps. */
filtra_status ft_metrics_step(ft_metrics *metrics, const filtra_run_progress *progress,
                              uint64_t every);
/** A line for an evaluation. */
filtra_status ft_metrics_validation(ft_metrics *metrics, const filtra_run_progress *progress);

#endif
