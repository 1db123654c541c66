/* Error messages per thread, names of statuses, and the log. Called by everything: ft_fail sets the
 * message that filtra_error_message returns, ft_log writes to the application's sink. */
#include "base/status.h"

#include "base/number.h"
#include "base/thread.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The full message, of any length; freed when replaced and when the thread ends. */
static _Thread_local char *message;
static _Thread_local bool failed;

const char *filtra_error_message(void) {
  return message ? message : failed ? "out of host memory" : "";
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
  case FILTRA_ERROR_RANK:
    return "another process failed";
  }
  return "unknown status";
}

const char *filtra_version(void) {
  return FILTRA_VERSION;
}

/* `text` may have been made from the current message, so free that message only now. */
static void set_message(char *text) {
  if (text) ft_hide_controls(text, strlen(text), false); /* messages may quote text from files */
  free(message);
  message = text;
  failed = true;
  ft_free_with_thread(text);
}

filtra_status ft_fail(filtra_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_message(ft_format_list(format, arguments));
  va_end(arguments);
  return status;
}

/* The message without its own file name if the prefix begins with the same ("a.csv:3", "a.csv:
 * ..."). */
static const char *without_subject(const char *text, const char *prefix) {
  const char *end = strstr(text, ": ");
  size_t length = end ? (size_t)(end - text) : 0;
  bool named = length && !strncmp(text, prefix, length) && strchr(":,", prefix[length]);
  return named ? end + 2 : text;
}

filtra_status ft_fail_context(filtra_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *prefix = ft_format_list(format, arguments);
  va_end(arguments);
  if (prefix) ft_fail(status, "%s: %s", prefix, without_subject(filtra_error_message(), prefix));
  free(prefix);
  return status;
}

ft_kept_message ft_message_keep(void) {
  ft_kept_message kept = {message, failed};
  message = NULL;
  ft_free_with_thread(NULL);
  return kept;
}

void ft_message_restore(ft_kept_message kept) {
  free(message);
  message = kept.text;
  failed = kept.failed;
  ft_free_with_thread(message);
}

filtra_status ft_check_reserved(const char *type, const uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (words[i])
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "%s: reserved[%zu] is %llu, not 0: start from a struct of zeros", type, i,
                     (unsigned long long)words[i]);
  return FILTRA_OK;
}

filtra_status ft_need(const char *function, const char *names, const void *const *pointers) {
  for (size_t i = 0; *names; i++) {
    size_t length = strcspn(names, ",");
    if (!pointers[i])
      return ft_fail(FILTRA_ERROR_ARGUMENT, "%s: %.*s is NULL", function, (int)length, names);
    names += length + strspn(names + length, ", ");
  }
  return FILTRA_OK;
}

filtra_status ft_check_unused(const char *object, unsigned users) {
  if (!users) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%s cannot go yet: %u object%s made with it %s still there; destroy %s first",
                 object, users, users > 1 ? "s" : "", users > 1 ? "are" : "is",
                 users > 1 ? "them" : "it");
}

static ft_mutex sink_mutex = FT_MUTEX_INIT;
static filtra_log_fn sink;
static void *sink_user;
/* Set while this thread is inside the sink and holds the mutex. Messages that the sink causes are
 * discarded; the sink may replace itself. */
static _Thread_local bool inside_sink;

void filtra_log_set(filtra_log_fn fn, void *user) {
  if (!inside_sink) ft_lock(&sink_mutex);
  sink = fn;
  sink_user = user;
  if (!inside_sink) ft_unlock(&sink_mutex);
}

/* Log messages held back, the oldest first. */
typedef struct held_message {
  struct held_message *next;
  filtra_log_level level;
  char *text; /* NULL: out of memory */
} held_message;
static _Thread_local held_message *held, **held_end;

static void pass_on(filtra_log_level level, const char *text) {
  ft_lock(&sink_mutex);
  inside_sink = true;
  if (sink) sink(sink_user, level, text ? text : "out of host memory");
  inside_sink = false;
  ft_unlock(&sink_mutex);
}

void ft_log_hold(void) {
  held_end = &held;
}

void ft_log_release(bool pass) {
  held_end = NULL;
  while (held) {
    held_message *first = held;
    held = first->next;
    if (pass) pass_on(first->level, first->text);
    free(first->text);
    free(first);
  }
}

static bool is_held(const char *text) {
  const held_message *m = held;
  while (m && strcmp(m->text, text) != 0)
    m = m->next;
  return m != NULL;
}

void ft_log(filtra_log_level level, const char *format, ...) {
  if (inside_sink) return;
  va_list arguments;
  va_start(arguments, format);
  char *text = ft_format_list(format, arguments);
  va_end(arguments);
  if (text) ft_hide_controls(text, strlen(text), false);
  if (held_end && text && is_held(text)) {
    free(text);
    return;
  }
  held_message *kept = held_end ? calloc(1, sizeof *kept) : NULL;
  if (kept) {
    *kept = (held_message){.level = level, .text = text};
    *held_end = kept;
    held_end = &kept->next;
    return;
  }
  pass_on(level, text);
  free(text);
}
