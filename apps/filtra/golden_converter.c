/* How the golden ops of the Converter are built. */
#include "golden.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- the unitary transform ---- */

/* Rotations of the chain "l" or "u". */
static filtra_tensor *rotations(golden *c, const char *chain) {
  static const char *const names[] = {"alpha", "beta", "gamma"};
  filtra_tensor *angle[3];
  for (int i = 0; i < 3; i++) {
    char name[32];
    snprintf(name, sizeof name, "in.%s_%s", names[i], chain);
    angle[i] = golden_input(c, name);
  }
  return filtra_givens(c->graph, angle[0], angle[1], angle[2]);
}

static filtra_status build_transform(golden *c, bool inverse) {
  filtra_tensor *x = golden_input(c, "in.x"), *lower = rotations(c, "l"),
                *upper = rotations(c, "u");
  filtra_tensor *phases = filtra_unit_phase(c->graph, golden_input(c, "in.theta"), true);
  filtra_dhhp_options options = {.inverse = inverse,
                                 .permutation = (int64_t)golden_number(c, "perm", 0.0)};
  golden_output(c, "y", filtra_dhhp(c->graph, x, lower, upper, phases, &options));
  return FILTRA_OK;
}

static filtra_status build_dhhp(golden *c) {
  return build_transform(c, false);
}

static filtra_status build_dhhp_inverse(golden *c) {
  return build_transform(c, true);
}

/* Phi^-1 diag(e^(i phase)) Phi. The diagonal matrices commute, so Phi's own phases cancel and the
 * eigenvalues take their place. */
static filtra_status build_synvolution_core(golden *c) {
  filtra_tensor *value = golden_input(c, "in.value");
  filtra_tensor *lower = rotations(c, "l"), *upper = rotations(c, "u");
  filtra_tensor *eigenvalues = filtra_unit_phase(c->graph, golden_input(c, "in.phase"), false);
  filtra_tensor *spectrum = filtra_dhhp(c->graph, value, lower, upper, eigenvalues, NULL);
  golden_output(
      c, "y",
      filtra_dhhp(c->graph, spectrum, lower, upper, NULL, &(filtra_dhhp_options){.inverse = true}));
  return FILTRA_OK;
}

/* ---- the table ---- */

static const struct {
  const char *op;
  golden_build_fn build;
} OPS[] = {
    {"dhhp", build_dhhp},
    {"dhhp_inverse", build_dhhp_inverse},
    {"synvolution_core", build_synvolution_core},
};

golden_build_fn golden_find_converter(const char *op) {
  for (size_t i = 0; i < FT_COUNT(OPS); i++)
    if (!strcmp(OPS[i].op, op)) return OPS[i].build;
  return golden_find_converter_part(op);
}
