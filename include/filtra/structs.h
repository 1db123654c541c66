/* Checks of struct sizes: a program or binding compiled against headers of another version than its
 * library gets an error message instead of corrupted memory.
 *
 * filtra.h includes this header. Every function that creates something without taking a handle,
 * such as filtra_device_open, then first compares the program's structs with the library's and
 * fails with UNSUPPORTED, naming the first that differs. A program that includes single headers
 * calls filtra_check_headers() itself; a binding compares each struct that it declares with
 * filtra_struct_size().
 */
#ifndef FILTRA_STRUCTS_H
#define FILTRA_STRUCTS_H

#include <filtra/data.h>
#include <filtra/generate.h>
#include <filtra/kernel.h>
#include <filtra/mixer.h>
#include <filtra/predictor.h>
#include <filtra/run.h>
#include <filtra/scores.h>
#include <filtra/synthetic.h>
#include <filtra/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Every public struct that has fields. */
#define FILTRA_STRUCTS(X)                                                                          \
  X(filtra_agf_options)                                                                            \
  X(filtra_attention_options)                                                                      \
  X(filtra_augmentation)                                                                           \
  X(filtra_batch)                                                                                  \
  X(filtra_class_scores)                                                                           \
  X(filtra_dataset_arrays)                                                                         \
  X(filtra_dataset_info)                                                                           \
  X(filtra_dataset_options)                                                                        \
  X(filtra_device_info)                                                                            \
  X(filtra_device_options)                                                                         \
  X(filtra_dhhp_options)                                                                           \
  X(filtra_evaluation)                                                                             \
  X(filtra_generator_options)                                                                      \
  X(filtra_gfsa_options)                                                                           \
  X(filtra_gibbs_options)                                                                          \
  X(filtra_graph_options)                                                                          \
  X(filtra_kernel)                                                                                 \
  X(filtra_kernel_argument)                                                                        \
  X(filtra_linear_options)                                                                         \
  X(filtra_listops_options)                                                                        \
  X(filtra_loader_options)                                                                         \
  X(filtra_loader_position)                                                                        \
  X(filtra_matmul_options)                                                                         \
  X(filtra_memory_use)                                                                             \
  X(filtra_mixer)                                                                                  \
  X(filtra_mixer_input)                                                                            \
  X(filtra_mixer_option)                                                                           \
  X(filtra_model_config)                                                                           \
  X(filtra_optimizer_metrics)                                                                      \
  X(filtra_optimizer_options)                                                                      \
  X(filtra_parameter_group)                                                                        \
  X(filtra_parameter_options)                                                                      \
  X(filtra_pathfinder_options)                                                                     \
  X(filtra_plaplacian_options)                                                                     \
  X(filtra_prediction)                                                                             \
  X(filtra_predictor_info)                                                                         \
  X(filtra_predictor_options)                                                                      \
  X(filtra_request)                                                                                \
  X(filtra_run_info)                                                                               \
  X(filtra_run_memory_use)                                                                         \
  X(filtra_run_options)                                                                            \
  X(filtra_run_progress)                                                                           \
  X(filtra_sample)                                                                                 \
  X(filtra_samples)                                                                                \
  X(filtra_sampling)                                                                               \
  X(filtra_scores)                                                                                 \
  X(filtra_train_options)                                                                          \
  X(filtra_trainer_metrics)                                                                        \
  X(filtra_transport)

/** Size in bytes of the library's public struct `name`; 0: the library has no such struct.
 * Thread-safe. */
FILTRA_API size_t filtra_struct_size(const char *name);

/** Fails with UNSUPPORTED unless the library is of version `major`.`minor` and has structs of these
 * names [count] and sizes [count], in bytes. Thread-safe. */
FILTRA_API filtra_status filtra_compare_structs(int major, int minor, size_t count,
                                                const char *const *names, const size_t *sizes);

/** filtra_compare_structs for the headers that the calling file is compiled with. */
static inline filtra_status filtra_check_headers(void) {
#define FILTRA_STRUCT_NAME(type) #type,
#define FILTRA_STRUCT_SIZE(type) sizeof(type),
  static const char *const names[] = {FILTRA_STRUCTS(FILTRA_STRUCT_NAME)};
  static const size_t sizes[] = {FILTRA_STRUCTS(FILTRA_STRUCT_SIZE)};
#undef FILTRA_STRUCT_NAME
#undef FILTRA_STRUCT_SIZE
  return filtra_compare_structs(FILTRA_VERSION_MAJOR, FILTRA_VERSION_MINOR,
                                sizeof sizes / sizeof *sizes, names, sizes);
}

#ifndef FILTRA_BUILD
#define FILTRA_CHECKED(call)            (filtra_check_headers() ? FILTRA_ERROR_UNSUPPORTED : (call))
#define filtra_dataset_create(...)      FILTRA_CHECKED(filtra_dataset_create(__VA_ARGS__))
#define filtra_dataset_open(...)        FILTRA_CHECKED(filtra_dataset_open(__VA_ARGS__))
#define filtra_device_list(...)         FILTRA_CHECKED(filtra_device_list(__VA_ARGS__))
#define filtra_device_open(...)         FILTRA_CHECKED(filtra_device_open(__VA_ARGS__))
#define filtra_gibbs_factors(...)       FILTRA_CHECKED(filtra_gibbs_factors(__VA_ARGS__))
#define filtra_listops_generate(...)    FILTRA_CHECKED(filtra_listops_generate(__VA_ARGS__))
#define filtra_mixer_register(...)      FILTRA_CHECKED(filtra_mixer_register(__VA_ARGS__))
#define filtra_pathfinder_generate(...) FILTRA_CHECKED(filtra_pathfinder_generate(__VA_ARGS__))
#define filtra_run_open(...)            FILTRA_CHECKED(filtra_run_open(__VA_ARGS__))
#define filtra_sample_token(...)        FILTRA_CHECKED(filtra_sample_token(__VA_ARGS__))
#define filtra_scores_create(...)       FILTRA_CHECKED(filtra_scores_create(__VA_ARGS__))
#define filtra_transport_open(...)      FILTRA_CHECKED(filtra_transport_open(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif
#endif
