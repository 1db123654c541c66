#include "adversary/report.h"

#include "adversary/program.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *adv_fault_name(adv_fault fault) {
  static const char *const names[ADV_FAULTS] = {
      [ADV_RACE_SHARED] = "race on shared memory",
      [ADV_RACE_DEVICE] = "race on device memory",
      [ADV_UNWRITTEN] = "read of what nobody wrote",
      [ADV_OUTSIDE] = "access outside of what there is",
      [ADV_MODE] = "access of another kind than declared",
      [ADV_BARRIER_LEFT] = "barrier in control flow that is not uniform",
      [ADV_WHO_IS_THERE] = "subgroup operation that depends on who is there",
      [ADV_OVERFLOW] = "overflow of an index",
      [ADV_ENDLESS] = "endless loop",
      [ADV_NONFINITE] = "NaN or infinity from finite numbers",
  };
  return names[fault];
}

void adv_report_note(adv_report *r, const adv_program *p, adv_fault fault, uint32_t at,
                     const char *format, ...) {
  for (adv_finding *f = r->findings; f < r->findings + r->count; f++) {
    if (f->fault != fault || f->at != at || strcmp(f->kernel, p->source.name)) continue;
    f->count++;
    f->fresh = true;
    return;
  }
  if (FT_GROW(r->findings, r->count, r->capacity)) abort();
  adv_finding *f = &r->findings[r->count++];
  *f = (adv_finding){.fault = fault,
                     .kernel = p->source.name,
                     .at = at,
                     .line = adv_line_of(p, at),
                     .count = 1,
                     .fresh = true};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(f->text, sizeof f->text, format, arguments);
  va_end(arguments);
}

const char *adv_report_place(const adv_report *r, uint64_t address) {
  static _Thread_local char text[160];
  const adv_tensor *nearest = NULL;
  uint64_t distance = UINT64_MAX;
  for (uint32_t i = 0; i < r->tensor_count; i++) {
    const adv_tensor *t = &r->tensors[i];
    uint64_t away = address < t->low     ? t->low - address
                    : address >= t->high ? address - t->high + 1
                                         : 0;
    if (away >= distance) continue;
    distance = away;
    nearest = t;
  }
  if (!nearest)
    snprintf(text, sizeof text, "address %#llx", (unsigned long long)address);
  else
    snprintf(text, sizeof text, "%s[%lld] of %llu elements", nearest->name,
             (long long)(address - nearest->low) / (long long)nearest->element,
             (unsigned long long)((nearest->high - nearest->low) / nearest->element));
  return text;
}

size_t adv_report_sure(const adv_report *r) {
  size_t sure = 0;
  for (size_t i = 0; i < r->count; i++)
    sure += r->findings[i].sure;
  return sure;
}

void adv_report_end(adv_report *r, bool nonfinite) {
  r->graphs++;
  r->tensor_count = 0;
  for (adv_finding *f = r->findings; f < r->findings + r->count; f++) {
    f->sure = f->sure || (f->fresh && !(nonfinite && f->fault == ADV_NONFINITE));
    f->fresh = false;
  }
}

void adv_report_print(const adv_report *r, FILE *to) {
  for (size_t i = 0; i < r->count; i++) {
    const adv_finding *f = &r->findings[i];
    fprintf(to, "%s%s: %s, line %u (instruction %u), %lu times: %s\n",
            f->sure || f->fresh ? "" : "(not sure) ", f->kernel, adv_fault_name(f->fault), f->line,
            f->at, f->count, f->text);
  }
}

void adv_report_clear(adv_report *r) {
  free(r->findings);
  *r = (adv_report){0};
}
