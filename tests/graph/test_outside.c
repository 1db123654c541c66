/* Graphs that read and write an application's buffers, and run between its semaphores. */
#include "base/memory.h"
#include "graph/program.h"
#include "support/run.h"
#include "support/vulkan.h"

#include <unistd.h>

enum { ROWS = 24, WIDTH = 40, OUT = 16, BEHIND = 64 << 10 };
static float in[ROWS * WIDTH], weights[OUT * WIDTH];

static filtra_device *adopt(const char *caps) {
  filtra_vulkan_device said = test_application_open()->said;
  test_random(3, -1, 1, in, FT_COUNT(in));
  test_random(4, -1, 1, weights, FT_COUNT(weights));
  return test_adopt(&said, caps);
}

/* gelu(x wᵀ), twice through memory of its own. */
static filtra_tensor *layer(filtra_graph *g, filtra_tensor *x, filtra_tensor **w) {
  *w = test_input(g, "w", OUT, WIDTH);
  filtra_tensor *y = filtra_linear(g, x, *w, NULL, NULL);
  return filtra_activate(g, filtra_affine(g, y, 0.5f, 0.25f), FILTRA_ACTIVATION_GELU);
}

/* By the ordinary path, on Filtra's own device. */
static void ordinary(float out[ROWS * OUT]) {
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", ROWS, WIDTH), *w;
  filtra_tensor *y = filtra_graph_output(g, layer(g, x, &w));
  test_compile_and_run(g, TEST_SET({x, in}, {w, weights}), TEST_GET({y, out}));
}

typedef struct shared_graph {
  filtra_graph *graph;
  filtra_tensor *x, *w, *y;
  char *memory; /* of the application's buffer: x at 256, y at 8192 */
  filtra_vulkan_range from, to;
} shared_graph;

/* Both tensors in one buffer of the application. */
static shared_graph share(filtra_device *device) {
  shared_graph s = {.graph = test_graph(device, NULL)};
  s.from = s.to = test_application_buffer(16384 + BEHIND, 0x5a, (void **)&s.memory);
  s.from.offset = 256;
  s.to.offset = 8192;
  s.x = filtra_vulkan_input(s.graph, "x", FILTRA_F32, 2, (int64_t[]){ROWS, WIDTH}, &s.from);
  s.y = filtra_vulkan_output(s.graph, layer(s.graph, s.x, &s.w), &s.to);
  assert_ok(filtra_graph_compile(s.graph));
  assert_ok(ft_graph_check(s.graph));
  memcpy(s.memory + 256, in, sizeof in);
  return s;
}

static void check_result(const shared_graph *s) {
  static float want[ROWS * OUT];
  ordinary(want);
  assert_memory_equal(s->memory + 8192, want, sizeof want);
  assert_memory_equal(s->memory + 256, in, sizeof in);
  for (size_t i = 0; i < 256; i++) /* nothing else is touched */
    assert_int_equal(s->memory[i], 0x5a);
  for (size_t i = 8192 + sizeof want; i < 16384 + BEHIND; i++)
    assert_int_equal(s->memory[i], 0x5a);
}

TEST(buffers_of_the_application) {
  owned_device *device = adopt("");
  shared_graph s = share(device);
  test_run_graph(s.graph, TEST_SET({s.w, weights}), NULL);
  check_result(&s);
  in[7] = 3; /* what the application writes is what the next run reads */
  memcpy(s.memory + 256, in, sizeof in);
  assert_ok(filtra_graph_execute(s.graph));
  check_result(&s);
  filtra_vulkan_range range;
  assert_ok(filtra_vulkan_range_of(s.y, &range));
  assert_memory_equal(&range, &s.to, sizeof range);
  filtra_graph_destroy(&s.graph);
}

/* 16-bit elements, an odd number of them. */
TEST(narrow_elements) {
  owned_device *device = adopt("");
  if (!test_stores(device, FILTRA_BF16)) return; /* skip() would leave it open */
  char *memory;
  filtra_vulkan_range range = test_application_buffer(1024 + BEHIND, 0, (void **)&memory);
  owned_graph *g = test_graph(device, NULL);
  filtra_tensor *x = filtra_vulkan_input(g, "x", FILTRA_BF16, 1, (int64_t[]){5}, &range);
  range.offset = 64;
  filtra_tensor *y = filtra_cast(g, x, FILTRA_F32);
  assert_ptr_equal(filtra_vulkan_output(g, y, &range), y);
  const uint16_t ones[5] = {0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0};
  memcpy(memory, ones, sizeof ones);
  test_compile_and_run(g, NULL, NULL);
  for (int i = 0; i < 5; i++)
    assert_true(((float *)(memory + 64))[i] == (float)(i + 1));
}

/* A graph that writes over its own input: barriers must see that both are the same bytes. */
TEST(places_that_overlap) {
  owned_device *device = adopt("");
  char *memory;
  filtra_vulkan_range range = test_application_buffer(4096 + BEHIND, 0, (void **)&memory);
  owned_graph *g = test_graph(device, NULL);
  filtra_tensor *x = filtra_vulkan_input(g, "x", FILTRA_F32, 1, (int64_t[]){1000}, &range);
  filtra_tensor *sum = filtra_affine(g, x, 2, 1), *over = filtra_affine(g, sum, 1, 1);
  filtra_vulkan_output(g, over, &range);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  assert_true(g->plan->calls[1].barrier);
  for (int k = 1; k < 4; k++) {
    assert_ok(filtra_graph_execute(g));
    assert_true(((float *)memory)[999] == (float)(2 * ((1 << k) - 1)));
  }
}

/* What is written over an input waits for who reads that. */
TEST(places_that_are_read_before) {
  static const float other[1000] = {[999] = 5};
  static float twice[1000];
  owned_device *device = adopt("");
  char *memory;
  filtra_vulkan_range range = test_application_buffer(4096 + BEHIND, 0, (void **)&memory);
  owned_graph *g = test_graph(device, NULL);
  filtra_tensor *x = filtra_vulkan_input(g, "x", FILTRA_F32, 1, (int64_t[]){1000}, &range);
  filtra_tensor *z = test_input(g, "z", 1000);
  filtra_tensor *y = filtra_graph_output(g, filtra_affine(g, x, 2, 0));
  filtra_vulkan_output(g, filtra_affine(g, z, 3, 0), &range);
  ((float *)memory)[999] = 7;
  test_compile_and_run(g, TEST_SET({z, other}), TEST_GET({y, twice}));
  assert_true(g->plan->calls[1].barrier);
  assert_true(twice[999] == 14 && ((float *)memory)[999] == 15);
}

static void copy_over(VkBuffer from, VkDeviceSize from_offset, VkBuffer to, VkDeviceSize to_offset,
                      VkDeviceSize bytes);

TEST(buffers_of_filtra) {
  owned_device *device = adopt("");
  owned_graph *g = test_graph(device, NULL);
  filtra_tensor *w;
  filtra_tensor *x = filtra_vulkan_input(g, "x", FILTRA_F32, 2, (int64_t[]){ROWS, WIDTH}, NULL);
  filtra_tensor *y = filtra_vulkan_output(g, layer(g, x, &w), NULL);
  assert_ok(filtra_graph_compile(g));
  filtra_vulkan_range at_x, at_y;
  assert_ok(filtra_vulkan_range_of(x, &at_x));
  assert_ok(filtra_vulkan_range_of(y, &at_y));
  assert_true(at_x.usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
  assert_true(at_x.size >= at_x.offset + sizeof in && at_x.buffer != at_y.buffer);
  char *memory;
  static float want[ROWS * OUT];
  const filtra_vulkan_range own = test_application_buffer(8192, 0, (void **)&memory);
  memcpy(memory, in, sizeof in);
  copy_over(own.buffer, 0, at_x.buffer, at_x.offset, sizeof in);
  test_run_graph(g, TEST_SET({w, weights}), NULL);
  copy_over(at_y.buffer, at_y.offset, own.buffer, 0, sizeof want);
  ordinary(want);
  assert_memory_equal(memory, want, sizeof want);
}

/* ---- the application's own commands ---- */

/* Submits a copy between two values of a timeline, as the application would. */
static void submit_copy(VkCommandPool pool, VkBuffer from, VkDeviceSize from_offset, VkBuffer to,
                        VkDeviceSize to_offset, VkDeviceSize bytes, VkSemaphore timeline,
                        uint64_t wait, uint64_t signal) {
  const test_application *a = test_application_open();
  const VkCommandBufferAllocateInfo allocate = {.sType =
                                                    VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                .commandPool = pool,
                                                .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                .commandBufferCount = 1};
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  const VkBufferCopy region = {from_offset, to_offset, bytes};
  const VkMemoryBarrier2 to_host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                    .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                    .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                    .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                    .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
  const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                       .memoryBarrierCount = 1,
                                       .pMemoryBarriers = &to_host};
  VkCommandBuffer commands;
  a->vk.vkAllocateCommandBuffers(a->said.device, &allocate, &commands);
  a->vk.vkBeginCommandBuffer(commands, &begin);
  a->vk.vkCmdCopyBuffer(commands, from, to, 1, &region);
  a->vk.vkCmdPipelineBarrier2(commands, &dependency);
  a->vk.vkEndCommandBuffer(commands);
  VkSemaphoreSubmitInfo points[2];
  for (int i = 0; i < 2; i++)
    points[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                        .semaphore = timeline,
                                        .value = i ? signal : wait,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  const VkCommandBufferSubmitInfo what = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                          .commandBuffer = commands};
  const VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = 1,
                                .pWaitSemaphoreInfos = &points[0],
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &what,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &points[1]};
  assert_int_equal(a->vk.vkQueueSubmit2(a->said.queue, 1, &submit, NULL), VK_SUCCESS);
}

static VkCommandPool make_pool(void) {
  const test_application *a = test_application_open();
  const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandPool pool;
  assert_int_equal(a->vk.vkCreateCommandPool(a->said.device, &info, NULL, &pool), VK_SUCCESS);
  return pool;
}

static void wait_for(VkSemaphore timeline, uint64_t value) {
  const test_application *a = test_application_open();
  const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .semaphoreCount = 1,
                                    .pSemaphores = &timeline,
                                    .pValues = &value};
  assert_int_equal(a->vk.vkWaitSemaphores(a->said.device, &info, UINT64_MAX), VK_SUCCESS);
}

static void copy_over(VkBuffer from, VkDeviceSize from_offset, VkBuffer to, VkDeviceSize to_offset,
                      VkDeviceSize bytes) {
  const test_application *a = test_application_open();
  VkSemaphore timeline = test_timeline();
  VkCommandPool pool = make_pool();
  submit_copy(pool, from, from_offset, to, to_offset, bytes, timeline, 0, 1);
  wait_for(timeline, 1);
  a->vk.vkDestroyCommandPool(a->said.device, pool, NULL);
  test_timeline_destroy(timeline);
}

/* ---- semaphores ---- */

static filtra_vulkan_run between(const VkSemaphore *timeline, const uint64_t *wait,
                                 const uint64_t *signal) {
  return (filtra_vulkan_run){.wait_count = wait != NULL,
                             .wait = timeline,
                             .wait_values = wait,
                             .signal_count = signal != NULL,
                             .signal = timeline,
                             .signal_values = signal};
}

/* The run is submitted before what it waits for has happened; long ones as several jobs. */
static void runs_wait_and_signal(void **state) {
  owned_device *device = adopt(*state);
  shared_graph s = share(device);
  VkSemaphore timeline = test_timeline();
  assert_ok(filtra_graph_set(s.graph, s.w, weights));
  memset(s.memory + 256, 0, sizeof in);
  for (uint64_t k = 0; k < 4; k++) {
    const uint64_t begin = 2 * k + 1, end = 2 * k + 2;
    const filtra_vulkan_run run = between(&timeline, &begin, &end);
    uint64_t ticket;
    assert_ok(filtra_vulkan_submit(s.graph, &run, &ticket));
    assert_false(filtra_graph_done(s.graph, ticket));
    memcpy(s.memory + 256, in, sizeof in); /* in time, since the run still waits */
    test_timeline_set(timeline, begin);
    assert_ok(filtra_graph_wait(s.graph, ticket));
    wait_for(timeline, end);
    assert_int_equal(test_timeline_value(timeline), end);
    check_result(&s);
    memset(s.memory + 256, 0, sizeof in);
  }
  memcpy(s.memory + 256, in, sizeof in);
  assert_ok(filtra_graph_execute(s.graph)); /* measured at last, where that is done */
  check_result(&s);
  const uint64_t last = 9;
  const filtra_vulkan_run run = between(&timeline, NULL, &last);
  assert_ok(filtra_vulkan_submit(s.graph, &run, NULL));
  wait_for(timeline, last);
  check_result(&s);
  filtra_graph_destroy(&s.graph);
  test_timeline_destroy(timeline);
}
TEST_OF(runs_wait_and_signal, "")
TEST_OF(runs_wait_and_signal, "submission_ms=1")

/* Neither a graph nor a copy before it that waits for the host keeps submitting from returning. */
static void submitting_never_waits(bool copy) {
  owned_device *device = adopt("submission_ms=100");
  shared_graph s = share(device), other = share(device);
  VkSemaphore timeline = test_timeline();
  VkCommandPool pool = make_pool();
  const uint64_t begin = 1, end = 2;
  const filtra_vulkan_run run = between(&timeline, &begin, &end);
  assert_ok(filtra_graph_set(s.graph, s.w, weights));
  assert_ok(filtra_graph_set(other.graph, other.w, weights));
  alarm(60); /* instead of a test that does not end */
  if (copy)
    submit_copy(pool, s.from.buffer, 256, s.from.buffer, 12288, 64, timeline, begin, end);
  else
    assert_ok(filtra_vulkan_submit(s.graph, &run, NULL));
  uint64_t tickets[2];
  assert_ok(filtra_vulkan_submit(other.graph, &(filtra_vulkan_run){0}, &tickets[0]));
  assert_ok(filtra_graph_submit(other.graph, &tickets[1]));
  assert_false(filtra_graph_done(other.graph, tickets[0]));
  alarm(0);
  test_timeline_set(timeline, begin);
  for (int i = 0; i < 2; i++)
    assert_ok(filtra_graph_wait(other.graph, tickets[i]));
  check_result(&other);
  wait_for(timeline, end);
  filtra_graph_destroy(&s.graph);
  filtra_graph_destroy(&other.graph);
  test_application_open()->vk.vkDestroyCommandPool(test_application_open()->said.device, pool,
                                                   NULL);
  test_timeline_destroy(timeline);
}
TEST(submitting_after_a_graph_that_waits) {
  submitting_never_waits(false);
}
TEST(submitting_after_commands_that_wait) {
  submitting_never_waits(true);
}

/* Copy in, run, copy out, all submitted at once: nothing waits on the host between. */
TEST(between_commands_of_the_application) {
  static float want[ROWS * OUT];
  owned_device *device = adopt("");
  shared_graph s = share(device);
  memset(s.memory + 256, 0, sizeof in);
  const test_application *a = test_application_open();
  char *memory;
  const filtra_vulkan_range own = test_application_buffer(16384, 0, (void **)&memory);
  VkSemaphore timeline = test_timeline();
  VkCommandPool pool = make_pool();
  const uint64_t drawn = 1, filtered = 2;
  const filtra_vulkan_run run = between(&timeline, &drawn, &filtered);
  memcpy(memory, in, sizeof in);
  assert_ok(filtra_graph_set(s.graph, s.w, weights));
  submit_copy(pool, own.buffer, 0, s.from.buffer, 256, sizeof in, timeline, 0, drawn);
  assert_ok(filtra_vulkan_submit(s.graph, &run, NULL));
  submit_copy(pool, s.to.buffer, 8192, own.buffer, 8192, sizeof want, timeline, filtered, 3);
  wait_for(timeline, 3);
  ordinary(want);
  assert_memory_equal(memory + 8192, want, sizeof want);
  filtra_graph_destroy(&s.graph);
  a->vk.vkDestroyCommandPool(a->said.device, pool, NULL);
  test_timeline_destroy(timeline);
}

/* ---- what is refused ---- */

static void refused_input(filtra_device *device, const filtra_vulkan_range *range,
                          const char *part) {
  filtra_graph *g = test_graph(device, NULL);
  filtra_tensor *x = filtra_vulkan_input(g, "image", FILTRA_F32, 1, (int64_t[]){64}, range);
  test_refuse(&g, x, part);
}

TEST(buffers_that_do_not_fit) {
  owned_device *device = adopt("");
  void *memory;
  const filtra_vulkan_range good = test_application_buffer(512 + BEHIND, 0, &memory);
  filtra_vulkan_range bad = good;
  bad.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
  refused_input(device, &bad,
                "input image: the buffer was made without "
                "VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT");
  bad = good;
  bad.size += 1 << 20;
  refused_input(device, &bad, "the buffer's size is said to be");
  bad = good;
  bad.offset = good.size - 192;
  refused_input(device, &bad, "256 bytes at 65856, and ");
  bad.offset = UINT64_MAX - 63;
  refused_input(device, &bad, "leave the buffer's");
  bad = good;
  bad.offset = 4;
  refused_input(device, &bad, "their sum must be a multiple of 64");
  bad = good;
  bad.buffer = VK_NULL_HANDLE;
  refused_input(device, &bad, "the buffer is NULL");
  bad = good;
  bad.reserved[3] = 1;
  refused_input(device, &bad, "reserved[3]");
  refused_input(test_device(), &good, "the device is Filtra's own");
  refused_input(test_device(), NULL, "the device is Filtra's own");
}

TEST(outputs_that_cannot_leave) {
  owned_device *device = adopt("");
  filtra_graph *g = test_graph(device, NULL);
  filtra_tensor *x = test_input(g, "x", 4, 6), *none = filtra_vulkan_output(g, x, NULL);
  test_refuse(&g, none, "output x: it is an input, a parameter or an output already");
  g = test_graph(device, NULL);
  x = filtra_affine(g, test_input(g, "x", 4, 6), 2, 0);
  filtra_tensor *halves[2];
  filtra_chunk(g, x, 2, halves);
  none = filtra_vulkan_output(g, halves[1], NULL);
  test_refuse(&g, none, "it is a part of another tensor or stored in another order");
  g = test_graph(device, NULL);
  x = filtra_vulkan_output(g, filtra_affine(g, test_input(g, "x", 4), 2, 0), NULL);
  none = filtra_graph_output(g, x);
  test_refuse(&g, none, "it lies in a buffer of filtra_vulkan_input or filtra_vulkan_output");
  for (int view = 0; view < 2; view++) { /* the buffer may not be one to copy from */
    g = test_graph(device, NULL);
    x = filtra_vulkan_input(g, "x", FILTRA_F32, 2, (int64_t[]){4, 6}, NULL);
    filtra_chunk(g, x, 2, halves);
    none = filtra_graph_output(g, view ? halves[1] : x);
    test_refuse(&g, none, "filtra_vulkan_input or filtra_vulkan_output; filtra_permute");
  }
  g = test_graph(device, NULL);
  filtra_vulkan_range range;
  x = test_input(g, "x", 4);
  assert_fails(filtra_vulkan_range_of(x, &range), FILTRA_ERROR_ARGUMENT, "x is no tensor of");
  x = filtra_vulkan_input(g, "y", FILTRA_F32, 2, (int64_t[]){4, 6}, NULL);
  filtra_chunk(g, x, 2, halves);
  assert_ok(filtra_vulkan_range_of(x, &range));
  for (int i = 0; i < 2; i++)
    assert_fails(filtra_vulkan_range_of(halves[i], &range), FILTRA_ERROR_ARGUMENT,
                 "is a part of another tensor or stored in another order");
  filtra_graph_destroy(&g);
}

TEST(ports_are_the_applications) {
  owned_device *device = adopt("");
  shared_graph s = share(device);
  float out[ROWS * OUT];
  assert_fails(filtra_graph_set(s.graph, s.x, in), FILTRA_ERROR_ARGUMENT,
               "not an input of this graph but lies in a buffer");
  test_run_graph(s.graph, TEST_SET({s.w, weights}), NULL);
  assert_fails(filtra_graph_get(s.graph, s.y, out), FILTRA_ERROR_ARGUMENT,
               "not an output of this graph but lies in a buffer");
  filtra_tensor *late = filtra_vulkan_input(s.graph, "late", FILTRA_F32, 1, (int64_t[]){4}, NULL);
  assert_null(late);
  assert_string_equal(s.graph->error, "input late: the graph is compiled");
  filtra_graph_destroy(&s.graph);
}

TEST(runs_that_are_refused) {
  owned_device *device = adopt("");
  shared_graph s = share(device);
  const VkSemaphore none = VK_NULL_HANDLE;
  const uint64_t value = 1;
  assert_ok(filtra_graph_set(s.graph, s.w, weights));
  filtra_vulkan_run run = between(&none, &value, NULL);
  assert_fails(filtra_vulkan_submit(s.graph, &run, NULL), FILTRA_ERROR_ARGUMENT, "wait[0] is NULL");
  run = between(&none, NULL, &value);
  run.signal_values = NULL;
  assert_fails(filtra_vulkan_submit(s.graph, &run, NULL), FILTRA_ERROR_ARGUMENT,
               "signal_values is NULL and signal_count 1");
  run.signal_count = 17;
  assert_fails(filtra_vulkan_submit(s.graph, &run, NULL), FILTRA_ERROR_ARGUMENT,
               "signal_count is 17, accepted are 0 to 16");
  run = (filtra_vulkan_run){.reserved = {1}};
  assert_fails(filtra_vulkan_submit(s.graph, &run, NULL), FILTRA_ERROR_ARGUMENT, "reserved[0]");
  run = (filtra_vulkan_run){0};
  owned_graph *own = test_graph(test_device(), NULL);
  assert_fails(filtra_vulkan_submit(own, &run, NULL), FILTRA_ERROR_ARGUMENT, "Filtra's own");
  filtra_graph_destroy(&s.graph);
}

/* Each allocation of host memory, and each call of Vulkan's, fails once. */
TEST(failures_of_recording_and_running) {
  owned_device *device = adopt("");
  void *memory;
  const filtra_vulkan_range range = test_application_buffer(4096 + BEHIND, 0, &memory);
  for (int kind = 0; kind < 2; kind++) {
    int faults = 0;
    for (filtra_status status = FILTRA_ERROR_HOST_MEMORY; status; faults++) {
      owned_graph *g = test_graph(device, NULL);
      if (kind)
        ft_memory_fail_after(faults + 1);
      else
        ft_vk_fail_after(faults + 1, VK_ERROR_OUT_OF_HOST_MEMORY);
      filtra_tensor *x = filtra_vulkan_input(g, "x", FILTRA_F32, 1, (int64_t[]){64}, NULL);
      filtra_vulkan_output(g, filtra_affine(g, x, 2, 1), &range);
      status = filtra_graph_compile(g);
      if (!status) status = filtra_vulkan_submit(g, &(filtra_vulkan_run){0}, NULL);
      ft_memory_fail_after(0);
      ft_vk_fail_after(0, VK_SUCCESS);
      if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
      assert_true(faults < 100);
    }
    assert_true(faults > 4);
  }
}

TEST_MAIN(NULL, test_application_close)
