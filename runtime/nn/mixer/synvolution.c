/* Synvolution (Converter, 2025): rotates the value into a learned unitary basis, multiplies it by
 * learned phases, and rotates it back; O(n d). */
#include "nn/converter.h"

struct synvolution_options {
  ft_transform_options transform;
};

static const ft_key KEYS[] = {FT_TRANSFORM_KEYS(struct synvolution_options)};

static const char *idle(const void *options, const char *name) {
  return ft_transform_idle(&((const struct synvolution_options *)options)->transform, name);
}

static filtra_tensor *mixed(const ft_scope *scope, const struct synvolution_options *o,
                            const filtra_mixer_input *in, bool unit_rows) {
  ft_scope values = ft_scope_enter(scope, "values");
  const ft_transform_input input = ft_ordered_input(scope, &o->transform, in);
  filtra_tensor *phase = ft_eigenvalue_phases(&values, input.in.x, o->transform.heads, in->dropout);
  return ft_spectral_filter(scope, &o->transform, &input, phase, unit_rows);
}

static filtra_tensor *build_complex(const ft_scope *scope, const void *options,
                                    const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  return mixed(scope, options, in, true);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  return ft_blend_mixed(scope, in, mixed(scope, options, in, false));
}

const ft_mixer_class ft_mixer_synvolution = {
    .name = "synvolution",
    .description = "learned phases in a unitary basis of tokens (the Converter)",
    .options_size = sizeof(struct synvolution_options),
    .keys = FT_KEYS(KEYS),
    .idle = idle,
    .not_causal = "its rotations carry every token to both ends of a sequence",
    .build = build,
    .build_complex = build_complex};
