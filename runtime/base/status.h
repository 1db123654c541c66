/* Failing with a sentence, and logging. Internal side of <filtra/status.h>. */
#ifndef FT_BASE_STATUS_H
#define FT_BASE_STATUS_H

#include <filtra/status.h>
#include <stdarg.h>

#define FT_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

/** Sets this thread's error message and returns `status`, so that `return ft_fail(...)` reads well.
 * If the user can do something about it, end with that. */
filtra_status ft_fail(filtra_status status, const char *format, ...) FT_PRINTF(2, 3);
/** Puts a prefix, such as a file name, before the current message; returns `status`. */
filtra_status ft_fail_context(filtra_status status, const char *format, ...) FT_PRINTF(2, 3);

/** Saves this thread's message and restores it over later ones: for clean-up, whose own failures
 * are only logged. */
typedef struct ft_kept_message {
  char *text;
  bool failed;
} ft_kept_message;
ft_kept_message ft_message_keep(void);
void ft_message_restore(ft_kept_message kept);

/** Fails with ARGUMENT, naming the struct, if a reserved word is not zero. */
filtra_status ft_check_reserved(const char *type, const uint64_t *words, size_t count);
/** ft_check_reserved for an option struct of that type; NULL is fine. */
#define FT_CHECK_RESERVED(type, options)                                                           \
  ((options) ? ft_check_reserved(#type, (options)->reserved, FT_COUNT((options)->reserved))        \
             : FILTRA_OK)

/** Fails with ARGUMENT, naming function and argument, if one of the pointers is NULL. `names` is
 * comma-separated. */
filtra_status ft_need(const char *function, const char *names, const void *const *pointers);
/** Returns from the calling function with the failure of ft_need. */
#define FT_NEED(...) FT_TRY(ft_need(__func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__}))

/** Fails with ARGUMENT while `users` other objects depend on the object: they must be closed
 * first. */
filtra_status ft_check_unused(const char *object, unsigned users);

/** Holds back this thread's log messages until ft_log_release, which passes them on, each text
 * once, or drops them: for attempts that may be repeated in another way. Do not nest. */
void ft_log_hold(void);
void ft_log_release(bool pass_on);

void ft_log(filtra_log_level level, const char *format, ...) FT_PRINTF(2, 3);

/** Returns from the calling function on failure. */
#define FT_TRY(expression)                                                                         \
  do {                                                                                             \
    filtra_status ft_try_status = (expression);                                                    \
    if (ft_try_status) return ft_try_status;                                                       \
  } while (0)

/** Jumps to `label` on failure with the status in `variable`. */
#define FT_TRY_GOTO(variable, expression, label)                                                   \
  do {                                                                                             \
    (variable) = (expression);                                                                     \
    if (variable) goto label;                                                                      \
  } while (0)

#define FT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
