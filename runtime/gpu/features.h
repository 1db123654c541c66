/* Features and extensions of a VkDevice: what a driver supports, what Filtra enables, and what an
 * application says that it enabled. */
#ifndef FT_GPU_FEATURES_H
#define FT_GPU_FEATURES_H

#include "gpu/gpu.h"
#include "gpu/vulkan_newer.h"

/** Vulkan's structures for all features that Filtra knows. */
typedef struct ft_features {
  VkPhysicalDeviceFeatures2 core;
  VkPhysicalDeviceVulkan11Features v11;
  VkPhysicalDeviceVulkan12Features v12;
  VkPhysicalDeviceVulkan13Features v13;
  VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR uniform;
  VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR maximal;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR statistics;
} ft_features;

enum { FT_MOST_EXTENSIONS = 6 };

/** Structures to be enabled, linked from features.core on, and names of extensions. */
typedef struct ft_enabled {
  ft_features features;
  const char *extensions[FT_MOST_EXTENSIONS];
  uint32_t extension_count;
} ft_enabled;

/** Features that a caller requests, in addition to those that follow from ft_caps. */
typedef enum ft_use { FT_USE_MATRICES = 1, FT_USE_STATISTICS = 2 } ft_use;

/** Whether a device has the extension of that name. */
typedef bool (*ft_has_extension)(const void *device, const char *name);

/** Links the structures into a chain; those of extensions only if the device has the extension. */
void ft_features_link(ft_features *features, ft_has_extension has, const void *device);
/** What Filtra enables on a device with these capabilities; all zero: what it always needs. `uses`:
 * bits of ft_use. *out points into itself and must not move. */
void ft_features_enable(const ft_caps *caps, unsigned uses, ft_enabled *out);
/** Reads the features of a chain, in structures of Vulkan 1.1 to 1.3 or of the extensions promoted
 * to them. */
void ft_features_read(const VkPhysicalDeviceFeatures2 *chain, ft_features *out);
/** Clears the features that `said` lacks, and those of extensions that the device lacks. */
void ft_features_restrict(ft_features *features, const ft_features *said, ft_has_extension has,
                          const void *device);

/** A feature that Filtra requires. */
typedef struct ft_required_feature {
  const char *name; /* Vulkan's */
  const char *lack; /* what a device lacks, in words */
  size_t at;        /* of the VkBool32 in ft_features */
} ft_required_feature;
/** The first required feature that is missing; NULL: none is. */
const ft_required_feature *ft_features_missing(const ft_features *features);

#endif
