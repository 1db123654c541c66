/* Listing, choosing, opening and losing devices, and the caps override. */
#include "gpu/internal.h"
#include "support/harness.h"
#include "support/run.h"

#include "base/file.h"
#include "base/memory.h"

#include <filtra/filtra.h>
#include <pthread.h>

enum { MAX_DEVICES = 16 };

static uint32_t list_devices(filtra_device_info infos[MAX_DEVICES]) {
  uint32_t count = MAX_DEVICES;
  assert_ok(filtra_device_list(infos, &count));
  assert_between(count, 1, MAX_DEVICES);
  return count;
}

static filtra_status open_selected(const char *select, filtra_device **device) {
  return filtra_device_open(&(filtra_device_options){.select = select, .cache_dir = ""}, device);
}

TEST(test_list) {
  filtra_device_info infos[MAX_DEVICES] = {0};
  uint32_t count = list_devices(infos), asked = 0;
  assert_ok(filtra_device_list(NULL, &asked));
  assert_int_equal(asked, count);
  for (uint32_t i = 0; i < count; i++) {
    assert_int_equal(infos[i].index, i);
    assert_true(i == 0 || infos[i - 1].device_class <= infos[i].device_class);
    assert_true(infos[i].name[0] && infos[i].driver[0] && infos[i].reason[0]);
    assert_int_equal(strlen(infos[i].uuid), 36);
    assert_between(infos[i].max_allocation_bytes, 1, infos[i].memory_bytes);
    if (!infos[i].usable) continue;
    assert_true(infos[i].max_workgroup_invocations >= 128);
    assert_true(infos[i].shared_memory_bytes >= 16384);
    assert_between(infos[i].subgroup_size, infos[i].subgroup_size_min, infos[i].subgroup_size_max);
  }
}

static void *list_often(void *failures) {
  for (int i = 0; i < 8; i++) {
    uint32_t count = 0;
    if (filtra_device_list(NULL, &count) || count == 0) atomic_fetch_add((atomic_int *)failures, 1);
  }
  return NULL;
}

TEST(test_list_on_threads) {
  atomic_int failures = 0;
  pthread_t threads[4];
  for (size_t i = 0; i < FT_COUNT(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, list_often, &failures), 0);
  for (size_t i = 0; i < FT_COUNT(threads); i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&failures), 0);
}

/* Room for fewer than there are: the rest is left alone, the number is that of all. */
TEST(test_list_without_room) {
  filtra_device_info none = {.index = 77};
  uint32_t count = 0;
  assert_ok(filtra_device_list(&none, &count));
  assert_true(count >= 1);
  assert_int_equal(none.index, 77);
}

TEST(test_select) {
  filtra_device_info infos[MAX_DEVICES];
  uint32_t count = list_devices(infos);
  for (uint32_t i = 0; i < count; i++) {
    if (!infos[i].usable) continue;
    char index[16], part[8];
    snprintf(index, sizeof index, "%u", i);
    filtra_device *device = NULL;
    assert_ok(open_selected(index, &device));
    assert_string_equal(filtra_device_get_info(device)->uuid, infos[i].uuid);
    filtra_device_close(&device);
    assert_null(device);
    assert_ok(open_selected(infos[i].uuid, &device));
    assert_string_equal(filtra_device_get_info(device)->uuid, infos[i].uuid);
    filtra_device_close(&device);
    snprintf(part, sizeof part, "%.7s", infos[i].name);
    for (char *c = part; *c; c++)
      if (*c >= 'a' && *c <= 'z') *c += 'A' - 'a';
    assert_ok(open_selected(part, &device));
    filtra_device_close(&device);
  }
}

TEST(test_select_nothing) {
  filtra_device_info infos[MAX_DEVICES];
  list_devices(infos);
  static const char *const wrong[] = {
      "no such device", "4294967297",           "-99", "7",
      "1000",           "99999999999999999999", "0x0", "ffffffff-ffff-ffff-ffff-ffffffffffff"};
  for (size_t i = 0; i < FT_COUNT(wrong); i++) {
    filtra_device *device = (filtra_device *)&device;
    assert_fails(open_selected(wrong[i], &device), FILTRA_ERROR_NO_DEVICE,
                 test_text("; available: 0: %s", infos[0].name));
    assert_null(device);
  }
  char overlong[5000];
  memset(overlong, 'x', sizeof overlong - 1);
  overlong[sizeof overlong - 1] = '\0';
  filtra_device *device = NULL;
  assert_fails(open_selected(overlong, &device), FILTRA_ERROR_NO_DEVICE, infos[0].name);
}

static void count_warnings(void *user, filtra_log_level level, const char *text) {
  if (level >= FILTRA_LOG_WARNING && strstr(text, "no usable GPU")) ++*(int *)user;
}

TEST(test_environment) {
  owned char *before = getenv("FILTRA_DEVICE") ? strdup(getenv("FILTRA_DEVICE")) : NULL;
  filtra_device *device = NULL;
  setenv("FILTRA_DEVICE", "no such device", 1);
  assert_fails(filtra_device_open(NULL, &device), FILTRA_ERROR_NO_DEVICE, "no such device");
  setenv("FILTRA_DEVICE", "", 1);
  filtra_device_info infos[MAX_DEVICES];
  list_devices(infos);
  int warnings = 0;
  filtra_log_set(count_warnings, &warnings);
  filtra_device_options options = {.cache_dir = ""};
  assert_ok(filtra_device_open(&options, &device));
  assert_int_equal(filtra_device_get_info(device)->index, 0);
  assert_int_equal(warnings, infos[0].device_class == FILTRA_DEVICE_CPU);
  filtra_device_close(&device);
  setenv("FILTRA_CAPS", "int64=7", 1);
  assert_fails(filtra_device_open(&options, &device), FILTRA_ERROR_ARGUMENT, "int64=7");
  options.caps = ""; /* an option counts for more than the environment, even an empty one */
  assert_ok(filtra_device_open(&options, &device));
  filtra_device_close(&device);
  unsetenv("FILTRA_CAPS");
  filtra_log_set(NULL, NULL);
  if (before)
    setenv("FILTRA_DEVICE", before, 1);
  else
    unsetenv("FILTRA_DEVICE");
}

TEST(test_no_driver) {
  /* the second wins with loaders that know it */
  static const char *const variables[] = {"VK_ICD_FILENAMES", "VK_DRIVER_FILES"};
  char *before[2];
  for (int i = 0; i < 2; i++) {
    before[i] = getenv(variables[i]) ? strdup(getenv(variables[i])) : NULL;
    setenv(variables[i], "/nonexistent/driver.json", 1);
  }
  uint32_t count = 7;
  assert_fails(filtra_device_list(NULL, &count), FILTRA_ERROR_NO_DEVICE, "install");
  assert_int_equal(count, 0);
  filtra_device *device = NULL;
  assert_fails(filtra_device_open(NULL, &device), FILTRA_ERROR_NO_DEVICE, "install");
  for (int i = 0; i < 2; i++) {
    if (before[i])
      setenv(variables[i], before[i], 1);
    else
      unsetenv(variables[i]);
    free(before[i]);
  }
}

TEST(test_caps_override) {
  const ft_caps *plain = &test_device()->caps;
  filtra_device *device = test_open_device(
      "int64=0,fp16=0,subgroup=0,timestamps=0,pipeline_cache=0,shared=16384,invocations=128,"
      "allocation=1048576");
  const ft_caps *caps = &device->caps;
  const filtra_device_info *info = filtra_device_get_info(device);
  assert_false(info->int64 || info->fp16 || info->subgroup_arithmetic || info->timestamps);
  assert_false(caps->subgroup || caps->pipeline_cache || caps->timestamp_ns > 0);
  assert_int_equal(info->shared_memory_bytes, 16384);
  assert_int_equal(info->max_workgroup_invocations, 128);
  assert_int_equal(info->max_allocation_bytes, 1 << 20);
  assert_int_equal(caps->product_style, FT_STYLE_SHARED);
  assert_int_equal(caps->attention_style, FT_STYLE_SHARED);
  assert_between(caps->row_workgroup, 1, 128);
  assert_int_equal(caps->row_workgroup % info->subgroup_size, 0);
  assert_string_equal(info->name, plain->info.name);
  test_close_device(&device);

  device = test_open_device("gemm=naive,attention=tiled");
  assert_int_equal(device->caps.product_style, FT_STYLE_NAIVE);
  assert_int_equal(device->caps.attention_style, FT_STYLE_SHARED);
  test_close_device(&device);
  if (plain->cpu && plain->info.int64 && plain->subgroup)
    assert_int_equal(plain->product_style, FT_STYLE_SUBGROUP);
  if (plain->cpu && plain->subgroup)
    assert_int_equal(plain->attention_style, plain->uniform_loads && plain->info.int64
                                                 ? FT_STYLE_UNIFORM
                                                 : FT_STYLE_SUBGROUP);
}

TEST(test_caps_errors) {
  static const struct {
    const char *caps, *part;
    filtra_status status;
  } cases[] = {
      {"speed=11", "speed", FILTRA_ERROR_ARGUMENT},
      {"int64", "int64", FILTRA_ERROR_ARGUMENT},
      {"=1", "unknown", FILTRA_ERROR_ARGUMENT},
      {"int64=", "0 or 1", FILTRA_ERROR_ARGUMENT},
      {"int64=2", "int64=2", FILTRA_ERROR_ARGUMENT},
      {"fp16=yes", "fp16=yes", FILTRA_ERROR_ARGUMENT},
      {"shared=16383", "from 16384", FILTRA_ERROR_ARGUMENT},
      {"shared=999999999", "16384 to", FILTRA_ERROR_ARGUMENT},
      {"invocations=0", "from 128", FILTRA_ERROR_ARGUMENT},
      {"invocations=-128", "from 128", FILTRA_ERROR_ARGUMENT},
      {"invocations= 128", "from 128", FILTRA_ERROR_ARGUMENT},
      {"allocation=1", "from 1048576", FILTRA_ERROR_ARGUMENT},
      {"allocation=18446744073709551616", "from 1048576", FILTRA_ERROR_ARGUMENT},
      {"gemm=fast", "naive, tiled or s64", FILTRA_ERROR_ARGUMENT},
      {"attention=quick", "tiled, lanes or uniform", FILTRA_ERROR_ARGUMENT},
      {"gemm=s64,int64=0", "gemm=s64", FILTRA_ERROR_UNSUPPORTED},
      {"subgroup=0,gemm=s64", "gemm=s64", FILTRA_ERROR_UNSUPPORTED},
      {"attention=lanes,subgroup=0", "attention=lanes", FILTRA_ERROR_UNSUPPORTED},
      {"attention=uniform,int64=0", "attention=uniform", FILTRA_ERROR_UNSUPPORTED},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    ft_caps caps = test_device()->caps;
    caps.info.int64 = caps.info.fp16 = caps.subgroup = true;
    assert_fails(ft_caps_override(&caps, cases[i].caps), cases[i].status, cases[i].part);
  }
}

/* What caps.c decides for devices that are not here. */
TEST(test_decisions) {
  static const struct {
    bool cpu, int64, subgroup;
    uint32_t size, invocations, row;
    ft_kernel_style gemm;
  } cases[] = {
      {true, true, true, 8, 1024, 8, FT_STYLE_SUBGROUP},
      {true, true, false, 8, 1024, 8, FT_STYLE_SHARED},
      {true, false, true, 4, 1024, 4, FT_STYLE_SHARED},
      {false, true, true, 32, 1024, 64, FT_STYLE_SHARED},
      {false, true, true, 64, 1024, 64, FT_STYLE_SHARED},
      {false, true, true, 128, 1024, 128, FT_STYLE_SHARED},
      {false, true, true, 256, 128, 128, FT_STYLE_SHARED},
      {false, false, false, 1, 128, 64, FT_STYLE_SHARED},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    ft_caps caps = {.cpu = cases[i].cpu, .subgroup = cases[i].subgroup};
    caps.info.int64 = cases[i].int64;
    caps.info.subgroup_size = caps.subgroup_least = caps.subgroup_most = cases[i].size;
    caps.info.max_workgroup_invocations = cases[i].invocations;
    assert_ok(ft_caps_override(&caps, NULL));
    assert_int_equal(caps.product_style, cases[i].gemm);
    assert_int_equal(caps.row_workgroup, cases[i].row);
  }
}

TEST(test_two_at_once) {
  filtra_device_info infos[MAX_DEVICES];
  char last[16];
  snprintf(last, sizeof last, "%u", list_devices(infos) - 1);
  filtra_device *a = test_device(), *b = NULL;
  assert_ok(open_selected(last, &b)); /* another driver's where there are two */
  uint64_t before = filtra_device_memory_used(a);
  ft_buffer x, y;
  assert_ok(ft_buffer_create(a, 400, FT_MEMORY_DEVICE, &x));
  assert_int_equal(filtra_device_memory_used(b), 0);
  assert_ok(ft_buffer_create(b, 400, FT_MEMORY_DEVICE, &y));
  int32_t in[100], out_x[100], out_y[100];
  for (int i = 0; i < 100; i++)
    in[i] = i * i;
  assert_ok(ft_upload(a, &x, 0, in, sizeof in));
  assert_ok(ft_fill(b, &y, 0, 400, 5));
  assert_ok(ft_download(a, &x, 0, out_x, sizeof in));
  assert_ok(ft_download(b, &y, 0, out_y, sizeof in));
  assert_memory_equal(out_x, in, sizeof in);
  assert_int_equal(out_y[99], 5);
  ft_buffer_destroy(a, &x);
  ft_buffer_destroy(b, &y);
  filtra_device_close(&b);
  assert_ok(ft_wait_idle(a));
  assert_true(filtra_device_memory_used(a) >= before);
  assert_fails(ft_wait(a, a->submitted + 1), FILTRA_ERROR_ARGUMENT, "never given out");
}

TEST(test_lost) {
  owned_device *device = test_open_device(NULL);
  ft_buffer buffer;
  assert_ok(ft_buffer_create(device, 4096, FT_MEMORY_DEVICE, &buffer));
  ft_vk_fail_after(1, VK_ERROR_DEVICE_LOST);
  assert_fails(ft_wait_idle(device), FILTRA_ERROR_DEVICE_LOST, "vkWaitSemaphores");
  assert_true(device->lost);
  /* From now on every call says so, also without the hook. */
  uint32_t word = 0;
  uint64_t ticket;
  assert_fails(ft_wait_idle(device), FILTRA_ERROR_DEVICE_LOST, "checkpoints");
  assert_fails(ft_submit(device, NULL, 0, &ticket), FILTRA_ERROR_DEVICE_LOST, "resume");
  assert_fails(ft_upload(device, &buffer, 0, &word, 4), FILTRA_ERROR_DEVICE_LOST, "lost");
  assert_fails(ft_download(device, &buffer, 0, &word, 4), FILTRA_ERROR_DEVICE_LOST, "lost");
  assert_fails(ft_fill(device, &buffer, 0, 4, 0), FILTRA_ERROR_DEVICE_LOST, "lost");
  assert_true(ft_done(device, 1));
  ft_buffer_destroy(device, &buffer);
}

/* Also while it is being opened, before it has a name. */
TEST(test_lost_early) {
  const filtra_device_options options = {.select = getenv("FILTRA_DEVICE"), .cache_dir = ""};
  int lost = 0;
  for (long n = 1; n < 40; n++) {
    filtra_device *device = NULL;
    ft_vk_fail_after(n, VK_ERROR_DEVICE_LOST);
    filtra_status status = filtra_device_open(&options, &device);
    ft_vk_fail_after(0, VK_SUCCESS);
    filtra_device_close(&device);
    if (!status) break;
    lost += status == FILTRA_ERROR_DEVICE_LOST;
    assert_null(strstr(filtra_error_message(), "  "));
  }
  assert_true(lost > 0);
}

/* The layer is heard when it has something to say: two fills of the same bytes with no barrier. */
TEST(test_validation_speaks) {
  filtra_device_options options = {.select = "0", .cache_dir = "", .validation = true};
  filtra_device *dev = NULL;
  filtra_log_set(NULL, NULL);
  if (filtra_device_open(&options, &dev) == FILTRA_ERROR_UNSUPPORTED) skip();
  assert_non_null(dev);
  ft_buffer buffer;
  assert_ok(ft_buffer_create(dev, 64, FT_MEMORY_DEVICE, &buffer));
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
  assert_int_equal(filtra_device_validation_count(dev), 0);
  dev->vk.vkCmdFillBuffer(commands, buffer.buffer, 0, 64, 1);
  dev->vk.vkCmdFillBuffer(commands, buffer.buffer, 0, 64, 2);
  assert_true(filtra_device_validation_count(dev) > 0);
  dev->vk.vkDestroyCommandPool(dev->device, pool, NULL);
  ft_buffer_destroy(dev, &buffer);
  filtra_device_close(&dev);
}

/* Every Vulkan call of opening made to fail in turn: a status and a sentence each time, no leak. */
TEST(test_open_faults) {
  owned char *folder = ft_format("%s/cache", test_folder());
  filtra_device_options options = {.select = "0", .cache_dir = folder};
  filtra_device *device = NULL;
  int faults = 0;
  for (;; faults++) {
    ft_vk_fail_after(faults + 1, VK_ERROR_OUT_OF_HOST_MEMORY);
    filtra_status status = filtra_device_open(&options, &device);
    if (!status) break;
    assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
    assert_non_null(strstr(filtra_error_message(), "out of host memory"));
    assert_null(device);
    assert_true(faults < 100);
  }
  ft_vk_fail_after(0, VK_SUCCESS);
  assert_true(faults >= 6);
  filtra_device_close(&device);
}

TEST(test_open_without_memory) {
  filtra_device_options options = {.select = "0", .cache_dir = ""};
  filtra_device *device = NULL;
  for (long n = 1;; n++) {
    ft_memory_fail_after(n);
    filtra_status status = filtra_device_open(&options, &device);
    ft_memory_fail_after(0);
    if (!status) break;
    assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
    assert_null(device);
    assert_true(n < 100);
  }
  filtra_device_close(&device);
  filtra_device_close(&device); /* NULL by now: nothing to do */
}

static void *wait_idle(void *argument) {
  static filtra_status status[2];
  status[0] = ft_wait_idle(argument);
  return status;
}

static void *use_from_elsewhere(void *argument) {
  filtra_device *dev = argument;
  static filtra_status status[2];
  uint64_t ticket;
  status[0] = ft_wait(dev, 0);
  status[1] = ft_submit(dev, NULL, 0, &ticket);
  assert_non_null(strstr(filtra_error_message(), "used by another thread"));
  return status;
}

/* While one thread is inside a call, another one gets an error and no more; behind it, it may. */
TEST(test_two_threads) {
  owned_device *dev = test_open_device(NULL);
  for (int inside = 1; inside >= 0; inside--) {
    pthread_t thread;
    void *result;
    if (inside) assert_ok(ft_enter(dev));
    assert_int_equal(pthread_create(&thread, NULL, inside ? use_from_elsewhere : wait_idle, dev),
                     0);
    assert_int_equal(pthread_join(thread, &result), 0);
    const filtra_status *status = result;
    assert_int_equal(status[0], inside ? FILTRA_ERROR_ARGUMENT : FILTRA_OK);
    assert_int_equal(status[1], inside ? FILTRA_ERROR_ARGUMENT : FILTRA_OK);
    if (inside) ft_leave(dev);
  }
}

/* Closing after a failure does not replace its reason, even where the cache cannot be stored. */
TEST(closing_keeps_the_message) {
  const char *file = test_folder();
  char blocked[300], folder[310];
  snprintf(blocked, sizeof blocked, "%s/file", file);
  snprintf(folder, sizeof folder, "%s/cache", blocked);
  filtra_device *device = NULL;
  assert_ok(filtra_device_open(
      &(filtra_device_options){.select = test_chosen_device(), .cache_dir = folder}, &device));
  assert_ok(ft_file_write(blocked, "", 0)); /* in the folder's place */
  filtra_graph *g;
  const int64_t four = 4;
  assert_ok(filtra_graph_create(device, NULL, &g));
  filtra_graph_output(
      g, filtra_affine(g, filtra_graph_input(g, "x", FILTRA_F32, 1, &four), 2.0f, 1.0f));
  assert_ok(filtra_graph_compile(g));
  filtra_graph_destroy(&g);
  ft_fail(FILTRA_ERROR_INPUT, "the reason");
  assert_ok(filtra_device_close(&device));
  assert_string_equal(filtra_error_message(), "the reason");
}

/* A driver that is there twice gives two devices of one name and UUID. */
TEST(ambiguous_names_are_refused) {
  const char *files = getenv("VK_DRIVER_FILES");
  uint32_t count = 0;
  char twice[256];
  owned char *text = NULL;
  size_t size = 0;
  if (!files || strchr(files, ':') || ft_file_read(files, 1 << 20, &text, &size)) {
    print_message("SKIPPED: VK_DRIVER_FILES does not name one driver\n");
    skip();
  }
  snprintf(twice, sizeof twice, "%s/twice.json", test_folder());
  assert_ok(ft_file_write(twice, text, size));
  owned char *before = ft_strdup(files), *both = ft_format("%s:%s", files, twice);
  setenv("VK_DRIVER_FILES", both, 1);
  filtra_device_info info[2] = {0};
  count = 2;
  filtra_status status = filtra_device_list(info, &count);
  filtra_device *device = NULL;
  filtra_status by_uuid = FILTRA_OK, by_name = FILTRA_OK;
  owned char *message = NULL;
  if (!status && count == 2 && info[0].usable && info[1].usable) {
    by_name = filtra_device_open(&(filtra_device_options){.select = info[0].name}, &device);
    filtra_device_close(&device);
    by_uuid = filtra_device_open(&(filtra_device_options){.select = info[0].uuid}, &device);
    message = ft_strdup(filtra_error_message());
    filtra_device_close(&device);
  }
  setenv("VK_DRIVER_FILES", before, 1);
  assert_ok(status);
  if (count != 2 || strcmp(info[0].uuid, info[1].uuid) != 0) {
    print_message("SKIPPED: the loader does not list a driver twice\n");
    skip();
  }
  assert_int_equal(by_name, FILTRA_ERROR_NO_DEVICE);
  assert_int_equal(by_uuid, FILTRA_ERROR_NO_DEVICE);
  assert_non_null(strstr(message, "2 devices are \""));
  assert_non_null(strstr(message, "select one by its number: 0: "));
}

TEST_MAIN(NULL, test_teardown)
