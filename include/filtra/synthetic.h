/* Datasets that are generated: ListOps and Pathfinder of the Long Range Arena (Tay et al. 2021), as
 * files that filtra_dataset_open reads. */
#ifndef FILTRA_SYNTHETIC_H
#define FILTRA_SYNTHETIC_H

#include <filtra/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- generating ListOps ------------------------------------------------------------------- */

/** Called from time to time on the calling thread; returning false stops with CANCELLED. */
typedef bool (*filtra_progress_fn)(void *user, uint64_t done, uint64_t total);

/** Options of filtra_listops_generate; zeros give the task of Tay et al. 2021. */
typedef struct filtra_listops_options {
  uint64_t train, val, test; /**< trees in each file; 0: 96000, 2000, 2000 */
  /** Trees have min_length < length < max_length, where length counts operators, digits and closing
   * brackets; 0: 500 and 2000. At most 1048576. */
  uint32_t min_length, max_length;
  uint32_t max_depth; /**< levels of a tree, digits included, 1 to 64; 0: 10 */
  uint32_t max_args;  /**< arguments of an operator, 2 to 1000; 0: 10 */
  uint64_t seed;
  uint32_t threads;            /**< 0: one per processor; the result is the same for any number */
  filtra_progress_fn progress; /**< trees found and wanted; may be NULL */
  void *progress_user;
  uint64_t reserved[4]; /**< 0 */
} filtra_listops_options;

/** Writes basic_train.tsv, basic_val.tsv and basic_test.tsv into `directory`, and creates it if
 * needed. All trees are distinct, and the split is random. The files appear when all are complete;
 * on failure or cancellation none does. Fails with ARGUMENT where one of the files exists, and
 * where the options cannot be met (no tree in range, fewer distinct trees than requested).
 * Thread-safe. */
FILTRA_API filtra_status filtra_listops_generate(const char *directory,
                                                 const filtra_listops_options *options);

/* ---- generating Pathfinder ---------------------------------------------------------------- */

/** Options of filtra_pathfinder_generate; zeros give the task of Linsley et al. 2018 and Tay et al.
 * 2021: images of 32 x 32 grey pixels with two long contours of dashes, and short ones as
 * distractors. */
typedef struct filtra_pathfinder_options {
  uint64_t count;          /**< images; 0: 200000 */
  uint32_t contour_length; /**< dashes of a long contour, 3 to 20; published: 6, 9, 14; 0: 14 */
  uint64_t seed;
  uint32_t threads;            /**< 0: one per processor; the result is the same for any number */
  filtra_progress_fn progress; /**< images drawn and wanted; may be NULL */
  void *progress_user;
  uint64_t reserved[4]; /**< 0 */
} filtra_pathfinder_options;

/** Writes the new folder DIRECTORY/curv_contour_length_N, and its parents if needed, in the
 * published layout: imgs/K/sample_I.png, 1000 images to a folder, and metadata/K.npy. The folder
 * must not exist; it appears when it is complete, and on failure or cancellation it does not. Label
 * 1: both markers are on the ends of one contour. Thread-safe. */
FILTRA_API filtra_status filtra_pathfinder_generate(const char *directory,
                                                    const filtra_pathfinder_options *options);

#ifdef __cplusplus
}
#endif
#endif
