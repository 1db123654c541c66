/* An application's VkDevice: requirements, masked features, and what Filtra leaves alone. */
#include "base/memory.h"
#include "gpu/plan.h"
#include "support/run.h"
#include "support/vulkan.h"

#include <pthread.h>

static filtra_vulkan_device said(void) {
  return test_application_open()->said;
}

static filtra_status open_device(const filtra_vulkan_device *vulkan, filtra_device **device) {
  return filtra_vulkan_open(
      vulkan, &(filtra_device_options){.caps = "", .cache_dir = "", .tuning = ""}, device);
}

#define refused(vulkan, status, part)                                                              \
  do {                                                                                             \
    filtra_device *none = (filtra_device *)&none;                                                  \
    assert_fails(open_device(vulkan, &none), status, part);                                        \
    assert_null(none);                                                                             \
  } while (0)

/* ---- what is asked for ---- */

TEST(needs_before_an_instance) {
  filtra_vulkan_needs *needs = NULL;
  assert_ok(filtra_vulkan_requirements(NULL, &needs));
  assert_int_equal(needs->api_version, VK_API_VERSION_1_3);
  assert_int_equal(needs->instance_extension_count + needs->extension_count, 0);
  assert_null(needs->features);
  filtra_free(needs);
}

TEST(needs_of_a_device) {
  const filtra_vulkan_needs *needs = test_application_open()->needs;
  ft_features least, all;
  ft_features_read(needs->features, &least);
  ft_features_read(needs->all_features, &all);
  assert_true(least.v12.bufferDeviceAddress && least.v12.timelineSemaphore);
  assert_true(least.v13.synchronization2 && least.v13.maintenance4);
  assert_false(least.core.features.shaderInt64 || least.v12.shaderFloat16);
  const filtra_device_info *info = filtra_device_get_info(test_device());
  assert_int_equal(all.core.features.shaderInt64, info->int64);
  assert_true(all.v12.bufferDeviceAddress && all.v13.maintenance4);
  assert_int_equal(needs->bytes_after, info->device_class == FILTRA_DEVICE_CPU ? 64 << 10 : 0);
}

TEST(needs_say_what_is_missing) {
  filtra_vulkan_device vulkan = said();
  filtra_vulkan_needs *needs = (filtra_vulkan_needs *)&needs;
  vulkan.physical_device = NULL;
  assert_fails(filtra_vulkan_requirements(&vulkan, &needs), FILTRA_ERROR_ARGUMENT,
               "physical_device is NULL");
  assert_null(needs);
  vulkan.reserved[7] = 1;
  assert_fails(filtra_vulkan_requirements(&vulkan, &needs), FILTRA_ERROR_ARGUMENT, "reserved[7]");
}

/* ---- what is said ---- */

/* x -> softmax(x w) on a device, through products, rows and element-wise kernels. */
static void compute(filtra_device *device, float out[64 * 48]) {
  static float in[64 * 96], weights[48 * 96];
  test_random(1, -1, 1, in, FT_COUNT(in));
  test_random(2, -1, 1, weights, FT_COUNT(weights));
  owned_graph *g = test_graph(device, NULL);
  filtra_tensor *x = test_input(g, "x", 64, 96), *w = test_input(g, "w", 48, 96);
  filtra_tensor *y =
      filtra_graph_output(g, filtra_softmax(g, filtra_linear(g, x, w, NULL, NULL), 1));
  test_compile_and_run(g, TEST_SET({x, in}, {w, weights}), TEST_GET({y, out}));
}

/* Bit for bit what Filtra's own device of these capabilities computes. */
static void same_as_own(filtra_device *device, const char *caps) {
  static float got[64 * 48], want[64 * 48];
  owned_device *own = test_open_variant(caps); /* the suite leaves other devices' kernels out */
  if (!own) return;
  owned char *plan = ft_caps_plan(ft_caps_of(device)), *own_plan = ft_caps_plan(ft_caps_of(own));
  assert_string_equal(plan, own_plan);
  compute(device, got);
  compute(own, want);
  assert_memory_equal(got, want, sizeof got);
}

TEST(all_that_is_enabled_is_used) {
  filtra_vulkan_device vulkan = said();
  owned_device *device = test_adopt(&vulkan, "");
  const filtra_device_info *info = filtra_device_get_info(device);
  assert_int_equal(info->index, UINT32_MAX);
  assert_string_equal(info->reason, "the application's");
  assert_string_equal(info->uuid, filtra_device_get_info(test_device())->uuid);
  assert_int_equal(filtra_device_validation_count(device), 0);
  same_as_own(device, "maximal_reconvergence=0");
}

TEST(what_is_not_said_is_masked) {
  filtra_vulkan_device vulkan = said();
  vulkan.features = test_application_open()->needs->features;
  vulkan.extension_count = 0;
  owned_device *device = test_adopt(&vulkan, "");
  const filtra_device_info *info = filtra_device_get_info(device);
  const ft_caps *caps = ft_caps_of(device);
  assert_false(info->int64 || info->fp16 || info->subgroup_arithmetic || caps->storage16);
  assert_false(caps->subgroup_size_control || caps->subgroup_uniform || caps->matrix ||
               caps->maximal_reconvergence);
  same_as_own(device, "int64=0,storage16=0,fp16=0,subgroup=0,subgroup_size_control=0,"
                      "subgroup_uniform=0,maximal_reconvergence=0");
}

static bool has_matrices(const void *device, const char *name) {
  (void)device;
  return !strcmp(name, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
}

/* A feature whose extension is not in the list is not enabled, whatever the chain says. */
TEST(features_need_their_extensions) {
  ft_features all, left;
  memset(&all, 0, sizeof all);
  all.core.features.shaderInt64 = all.v12.vulkanMemoryModel = VK_TRUE;
  all.matrix.cooperativeMatrix = all.maximal.shaderMaximalReconvergence = VK_TRUE;
  all.uniform.shaderSubgroupUniformControlFlow = VK_TRUE;
  left = all;
  ft_features_restrict(&left, &all, has_matrices, NULL);
  assert_true(left.core.features.shaderInt64 && left.v12.vulkanMemoryModel);
  assert_true(left.matrix.cooperativeMatrix);
  assert_false(left.maximal.shaderMaximalReconvergence);
  assert_false(left.uniform.shaderSubgroupUniformControlFlow);
}

TEST(caps_go_on_top) {
  filtra_vulkan_device vulkan = said();
  owned_device *device = test_adopt(&vulkan, "int64=0");
  assert_false(filtra_device_get_info(device)->int64);
}

/* The structures of extensions that Vulkan 1.1 to 1.3 took in say the same. */
TEST(older_structures_are_read) {
  VkPhysicalDeviceMaintenance4Features m4 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES, .maintenance4 = VK_TRUE};
  VkPhysicalDeviceSynchronization2Features sync2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
      .pNext = &m4,
      .synchronization2 = VK_TRUE};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
      .pNext = &sync2,
      .timelineSemaphore = VK_TRUE};
  VkPhysicalDevice16BitStorageFeatures storage = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
      .pNext = &timeline,
      .storageBuffer16BitAccess = VK_TRUE};
  VkPhysicalDeviceBufferDeviceAddressFeatures address = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
      .pNext = &storage,
      .bufferDeviceAddress = VK_TRUE};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                        .pNext = &address};
  filtra_vulkan_device vulkan = said();
  vulkan.features = &features;
  owned_device *device = test_adopt(&vulkan, "");
  assert_true(ft_caps_of(device)->storage16);
  assert_false(filtra_device_get_info(device)->fp16);
}

TEST(missing_features_are_named) {
  static const struct {
    const char *name;
    size_t at;
  } cases[] = {{"bufferDeviceAddress", offsetof(ft_features, v12.bufferDeviceAddress)},
               {"timelineSemaphore", offsetof(ft_features, v12.timelineSemaphore)},
               {"synchronization2", offsetof(ft_features, v13.synchronization2)},
               {"maintenance4", offsetof(ft_features, v13.maintenance4)}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    ft_enabled enabled;
    ft_features_enable(&(ft_caps){0}, 0, &enabled);
    *(VkBool32 *)((char *)&enabled.features + cases[i].at) = VK_FALSE;
    filtra_vulkan_device vulkan = said();
    vulkan.features = &enabled.features.core;
    refused(&vulkan, FILTRA_ERROR_UNSUPPORTED,
            test_text("the VkDevice was made without %s, which Filtra needs", cases[i].name));
  }
}

TEST(what_is_wrong_gets_a_sentence) {
  filtra_vulkan_device vulkan = said();
  vulkan.queue_family = 7;
  refused(&vulkan, FILTRA_ERROR_ARGUMENT, "queue family 7 does not compute");
  vulkan = said();
  vulkan.api_version = VK_API_VERSION_1_1;
  refused(&vulkan, FILTRA_ERROR_UNSUPPORTED, "is 1.1 and 1.3 is needed");
  vulkan = said();
  vulkan.unlock = NULL;
  refused(&vulkan, FILTRA_ERROR_ARGUMENT, "unlock is NULL and lock is not");
  vulkan = said();
  vulkan.queue = NULL;
  refused(&vulkan, FILTRA_ERROR_ARGUMENT, "queue is NULL");
  vulkan = said();
  vulkan.extensions = NULL;
  vulkan.extension_count = 2;
  refused(&vulkan, FILTRA_ERROR_ARGUMENT, "extensions is NULL");
  filtra_device *device;
  vulkan = said();
  assert_fails(filtra_vulkan_open(&vulkan, &(filtra_device_options){.select = "cpu"}, &device),
               FILTRA_ERROR_ARGUMENT, "option select is set");
  assert_fails(filtra_vulkan_open(&vulkan, &(filtra_device_options){.validation = true}, &device),
               FILTRA_ERROR_ARGUMENT, "option validation is set");
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_old(VkInstance instance, const char *name) {
  return strcmp(name, "vkGetPhysicalDeviceFeatures2") ? test_application_open()->get(instance, name)
                                                      : NULL;
}

TEST(a_loader_without_functions_is_refused) {
  filtra_vulkan_device vulkan = said();
  vulkan.get_instance_proc_addr = get_old;
  refused(&vulkan, FILTRA_ERROR_UNSUPPORTED, "gives no vkGetPhysicalDeviceFeatures2");
}

/* ---- what is shared ---- */

TEST(each_submission_is_locked) {
  static float out[64 * 48];
  const test_calls before = test_called;
  filtra_vulkan_device vulkan = said();
  owned_device *device = test_adopt(&vulkan, "");
  compute(device, out);
  assert_true(test_called.submits > before.submits);
  assert_int_equal(test_called.locked - before.locked, test_called.submits - before.submits);
  assert_int_equal(test_called.unlocked, test_called.locked);
  assert_int_equal(test_called.unguarded, 0);
}

TEST(two_devices_on_one) {
  static float got[2][64 * 48];
  filtra_vulkan_device vulkan = said();
  owned_device *a = test_adopt(&vulkan, ""), *b = test_adopt(&vulkan, "");
  compute(a, got[0]);
  compute(b, got[1]);
  assert_memory_equal(got[0], got[1], sizeof got[0]);
  vulkan.lock = NULL, vulkan.unlock = NULL;
  refused(&vulkan, FILTRA_ERROR_ARGUMENT, "on the same VkQueue has other locks");
  test_close_device(&a);
  assert_int_equal(test_called.destroyed + test_called.waits_idle, 0);
  compute(b, got[0]); /* closing one leaves the other alone */
  assert_memory_equal(got[0], got[1], sizeof got[0]);
}

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static void lock_queue(void *user) {
  pthread_mutex_lock(user);
}
static void unlock_queue(void *user) {
  pthread_mutex_unlock(user);
}

static void *compute_often(void *out) {
  filtra_vulkan_device vulkan = said();
  vulkan.lock = lock_queue, vulkan.unlock = unlock_queue, vulkan.user = &queue_mutex;
  filtra_device *device = test_adopt(&vulkan, "");
  for (int i = 0; i < 3; i++)
    compute(device, out);
  test_close_device(&device);
  return NULL;
}

TEST(two_threads_share_a_queue) {
  static float got[2][64 * 48], want[64 * 48];
  pthread_t thread;
  void (*const counted)(void *) = test_application_open()->said.lock;
  test_application_open()->said.lock = NULL; /* the counting one knows one thread */
  assert_int_equal(pthread_create(&thread, NULL, compute_often, got[0]), 0);
  compute_often(got[1]);
  pthread_join(thread, NULL);
  test_application_open()->said.lock = counted;
  compute(test_device(), want);
  assert_memory_equal(got[0], want, sizeof want);
  assert_memory_equal(got[1], want, sizeof want);
}

/* ---- what goes wrong ---- */

static filtra_device *second;
static void submit_meanwhile(void) {
  assert_fails(ft_buffer_zeroed(second, 4, &(ft_buffer){0}), FILTRA_ERROR_ARGUMENT,
               "two threads submit to one VkQueue at once: the application's lock lets both in");
}
static void lock_nothing(void *user) {
  (void)user;
}

TEST(locks_that_do_not_lock_are_noticed) {
  static float out[64 * 48];
  filtra_vulkan_device vulkan = said();
  vulkan.lock = vulkan.unlock = lock_nothing;
  owned_device *device = test_adopt(&vulkan, "");
  second = test_adopt(&vulkan, "");
  const unsigned before = test_called.submits;
  test_called.on_submit = submit_meanwhile;
  compute(device, out);
  assert_null(test_called.on_submit);
  test_called.unguarded -= test_called.submits - before; /* these locks count nothing */
  test_close_device(&second);
}

TEST(a_lost_device) {
  filtra_vulkan_device vulkan = said();
  owned_device *device = test_adopt(&vulkan, "");
  owned_graph *g = test_graph(device, NULL);
  filtra_tensor *x = test_input(g, "x", 8);
  filtra_graph_output(g, filtra_affine(g, x, 2, 0));
  const float in[8] = {1};
  test_run_graph((filtra_graph_compile(g), g), TEST_SET({x, in}), NULL);
  test_called.submit = VK_ERROR_DEVICE_LOST;
  assert_fails(filtra_graph_execute(g), FILTRA_ERROR_DEVICE_LOST, "was lost (vkQueueSubmit2)");
  test_called.submit = VK_SUCCESS;
  assert_fails(filtra_graph_execute(g), FILTRA_ERROR_DEVICE_LOST, "was lost (earlier)");
  assert_false(test_called.inside);
}

/* What fails half-way is destroyed: the validation layer reports a VkDevice that is destroyed while
 * it has objects. */
TEST(failures_of_opening) {
  const filtra_vulkan_device vulkan = said();
  for (int memory = 0; memory < 2; memory++) {
    int faults = 0;
    for (filtra_status status = FILTRA_ERROR_HOST_MEMORY; status; faults++) {
      filtra_vulkan_needs *needs = NULL;
      filtra_device *device = NULL;
      if (memory)
        ft_memory_fail_after(faults + 1);
      else
        ft_vk_fail_after(faults + 1, VK_ERROR_OUT_OF_HOST_MEMORY);
      status = filtra_vulkan_requirements(&vulkan, &needs);
      if (!status) status = open_device(&vulkan, &device);
      ft_memory_fail_after(0);
      ft_vk_fail_after(0, VK_SUCCESS);
      if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
      filtra_free(needs);
      assert_ok(filtra_device_close(&device));
      assert_true(faults < 100);
    }
    assert_true(faults > 4);
  }
}

TEST_MAIN(NULL, test_application_close)
