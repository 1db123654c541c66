/* Choosing a token by its logits: temperature, top-k (Fan et al. 2018), top-p (Holtzman et al.
 * 2020). */
#include "base/memory.h"
#include "base/rng.h"

#include <filtra/generate.h>
#include <math.h>
#include <stdlib.h>

typedef struct candidate {
  float logit;
  int32_t token;
} candidate;

static filtra_status check(int64_t vocabulary, const filtra_sampling *o) {
  if (vocabulary < 2 || vocabulary > INT32_MAX)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "sample: %lld tokens, accepted are 2 to %d",
                   (long long)vocabulary, INT32_MAX);
  if (!(o->temperature >= 0.0f && o->temperature <= 1e6f))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "sample: temperature is %g, accepted are 0 to 1e6",
                   (double)o->temperature);
  if (o->top_k < 0)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "sample: top_k is %lld, accepted are 0 (all) and more",
                   (long long)o->top_k);
  if (!(o->top_p >= 0.0f && o->top_p <= 1.0f))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "sample: top_p is %g, accepted are 0 (all) to 1",
                   (double)o->top_p);
  return FILTRA_OK;
}

/* The most probable token; the first of several equal ones. */
static filtra_status most_probable(const float *logits, int64_t vocabulary, int32_t least,
                                   int32_t *token) {
  *token = least;
  for (int64_t i = 0; i < vocabulary; i++) {
    if (isnan(logits[i]))
      return ft_fail(FILTRA_ERROR_NONFINITE, "sample: the logit of token %lld is not a number",
                     (long long)i);
    if (i > least && logits[i] > logits[*token]) *token = (int32_t)i;
  }
  if (isfinite(logits[*token])) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_NONFINITE, "sample: the largest logit, of token %d, is not finite",
                 *token);
}

static int more_probable_first(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->logit != y->logit) return x->logit < y->logit ? 1 : -1;
  return (x->token > y->token) - (x->token < y->token);
}

/* Probability up to a common factor; `top` is the largest logit. */
static double weight(const candidate *c, float top, float temperature) {
  return exp(((double)c->logit - (double)top) / (double)temperature);
}

/* The number of candidates, the most probable first, that together have probability p; *sum
 * receives the sum of their weights. */
static size_t nucleus(const candidate *list, size_t count, float temperature, double p,
                      double *sum) {
  double all = 0.0;
  for (size_t i = 0; i < count; i++)
    all += weight(&list[i], list[0].logit, temperature);
  *sum = 0.0;
  for (size_t i = 0; i < count; i++) {
    *sum += weight(&list[i], list[0].logit, temperature);
    if (*sum >= p * all) return i + 1;
  }
  return count;
}

static int32_t draw_from(candidate *list, size_t count, const filtra_sampling *o, uint64_t draw) {
  qsort(list, count, sizeof *list, more_probable_first);
  if (o->top_k && (uint64_t)o->top_k < count) count = (size_t)o->top_k;
  double sum;
  count = nucleus(list, count, o->temperature, o->top_p > 0.0f ? (double)o->top_p : 1.0, &sum);
  ft_rng rng = ft_rng_make(o->seed, draw);
  double left = ft_rng_double(&rng) * sum;
  size_t i = 0;
  while (i + 1 < count && (left -= weight(&list[i], list[0].logit, o->temperature)) >= 0.0)
    i++;
  return list[i].token;
}

filtra_status filtra_sample_token(const float *logits, int64_t vocabulary,
                                  const filtra_sampling *options, uint64_t draw, int32_t *token) {
  static const filtra_sampling defaults;
  const filtra_sampling *o = options ? options : &defaults;
  FT_NEED(logits, token);
  FT_TRY(FT_CHECK_RESERVED(filtra_sampling, o));
  FT_TRY(check(vocabulary, o));
  const int32_t least = o->zero ? 0 : 1;
  FT_TRY(most_probable(logits, vocabulary, least, token));
  if (o->temperature == 0.0f) return FILTRA_OK;
  size_t count = (size_t)(vocabulary - least);
  candidate *list = ft_calloc(count, sizeof *list);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++)
    list[i] = (candidate){logits[i + (size_t)least], (int32_t)i + least};
  *token = draw_from(list, count, o, draw);
  free(list);
  return FILTRA_OK;
}
