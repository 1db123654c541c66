#include "support/seen.h"

#include "base/file.h"
#include "graph/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned checks, repeated, unconcerned;

/* FNV-1a */
static void mix(uint64_t *hash, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; i++)
    *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void mix_text(uint64_t *hash, const char *text) {
  mix(hash, text, strlen(text) + 1);
}

static void mix_number(uint64_t *hash, uint64_t number) {
  mix(hash, &number, sizeof number);
}

/* Hashes driver and device, and the settings that decide how calls are fused and submitted. */
static void mix_device(uint64_t *hash, const ft_caps *caps) {
  mix_text(hash, caps->info.name);
  mix_text(hash, caps->info.driver);
  mix_number(hash, caps->subgroup_least);
  mix_number(hash, caps->subgroup_most);
  mix_number(hash, caps->fuses);
  mix(hash, &caps->submission_seconds, sizeof caps->submission_seconds);
  mix(hash, &caps->timestamp_ns, sizeof caps->timestamp_ns);
}

static void mix_tensor(uint64_t *hash, const filtra_tensor *t) {
  mix_number(hash, t != NULL);
  if (!t) return;
  mix_number(hash, (uint64_t)filtra_tensor_dtype(t));
  mix_number(hash, (uint64_t)t->ndim);
  for (int i = 0; i < t->ndim; i++) {
    mix_number(hash, (uint64_t)t->shape[i]);
    mix_number(hash, (uint64_t)t->stride[i]);
  }
  mix_number(hash, (uint64_t)t->offset);
  mix_number(hash, t->storage->number);
  mix_number(hash, t->storage->bytes);
}

static void mix_call(uint64_t *hash, const ft_recorded_call *c) {
  mix_text(hash, c->key.kernel);
  mix_number(hash, c->key.workgroup);
  mix_number(hash, c->key.subgroup);
  mix(hash, c->key.spec, c->key.spec_count * sizeof *c->key.spec);
  mix(hash, c->groups, sizeof c->groups);
  const size_t addresses = c->arg_count * sizeof(uint64_t);
  mix(hash, c->push + addresses, c->push_size - addresses);
  for (uint32_t i = 0; i < c->arg_count; i++) {
    mix_number(hash, (uint64_t)c->args[i].mode);
    mix_tensor(hash, c->args[i].tensor);
  }
}

static size_t bytes_of(const filtra_tensor *t) {
  return (size_t)filtra_tensor_elements(t) * filtra_dtype_bytes(filtra_tensor_dtype(t));
}

static void mix_inputs(uint64_t *hash, const filtra_graph *g, const test_op *op) {
  for (int i = 0; i < op->inputs; i++) {
    const test_tensor *t = &op->in[i];
    size_t count = 1;
    for (int k = 0; k < t->ndim; k++)
      count *= (size_t)t->shape[k];
    mix(hash, &t->low, sizeof t->low);
    mix(hash, &t->high, sizeof t->high);
    mix_number(hash, t->gradient);
    if (t->fixed) mix(hash, t->fixed, count * sizeof *t->fixed);
  }
  for (size_t i = 0; i < g->tape.input_count; i++) {
    const ft_transfer *input = &g->tape.inputs[i];
    mix_tensor(hash, input->tensor);
    if (input->constant) mix(hash, input->constant, bytes_of(input->tensor));
  }
  for (size_t i = 0; i < g->tape.output_count; i++)
    mix_tensor(hash, g->tape.outputs[i].tensor);
}

static bool is_listed(const char *families, const char *family, size_t length) {
  for (const char *at = families; *at; at += strcspn(at, " "), at += strspn(at, " "))
    if (strcspn(at, " ") == length && !strncmp(at, family, length)) return true;
  return false;
}

/* Whether the graph runs a kernel of one of the families in FILTRA_TEST_FAMILIES, a space-separated
 * list of folders of shaders/. Without the variable every graph counts. Elementwise calls count as
 * `fused`, since planning may make a kernel of that family of them. */
static bool is_concerned(const filtra_graph *g) {
  const char *families = getenv("FILTRA_TEST_FAMILIES");
  if (!families || !*families) return true;
  for (size_t i = 0; i < g->tape.call_count; i++) {
    const ft_recorded_call *c = &g->tape.calls[i];
    if (is_listed(families, c->key.kernel, strcspn(c->key.kernel, "/"))) return true;
    if (c->step.operation && is_listed(families, "fused", strlen("fused"))) return true;
  }
  return false;
}

const char *test_name = "";

bool test_seen(const filtra_graph *g, const test_op *op, uint64_t seed, char path[TEST_SEEN_PATH]) {
  const char *folder = getenv("FILTRA_TEST_SEEN");
  path[0] = '\0';
  if (!is_concerned(g)) {
    unconcerned++;
    return true;
  }
  if (!folder || !*folder) return false;
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  mix_text(&hash, test_name);
  mix_text(&hash, op->name);
  mix_number(&hash, seed);
  mix_number(&hash, op->seed);
  mix_number(&hash, op->step);
  mix_number(&hash, op->training);
  mix(&hash, op->dims, sizeof op->dims);
  mix_device(&hash, ft_caps_of(g->device));
  mix_inputs(&hash, g, op);
  for (size_t i = 0; i < g->tape.call_count; i++)
    mix_call(&hash, &g->tape.calls[i]);
  snprintf(path, TEST_SEEN_PATH, "%s/%016llx", folder, (unsigned long long)hash);
  bool seen = ft_file_exists(path);
  checks++;
  repeated += seen;
  return seen;
}

__attribute__((weak)) bool test_interprets(void) {
  return false;
}

__attribute__((weak)) bool test_leaves_out(const filtra_graph *g) {
  (void)g;
  return false;
}

void test_seen_add(const char *path) {
  FILE *file = *path ? fopen(path, "w") : NULL;
  if (file) fclose(file); /* without the file the check is just repeated */
}

void test_seen_report(void) {
  if (checks)
    print_message("%u checks, of which %u have the same calls as one that passed under another "
                  "profile and were not repeated\n",
                  checks, repeated);
  if (unconcerned)
    print_message("%u checks not made: they run no kernel of %s\n", unconcerned,
                  getenv("FILTRA_TEST_FAMILIES"));
}
