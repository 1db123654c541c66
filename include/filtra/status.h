/* Status codes, error messages and the log sink.
 *
 * Every call that can fail returns a filtra_status. The sentence that says what went wrong and
 * where is kept per thread and read with filtra_error_message().
 */
#ifndef FILTRA_STATUS_H
#define FILTRA_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Version of these headers; filtra_version() returns the library's. Before 1.0 each minor version
 * may break programs built with the previous one, and has its own soname. */
#define FILTRA_VERSION_MAJOR 0
#define FILTRA_VERSION_MINOR 1
#define FILTRA_VERSION_PATCH 0

/* Programs that link the static library define FILTRA_STATIC; its CMake target and pkg-config
 * --static do so. FILTRA_BUILD is defined while the library itself is built. */
#if defined(_WIN32) && !defined(FILTRA_STATIC)
#ifdef FILTRA_BUILD
#define FILTRA_API __declspec(dllexport)
#else
#define FILTRA_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define FILTRA_API __attribute__((visibility("default")))
#else
#define FILTRA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Result of a call. FILTRA_OK is zero, so `if (status)` reads "if it failed". */
typedef enum filtra_status {
  FILTRA_OK = 0,
  FILTRA_ERROR_ARGUMENT,      /**< wrong use: shape, range, option, order of calls */
  FILTRA_ERROR_INPUT,         /**< wrong content of a file or dataset */
  FILTRA_ERROR_IO,            /**< reading or writing failed, for example on a full disk */
  FILTRA_ERROR_NO_DEVICE,     /**< no Vulkan device meets the request */
  FILTRA_ERROR_HOST_MEMORY,   /**< out of host memory */
  FILTRA_ERROR_DEVICE_MEMORY, /**< out of device memory, or over one of its limits */
  FILTRA_ERROR_DEVICE_LOST,   /**< the device stopped responding; it can only be closed */
  FILTRA_ERROR_UNSUPPORTED,   /**< a valid request that this device or version cannot fulfil */
  FILTRA_ERROR_NONFINITE,     /**< a NaN or an infinity appeared; the message names the tensor */
  FILTRA_ERROR_CANCELLED,     /**< stopped on the caller's request */
  FILTRA_ERROR_PATH,          /**< a path is missing, of the wrong kind, or not permitted */
  FILTRA_ERROR_RANK           /**< another rank of the run died, hangs, or runs something else */
} filtra_status;

/** The last failure's sentence on this thread; "" if none. Valid until the next failing call on
 * this thread. Thread-safe. */
FILTRA_API const char *filtra_error_message(void);

/** A short constant name such as "invalid argument". Thread-safe. */
FILTRA_API const char *filtra_status_name(filtra_status status);

typedef enum filtra_log_level {
  FILTRA_LOG_DEBUG = 0,
  FILTRA_LOG_INFO,
  FILTRA_LOG_WARNING,
  FILTRA_LOG_ERROR
} filtra_log_level;

/** Receives one line without a newline. May be called from any thread, one call at a time. */
typedef void (*filtra_log_fn)(void *user, filtra_log_level level, const char *message);

/** Sets the process-wide log sink; NULL (the default) discards messages. The library itself never
 * prints. Thread-safe. */
FILTRA_API void filtra_log_set(filtra_log_fn fn, void *user);

/** The library's version, "MAJOR.MINOR.PATCH". Thread-safe. */
FILTRA_API const char *filtra_version(void);

#ifdef __cplusplus
}
#endif
#endif
