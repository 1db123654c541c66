#include "base/status.h"

#include "base/thread.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048 };

static _Thread_local char message[MESSAGE_BYTES];

const char *filtra_error_message(void) {
  return message;
}

const char *filtra_status_name(filtra_status status) {
  switch (status) {
  case FILTRA_OK:
    return "ok";
  case FILTRA_ERROR_ARGUMENT:
    return "invalid argument";
  case FILTRA_ERROR_INPUT:
    return "invalid input";
  case FILTRA_ERROR_IO:
    return "input/output error";
  case FILTRA_ERROR_NO_DEVICE:
    return "no suitable device";
  case FILTRA_ERROR_HOST_MEMORY:
    return "out of host memory";
  case FILTRA_ERROR_DEVICE_MEMORY:
    return "out of device memory";
  case FILTRA_ERROR_DEVICE_LOST:
    return "device lost";
  case FILTRA_ERROR_UNSUPPORTED:
    return "unsupported";
  case FILTRA_ERROR_NONFINITE:
    return "non-finite value";
  case FILTRA_ERROR_CANCELLED:
    return "cancelled";
  case FILTRA_ERROR_PATH:
    return "wrong path";
  }
  return "unknown status";
}

const char *filtra_version(void) {
  return FILTRA_VERSION;
}

/* Cuts an overlong text at a character boundary of UTF-8 and shows that it was cut. */
static void end_with_dots(char *text, size_t bytes) {
  size_t end = bytes - 4;
  while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
    end--;
  strcpy(text + end, "...");
}

static void format_into(char *text, size_t bytes, const char *format, va_list arguments) {
  int length = vsnprintf(text, bytes, format, arguments);
  if (length < 0) text[0] = '\0';
  if (length >= (int)bytes) end_with_dots(text, bytes);
}

filtra_status ft_fail(filtra_status status, const char *format, ...) {
  /* Formatted aside first: the present message may be among the arguments. */
  char text[MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  format_into(text, sizeof text, format, arguments);
  va_end(arguments);
  strcpy(message, text);
  return status;
}

filtra_status ft_fail_context(filtra_status status, const char *format, ...) {
  char prefix[MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  format_into(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  return ft_fail(status, "%s: %s", prefix, message);
}

filtra_status ft_check_reserved(const char *type, const uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (words[i])
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "%s: reserved[%zu] is %llu, not 0: start from a struct of zeros", type, i,
                     (unsigned long long)words[i]);
  return FILTRA_OK;
}

static ft_mutex sink_mutex = FT_MUTEX_INIT;
static filtra_log_fn sink;
static void *sink_user;
/* This thread is inside the sink and holds the mutex: what the sink itself causes to be logged is
 * dropped, and it may still exchange the sink. */
static _Thread_local bool inside_sink;

void filtra_log_set(filtra_log_fn fn, void *user) {
  if (!inside_sink) ft_lock(&sink_mutex);
  sink = fn;
  sink_user = user;
  if (!inside_sink) ft_unlock(&sink_mutex);
}

void ft_log(filtra_log_level level, const char *format, ...) {
  if (inside_sink) return;
  ft_lock(&sink_mutex);
  if (sink) {
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    format_into(text, sizeof text, format, arguments);
    va_end(arguments);
    inside_sink = true;
    sink(sink_user, level, text);
    inside_sink = false;
  }
  ft_unlock(&sink_mutex);
}
