/* Submits in order to one queue, waits, and turns Vulkan's results into statuses. Called by graph/,
 * staging.c and train/shards.c. */
#include "gpu/internal.h"

#include "base/file.h"
#include "base/memory.h"

#include <filtra/vulkan.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- results ---- */

static const char *result_text(VkResult result) {
  switch (result) {
  case VK_TIMEOUT:
    return "timed out";
  case VK_ERROR_OUT_OF_HOST_MEMORY:
    return "out of host memory";
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    return "out of device memory";
  case VK_ERROR_INITIALIZATION_FAILED:
    return "initialization failed";
  case VK_ERROR_DEVICE_LOST:
    return "device lost";
  case VK_ERROR_MEMORY_MAP_FAILED:
    return "memory could not be mapped";
  case VK_ERROR_LAYER_NOT_PRESENT:
    return "layer not present";
  case VK_ERROR_EXTENSION_NOT_PRESENT:
    return "extension not present";
  case VK_ERROR_FEATURE_NOT_PRESENT:
    return "feature not present";
  case VK_ERROR_INCOMPATIBLE_DRIVER:
    return "incompatible driver";
  case VK_ERROR_TOO_MANY_OBJECTS:
    return "too many objects";
  case VK_ERROR_INVALID_SHADER_NV:
    return "shader not accepted";
  default:
    return "failed";
  }
}

static filtra_status result_status(VkResult result) {
  switch (result) {
  case VK_ERROR_OUT_OF_HOST_MEMORY:
    return FILTRA_ERROR_HOST_MEMORY;
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
  case VK_ERROR_TOO_MANY_OBJECTS:
  case VK_ERROR_MEMORY_MAP_FAILED:
    return FILTRA_ERROR_DEVICE_MEMORY;
  case VK_ERROR_INITIALIZATION_FAILED:
  case VK_ERROR_INCOMPATIBLE_DRIVER:
    return FILTRA_ERROR_NO_DEVICE;
  default:
    return FILTRA_ERROR_UNSUPPORTED;
  }
}

static filtra_status fail_lost(const filtra_device *dev, const char *call, int length) {
  const char *name = dev ? dev->caps.info.name : ""; /* empty while it is being opened */
  return ft_fail(FILTRA_ERROR_DEVICE_LOST,
                 "device %s%swas lost (%.*s): it hung, was reset or its driver failed; files and "
                 "checkpoints on disk are untouched. Close the device and resume from the last "
                 "checkpoint",
                 name, *name ? " " : "", length, call);
}

/* Waits for the device's own submissions only: an application's VkDevice may have other busy
 * queues. */
static VkResult wait_for(filtra_device *dev, uint64_t ticket) {
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &dev->timeline,
                              .pValues = &ticket};
  return dev->vk.vkWaitSemaphores(dev->device, &info, UINT64_MAX);
}

static void wait_for_all(filtra_device *dev) {
  if (dev->submitted) (void)wait_for(dev, dev->submitted); /* nothing can be done if it fails */
}

filtra_status ft_vk_status(filtra_device *dev, VkResult result, const char *call) {
  if (result >= VK_SUCCESS && result != VK_TIMEOUT) return FILTRA_OK;
  /* Extracts "vkQueueSubmit2" from "dev->vk.vkQueueSubmit2(dev->queue, ...)". */
  int length = (int)strcspn(call, "(");
  const char *name = call + length;
  while (name > call && name[-1] != '.' && name[-1] != '>')
    name--;
  length -= (int)(name - call);
  if (result == VK_ERROR_DEVICE_LOST) {
    if (dev && !dev->lost) {
      dev->lost = true;
      wait_for_all(dev); /* returns soon if the device is lost; then nothing is in use */
    }
    return fail_lost(dev, name, length);
  }
  return ft_fail(result_status(result), "%.*s: %s (VkResult %d)", length, name, result_text(result),
                 (int)result);
}

/* ---- one thread at a time ---- */

static _Thread_local char this_thread; /* its address identifies the thread */

filtra_status ft_enter(filtra_device *dev) {
  if (dev->process != ft_process())
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "device %s was opened by process %ld; a process that it forked must open a "
                   "device, and load models, of its own",
                   dev->caps.info.name, dev->process);
  uintptr_t me = (uintptr_t)&this_thread, nobody = 0;
  if (atomic_load_explicit(&dev->owner, memory_order_relaxed) != me &&
      !atomic_compare_exchange_strong(&dev->owner, &nobody, me))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "device %s is being used by another thread: one at a time per device, with all "
                   "that was made on it; open it twice, or take a lock",
                   dev->caps.info.name);
  dev->entered++;
  return FILTRA_OK;
}

void ft_leave(filtra_device *dev) {
  if (--dev->entered == 0) atomic_store(&dev->owner, 0);
}

/* ---- submission ---- */

static filtra_status refuse_lost(const filtra_device *dev) {
  return dev->lost ? fail_lost(dev, "earlier", 7) : FILTRA_OK;
}

enum { MOST_POINTS = 1 + FILTRA_VULKAN_MOST_SEMAPHORES };

/* Semaphores and values to wait for or signal: the device's own, then the application's. Returns
 * their number. */
static uint32_t points(const filtra_device *dev, uint64_t own, uint32_t count,
                       const VkSemaphore *semaphores, const uint64_t *values,
                       VkSemaphoreSubmitInfo out[MOST_POINTS]) {
  for (uint32_t i = 0; i <= count; i++)
    out[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                     .semaphore = i ? semaphores[i - 1] : dev->timeline,
                                     .value = i ? values[i - 1] : own,
                                     .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  return count + 1;
}

/* Waiting for the previous value of the device's own semaphore orders memory accesses between its
 * submissions. */
static filtra_status submit_to_queue(filtra_device *dev, const VkCommandBufferSubmitInfo *commands,
                                     uint32_t count, const filtra_vulkan_run *first,
                                     const filtra_vulkan_run *last) {
  static const filtra_vulkan_run none;
  VkSemaphoreSubmitInfo waits[MOST_POINTS], signals[MOST_POINTS];
  if (!first) first = &none;
  if (!last) last = &none;
  const uint32_t wait_count =
      points(dev, dev->submitted, first->wait_count, first->wait, first->wait_values, waits);
  const uint32_t signal_count = points(dev, dev->submitted + 1, last->signal_count, last->signal,
                                       last->signal_values, signals);
  const VkSubmitInfo2 job = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                             .waitSemaphoreInfoCount = wait_count,
                             .pWaitSemaphoreInfos = waits,
                             .commandBufferInfoCount = count,
                             .pCommandBufferInfos = commands,
                             .signalSemaphoreInfoCount = signal_count,
                             .pSignalSemaphoreInfos = signals};
  FT_TRY(ft_queue_enter(dev->shared_queue));
  VkResult result = FT_VK_RESULT(dev->vk.vkQueueSubmit2(dev->queue, 1, &job, NULL));
  ft_queue_leave(dev->shared_queue);
  return ft_vk_status(dev, result, "vkQueueSubmit2");
}

static filtra_status submit(filtra_device *dev, const ft_commands *commands, uint32_t count,
                            const filtra_vulkan_run *first, const filtra_vulkan_run *last,
                            uint64_t *ticket) {
  FT_TRY(refuse_lost(dev));
  if (dev->compiler) return ft_fail(FILTRA_ERROR_UNSUPPORTED, "this device only compiles");
  VkCommandBufferSubmitInfo some[8], *infos = some;
  if (count > FT_COUNT(some)) {
    infos = ft_calloc(count, sizeof *infos);
    if (!infos) return FILTRA_ERROR_HOST_MEMORY;
  }
  for (uint32_t i = 0; i < count; i++) {
    infos[i] = (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                           .commandBuffer = commands[i]};
  }
  filtra_status status = submit_to_queue(dev, infos, count, first, last);
  if (infos != some) free(infos);
  if (status) return status;
  *ticket = ++dev->submitted;
  return FILTRA_OK;
}

filtra_status ft_submit_between(filtra_device *dev, const ft_commands *commands, uint32_t count,
                                const filtra_vulkan_run *first, const filtra_vulkan_run *last,
                                uint64_t *ticket) {
  FT_TRY(ft_enter(dev));
  filtra_status status = submit(dev, commands, count, first, last, ticket);
  ft_leave(dev);
  return status;
}

filtra_status ft_submit(filtra_device *dev, const ft_commands *commands, uint32_t count,
                        uint64_t *ticket) {
  return ft_submit_between(dev, commands, count, NULL, NULL, ticket);
}

static filtra_status wait(filtra_device *dev, uint64_t ticket) {
  FT_TRY(refuse_lost(dev));
  if (ticket > dev->submitted) { /* would wait forever */
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "ticket %" PRIu64 " was never given out; the last one is %" PRIu64, ticket,
                   dev->submitted);
  }
  return ft_vk_status(dev, FT_VK_RESULT(wait_for(dev, ticket)), "vkWaitSemaphores");
}

filtra_status ft_wait(filtra_device *dev, uint64_t ticket) {
  FT_TRY(ft_enter(dev));
  filtra_status status = wait(dev, ticket);
  ft_leave(dev);
  return status;
}

bool ft_done(filtra_device *dev, uint64_t ticket) {
  uint64_t value = 0;
  if (dev->lost ||
      FT_VK(dev, dev->vk.vkGetSemaphoreCounterValue(dev->device, dev->timeline, &value)))
    return true;
  return value >= ticket;
}

filtra_status ft_wait_idle(filtra_device *dev) {
  return ft_wait(dev, dev->submitted);
}

/* On CPU drivers, a submission's thread still touches the semaphores that it waited for after the
 * submission is seen to have ended (Mesa 25.0: a crash). Drivers process submissions in turn, so
 * once a later submission without waits has ended, no earlier one touches a semaphore. */
static void submit_nothing(filtra_device *dev) {
  VkSemaphoreSubmitInfo signal[MOST_POINTS];
  VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                          .signalSemaphoreInfoCount =
                              points(dev, dev->submitted + 1, 0, NULL, NULL, signal),
                          .pSignalSemaphoreInfos = signal};
  if (ft_queue_enter(dev->shared_queue)) return;
  if (!dev->vk.vkQueueSubmit2(dev->queue, 1, &submit, NULL)) dev->submitted++;
  ft_queue_leave(dev->shared_queue);
}

void ft_wait_at_last(filtra_device *dev) {
  if (dev->submitted && dev->caps.for_cpu) submit_nothing(dev);
  wait_for_all(dev);
}

void ft_wait_whatever(filtra_device *dev) {
  if (dev->process != ft_process()) return; /* it would wait for the parent's threads */
  wait_for_all(dev);
}
