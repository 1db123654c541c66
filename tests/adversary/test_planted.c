/* Kernels with one defect of each kind, which must be found, and their correct twins, in which
 * nothing may be found, whatever the schedule. */
#include "adversary/single.h"
#include "support/harness.h"

static const struct planted {
  const char *name;
  adv_fault fault;
} cases[] = {
    {"race_shared", ADV_RACE_SHARED},
    {"race_device", ADV_RACE_DEVICE},
    {"unwritten", ADV_UNWRITTEN},
    {"outside", ADV_OUTSIDE},
    {"mode", ADV_MODE},
    {"barrier", ADV_BARRIER_LEFT},
    {"who_is_there", ADV_WHO_IS_THERE},
    {"overflow", ADV_OVERFLOW},
    {"endless", ADV_ENDLESS},
    {"nonfinite", ADV_NONFINITE},
};

enum { SEEDS = 12, ELEMENTS = 32, GROUPS = 2 };

static void run(const char *name, const char *twin, adv_manner manner, adv_report *report) {
  char path[1024];
  adv_single s = {.groups = {GROUPS, 1, 1}, .source = {.name = name, .workgroup = 32}};
  snprintf(path, sizeof path, "%s/%s.%s.spv", PLANTED_DIR, name, twin);
  owned uint32_t *words = adv_read_file(path, &s.source.bytes);
  assert_non_null(words);
  s.source.words = words;
  /* workgroups of the planted kernels share y except where they index it by their own */
  s.tensor_count = 2;
  s.tensors[0].name = "x";
  s.tensors[0].elements = ELEMENTS;
  s.tensors[0].read = true;
  s.tensors[1].name = "y";
  s.tensors[1].elements = GROUPS * ELEMENTS;
  s.tensors[1].write = true;
  s.scalars[s.scalar_count++] = ELEMENTS;
  if (strcmp(name, "race_device")) s.groups[0] = 1;
  manner.steps = 100000;
  adv_memory memory = {0};
  assert_ok(adv_single_run(&s, &manner, &memory, report));
  adv_memory_destroy(&memory);
}

static bool found(const adv_report *r, adv_fault fault) {
  for (size_t i = 0; i < r->count; i++)
    if (r->findings[i].fault == fault && r->findings[i].line && r->findings[i].text[0]) return true;
  return false;
}

TEST(test_planted) {
  for (size_t k = 0; k < FT_COUNT(cases); k++)
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
      adv_report report = {0};
      run(cases[k].name, "planted", adv_manner_of(seed, 8, seed % 2), &report);
      if (!found(&report, cases[k].fault)) {
        adv_report_print(&report, stderr);
        fail_msg("%s, seed %llu: %s was not found", cases[k].name, (unsigned long long)seed,
                 adv_fault_name(cases[k].fault));
      }
      if (!seed) adv_report_print(&report, stdout);
      adv_report_clear(&report);
    }
}

TEST(test_twins) {
  for (size_t k = 0; k < FT_COUNT(cases); k++)
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
      adv_report report = {0};
      run(cases[k].name, "correct", adv_manner_of(seed, 0, seed % 2), &report);
      if (report.count) {
        adv_report_print(&report, stderr);
        fail_msg("%s, seed %llu: something was found in the correct one", cases[k].name,
                 (unsigned long long)seed);
      }
      adv_report_clear(&report);
    }
}

/* Where a device lets control flow meet again by subgroups, the sum is fine. */
TEST(test_uniform_by_subgroups) {
  adv_manner manner = adv_manner_of(0, 8, false);
  manner.by_subgroups = true;
  adv_report report = {0};
  run("who_is_there", "planted", manner, &report);
  assert_int_equal(report.count, 0);
}

TEST_MAIN(NULL, NULL)
