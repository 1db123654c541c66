#include "support/matrices.h"

#include "gpu/internal.h"
#include "gpu/plan.h"
#include "support/seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool test_has_matrices(ft_caps *caps) {
  const filtra_device_options options = {.select = test_chosen_device(), .caps = "matrix=force"};
  if (test_interprets()) return false;
  if (!ft_device_caps(&options, caps)) return true;
  print_message("not tested: %s\n", filtra_error_message());
  return false;
}

const char *test_matrix_shape_caps(const char *shape, const char *more) {
  static char caps[96];
  if (!test_interprets()) {
    print_message("not tested: only the adversary plans for shapes that the device lacks\n");
    skip();
  }
  if (getenv("FILTRA_CAPS")) skip();
  snprintf(caps, sizeof caps, "%smatrix=force,matrix_shape=%s", more, shape);
  return caps;
}

filtra_device *test_open_lanes(const char *shape_and_lanes, const char *more) {
  char shape[16];
  unsigned lanes;
  assert_int_equal(sscanf(shape_and_lanes, "%15s by %u", shape, &lanes), 2);
  filtra_device *device = test_open_device(test_matrix_shape_caps(shape, more));
  device->caps.subgroup_least = device->caps.subgroup_most = lanes;
  device->caps.info.subgroup_size = lanes;
  return device;
}

void test_use_row(filtra_device *device, ft_tuning_family family, const ft_configuration *row,
                  bool plainest) {
  ft_tuning *t = ft_tuning_new();
  assert_non_null(t);
  t->reference = plainest;
  t->forced = row != NULL;
  t->forced_family = family;
  if (row) t->forced_configuration = *row;
  ft_tuning *before = ft_tuning_use(device, t);
  ft_tuning_release(&before);
}

bool test_compiled(const filtra_device *device, const char *kernel) {
  for (size_t i = 0; i < ft_pipeline_count(device); i++)
    if (!strncmp(ft_pipeline_key(device, i)->kernel, kernel, strlen(kernel))) return true;
  return false;
}
