/* Matrix units (VK_KHR_cooperative_matrix): their shapes and subgroup size. */
#include "gpu/matrix.h"

#include "base/memory.h"
#include "gpu/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The smallest subgroup size, which matrix kernels require: on Intel's devices matrix units support
 * no other, on all others they support any. */
uint32_t ft_matrix_lanes(const ft_caps *caps) {
  return caps->subgroup_least;
}

ft_matrix_shape ft_matrix_shape_of(const ft_caps *caps, filtra_dtype type) {
  const ft_matrix_shape none = {0};
  if (caps->matrix_use == FT_MATRIX_OFF) return none;
  return type == FILTRA_F16 ? caps->matrix_f16 : type == FILTRA_BF16 ? caps->matrix_bf16 : none;
}

bool ft_matrix_used(const ft_caps *caps) {
  return caps->matrix && (ft_matrix_shape_of(caps, FILTRA_F16).m != 0 ||
                          ft_matrix_shape_of(caps, FILTRA_BF16).m != 0);
}

/* Whether kernels can divide tiles into this shape. */
static bool fits(ft_matrix_shape s) {
  enum { MOST = 16, UNIT = 8 };
  return s.m && s.n && s.k && s.m <= MOST && s.n <= MOST && s.k <= MOST && s.m % UNIT == 0 &&
         s.n % UNIT == 0 && s.k % UNIT == 0;
}

const char *ft_matrix_shape_text(ft_matrix_shape s, char text[FT_MATRIX_TEXT]) {
  snprintf(text, FT_MATRIX_TEXT, s.m ? "%ux%ux%u" : "none", s.m, s.n, s.k);
  return text;
}

bool ft_matrix_shape_read(const char *text, ft_matrix_shape *shape) {
  char again[FT_MATRIX_TEXT];
  ft_matrix_shape s = {0};
  if (sscanf(text, "%2ux%2ux%2u", &s.m, &s.n, &s.k) != 3 || !fits(s)) return false;
  if (strcmp(ft_matrix_shape_text(s, again), text)) return false;
  *shape = s;
  return true;
}

/* Chooses, among shapes that fit, the one with the largest inner dimension, then the smallest:
 * larger ones are built from it. */
static ft_matrix_shape choose(const VkCooperativeMatrixPropertiesKHR *list, uint32_t count,
                              VkComponentTypeKHR type) {
  ft_matrix_shape best = {0};
  for (uint32_t i = 0; i < count; i++) {
    const VkCooperativeMatrixPropertiesKHR *p = &list[i];
    if (p->AType != type || p->BType != type || p->CType != VK_COMPONENT_TYPE_FLOAT32_KHR ||
        p->ResultType != VK_COMPONENT_TYPE_FLOAT32_KHR || p->scope != VK_SCOPE_SUBGROUP_KHR ||
        p->saturatingAccumulation)
      continue;
    const ft_matrix_shape s = {p->MSize, p->NSize, p->KSize};
    if (fits(s) && (s.k > best.k || (s.k == best.k && s.m * s.n < best.m * best.n))) best = s;
  }
  return best;
}

filtra_status ft_matrix_ask(ft_instance *instance, VkPhysicalDevice physical, ft_caps *caps) {
  PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR ask =
      instance->vk.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  uint32_t count = 0;
  caps->matrix_f16 = caps->matrix_bf16 = (ft_matrix_shape){0};
  if (!caps->matrix || !ask) return FILTRA_OK;
  FT_TRY(FT_VK(NULL, ask(physical, &count, NULL)));
  VkCooperativeMatrixPropertiesKHR *list = ft_calloc(count + 1, sizeof *list);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t i = 0; i < count; i++)
    list[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  filtra_status status = FT_VK(NULL, ask(physical, &count, list));
  if (!status) {
    caps->matrix_f16 = choose(list, count, VK_COMPONENT_TYPE_FLOAT16_KHR);
    if (caps->bfloat16) caps->matrix_bf16 = choose(list, count, VK_COMPONENT_TYPE_BFLOAT16_KHR);
  }
  free(list);
  return status;
}
