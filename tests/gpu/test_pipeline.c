/* Pipelines: lookup, creation on several threads, execution, and their cache on disk. */
#include "base/file.h"
#include "elementwise/contract.h"
#include "gpu/internal.h"
#include "support/harness.h"

#include <sys/stat.h>

static ft_kernel_key affine_key(uint32_t workgroup, uint32_t accumulate) {
  return (ft_kernel_key){.kernel = "elementwise/affine",
                         .workgroup = workgroup,
                         .spec_count = 1,
                         .spec = {accumulate}};
}

/* y = 2 x + 1 by the given pipeline. */
static void run_affine(filtra_device *dev, const ft_pipeline *pipeline, uint32_t workgroup,
                       const ft_buffer *x, const ft_buffer *y, uint32_t count) {
  struct ft_elementwise_affine_block push = {
      .x = x->address, .y = y->address, .count = count, .scale = 2, .offset = 1};
  VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                       .queueFamilyIndex = dev->caps.queue_family};
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = NULL;
  assert_ok(FT_VK(dev, dev->vk.vkCreateCommandPool(dev->device, &pool_info, NULL, &pool)));
  VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                      .commandPool = pool,
                                      .commandBufferCount = 1};
  assert_ok(FT_VK(dev, dev->vk.vkAllocateCommandBuffers(dev->device, &info, &commands)));
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  assert_ok(FT_VK(dev, dev->vk.vkBeginCommandBuffer(commands, &begin)));
  dev->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->handle);
  dev->vk.vkCmdPushConstants(commands, dev->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                             &push);
  dev->vk.vkCmdDispatch(commands, (count + workgroup - 1) / workgroup, 1, 1);
  assert_ok(FT_VK(dev, dev->vk.vkEndCommandBuffer(commands)));
  uint64_t ticket;
  assert_ok(ft_submit(dev, &commands, 1, &ticket));
  assert_ok(ft_wait(dev, ticket));
  assert_true(ft_done(dev, ticket));
  dev->vk.vkDestroyCommandPool(dev->device, pool, NULL);
}

static void check_run(filtra_device *dev, const ft_kernel_key *key) {
  enum { COUNT = 1001 };
  float in[COUNT], out[COUNT];
  test_random(1, -1, 1, in, COUNT);
  ft_buffer x, y;
  assert_ok(ft_buffer_create(dev, sizeof in, FT_MEMORY_DEVICE, &x));
  assert_ok(ft_buffer_create(dev, sizeof in, FT_MEMORY_DEVICE, &y));
  assert_ok(ft_upload(dev, &x, 0, in, sizeof in));
  ft_pipeline *pipeline = NULL;
  assert_ok(ft_pipelines_get(dev, key, 1, &pipeline));
  run_affine(dev, pipeline, key->workgroup, &x, &y, COUNT);
  assert_ok(ft_download(dev, &y, 0, out, sizeof out));
  for (int i = 0; i < COUNT; i++)
    assert_true(out[i] == 2 * in[i] + 1);
  ft_buffer_destroy(dev, &x);
  ft_buffer_destroy(dev, &y);
}

TEST(test_run) {
  filtra_device *dev = test_device();
  static const uint32_t workgroups[] = {1, 3, 8, 64, 128};
  for (size_t i = 0; i < FT_COUNT(workgroups); i++) {
    ft_kernel_key key = affine_key(workgroups[i], 0);
    check_run(dev, &key);
    if (!dev->caps.subgroup_size_control) continue;
    key.subgroup = dev->caps.subgroup_most; /* full or not, as the workgroup has it */
    check_run(dev, &key);
  }
}

/* A home may be shared by machines, and a CPU driver's UUID does not say the processor. */
TEST(test_cache_of_a_processor) {
  owned char *path = ft_pipeline_cache_path(test_device(), "folder");
  assert_non_null(strstr(path, "-" FILTRA_PROCESSOR ".bin"));
}

/* As on a device whose kernels for matrix units are asked for, but that takes none. */
TEST(test_nothing_to_compile) {
  const filtra_device_options options = {.select = getenv("FILTRA_DEVICE"), .cache_dir = ""};
  filtra_device *dev = NULL;
  assert_ok(filtra_device_open(&options, &dev));
  assert_ok(ft_pipelines_compile(dev));
  filtra_device_close(&dev);
}

TEST(test_lookup) {
  filtra_device *dev = test_device();
  enum { COUNT = 24 };
  ft_kernel_key keys[COUNT];
  ft_pipeline *first[COUNT], *again[COUNT];
  for (uint32_t i = 0; i < COUNT; i++)
    keys[i] = affine_key(16 + i / 4, i % 2); /* each twice */
  assert_ok(ft_pipelines_get(dev, keys, COUNT, first));
  assert_ok(ft_pipelines_get(dev, keys, COUNT, again));
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_non_null(first[i]->handle);
    assert_ptr_equal(first[i], again[i]);
    if (i >= 2 && i % 4 >= 2) assert_ptr_equal(first[i], first[i - 2]);
    if (i % 2) assert_ptr_not_equal(first[i], first[i - 1]);
  }
  /* Names count by their letters, not by where they lie. */
  char name[] = "elementwise/affine";
  keys[0].kernel = name;
  assert_ok(ft_pipelines_get(dev, keys, 1, again));
  assert_ptr_equal(again[0], first[0]);
  assert_ok(ft_pipelines_get(dev, NULL, 0, NULL));
}

TEST(test_kernel_names) {
  assert_true(ft_kernel_exists("elementwise/affine"));
  assert_false(ft_kernel_exists("elementwise/affin"));
  assert_false(ft_kernel_exists("elementwise/affine2"));
  assert_false(ft_kernel_exists(""));
  filtra_device dev = {.caps = {.subgroup = true}};
  for (const ft_kernel_source *s = ft_kernel_sources; s->name; s++) {
    dev.caps.subgroup = true;
    assert_string_equal(ft_kernel_name(&dev, s->name), s->name);
    dev.caps.subgroup = false;
    owned char *plain = ft_format("%s.nosub", s->name);
    assert_string_equal(ft_kernel_name(&dev, s->name), ft_kernel_exists(plain) ? plain : s->name);
  }
}

TEST(test_wrong_keys) {
  filtra_device *dev = test_device();
  ft_pipeline *out[2];
  ft_kernel_key keys[2] = {affine_key(40, 0), affine_key(40, 1)};
  keys[1].kernel = "elementwise/nothing";
  assert_fails(ft_pipelines_get(dev, keys, 2, out), FILTRA_ERROR_ARGUMENT, "elementwise/nothing");
  keys[1].kernel = NULL;
  assert_fails(ft_pipelines_get(dev, keys, 2, out), FILTRA_ERROR_ARGUMENT, "no kernel");
  keys[1] = affine_key(0, 0);
  assert_fails(ft_pipelines_get(dev, keys, 2, out), FILTRA_ERROR_ARGUMENT, "workgroup of 0");
  keys[1] = affine_key(dev->caps.info.max_workgroup_invocations + 1, 0);
  assert_fails(ft_pipelines_get(dev, keys, 2, out), FILTRA_ERROR_ARGUMENT, "outside of 1 to");
  keys[1] = affine_key(40, 0);
  keys[1].spec_count = FT_MAX_SPEC + 1;
  assert_fails(ft_pipelines_get(dev, keys, 2, out), FILTRA_ERROR_ARGUMENT, "constants");
  static const uint32_t sizes[] = {3, 1u << 30};
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    keys[1] = affine_key(64, 0);
    keys[1].subgroup = sizes[i];
    assert_fails(ft_pipelines_get(dev, keys, 2, out), FILTRA_ERROR_UNSUPPORTED, "subgroups of");
  }
  /* What failed beside them is not left half made. */
  assert_ok(ft_pipelines_get(dev, keys, 1, out));
  assert_non_null(out[0]->handle);
}

/* A device that lets nobody choose accepts just the size it has. */
TEST(test_fixed_subgroup) {
  owned_device *dev = test_open_device(NULL);
  dev->caps.subgroup_size_control = false;
  const bool one_size = dev->caps.subgroup_least == dev->caps.subgroup_most;
  ft_kernel_key key = affine_key(64, 0);
  key.subgroup = dev->caps.subgroup_most;
  if (one_size && dev->caps.subgroup) check_run(dev, &key);
  ft_pipeline *pipeline;
  key.subgroup *= 2;
  assert_fails(ft_pipelines_get(dev, &key, 1, &pipeline), FILTRA_ERROR_UNSUPPORTED, "choose");
  dev->caps.subgroup_least = dev->caps.subgroup_most / 2; /* which of them runs is not known */
  key = affine_key(32, 0);
  key.subgroup = dev->caps.subgroup_most;
  assert_fails(ft_pipelines_get(dev, &key, 1, &pipeline), FILTRA_ERROR_UNSUPPORTED, "choose");
}

/* Full subgroups are asked for where workgroups can be cut into such, choice of the size or not. */
TEST(test_full_subgroups) {
  owned_device *dev = test_open_device(NULL);
  if (!dev->caps.subgroup || !dev->caps.full_subgroups) {
    test_close_device(&dev);
    skip();
  }
  for (int choice = 0; choice < 2; choice++) {
    dev->caps.subgroup_size_control &= choice == 0;
    const uint32_t most = dev->caps.subgroup_most;
    const uint32_t workgroups[] = {2 * most, 2 * most + most / 2};
    for (size_t i = 0; i < FT_COUNT(workgroups); i++) {
      /* a size of its own for each choice: pipelines are kept */
      const ft_kernel_key key = {.kernel = "scale_norm/forward",
                                 .workgroup = workgroups[i] + (uint32_t)choice * most,
                                 .spec_count = 1,
                                 .spec = {1}};
      ft_pipeline *pipeline;
      assert_ok(ft_pipelines_get(dev, &key, 1, &pipeline));
      assert_int_equal(
          pipeline->flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT ? 1 : 0,
          i == 0);
    }
  }
}

TEST(test_faults) {
  owned_device *dev = test_open_device(NULL);
  ft_kernel_key keys[] = {affine_key(8, 0), affine_key(16, 0), affine_key(24, 0)};
  ft_pipeline *out[FT_COUNT(keys)];
  long faults = 0;
  for (;; faults++) {
    ft_vk_fail_after(faults + 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    filtra_status status = ft_pipelines_get(dev, keys, FT_COUNT(keys), out);
    if (!status) break;
    assert_int_equal(status, FILTRA_ERROR_DEVICE_MEMORY);
    assert_non_null(strstr(filtra_error_message(), "kernel elementwise/affine"));
  }
  ft_vk_fail_after(0, VK_SUCCESS);
  assert_int_equal(faults, 2 * FT_COUNT(keys)); /* a module and a pipeline each */
  for (size_t i = 0; i < FT_COUNT(keys); i++)
    assert_non_null(out[i]->handle);
}

/* ---- the cache on disk ---- */

static int warnings;

static void count_warnings(void *user, filtra_log_level level, const char *text) {
  (void)user;
  if (level >= FILTRA_LOG_WARNING && strstr(text, "pipeline cache")) warnings++;
}

/* Opens with a cache folder, makes a pipeline, closes. Returns the warnings about the cache. */
static int use_cache(const char *folder, const char *caps) {
  filtra_device_options options = {.select = "0", .caps = caps, .cache_dir = folder};
  filtra_device *dev = NULL;
  warnings = 0;
  filtra_log_set(count_warnings, NULL);
  assert_ok(filtra_device_open(&options, &dev));
  ft_kernel_key key = affine_key(32, 0);
  ft_pipeline *pipeline;
  assert_ok(ft_pipelines_get(dev, &key, 1, &pipeline));
  filtra_device_close(&dev);
  filtra_log_set(NULL, NULL);
  return warnings;
}

/* The only file in the folder; NULL when there is none. Caller frees. */
static char *only_file(const char *folder) {
  char **names = NULL;
  size_t count = 0;
  assert_ok(ft_list_directory(folder, &names, &count));
  assert_true(count <= 1);
  char *path = count ? ft_path_join(folder, names[0]) : NULL;
  if (count) free(names[0]);
  free(names);
  return path;
}

/* Skips the test where the driver has nothing to give that could be kept. */
static void need_cache_data(void) {
  const char *folder = test_folder();
  assert_int_equal(use_cache(folder, NULL), 0);
  char *path = only_file(folder);
  free(path);
  if (path) return;
  print_message("SKIPPED: this driver's pipeline caches hold no data\n");
  skip();
}

TEST(test_cache) {
  need_cache_data();
  owned char *folder = ft_path_join(test_folder(), "made/on/the/way");
  assert_int_equal(use_cache(folder, NULL), 0);
  owned char *path = only_file(folder), *first = NULL, *second = NULL;
  size_t first_size, second_size;
  assert_non_null(strstr(path, filtra_device_get_info(test_device())->uuid));
  assert_non_null(strstr(path, filtra_version()));
  assert_ok(ft_file_read(path, 1 << 30, &first, &first_size));
  assert_int_equal(use_cache(folder, NULL), 0);
  assert_ok(ft_file_read(path, 1 << 30, &second, &second_size));
  assert_int_equal(second_size, first_size); /* accepted, and nothing new to store */
  assert_memory_equal(second, first, first_size);
}

/* Cut off at every length, and every byte of the header and some of the rest turned over: ignored
 * with a warning, and replaced by a good one. */
TEST(test_damaged_cache) {
  need_cache_data();
  const char *folder = test_folder();
  assert_int_equal(use_cache(folder, NULL), 0);
  owned char *path = only_file(folder), *good = NULL, *now = NULL;
  size_t size, now_size;
  assert_ok(ft_file_read(path, 1 << 30, &good, &size));
  size_t step = size > 200 ? size / 100 : 1;
  for (size_t length = 0; length < size; length += length < 64 ? 1 : step) {
    assert_ok(ft_file_write(path, good, length));
    assert_int_equal(use_cache(folder, NULL), 1);
  }
  for (size_t i = 0; i < size; i += i < 64 ? 1 : step) {
    good[i] ^= 0x40;
    assert_ok(ft_file_write(path, good, size));
    good[i] ^= 0x40;
    assert_int_equal(use_cache(folder, NULL), 1);
  }
  assert_int_equal(use_cache(folder, NULL), 0);
  assert_ok(ft_file_read(path, 1 << 30, &now, &now_size));
  assert_int_equal(now_size, size);
}

TEST(test_no_cache) {
  need_cache_data();
  const char *folder = test_folder();
  assert_int_equal(use_cache(folder, "pipeline_cache=0"), 0);
  assert_null(only_file(folder));
  setenv("FILTRA_CACHE_DIR", folder, 1);
  assert_int_equal(use_cache("", NULL), 0);
  assert_null(only_file(folder));
  assert_int_equal(use_cache(NULL, NULL), 0);
  owned char *path = only_file(folder);
  assert_non_null(path);
  unsetenv("FILTRA_CACHE_DIR");
}

/* A folder that cannot be made is worth a warning and no more; so is a folder in the file's place.
 */
TEST(test_cache_not_writable) {
  need_cache_data();
  const char *folder = test_folder();
  owned char *file = ft_path_join(folder, "file"), *below = ft_path_join(file, "below");
  assert_ok(ft_file_write(file, "x", 1));
  assert_int_equal(use_cache(below, NULL), 1);
  owned char *cache = ft_path_join(folder, "cache");
  assert_int_equal(use_cache(cache, NULL), 0);
  owned char *path = only_file(cache);
  remove(path);
  assert_ok(ft_make_directories(path));
  assert_int_equal(use_cache(cache, NULL), 2);
}

/* What others could have written never reaches the driver. */
TEST(test_cache_of_others) {
  const char *folder = test_folder();
  assert_int_equal(chmod(folder, 0777), 0);
  assert_int_equal(use_cache(folder, NULL), 1);
  assert_null(only_file(folder));
  need_cache_data();
  assert_int_equal(chmod(folder, 0700), 0);
  assert_int_equal(use_cache(folder, NULL), 0);
  owned char *path = only_file(folder);
  assert_int_equal(chmod(path, 0666), 0);
  assert_int_equal(use_cache(folder, NULL), 1);
}

TEST_MAIN(NULL, test_teardown)
