/* metrics.jsonl, with one JSON object per line, and the speed of a run. */
#ifndef FT_TRAIN_METRICS_H
#define FT_TRAIN_METRICS_H

#include <filtra/train.h>

/** NULL on ranks that write nothing; calls with NULL do nothing. */
typedef struct ft_metrics ft_metrics;

/** Opens the folder's metrics file for appending. Only one process can have it open: it is also the
 * lock of the run. */
filtra_status ft_metrics_open(const char *folder, ft_metrics **out);
void ft_metrics_close(ft_metrics **metrics);
/** Flushes written lines to disk. */
filtra_status ft_metrics_sync(ft_metrics *metrics);
/** Fails with INPUT if the file is empty though the steps up to progress->step logged something. */
filtra_status ft_metrics_check(const ft_metrics *metrics, const filtra_run_progress *progress,
                               uint64_t every);
/** Removes the lines of steps after `step`, which a resumed run repeats. */
filtra_status ft_metrics_rewind(ft_metrics *metrics, uint64_t step);

enum { FT_RECENT_STEPS = 20 };

/** Results of the last steps; starts from zeros. */
typedef struct ft_recent {
  filtra_trainer_metrics steps[FT_RECENT_STEPS];
  uint64_t count; /* of all steps */
} ft_recent;

/** Adds progress->last and fills in the means. */
void ft_recent_add(ft_recent *recent, filtra_run_progress *progress);

/** Counts a submitted batch; `patch`: the side of the patches that are its tokens, 0: none. */
void ft_metrics_count(ft_metrics *metrics, const filtra_batch *batch, int64_t patch);
/** Fills in tokens_per_second, milliseconds and seconds_left. */
void ft_metrics_speed(const ft_metrics *metrics, filtra_run_progress *progress);

/** Writes a line for progress->last if its step is a multiple of `every`. */
filtra_status ft_metrics_step(ft_metrics *metrics, const filtra_run_progress *progress,
                              uint64_t every);
/** Writes a line for an evaluation. */
filtra_status ft_metrics_validation(ft_metrics *metrics, const filtra_run_progress *progress);

#endif
