/* Scores of a classifier, of one class or several labels a sample: per class, averaged, and the
 * confusion matrix.
 *
 *   filtra_scores *s;
 *   if (!filtra_model_score_split(model, data, FILTRA_SPLIT_TEST, 32, &s))
 *     printf("macro F1 %.3f\n", s->macro_f1);
 *   filtra_scores_destroy(&s);
 */
#ifndef FILTRA_SCORES_H
#define FILTRA_SCORES_H

#include <filtra/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Scores of one class, or of one of several labels, whose samples are those that have it; samples
 * are left out where the label is unknown. NaN: undefined, without samples of the class, or of
 * other classes. */
typedef struct filtra_class_scores {
  uint64_t known;     /**< all samples but those whose label is unknown */
  uint64_t samples;   /**< of this class */
  uint64_t predicted; /**< samples for which it was predicted */
  uint64_t hits;      /**< samples of this class for which it was predicted */
  double precision;   /**< fraction of `predicted` that is right; 0 if it was never predicted */
  double recall;      /**< fraction of `samples` for which it was predicted */
  double f1;          /**< 2 hits / (samples + predicted); NaN if both are 0 */
  /** Area under the ROC curve of this class against all others, by its probability: the probability
   * that a sample of it has a higher one than another sample; ties count half. */
  double auc;
} filtra_class_scores;

/** Scores of all samples. With several labels, each predicted where its probability is above 0.5,
 * accuracy is the fraction of samples with all known labels right, there is no confusion matrix,
 * and matthews is NaN. */
typedef struct filtra_scores {
  uint32_t classes;
  uint64_t samples;                    /**< of several labels those of which one is known */
  const filtra_class_scores *of_class; /**< [classes] */
  /** [classes, classes]: true class by predicted class; NULL with more than 1,024 classes, and of
   * labels. */
  const uint64_t *confusion;
  double accuracy;
  double accuracy_low, accuracy_high; /**< its 95 % interval (Wilson 1927) */
  double balanced_accuracy;           /**< mean recall of the classes that have samples */
  double macro_f1; /**< mean F1 of the classes that have samples or were predicted */
  double auc;      /**< mean of the classes for which it is defined; NaN: none */
  double matthews; /**< Matthews' correlation for several classes (Gorodkin 2004) */
  /** Of several labels 2 hits / (samples + predicted) of all labels together, 0 where there are
   * none; of classes the accuracy. */
  double micro_f1;
  uint64_t reserved[7]; /**< 0 */
} filtra_scores;

/** Computes scores on the host from labels [count], each below `classes`, and logits
 * [count, classes], of which the first largest is the prediction. At least one sample and two
 * classes. Fails with ARGUMENT, naming the sample, for a label out of range or a logit that is not
 * finite. Caller destroys. Thread-safe. */
FILTRA_API filtra_status filtra_scores_create(uint32_t classes, uint64_t count,
                                              const int32_t *labels, const float *logits,
                                              filtra_scores **out);
/** Sets *scores to NULL. */
FILTRA_API void filtra_scores_destroy(filtra_scores **scores);

/** Predicts a whole split, in batches of `batch_size`: results [samples, filtra_model_outputs], as
 * filtra_model_predict_batch gives, in the split's order. Not for language models. Fails with INPUT
 * for data that do not fit the model (filtra_model_check_data); their classes may be others. */
FILTRA_API filtra_status filtra_model_predict_split(filtra_model *model, const filtra_dataset *data,
                                                    filtra_split split, uint32_t batch_size,
                                                    float *results);
/** Scores a classifier, also of pairs or several labels, on a split. Fails with ARGUMENT for models
 * of other tasks, and with INPUT for samples without a label. Caller destroys. */
FILTRA_API filtra_status filtra_model_score_split(filtra_model *model, const filtra_dataset *data,
                                                  filtra_split split, uint32_t batch_size,
                                                  filtra_scores **out);

#ifdef __cplusplus
}
#endif
#endif
