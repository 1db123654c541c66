/* Filtra on an application's own VkDevice: the application's commands draw images, Filtra filters
 * them by a graph, and the application's commands read them back. No image is copied for Filtra,
 * and the host waits once, at the end.
 *
 *   own_device [FRAMES]
 *
 * A bright square moves over FRAMES (3) images of 32 x 32 numbers. The graph is two steps of
 * diffusion, a low-pass filter of the grid's graph: Y = A X A with A = (I + P) / 2 twice, P the
 * mean over neighbours. The program loads Vulkan by volk (Debian: libvulkan-volk-dev). */
#define VOLK_IMPLEMENTATION
#include <volk.h>
/* volk.h comes first: it replaces Vulkan's functions before Filtra's header includes its types. */
#include <filtra/filtra.h>
#include <filtra/vulkan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, SQUARE = 8, BYTES = SIDE * SIDE * sizeof(float), MOST_FRAMES = 16 };

/* An example may just exit; a program would destroy its objects and go on. */
static void check(filtra_status status) {
  if (!status) return;
  fprintf(stderr, "own_device: %s: %s\n", filtra_status_name(status), filtra_error_message());
  exit(EXIT_FAILURE);
}
static void check_vulkan(VkResult result, const char *call) {
  if (result == VK_SUCCESS) return;
  fprintf(stderr, "own_device: %s: VkResult %d\n", call, (int)result);
  exit(EXIT_FAILURE);
}
#define VK(call) check_vulkan(call, #call)

/* ---- the application's Vulkan ---- */

typedef struct application {
  filtra_vulkan_device vulkan;
  filtra_vulkan_needs *needs;
  VkCommandPool pool;
  VkSemaphore timeline; /* 3 n + 1: image n is drawn, + 2: filtered, + 3: read */
  VkBuffer drawn, filtered, read;
  VkDeviceMemory memory[3];
  VkDeviceSize size; /* of the first two */
  float *result;     /* the content of `read`, image after image */
} application;

static uint32_t compute_family(VkPhysicalDevice device) {
  VkQueueFamilyProperties families[16];
  uint32_t count = 16;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families);
  for (uint32_t i = 0; i < count; i++)
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) return i;
  fprintf(stderr, "own_device: the device does not compute\n");
  exit(EXIT_FAILURE);
}

static void make_instance(application *a) {
  filtra_vulkan_needs *needs;
  check(filtra_vulkan_requirements(NULL, &needs));
  a->vulkan.api_version = needs->api_version;
  VK(vkCreateInstance(
      &(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                              .pApplicationInfo =
                                  &(VkApplicationInfo){.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                                       .pApplicationName = "own_device",
                                                       .apiVersion = needs->api_version},
                              .enabledExtensionCount = needs->instance_extension_count,
                              .ppEnabledExtensionNames = needs->instance_extensions},
      NULL, &a->vulkan.instance));
  filtra_free(needs);
  volkLoadInstance(a->vulkan.instance);
}

/* Chooses the first device. An application adds the features and extensions that it needs
 * itself. */
static void make_device(application *a) {
  uint32_t one = 1;
  vkEnumeratePhysicalDevices(a->vulkan.instance, &one, &a->vulkan.physical_device);
  a->vulkan.get_instance_proc_addr = vkGetInstanceProcAddr;
  check(filtra_vulkan_requirements(&a->vulkan, &a->needs));
  a->vulkan.features = a->needs->features;
  a->vulkan.extensions = a->needs->extensions;
  a->vulkan.extension_count = a->needs->extension_count;
  a->vulkan.queue_family = compute_family(a->vulkan.physical_device);
  VK(vkCreateDevice(
      a->vulkan.physical_device,
      &(VkDeviceCreateInfo){
          .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
          .pNext = a->vulkan.features,
          .queueCreateInfoCount = 1,
          .pQueueCreateInfos =
              &(VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = a->vulkan.queue_family,
                                         .queueCount = 1,
                                         .pQueuePriorities = &(float){1}},
          .enabledExtensionCount = a->vulkan.extension_count,
          .ppEnabledExtensionNames = a->vulkan.extensions},
      NULL, &a->vulkan.device));
  volkLoadDevice(a->vulkan.device);
  vkGetDeviceQueue(a->vulkan.device, a->vulkan.queue_family, 0, &a->vulkan.queue);
}

static uint32_t memory_type(const application *a, uint32_t bits, VkMemoryPropertyFlags wanted) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(a->vulkan.physical_device, &memory);
  for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
    if ((bits & 1u << i) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  return 0;
}

static VkBuffer make_buffer(application *a, int index, VkDeviceSize size, VkBufferUsageFlags usage,
                            VkMemoryPropertyFlags wanted) {
  VkBuffer buffer;
  VkMemoryRequirements needed;
  const VkMemoryAllocateFlagsInfo address = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VK(vkCreateBuffer(a->vulkan.device,
                    &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                          .size = size,
                                          .usage = usage},
                    NULL, &buffer));
  vkGetBufferMemoryRequirements(a->vulkan.device, buffer, &needed);
  VK(vkAllocateMemory(
      a->vulkan.device,
      &(VkMemoryAllocateInfo){.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                              .pNext = &address,
                              .allocationSize = needed.size,
                              .memoryTypeIndex = memory_type(a, needed.memoryTypeBits, wanted)},
      NULL, &a->memory[index]));
  VK(vkBindBufferMemory(a->vulkan.device, buffer, a->memory[index], 0));
  return buffer;
}

enum {
  DRAWN_USAGE = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
  FILTERED_USAGE = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT
};

static void make_objects(application *a, uint32_t frames) {
  const VkDevice device = a->vulkan.device;
  void *mapped;
  a->size = BYTES + a->needs->bytes_after;
  a->drawn = make_buffer(a, 0, a->size, DRAWN_USAGE, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  a->filtered = make_buffer(a, 1, a->size, FILTERED_USAGE, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  a->read =
      make_buffer(a, 2, frames * (VkDeviceSize)BYTES,
                  VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
                  VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  VK(vkMapMemory(device, a->memory[2], 0, VK_WHOLE_SIZE, 0, &mapped));
  a->result = mapped;
  VK(vkCreateCommandPool(
      device,
      &(VkCommandPoolCreateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                 .queueFamilyIndex = a->vulkan.queue_family},
      NULL, &a->pool));
  const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VK(vkCreateSemaphore(
      device,
      &(VkSemaphoreCreateInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type},
      NULL, &a->timeline));
}

static void end_application(application *a) {
  const VkDevice device = a->vulkan.device;
  vkDeviceWaitIdle(device);
  vkDestroySemaphore(device, a->timeline, NULL);
  vkDestroyCommandPool(device, a->pool, NULL);
  for (int i = 0; i < 3; i++) {
    vkDestroyBuffer(device, (VkBuffer[]){a->drawn, a->filtered, a->read}[i], NULL);
    vkFreeMemory(device, a->memory[i], NULL);
  }
  vkDestroyDevice(device, NULL);
  vkDestroyInstance(a->vulkan.instance, NULL);
  filtra_free(a->needs);
}

/* ---- its commands ---- */

static VkCommandBuffer begin(const application *a) {
  VkCommandBuffer commands;
  VK(vkAllocateCommandBuffers(
      a->vulkan.device,
      &(VkCommandBufferAllocateInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                     .commandPool = a->pool,
                                     .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                     .commandBufferCount = 1},
      &commands));
  VK(vkBeginCommandBuffer(
      commands, &(VkCommandBufferBeginInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO}));
  return commands;
}

static void barrier(VkCommandBuffer commands, VkPipelineStageFlags2 to, VkAccessFlags2 access) {
  const VkMemoryBarrier2 memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                   .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                   .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                   .dstStageMask = to,
                                   .dstAccessMask = access};
  vkCmdPipelineBarrier2(commands, &(VkDependencyInfo){.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                                      .memoryBarrierCount = 1,
                                                      .pMemoryBarriers = &memory});
}

/* Submits the commands between two values of the timeline. */
static void submit(const application *a, VkCommandBuffer commands, uint64_t wait, uint64_t signal) {
  VkSemaphoreSubmitInfo points[2];
  VK(vkEndCommandBuffer(commands));
  for (int i = 0; i < 2; i++)
    points[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                        .semaphore = a->timeline,
                                        .value = i ? signal : wait,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  const VkCommandBufferSubmitInfo what = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                          .commandBuffer = commands};
  VK(vkQueueSubmit2(a->vulkan.queue, 1,
                    &(VkSubmitInfo2){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                     .waitSemaphoreInfoCount = 1,
                                     .pWaitSemaphoreInfos = &points[0],
                                     .commandBufferInfoCount = 1,
                                     .pCommandBufferInfos = &what,
                                     .signalSemaphoreInfoCount = 1,
                                     .pSignalSemaphoreInfos = &points[1]},
                    VK_NULL_HANDLE));
}

/* The square's first column, which is also its first row. */
static uint32_t corner(uint32_t frame) {
  return 4 + frame;
}

static void draw(const application *a, uint32_t frame) {
  const float white = 1;
  uint32_t bits;
  memcpy(&bits, &white, sizeof bits);
  VkCommandBuffer commands = begin(a);
  vkCmdFillBuffer(commands, a->drawn, 0, BYTES, 0);
  barrier(commands, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
  for (uint32_t row = corner(frame); row < corner(frame) + SQUARE; row++)
    vkCmdFillBuffer(commands, a->drawn, (row * SIDE + corner(frame)) * sizeof white,
                    SQUARE * sizeof white, bits);
  submit(a, commands, 3 * frame, 3 * frame + 1);
}

static void read_back(const application *a, uint32_t frame) {
  VkCommandBuffer commands = begin(a);
  vkCmdCopyBuffer(commands, a->filtered, a->read, 1,
                  &(VkBufferCopy){.dstOffset = frame * (VkDeviceSize)BYTES, .size = BYTES});
  barrier(commands, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
  submit(a, commands, 3 * frame + 2, 3 * frame + 3);
}

/* ---- the filter ---- */

/* Two steps of diffusion along an axis; values beyond the border equal those on it. */
static void make_diffusion(float a[SIDE][SIDE]) {
  static float once[SIDE][SIDE];
  for (int i = 0; i < SIDE; i++) {
    once[i][i] += 0.5f;
    once[i][i > 0 ? i - 1 : 0] += 0.25f;
    once[i][i + 1 < SIDE ? i + 1 : i] += 0.25f;
  }
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++)
      for (int k = 0; k < SIDE; k++)
        a[i][j] += once[i][k] * once[k][j];
}

/* Reads the application's one buffer and writes the other. filtra_linear is x wᵀ, A is symmetric:
 * along the rows, then, transposed, along the columns. */
static filtra_graph *make_graph(filtra_device *device, const application *a,
                                float diffusion[SIDE][SIDE]) {
  const int64_t shape[] = {SIDE, SIDE};
  const filtra_vulkan_range from = {.buffer = a->drawn, .usage = DRAWN_USAGE, .size = a->size};
  const filtra_vulkan_range to = {.buffer = a->filtered, .usage = FILTERED_USAGE, .size = a->size};
  filtra_graph *g;
  check(filtra_graph_create(device, NULL, &g));
  filtra_tensor *x = filtra_vulkan_input(g, "image", FILTRA_F32, 2, shape, &from);
  filtra_tensor *w = filtra_graph_input(g, "diffusion", FILTRA_F32, 2, shape);
  filtra_tensor *y = filtra_transpose(g, filtra_linear(g, x, w, NULL, NULL), 0, 1);
  y = filtra_transpose(g, filtra_linear(g, y, w, NULL, NULL), 0, 1);
  filtra_vulkan_output(g, y, &to);
  check(filtra_graph_compile(g));
  check(filtra_graph_set(g, w, diffusion));
  return g;
}

static void filter(filtra_graph *g, const application *a, uint32_t frame) {
  const uint64_t drawn = 3 * frame + 1, filtered = drawn + 1;
  check(filtra_vulkan_submit(g,
                             &(filtra_vulkan_run){.wait_count = 1,
                                                  .wait = &a->timeline,
                                                  .wait_values = &drawn,
                                                  .signal_count = 1,
                                                  .signal = &a->timeline,
                                                  .signal_values = &filtered},
                             NULL));
}

/* ---- the result ---- */

/* The host's result for the same image. */
static float expected(float a[SIDE][SIDE], uint32_t frame, int row, int column) {
  float rows = 0, columns = 0;
  for (uint32_t i = corner(frame); i < corner(frame) + SQUARE; i++) {
    rows += a[row][i];
    columns += a[i][column];
  }
  return rows * columns;
}

static void check_images(const application *a, float diffusion[SIDE][SIDE], uint32_t frames) {
  float largest = 0;
  for (uint32_t n = 0; n < frames; n++)
    for (int i = 0; i < SIDE * SIDE; i++) {
      float gap = a->result[n * SIDE * SIDE + i] - expected(diffusion, n, i / SIDE, i % SIDE);
      if (gap < 0) gap = -gap;
      if (!(gap <= largest)) largest = gap; /* catches NaN */
    }
  for (int i = 0; i < SIDE; i += 2) { /* the last image, printed by every other row */
    for (int k = 0; k < SIDE; k++)
      putchar(" .:-=+*#%@"[(int)(9.49f * a->result[((frames - 1) * SIDE + i) * SIDE + k])]);
    putchar('\n');
  }
  printf("%u images, at most %.1e from the host's\n", frames, (double)largest);
  if (!(largest < 1e-5f)) exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
  static float diffusion[SIDE][SIDE];
  application a = {0};
  uint32_t frames = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 3;
  if (frames < 1 || frames > MOST_FRAMES) {
    fprintf(stderr, "own_device: FRAMES is a number from 1 to %d\n", MOST_FRAMES);
    return EXIT_FAILURE;
  }
  VK(volkInitialize());
  make_instance(&a);
  make_device(&a);
  make_objects(&a, frames);
  filtra_device *device;
  check(filtra_vulkan_open(&a.vulkan, NULL, &device));
  make_diffusion(diffusion);
  filtra_graph *g = make_graph(device, &a, diffusion);
  for (uint32_t n = 0; n < frames; n++) {
    draw(&a, n);
    filter(g, &a, n);
    read_back(&a, n);
  }
  const uint64_t last = 3 * (uint64_t)frames;
  VK(vkWaitSemaphores(a.vulkan.device,
                      &(VkSemaphoreWaitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                             .semaphoreCount = 1,
                                             .pSemaphores = &a.timeline,
                                             .pValues = &last},
                      UINT64_MAX));
  check_images(&a, diffusion, frames);
  filtra_graph_destroy(&g);
  check(filtra_device_close(&device));
  end_application(&a);
  return EXIT_SUCCESS;
}
