/* The tables of configurations. Each op's file makes its own choice; tests/ops/test_tuning.c
 * compares each row with the op's reference. Called by ops, ops/tuner.c and ops/tuning_file.c. */
#include "ops/tuning.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* shaders/gemm/tiled.comp: invocations, rows and columns of each, step of k, invocations side by
 * side. If gemm.c computes the same cost for two rows, it takes the first. */
static const char *const gemm_tiled_fields[] = {"workgroup", "rows",   "columns",
                                                "step",      "across", "parts"};
static const ft_configuration gemm_tiled[] = {
    {{256, 8, 8, 8, 16}},  {{256, 4, 4, 16, 16}}, {{128, 8, 4, 16, 16}}, {{64, 4, 4, 16, 8}},
    {{256, 8, 8, 16, 16}}, {{256, 8, 4, 16, 16}}, {{128, 8, 8, 8, 16}},  {{128, 4, 8, 16, 8}},
    {{64, 8, 8, 8, 8}},    {{64, 8, 4, 16, 8}},   {{32, 4, 4, 16, 4}},   {{128, 8, 8, 8, 8}},
    {{256, 8, 8, 8, 8}},   {{256, 8, 4, 16, 8}},  {{128, 8, 16, 16, 8}},
};

/* shaders/gemm/s64.comp: rows of a lane, pairs of its columns, operands to copy into panels first
 * (1: A, 2: B; 4: read both by uniform addresses). */
static const char *const gemm_s64_fields[] = {"rows", "pairs", "pack", "parts"};
static const ft_configuration gemm_s64[] = {
    {{4, 1, 0}}, {{8, 1, 0}}, {{16, 1, 0}}, {{32, 2, 0}}, {{64, 2, 0}}, {{32, 4, 0}},
    {{4, 1, 1}}, {{8, 1, 1}}, {{16, 1, 1}}, {{32, 2, 1}}, {{64, 2, 1}}, {{32, 4, 1}},
    {{4, 1, 2}}, {{8, 1, 2}}, {{16, 1, 2}}, {{32, 2, 2}}, {{64, 2, 2}}, {{32, 4, 2}},
    {{4, 1, 3}}, {{8, 1, 3}}, {{16, 1, 3}}, {{32, 2, 3}}, {{64, 2, 3}}, {{32, 4, 3}},
    {{8, 1, 4}}, {{6, 1, 4}}, {{4, 1, 4}},  {{8, 1, 5}},  {{6, 1, 5}},  {{8, 1, 6}},
    {{6, 1, 6}}, {{4, 1, 6}}, {{8, 1, 7}},  {{6, 1, 7}},
};

/* shaders/gemm/matrix.comp: rows and columns of C of a subgroup, step of k, subgroups, and how many
 * of them are adjacent along the columns. Zeros: no matrix units. If gemm_matrix.c computes the
 * same cost for two rows, it takes the first: steps of 32 leave registers for twice as many
 * workgroups on NVIDIA's Ampere as steps of 64. */
static const char *const gemm_matrix_fields[] = {"rows",      "columns", "step",
                                                 "subgroups", "across",  "parts"};
static const ft_configuration gemm_matrix[] = {
    {{0}},
    {{64, 32, 32, 8, 4}},
    {{64, 32, 64, 8, 4}},
    {{32, 64, 32, 8, 2}},
    {{32, 32, 32, 8, 4}},
    {{64, 32, 32, 4, 2}},
    {{32, 32, 32, 4, 2}},
    {{32, 32, 64, 4, 2}},
    {{16, 32, 32, 4, 2}},
    {{16, 16, 32, 4, 2}},
};

/* shaders/attention/tiled.glsl: invocations, rows of each in the forward and both backward kernels,
 * invocations side by side, unrolled steps. */
static const char *const attention_tiled_fields[] = {"workgroup",  "rows",   "key_rows",
                                                     "query_rows", "across", "unroll"};
static const ft_configuration attention_tiled[] = {
    {{128, 1, 1, 1, 8, 1}},  {{128, 2, 1, 1, 16, 1}}, {{256, 2, 1, 1, 16, 1}},
    {{128, 2, 1, 2, 16, 1}}, {{128, 4, 1, 2, 16, 1}}, {{128, 4, 2, 2, 8, 1}},
    {{128, 4, 2, 2, 16, 1}}, {{128, 4, 4, 4, 8, 8}},  {{128, 4, 4, 4, 8, 4}},
    {{128, 4, 4, 4, 16, 8}}, {{128, 8, 4, 4, 16, 8}}, {{256, 1, 1, 1, 16, 1}},
    {{128, 8, 4, 4, 8, 4}},  {{128, 8, 8, 8, 8, 4}},  {{128, 8, 8, 8, 16, 8}},
};

/* shaders/attention/lanes.glsl: rows of a subgroup. */
static const char *const attention_lanes_fields[] = {"own_rows"};
static const ft_configuration attention_lanes[] = {{{2}}, {{4}}, {{8}}, {{12}}, {{16}}};

/* shaders/attention/uniform.glsl: rows of a lane in the forward and both backward kernels. Zeros:
 * the kernels of attention.lanes. */
static const char *const attention_uniform_fields[] = {"rows", "key_rows", "query_rows"};
static const ft_configuration attention_uniform[] = {{{0}},       {{1, 1, 1}}, {{2, 2, 2}},
                                                     {{4, 2, 2}}, {{4, 2, 4}}, {{4, 4, 4}}};

/* shaders/attention/matrix.glsl: rows and columns of the largest accepted tile, and strips of a
 * subgroup. Each kernel takes the first tile from there on that fits. More columns are worth more
 * than more rows: they share the costs of a step other than its products. Zeros: no matrix units.
 */
static const char *const attention_matrix_fields[] = {"rows", "columns", "strips"};
static const ft_configuration attention_matrix[] = {
    {{0}},         {{128, 32, 2}}, {{64, 32, 2}}, {{64, 32, 1}},
    {{32, 32, 1}}, {{64, 16, 1}},  {{32, 16, 1}}, {{16, 16, 1}},
};

/* shaders/dhhp/chain.glsl: features of a lane, steps whose loads are in flight. */
static const char *const chain_fields[] = {"per_lane", "ahead", "parts"};
static const ft_configuration chain[] = {
    {{1, 1}}, {{1, 2}}, {{1, 4}}, {{1, 8}}, {{2, 1}},
    {{2, 2}}, {{2, 4}}, {{4, 1}}, {{4, 2}}, {{8, 1}},
};

#define TABLE(name, rows, most_parts)                                                              \
  { name, rows##_fields, FT_COUNT(rows##_fields), rows, FT_COUNT(rows), most_parts }

static const ft_configuration_table tables[FT_TUNING_FAMILIES] = {
    [FT_TUNE_GEMM_TILED] = TABLE("gemm.tiled", gemm_tiled, 64),
    [FT_TUNE_GEMM_S64] = TABLE("gemm.s64", gemm_s64, 64),
    [FT_TUNE_GEMM_MATRIX] = TABLE("gemm.matrix", gemm_matrix, 64),
    [FT_TUNE_ATTENTION_TILED] = TABLE("attention.tiled", attention_tiled, 0),
    [FT_TUNE_ATTENTION_LANES] = TABLE("attention.lanes", attention_lanes, 0),
    [FT_TUNE_ATTENTION_UNIFORM] = TABLE("attention.uniform", attention_uniform, 0),
    [FT_TUNE_ATTENTION_MATRIX] = TABLE("attention.matrix", attention_matrix, 0),
    [FT_TUNE_CHAIN] = TABLE("chain", chain, 256),
};

const ft_configuration_table *ft_configurations(ft_tuning_family family) {
  return &tables[family];
}

static size_t ways_to_part(const ft_configuration_table *t) {
  size_t ways = 1;
  for (uint32_t parts = 2; parts <= t->most_parts; parts *= 2)
    ways++;
  return ways;
}

size_t ft_configuration_count(ft_tuning_family family) {
  return tables[family].row_count * ways_to_part(&tables[family]);
}

ft_configuration ft_configuration_at(ft_tuning_family family, size_t index) {
  const ft_configuration_table *t = &tables[family];
  ft_configuration c = t->rows[index % t->row_count];
  if (t->most_parts) c.value[t->field_count - 1] = 1u << (index / t->row_count);
  return c;
}

bool ft_configuration_on_matrices(ft_tuning_family family, const ft_configuration *c) {
  return (family == FT_TUNE_GEMM_MATRIX || family == FT_TUNE_ATTENTION_MATRIX) && c->value[0] != 0;
}

bool ft_configuration_same(const ft_configuration *a, const ft_configuration *b) {
  return !memcmp(a->value, b->value, sizeof a->value);
}

bool ft_configuration_known(ft_tuning_family family, const ft_configuration *c) {
  for (size_t i = 0; i < ft_configuration_count(family); i++) {
    ft_configuration row = ft_configuration_at(family, i);
    if (ft_configuration_same(&row, c)) return true;
  }
  return false;
}

json_t *ft_configuration_json(ft_tuning_family family, const ft_configuration *c) {
  const ft_configuration_table *t = &tables[family];
  json_t *object = json_object();
  bool done = object != NULL;
  for (uint32_t i = 0; i < t->field_count; i++)
    done = done && !json_object_set_new(object, t->fields[i], json_integer(c->value[i]));
  if (done) return object;
  json_decref(object);
  return NULL;
}

const char *ft_configuration_text(ft_tuning_family family, const ft_configuration *c,
                                  char text[FT_TUNING_KEY]) {
  const ft_configuration_table *t = &tables[family];
  int used = 0;
  for (uint32_t i = 0; i < t->field_count; i++)
    used += snprintf(text + used, (size_t)(FT_TUNING_KEY - used), "%s%s %u", i ? ", " : "",
                     t->fields[i], c->value[i]);
  return text;
}
