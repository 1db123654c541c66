/* Structs whose size is checked: the list names every public struct, and a program with other sizes
 * gets an error. tests/apps/other_headers.cmake compiles such a program. */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>

TEST(bindings_can_ask_for_sizes) {
  assert_int_equal(filtra_struct_size("filtra_batch"), sizeof(filtra_batch));
  assert_int_equal(filtra_struct_size("filtra_transport"), sizeof(filtra_transport));
  assert_int_equal(filtra_struct_size("filtra_batches"), 0);
  assert_int_equal(filtra_struct_size(NULL), 0);
}

TEST(headers_of_the_library_are_accepted) {
  assert_ok(filtra_check_headers());
}

TEST(other_structs_are_named) {
  const char *const names[] = {"filtra_batch", "filtra_request", "filtra_future"};
  size_t sizes[] = {sizeof(filtra_batch), sizeof(filtra_request), 8};
  assert_ok(filtra_compare_structs(FILTRA_VERSION_MAJOR, FILTRA_VERSION_MINOR, 2, names, sizes));
  assert_fails(filtra_compare_structs(FILTRA_VERSION_MAJOR, FILTRA_VERSION_MINOR, 3, names, sizes),
               FILTRA_ERROR_UNSUPPORTED, "made for a filtra_future of 8 bytes");
  sizes[1] += 8;
  assert_fails(filtra_compare_structs(FILTRA_VERSION_MAJOR, FILTRA_VERSION_MINOR, 3, names, sizes),
               FILTRA_ERROR_UNSUPPORTED, "made for a filtra_request of");
}

TEST(other_versions_are_named) {
  assert_fails(filtra_compare_structs(FILTRA_VERSION_MAJOR, FILTRA_VERSION_MINOR + 1, 0,
                                      (const char *const[]){NULL}, (const size_t[]){0}),
               FILTRA_ERROR_UNSUPPORTED,
               test_text("and runs with its library %s", filtra_version()));
}

TEST_MAIN(NULL, NULL)
