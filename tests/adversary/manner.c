/* Settings of how adversely a run goes, from a seed or a text. */
#include "adversary/machine.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

adv_manner adv_manner_of(uint64_t seed, uint32_t subgroup, bool rounds) {
  static const int roundings[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
  adv_manner how = {.seed = seed,
                    .order = seed,
                    .subgroup = subgroup ? subgroup
                                : seed   ? 4u << seed % 6
                                         : 32,
                    .rounding = FE_TONEAREST};
  if (!seed) return how;
  uint64_t drawn = adv_mix(seed, 1, 1);
  how.scattered = drawn >> 8 & 1;
  how.ragged = drawn >> 9 & 1;
  if (!rounds) return how;
  how.loose = seed % 4 == 1 ? -1 : seed % 4 == 2 ? 1 : 2;
  how.rounding = roundings[drawn % 4];
  how.flush = drawn >> 10 & 1;
  how.contracts = true;
  return how;
}

const char *adv_setting(const char *text, const char *key) {
  const char *at = strstr(text, key);
  return at ? at + strlen(key) : NULL;
}

uint64_t adv_setting_number(const char *text, const char *key) {
  const char *value = adv_setting(text, key);
  return value ? strtoull(value, NULL, 0) : 0;
}

adv_manner adv_manner_read(const char *text) {
  adv_manner how = adv_manner_of(adv_setting_number(text, "seed="),
                                 (uint32_t)adv_setting_number(text, "subgroup="),
                                 adv_setting_number(text, "rounding="));
  how.by_subgroups = adv_setting(text, "uniform=subgroup") != NULL;
  if (adv_setting_number(text, "linear=")) how.scattered = how.ragged = false;
  return how;
}
