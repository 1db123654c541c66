/* Test hook: makes the n-th Vulkan call fail. Alone in its file, so that tests/faults can link a
 * replacement. */
#include "gpu/internal.h"

static atomic_long calls_to_fault;
static atomic_int fault_result;

void ft_vk_fail_after(long n, VkResult result) {
  atomic_store(&fault_result, (int)result);
  atomic_store(&calls_to_fault, n);
}

bool ft_vk_faulty(void) {
  if (atomic_load_explicit(&calls_to_fault, memory_order_relaxed) <= 0) return false;
  return atomic_fetch_sub(&calls_to_fault, 1) == 1;
}

VkResult ft_vk_fault(void) {
  return (VkResult)atomic_load(&fault_result);
}
