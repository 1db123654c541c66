/* The capability override: keys, profiles and the resulting plans. */
#include "gpu/internal.h"
#include "support/harness.h"

#include "base/file.h"

/* A GPU that has everything and lets its subgroup size be chosen, from 8 to 32. */
static ft_caps any_gpu(void) {
  ft_caps caps = {.info = {.device_class = FILTRA_DEVICE_DISCRETE,
                           .memory_bytes = UINT64_C(1) << 33,
                           .max_allocation_bytes = UINT64_C(1) << 32,
                           .max_workgroup_invocations = 1024,
                           .shared_memory_bytes = 65536,
                           .subgroup_size = 32,
                           .subgroup_size_min = 8,
                           .subgroup_size_max = 32,
                           .int64 = true,
                           .fp16 = true,
                           .timestamps = true},
                  .subgroup = true,
                  .subgroup_size_control = true,
                  .subgroup_least = 8,
                  .subgroup_most = 32,
                  .max_subgroups = 64,
                  .pipeline_cache = true,
                  .max_groups = {1 << 20, 1 << 17, 65535},
                  .max_push_bytes = 256,
                  .timestamp_ns = 1,
                  .submission_seconds = 0.1};
  return caps;
}

static ft_caps with(const char *text) {
  ft_caps caps = any_gpu();
  assert_ok(ft_caps_override(&caps, text));
  return caps;
}

static char *write_profile(const char *text, size_t size) {
  char *path = ft_format("%s/gpu.caps", test_folder());
  assert_ok(ft_file_write(path, text, size));
  return path;
}

TEST(test_limits) {
  ft_caps caps = with("shared=20000,invocations=200,groups=70000,push_constants=130,"
                      "allocation=2000000,memory=3000000,subgroups=3");
  assert_int_equal(caps.info.shared_memory_bytes, 20000);
  assert_int_equal(caps.info.max_workgroup_invocations, 200);
  assert_int_equal(caps.max_groups[0], 70000);
  assert_int_equal(caps.max_groups[1], 70000);
  assert_int_equal(caps.max_groups[2], 65535);
  assert_int_equal(caps.max_push_bytes, 130);
  assert_int_equal(caps.info.max_allocation_bytes, 2000000);
  assert_int_equal(caps.info.memory_bytes, 3000000);
  assert_int_equal(caps.memory_limit, 3000000);
  assert_int_equal(caps.max_subgroups, 3);
  caps = with("memory=1048576");
  assert_int_equal(caps.info.max_allocation_bytes, 1048576);
  assert_int_equal(with("").memory_limit, 0);
}

/* Subgroups of a size that does not run, may not be chosen, or has too many in a workgroup. */
TEST(test_subgroup_size) {
  ft_caps caps = with("class=cpu");
  assert_int_equal(caps.product_style, FT_STYLE_SUBGROUP);
  assert_int_equal(caps.attention_style, FT_STYLE_SUBGROUP);
  assert_true(ft_caps_runs(&caps, 16, 128) && ft_caps_runs(&caps, 32, 1024));
  assert_false(ft_caps_runs(&caps, 4, 4) || ft_caps_runs(&caps, 64, 64) ||
               ft_caps_runs(&caps, 24, 24) || ft_caps_runs(&caps, 0, 1));
  static const char *const unknown[] = {"class=cpu,subgroup_size=64", "class=cpu,subgroup_size=4",
                                        "class=cpu,subgroup_size_control=0",
                                        "class=cpu,subgroup=0"};
  for (size_t i = 0; i < FT_COUNT(unknown); i++) {
    caps = with(unknown[i]);
    assert_int_equal(caps.product_style, FT_STYLE_SHARED);
    assert_int_equal(caps.attention_style, FT_STYLE_SHARED);
  }
  caps = with("class=cpu,subgroup_size=16");
  assert_int_equal(caps.product_style, FT_STYLE_SUBGROUP);
  assert_int_equal(caps.row_workgroup, 16);
  caps = with("subgroups=3");
  assert_true(ft_caps_runs(&caps, 32, 96));
  assert_false(ft_caps_runs(&caps, 32, 128));
  caps = with("subgroup_size_control=0");
  assert_false(ft_caps_runs(&caps, 32, 32));
  caps.subgroup_least = 32; /* nobody can choose, but there is one size only */
  assert_true(ft_caps_runs(&caps, 32, 4096));
}

TEST(test_class) {
  ft_caps caps = with("class=cpu");
  assert_true(caps.cpu && caps.info.device_class == FILTRA_DEVICE_CPU);
  assert_true(caps.submission_seconds == 0.0);
  caps = with("class=cpu,submission_ms=7");
  assert_true(caps.submission_seconds == 7e-3);
  caps = with("submission_ms=7,class=integrated,registers=few");
  assert_true(!caps.cpu && caps.few_registers && caps.submission_seconds == 7e-3);
  caps = with("timestamps=0");
  assert_true(caps.timestamp_ns == 0.0 && caps.submission_seconds == 0.1);
}

/* Products keep two workgroups for each processor busy; CPU drivers have none. */
TEST(test_processors) {
  ft_caps caps = with("class=discrete,processors=10");
  owned char *profile = ft_caps_profile(&caps);
  assert_int_equal(ft_busy_groups(&caps), 20);
  assert_non_null(strstr(profile, "\nprocessors = 10\n"));
  caps = with("class=discrete,processors=0");
  assert_int_equal(ft_busy_groups(&caps), 192);
  caps = with("class=cpu,processors=10");
  assert_int_equal(ft_busy_groups(&caps), 32);
}

/* The last item counts, and each is held against the device rather than against those before. */
TEST(test_order) {
  assert_true(with("int64=0,int64=1").info.int64);
  assert_int_equal(with("shared=16384,shared=32768").info.shared_memory_bytes, 32768);
  ft_caps caps = with("@minimum,shared=65536,subgroup=1,registers=many");
  assert_int_equal(caps.info.shared_memory_bytes, 65536);
  assert_true(caps.subgroup && !caps.few_registers && !caps.info.int64);
  assert_int_equal(with("shared=65536,@minimum").info.shared_memory_bytes, 16384);
}

TEST(test_shipped_profiles) {
  size_t count = 0;
  for (const ft_profile *p = ft_profiles; p->name; p++, count++) {
    owned char *item = ft_format("@%s", p->name);
    ft_caps caps = with(item), cpu = test_device()->caps;
    assert_ok(ft_caps_override(&cpu, item));
    assert_true(p->text[0] == '#');
    assert_between(caps.row_workgroup, 64 - 60 * caps.cpu, 128);
  }
  assert_true(count >= 30);
}

/* A profile of a larger device; what it claims and this one lacks stays as it is. */
TEST(test_larger_profile) {
  static const char text[] =
      "\xef\xbb\xbf# a large GPU\r\n\n  shared=229376 # bytes\n\tinvocations = 512 \n"
      "fp16=1\nmemory = 18446744073709551615\ngroups=4294967295";
  owned char *path = write_profile(text, strlen(text)), *item = ft_format("@%s", path);
  ft_caps caps = any_gpu();
  caps.info.fp16 = false;
  assert_ok(ft_caps_override(&caps, item));
  assert_false(caps.info.fp16);
  assert_int_equal(caps.info.shared_memory_bytes, 65536);
  assert_int_equal(caps.info.max_workgroup_invocations, 512);
  assert_true(caps.info.memory_bytes == UINT64_C(1) << 33);
  assert_int_equal(caps.max_groups[0], 1 << 20);
  assert_int_equal(caps.max_groups[2], 65535);
}

TEST(test_damaged_profiles) {
  static const struct {
    const char *text, *part;
    size_t size; /* 0: to the end */
  } cases[] = {{"", "says nothing", 0},
               {"# shared=1\n\n", "says nothing", 0},
               {"shared", "gpu.caps:1: \"shared\" is no line", 0},
               {"\nshared=\n", "gpu.caps:2: capability shared=: a whole number from 16384", 0},
               {"shared=1", "from 16384 is expected", 0},
               {"shared=99999999999999999999", "from 16384 is expected", 0},
               {"int64=1\nint64=1", "gpu.caps:2: capability int64 is given a second time", 0},
               {"int64=yes", "int64=yes: 0 or 1", 0},
               {"class=gpu", "discrete, integrated, virtual or cpu", 0},
               {"subgroup_size=48", "a power of two from 4 to 128", 0},
               {"sharde=32768", "did you mean shared?", 0},
               {"@gpu", "no line of the form", 0},
               {"=", "unknown capability \"\"", 0},
               {"\xff\xfei\0n\0t\0", "no text file in UTF-8", 8},
               {"int64=1\n\0", "no text file", 9}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    size_t size = cases[i].size ? cases[i].size : strlen(cases[i].text);
    owned char *path = write_profile(cases[i].text, size), *item = ft_format("int64=0,@%s", path);
    ft_caps caps = any_gpu();
    filtra_status status = ft_caps_override(&caps, item);
    if (status != FILTRA_ERROR_INPUT && status != FILTRA_ERROR_ARGUMENT)
      fail_msg("case %zu: %s", i, filtra_status_name(status));
    assert_fails(status, status, cases[i].part);
  }
  ft_caps caps = any_gpu();
  assert_fails(ft_caps_override(&caps, "@minimun"), FILTRA_ERROR_INPUT, "did you mean @minimum?");
  assert_fails(ft_caps_override(&caps, "@"), FILTRA_ERROR_INPUT, "--list-profiles");
  assert_fails(ft_caps_override(&caps, "@/"), FILTRA_ERROR_PATH, "regular file");
}

/* A device's own profile changes nothing on it. */
TEST(test_own_profile) {
  ft_caps caps = any_gpu(), again = caps, device = test_device()->caps;
  owned char *text = ft_caps_profile(&caps), *path = write_profile(text, strlen(text));
  owned char *item = ft_format("@%s", path);
  assert_ok(ft_caps_override(&again, item));
  assert_ok(ft_caps_override(&caps, NULL));
  char *plans[2] = {ft_caps_plan(&caps), ft_caps_plan(&again)};
  assert_string_equal(plans[0], plans[1]);
  assert_null(strstr(plans[0], "taken for"));
  assert_ok(ft_caps_override(&device, item)); /* and can be tried on another */
  for (int i = 0; i < 2; i++)
    free(plans[i]);
}

TEST(test_memory) {
  owned_device *device = test_open_device("memory=3000000");
  ft_buffer a, b;
  assert_ok(ft_buffer_create(device, 2000000, FT_MEMORY_DEVICE, &a));
  assert_fails(ft_buffer_create(device, 900000, FT_MEMORY_DEVICE, &b), FILTRA_ERROR_DEVICE_MEMORY,
               "out of memory: 900000 bytes");
  assert_fails(ft_buffer_create(device, 2900000, FT_MEMORY_UPLOAD, &b), FILTRA_ERROR_DEVICE_MEMORY,
               "3000000");
  ft_buffer_destroy(device, &a);
  assert_ok(ft_buffer_create(device, 2900000, FT_MEMORY_DEVICE, &b));
  ft_buffer_destroy(device, &b);
}

/* Counters of few bits wrap while a call runs: 36 bits of them do every minute at 1 ns. */
TEST(test_wrapped_timestamps) {
  ft_caps caps = {.timestamp_ns = 2, .timestamp_bits = 36};
  const uint64_t top = UINT64_C(1) << 36;
  assert_float_equal(ft_timestamp_seconds(&caps, 100, 600) * 1e6, 1, 1e-5);
  assert_float_equal(ft_timestamp_seconds(&caps, top - 100, 400) * 1e6, 1, 1e-5);
  caps.timestamp_bits = 64;
  assert_float_equal(ft_timestamp_seconds(&caps, UINT64_MAX - 99, 400) * 1e6, 1, 1e-5);
}

TEST_MAIN(NULL, test_teardown)
