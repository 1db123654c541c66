/* Plans every op except the matrix product, with and without gradients. Called by bench.c. */
#include "ops.h"
#include "common/options.h"

#include <stdio.h>
#include <string.h>

static filtra_status run_op(bench *b, const bench_task *task) {
  const bench_family *family = task->what;
  const char *pass = json_string_value(json_object_get(task->entry, "pass"));
  return bench_op(b, b->device, task->entry, family->build, &family->shapes[task->number],
                  !strcmp(pass, "forward+backward"));
}

/* Makes a name such as "LRA listops, 4 x 2048 x 64/2, order 5". */
static void name_case(const bench_family *family, const bench_shape *s, char name[128]) {
  int length = snprintf(name, 128, "%s", s->from);
  if (s->batch) length += snprintf(name + length, 32, ", %lld", (long long)s->batch);
  if (s->length) length += snprintf(name + length, 32, " x %lld", (long long)s->length);
  if (s->width) length += snprintf(name + length, 32, " x %lld", (long long)s->width);
  if (s->heads) length += snprintf(name + length, 32, "/%lld", (long long)s->heads);
  if (s->causal) length += snprintf(name + length, 32, ", causal");
  if (s->out) snprintf(name + length, 32, "%s %lld", family->out_text, (long long)s->out);
}

static json_t *entry(const bench_family *family, const bench_shape *s, const char *pass) {
  char name[128];
  name_case(family, s, name);
  json_t *object = json_pack("{ss ss ss}", "op", family->op, "case", name, "pass", pass);
  const struct {
    const char *key;
    int64_t value;
  } sizes[] = {{"batch", s->batch},
               {"length", s->length},
               {"width", s->width},
               {"heads", s->heads},
               {family->out, s->out}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++)
    if (sizes[i].value)
      json_object_set_new(object, sizes[i].key, json_integer((json_int_t)sizes[i].value));
  if (s->heads) json_object_set_new(object, "causal", json_boolean(s->causal));
  return object;
}

static void plan_family(const bench_arguments *a, const bench_family *family, bench_plan *plan) {
  static const char *const PASSES[] = {"forward", "forward+backward"};
  if (!command_listed(a->ops, family->op)) return;
  for (size_t i = 0; i < family->count; i++) {
    if (family->shapes[i].quick != a->quick) continue;
    for (size_t p = 0; p < (family->forward_only ? 1 : FT_COUNT(PASSES)); p++)
      bench_plan_add(plan, &(bench_task){.entry = entry(family, &family->shapes[i], PASSES[p]),
                                         .part = BENCH_RESULT,
                                         .run = run_op,
                                         .what = family,
                                         .number = (int64_t)i,
                                         .weight = 0.5});
  }
}

void bench_plan_ops(const bench_arguments *a, bench_plan *plan) {
  for (size_t i = 0; i < bench_mixing_count; i++)
    plan_family(a, &bench_mixing[i], plan);
  for (size_t i = 0; i < bench_tokens_count; i++)
    plan_family(a, &bench_tokens[i], plan);
}

bool bench_op_exists(const char *name) {
  bool found = !strcmp(name, "gemm");
  for (size_t i = 0; i < bench_mixing_count; i++)
    found = found || !strcmp(name, bench_mixing[i].op);
  for (size_t i = 0; i < bench_tokens_count; i++)
    found = found || !strcmp(name, bench_tokens[i].op);
  return found;
}

void bench_print_ops(void) {
  command_print("gemm");
  for (size_t i = 0; i < bench_mixing_count; i++)
    command_print(", %s", bench_mixing[i].op);
  for (size_t i = 0; i < bench_tokens_count; i++)
    command_print(",%s%s", i % 8 == 1 ? "\n                     " : " ", bench_tokens[i].op);
}
