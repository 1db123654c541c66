#ifndef TEST_REFERENCE_AGF_H
#define TEST_REFERENCE_AGF_H

#include <filtra/ops.h>

/** P_order(x) by explicit sums or closed forms, not by the recurrence under test. */
double ref_basis(filtra_basis basis, double a, double b, int order, double x);

typedef struct ref_agf_settings {
  int64_t batch, heads, tokens, width;
  int order; /* K */
  filtra_basis basis;
  double a, b;
  filtra_rho rho;
  filtra_theta_mode theta_mode;
  filtra_agf_variant variant;
  bool symmetric;
  bool ortho_padding; /* U's rows at padding count in the loss */
} ref_agf_settings;

/** filtra_agf in double precision: u, s, vv, value [B,H,N,D]; coefficients as there; mask [B,N] or
 * NULL; y [B,N,H,D]; ortho [B] or NULL. */
void ref_agf(const ref_agf_settings *settings, const double *u, const double *s, const double *vv,
             const double *value, const double *coefficients, const double *mask, double *y,
             double *ortho);

#endif
